"""The runs of the study: grids of `grids/*.yaml` over what `budget.yaml` gives to all."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

STUDY = Path(__file__).resolve().parent
GRIDS = sorted((STUDY / "grids").glob("*.yaml"))
BUDGET = yaml.safe_load((STUDY / "budget.yaml").read_text(encoding="utf-8"))
DATASETS = ("sentihood", "semeval2014")
FIELDS = {"title", "split", "seeds", "arguments", "runs", "reported", "paired"}
UNNAMED = ("dataset", "model_type", "oracle")  # the first two are in the name anyhow, the last changes no answer
MODEL_TYPES = ("qacg_bert", "cg_bert", "bert")


@dataclass(frozen=True)
class Grid:
    """Runs that belong in one table.

    Args:
        name: the file's.
        title: of the table.
        split: whose scores the table shows; what is chosen by them must be chosen on "validation".
        seeds: of each run.
        runs: what each run is called in the table -> its arguments for `run_absa.py`, and `control` for
            `controls.py`.
        reported: rows of others' figures, above.
        paired: pairs of runs whose difference gets an interval.
    """

    name: str
    title: str
    split: str
    seeds: list[int]
    runs: Mapping[str, Mapping]
    reported: Mapping[str, list[str]]
    paired: Mapping[str, str]


def read_grid(file: Path) -> Grid:
    """A grid with the arguments of each run complete.

    Raises:
        FileNotFoundError, ValueError: naming the file and what is wrong with it.
    """
    if not file.is_file():
        raise FileNotFoundError(f"grid {file} does not exist: there are {', '.join(map(str, GRIDS))}")
    fields = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(fields, dict):
        raise ValueError(f"grid {file} is no mapping: see its neighbours")
    for name in {"arguments", "runs", "reported", "paired"} & set(fields):
        if not isinstance(fields[name], dict):
            raise ValueError(f"grid {file} has {name}={fields[name]}: a mapping is wanted, {{}} for an empty one")
    missing, unknown = {"title", "split", "seeds", "runs"} - set(fields), set(fields) - FIELDS
    if missing or unknown:
        raise ValueError(f"grid {file} lacks {sorted(missing)} and holds {sorted(unknown)}: see its neighbours")
    if fields["split"] not in ("validation", "test"):
        raise ValueError(f"grid {file} has split={fields['split']}: validation or test")
    paired = fields.get("paired", {})
    for label in [*paired, *paired.values()]:
        if label not in fields["runs"]:
            raise ValueError(f"grid {file} pairs {label!r}, which is none of its runs {list(fields['runs'])}")
    common = {**BUDGET, **fields.get("arguments", {})}
    for label, changes in fields["runs"].items():
        if not isinstance(changes, dict):
            raise ValueError(f"grid {file}: {label!r} is {changes}: a mapping is wanted, {{}} for an empty one")
    runs = {label: {**common, **changes} for label, changes in fields["runs"].items()}
    for label, run in runs.items():
        for name, allowed in (("dataset", DATASETS), ("model_type", MODEL_TYPES)):
            if run.get(name) not in allowed:
                raise ValueError(f"grid {file}: {label!r} has {name}={run.get(name)}: one of {', '.join(allowed)}")
    if len({run["dataset"] for run in runs.values()}) > 1:
        raise ValueError(f"grid {file} has runs on both data sets, whose scores fit into no one table: make two grids")
    return Grid(file.stem, fields["title"], fields["split"], fields["seeds"], runs, fields.get("reported", {}), paired)


def run_name(arguments: Mapping) -> str:
    """Folder of a run: data set, model and what is not as in the budget. Equal arguments have equal names."""
    changes = []
    for name, value in sorted(arguments.items()):
        if name == "config_overrides":
            changes += sorted(value.split(","))
        elif name not in UNNAMED and value != BUDGET.get(name):
            changes.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}".replace("/", "--"))
    return f"{arguments['dataset']}/{','.join([arguments['model_type'], *changes])}"
