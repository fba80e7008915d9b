"""What annotated sentences of every format are read as and written from, and notes of what a format cannot hold.

A format is a module with two functions:

    read(file): the sentences of a file. A file that is not in the format is refused with a ValueError that names the
        file, the line or element, the value and the remedy.
    write(sentences, file): writes a new file, which `read` takes. Returns notes: a Counter of what is left out or
        changed. Raises FileExistsError where the file is there already, ValueError where nothing is left to write.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..semeval_xml import NOT_XML
from ..source_files import is_readable, quoted, value_error
from ..words import joined_offsets, span_of_words, word_offsets

LABELS = ("positive", "negative", "neutral", "conflict")
TARGET = ("target", "target_start", "target_end")
OPINION = ("opinion", "opinion_start", "opinion_end")
WORDS = ("target", "opinion", "aspect", "label")
NAMES = {  # of fields, in notes; an end goes with its start
    "target": "targets",
    "target_start": "places of targets",
    "aspect": "aspects",
    "opinion": "opinion terms",
    "label": "labels",
    "score": "scores",
    "probabilities": "probabilities",
}


class Sentence(NamedTuple):
    """A text with what it says.

    Args:
        id: the file's own; where a format has none, the number of the sentence, from 1.
        text: as the file has it; of a format that has words only, these with a blank between each two.
        opinions: dicts with those fields of `absa.opinions.Opinion`, without text_id, that are known. In
            `absa.conversion` these are the records themselves.
        words: of a format that has words, where each stands: `text[start:end]`.
        is_out_of_scope: whether SemEval marks the sentence so, and has not annotated it.
    """

    id: str
    text: str
    opinions: list[Any]
    words: list[tuple[int, int]] | None = None
    is_out_of_scope: bool = False


class NotHeldError(Exception):
    """Why a format cannot hold an opinion: what follows "opinions" in a note."""


def known(**fields: Any) -> dict[str, Any]:
    """Those fields of an opinion that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def check_label(opinion: dict, labels: Collection[str]) -> None:
    """Raise NotHeldError unless an opinion has one of a format's labels."""
    if "label" not in opinion:
        raise NotHeldError("have no label")
    if opinion["label"] not in labels:
        raise NotHeldError(f"have the label {quoted(opinion['label'])}")


def check_place(opinion: dict, name: str) -> None:
    """Raise NotHeldError unless an opinion has a target, or an opinion term, with a place in the text."""
    what = {"target": "target", "opinion": "opinion term"}[name]
    if name not in opinion:
        raise NotHeldError(f"have no {what}")
    if f"{name}_start" not in opinion:
        raise NotHeldError(f"do not say where their {what} stands")
    if not is_readable(opinion[name]):
        raise NotHeldError(f"have nothing to see in their {what}")


def hold(
    sentences: Iterable[Sentence], fields_of: Callable[[Sentence, dict], Collection[str]], notes: Counter
) -> list[Sentence]:
    """Sentences with those of their opinions, and those fields of these, that a format can hold.

    Args:
        fields_of: given a sentence and an opinion of it, the fields that the format holds; raises NotHeldError where
            it cannot hold the opinion.
    Raises:
        ValueError: words do not stand where an opinion says, or there are opinions, and the format can hold none.
    """
    held, reasons = [], Counter()
    for sentence in sentences:
        if not is_readable(sentence.text):
            notes["sentences with nothing to read: left out"] += 1
            continue
        kept = []
        for opinion in sentence.opinions:
            _check_words(sentence, opinion)
            try:
                fields = fields_of(sentence, opinion)
            except NotHeldError as reason:
                reasons[f"opinions {reason}: left out"] += 1
                continue
            lost = [name for field, name in NAMES.items() if field in opinion and field not in fields]
            rest = {field: value for field, value in opinion.items() if field in fields}
            if lost and rest in kept:
                notes["opinions equal another one but for what the format cannot hold: left out"] += 1
                continue
            if lost and any(without_label(one) == without_label(rest) for one in kept):
                notes["words with another label than before: both opinions are kept"] += 1
            notes.update(f"{name}: left out" for name in lost)
            kept.append(rest)
        held.append(sentence._replace(opinions=kept))
    if reasons and not any(sentence.opinions for sentence in held):
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.items())
        raise ValueError(f"the format can hold no opinion of these sentences ({why}); choose another format")
    notes.update(reasons)
    return held


def without_label(opinion: dict) -> dict:
    """What an opinion is about."""
    return {name: value for name, value in opinion.items() if name != "label"}


def _check_words(sentence: Sentence, opinion: dict) -> None:
    for name in ("target", "opinion"):
        start, end = opinion.get(f"{name}_start"), opinion.get(f"{name}_end")
        if start is not None and sentence.text[start:end] != opinion.get(name):
            remedy = f"is not what the text has from {start} to {end}; correct the words or the place"
            raise value_error(f"sentence {quoted(sentence.id)}, field {name!r}", opinion.get(name), remedy)


def with_places(sentences: Iterable[Sentence], notes: Counter) -> list[Sentence]:
    """A target without a place gets that of its only occurrence in the text, as whole words, if there is only one."""
    placed = []
    for sentence in sentences:
        opinions = []
        for opinion in sentence.opinions:
            if "target" in opinion and "target_start" not in opinion:
                as_whole = re.compile(rf"(?<!\w){re.escape(opinion['target'])}(?!\w)", re.IGNORECASE)
                found = list(as_whole.finditer(sentence.text))
                if len(found) == 1:
                    opinion = {**opinion, "target": found[0][0]}  # as the text writes it
                    opinion |= {"target_start": found[0].start(), "target_end": found[0].end()}
                    notes["targets: given the place of their only occurrence in the text"] += 1
            opinions.append(opinion)
        placed.append(sentence._replace(opinions=opinions))
    return placed


def replaced(sentences: Iterable[Sentence], pattern: str, by: str, note: str, notes: Counter) -> list[Sentence]:
    """Sentences with other characters in their texts, and in what stands there, one for one: places stay."""
    changed = []
    for sentence in sentences:
        text = re.sub(pattern, by, sentence.text)
        notes[note] += text != sentence.text
        opinions = [
            opinion | {name: re.sub(pattern, by, opinion[name]) for name in WORDS if name in opinion}
            for opinion in sentence.opinions
        ]
        changed.append(sentence._replace(text=text, opinions=opinions))
    return changed


def for_xml(sentences: Iterable[Sentence], notes: Counter) -> list[Sentence]:
    """Sentences without the control characters that XML cannot hold."""
    cleaned = []
    for sentence in replaced(sentences, NOT_XML, "\ufffd", "texts: control characters are U+FFFD now", notes):
        id_ = re.sub(NOT_XML, "\ufffd", sentence.id)
        notes["ids of sentences: control characters are U+FFFD now"] += id_ != sentence.id
        cleaned.append(sentence._replace(id=id_))
    return cleaned


def on_one_line(sentences: Iterable[Sentence], notes: Counter) -> list[Sentence]:
    """Sentences with blanks for line breaks, and without NUL, by which a reader knows other files than UTF-8."""
    sentences = replaced(sentences, "\0", "\ufffd", "texts: NUL is U+FFFD now", notes)
    return replaced(sentences, "[\n\r]", " ", "texts: line breaks are blanks now", notes)


def tokenised(sentences: Iterable[Sentence], notes: Counter) -> list[Sentence]:
    """Sentences whose text is their words, with a blank between each two, and whose spans are those of whole words.

    The words are those of the source, where it has some, else those of `word_offsets` that have something to see. A
    span that begins or ends inside a word becomes that of the whole word.
    """
    cut = []
    for sentence in sentences:
        offsets = sentence.words or [
            (start, end) for start, end in word_offsets(sentence.text) if is_readable(sentence.text[start:end])
        ]
        words = [sentence.text[start:end] for start, end in offsets]
        text, joined = " ".join(words), joined_offsets(words)
        notes["texts: their words have one blank between them now"] += text != sentence.text
        opinions = []
        for opinion in sentence.opinions:
            moved = dict(opinion)
            for name in ("target", "opinion"):
                if f"{name}_start" in opinion:
                    span = opinion[f"{name}_start"], opinion[f"{name}_end"]
                    first, behind = span_of_words(offsets, *span)
                    is_cut = (offsets[first][0], offsets[behind - 1][1]) != span
                    notes["spans that begin or end inside a word: those of the whole word now"] += is_cut
                    start, end = joined[first][0], joined[behind - 1][1]
                    moved |= {name: text[start:end], f"{name}_start": start, f"{name}_end": end}
            opinions.append(moved)
        cut.append(sentence._replace(text=text, opinions=opinions, words=joined))
    return cut


def span_in_words(sentence: Sentence, opinion: dict, name: str) -> tuple[int, int]:
    """The words [first, last) of a target or an opinion term, in a sentence of `tokenised`."""
    return span_of_words(sentence.words, opinion[f"{name}_start"], opinion[f"{name}_end"])


def with_opinions(sentences: list[Sentence], notes: Counter) -> list[Sentence]:
    """Those sentences that have an opinion.

    Raises:
        ValueError: none has.
    """
    kept = [sentence for sentence in sentences if sentence.opinions]
    if not kept:
        raise ValueError(f"none of {len(sentences)} sentences has an opinion; choose a format that can hold such")
    notes["sentences without an opinion: left out"] += len(sentences) - len(kept)
    return kept


def check_ids(sentences: Iterable[Sentence]) -> None:
    """Raise ValueError where two sentences, which a format tells apart by their ids, have the same."""
    counts = Counter(sentence.id for sentence in sentences)
    if twice := [id_ for id_, count in counts.items() if count > 1]:
        raise value_error("ids of sentences", twice[0], f"is that of {counts[twice[0]]}; give each one of its own")


def note_sentences(sentences: list[Sentence], has: Collection[str], notes: Counter) -> None:
    """Note which fields of the sentences that are written a format cannot hold.

    Args:
        has: those of id, words and is_out_of_scope that it can.
    """
    for number, sentence in enumerate(sentences, start=1):
        is_own = sentence.words is not None and sentence.words != word_offsets(sentence.text)
        notes["ids of sentences: left out"] += "id" not in has and sentence.id != str(number)
        notes["sentences with words of their own: these are left out"] += "words" not in has and is_own
        notes["marks of out of scope: left out"] += "is_out_of_scope" not in has and sentence.is_out_of_scope


def check_new(*files: Path) -> None:
    """Raise FileExistsError where a file is there already, FileNotFoundError where its folder is not."""
    for file in files:
        if not file.parent.is_dir():
            raise FileNotFoundError(f"{file}: there is no folder {file.parent}; make it, or choose another")
        if file.exists():
            raise FileExistsError(f"{file} is there already; remove it, or choose another name")


def write_text(file: Path, text: str) -> None:
    """Write a new file in UTF-8.

    Raises:
        ValueError: UTF-8 cannot hold the text; nothing is written.
    """
    check_new(file)
    mark = "\ufeff" if text.startswith("\ufeff") else ""  # a reader drops the first one, which is not of the text
    try:
        content = f"{mark}{text}".encode()
    except UnicodeEncodeError as error:
        half = quoted(text[error.start])
        raise ValueError(f"{file}: {half} is half a surrogate pair; write the whole character in the text") from error
    file.write_bytes(content)
