"""Ratios that may be undefined: accuracy, precision, recall, F1, ROC-AUC.

By numpy alone: a bootstrap computes each figure thousands of times, and the checks of scikit-learn's functions take 25
times as long as the sums. Tests compare the two.
"""

import warnings

import numpy as np

NO_GOLD = "no aspect is present in the gold labels"


class DegenerateScoreWarning(UserWarning):
    """A figure is NaN because the rows do not define it."""


def undefined(name: str, reason: str) -> float:
    """NaN, with a `DegenerateScoreWarning` that names the figure and the reason."""
    warnings.warn(f"{name} is NaN: {reason}.", DegenerateScoreWarning, stacklevel=3)
    return float("nan")


def ratio(name: str, numerator: float, denominator: float, empty: str) -> float:
    """numerator / denominator, or NaN with a warning that says what is `empty` when the denominator is 0."""
    if denominator == 0:
        return undefined(name, empty)
    return float(numerator) / float(denominator)


def share(name: str, right: np.ndarray, rows: np.ndarray, empty: str) -> float:
    """Share of the chosen `rows` that are `right`, two arrays of booleans; NaN with a warning where there are none."""
    return ratio(name, right[rows].sum(), rows.sum(), empty)


def presence_figures(prefix: str, gold: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 of the true entries, pooled over all entries (micro average).

    Precision is undefined when nothing is predicted; F1 = 2 TP / (gold + predicted) is then 0, not undefined.

    Args:
        prefix: put before "precision", "recall" and "f1".
        gold, predicted: booleans of one shape.
    """
    hits = (gold & predicted).sum()
    none_predicted = "no aspect is predicted to be present"
    return {
        f"{prefix}precision": ratio(f"{prefix}precision", hits, predicted.sum(), none_predicted),
        f"{prefix}recall": ratio(f"{prefix}recall", hits, gold.sum(), NO_GOLD),
        f"{prefix}f1": ratio(f"{prefix}f1", 2 * hits, gold.sum() + predicted.sum(), f"{NO_GOLD} and {none_predicted}"),
    }


def label_f1s(gold: np.ndarray, predicted: np.ndarray, num_labels: int) -> np.ndarray:
    """(labels,) F1 of each label, 2 * right / (gold + predicted); NaN of a label that occurs on neither side.

    Args:
        gold, predicted: (rows,) label ids.
    """
    right = np.bincount(gold[gold == predicted], minlength=num_labels)
    either = np.bincount(gold, minlength=num_labels) + np.bincount(predicted, minlength=num_labels)
    return np.divide(2 * right, either, out=np.full(num_labels, np.nan), where=either > 0)


def macro_f1(f1s: np.ndarray) -> float:
    """Mean of `label_f1s` over the labels that occur, as scikit-learn's default."""
    return float(f1s[~np.isnan(f1s)].mean())


def roc_auc(name: str, positive: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve: the probability that a positive scores above a negative, ties counting half.

    Computed from counts (Mann-Whitney U), so exact but for one division. NaN with a warning if only one class occurs.

    Args:
        name: of the figure, for the warning.
        positive: (rows,) booleans.
        scores: (rows,) higher for positive.
    """
    _, place = np.unique(scores, return_inverse=True)
    positives, negatives = np.bincount(place, positive), np.bincount(place, ~positive)
    below = np.cumsum(negatives) - negatives
    pairs = int(positive.sum()) * int((~positive).sum())
    return ratio(name, positives @ (below + negatives / 2), pairs, "only one class occurs in the gold labels")
