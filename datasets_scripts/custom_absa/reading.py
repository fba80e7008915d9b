"""Rows of a csv or jsonl file with columns text, aspect, label and, optionally, target and id."""

import csv
import io
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..source_files import checked_text, parse_json, quoted, read_lines, read_utf8, value_error

REQUIRED_COLUMNS = ("text", "aspect", "label")
COLUMNS = (*REQUIRED_COLUMNS, "id", "target")


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
    without_id = [row for row in rows if "id" not in row]
    if len(without_id) == len(rows):
        ids = {}
        for row in rows:
            row["id"] = ids.setdefault(row["text"], str(len(ids)))
    elif without_id:
        remedy = "is missing in this row only; give each row an id or none"
        raise cell_error(file, without_id[0]["line"], "id", None, remedy)
    return _drop_repeated(file, rows)


def _csv_records(file: Path) -> Iterator[tuple[int, dict]]:
    reader = csv.reader(io.StringIO(read_utf8(file), newline=""), strict=True)
    header, line = None, 1
    try:
        for cells in reader:
            if cells and header is None:
                header = [cell.strip() for cell in cells]
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
    for line, text in read_lines(file):
        record = parse_json(text, file, line)
        if not isinstance(record, dict):
            raise value_error(f"{file}, line {line}", record, "is no object; write one object per line")
        _check_columns(file, line, list(record))
        yield line, record


READERS = {".csv": _csv_records, ".jsonl": _jsonl_records}


def _check_columns(file: Path, line: int, columns: list[str]) -> None:
    for separator in ";\t":
        if len(columns) == 1 and separator in columns[0]:
            raise ValueError(
                f"{file}, line {line}: {quoted(columns[0])} is one column; separated by {separator!r}? Save the file "
                f"with commas: pandas.read_csv(file, sep={separator!r}).to_csv(file, index=False)"
            )
    place = f"{file}, line {line}, columns"
    for column in REQUIRED_COLUMNS:
        if column not in columns:
            raise value_error(place, columns, f"lack {column!r}; add it")
    for column in columns:
        if column not in COLUMNS or columns.count(column) > 1:
            remedy = f"is unknown or occurs twice; keep, each once, {', '.join(COLUMNS)}"
            raise value_error(place, column, remedy)


def _read_row(file: Path, line: int, record: dict) -> dict:
    row, place = {"target": "", "line": line}, f"{file}, line {line}"
    for column, value in record.items():
        if column == "target" and (value is None or not str(value).strip()):
            continue
        if column == "id" and type(value) is int:
            value = str(value)
        text = checked_text(value, f"{place}, column {column!r}")
        row[column] = text if column == "text" else text.strip()
    return row


def _drop_repeated(file: Path, rows: list[dict]) -> list[dict]:
    first_of_id, first_of = {}, {}
    for row in rows:
        first = first_of_id.setdefault(row["id"], row)
        if first["text"] != row["text"]:
            remedy = f"belongs to another text on line {first['line']}; give each text its own id"
            raise cell_error(file, row["line"], "id", row["id"], remedy)
        first = first_of.setdefault((row["id"], row["target"], row["aspect"]), row)
        if first["label"] != row["label"]:
            remedy = (
                f"contradicts {quoted(first['label'])} on line {first['line']} for the same text, target "
                f"{quoted(row['target'])} and aspect {quoted(row['aspect'])}; remove one of the two rows"
            )
            raise cell_error(file, row["line"], "label", row["label"], remedy)
    if len(first_of) < len(rows):
        warnings.warn(f"{file}: {len(rows) - len(first_of)} repeated rows dropped", stacklevel=2)
    return list(first_of.values())


def cell_error(file: Path, line: int, column: str, value: object, remedy: str) -> ValueError:
    """The error of one cell: file, 1-based line, column, value, what is wrong and the remedy."""
    return value_error(f"{file}, line {line}, column {column!r}", value, remedy)
