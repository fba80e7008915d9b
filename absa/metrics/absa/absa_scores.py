"""Figures for aspect-based sentiment analysis on any data: any targets, aspects and labels."""

from collections.abc import Sequence

import numpy as np

from .figures import presence_figures, ratio, with_bounds
from .keyed_rows import is_sequence, is_text, shown, sorted_rows


def absa_scores(
    ids: Sequence[str],
    targets: Sequence[str],
    aspects: Sequence[str],
    labels: Sequence[str],
    probabilities: Sequence[Sequence[float]] | np.ndarray,
    *,
    label_names: Sequence[str],
    none_label: str | None = "none",
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel sequences of rows, in any order. A group is all rows of one (id, target), however many.

    A row's prediction is its most probable label; ties go to the label that stands first in `label_names`.

    - `strict_accuracy`: share of groups with every label right.
    - `accuracy`: share of rows with the right label; `accuracy/<aspect>`: of the rows of one aspect.
    - `macro_f1`: mean F1 over the labels that occur in gold or among the predictions (as scikit-learn's default).
    - with a `none_label`: `presence_precision`, `presence_recall`, `presence_f1` of the rows that are not none, pooled
      over all rows, and `sentiment_accuracy`: share of the gold rows that are not none for which the most probable of
      the *other* labels is right.

    Args:
        ids, targets, aspects, labels: (rows,) strings; labels from `label_names`.
        probabilities: (rows, labels) in the order of `label_names`, each row summing to 1; any float type, summed in
            float64.
        label_names: (labels,) at least two, without repeats.
        none_label: the label of an aspect that is not present, or None where every row has a sentiment.
        bootstrap: number of resamples of ids for 95% intervals `<name>_low`, `<name>_high`.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1. A figure that the rows do not define is NaN, with a `DegenerateScoreWarning`.

    Raises:
        ValueError: no rows, rows or labels that are not as described above, or a `none_label` that is no label.
    """
    check_label_names(label_names, none_label)
    rows = sorted_rows(ids, targets, aspects, labels, probabilities, label_names)
    none = None if none_label is None else list(label_names).index(none_label)
    # Rows of a group are neighbours: group i has `sizes[i]` rows from `starts[i]`.
    groups = [key[:2] for key in rows.keys]
    starts = np.array([row for row, group in enumerate(groups) if row == 0 or group != groups[row - 1]])
    sizes = np.diff(np.append(starts, len(groups)))
    aspect_names = sorted(set(aspects))
    aspect_numbers = {aspect: number for number, aspect in enumerate(aspect_names)}
    row_aspects = np.array([aspect_numbers[aspect] for _, _, aspect in rows.keys])

    def figures_of(drawn: np.ndarray) -> dict[str, float]:
        drawn_starts = np.cumsum(sizes[drawn]) - sizes[drawn]
        index = np.arange(sizes[drawn].sum()) + np.repeat(starts[drawn] - drawn_starts, sizes[drawn])
        gold, likely = rows.labels[index], rows.probabilities[index]
        right = gold == likely.argmax(axis=1)
        figures = {
            "strict_accuracy": float(np.logical_and.reduceat(right, drawn_starts).mean()),
            "accuracy": float(right.mean()),
            "macro_f1": _macro_f1(gold, likely.argmax(axis=1), len(label_names)),
        }
        if none is not None:
            figures |= _presence_and_sentiment(gold, likely, none)
        here = row_aspects[index]
        occurs, hits = (np.bincount(of, minlength=len(aspect_names)) for of in (here, here[right]))
        for aspect, number in aspect_numbers.items():
            name = f"accuracy/{aspect}"
            figures[name] = ratio(name, hits[number], occurs[number], "the aspect does not occur")
        return figures

    return with_bounds(figures_of, [groups[start][0] for start in starts], bootstrap, seed)


def check_label_names(label_names: Sequence[str] | None, none_label: str | None) -> None:
    """Raise ValueError unless `label_names` are two or more labels without repeats, with `none_label` unless None."""
    names = list(label_names) if is_sequence(label_names) else []
    if len(names) < 2 or not all(map(is_text, names)):
        raise ValueError(
            f"labels={shown(label_names)}: name two or more labels, strings in the order of the probabilities, "
            "for example ['none', 'positive', 'negative']."
        )
    if len(set(names)) != len(names):
        raise ValueError(f"labels={shown(names)}: a label occurs twice; name each once.")
    if none_label is not None and not (isinstance(none_label, str) and none_label in names):
        raise ValueError(
            f"none_label={shown(none_label)} is not one of the labels {shown(names)}: name the label of an aspect "
            "that is not present, or give None if every row has a sentiment."
        )


def _macro_f1(gold: np.ndarray, predicted: np.ndarray, num_labels: int) -> float:
    hits = np.bincount(gold[gold == predicted], minlength=num_labels)
    either = np.bincount(gold, minlength=num_labels) + np.bincount(predicted, minlength=num_labels)
    return float((2 * hits[either > 0] / either[either > 0]).mean())


def _presence_and_sentiment(gold: np.ndarray, probabilities: np.ndarray, none: int) -> dict[str, float]:
    present = gold != none
    others = np.delete(np.arange(probabilities.shape[1]), none)
    sentiment = others[probabilities[:, others].argmax(axis=1)]
    return {
        **presence_figures("presence_", present, probabilities.argmax(axis=1) != none),
        "sentiment_accuracy": ratio(
            "sentiment_accuracy",
            (sentiment == gold)[present].sum(),
            present.sum(),
            "no aspect is present in the gold labels",
        ),
    }
