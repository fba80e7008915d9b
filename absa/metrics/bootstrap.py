"""Intervals by bootstrap over ids."""

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.rows import numbered, shorten


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
        bootstrap: number of resamples; 0 for no interval.
        seed: of the resampling.

    Returns:
        `name`, and with `bootstrap` also `name_low` and `name_high`, for each figure.

    Raises:
        ValueError: `bootstrap` or `seed` is no integer of at least 0, or a figure has the name of another's bound.
    """
    for name, value in (("bootstrap", bootstrap), ("seed", seed)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name}={shorten(value)}: give an integer of at least 0 (bootstrap=0: no interval).")
    groups = np.arange(len(ids))
    figures = figures_of(groups)
    if bootstrap == 0:
        return figures
    bounds = {f"{name}_{bound}" for name in figures for bound in ("low", "high")}
    if taken := sorted(bounds & set(figures)):
        raise ValueError(f"{shorten(taken[0])} is a figure and a bound of another: rename the aspect, or bootstrap=0.")
    distinct, sentence_of = numbered(ids)
    count = len(distinct)
    generator = np.random.default_rng(seed)
    resampled = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        for _ in range(bootstrap):
            times = np.bincount(generator.integers(count, size=count), minlength=count)
            resampled.append([*figures_of(np.repeat(groups, times[sentence_of])).values()])
        lows, highs = np.nanpercentile(resampled, [2.5, 97.5], axis=0).tolist()
    bounded = {}
    for (name, figure), low, high in zip(figures.items(), lows, highs, strict=True):
        bounded |= {name: figure, f"{name}_low": low, f"{name}_high": high}
    return bounded
