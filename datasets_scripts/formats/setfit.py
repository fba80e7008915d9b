"""Rows of SetFit for ABSA, csv or jsonl: text, span, label and ordinal.

    text,span,label,ordinal
    The food is good and so is the food next door.,food,positive,1

The span is an aspect term. The ordinal says how often the text has it before: here the second "food" is meant. A file
whose texts have each span once may leave it out. Rows with the same text are those of one sentence.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..records import cell_error, read_records, rows_as_text
from ..source_files import checked_text, quoted
from .pivot import (
    TARGET,
    NotHeldError,
    Sentence,
    check_place,
    hold,
    note_sentences,
    with_opinions,
    with_places,
    write_text,
)

COLUMNS = ("text", "span", "label", "ordinal")


def read(file: Path) -> list[Sentence]:
    opinions = {}
    for _, text, opinion in read_rows(file):
        opinions.setdefault(text, []).append(opinion)
    return [Sentence(str(number), *of_text) for number, of_text in enumerate(opinions.items(), start=1)]


def read_rows(file: Path) -> Iterator[tuple[int, str, dict]]:
    """Of each row its line (1-based), the text and the opinion: target, target_start, target_end and label."""
    line = None
    for line, record in read_records(file, COLUMNS[:3], COLUMNS[3:]):
        yield line, *_read_row(file, line, record)
    if line is None:
        raise ValueError(f"{file}: has no rows; write at least one")


def _read_row(file: Path, line: int, record: dict) -> tuple[str, dict]:
    text, span, label = (
        checked_text(record[column], f"{file}, line {line}, column {column!r}") for column in COLUMNS[:3]
    )
    starts = _starts(text, span)
    if not starts or ("ordinal" not in record and len(starts) > 1):
        remedy = f"stands {len(starts)} times in {quoted(text)}; " + (
            "say in a column ordinal which is meant, 0 for the first" if starts else "write it as the text has it"
        )
        raise cell_error(file, line, "span", span, remedy)
    ordinal = record.get("ordinal", 0)
    if isinstance(ordinal, str) and ordinal.isdecimal() and len(ordinal) < 5:  # of a csv file
        ordinal = int(ordinal)
    if type(ordinal) is not int or ordinal < 0:
        remedy = "is no ordinal; write 0 for the first place where the text has the span, 1 for the second, and so on"
        raise cell_error(file, line, "ordinal", ordinal, remedy)
    if ordinal >= len(starts):
        remedy = f"is too high: {quoted(text)} has {quoted(span)} {len(starts)} times; count from 0"
        raise cell_error(file, line, "ordinal", ordinal, remedy)
    start = starts[ordinal]
    return text, {"target": span, "target_start": start, "target_end": start + len(span), "label": label}


def _starts(text: str, span: str) -> list[int]:
    """Where the text has the span, also inside of words and overlapping itself: so SetFit's trainer counts."""
    return [start for start in range(len(text)) if text.startswith(span, start)]


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = with_opinions(hold(with_places(sentences, notes), _fields, notes), notes)
    rows = []
    for sentence in held:
        for opinion in sentence.opinions:
            ordinal = _starts(sentence.text, opinion["target"]).index(opinion["target_start"])
            values = (sentence.text, opinion["target"], opinion["label"], ordinal)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    note_sentences(held, (), notes)
    notes["sentences with the text of an earlier one: one with it now"] += len(held) - len({one.text for one in held})
    write_text(file, rows_as_text(rows, file))
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_place(opinion, "target")
    if "label" not in opinion:
        raise NotHeldError("have no label")
    if opinion["label"] == "none":  # of own data: the text does not speak of that aspect of the target
        raise NotHeldError("have the label 'none'")
    return (*TARGET, "label")
