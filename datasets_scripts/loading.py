"""One function for every data set: the project's, people's own files, and what has been exported to parquet."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value, load_dataset_builder
from datasets.exceptions import DatasetGenerationError, DatasetsError

from .custom_absa import CustomABSA
from .semeval2014 import SemEval2014
from .sentihood import SentiHood
from .source_files import quoted

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
        ValueError: the name is unknown, an argument does not apply to it, or files, columns or values are not as
            described.
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
    if not isinstance(name, str | Path) or not name:
        raise ValueError(f"name={quoted(name)}: give one of {', '.join(BUILDERS)}, a folder, or a Hub id owner/name")
    name = str(name)
    if name not in BUILDERS and not Path(name).is_dir() and "/" not in name:
        raise ValueError(f"{name=} is unknown; choose one of {', '.join(BUILDERS)}, a folder, or a Hub id owner/name")
    for argument, value in given.items():
        if argument not in ARGUMENTS.get(name, ()):
            takers = [other for other, arguments in ARGUMENTS.items() if argument in arguments]
            raise ValueError(
                f"{argument}={quoted(value)} does not apply to {name!r}, only to {', '.join(takers)}; drop it"
            )
    cache_dir = None if cache_dir is None else str(cache_dir)
    if name not in BUILDERS:
        return _with_standard_columns(name, _load_parquet(name, cache_dir))
    if "version" in given:
        given["train_version"] = given.pop("version")  # a builder's own `version` is that of its rows
    builder = BUILDERS[name](cache_dir=cache_dir, **given)
    builder.download_and_prepare()
    return builder.as_dataset()


def _load_parquet(name: str, cache_dir: str | None) -> DatasetDict:
    try:
        builder = load_dataset_builder(name, cache_dir=cache_dir)
        files = [Path(file) for files in (builder.config.data_files or {}).values() for file in files]
        _check_classes([file for file in files if file.suffix == ".parquet" and file.is_file()])
        builder.download_and_prepare()
        return builder.as_dataset()
    except (DatasetsError, pa.ArrowException, OSError, IndexError) as error:
        kind = next((kind for kind in (FileNotFoundError, ConnectionError) if isinstance(error, kind)), ValueError)
        told = str(error.__cause__ if isinstance(error, DatasetGenerationError) else error).strip()
        reason = told.splitlines()[0] if told else type(error).__name__
        raise kind(
            f"name={name!r} cannot be loaded ({reason}); give a folder that export_parquet has written, or check the "
            "Hub id and the network"
        ) from error


def _check_classes(files: list[Path]) -> None:
    """All files are read with the classes of one of them: the numbers of another's would change their meaning."""
    first_of = {}
    for file in files:
        try:
            with pq.ParquetFile(file) as parquet:
                features, num_rows = Features.from_arrow_schema(parquet.schema_arrow), parquet.metadata.num_rows
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            TypeError,
            KeyError,
        ) as error:  # the last three of its metadata
            raise ValueError(f"{file} cannot be read ({error}); write the folder anew with export_parquet") from error
        if num_rows == 0:
            raise ValueError(f"{file} has no rows; remove it")
        for column in ("target", "aspect", "label"):
            classes = features.get(column)
            first, first_classes = first_of.setdefault(column, (file, classes))
            if classes != first_classes:
                raise ValueError(
                    f"{file}, column {column!r}: {quoted(classes)}, where {first} has {quoted(first_classes)}; write "
                    "the folder anew with export_parquet, with the same classes in all splits"
                )


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
            try:
                rows.data.column(column).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"{name!r}, split {split!r}, column {column!r}: {error}; write it as UTF-8"
                ) from error
            row = _first_bad_row(rows, column)
            if row is not None:
                expected = f"0 to {feature.num_classes - 1}" if isinstance(feature, ClassLabel) else "a string"
                expected += " with something to read" if column == "text" else ""
                raise ValueError(
                    f"{name!r}, split {split!r}, row {row}, column {column!r}: {quoted(rows[row][column])} is not "
                    f"{expected}; correct or remove the row, and write the folder with export_parquet"
                )
    return splits.select_columns(list(COLUMNS))


def _first_bad_row(rows: Dataset, column: str) -> int | None:
    """Number, from 0, of the first row without a value, with a class that there is not, or with a blank text.

    A target that is null is none, as one that is empty.
    """
    values, feature = rows.data.column(column), rows.features[column]
    if column == "target" and not isinstance(feature, ClassLabel):
        return None
    is_good = pc.is_valid(values)
    if isinstance(feature, ClassLabel):
        is_good = pc.and_(pc.greater_equal(values, 0), pc.less(values, feature.num_classes))
    elif column == "text":
        is_good = pc.not_equal(pc.utf8_trim_whitespace(values), "")
    row = pc.index(pc.fill_null(is_good, False), False).as_py()
    return None if row == -1 else row
