"""Whether crowded sentences are harder: F1 of generators on the test split, by the gold tuples in a sentence.

    python study/by_number.py study/grids/aste_14res.yaml

From the answers that a run leaves beside its checkpoint. What was found before in runs that are not there is kept.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from absa.commands import parse
from absa.metrics.tuple_f1 import figures_of_sentences
from datasets_scripts.subtasks import SUBTASKS
from results import GridArguments, look_at_trained

NUMBERS = {"1": (1, 1), "2": (2, 2), "3 or 4": (3, 4), "5 and more": (5, np.inf)}


def look(checkpoint: Path) -> dict[str, float | None]:
    """F1 of the sentences with so many tuples, by `NUMBERS`; None where there are no such sentences."""
    rows = pq.read_table(checkpoint / "test_tuples.parquet").to_pydict()
    (subtask,) = set(rows["subtask"])
    figures_of = figures_of_sentences(rows["tuples"], rows["predicted"], fields=SUBTASKS[subtask].found)
    numbers, looked = np.array(list(map(len, rows["tuples"]))), {}
    for name, (low, high) in NUMBERS.items():
        index = np.flatnonzero((low <= numbers) & (numbers <= high))
        looked[name] = figures_of(index)["f1"] if len(index) else None
    return looked


if __name__ == "__main__":
    look_at_trained("by_number", parse(GridArguments, "grid"), look)
