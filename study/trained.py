"""What is found in the trained models of a grid, kept in one file."""

import json
from collections.abc import Callable
from pathlib import Path

from absa.training.results import write_json
from grids import Grid, run_name


def look_at_trained(
    grid: Grid, output_dir: Path, file: Path, look: Callable[[Path], dict], tell: Callable[[dict], str]
):
    """Looks at each checkpoint of a grid that is in `output_dir`, and writes what was found to a JSON file.

    Args:
        grid: label -> run, with seeds.
        output_dir: where `run.py` has put the runs.
        file: {label: {seed: found}}. What it holds of models that are not there is kept.
        look: folder of a checkpoint -> what is kept of it.
        tell: what was found -> a line to print.
    """
    found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for label, run in grid.runs.items():
        for seed in grid.seeds:
            checkpoint = output_dir / run_name(run) / f"seed-{seed}"
            if (checkpoint / "results.json").is_file():
                found.setdefault(label, {})[str(seed)] = looked = look(checkpoint)
                print(f"{label}, seed {seed}: {tell(looked)}", flush=True)
    write_json(file, found)
