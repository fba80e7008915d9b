"""How much predicted and gold spans overlap: J of two sets, intersection over union (Jaccard), in four readings."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.tuple_rows import SPANS, check_fields, check_sides, checked_tuples

__all__ = ["jaccard_scores"]

Span = tuple[int, int]


def jaccard_scores(
    gold: Sequence[Sequence[dict]],
    predicted: Sequence[Sequence[dict]],
    *,
    fields: Sequence[str] = SPANS,
    ids: Sequence[str] | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel lists of sentences. Of two empty sets J is 1. For each field, <field> being target or opinion:

    - `<field>_jaccard`: mean over sentences of J of the sets of positions, words or characters, that spans cover.
      Positions know no borders: [1, 4) is the same as [1, 2) and [2, 4).
    - `<field>_jaccard_spans`: mean over sentences of J of the sets of spans, which match exactly or not at all.
    - `<field>_jaccard_micro`: of positions, intersections of all sentences over unions of all sentences.
    - `<field>_jaccard_matched`: spans of a sentence are paired one to one, those with the greatest J of positions
      first, and never at 0 (ties: the earlier gold span, then the earlier predicted one). Sum of J over the number of
      pairs and of spans without one, of all sentences.
    - `<field>_empty_share`: share of sentences with no span on either side. Each adds 1 to the sums of the means.

    Args:
        gold, predicted: (sentences,) lists of dicts, in which the fields are spans [start, end), or None where a tuple
            has no such span. What stands twice in a sentence counts once.
        fields: target, opinion or both.
        ids: (sentences,) of what the bootstrap draws together, as the rows about the targets of a sentence. Default:
            each sentence alone.
        bootstrap: number of resamples of sentences for 95% intervals `<name>_low`, `<name>_high`.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and `count_sentences`.

    Raises:
        ValueError: no sentences, or sentences or fields that are not as described above.
    """
    check_fields(fields, SPANS)
    of_gold, of_predicted = (
        checked_tuples(side, sentences, fields, optional=fields)
        for side, sentences in (("gold", gold), ("predicted", predicted))
    )
    check_sides(of_gold, of_predicted)
    sums = np.array(
        [
            [
                _sums_of_sentence(*(_spans(side, place) for side in sides))
                for sides in zip(of_gold, of_predicted, strict=True)
            ]
            for place in range(len(fields))
        ]
    )  # (fields, sentences, 6)
    figures = with_bounds(_figures_of(sums, fields), range(len(of_gold)) if ids is None else ids, bootstrap, seed)
    return {**figures, "count_sentences": len(of_gold)}


def _spans(tuples: list[tuple[Span | None, ...]], place: int) -> list[Span]:
    return sorted({values[place] for values in tuples} - {None})


def _sums_of_sentence(gold: list[Span], predicted: list[Span]) -> tuple[float, ...]:
    """Sizes of intersection and union, of positions and of spans; sum of J of the pairs, number of pairs and rest."""
    union = _num_positions([*gold, *predicted])
    pairs = sorted(
        (-overlap, one, other)
        for one, other in product(range(len(gold)), range(len(predicted)))
        if (overlap := _overlap(gold[one], predicted[other]))
    )
    free_gold, free_predicted, matched = set(range(len(gold))), set(range(len(predicted))), []
    for negative, one, other in pairs:
        if one in free_gold and other in free_predicted:
            free_gold.remove(one)
            free_predicted.remove(other)
            matched.append(-negative)
    return (
        _num_positions(gold) + _num_positions(predicted) - union,
        union,
        len(set(gold) & set(predicted)),
        len(set(gold) | set(predicted)),
        sum(matched),
        len(matched) + len(free_gold) + len(free_predicted),
    )


def _num_positions(spans: list[Span]) -> int:
    """How many positions are in one or more of the spans."""
    number = reached = 0
    for start, end in sorted(spans):
        number += max(0, end - max(start, reached))
        reached = max(reached, end)
    return number


def _overlap(one: Span, other: Span) -> float:
    """J of the positions of two spans."""
    inside = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return inside / (one[1] - one[0] + other[1] - other[0] - inside)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, and 1 where the whole is empty."""
    return np.divide(part, whole, out=np.ones_like(part, dtype=np.float64), where=whole > 0)


def _figures_of(sums: np.ndarray, fields: Sequence[str]) -> Callable[[np.ndarray], dict[str, float]]:
    def figures_of(index: np.ndarray) -> dict[str, float]:
        figures = {}
        for field, of_field in zip(fields, sums, strict=True):
            inside, union, same, spans, matched, slots = of_field[index].T
            figures |= {
                f"{field}_jaccard": float(_share(inside, union).mean()),
                f"{field}_jaccard_spans": float(_share(same, spans).mean()),
                f"{field}_jaccard_micro": float(_share(inside.sum(), union.sum())),
                f"{field}_jaccard_matched": float(_share(matched.sum(), slots.sum())),
                f"{field}_empty_share": float((union == 0).mean()),
            }
        return figures

    return figures_of
