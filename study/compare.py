"""How certain the difference of two models is: paired bootstrap over the sentences of the test split.

    python study/compare.py study/grids/comparison_sentihood.yaml

For the pairs of a grid. Each resample draws sentences with replacement, the same for both models and all seeds, and
takes the difference of their mean scores over the seeds (Efron & Tibshirani 1993, ch. 8 and 13). The interval is for
other sentences and the same trainings; how much trainings differ is what standard deviations over seeds show.
"""

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from absa.commands import parse
from absa.metrics.aspect_groups import Groups, aspect_groups
from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning
from grids import read_grid, run_name
from results import GridArguments, write_analysis

ANSWERS = "test_probabilities.parquet"


@dataclass
class CompareArguments(GridArguments):
    """Which pairs, and where their runs are."""

    resamples: int = field(default=10_000, metadata={"help": "Of the test sentences."})


def read_groups(file: Path, aspects: Sequence[str], labels: Sequence[str]) -> Groups:
    """What a run answered, in groups as the metric takes them."""
    rows = pd.read_parquet(file)
    columns = {f"{name}s": rows[name].tolist() for name in ("id", "target", "aspect", "label")}
    probabilities = rows[[f"p_{label}" for label in labels]].to_numpy()
    return aspect_groups({**columns, "probabilities": probabilities}, aspects, labels)


def paired_difference(dataset: str, runs: Sequence[Sequence[Path]], resamples: int) -> dict[str, float]:
    """Mean score of the first run over its seeds minus that of the second, with 95% intervals.

    Args:
        dataset: "sentihood" or "semeval2014".
        runs: of both, the parquet file of each seed.
        resamples: of the sentences.
    Returns:
        `<score>`, `<score>_low` and `<score>_high`, as fractions.
    Raises:
        ValueError: if the files are about different sentences.
    """
    metric = importlib.import_module(f"absa.metrics.{dataset}")
    first, second = ([read_groups(file, metric.ASPECTS, metric.LABELS) for file in files] for files in runs)
    for groups, file in zip([*first, *second], [*runs[0], *runs[1]], strict=True):
        if groups.ids != first[0].ids or not np.array_equal(groups.gold, first[0].gold):
            raise ValueError(f"{file} is about other sentences or labels than {runs[0][0]}: compare runs on one data")

    def mean_figures(seeds: Sequence[Groups], index: np.ndarray) -> dict[str, float]:
        figures = [metric.figures_of_groups(groups.gold[index], groups.probabilities[index]) for groups in seeds]
        return {name: np.mean([of_seed[name] for of_seed in figures]) for name in figures[0]}

    def difference(index: np.ndarray) -> dict[str, float]:
        minuend, subtrahend = mean_figures(first, index), mean_figures(second, index)
        return {name: float(minuend[name] - subtrahend[name]) for name in minuend if not name.startswith("audit_")}

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "audit_", DegenerateScoreWarning)  # not shown here
        return with_bounds(difference, first[0].ids, resamples, seed=0)


def main(arguments: CompareArguments):
    grid, compared = read_grid(arguments.grid), {}
    for label, other in grid.paired.items():
        folders = [arguments.output_dir / run_name(grid.runs[name]) for name in (label, other)]
        by_seed = {seed: [folder / f"seed-{seed}" / ANSWERS for folder in folders] for seed in grid.seeds}
        by_seed = {seed: files for seed, files in by_seed.items() if all(file.is_file() for file in files)}
        if not by_seed:
            raise FileNotFoundError(f"{folders[0]} and {folders[1]} have no seed in common: train them with run.py")
        scores = paired_difference(grid.dataset, list(zip(*by_seed.values(), strict=True)), arguments.resamples)
        compared[label] = {"minus": other, "seeds": list(by_seed), "resamples": arguments.resamples, "scores": scores}
        for name in scores:
            if not name.endswith(("_low", "_high")):
                value, low, high = (f"{100 * scores[name + end]:+.1f}" for end in ("", "_low", "_high"))
                print(f"{label} minus {other}: {name} {value} [{low}, {high}]")
    write_analysis(arguments.results_dir, "paired", grid, compared)


if __name__ == "__main__":
    main(parse(CompareArguments, "grid"))
