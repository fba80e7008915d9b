"""The polarity of given aspect terms or categories: accuracy and F1, and how much of it needs the aspect at all."""

from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.bootstrap import with_bounds
from absa.metrics.mixed_texts import in_mixed_texts, mixed_accuracy
from absa.metrics.ratios import DegenerateScoreWarning, label_f1s, macro_f1, undefined
from absa.metrics.rows import Rows, check_label_names, checked_rows, numbered

__all__ = ["DegenerateScoreWarning", "aspect_polarity_scores", "figures_of_rows"]


def aspect_polarity_scores(
    ids,
    targets,
    aspects,
    labels,
    probabilities,
    *,
    label_names: Sequence[str],
    bootstrap: int = 0,
    seed: int = 0,
) -> dict[str, float]:
    """Score parallel sequences of rows, in any order. The rows of one id are those of one sentence.

    A row's prediction is its most probable label; ties go to the label that stands first in `label_names`.

    - `accuracy`: share of rows with the right label.
    - `macro_f1`: mean F1 over the labels that occur in gold or among the predictions (as scikit-learn's default);
      `f1/<label>`: F1 of one label.
    - `mixed_accuracy`: accuracy on the rows of the sentences that have more than one gold label. On the others a model
      need not know which target or aspect it is asked about.

    And what answers without a model reach, from the gold labels alone:

    - `floor_majority_accuracy`: the commonest label, for all rows.
    - `ceiling_sentence_accuracy`: the best label of each sentence, for all its rows. No model that is blind to targets
      and aspects has a higher accuracy.
    - `count_sentences`, `count_rows`, `count_mixed_rows`, and `count/<label>`, the rows of a gold label.

    Args:
        ids: (rows,) strings, of the sentences.
        targets, aspects: (rows,) strings; a sentence may have several rows of the same, such as a term that occurs
            twice.
        labels: (rows,) strings from `label_names`.
        probabilities: (rows, labels) in the order of `label_names`, each row summing to 1.
        label_names: (labels,) at least two, without repeats: three, or two where there are no neutral rows.
        bootstrap: number of resamples of ids for 95% intervals `<name>_low`, `<name>_high` of all but floor, ceiling
            and counts.
        seed: of the resampling.

    Returns:
        Figures by name, between 0 and 1, and counts. A figure that the rows do not define is NaN, with a
        `DegenerateScoreWarning`.

    Raises:
        ValueError: no rows, or rows or labels that are not as described above.
    """
    rows = _checked(ids, targets, aspects, labels, probabilities, label_names)
    counts = _label_counts(rows, len(label_names))
    num_rows, of_labels = len(rows.labels), counts.sum(axis=0).tolist()
    return {
        **with_bounds(_figures_of(rows, label_names), [key[0] for key in rows.keys], bootstrap, seed),
        "floor_majority_accuracy": max(of_labels) / num_rows,
        "ceiling_sentence_accuracy": float(counts.max(axis=1).sum() / num_rows),
        "count_sentences": len(counts),
        "count_rows": num_rows,
        "count_mixed_rows": int(_in_mixed(rows).sum()),
        **{f"count/{name}": count for name, count in zip(label_names, of_labels, strict=True)},
    }


def figures_of_rows(
    ids, targets, aspects, labels, probabilities, *, label_names: Sequence[str]
) -> Callable[[np.ndarray], dict[str, float]]:
    """A function of the numbers of rows, which may repeat, that gives their figures as `aspect_polarity_scores`.

    For paired bootstraps, which draw whole sentences: whether a sentence is mixed is decided by all of its rows.

    Raises:
        ValueError: as `aspect_polarity_scores`.
    """
    return _figures_of(_checked(ids, targets, aspects, labels, probabilities, label_names), label_names)


def _checked(ids, targets, aspects, labels, probabilities, label_names) -> Rows:
    check_label_names(label_names)
    return checked_rows(ids, targets, aspects, labels, probabilities, label_names)


def _label_counts(rows: Rows, num_labels: int) -> np.ndarray:
    """Gold labels of each sentence, (sentences, labels)."""
    sentences, sentence_of = numbered(key[0] for key in rows.keys)
    counts = np.zeros((len(sentences), num_labels), dtype=np.int64)
    np.add.at(counts, (sentence_of, rows.labels), 1)
    return counts


def _in_mixed(rows: Rows) -> np.ndarray:
    return in_mixed_texts([key[0] for key in rows.keys], rows.labels)


def _figures_of(rows: Rows, label_names: Sequence[str]) -> Callable[[np.ndarray], dict[str, float]]:
    in_mixed = _in_mixed(rows)
    predicted = rows.probabilities.argmax(axis=1)
    right = rows.labels == predicted

    def figures_of(index: np.ndarray) -> dict[str, float]:
        f1s = label_f1s(rows.labels[index], predicted[index], len(label_names))
        figures = {
            "accuracy": float(right[index].mean()),
            "macro_f1": macro_f1(f1s),
            **mixed_accuracy(right[index], in_mixed[index]),
        }
        for name, f1 in zip(label_names, f1s.tolist(), strict=True):
            absent = "the label occurs neither in gold nor among the predictions"
            figures[f"f1/{name}"] = undefined(f"f1/{name}", absent) if np.isnan(f1) else f1
        return figures

    return figures_of
