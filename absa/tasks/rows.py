"""Rows of data as columns of strings."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from datasets import ClassLabel, Dataset, DatasetDict

from absa.tasks.arguments import DataArguments
from absa.tasks.base import Rows
from datasets_scripts.splits import held_out

COLUMNS = ("id", "text", "target", "aspect", "label")
PLACES = ("target_start", "target_end")  # of targets that are words of the text; null where they are none


def check_columns(data: DatasetDict, arguments: DataArguments, column: str):
    """The data has the column that a task learns to answer.

    Raises:
        ValueError: if it has not.
    """
    if column not in (columns := next(iter(data.values())).column_names):
        raise ValueError(
            f"dataset={arguments.dataset} has the columns {', '.join(columns)}, and task={arguments.task} learns "
            f"{column}: give other data or another --data_config, or another --task"
        )


def check_train(data: DatasetDict):
    """The data has a training split.

    Raises:
        ValueError: if it has none.
    """
    if "train" not in data:
        raise ValueError(f"the data has the splits {list(data)}: training needs a split named train")


def as_strings(split: Dataset) -> Rows:
    """The five columns with names instead of class numbers; no target is the empty string. And places, where the data
    has them."""
    rows = {column: split[column][:] for column in PLACES if column in split.features}
    for column in COLUMNS:
        feature = split.features[column]
        values = split[column][:]
        if isinstance(feature, ClassLabel):
            rows[column] = [feature.names[value] for value in values]
        else:
            rows[column] = ["" if value is None else str(value) for value in values]
    return rows


def choose(rows: Rows, numbers: Sequence[int]) -> Rows:
    """The rows with these numbers."""
    return {name: [column[number] for number in numbers] for name, column in rows.items()}


def by_row(rows_of: Sequence[Sequence[int]], predictions: np.ndarray) -> np.ndarray:
    """Logits (rows, labels) from those of entries, (entries, labels) or (entries, most rows, labels).

    Args:
        rows_of: numbers of the rows of each entry.
        predictions: of the entries.
    """
    predictions = predictions.reshape(len(rows_of), -1, predictions.shape[-1])
    logits = np.empty((sum(map(len, rows_of)), predictions.shape[-1]))
    for own, of_entry in zip(rows_of, predictions, strict=True):
        logits[own] = of_entry[: len(own)]
    return logits


def names_of(split: Dataset, column: str) -> list[str]:
    """The names of a ClassLabel in the order of its ids, or the distinct strings of a column as they first occur."""
    feature = split.features[column]
    return list(feature.names) if isinstance(feature, ClassLabel) else list(dict.fromkeys(split[column]))


def hold_out_texts(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Rows of the texts that are kept and of those held out, see `held_out`."""
    texts = held_out(rows["text"], fraction, seed)
    is_held_out = np.array([text in texts for text in rows["text"]])
    return choose(rows, np.flatnonzero(~is_held_out)), choose(rows, np.flatnonzero(is_held_out))


def write_probabilities(path: Path, rows: Rows, probabilities: np.ndarray, label_names: list[str]):
    """One line a row: id, text, target, perhaps its place, aspect, the gold label and `p_<label>` for each label,
    (rows, labels)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {name: rows[name] for name in ("id", "text", "target", *PLACES, "aspect", "label") if name in rows}
    columns |= {f"p_{name}": probabilities[:, index] for index, name in enumerate(label_names)}
    pd.DataFrame(columns).to_parquet(path, index=False)
