"""The runs of the study: grids of `grids/*.yaml` over what `budget.yaml` gives to all."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

STUDY = Path(__file__).resolve().parent
GRIDS = sorted((STUDY / "grids").glob("*.yaml"))
BUDGET = yaml.safe_load((STUDY / "budget.yaml").read_text(encoding="utf-8"))
LONGEST_NAME = 250  # bytes; file systems take 255
USUAL = {**BUDGET, "symmetric_targets": False, "r_drop": False}
UNNAMED = ("dataset", "model_type", "oracle")  # the first two are in the name anyhow, the last changes no answer


@dataclass(frozen=True)
class Grid:
    """Runs that belong in one table.

    Args:
        name: the file's.
        title: of the table.
        split: whose scores the table shows; what is chosen by them must be chosen on "validation".
        seeds: of each run.
        runs: what each run is called in the table -> its arguments for `run_absa.py`; `control` for `controls.py`;
            `denoising`, those arguments of `denoise.py` that are others; `first`, those of a training on other data,
            from which it starts; `members`, seeds of trainings from that one start, of whose weights it is the mean;
            `teachers`, what another run of the grid is called, of which all seeds teach it. A run with a `mixture`
            has the scores of the `dataset` in it.
        reported: rows of others' figures, above.
        paired: pairs of runs whose difference gets an interval: a run -> the other one, or several others.
    """

    name: str
    title: str
    split: str
    seeds: list[int]
    runs: Mapping[str, Mapping]
    reported: Mapping[str, list[str]] = field(default_factory=dict)
    paired: Mapping[str, str | list[str]] = field(default_factory=dict)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each pair of `paired` as (minuend, subtrahend)."""
        several = {label: [others] if isinstance(others, str) else others for label, others in self.paired.items()}
        return [(label, other) for label, others in several.items() for other in others]

    @property
    def dataset(self) -> str:
        """Of all its runs."""
        return next(iter(self.runs.values()))["dataset"]

    @property
    def task(self) -> str:
        """Of all its runs."""
        return next(iter(self.runs.values())).get("task", "classification")

    @property
    def scored_as(self) -> str:
        """What the columns of its tables depend on: the subtask of models that generate tuples, or the metric."""
        run = next(iter(self.runs.values()))
        return run.get("subtasks", "aste") if self.task == "generation" else run.get("metric", self.dataset)


def read_grid(file: Path) -> Grid:
    """A grid with the arguments of each run complete; `teachers` are their folders, under that of all runs.

    Raises:
        TypeError: if a field is missing or unknown.
        KeyError: if no run is called as `teachers` says.
    """
    fields = yaml.safe_load(file.read_text(encoding="utf-8"))
    common = {**BUDGET, **fields.pop("arguments", {})}
    runs = {label: {**common, **changes} for label, changes in fields["runs"].items()}
    for run in runs.values():
        if "teachers" in run:
            run["teachers"] = [f"{run_name(runs[run['teachers']])}/seed-{seed}" for seed in fields["seeds"]]
    return Grid(file.stem, **{**fields, "runs": runs})


def run_name(arguments: Mapping) -> str:
    """Folder of a run: data set, model and what is not as usual. Equal arguments have equal names."""
    changes = []
    for name, value in sorted(arguments.items()):
        if value is None:  # a row that has not what the others have
            continue
        if name == "config_overrides":
            changes += sorted(value.split(","))
        elif isinstance(value, Mapping):
            changes += [f"{name}.{key}={written(item)}" for key, item in sorted(value.items())]
        elif name not in UNNAMED and value != USUAL.get(name):
            changes.append(f"{name}={written(value)}")
    name = ",".join([arguments["model_type"], *changes])
    if len(name.encode()) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME // 2]},{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return f"{arguments['dataset']}/{name}"


def written(value: Any) -> str:
    """A value in a name: entries of a list between plus signs, of a mixture's with what each says."""
    if isinstance(value, list):
        return "+".join(map(written, value))
    if isinstance(value, Mapping):
        return ":".join(map(written, value.values()))
    return (str(value).lower() if isinstance(value, bool) else str(value)).replace("/", "--")
