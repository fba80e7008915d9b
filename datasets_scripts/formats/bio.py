"""BIO columns: a word and its tag on a line, an empty line after each sentence.

    The O
    battery B-POS
    life I-POS
    lasts O

Types are POS, NEG, NEU and CON, or the labels written out (B-positive), or ASP for a target without a label. What is
written has a tab between word and tag, as `load_absa_dataset("conll", "columns")` reads it.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from ..conll.conll import read_columns
from ..tag_schemes import first_fault, spans_of, split_tag
from ..tagged import tag_error
from ..tuples import LABEL_OF, checked_words
from ..words import joined_offsets
from .pivot import (
    LABELS,
    TARGET,
    Sentence,
    check_label,
    check_place,
    hold,
    known,
    note_sentences,
    span_in_words,
    tokenised,
    with_places,
    write_text,
)

NO_LABEL = "ASP"
LABEL_OF_TYPE = LABEL_OF | {label: label for label in LABELS} | {NO_LABEL: None}
TYPE_OF = {label: type_ for type_, label in LABEL_OF.items()} | {None: NO_LABEL}


def read(file: Path) -> list[Sentence]:
    sentences = []
    for number, tagged in enumerate(read_columns(file, 2, "blanks", 2), start=1):
        spans = [(*span, LABEL_OF_TYPE[type_]) for *span, type_ in checked_spans(tagged, LABEL_OF_TYPE)]
        sentences.append(sentence_of(str(number), tagged["tokens"], spans))
    if not sentences:
        raise ValueError(f"{file}: has no words; write a word and its tag on each line")
    return sentences


def checked_spans(sentence: dict, types: Collection[str]) -> list[tuple[int, int, str]]:
    """The spans of a sentence of `read_columns` whose tags are BIO: first word, word behind the last, type.

    Raises:
        ValueError: a token or a tag is none, or a tag may not stand where it does; names the file, line and token.
    """
    checked_words(sentence["tokens"], f"{sentence['file']}, line {sentence['lines'][0]}")
    for position, tag in enumerate(sentence["tags"]):
        prefix, type_ = split_tag(tag)
        if tag != "O" and (prefix not in ("B", "I") or type_ not in types):
            remedy = f"is no tag; write O, or B or I with one of {', '.join(types)}, as in B-{next(iter(types))}"
            raise tag_error(sentence, position, remedy)
    fault = first_fault(sentence["tags"], "BIO")
    if fault is not None:
        raise tag_error(sentence, fault, "continues no span; write B where a span begins")
    return spans_of(sentence["tags"])


def sentence_of(id_: str, words: list[str], spans: Iterable[tuple[int, int, str | None]]) -> Sentence:
    """A sentence of words, whose opinions are words [first, behind) with a label or without."""
    text, offsets, opinions = " ".join(words), joined_offsets(words), []
    for first, behind, label in spans:
        start, end = offsets[first][0], offsets[behind - 1][1]
        opinions.append(known(target=text[start:end], target_start=start, target_end=end, label=label))
    return Sentence(id_, text, opinions, offsets)


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = tokenised(hold(with_places(sentences, notes), _fields, notes), notes)
    blocks = []
    for sentence in held:
        tags = ["O"] * len(sentence.words)
        for opinion in sentence.opinions:
            first, behind = span_in_words(sentence, opinion, "target")
            if set(tags[first:behind]) != {"O"}:
                notes["opinions have a target that overlaps another: left out"] += 1
                continue
            type_ = TYPE_OF[opinion.get("label")]
            tags[first:behind] = [f"B-{type_}", *[f"I-{type_}"] * (behind - first - 1)]
        words = sentence.text.split(" ")
        blocks.append("".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags, strict=True)))
    note_sentences(held, ("words",), notes)
    write_text(file, "\n".join(blocks))
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_place(opinion, "target")
    if "label" in opinion:
        check_label(opinion, LABELS)
    return (*TARGET, "label")
