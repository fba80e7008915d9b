"""How much of macro-F1 is the point at which a model says that an aspect is there, and not what it knows.

    python examples/study/operating_point.py examples/study/grids/comparison_sentihood.yaml

Multiplies each probability of "none" by one factor before the most probable label is taken: the one with the best mean
of strict accuracy and macro-F1 on the validation split. What follows of it for the test split takes no training. What
is stored of trained models that are not there is kept.
"""

import json
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from compare import read_groups
from grids import STUDY, read_grid, run_name

sys.path.insert(0, str(STUDY.parent))

from arguments import parse  # from examples/
from metrics.sentihood.aspect_groups import NONE, Groups
from metrics.sentihood.figures import DegenerateScoreWarning
from metrics.sentihood.sentihood_scores import ASPECTS, LABELS, figures_of_groups
from results import write_json

FACTORS = tuple(2.0 ** (step / 4) for step in sorted(range(-12, 13), key=abs))
"""From 1/8 to 8, those near 1 first."""


@dataclass
class OperatingPointArguments:
    """Which models."""

    grid: Path = field(metadata={"help": "File of examples/study/grids, on SentiHood."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Where run.py has put the runs."})
    results_dir: Path = field(default=STUDY / "results", metadata={"help": "For operating_point/GRID.json."})


def scores_at(groups: Groups, factor: float) -> dict[str, float]:
    """The main scores where p(none) is multiplied by a factor and the rest follows."""
    probabilities = groups.probabilities.copy()  # (groups, aspects, labels)
    probabilities[..., NONE] *= factor
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "audit_", DegenerateScoreWarning)  # not shown here
        figures = figures_of_groups(groups.gold, probabilities)
    return {name: float(value) for name, value in figures.items() if not name.startswith("audit_")}


def best_factor(groups: Groups) -> float:
    """The factor with the highest mean of strict accuracy and macro-F1, of equals the nearest to 1."""

    def chosen_by(factor: float) -> float:
        scores = scores_at(groups, factor)
        return scores["strict_accuracy"] + scores["macro_f1"]

    return max(FACTORS, key=chosen_by)


def look(checkpoint: Path) -> dict[str, float | dict[str, float]]:
    """The `factor` chosen on the validation split, and the scores on the `test` split with it."""
    validation, test = (
        read_groups(checkpoint / f"{split}_probabilities.parquet", ASPECTS, LABELS) for split in ("validation", "test")
    )
    factor = best_factor(validation)
    return {"factor": factor, "test": scores_at(test, factor)}


def main(arguments: OperatingPointArguments):
    grid = read_grid(arguments.grid)
    for label, run in grid.runs.items():
        if run["dataset"] != "sentihood":
            raise ValueError(f"grid {arguments.grid}: {label!r} is on {run['dataset']}: give a grid on sentihood")
    file = arguments.results_dir / "operating_point" / f"{grid.name}.json"
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
            if (checkpoint / "results.json").is_file():
                found.setdefault(label, {})[str(seed)] = looked = look(checkpoint)
                scores = {name: round(100 * looked["test"][name], 1) for name in ("strict_accuracy", "macro_f1")}
                print(f"{label}, seed {seed}: none times {looked['factor']:.2f}, test {scores}", flush=True)
    write_json(file, found)


if __name__ == "__main__":
    main(parse(OperatingPointArguments, "grid"))
