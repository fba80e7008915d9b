"""Rows of a csv or jsonl file with columns text, aspect, label and, optionally, target and id."""

import csv
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..source_files import quoted, read_utf8

REQUIRED_COLUMNS = ("text", "aspect", "label")
OPTIONAL_COLUMNS = ("id", "target")


def read_rows(file: Path) -> list[dict]:
    """Rows of one file, in its order: dicts with id, text, target, aspect, label (strings) and line (1-based int).

    target, aspect, label and id are stripped of blanks, text is kept as it stands. A missing target is "". Without
    an id column the distinct texts are numbered from "0". A row that repeats an earlier one is dropped, with one
    warning that says how many were.

    Raises:
        ValueError: a column is missing or unknown, a row is ragged, a text, aspect, label or id is empty or no string,
            an id belongs to two texts, two rows contradict each other, the csv or json is malformed, the file is not
            UTF-8 or has no rows. Names the file, the line, the column and the value.
    """
    rows = [_read_row(file, line, record) for line, record in READERS[file.suffix](file)]
    if not rows:
        raise ValueError(f"{file}: has no rows; write at least one")
    _complete_ids(file, rows)
    return _drop_repeated(file, rows)


def _csv_records(file: Path) -> Iterator[tuple[int, dict]]:
    reader = csv.reader(io.StringIO(read_utf8(file), newline=""), strict=True)
    header, line = None, 1
    try:
        for cells in reader:
            if cells and header is None:
                header = [cell.strip() for cell in cells]
                _check_separator(file, line, header)
                _check_columns(file, line, header)
            elif cells:
                if len(cells) != len(header):
                    raise ValueError(
                        f"{file}, line {line}: {len(cells)} cells {quoted(cells)} for the {len(header)} columns "
                        f"{', '.join(header)}; quote cells that hold commas and write each cell"
                    )
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1  # where the next record starts: a quoted cell may span lines
    except csv.Error as error:
        raise ValueError(
            f"{file}, line {line}: malformed csv ({error}); check the quotes of this row, which was read to line "
            f"{reader.line_num}: one that opens and never closes takes in what follows"
        ) from error


def _jsonl_records(file: Path) -> Iterator[tuple[int, dict]]:
    # Not splitlines(): JSON strings may hold U+2028 and other characters that it takes for line ends.
    for line, text in enumerate(read_utf8(file).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text, object_pairs_hook=_object)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{file}, line {line}: invalid JSON ({error.msg} at column {error.colno}); write one object per line"
            ) from error
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets, a key twice
            raise ValueError(f"{file}, line {line}: JSON that cannot be read ({error}); mend the line") from error
        if not isinstance(record, dict):
            raise ValueError(f"{file}, line {line}: {quoted(text.strip())} is no object; write one object per line")
        _check_columns(file, line, list(record))
        yield line, record


def _object(pairs: list[tuple[str, object]]) -> dict:
    """An object of JSON, which would lose the first value of a key that it has twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"a key occurs twice in {quoted([key for key, _ in pairs])}")
    return record


READERS = {".csv": _csv_records, ".jsonl": _jsonl_records}


def _check_separator(file: Path, line: int, header: list[str]) -> None:
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            raise ValueError(
                f"{file}, line {line}: {quoted(header[0])} is one column; separated by {name}? Save the file with "
                f"commas: pandas.read_csv(file, sep={separator!r}).to_csv(file, index=False)"
            )


def _check_columns(file: Path, line: int, columns: list[str]) -> None:
    for column in REQUIRED_COLUMNS:
        if column not in columns:
            raise ValueError(f"{file}, line {line}, column {column!r}: is missing among {quoted(columns)}; add it")
    for column in columns:
        if column not in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
            allowed = ", ".join(REQUIRED_COLUMNS + OPTIONAL_COLUMNS)
            raise ValueError(
                f"{file}, line {line}, column {quoted(column)}: is not one of {allowed}; rename or remove it"
            )
        if columns.count(column) > 1:
            raise ValueError(f"{file}, line {line}, column {column!r}: occurs twice in the header; remove one")


def _read_row(file: Path, line: int, record: dict) -> dict:
    values = {"target": "", **{column: value for column, value in record.items() if value is not None}}
    if isinstance(values.get("id"), int) and not isinstance(values["id"], bool):
        values["id"] = str(values["id"])
    for column in (*REQUIRED_COLUMNS, *(column for column in OPTIONAL_COLUMNS if column in record)):
        value = values.get(column)
        fault = fault_of(value, may_be_empty=column == "target")
        if fault is not None:
            raise cell_error(file, line, column, value, fault)
    return {column: value if column == "text" else value.strip() for column, value in values.items()} | {"line": line}


def fault_of(value: object, may_be_empty: bool = False) -> str | None:
    """What is wrong with a cell, and the remedy."""
    if not isinstance(value, str):
        return "is not a string; write a string"
    if any("\ud800" <= character <= "\udfff" for character in value):
        return "holds half a surrogate pair; write the whole character"
    if not may_be_empty and not any(character.isprintable() and not character.isspace() for character in value):
        return "is empty; write a value or remove the row"
    return None


def _complete_ids(file: Path, rows: list[dict]) -> None:
    without_id = next((row for row in rows if "id" not in row), None)
    if without_id is None:
        first_of = {}
        for row in rows:
            first = first_of.setdefault(row["id"], row)
            if first["text"] != row["text"]:
                remedy = f"belongs to another text on line {first['line']}; give each text its own id"
                raise cell_error(file, row["line"], "id", row["id"], remedy)
        return
    if any("id" in row for row in rows):
        raise cell_error(
            file, without_id["line"], "id", None, "is missing in this row only; give each row an id or none"
        )
    ids = {}
    for row in rows:
        row["id"] = ids.setdefault(row["text"], str(len(ids)))


def _drop_repeated(file: Path, rows: list[dict]) -> list[dict]:
    first_of = {}
    for row in rows:
        first = first_of.setdefault((row["id"], row["target"], row["aspect"]), row)
        if first["label"] != row["label"]:
            raise cell_error(
                file,
                row["line"],
                "label",
                row["label"],
                f"contradicts {quoted(first['label'])} on line {first['line']} for the same text, target "
                f"{quoted(row['target'])} and aspect {quoted(row['aspect'])}; remove one of the two rows",
            )
    if len(first_of) < len(rows):
        warnings.warn(f"{file}: {len(rows) - len(first_of)} repeated rows dropped", stacklevel=2)
    return list(first_of.values())


def cell_error(file: Path, line: int, column: str, value: object, remedy: str) -> ValueError:
    """The error of one cell: file, 1-based line, column, value, what is wrong and the remedy."""
    return ValueError(f"{file}, line {line}, column {column!r}: {quoted(value)} {remedy}")
