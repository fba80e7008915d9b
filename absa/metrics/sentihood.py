"""The figures of SentiHood: the literature's, an audit of what those leave out, and trivial floors."""

import numpy as np

from absa.metrics.aspect_groups import NONE, aspect_groups, audit_by_aspect, scores_of_groups
from absa.metrics.mixed_texts import mixed_accuracy
from absa.metrics.ratios import NO_GOLD, DegenerateScoreWarning, ratio, roc_auc, share, undefined

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "figures_of_groups", "sentihood_scores"]

LABELS = ("none", "positive", "negative")
"""Order of the probabilities."""
ASPECTS = ("general", "price", "transit-location", "safety")
POSITIVE, NEGATIVE = LABELS.index("positive"), LABELS.index("negative")


def sentihood_scores(
    ids, targets, aspects, labels, probabilities, *, bootstrap: int = 0, seed: int = 0
) -> dict[str, float]:
    """Score parallel sequences of rows, in any order. A group is the four rows of one (id, target).

    A row's prediction is its most probable label; ties go to the label that stands first in `LABELS`.

    The literature's figures (Saeidi et al. 2016; as computed by the evaluation script of Sun et al. 2019, which later
    papers use):

    - `strict_accuracy`: share of groups with all four labels right.
    - `macro_precision`, `macro_recall`, `macro_f1`: of the set of aspects predicted not to be none, mean precision and
      mean recall over the groups *with at least one gold aspect* (both 0 for a group without overlap), and the
      harmonic mean of the two means (0 when both are 0).
    - `aspect_auc`: mean over aspects of the ROC-AUC of P(none), with none as the positive class.
    - `sentiment_accuracy`: on gold rows that are not none, negative if P(negative) / (P(positive) + P(negative)) is
      above 0.5, else positive. Where both are 0 the share is taken as 0.5.
    - `sentiment_auc`: mean over aspects of the ROC-AUC of that share, on the same rows.

    Contrast, which is not the literature's: `mixed_accuracy` is `sentiment_accuracy` on the rows of mixed texts alone.
    A text is the rows of one id, whatever their target and aspect; it is mixed where some are positive in gold, some
    negative. `count_mixed_rows` are those of its rows that are not none.

    Nor are these: `audit_macro_*` (the same over all groups; 1 where neither gold nor prediction has an
    aspect), `audit_strict_accuracy_with_gold` and `_without_gold` (strict accuracy of the groups with and without a
    gold aspect), `audit_<aspect>_*`, `floor_*` (what constant answers reach) and `count_*`.

    Args:
        ids, targets, aspects, labels: (rows,) strings; aspects from `ASPECTS`, labels from `LABELS`.
        probabilities: (rows, 3) in the order of `LABELS`, each row summing to 1; any float type, summed in float64.
        bootstrap: number of resamples of ids for 95% intervals `<name>_low`, `<name>_high` (not of floors and counts).
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1; counts are integers. A figure that the rows do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no rows, rows that are not as described above, or a group without a row for each of `ASPECTS`.
    """
    rows = {"ids": ids, "targets": targets, "aspects": aspects, "labels": labels, "probabilities": probabilities}
    groups = aspect_groups(rows, ASPECTS, LABELS)
    return scores_of_groups(groups, LABELS, figures_of_groups, _floors, bootstrap, seed)


def figures_of_groups(gold: np.ndarray, probabilities: np.ndarray, in_mixed: np.ndarray) -> dict[str, float]:
    """The figures of arrays as `aspect_groups` makes them: (groups, aspects), but (groups, aspects, labels) of
    `probabilities`."""
    predicted = probabilities.argmax(axis=-1)
    present, with_gold = gold != NONE, (gold != NONE).any(axis=1)
    all_right = (gold == predicted).all(axis=1)
    name_with, name_without = "audit_strict_accuracy_with_gold", "audit_strict_accuracy_without_gold"

    negative_share = _negative_share(probabilities)
    sentiment_right = (negative_share > 0.5) == (gold == NEGATIVE)
    sentiment_auc = {}
    for column, aspect in enumerate(ASPECTS):
        name, here = f"audit_{aspect}_sentiment_auc", present[:, column]
        sentiment_auc[name] = roc_auc(name, gold[here, column] == NEGATIVE, negative_share[here, column])
    by_aspect = audit_by_aspect(gold, probabilities, sentiment_right, ASPECTS)

    return {
        "strict_accuracy": float(all_right.mean()),
        **_macro_figures("", present[with_gold], predicted[with_gold] != NONE),
        "aspect_auc": _mean_auc("aspect_auc", {a: by_aspect[f"audit_{a}_auc"] for a in ASPECTS}),
        "sentiment_accuracy": share("sentiment_accuracy", sentiment_right, present, NO_GOLD),
        "sentiment_auc": _mean_auc("sentiment_auc", dict(zip(ASPECTS, sentiment_auc.values(), strict=True))),
        **mixed_accuracy(sentiment_right, in_mixed),
        **_macro_figures("audit_", present, predicted != NONE),
        name_with: share(name_with, all_right, with_gold, NO_GOLD),
        name_without: share(name_without, all_right, ~with_gold, "every group has an aspect in the gold labels"),
        **by_aspect,
        **sentiment_auc,
    }


def _negative_share(probabilities: np.ndarray) -> np.ndarray:
    """P(negative) / (P(positive) + P(negative)): (..., 3) -> (...)."""
    negative = probabilities[..., NEGATIVE]
    either = probabilities[..., POSITIVE] + negative
    # A softmax that is sure of none can underflow to 0 for both: no evidence for either.
    return np.divide(negative, either, out=np.full_like(either, 0.5), where=either > 0)


def _macro_figures(prefix: str, gold: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Means over groups of the precision and recall of each group's set of aspects: two (groups, aspects) booleans."""
    names = [f"{prefix}macro_{figure}" for figure in ("precision", "recall", "f1")]
    if not len(gold):
        return {name: undefined(name, NO_GOLD) for name in names}
    hits = (gold & predicted).sum(axis=1)
    both_empty = ~(gold | predicted).any(axis=1)
    precision = float(np.where(both_empty, 1, hits / np.maximum(predicted.sum(axis=1), 1)).mean())
    recall = float(np.where(both_empty, 1, hits / np.maximum(gold.sum(axis=1), 1)).mean())
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return dict(zip(names, (precision, recall, f1), strict=True))


def _mean_auc(name: str, by_aspect: dict[str, float]) -> float:
    # A mean over the remaining aspects would be another figure, not comparable with the published one.
    one_class = [aspect for aspect, auc in by_aspect.items() if np.isnan(auc)]
    if one_class:
        return undefined(name, f"only one class occurs in the gold labels of {', '.join(one_class)}")
    return float(np.mean(list(by_aspect.values())))


def _floors(gold: np.ndarray) -> dict[str, float]:
    """What one constant answer reaches: none, or the commoner sentiment, or every aspect."""
    with_gold = (gold != NONE).any(axis=1)
    present = int((gold != NONE).sum())
    commoner = max((gold == POSITIVE).sum(), (gold == NEGATIVE).sum())
    gold_aspects = gold[with_gold] != NONE
    name = "floor_majority_sentiment_accuracy"
    return {
        "floor_all_none_strict_accuracy": float((~with_gold).mean()),
        **_macro_figures("floor_all_present_", gold_aspects, np.ones_like(gold_aspects)),
        name: ratio(name, commoner, present, NO_GOLD),
    }
