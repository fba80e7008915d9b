"""PyABSA's files of aspect polarity classification (APC): three lines for each aspect term.

    But the $T$ was so horrible to us.
    staff
    Negative

That is the text with $T$ for the term, the term, and its label. Terms whose lines give the same text stand one after
another, and belong to one sentence. A line with $T$ twice is refused, since the term may be either; PyABSA skips it.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby, pairwise
from pathlib import Path

from ..source_files import checked_text, read_lines, value_error
from .pivot import (
    LABELS,
    TARGET,
    NotHeldError,
    Sentence,
    check_label,
    check_place,
    hold,
    note_sentences,
    on_one_line,
    with_opinions,
    with_places,
    write_text,
)

PLACE = "$T$"
LAYOUT = "three lines for each term: the text with $T$ for the term, the term, the label"
NUMBER = re.compile("-?[0-9]{1,2}")


def read(file: Path) -> list[Sentence]:
    lines = [(number, line.removesuffix("\r")) for number, line in read_lines(file)]
    if not lines:
        raise ValueError(f"{file}: has no lines; write {LAYOUT}")
    terms = [_read_term(file, lines[first : first + 3]) for first in range(0, len(lines), 3)]
    return [
        Sentence(str(number), text, [opinion for _, opinion in of_text])
        for number, (text, of_text) in enumerate(groupby(terms, key=lambda term: term[0]), start=1)
    ]


def _read_term(file: Path, lines: list[tuple[int, str]]) -> tuple[str, dict]:
    """The text of three lines, and what they say of it."""
    for position, (number, line) in enumerate(lines):
        expected = int(position == 0)
        if line.count(PLACE) != expected:
            remedy = f"has $T$ {line.count(PLACE)} times, where {expected} is expected; write {LAYOUT}"
            raise value_error(f"{file}, line {number}", line, remedy)
    if len(lines) < 3:
        raise value_error(f"{file}, line {lines[0][0]}", lines[0][1], f"lacks lines behind it; write {LAYOUT}")
    (_, text), (term_line, term), (label_line, label) = lines
    term = checked_text(term, f"{file}, line {term_line}").strip(" \t")
    label = checked_label(label.strip(), f"{file}, line {label_line}")
    start = text.index(PLACE)
    place = {"target_start": start, "target_end": start + len(term)}
    return text.replace(PLACE, term), {"target": term, **place, "label": label}


def checked_label(written: str, place: str) -> str:
    """A label of PyABSA: Positive, Negative, Neutral or Conflict in any case, or a number, which stays as it is.

    Raises:
        ValueError: it is another word, which may well be a term in the wrong line; begins with the place.
    """
    if written.lower() in LABELS:
        return written.lower()
    if not NUMBER.fullmatch(written):
        known = ", ".join(label.capitalize() for label in LABELS)
        raise value_error(place, written, f"is no label; write one of {known}, or a number of two digits at most")
    return written


def written_label(opinion: dict) -> str:
    """The same, as PyABSA writes it.

    Raises:
        NotHeldError: the opinion has no such label.
    """
    if not NUMBER.fullmatch(opinion.get("label", "")):
        check_label(opinion, LABELS)
    return opinion["label"].capitalize()


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = hold(on_one_line(with_places(sentences, notes), notes), _fields, notes)
    held = with_opinions(held, notes)
    lines = []
    for sentence in held:
        for opinion in sentence.opinions:
            lines += [_with_place(sentence, opinion), opinion["target"], written_label(opinion)]
    note_sentences(held, (), notes)
    note_neighbours(held, notes)
    write_text(file, "".join(f"{line}\n" for line in lines))
    return notes


def _with_place(sentence: Sentence, opinion: dict) -> str:
    return sentence.text[: opinion["target_start"]] + PLACE + sentence.text[opinion["target_end"] :]


def note_neighbours(sentences: list[Sentence], notes: Counter) -> None:
    """Note sentences that a reader takes for one with the sentence before them, because they have its text."""
    same = sum(first.text == second.text for first, second in pairwise(sentences))
    notes["sentences with the text of the one before: one with it now"] += same


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_place(opinion, "target")
    written = _with_place(sentence, opinion)  # "$Tesla" has no place that could be told from "esla"
    if PLACE in opinion["target"] or (written.find(PLACE), written.count(PLACE)) != (opinion["target_start"], 1):
        raise NotHeldError(f"stand in a text with {PLACE}")
    if opinion["target"] != opinion["target"].strip(" \t"):
        raise NotHeldError("have a target that begins or ends with a blank")
    written_label(opinion)
    return (*TARGET, "label")
