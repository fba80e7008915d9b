"""The figures of E2E-ABSA, aspect terms with their polarity as tags: the reference's, then strict ones."""

from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning, ratio
from absa.metrics.tag_sequences import Span, check_tags, is_well_formed, split_tag, strict_spans

__all__ = ["POLARITIES", "DegenerateScoreWarning", "e2e_absa_scores", "figures_of_sentences", "reference_spans"]

POLARITIES = ("POS", "NEG", "NEU")
SMALL = 1e-4
"""What the reference adds to each denominator."""


def e2e_absa_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    scheme: str = "BIEOS",
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel lists of sentences. An aspect is right if its borders and its polarity are those of gold.

    Bit for bit as `compute_metrics_absa` of BERT-E2E-ABSA (Li et al. 2019), over the aspects of `reference_spans`:

    - `micro_f1`, `precision`, `recall`: aspects pooled over sentences and polarities, with 1e-4 added to each
      denominator, so that a perfect answer has a little less than 1, and nothing is undefined.
    - `macro_f1`: mean F1 of the three polarities.

    Not the reference's, over the aspects of `strict_spans`, without the 1e-4:

    - `strict_micro_f1`, `strict_precision`, `strict_recall`, and `strict_f1_<polarity>`.
    - `aspect_f1`: the borders only. `sentiment_accuracy`: right polarities among the right borders.
    - `inconsistent_share`: sentences whose predicted tags are not well-formed.
    - `count_sentences`, `count_gold`, `count_predicted`, `count_right`, and `count_gold_reference`, the gold aspects
      that the reference counts: fewer where gold is not well-formed, or in BIO, where it reads neighbours as one.

    Args:
        gold, predicted: (sentences,) lists of tags, one for each word; polarities are POS, NEG and NEU.
        scheme: of both, "BIEOS", "BIO" or "OT".
        bootstrap: number of resamples of sentences for 95% intervals `<name>_low`, `<name>_high`; counts have none.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and counts. A figure of ours that the sentences do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no sentences, or tags that are not as described above.
    """
    check_tags(gold, predicted, scheme, POLARITIES)
    counts = _counts(gold, predicted, scheme)
    figures = with_bounds(_figures_of(counts), range(len(gold)), bootstrap, seed)
    right, of_gold, of_predicted = _strict(counts.sum(axis=0))
    return {
        **figures,
        "count_sentences": len(gold),
        "count_gold": int(of_gold.sum()),
        "count_predicted": int(of_predicted.sum()),
        "count_right": int(right.sum()),
        "count_gold_reference": int(_reference(counts.sum(axis=0))[1].sum()),
    }


def reference_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """The aspects that BERT-E2E-ABSA counts: `tag2ts`, after `bio2ot_ts` and `ot2bieos_ts` for BIO and OT.

    An automaton reads from the left and keeps the last B and the polarities since. At E there is an aspect from the
    last B on, if all these polarities are one. So a change of polarity gives none, O in between is no hindrance, and S
    is an aspect of its own even between B and E; S clears the polarities, but not the B.
    """
    if scheme != "BIEOS":
        tags = ot_to_bieos(tags)
    spans, begin, polarities = [], None, []
    for position, tag in enumerate(tags):
        prefix, polarity = split_tag(tag)
        if polarity:
            polarities.append(polarity)
        if prefix == "S":
            spans.append((position, position, polarity))
            polarities = []
        elif prefix == "B":
            begin, polarities = position, [polarity]
        elif prefix == "E" and begin is not None and set(polarities) == {polarity}:
            spans.append((begin, position, polarity))
            begin, polarities = None, []
    return spans


def ot_to_bieos(tags: Sequence[str]) -> list[str]:
    """`ot2bieos_ts` of BERT-E2E-ABSA, of any tags but O: borders between neighbours vanish, polarities stay.

    Its tag EQ, of sub-tokens behind the first, is O, and yet ends no aspect that stands before it.
    """
    prefixes = {(True, True): "S", (True, False): "B", (False, True): "E", (False, False): "I"}
    converted = []
    for position, tag in enumerate(tags):
        if tag in ("O", "EQ"):
            converted.append("O")
            continue
        begins = position == 0 or tags[position - 1] in ("O", "EQ")
        ends = position == len(tags) - 1 or tags[position + 1] == "O"
        converted.append(f"{prefixes[begins, ends]}-{split_tag(tag)[1]}")
    return converted


def figures_of_sentences(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, scheme: str = "BIEOS"
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of sentences, which may repeat, that gives the figures of `e2e_absa_scores` of these.

    Raises:
        ValueError: as `e2e_absa_scores`.
    """
    check_tags(gold, predicted, scheme, POLARITIES)
    return _figures_of(_counts(gold, predicted, scheme))


def _figures_of(counts: np.ndarray) -> Callable[[np.ndarray], dict[str, float]]:
    return lambda index: _figures(counts[index].sum(axis=0), len(index))


def _counts(gold, predicted, scheme: str) -> np.ndarray:
    """(sentences, 20) of `_counts_of_sentence`."""
    return np.array([_counts_of_sentence(*tags, scheme) for tags in zip(gold, predicted, strict=True)])


def _counts_of_sentence(gold: Sequence[str], predicted: Sequence[str], scheme: str) -> list[int]:
    """Of one sentence: right, gold and predicted of each polarity, as the reference and strictly; then right borders
    and whether the predicted tags are not well-formed."""
    reference = reference_spans(gold, scheme), reference_spans(predicted, scheme)
    strict = strict_spans(gold, scheme), strict_spans(predicted, scheme)
    borders = {span[:2] for span in strict[0]} & {span[:2] for span in strict[1]}
    return [
        *_by_polarity(*reference),
        *_by_polarity(*strict),
        len(borders),
        not is_well_formed(predicted, scheme),
    ]


def _by_polarity(gold: list[Span], predicted: list[Span]) -> list[int]:
    right = [span for span in predicted if span in gold]
    return [
        sum(span[2] == polarity for span in spans) for spans in (right, gold, predicted) for polarity in POLARITIES
    ]


def _reference(counts: np.ndarray) -> np.ndarray:
    return counts[:9].reshape(3, 3)  # right, gold, predicted; of each polarity


def _strict(counts: np.ndarray) -> np.ndarray:
    return counts[9:18].reshape(3, 3)


def _figures(counts: np.ndarray, sentences: int) -> dict[str, float]:
    """Figures of `_counts` that were summed over sentences."""
    precision, recall, f1 = _smoothed(*_reference(counts).sum(axis=1))
    right, gold, predicted = _strict(counts)
    right_borders, inconsistent = counts[18:]
    total = gold.sum() + predicted.sum()
    nothing_predicted, no_gold = "no aspect is predicted", "gold has no aspect"
    neither = f"{no_gold} and {nothing_predicted}"
    figures = {
        "micro_f1": f1,
        "precision": precision,
        "recall": recall,
        "macro_f1": float(np.mean([_smoothed(*of_polarity)[2] for of_polarity in _reference(counts).T])),
        "strict_micro_f1": ratio("strict_micro_f1", 2 * right.sum(), total, neither),
        "strict_precision": ratio("strict_precision", right.sum(), predicted.sum(), nothing_predicted),
        "strict_recall": ratio("strict_recall", right.sum(), gold.sum(), no_gold),
        "aspect_f1": ratio("aspect_f1", 2 * right_borders, total, neither),
        "sentiment_accuracy": ratio(
            "sentiment_accuracy", right.sum(), right_borders, "no predicted aspect has the borders of a gold one"
        ),
    }
    for number, polarity in enumerate(POLARITIES):
        name = f"strict_f1_{polarity}"
        either = gold[number] + predicted[number]
        figures[name] = ratio(name, 2 * right[number], either, f"neither gold nor prediction has {polarity}")
    return {**figures, "inconsistent_share": float(inconsistent) / sentences}


def _smoothed(right: int, gold: int, predicted: int) -> tuple[float, float, float]:
    """Precision, recall and F1 as the reference computes them."""
    precision = float(right) / (float(predicted) + SMALL)
    recall = float(right) / (float(gold) + SMALL)
    return precision, recall, 2 * precision * recall / (precision + recall + SMALL)
