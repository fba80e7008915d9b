"""What the study has found: `results.jsonl` has a line a run, `analyses.json` what was found in the runs of a grid.

`analyses.json` holds {analysis: {grid: {label of a run: found}}}; each analysis is a script of its name. `paired` has
what was found of a run by the label of each other one.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from absa.training.results import write_json
from grids import STUDY, Grid, read_grid, run_name

NOT_SAVED = {"context_in_input"}  # controls of which a checkpoint does not know, see `controls.py`


@dataclass
class GridArguments:
    """Which runs, and where they are."""

    grid: Path = field(metadata={"help": "File of study/grids."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Where run.py has put the runs."})
    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with results.jsonl and analyses.json."})


@dataclass
class GridAndDataArguments(GridArguments):
    """Which runs, where they are, and their data."""

    data_dir: str | None = field(
        default=None, metadata={"help": "Folder with the files of the grid's data set (default: downloaded)."}
    )


def read_results(results_dir: Path) -> dict[tuple[str, int], dict]:
    """(name, seed) -> what is kept of each run that has been trained.

    Raises:
        ValueError: if a run stands in the table twice.
    """
    file = results_dir / "results.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    results = {(run_name(result["arguments"]), result["seed"]): result for result in map(json.loads, lines)}
    if len(results) < len(lines):
        raise ValueError(f"{file} has {len(lines)} lines of {len(results)} runs: keep one line a run and seed")
    return results


def add_result(results_dir: Path, result: Mapping):
    """Appends a line to `results.jsonl`, if no other process has trained that run in the meantime."""
    with only_here(results_dir):
        if (run_name(result["arguments"]), result["seed"]) not in read_results(results_dir):
            with (results_dir / "results.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(result, allow_nan=False) + "\n")


def read_analysis(results_dir: Path, analysis: str, grid: Grid) -> dict[str, dict]:
    """{label of a run: what an analysis has found of it}."""
    return analyses_in(results_dir).get(analysis, {}).get(grid.name, {})


def write_analysis(results_dir: Path, analysis: str, grid: Grid, found: Mapping[str, Mapping]):
    """Puts what an analysis has found of a grid in place of what it found before."""
    with only_here(results_dir):
        analyses = analyses_in(results_dir)
        analyses.setdefault(analysis, {})[grid.name] = found
        write_json(results_dir / "analyses.json", analyses)


def answers_in(checkpoint: Path, dataset: str) -> Path:
    """The folder with the answers to a data set that training has kept; a mixture has one for each of its own."""
    own = checkpoint / dataset
    return own if own.is_dir() else checkpoint


def add_found(results_dir: Path, analysis: str, grid: Grid, label: str, seed: str, found: Mapping):
    """Puts what an analysis has found of one run in place of what it found before, beside what it found of others."""
    with only_here(results_dir):
        analyses = analyses_in(results_dir)
        analyses.setdefault(analysis, {}).setdefault(grid.name, {}).setdefault(label, {})[seed] = found
        write_json(results_dir / "analyses.json", analyses)


def analyses_in(results_dir: Path) -> dict[str, dict[str, dict]]:
    """All of `analyses.json`."""
    file = results_dir / "analyses.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def only_here(results_dir: Path) -> FileLock:
    """Keeps other processes from writing into the folder, for a moment."""
    results_dir.mkdir(parents=True, exist_ok=True)
    return FileLock(results_dir / ".lock")


def look_at_trained(analysis: str, arguments: GridArguments, look: Callable[[Path], dict], asks_model: bool = False):
    """Looks at each checkpoint of a grid that is in `output_dir`, and keeps {label: {seed: found}} as an analysis.

    What is found in one is kept at once, beside what was found before in checkpoints that are not there.

    Args:
        look: gets the folder of a checkpoint and returns what is kept of it, if anything.
        asks_model: whether it loads the model, and not only the answers that training has kept of it; then a run is
            left out whose folder alone is not the model that was trained.
    """
    grid = read_grid(arguments.grid)
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
            if not (checkpoint / "results.json").is_file():
                continue
            if asks_model and (run.get("control") in NOT_SAVED or not (checkpoint / "config.json").is_file()):
                print(f"{label}, seed {seed}: left out, its folder alone is not the model that was trained")
                continue
            looked = look(checkpoint)
            if not looked:
                continue
            print(f"{label}, seed {seed}: {looked}", flush=True)
            add_found(arguments.results_dir, analysis, grid, label, str(seed), looked)
