"""csv files of visitors: read, and written with the answers."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

MAX_ROWS = 1_000
ADDED = ("target", "aspect", "label", "score", "truncated")
NO_ANSWER = dict.fromkeys(ADDED, "")


def read(file: str | Path, column: str) -> tuple[list[str], list[dict[str, str]]]:
    """The columns and rows of a csv file with a header, in UTF-8.

    Args:
        column: the column with the texts.
    Raises:
        ValueError: for what is no such file; it gives the line where there is one.
    """
    content = Path(file).read_bytes()
    if b"\0" in content:
        raise ValueError("The file is binary: give a csv file in UTF-8.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"Line {line} is not in UTF-8: save the file as csv in UTF-8.") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = next(reader, [])
        if column not in columns:
            raise ValueError(f"There is no column {column!r}: the file has {_listed(columns)}.")
        twice = [name for name, count in Counter([*columns, *ADDED]).items() if count > 1]
        if twice:
            raise ValueError(f"With those that are added, there would be two of {_listed(twice)}: rename yours.")
        rows = []
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(columns):
                raise ValueError(f"Line {reader.line_num} has {len(cells)} cells, the header {len(columns)}.")
            if len(rows) == MAX_ROWS:
                raise ValueError(f"The file has more than {MAX_ROWS:,} rows: examples/annotate.py takes any number.")
            rows.append(dict(zip(columns, cells, strict=True)))
    except csv.Error as error:
        raise ValueError(f"Line {reader.line_num} is no csv: {error}.") from error
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
    """With the mark by which spreadsheets know UTF-8."""
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        writer = csv.DictWriter(opened, [*columns, *ADDED])
        writer.writeheader()
        writer.writerows(rows)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:20]) or "none"
