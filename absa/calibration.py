"""How far probabilities can be taken at their word, and the temperature that brings them nearer to it.

Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

FOLDS = 5  # parts of the rows, each calibrated by the others to see whether a temperature helps
NUM_BINS = 15  # of equal width, as in the paper
TEMPERATURES = (0.05, 20.0)  # between which the best one is sought


def fit_temperature(logits: np.ndarray, labels: Sequence[int]) -> float:
    """The temperature at which the cross-entropy of softmax(logits / temperature) is least.

    Args:
        logits: (rows, labels).
        labels: gold class of each row, (rows,).
    """
    # In 1/T the cross-entropy is convex, so that over log T it has no second valley.
    best = minimize_scalar(
        lambda log_temperature: cross_entropy(logits / np.exp(log_temperature), labels),
        bounds=np.log(TEMPERATURES),
        method="bounded",
    )
    return float(np.exp(best.x))


def cross_entropy(logits: np.ndarray, labels: Sequence[int]) -> float:
    """Mean over the rows of -log P(gold), from logits (rows, labels) and gold classes (rows,)."""
    return float(-log_softmax(logits, axis=-1)[np.arange(len(labels)), labels].mean())


def helpful_temperature(logits: np.ndarray, labels: Sequence[int]) -> float:
    """The temperature of `fit_temperature`, or 1 where such a one does not help rows that it was not fitted to.

    Each of five parts of the rows is calibrated by the temperature of the others. It helps if over all rows both the
    cross-entropy and the calibration error of the most probable label are less than without.

    Args:
        logits: (rows, labels), the rows of a text beside one another.
        labels: gold class of each row, (rows,).
    """
    labels = np.asarray(labels)
    if len(labels) < FOLDS:
        return 1.0
    calibrated = np.empty_like(logits)
    for part in np.array_split(np.arange(len(labels)), FOLDS):
        others = np.setdiff1d(np.arange(len(labels)), part)
        calibrated[part] = logits[part] / fit_temperature(logits[others], labels[others])
    helps = all(
        error(calibrated, labels) < error(logits, labels) for error in (cross_entropy, label_calibration_error)
    )
    return fit_temperature(logits, labels) if helps else 1.0


def expected_calibration_error(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Mean distance between a probability and the share of times it came true, over bins weighted by their rows.

    Args:
        confidence: probabilities of some event, (rows,).
        correct: whether it came true, (rows,).
    Returns:
        Between 0 and 1; NaN without rows.
    """
    if not len(confidence):
        return float("nan")
    bins = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - correct, minlength=NUM_BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def label_calibration_error(logits: np.ndarray, labels: np.ndarray) -> float:
    """Calibration error of the most probable label, from logits (rows, labels) and gold classes (rows,)."""
    probabilities = softmax(logits, axis=-1)
    return expected_calibration_error(probabilities.max(-1), probabilities.argmax(-1) == labels)


def calibration_errors(
    logits: np.ndarray, labels: Sequence[int], label_names: Sequence[str], none_label: str | None = "none"
) -> dict[str, float]:
    """Calibration errors of what the pipeline answers, from logits (rows, labels) and gold classes (rows,).

    Returns:
        `label`: of the most probable label's probability. With a `none_label` also `present`: of one minus its
        probability; and `sentiment`: of the most probable other label's share, over the rows that gold says speak of
        the aspect.
    """
    labels = np.asarray(labels)
    probabilities = softmax(logits, axis=-1)
    errors = {"label": label_calibration_error(logits, labels)}
    if none_label in label_names:
        none = list(label_names).index(none_label)
        errors["present"] = expected_calibration_error(1 - probabilities[:, none], labels != none)
        others = np.flatnonzero(np.arange(len(label_names)) != none)
        spoken_of = labels != none
        sentiment = softmax(logits[spoken_of][:, others], axis=-1)
        right = others[sentiment.argmax(-1)] == labels[spoken_of]
        errors["sentiment"] = expected_calibration_error(sentiment.max(-1), right)
    return errors
