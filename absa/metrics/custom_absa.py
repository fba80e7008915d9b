"""Figures for aspect-based sentiment analysis on any data: any targets, aspects and labels."""

from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.mixed_texts import in_mixed_texts, mixed_accuracy
from absa.metrics.ratios import NO_GOLD, label_f1s, macro_f1, presence_figures, share
from absa.metrics.rows import Rows, check_label_names, numbered, shorten, sorted_rows


def absa_scores(
    ids,
    targets,
    aspects,
    labels,
    probabilities,
    *,
    label_names: Sequence[str],
    none_label: str | None = "none",
    by_aspect: bool = True,
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
    - `mixed_accuracy`: `sentiment_accuracy`, or without a `none_label` `accuracy`, on the rows of mixed texts alone. A
      text is the rows of one id, whatever their target and aspect; it is mixed where gold gives these two or more
      labels other than the `none_label`. `count_mixed_rows` are those of its rows that have such a label.

    Args:
        ids, targets, aspects, labels: (rows,) strings; labels from `label_names`.
        probabilities: (rows, labels) in the order of `label_names`, each row summing to 1; any float type, summed in
            float64.
        label_names: (labels,) at least two, without repeats.
        none_label: the label of an aspect that is not present, or None where every row has a sentiment.
        by_aspect: whether there is an `accuracy/<aspect>` of each aspect; not where aspects are any words.
        bootstrap: number of resamples of ids for 95% intervals `<name>_low`, `<name>_high`.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and a count. A figure that the rows do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no rows, rows or labels that are not as described above, or a `none_label` that is no label.
    """
    rows = _checked(ids, targets, aspects, labels, probabilities, label_names, none_label)
    figures_of, in_mixed = _figures_of(rows, label_names, none_label, by_aspect)
    ids = [key[0] for key in rows.keys]
    return {**with_bounds(figures_of, ids, bootstrap, seed), "count_mixed_rows": int(in_mixed.sum())}


def figures_of_rows(
    ids,
    targets,
    aspects,
    labels,
    probabilities,
    *,
    label_names: Sequence[str],
    none_label: str | None = "none",
    by_aspect: bool = True,
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of rows, which may repeat, that gives their figures as `absa_scores`. The rows are
    numbered in the order of (id, target, aspect).

    For paired bootstraps, which draw whole texts: whether a text is mixed is decided by all of its rows.

    Raises:
        ValueError: as `absa_scores`.
    """
    rows = _checked(ids, targets, aspects, labels, probabilities, label_names, none_label)
    return _figures_of(rows, label_names, none_label, by_aspect)[0]


def _checked(ids, targets, aspects, labels, probabilities, label_names, none_label) -> Rows:
    check_label_names(label_names)
    if none_label is not None and not (isinstance(none_label, str) and none_label in list(label_names)):
        raise ValueError(
            f"none_label={shorten(none_label)} is not one of the labels {shorten(list(label_names))}: name the label "
            "of an aspect that is not present, or give None if every row has a sentiment."
        )
    return sorted_rows(ids, targets, aspects, labels, probabilities, label_names)


def _figures_of(
    rows: Rows, label_names: Sequence[str], none_label: str | None, by_aspect: bool
) -> tuple[Callable[[np.ndarray], dict[str, float]], np.ndarray]:
    """What gives the figures of rows by their numbers, and which rows are in mixed texts."""
    none = None if none_label is None else list(label_names).index(none_label)
    aspects, aspect_of = numbered(aspect for *_, aspect in rows.keys)
    _, group_of = numbered(key[:2] for key in rows.keys)  # of the same id and target
    in_mixed = in_mixed_texts([key[0] for key in rows.keys], rows.labels, none)
    predicted = rows.probabilities.argmax(axis=1)
    right = sentiment_right = rows.labels == predicted
    if none is not None:
        present = rows.labels != none
        others = np.delete(np.arange(len(label_names)), none)
        sentiment_right = others[rows.probabilities[:, others].argmax(axis=1)] == rows.labels
    group_right = (np.bincount(group_of, ~right) == 0)[group_of]
    first_of_group = np.isin(np.arange(len(right)), np.unique(group_of, return_index=True)[1])

    def figures_of(index: np.ndarray) -> dict[str, float]:
        figures = {
            "strict_accuracy": float(group_right[index][first_of_group[index]].mean()),
            "accuracy": float(right[index].mean()),
            "macro_f1": macro_f1(label_f1s(rows.labels[index], predicted[index], len(label_names))),
        }
        if none is not None:
            figures |= presence_figures("presence_", present[index], predicted[index] != none)
            name = "sentiment_accuracy"
            figures[name] = share(name, sentiment_right[index], present[index], NO_GOLD)
        figures |= mixed_accuracy(sentiment_right[index], in_mixed[index])
        for number, name in enumerate(aspects if by_aspect else ()):
            here = aspect_of[index] == number
            figures[f"accuracy/{name}"] = share(f"accuracy/{name}", right[index], here, "the aspect does not occur")
        return figures

    return figures_of, in_mixed
