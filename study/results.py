"""What the study has found: `results.jsonl` has a line a run, `analyses.json` what was found in the runs of a grid.

`analyses.json` holds {analysis: {grid: {label of a run: found}}}; each analysis is a script of its name, but for
`paired`, which is by `compare.py`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from filelock import FileLock

from absa.training.results import write_json
from grids import STUDY, Grid, read_grid, run_name


@dataclass
class GridArguments:
    """Which runs, and where they are."""

    grid: Path = field(metadata={"help": "File of study/grids."})
    output_dir: Path = field(default=Path("outputs/study"), metadata={"help": "Where run.py has put the runs."})
    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with results.jsonl and analyses.json."})


def read_results(results_dir: Path) -> pd.DataFrame:
    """A row for each run that has been trained, by its name and seed; columns of scores are like "test.macro_f1".

    Raises:
        ValueError: if a run stands in the table twice.
    """
    file = results_dir / "results.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    results = [json.loads(line) for line in lines]
    keys = [(run_name(result["arguments"]), result["seed"]) for result in results]
    index = pd.MultiIndex.from_tuples(keys, names=["run", "seed"])
    return pd.json_normalize(results).set_index(index, verify_integrity=True)


def add_result(results_dir: Path, result: Mapping):
    """Appends a line to `results.jsonl`, if no other process has trained that run in the meantime."""
    with only_here(results_dir):
        if (run_name(result["arguments"]), result["seed"]) not in read_results(results_dir).index:
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


def on_sentihood(file: Path) -> Grid:
    """A grid whose runs are on SentiHood, as most analyses want it.

    Raises:
        ValueError: if they are not.
    """
    grid = read_grid(file)
    if grid.dataset != "sentihood":
        raise ValueError(f"grid {file} is on {grid.dataset}: give a grid on sentihood")
    return grid


def look_at_trained(
    analysis: str, arguments: GridArguments, look: Callable[[Path], dict], tell: Callable[[dict], str]
):
    """Looks at each checkpoint of a grid that is in `output_dir`, and writes {label: {seed: found}} as an analysis.

    What the analysis has found before in checkpoints that are not there is kept.

    Args:
        analysis: its name.
        arguments: the grid, and the places.
        look: folder of a checkpoint -> what is kept of it.
        tell: what was found -> a line to print.
    """
    grid = on_sentihood(arguments.grid)
    found = read_analysis(arguments.results_dir, analysis, grid)
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = arguments.output_dir / run_name(run) / f"seed-{seed}"
            if (checkpoint / "results.json").is_file():
                found.setdefault(label, {})[str(seed)] = looked = look(checkpoint)
                print(f"{label}, seed {seed}: {tell(looked)}", flush=True)
    write_analysis(arguments.results_dir, analysis, grid, found)
