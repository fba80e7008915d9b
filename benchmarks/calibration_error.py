"""Expected calibration errors of finished runs, before and after the temperature fitted on the validation split.

    python benchmarks/calibration_error.py outputs/models/bert outputs/models/qacg_bert

Reads results.json of each seed, as `examples/run_absa.py` has stored it.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from absa.training.results import percent
from timing import print_table


def row(run: Path) -> dict[str, str]:
    """A line of the table."""
    seeds = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(run.glob("seed-*/results.json"))]
    if not seeds:
        sys.exit(f"{run} holds no seed-*/results.json: name the output_dir of a finished run")
    temperatures = [part["calibration_temperature"] for seed in seeds for part in seed["training"].values()]
    errors = [seed["calibration"]["test"] for seed in seeds]
    cells = {
        f"{kind}, {when}": percent([of_seed[when][kind] for of_seed in errors])
        for kind in errors[0]["before"]
        for when in ("before", "after")
    }
    return {"test, %": run.name, "temperature": f"{np.mean(temperatures):.2f}", **cells}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="output folders of runs with a test split")
    print_table(map(row, parser.parse_args().runs))
