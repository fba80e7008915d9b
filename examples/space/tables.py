"""csv files of visitors: read, and written with the answers."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

MAX_ROWS = 1_000
MAX_COLUMNS = 100
MAX_BYTES = 5_000_000
ADDED = ("target", "aspect", "label", "score", "truncated")
NO_ANSWER = dict.fromkeys(ADDED, "")


def read(file: str | Path, column: str) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a csv file with a header, in UTF-8.

    Args:
        column: the column with the texts.
    Raises:
        ValueError: for what is no such file; it gives the line where there is one.
    """
    if not file or not Path(file).is_file():
        raise ValueError("There is no such file: give one csv file.")
    if not column:
        raise ValueError("The column with the texts has no name: say which it is.")
    with Path(file).open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"The file has more than {MAX_BYTES:,} bytes: examples/annotate.py takes any number.")
    if b"\0" in content:
        raise ValueError("The file is binary, or in UTF-16: save it as csv in UTF-8.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"Line {line} is not in UTF-8: save the file as csv in UTF-8.") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1  # where a row starts: a cell in quotes may span lines, to the end of the file
    try:
        columns = next(reader, [])
        if column not in columns:
            raise ValueError(f"There is no column {_cut(repr(column))}: the file has {_listed(columns)}.")
        if len(columns) > MAX_COLUMNS:
            raise ValueError(f"The file has {len(columns):,} columns: give {MAX_COLUMNS} at most.")
        twice = [name for name, count in Counter([*columns, *ADDED]).items() if count > 1]
        if twice:
            raise ValueError(f"With those that are added, there would be two of {_listed(twice)}: rename yours.")
        rows = []
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(columns):
                raise ValueError(f"Line {line} has {len(cells)} cells, the header {len(columns)}.")
            if cells and len(rows) == MAX_ROWS:
                raise ValueError(f"The file has more than {MAX_ROWS:,} rows: examples/annotate.py takes any number.")
            if cells:
                rows.append(dict(zip(columns, cells, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        read_to = (
            f"; a quote that opens there may not close before line {reader.line_num}" if reader.line_num > line else ""
        )
        raise ValueError(f"Line {line} is no csv: {error}{read_to}.") from error
    if not rows:
        raise ValueError("The file has no rows.")
    return columns, rows


def annotated(row: Mapping[str, str], answers: Iterable[Mapping]) -> Iterator[dict]:
    """The row once for each answer, and once without any where there is none."""
    found = False
    for answer in answers:
        found = True
        written = {"score": f"{answer['score']:.4f}", "truncated": "yes" if answer["truncated"] else "no"}
        yield {**row, **{name: answer[name] for name in ADDED}, **written}
    if not found:
        yield {**row, **NO_ANSWER}


def write(file: Path, columns: Sequence[str], rows: Iterable[Mapping]):
    """With the mark by which spreadsheets know UTF-8; half surrogates, which it has not, as \\ud83d."""
    with file.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as opened:
        writer = csv.DictWriter(opened, [*columns, *ADDED])
        writer.writeheader()
        writer.writerows(rows)


def _listed(names: Sequence[str]) -> str:
    return _cut(", ".join(repr(name) for name in names[:20]), 400) or "none"


def _cut(written: str, most: int = 80) -> str:
    return written if len(written) <= most else written[:most] + "..."
