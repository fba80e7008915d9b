"""The figures of SemEval-2014 Task 4 (restaurants, subtasks 3 and 4): the literature's, an audit, trivial floors."""

import numpy as np

from absa.metrics.aspect_groups import NONE, aspect_groups, audit_by_aspect, scores_of_groups
from absa.metrics.mixed_texts import mixed_accuracy
from absa.metrics.ratios import DegenerateScoreWarning, presence_figures, ratio, share

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "figures_of_groups", "semeval2014_scores"]

LABELS = ("none", "positive", "neutral", "negative", "conflict")
"""Order of the probabilities."""
ASPECTS = ("price", "anecdotes", "food", "ambience", "service")
SENTIMENTS = {
    "accuracy_4way": ("positive", "neutral", "negative", "conflict"),
    "accuracy_3way": ("positive", "neutral", "negative"),
    "accuracy_binary": ("positive", "negative"),
}
"""The labels among which each accuracy chooses."""


def semeval2014_scores(
    ids, targets, aspects, labels, probabilities, *, bootstrap: int = 0, seed: int = 0
) -> dict[str, float]:
    """Score parallel sequences of rows, in any order. A group is the five rows of one sentence (target "").

    A row's prediction is its most probable label; ties go to the label that stands first in `LABELS`.

    The literature's figures (Pontiki et al. 2014; as computed by the evaluation script of Sun et al. 2019, which later
    papers use):

    - `precision`, `recall`, `f1`: of the aspects predicted not to be none, pooled over the sentences with at least one
      gold aspect. Precision is undefined when nothing is predicted; F1 is then 0.
    - `accuracy_4way`, `accuracy_3way`, `accuracy_binary`: on the gold rows whose label is among the four sentiments,
      the three without conflict, or positive and negative: share for which the most probable *of these* is the gold
      label. So a prediction outside them is replaced by the best of them.

    Contrast, which is not the literature's: `mixed_accuracy` is `accuracy_4way` on the rows of mixed texts alone. A
    text is the rows of one id, here a sentence; it is mixed where gold gives its aspects two or more of the four
    sentiments. `count_mixed_rows` are those of its rows that are not none.

    Nor are these: `audit_precision`, `audit_recall`, `audit_f1` (over all sentences), `audit_strict_accuracy`
    (share of all sentences with all five labels right), `audit_<aspect>_*`, `floor_*` (what constant answers reach)
    and `count_*`.

    Arguments, return value and errors are those of `sentihood_scores`, with the `ASPECTS` and `LABELS` of this module:
    `probabilities` are (rows, 5).
    """
    rows = {"ids": ids, "targets": targets, "aspects": aspects, "labels": labels, "probabilities": probabilities}
    groups = aspect_groups(rows, ASPECTS, LABELS)
    return scores_of_groups(groups, LABELS, figures_of_groups, _floors, bootstrap, seed)


def figures_of_groups(gold: np.ndarray, probabilities: np.ndarray, in_mixed: np.ndarray) -> dict[str, float]:
    """The figures of arrays as `aspect_groups` makes them: (groups, aspects), but (groups, aspects, labels) of
    `probabilities`."""
    predicted = probabilities.argmax(axis=-1)
    sentiment_right = _best_of("accuracy_4way", probabilities) == gold
    present, with_gold = gold != NONE, (gold != NONE).any(axis=1)
    return {
        **presence_figures("", present[with_gold], predicted[with_gold] != NONE),
        **{name: _accuracy_among(name, gold, probabilities) for name in SENTIMENTS},
        **mixed_accuracy(sentiment_right, in_mixed),
        **presence_figures("audit_", present, predicted != NONE),
        "audit_strict_accuracy": float((gold == predicted).all(axis=1).mean()),
        **audit_by_aspect(gold, probabilities, sentiment_right, ASPECTS),
    }


def _accuracy_among(name: str, gold: np.ndarray, probabilities: np.ndarray) -> float:
    return share(name, _best_of(name, probabilities) == gold, np.isin(gold, _label_ids(name)), _no_gold(name))


def _best_of(name: str, probabilities: np.ndarray) -> np.ndarray:
    """Label id of the most probable of the sentiments of one accuracy: (..., labels) -> (...)."""
    label_ids = np.array(_label_ids(name))
    return label_ids[probabilities[..., label_ids].argmax(axis=-1)]


def _label_ids(name: str) -> list[int]:
    return [LABELS.index(label) for label in SENTIMENTS[name]]


def _no_gold(name: str) -> str:
    return f"no gold label is one of {', '.join(SENTIMENTS[name])}"


def _floors(gold: np.ndarray) -> dict[str, float]:
    """What one constant answer reaches: none, or every aspect, or the commonest sentiment."""
    with_gold = (gold != NONE).any(axis=1)
    present = gold[with_gold] != NONE
    floors = {
        "floor_all_none_strict_accuracy": float((~with_gold).mean()),
        **presence_figures("floor_all_present_", present, np.ones_like(present)),
    }
    for name in SENTIMENTS:
        counts = [(gold == label).sum() for label in _label_ids(name)]
        floors[f"floor_majority_{name}"] = ratio(f"floor_majority_{name}", max(counts), sum(counts), _no_gold(name))
    return floors
