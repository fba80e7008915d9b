"""The figures of tuples of targets, opinions and labels: exact matches, of sets, sentence by sentence."""

from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning, ratio
from absa.metrics.rows import is_sequence, shorten
from absa.metrics.tuple_rows import FIELDS, check_fields, check_sides, checked_tuples

__all__ = ["PROJECTIONS", "DegenerateScoreWarning", "figures_of_sentences", "tuple_f1_scores"]

PROJECTIONS = {
    "aope": ("target", "opinion"),
    "aesc": ("target", "label"),
    "ate": ("target",),
    "ote": ("opinion",),
}
"""Subtasks whose figures follow from tuples of more fields."""


def tuple_f1_scores(
    gold: Sequence[Sequence[dict]],
    predicted: Sequence[Sequence[dict]],
    *,
    fields: Sequence[str] = ("target", "opinion", "label"),
    invalid: Sequence[bool] | None = None,
    ids: Sequence[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel lists of sentences. A tuple is right if all its fields are those of a gold tuple of its sentence.

    The tuples of a sentence are a set: what stands twice, in gold or among the predictions, counts once. These are the
    counts of BARTABSA's metric (Yan et al. 2021), without the 1e-13 that it adds to denominators.

    - `precision`, `recall`, `f1`: pooled over sentences (micro).
    - `<subtask>_precision`, `_recall`, `_f1`: the same for each of PROJECTIONS that has some of the fields, but not
      all: of the sets that are left when the other fields are taken away.
    - `exact`: share of sentences whose sets are equal.
    - `invalid_share`: share of sentences that are `invalid`.
    - `count_sentences`, `count_gold`, `count_predicted`, `count_right`: distinct tuples.

    Args:
        gold, predicted: (sentences,) lists of dicts with these fields: target and opinion are spans [start, end),
            aspect and label strings. Other fields are ignored.
        fields: which make a tuple, some of target, opinion, aspect and label.
        invalid: (sentences,) whether some of a model's output was no tuple, and dropped. Default: none.
        ids: (sentences,) of what the bootstrap draws together, as the rows about the targets of a sentence. Default:
            each sentence alone.
        bootstrap: number of resamples of sentences for 95% intervals `<name>_low`, `<name>_high`; counts have none.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and counts. A figure that the sentences do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no sentences, or sentences or fields that are not as described above.
    """
    counts = _counts(gold, predicted, fields, invalid)
    figures = with_bounds(_figures_of(counts, fields), range(len(counts)) if ids is None else ids, bootstrap, seed)
    right, of_gold, of_predicted = counts[:, :3].sum(axis=0).tolist()
    return {
        **figures,
        "count_sentences": len(counts),
        "count_gold": of_gold,
        "count_predicted": of_predicted,
        "count_right": right,
    }


def figures_of_sentences(
    gold: Sequence[Sequence[dict]],
    predicted: Sequence[Sequence[dict]],
    *,
    fields: Sequence[str] = ("target", "opinion", "label"),
    invalid: Sequence[bool] | None = None,
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of sentences, which may repeat, that gives the figures of `tuple_f1_scores` of these.

    Raises:
        ValueError: as `tuple_f1_scores`.
    """
    return _figures_of(_counts(gold, predicted, fields, invalid), fields)


def _projections(fields: Sequence[str]) -> dict[str, list[int]]:
    """The places of the fields of each projection, "" for all of them."""
    smaller = {name: kept for name, kept in PROJECTIONS.items() if set(kept) < set(fields)}
    return {name: [list(fields).index(field) for field in kept] for name, kept in {"": fields, **smaller}.items()}


def _counts(gold, predicted, fields: Sequence[str], invalid: Sequence[bool] | None) -> np.ndarray:
    """(sentences, 3 * projections + 2): right, gold and predicted of each; then whether exact and whether invalid."""
    check_fields(fields, FIELDS)
    of_gold, of_predicted = checked_tuples("gold", gold, fields), checked_tuples("predicted", predicted, fields)
    check_sides(of_gold, of_predicted)
    if invalid is None:
        invalid = [False] * len(of_gold)
    are_booleans = is_sequence(invalid) and all(isinstance(one, bool | np.bool_) for one in invalid)
    if not are_booleans or len(invalid) != len(of_gold):
        raise ValueError(f"invalid={shorten(invalid)}: give True or False for each of {len(of_gold)} sentences.")
    counts = []
    for *sides, is_invalid in zip(of_gold, of_predicted, invalid, strict=True):
        row = []
        for places in _projections(fields).values():
            projected = [{tuple(values[place] for place in places) for values in side} for side in sides]
            row += [len(projected[0] & projected[1]), len(projected[0]), len(projected[1])]
        counts.append([*row, row[0] == row[1] == row[2], is_invalid])
    return np.array(counts, dtype=np.int64)


def _figures_of(counts: np.ndarray, fields: Sequence[str]) -> Callable[[np.ndarray], dict[str, float]]:
    names = list(_projections(fields))

    def figures_of(index: np.ndarray) -> dict[str, float]:
        *of_sets, exact, invalid = counts[index].sum(axis=0).tolist()
        figures = {}
        for number, name in enumerate(names):
            right, gold, predicted = of_sets[3 * number : 3 * number + 3]
            prefix = f"{name}_" if name else ""
            nothing, no_gold = "no tuple is predicted", "gold has no tuple"
            figures[f"{prefix}precision"] = ratio(f"{prefix}precision", right, predicted, nothing)
            figures[f"{prefix}recall"] = ratio(f"{prefix}recall", right, gold, no_gold)
            figures[f"{prefix}f1"] = ratio(f"{prefix}f1", 2 * right, gold + predicted, f"{no_gold} and {nothing}")
        return {**figures, "exact": exact / len(index), "invalid_share": invalid / len(index)}

    return figures_of
