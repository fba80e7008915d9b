"""Scores of runs with their intervals, and differences of runs, as tables show them."""

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

from absa.comparison.answers import Answers
from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning
from absa.training.results import interval, percent


class Scores(NamedTuple):
    """Of a run."""

    by_seed: pd.DataFrame
    """a row a seed, a column a score"""
    bounds: dict[str, float]
    """means over the seeds, and `<score>_low` and `<score>_high` over sentences"""
    shared: list[int]
    """the seeds that the first run has too"""
    differences: dict[str, float] | None
    """those of the means over these seeds, this run minus the first, with bounds; None of the first, or without such
    seeds"""


def mean_figures(seeds: Sequence[Answers], index: np.ndarray) -> dict[str, float]:
    """The mean over seeds of each figure that all of them have."""
    figures = [answers.figures_of(index) for answers in seeds]
    shared = [name for name in figures[0] if all(name in of_seed for of_seed in figures)]
    return {name: float(np.mean([of_seed[name] for of_seed in figures])) for name in shared}


def paired_difference(first: Sequence[Answers], second: Sequence[Answers], resamples: int) -> dict[str, float]:
    """Mean figures of a run over its seeds minus those of another, with 95% intervals.

    Each resample draws sentences with replacement, the same for both runs and all seeds (Efron & Tibshirani 1993,
    ch. 8 and 13). The interval is for other sentences and the same trainings.

    Args:
        first, second: of each seed the answers to the same questions, see `check_same`.
        resamples: of the sentences.
    Returns:
        `<score>`, `<score>_low` and `<score>_high`, as fractions.
    """

    def difference(index: np.ndarray) -> dict[str, float]:
        minuend, subtrahend = mean_figures(first, index), mean_figures(second, index)
        names = [name for name in minuend if name in subtrahend and not name.startswith("audit_")]
        return {name: minuend[name] - subtrahend[name] for name in names}

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "audit_", DegenerateScoreWarning)  # not shown here
        return with_bounds(difference, first[0].ids, resamples, seed=0)


def scores_of(runs: Sequence[Mapping[int, Answers]], names: Sequence[str], resamples: int) -> list[Scores]:
    """The scores of runs, the first of which the others are compared with.

    Args:
        runs: the answers of each seed.
        names: of the scores; those that the answers do not have are left out.
        resamples: of the sentences.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)  # a cell says that a score is undefined
        return [_scores_of(run, runs[0], names, resamples) for run in runs]


def _scores_of(
    run: Mapping[int, Answers], first: Mapping[int, Answers], names: Sequence[str], resamples: int
) -> Scores:
    seeds = list(run.values())
    bounds = with_bounds(lambda index: mean_figures(seeds, index), seeds[0].ids, resamples, seed=0)
    kept, whole = [name for name in names if name in bounds], np.arange(len(seeds[0].ids))
    figures = {seed: mean_figures([answers], whole) for seed, answers in run.items()}
    shared, from_first = sorted(first.keys() & run.keys()), None
    if shared and run is not first:
        pair = ([one[seed] for seed in shared] for one in (run, first))
        from_first = paired_difference(*pair, resamples)
    return Scores(pd.DataFrame.from_dict(figures, orient="index")[kept], bounds, shared, from_first)


def score_cells(scores: Scores) -> dict[str, str]:
    """A cell for each score, in percent: mean (standard deviation) over the seeds, and the interval over sentences."""
    by_seed = scores.by_seed
    return {name: percent(by_seed[name].tolist()) + interval(scores.bounds, name) for name in by_seed}


def difference_cells(scores: Scores, first: Scores) -> dict[str, str]:
    """A cell for each score of a run minus that of the first, see `differences`."""
    if scores.differences is None:
        return dict.fromkeys(scores.by_seed, "no seed in common")
    pair = (one.by_seed.loc[scores.shared] for one in (scores, first))
    return dict(zip(scores.by_seed, differences(*pair, scores.differences), strict=True))


def differences(minuend: pd.DataFrame, subtrahend: pd.DataFrame, bounds: Mapping[str, float] | None) -> list[str]:
    """A cell for each score of one run minus that of another, in points, means over as many seeds.

    [interval] over sentences, if that was found, and ± the standard error over trainings, √(s₁²/seeds + s₂²/seeds); in
    bold beyond the 95% of Student's t for trainings that differ by chance alone (equal variances).

    Args:
        minuend, subtrahend: a row a seed, a column a score.
        bounds: `<score>_low` and `<score>_high`.
    """
    seeds, cells = len(minuend), []
    for name in minuend:
        points = minuend[name].mean(skipna=False) - subtrahend[name].mean(skipna=False)
        if np.isnan(points):
            cells.append("undefined")
            continue
        cell = f"{100 * points:+.1f}"
        if bounds is not None and f"{name}_low" in bounds:  # which a score of the data alone, a floor, has not
            cell += f" [{100 * bounds[f'{name}_low']:+.1f}, {100 * bounds[f'{name}_high']:+.1f}]"
        if seeds > 1:
            error = np.sqrt((minuend[name].var() + subtrahend[name].var()) / seeds)
            cell += f" ± {100 * error:.1f}"
            cell = f"**{cell}**" if abs(points) > error * t.ppf(0.975, 2 * seeds - 2) else cell
        cells.append(cell)
    return cells


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown from rows of heading -> cell."""
    lines = [rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows)] if rows else []
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
