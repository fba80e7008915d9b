"""How far probabilities can be taken at their word, and the temperature that brings them nearer to it.

Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from torch import nn
from transformers import PreTrainedModel

FOLDS = 5  # parts of the rows, each calibrated by the others to see whether a temperature helps
NUM_BINS = 15  # of equal width, as in the paper
TEMPERATURES = (0.05, 20.0)  # between which the best one is sought


def fit_temperature(logits: np.ndarray, labels: Sequence[int]) -> float:
    """The temperature at which the cross-entropy of softmax(logits / temperature) is least.

    Args:
        logits: (rows, labels).
        labels: gold class of each row, (rows,).
    """
    return _least(lambda temperature: cross_entropy(logits / temperature, labels))


def _least(cost: Callable[[float], float]) -> float:
    """The temperature at which a cost is least."""
    # In 1/T a cross-entropy is convex, so that over log T it has no second valley.
    best = minimize_scalar(
        lambda log_temperature: cost(np.exp(log_temperature)), bounds=np.log(TEMPERATURES), method="bounded"
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

    def errors(temperatures: np.ndarray) -> tuple[float, float]:
        scaled = logits / temperatures[:, None]
        return cross_entropy(scaled, labels), label_calibration_error(scaled, labels)

    return _helpful(len(labels), lambda rows: fit_temperature(logits[rows], labels[rows]), errors)


def helpful_temperature_of_events(scores: Callable[[np.ndarray], np.ndarray], came_true: np.ndarray) -> float:
    """The same of events, each of which came true or not.

    Args:
        scores: from a temperature of each event to the probability of each, (events,) -> (events,).
        came_true: (events,)
    """

    def cost(probabilities: np.ndarray, came_true: np.ndarray) -> float:
        right = np.where(came_true, probabilities, 1 - probabilities)
        return float(-np.log(np.maximum(right, np.finfo(float).tiny)).mean())

    def fit(events: np.ndarray) -> float:
        every = np.ones(len(came_true))
        return _least(lambda temperature: cost(scores(temperature * every)[events], came_true[events]))

    def errors(temperatures: np.ndarray) -> tuple[float, float]:
        probabilities = scores(temperatures)
        return cost(probabilities, came_true), expected_calibration_error(probabilities, came_true)

    return _helpful(len(came_true), fit, errors)


def _helpful(
    num_rows: int, fit: Callable[[np.ndarray], float], errors: Callable[[np.ndarray], tuple[float, ...]]
) -> float:
    """The temperature that fits all rows, or 1.

    Args:
        fit: from numbers of rows to the temperature that fits them best.
        errors: from a temperature of each row, (rows,), to what must all be less than without.
    """
    if num_rows < FOLDS:
        return 1.0
    every = np.arange(num_rows)
    temperatures = np.empty(num_rows)
    for part in np.array_split(every, FOLDS):
        temperatures[part] = fit(np.setdiff1d(every, part))
    pairs = zip(errors(temperatures), errors(np.ones(num_rows)), strict=True)
    helps = all(calibrated < plain for calibrated, plain in pairs)
    return fit(every) if helps else 1.0


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


def uncalibrate(model: PreTrainedModel):
    """Makes a model answer as training scores it: without calibration, of new aspects too."""
    model.config.calibration_temperature = 1.0
    if hasattr(model.config, "likeness_calibration"):
        model.config.likeness_calibration = None


def bias_of_none(model: PreTrainedModel) -> torch.Tensor:
    """Where the last layer of a classifier adds to the logit of "none", a view, ().

    Raises:
        ValueError: if no label of the model says that a text does not speak of what is asked, or its last layer adds
            nothing.
    """
    none_label = getattr(model.config, "none_label", None)
    if none_label is None:
        raise ValueError("none_factor is for models with a label for what a text does not speak of: leave it out")
    num_labels = model.config.num_labels
    heads = [layer for layer in model.modules() if isinstance(layer, nn.Linear) and layer.out_features == num_labels]
    if not heads or heads[-1].bias is None:
        raise ValueError(f"none_factor: the last layer of a {type(model).__name__} has no bias; leave it out")
    return heads[-1].bias[model.config.label2id[none_label]]


@torch.no_grad()
def multiply_none(model: PreTrainedModel, factor: float):
    """Has a classifier multiply its probability of "none" by a factor, before it makes all sum to 1 again.

    The errors of `bias_of_none` come through.
    """
    bias_of_none(model).add_(np.log(factor))
