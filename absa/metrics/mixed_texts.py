"""Contrast as a score: the polarities of texts that hold several of them, which a model must tell apart."""

from collections.abc import Sequence

import numpy as np

from absa.metrics.ratios import share
from absa.metrics.rows import numbered


def in_mixed_texts(ids: Sequence[str], labels: np.ndarray, none: int | None = None) -> np.ndarray:
    """Of each row whether it has a polarity in gold, and another row of its text has another one.

    Args:
        ids: of the texts, (rows,). Rows with one id are of one text, whatever their target and aspect.
        labels: gold label ids, (rows,) or (rows, aspects).
        none: the label that is no polarity; None where every label is one.
    Returns:
        Booleans, of the shape of `labels`.
    """
    texts, text_of = numbered(ids)
    text_of = np.broadcast_to(text_of.reshape(-1, *[1] * (labels.ndim - 1)), labels.shape)
    has_polarity = np.ones(labels.shape, dtype=bool) if none is None else labels != none
    holds = np.zeros((len(texts), labels.max() + 1), dtype=bool)
    holds[text_of[has_polarity], labels[has_polarity]] = True
    return has_polarity & (holds.sum(axis=1) > 1)[text_of]


def mixed_accuracy(right: np.ndarray, in_mixed: np.ndarray) -> dict[str, float]:
    """The figure by its name: the share of the rows of `in_mixed_texts` with the right polarity, NaN without any.

    Args:
        right: whether the polarity of each row is right; read where `in_mixed` is true.
        in_mixed: booleans, as many.
    """
    name = "mixed_accuracy"
    return {name: share(name, right, in_mixed, "no text has two polarities in gold")}
