"""brat's standoff format: annotations in a file .ann, of the file .txt beside it, which has a sentence on each line.

    T1	Target 6 10	food
    A1	Label T1 positive
    T2	Opinion 0 5	Great
    R1	Judges Arg1:T2 Arg2:T1

A target has a label, and perhaps an aspect. An opinion term judges a target, or stands alone with a label of its own.
Places are characters of the whole text.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ..source_files import is_readable, quoted, read_lines, read_utf8, shorten, value_error
from .pivot import (
    OPINION,
    TARGET,
    Sentence,
    check_new,
    check_place,
    hold,
    note_sentences,
    on_one_line,
    with_places,
    write_text,
)

FIELD_OF = {"Target": "target", "Opinion": "opinion"}
FIELD_OF_ATTRIBUTE = {"Label": "label", "Aspect": "aspect"}
SPAN = re.compile(r"(\w+) ([0-9]{1,9}) ([0-9]{1,9})\t(.+)")
ATTRIBUTE = re.compile(r"(\w+) (T[0-9]+) (\S+)")
RELATION = re.compile(r"Judges Arg1:(T[0-9]+) Arg2:(T[0-9]+)\s*")


class Term(NamedTuple):
    """A span: whether of a target or an opinion term, the line of its text, from 0, and its fields of an opinion."""

    name: str
    line: int
    fields: dict


def read(file: Path) -> list[Sentence]:
    text_file = _text_file(file)
    if not text_file.is_file():
        raise FileNotFoundError(f"{file}: the file of its texts, {text_file}, is missing; put it there")
    text = read_utf8(text_file)
    annotations = _read_annotations(file)
    terms = {id_: _read_term(*found, text) for id_, found in annotations.items() if id_.startswith("T")}
    judging, opinions_of, opinions = {}, {}, {}
    for id_, (place, annotation) in annotations.items():
        if id_.startswith("A"):
            _add_attribute(place, annotation, terms)
        elif id_.startswith("R"):
            opinion, target = _read_relation(place, annotation, terms)
            opinions_of.setdefault(target, []).append(terms[opinion].fields)
            judging[opinion] = place
    for id_, place in judging.items():
        if not terms[id_].fields.keys() <= set(OPINION):
            raise value_error(place, id_, "has an attribute and judges a target; give the attribute to the target")
    for id_, term in terms.items():
        if id_ not in judging:
            for fields in opinions_of.get(id_, [{}]):
                opinions.setdefault(term.line, []).append(term.fields | fields)
    texts = [(line, one.removesuffix("\r")) for line, one in enumerate(text.split("\n")) if is_readable(one)]
    if not texts:
        raise ValueError(f"{text_file}: has no text; write a sentence on each line")
    return [Sentence(str(number), one, opinions.get(line, [])) for number, (line, one) in enumerate(texts, start=1)]


def _text_file(file: Path) -> Path:
    if file.suffix != ".ann":
        raise ValueError(f"{file}: expected a name that ends in .ann; the texts lie beside it, in a file .txt")
    return file.with_suffix(".txt")


def _read_annotations(file: Path) -> dict[str, tuple[str, str]]:
    """By the id of each annotation, its place in the file and what follows the id."""
    annotations, num_notes = {}, 0
    for number, line in read_lines(file):
        id_, _, annotation = line.removesuffix("\r").partition("\t")
        place = f"{file}, line {number}"
        if id_.startswith("#"):
            num_notes += 1
        elif not re.fullmatch("[TAR][0-9]+", id_):
            raise value_error(
                place, id_, "is no id of a span, an attribute or a relation, such as T1, A1, R1; remove it"
            )
        elif id_ in annotations:
            raise value_error(place, id_, "occurs twice; give each annotation its own id")
        else:
            annotations[id_] = place, annotation
    if num_notes:
        warnings.warn(f"{file}: {num_notes} notes of annotators are not read", stacklevel=3)
    return annotations


def _read_term(place: str, annotation: str, text: str) -> Term:
    match = SPAN.fullmatch(annotation)
    if match is None or match[1] not in FIELD_OF:
        remedy = "is no span; write Target or Opinion, start and end, a tab, and the words, as in Target 6 10\\tfood"
        raise value_error(place, annotation, remedy)
    name, start, end, words = FIELD_OF[match[1]], int(match[2]), int(match[3]), match[4]
    if text[start:end] != words or not is_readable(words):
        remedy = f"is not what the text has from {start} to {end}, {quoted(text[start:end])}; correct words or numbers"
        raise value_error(place, words, remedy)
    line_start = text.rfind("\n", 0, start) + 1
    fields = {name: words, f"{name}_start": start - line_start, f"{name}_end": end - line_start}
    return Term(name, text.count("\n", 0, start), fields)


def _add_attribute(place: str, annotation: str, terms: dict[str, Term]) -> None:
    match = ATTRIBUTE.fullmatch(annotation)
    if match is None or match[1] not in FIELD_OF_ATTRIBUTE or match[2] not in terms:
        remedy = f"is no attribute; write {' or '.join(FIELD_OF_ATTRIBUTE)}, the T of the file that has it, and a word"
        raise value_error(place, annotation, remedy)
    field, fields = FIELD_OF_ATTRIBUTE[match[1]], terms[match[2]].fields
    if field in fields:
        raise value_error(place, annotation, f"is the second {match[1]} of {shorten(match[2])}; keep one of them")
    fields[field] = match[3]


def _read_relation(place: str, annotation: str, terms: dict[str, Term]) -> tuple[str, str]:
    """The ids of an opinion term and of the target that it judges."""
    match = RELATION.fullmatch(annotation)
    ends = [terms.get(id_) for id_ in match.groups()] if match else [None]
    if None in ends or [end.name for end in ends] != ["opinion", "target"] or ends[0].line != ends[1].line:
        remedy = "is no relation; write Judges Arg1:T2 Arg2:T1, an Opinion and a Target of one line of the text"
        raise value_error(place, annotation, remedy)
    return match[1], match[2]


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    text_file = _text_file(file)
    check_new(file, text_file)
    notes = Counter()
    held = hold(on_one_line(with_places(sentences, notes), notes), _fields, notes)
    lines, begin, numbers = [], 0, {kind: count(1) for kind in "TAR"}
    for sentence in held:
        for opinion in sentence.opinions:
            ids = []
            for type_, name in FIELD_OF.items():
                if name in opinion:
                    ids.append(f"T{next(numbers['T'])}")
                    start, end = begin + opinion[f"{name}_start"], begin + opinion[f"{name}_end"]
                    lines.append(f"{ids[-1]}\t{type_} {start} {end}\t{opinion[name]}")
            for attribute, field in FIELD_OF_ATTRIBUTE.items():
                if field in opinion:
                    lines.append(f"A{next(numbers['A'])}\t{attribute} {ids[0]} {opinion[field]}")
            if len(ids) == 2:
                lines.append(f"R{next(numbers['R'])}\tJudges Arg1:{ids[1]} Arg2:{ids[0]}")
        begin += len(sentence.text) + 1
    note_sentences(held, (), notes)
    write_text(text_file, "".join(f"{sentence.text}\n" for sentence in held))
    write_text(file, "".join(f"{line}\n" for line in lines))
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    """Values of attributes are single words."""
    placed = [name for name in FIELD_OF.values() if f"{name}_start" in opinion] or ["target"]
    for name in placed:
        check_place(opinion, name)
    words = [field for field in FIELD_OF_ATTRIBUTE.values() if re.fullmatch(r"\S+", opinion.get(field, ""))]
    return (*(TARGET if "target" in placed else ()), *(OPINION if "opinion" in placed else ()), *words)
