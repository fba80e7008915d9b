"""Data sets as parquet files: the form that the Hub hosts and `datasets.load_dataset` reads."""

from itertools import chain
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value, load_dataset_builder
from datasets.exceptions import DatasetGenerationError

from .source_files import quoted, value_error
from .tuples import tuple_features

COLUMNS = {
    "id": (Value,),
    "text": (Value,),
    "target": (Value, ClassLabel),
    "aspect": (ClassLabel,),
    "label": (ClassLabel,),
}
PLACES = ("target_start", "target_end")  # of targets that are words of their text, as characters; null elsewhere
TAGGED_COLUMNS = {"id": (Value,), "text": (Value,), "tokens": (Value,), "tags": (ClassLabel,)}  # lists, the last two
TUPLE_COLUMNS = ("id", "text", "words", "offsets", "tuples")
CLASSES = ("target", "aspect", "label", "tags", "tuples")


def export_parquet(splits: DatasetDict, output_dir: str | Path) -> list[Path]:
    """Write each split to `output_dir`/data as one parquet file, with its ClassLabels.

    `load_dataset(output_dir)` gives the same splits again, `load_absa_dataset(output_dir)` too. Publish only what you
    may: neither SentiHood nor SemEval-2014 states a licence that permits it.

    Returns:
        The files written, in the order of the splits.

    Raises:
        FileExistsError: there are parquet files already, which `load_dataset` would mix with the new ones.
    """
    folder = Path(output_dir) / "data"
    present = sorted(file.name for file in folder.glob("*.parquet"))
    if present:
        raise FileExistsError(f"{folder} has {', '.join(present)} already; remove them or choose another output_dir")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for split, rows in splits.items():
        files.append(folder / f"{split}-00000-of-00001.parquet")
        rows.to_parquet(files[-1])
    return files


def load_parquet(name: str, cache_dir: str | None) -> DatasetDict:
    """The standard columns of a folder of parquet files, or of a data set of the Hub: those of tagged sentences where
    there is a column of tags, and those of `TuplesBuilder` where there is a column of tuples. Targets keep their
    places (`target_start`, `target_end`) where all splits have them.

    Raises:
        ValueError: there is no such data set, a file is damaged, has no rows or other classes than another, a column
            is missing, has another type or a value that is none, a sentence has other numbers of tokens and tags, or a
            tuple has words that the sentence lacks.
    """
    reading, first_of = name, {}
    try:
        builder = load_dataset_builder(name, cache_dir=cache_dir)
        for reading in chain.from_iterable(builder.config.data_files.values()):
            if reading.endswith(".parquet") and Path(reading).is_file():
                _check_classes(reading, first_of)
        reading = name
        if Path(name).is_dir():  # by its name alone, `datasets` would take the cached rows of a folder of that name
            files = {split: list(of_split) for split, of_split in builder.config.data_files.items()}
            builder = load_dataset_builder(builder.name, data_files=files, cache_dir=cache_dir)
        builder.download_and_prepare()
        splits = builder.as_dataset()
    except Exception as error:  # of datasets, pyarrow, the Hub's client, the system
        cause = error.__cause__ if isinstance(error, DatasetGenerationError) else error
        reason = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise ValueError(
            f"{reading} cannot be loaded ({reason}); write the folder anew with export_parquet, or check the Hub id "
            "and the network"
        ) from error
    if any("tuples" in rows.column_names for rows in splits.values()):
        for split, rows in splits.items():
            _check_tuples(f"{name}, split {split!r}", rows)
        return splits.select_columns(list(TUPLE_COLUMNS))
    is_tagged = any("tags" in rows.column_names for rows in splits.values())
    columns = TAGGED_COLUMNS if is_tagged else COLUMNS
    for split, rows in splits.items():
        for column, types in columns.items():
            _check_column(f"{name}, split {split!r}, column {column!r}", rows, column, types)
        if is_tagged:
            _check_lengths(f"{name}, split {split!r}", rows)
    has_places = not is_tagged and all(set(PLACES) <= set(rows.column_names) for rows in splits.values())
    if has_places:
        for split, rows in splits.items():
            _check_places(f"{name}, split {split!r}", rows)
    return splits.select_columns([*columns, *(PLACES if has_places else ())])


def _check_places(place: str, rows: Dataset) -> None:
    """Each target stands where the row says."""
    columns = (rows[name] for name in ("text", "target", *PLACES))
    for number, (text, target, start, end) in enumerate(zip(*columns, strict=True)):
        if (start is None) != (end is None) or (start is not None and text[start:end] != target):
            raise ValueError(
                f"{place}, row {number}: text[{start}:{end}] is not the target {quoted(target)}; correct target_start "
                "and target_end, or leave both empty"
            )


def _check_classes(file: str, first_of: dict[str, tuple[str, object]]) -> None:
    """All files are read with the classes of one of them: the numbers of another's would change their meaning."""
    metadata = pq.read_metadata(file)
    if metadata.num_rows == 0:
        raise ValueError("it has no rows")
    features = Features.from_arrow_schema(metadata.schema.to_arrow_schema())
    for column in CLASSES:
        classes = features.get(column)
        first, known = first_of.setdefault(column, (file, classes))
        if classes != known:
            raise ValueError(f"column {column!r} is {quoted(classes)}, and in {first} {quoted(known)}")


def _check_column(place: str, rows: Dataset, column: str, types: tuple[type, ...]) -> None:
    feature, of_list = rows.features.get(column), ""
    if column in ("tokens", "tags"):
        of_list = "list of "
        feature = feature.feature if isinstance(feature, List) else None
    if not isinstance(feature, types) or (isinstance(feature, Value) and feature.dtype != "string"):
        expected = " or ".join("string" if type_ is Value else "ClassLabel" for type_ in types)
        raise ValueError(
            f"{place}: expected {of_list}{expected}, got {rows.features.get(column)}; write the folder with "
            "export_parquet, or load csv and jsonl files with name='custom'"
        )
    values, row_of = rows.data.column(column), None
    if of_list:
        row_of = pc.list_parent_indices(values.combine_chunks())
        values = pc.list_flatten(values)
    if isinstance(feature, ClassLabel):
        expected = f"0 to {feature.num_classes - 1}"
        is_good = pc.and_(pc.greater_equal(values, 0), pc.less(values, feature.num_classes))
    elif column == "target":  # which may be null
        return
    else:
        expected = "a string with something to read"
        is_good = pc.not_equal(pc.utf8_trim_whitespace(values), "")
    place_of_value = pc.index(pc.fill_null(is_good, False), False).as_py()
    if place_of_value != -1:
        row = place_of_value if row_of is None else row_of[place_of_value].as_py()
        remedy = f"is not {expected}; correct or remove the row, and write the folder with export_parquet"
        raise value_error(f"{place}, row {row}", rows[row][column], remedy)


def _check_lengths(place: str, rows: Dataset) -> None:
    numbers = [pc.fill_null(pc.list_value_length(rows.data.column(column)), 0) for column in ("tokens", "tags")]
    is_good = pc.and_(pc.equal(*numbers), pc.greater(numbers[0], 0))
    row = pc.index(is_good, False).as_py()
    if row != -1:
        counts = [number[row].as_py() for number in numbers]
        raise ValueError(
            f"{place}, row {row}: {counts[0]} tokens and {counts[1]} tags; give each token one tag, and a sentence at "
            "least one token"
        )


def _check_tuples(place: str, rows: Dataset) -> None:
    if missing := [column for column in TUPLE_COLUMNS if column not in rows.column_names]:
        raise ValueError(f"{place}: column {missing[0]!r} is missing; write the folder with export_parquet")
    fields = getattr(rows.features["tuples"], "feature", None)
    expected = tuple_features(**fields) if isinstance(fields, dict) else None
    if rows.select_columns(list(TUPLE_COLUMNS)).features != expected:
        raise ValueError(
            f"{place}: {rows.features} are not the columns of tuples; write the folder with export_parquet"
        )
    for number, row in enumerate(rows):
        words = [row["text"][start:end] for start, end in row["offsets"]]
        spans = [span for fields in row["tuples"] for span in (fields.get("target"), fields.get("opinion")) if span]
        if words != row["words"] or not all(len(s) == 2 and 0 <= s[0] < s[1] <= len(words) for s in spans):
            raise value_error(f"{place}, row {number}", row, "has other words than its text, or spans of no words")
