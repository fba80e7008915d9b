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


def analyses_in(results_dir: Path) -> dict[str, dict[str, dict]]:
    """All of `analyses.json`."""
    file = results_dir / "analyses.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def only_here(results_dir: Path) -> FileLock:
    """Keeps other processes from writing into the folder, for a moment."""
    results_dir.mkdir(parents=True, exist_ok=True)
    return FileLock(results_dir / ".lock")


def look_at_trained(analysis: str, arguments: GridArguments, look: Callable[[Path], dict]):
    """Looks at each checkpoint of a grid that is in `output_dir`, and writes {label: {seed: found}} as an analysis.

    What the analysis has found before in checkpoints that are not there is kept. `look` gets the
    folder of a checkpoint and returns what is kept of it.
    """
    grid = read_grid(arguments.grid)
    found = read_analysis(arguments.results_dir, analysis, grid)
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
            if (checkpoint / "results.json").is_file():
                found.setdefault(label, {})[str(seed)] = looked = look(checkpoint)
                print(f"{label}, seed {seed}: {looked}", flush=True)
    write_analysis(arguments.results_dir, analysis, grid, found)
