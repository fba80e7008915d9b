"""Rows of people's own csv or jsonl files: about aspects, or about words of the texts."""

import warnings
from pathlib import Path

from ..formats import setfit
from ..records import cell_error, read_records
from ..source_files import checked_text, quoted

REQUIRED_COLUMNS = ("text", "aspect", "label")
OPTIONAL_COLUMNS = ("id", "target")


def read_rows(file: Path) -> list[dict]:
    """Rows of one file with columns text, aspect, label and, optionally, target and id, in its order.

    They are dicts with id, text, target, aspect, label (strings) and line (1-based int).

    target, aspect, label and id are stripped of blanks, text is kept as it stands. A missing target is "". Without
    an id column the distinct texts are numbered from "0". A row that repeats an earlier one is dropped, with one
    warning that says how many were.

    Raises:
        ValueError: a column is missing or unknown, a row is ragged, a text, aspect, label or id is empty or no string,
            an id belongs to two texts, two rows contradict each other, the csv or json is malformed, the file is not
            UTF-8 or has no rows. Names the file, the line, the column and the value.
    """
    rows = [_read_row(file, line, record) for line, record in read_records(file, REQUIRED_COLUMNS, OPTIONAL_COLUMNS)]
    if not rows:
        raise ValueError(f"{file}: has no rows; write at least one")
    without_id = [row for row in rows if "id" not in row]
    if len(without_id) == len(rows):
        _number(rows)
    elif without_id:
        remedy = "is missing in this row only; give each row an id or none"
        raise cell_error(file, without_id[0]["line"], "id", None, remedy)
    return _drop_repeated(file, rows)


def read_term_rows(file: Path) -> list[dict]:
    """Rows of one file of SetFit's form, with columns text, span, label and, optionally, ordinal, in its order.

    They are dicts as of `read_rows`; the target is the span, `text[target_start:target_end]`, and the aspect is "".

    Raises:
        ValueError: as `read_rows`; the text does not have the span, or not so often.
    """
    rows = [{"line": line, "text": text, "aspect": "", **opinion} for line, text, opinion in setfit.read_rows(file)]
    for row in rows:
        row["label"] = row["label"].strip()
    _number(rows)
    return _drop_repeated(file, rows)


def _number(rows: list[dict]) -> None:
    ids = {}
    for row in rows:
        row["id"] = ids.setdefault(row["text"], str(len(ids)))


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
        asked = (row["id"], row["target"], row.get("target_start"), row["aspect"])
        first = first_of.setdefault(asked, row)
        if first["label"] != row["label"]:
            remedy = (
                f"contradicts {quoted(first['label'])} on line {first['line']} for the same text, target "
                f"{quoted(row['target'])} and aspect {quoted(row['aspect'])}; remove one of the two rows"
            )
            raise cell_error(file, row["line"], "label", row["label"], remedy)
    if len(first_of) < len(rows):
        warnings.warn(f"{file}: {len(rows) - len(first_of)} repeated rows dropped", stacklevel=2)
    return list(first_of.values())
