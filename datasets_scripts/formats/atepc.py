"""PyABSA's files of aspect term extraction and polarity classification (ATEPC): a word, its tag, its label on a line.

    Great O -100
    food B-ASP Positive
    but O -100
    the O -100
    service B-ASP -100
    was O -100
    dreadful O -100

An empty line ends a block. -100, in older files -999, stands for no label. PyABSA's own files repeat a sentence for
each of its terms, and give the others no label: neighbouring blocks of the same words are one sentence here. What is
written has one block for all terms of a sentence, and more where terms overlap; PyABSA makes the same examples of it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from ..conll.conll import read_columns
from ..source_files import quoted, value_error
from .apc import checked_label, note_neighbours, written_label
from .bio import checked_spans, sentence_of
from .pivot import (
    TARGET,
    Sentence,
    check_place,
    hold,
    note_sentences,
    span_in_words,
    tokenised,
    with_places,
    write_text,
)

NO_LABEL = "-100"
NO_LABELS = (NO_LABEL, "-999")

Span = tuple[int, int, str | None]
"""First word, word behind the last, label."""


def read(file: Path) -> list[Sentence]:
    columns = (read_columns(file, 3, "blanks", column) for column in (2, 3))
    blocks = [(tagged["tokens"], _read_spans(tagged, judged["tags"])) for tagged, judged in zip(*columns, strict=True)]
    if not blocks:
        raise ValueError(f"{file}: has no words; write a word, its tag and its label on each line")
    sentences = []
    for number, (words, of_words) in enumerate(groupby(blocks, key=lambda block: block[0]), start=1):
        spans = [span for _, of_block in of_words for span in of_block]
        sentences.append(sentence_of(str(number), words, _told(spans)))
    return sentences


def _read_spans(sentence: dict, labels: list[str]) -> list[Span]:
    file, lines, spans = sentence["file"], sentence["lines"], []
    for first, behind, _ in checked_spans(sentence, ("ASP",)):
        for position in range(first + 1, behind):
            if labels[position] != labels[first]:
                remedy = f"is not the label of the first word of the term, {quoted(labels[first])}; write one for all"
                raise value_error(f"{file}, line {lines[position]}", labels[position], remedy)
        is_judged = labels[first] not in NO_LABELS
        label = checked_label(labels[first], f"{file}, line {lines[first]}") if is_judged else None
        spans.append((first, behind, label))
    for tag, label, line in zip(sentence["tags"], labels, lines, strict=True):
        if tag == "O" and label not in NO_LABELS:
            remedy = f"is the label of a word that is in no term; write {NO_LABEL}, or tag the word"
            raise value_error(f"{file}, line {line}", label, remedy)
    return spans


def _told(spans: list[Span]) -> Iterator[Span]:
    """What the blocks of a sentence say: each term with a label, and each without of which no block has the label."""
    known = {(first, behind) for first, behind, label in spans if label is not None}
    for first, behind, label in spans:
        if label is not None or (first, behind) not in known:
            known.add((first, behind))
            yield first, behind, label


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = tokenised(hold(with_places(sentences, notes), _fields, notes), notes)
    note_sentences(held, ("words",), notes)
    note_neighbours(held, notes)
    held = [_judged(sentence, notes) for sentence in held]
    write_text(file, "\n".join(block for sentence in held for block in _blocks(sentence)))
    return notes


def _judged(sentence: Sentence, notes: Counter) -> Sentence:
    """Without the opinions that say less of their term than another one, which a reader takes for one with it."""
    known = {span_in_words(sentence, one, "target") for one in sentence.opinions if "label" in one}
    kept = [one for one in sentence.opinions if "label" in one or span_in_words(sentence, one, "target") not in known]
    notes["opinions without a label, of a term that has one: left out"] += len(sentence.opinions) - len(kept)
    return sentence._replace(opinions=kept)


def _blocks(sentence: Sentence) -> Iterator[str]:
    """One for the terms that do not overlap those before them, one for those of the rest, and so on."""
    words, left = sentence.text.split(" "), sentence.opinions
    while True:
        columns, overlapping = [("O", NO_LABEL)] * len(words), []
        for opinion in left:
            first, behind = span_in_words(sentence, opinion, "target")
            if {tag for tag, _ in columns[first:behind]} == {"O"}:
                label = written_label(opinion) if "label" in opinion else NO_LABEL
                columns[first:behind] = [("B-ASP", label), *[("I-ASP", label)] * (behind - first - 1)]
            else:
                overlapping.append(opinion)
        yield "".join(f"{word} {tag} {label}\n" for word, (tag, label) in zip(words, columns, strict=True))
        if not overlapping:
            return
        left = overlapping


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_place(opinion, "target")
    if "label" in opinion:
        written_label(opinion)
    return (*TARGET, "label")
