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
from absa.training.results import write_json
from grids import STUDY, read_grid, run_name


@dataclass
class CompareArguments:
    """Which pairs, and where their runs are."""

    grid: Path = field(metadata={"help": "File of study/grids, with `paired` runs."})
    seeds: list[int] | None = field(
        default=None, metadata={"help": "Of both models (default: of the grid's those that both have)."}
    )
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Where run.py has put the runs."})
    results_dir: Path = field(default=STUDY / "results", metadata={"help": "For paired/GRID.json."})
    resamples: int = field(default=10_000, metadata={"help": "Of the test sentences."})


def read_groups(file: Path, aspects: Sequence[str], labels: Sequence[str]) -> Groups:
    """What a run answered, in groups as the metric takes them.

    Raises:
        FileNotFoundError: if the run is not there.
    """
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} does not exist: train the run with study/run.py (which skips what has a file in its "
            "--results_dir), or give the --output_dir or the --seeds that are there"
        )
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
        FileNotFoundError: if a run is not there.
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
    grid = read_grid(arguments.grid)
    if not grid.paired:
        raise ValueError(f"grid {arguments.grid} has no `paired` runs to compare: add them, or give another grid")
    compared = {}
    for label, other in grid.paired.items():
        by_seed = {
            seed: [
                arguments.output_dir / run_name(grid.runs[name]) / f"seed-{seed}" / "test_probabilities.parquet"
                for name in (label, other)
            ]
            for seed in arguments.seeds or grid.seeds
        }
        there = [seed for seed, pair in by_seed.items() if all(file.is_file() for file in pair)]
        seeds = arguments.seeds or there or grid.seeds  # where there is none, it is said which files are missing
        files = list(zip(*(by_seed[seed] for seed in seeds), strict=True))
        differences = paired_difference(grid.runs[label]["dataset"], files, arguments.resamples)
        compared[label] = {"minus": other, "seeds": seeds, "resamples": arguments.resamples, "scores": differences}
        for name, value in differences.items():
            if not name.endswith(("_low", "_high")):
                bounds = ", ".join(f"{100 * differences[f'{name}_{end}']:+.1f}" for end in ("low", "high"))
                print(f"{label} minus {other}: {name} {100 * value:+.1f} [{bounds}]")
    write_json(arguments.results_dir / "paired" / f"{grid.name}.json", compared)


if __name__ == "__main__":
    main(parse(CompareArguments, "grid"))
