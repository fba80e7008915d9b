"""Expected calibration errors of finished runs, before and after the temperature fitted on the validation split.

    python benchmarks/calibration_error.py outputs/study/sentihood/bert outputs/study/sentihood/qacg_bert

Reads what `examples/run_absa.py` has stored: the probabilities of every row, for each seed of a run.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from absa.calibration import calibration_errors, helpful_temperature
from absa.training.results import percent
from timing import print_table


def logits_and_labels(file: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Log-probabilities (rows, labels), gold classes and label names.

    To a softmax, at any temperature, log-probabilities are as good as the logits they come from.
    """
    table = pd.read_parquet(file)
    names = [column.removeprefix("p_") for column in table.columns if column.startswith("p_")]
    logits = np.log(table[[f"p_{name}" for name in names]].to_numpy())
    return logits, np.array([names.index(label) for label in table["label"]]), names


def row(run: Path) -> dict[str, str]:
    """A line of the table."""
    temperatures, errors = [], {"before": [], "after": []}
    for file in sorted(run.glob("seed-*/test_probabilities.parquet")):
        temperature = helpful_temperature(*logits_and_labels(file.with_name("validation_probabilities.parquet"))[:2])
        logits, labels, names = logits_and_labels(file)
        temperatures.append(temperature)
        errors["before"].append(calibration_errors(logits, labels, names))
        errors["after"].append(calibration_errors(logits / temperature, labels, names))
    if not temperatures:
        sys.exit(f"{run} holds no seed-*/test_probabilities.parquet: name the output_dir of a finished run")
    cells = {
        f"{kind}, {when}": percent([of_seed[kind] for of_seed in errors[when]])
        for kind in errors["before"][0]
        for when in errors
    }
    return {"test, %": run.name, "temperature": f"{np.mean(temperatures):.2f}", **cells}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="output folders of runs with a test split")
    print_table(map(row, parser.parse_args().runs))
