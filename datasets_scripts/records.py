"""Records of csv and jsonl files, of known columns."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .source_files import parse_json, quoted, read_lines, read_utf8, value_error

SUFFIXES = (".csv", ".jsonl")


def read_records(file: Path, needed: Sequence[str], optional: Sequence[str] = ()) -> Iterator[tuple[int, dict]]:
    """The rows of a csv file, whose values are strings, or the objects of a jsonl file, each with its line (1-based).

    Raises:
        ValueError: the file's name ends otherwise, a column is missing, unknown or there twice, a row is ragged, the
            csv or json is malformed, or the file is not UTF-8. Names the file, the line and the value.
    """
    _check_suffix(file)
    read = _csv_records if file.suffix == ".csv" else _jsonl_records
    yield from read(file, needed, optional)


def rows_as_text(rows: Sequence[Mapping], file: Path) -> str:
    """What a csv or jsonl file of these rows, at least one, holds.

    Raises:
        ValueError: the file's name ends otherwise.
    """
    _check_suffix(file)
    if file.suffix == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, list(rows[0]))  # its line ends are \r\n, without which \r would not be quoted
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def _check_suffix(file: Path) -> None:
    if file.suffix not in SUFFIXES:
        raise ValueError(f"{file}: expected a name that ends in {' or '.join(SUFFIXES)}; rename the file")


def cell_error(file: Path, line: int, column: str, value: object, remedy: str) -> ValueError:
    """The error of one cell: file, 1-based line, column, value, what is wrong and the remedy."""
    return value_error(f"{file}, line {line}, column {column!r}", value, remedy)


def _csv_records(file: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[int, dict]]:
    reader = csv.reader(io.StringIO(read_utf8(file), newline=""), strict=True)
    header, line = None, 1
    try:
        for cells in reader:
            if cells and header is None:
                header = [cell.strip() for cell in cells]
                _check_columns(file, line, header, needed, optional)
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


def _jsonl_records(file: Path, needed: Sequence[str], optional: Sequence[str]) -> Iterator[tuple[int, dict]]:
    for line, text in read_lines(file):
        record = parse_json(text, file, line)
        if not isinstance(record, dict):
            raise value_error(f"{file}, line {line}", record, "is no object; write one object per line")
        _check_columns(file, line, list(record), needed, optional)
        yield line, record


def _check_columns(file: Path, line: int, columns: list[str], needed: Sequence[str], optional: Sequence[str]) -> None:
    for separator in ";\t":
        if len(columns) == 1 and separator in columns[0]:
            raise ValueError(
                f"{file}, line {line}: {quoted(columns[0])} is one column; separated by {separator!r}? Save the file "
                f"with commas: pandas.read_csv(file, sep={separator!r}).to_csv(file, index=False)"
            )
    place = f"{file}, line {line}, columns"
    for column in needed:
        if column not in columns:
            raise value_error(place, columns, f"lack {column!r}; add it")
    for column in columns:
        if column not in (*needed, *optional) or columns.count(column) > 1:
            remedy = f"is unknown or occurs twice; keep, each once, {', '.join((*needed, *optional))}"
            raise value_error(place, column, remedy)
