"""What a run leaves behind: scores as JSON, per-row probabilities as parquet, and the table of means."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

PROTOCOL = {  # by the split whose figures are reported, and for runs with an oracle
    "test": "The checkpoint of each seed is the one that is best on the validation split; the test split is read "
    "once, after that choice. Figures are means (sample standard deviations) over the seeds.",
    "oracle": "The checkpoint of each seed is the one that is best on the validation split. The test split is scored "
    "after every evaluation too, to show what choosing the checkpoint on it would add; nothing was chosen by that. "
    "Figures are means (sample standard deviations) over the seeds.",
    "validation": "There is no test split: the figures are those of the validation split, on which the checkpoint of "
    "each seed was chosen, and so too good. They are means (sample standard deviations) over the seeds.",
}


def write_json(path: Path, value: Mapping):
    """Writes JSON whole or not at all; NaN and infinities become null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(json.dumps(_jsonable(value), indent=2, allow_nan=False, default=str) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def _jsonable(value):
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value


def summarise(by_seed: Mapping[int, Mapping[str, float | None]]) -> dict[str, dict[str, float | None]]:
    """Mean and sample standard deviation of every score over the seeds; the deviation of one seed is None.

    Intervals (`<score>_low`, `<score>_high`) are of one seed's predictions and have no mean.
    """
    names = [name for name in next(iter(by_seed.values())) if not name.endswith(("_low", "_high"))]
    return {name: mean_and_std([scores[name] for scores in by_seed.values()]) for name in names}


def mean_and_std(values: Sequence[float | None]) -> dict[str, float | None]:
    """NaN where one of the values is undefined; the sample standard deviation of a single one is None."""
    column = np.array(values, dtype=float)  # where None becomes NaN
    return {"mean": float(column.mean()), "std": float(column.std(ddof=1)) if len(column) > 1 else None}


def cell(mean: float | None, std: float | None = None) -> str:
    """A cell of a table: mean (deviation) in percent, without the latter where it is None; undefined for no mean."""
    if mean is None or math.isnan(mean):
        return "undefined"
    return f"{100 * mean:.1f}" + (f" ({100 * std:.1f})" if std is not None else "")


def interval(scores: Mapping[str, float | None], name: str) -> str:
    """The 95 % interval of a score behind its cell, " [71.0, 77.2]"; "" where there is none."""
    bounds = [cell(scores.get(f"{name}_{end}")) for end in ("low", "high")]
    return "" if "undefined" in bounds else f" [{', '.join(bounds)}]"


def percent(values: Sequence[float | None]) -> str:
    """Mean (sample standard deviation) as a cell of a table; undefined if one of the values is."""
    return cell(**mean_and_std(values))


def table(summary: Mapping[str, Mapping[str, float | None]], names: list[str], split: str, num_seeds: int) -> str:
    """The main scores in percent, one line each: `strict_accuracy   74.2 (0.3)`."""
    width = max(len(name) for name in [*names, "validation, %"])
    heading = f"{f'{split}, %':<{width}}  mean (std) over {num_seeds} seed{'s' if num_seeds > 1 else ''}"
    return "\n".join([heading, *(f"{name:<{width}}  {cell(**summary[name])}" for name in names)])
