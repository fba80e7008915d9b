"""csv files of visitors: read, and written with the answers."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shortened

from asking import Answer

MAX_ROWS = 1_000
LONGEST_CELL = 131_072  # characters
ADDED = (
    *("target", "target_start", "target_end", "opinion", "opinion_start", "opinion_end"),
    *("aspect", "label", "score", "truncated"),
)


def read(file: str | Path, column: str) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a csv file with a header, in UTF-8.

    Args:
        column: the column with the texts.
    Raises:
        ValueError: for what is no such file; it gives the line where there is one.
    """
    content = Path(file).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"Line {line} is not in UTF-8: save the file as csv in UTF-8.") from error
    csv.field_size_limit(LONGEST_CELL)  # of the process: another reader in it may have set its own
    reader, rows = csv.reader(io.StringIO(text, newline=""), strict=True), []
    line = 1  # where a row starts: a cell in quotes may span lines, to the end of the file
    try:
        columns = next(reader, [])
        if not column or column not in columns:
            raise ValueError(f"There is no column {shortened(column)}: the file has {shortened(columns)}.")
        twice = [name for name, count in Counter([*columns, *ADDED]).items() if count > 1]
        if twice:
            raise ValueError(f"With those that are added, there would be two of {shortened(twice)}: rename yours.")
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                if len(cells) != len(columns):
                    raise ValueError(f"Line {line} has {len(cells)} cells, the header {len(columns)}.")
                if len(rows) == MAX_ROWS:
                    raise ValueError(f"More than {MAX_ROWS:,} rows: examples/annotate.py takes any number.")
                rows.append(dict(zip(columns, cells, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"Line {line} is no csv: {error}.") from error
    return columns, rows


def annotated(row: Mapping[str, str], answers: Iterable[Answer]) -> list[dict]:
    """The row once for each answer, and once without any where there is none."""
    added = []
    for answer in answers:
        cells = {name: "" if (value := getattr(answer, name)) is None else value for name in ADDED}
        added.append(cells | {"score": f"{answer.score:.4f}", "truncated": "yes" if answer.truncated else "no"})
    return [{**row, **cells} for cells in added or [dict.fromkeys(ADDED, "")]]


def write(file: Path, columns: Sequence[str], rows: Iterable[Mapping]):
    """With the mark by which spreadsheets know UTF-8; half surrogates, which it has not, as \\ud83d."""
    with file.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as opened:
        writer = csv.DictWriter(opened, [*columns, *ADDED])
        writer.writeheader()
        writer.writerows(rows)
