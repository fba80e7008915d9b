"""One function for every data set: the project's, people's own files, and what has been exported to parquet."""

from collections.abc import Mapping
from pathlib import Path

from datasets import ClassLabel, DatasetDict, Value, load_dataset

from .custom_absa import CustomABSA
from .semeval2014 import SemEval2014
from .sentihood import SentiHood

BUILDERS = {"sentihood": SentiHood, "semeval2014": SemEval2014, "custom": CustomABSA}
ARGUMENTS = {
    "sentihood": ("data_dir", "deduplicate"),
    "semeval2014": ("data_dir", "deduplicate", "validation_fraction", "validation_seed", "version"),
    "custom": ("data_dir", "data_files", "deduplicate", "absent_label"),
}
COLUMNS = {
    "id": (Value,),
    "text": (Value,),
    "target": (Value, ClassLabel),
    "aspect": (ClassLabel,),
    "label": (ClassLabel,),
}


def load_absa_dataset(
    name: str,
    *,
    data_dir: str | Path | None = None,
    data_files: Mapping[str, str | Path] | None = None,
    deduplicate: bool = False,
    validation_fraction: float | None = None,
    validation_seed: int | None = None,
    version: str | None = None,
    absent_label: str | None = None,
    cache_dir: str | Path | None = None,
) -> DatasetDict:
    """Load a data set as rows of (id, text, target, aspect, label), one per text, target and aspect.

    Args:
        name: "sentihood", "semeval2014" or "custom", see `SentiHood`, `SemEval2014`, `CustomABSA`; or a folder of
            parquet files or the id ("owner/name") of a Hub data set with these five columns, of which aspect and
            label are ClassLabels (`export_parquet` writes such a folder). Other columns of theirs are left out.
        data_dir: folder of the source files (sentihood, semeval2014, custom).
        data_files: {"train": path, "validation": path, "test": path} (custom).
        deduplicate: drop texts that stand in a later split too (sentihood, semeval2014, custom).
        validation_fraction, validation_seed: held-out share of train, default 0, and which one, default 0
            (semeval2014).
        version: training file "v1" or "v2", default "v1" (semeval2014).
        absent_label: label of pairs that have no row (custom).
        cache_dir: where rows are cached, default that of `datasets`.

    Raises:
        ValueError: the name is unknown, an argument does not apply to it, or columns are not as described.
        FileNotFoundError, ConnectionError: see the builders, whose ValueErrors come through too.
    """
    given = {
        "data_dir": data_dir,
        "data_files": data_files,
        "deduplicate": deduplicate or None,
        "validation_fraction": validation_fraction,
        "validation_seed": validation_seed,
        "version": version,
        "absent_label": absent_label,
    }
    given = {argument: value for argument, value in given.items() if value is not None}
    if name not in BUILDERS and not Path(name).is_dir() and "/" not in name:
        raise ValueError(f"{name=} is unknown; choose one of {', '.join(BUILDERS)}, a folder, or a Hub id owner/name")
    for argument, value in given.items():
        if argument not in ARGUMENTS.get(name, ()):
            takers = [other for other, arguments in ARGUMENTS.items() if argument in arguments]
            raise ValueError(f"{argument}={value!r} does not apply to {name!r}, only to {', '.join(takers)}; drop it")
    cache_dir = None if cache_dir is None else str(cache_dir)
    if name not in BUILDERS:
        return _with_standard_columns(name, load_dataset(name, cache_dir=cache_dir))
    if "version" in given:
        given["train_version"] = given.pop("version")  # a builder's own `version` is that of its rows
    builder = BUILDERS[name](cache_dir=cache_dir, **given)
    builder.download_and_prepare()
    return builder.as_dataset()


def _with_standard_columns(name: str, splits: DatasetDict) -> DatasetDict:
    for split, rows in splits.items():
        for column, types in COLUMNS.items():
            feature = rows.features.get(column)
            if not isinstance(feature, types) or (isinstance(feature, Value) and feature.dtype != "string"):
                expected = " or ".join("string" if type_ is Value else "ClassLabel" for type_ in types)
                raise ValueError(
                    f"{name!r}, split {split!r}, column {column!r}: expected {expected}, got {feature}; "
                    "write the folder with export_parquet, or load csv and jsonl files with name='custom'"
                )
    return splits.select_columns(list(COLUMNS))
