"""Strict accuracy against macro-F1: what a model gives of the one for the other if it says "none" less readily.

    python study/trade_off.py study/grids/comparison_sentihood.yaml

Multiplies each probability of "none" by a factor before the most probable label is taken, which takes no training: the
scores on the test split at each of `FACTORS`. What is stored of trained models that are not there is kept.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse
from absa.metrics.aspect_groups import NONE, Groups
from absa.metrics.sentihood import ASPECTS, LABELS, DegenerateScoreWarning, figures_of_groups
from compare import read_groups
from grids import STUDY, read_grid
from trained import look_at_trained

FACTORS = {"1": 1.0, "1/2": 1 / 2, "1/4": 1 / 4, "1/8": 1 / 8}
SCORES = ("strict_accuracy", "macro_f1")


@dataclass
class TradeOffArguments:
    """Which models."""

    grid: Path = field(metadata={"help": "File of study/grids, on SentiHood."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Where run.py has put the runs."})
    results_dir: Path = field(default=STUDY / "results", metadata={"help": "For trade_off/GRID.json."})


def scores_at(groups: Groups, factor: float) -> dict[str, float]:
    """The `SCORES` where p(none) is multiplied by a factor and the rest follows."""
    probabilities = groups.probabilities.copy()  # (groups, aspects, labels)
    probabilities[..., NONE] *= factor
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DegenerateScoreWarning)  # of other scores
        figures = figures_of_groups(groups.gold, probabilities)
    return {name: float(figures[name]) for name in SCORES}


def look(checkpoint: Path) -> dict[str, dict[str, float]]:
    """The scores on the test split at each factor."""
    groups = read_groups(checkpoint / "test_probabilities.parquet", ASPECTS, LABELS)
    return {name: scores_at(groups, factor) for name, factor in FACTORS.items()}


def shown(looked: Mapping[str, Mapping[str, float]]) -> str:
    """What was found, as a line."""
    points = (", ".join(f"{100 * scores[score]:.1f}" for score in SCORES) for scores in looked.values())
    return "; ".join(f"{factor}: {point}" for factor, point in zip(looked, points, strict=True))


def main(arguments: TradeOffArguments):
    grid = read_grid(arguments.grid)
    for label, run in grid.runs.items():
        if run["dataset"] != "sentihood":
            raise ValueError(f"grid {arguments.grid}: {label!r} is on {run['dataset']}: give a grid on sentihood")
    file = arguments.results_dir / "trade_off" / f"{grid.name}.json"
    look_at_trained(grid, arguments.output_dir, file, look, shown)


if __name__ == "__main__":
    main(parse(TradeOffArguments, "grid"))
