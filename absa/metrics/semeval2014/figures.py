"""Ratios that may be undefined, and bootstrap intervals.

The same file stands in each metric folder, because each folder is published on its own.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .keyed_rows import shown

MOST_RESAMPLES = 100_000


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


def presence_figures(prefix: str, gold: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 of the true entries, pooled over all entries (micro average).

    Precision is undefined when nothing is predicted; F1 = 2 TP / (gold + predicted) is then 0, not undefined.

    Args:
        prefix: put before "precision", "recall" and "f1".
        gold, predicted: booleans of one shape.
    """
    hits = (gold & predicted).sum()
    no_gold, none_predicted = "no aspect is present in the gold labels", "no aspect is predicted to be present"
    return {
        f"{prefix}precision": ratio(f"{prefix}precision", hits, predicted.sum(), none_predicted),
        f"{prefix}recall": ratio(f"{prefix}recall", hits, gold.sum(), no_gold),
        f"{prefix}f1": ratio(f"{prefix}f1", 2 * hits, gold.sum() + predicted.sum(), f"{no_gold} and {none_predicted}"),
    }


def with_bounds(
    figures_of: Callable[[np.ndarray], dict[str, float]], ids: Sequence[str], bootstrap: int, seed: int
) -> dict[str, float]:
    """The figures of all groups and, after each, its 95% percentile interval over resampled ids.

    The rows of one sentence are not independent, so the bootstrap draws sentence ids with replacement, and each drawn
    id brings all its groups (cluster bootstrap; Efron & Tibshirani 1993, ch. 8). Resamples in which a figure is
    undefined are left out of its interval.

    Args:
        figures_of: figures of the groups at the given indices (an index may occur several times).
        ids: (groups,) sentence id of each group.
        bootstrap: number of resamples, at most `MOST_RESAMPLES`; 0 for no interval.
        seed: of the resampling.

    Returns:
        `name`, and with `bootstrap` also `name_low` and `name_high`, for each figure.

    Raises:
        ValueError: `bootstrap` or `seed` is out of range, or a figure has the name of another's bound.
    """
    check_resampling(bootstrap, seed)
    groups = np.arange(len(ids))
    figures = figures_of(groups)
    if bootstrap == 0:
        return figures
    bounds = {f"{name}_{bound}" for name in figures for bound in ("low", "high")}
    if taken := sorted(bounds & set(figures)):
        raise ValueError(f"{shown(taken[0])} is a figure and a bound of another: rename the aspect, or bootstrap=0.")
    # Not np.unique: arrays of strings are as wide as the longest, and drop NUL characters at the end.
    names = {name: number for number, name in enumerate(sorted(set(ids)))}
    sentence = np.array([names[name] for name in ids])
    generator = np.random.default_rng(seed)
    resampled = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        for _ in range(bootstrap):
            times = np.bincount(generator.integers(len(names), size=len(names)), minlength=len(names))
            resampled.append(np.array(list(figures_of(np.repeat(groups, times[sentence])).values())))
    bounded = {}
    for (name, figure), values in zip(figures.items(), np.transpose(resampled), strict=True):
        values = values[~np.isnan(values)]
        low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (np.nan, np.nan)
        bounded |= {name: figure, f"{name}_low": float(low), f"{name}_high": float(high)}
    return bounded


def check_resampling(bootstrap: int, seed: int | None) -> None:
    """Raise ValueError unless both are integers of at least 0, or the seed None; `bootstrap` has a most."""
    if not _is_integer(bootstrap) or not 0 <= bootstrap <= MOST_RESAMPLES:
        raise ValueError(
            f"bootstrap={shown(bootstrap)}: give the number of resamples, an integer from 0 (no interval) to "
            f"{MOST_RESAMPLES}."
        )
    if seed is not None and (not _is_integer(seed) or seed < 0):
        raise ValueError(f"seed={shown(seed)}: give an integer of at least 0, or None for another each time.")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
