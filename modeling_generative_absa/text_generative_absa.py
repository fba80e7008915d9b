"""Tuples of a sentence as text, for any AutoModelForSeq2SeqLM: prompts, targets, and the way back to spans of words.

A target is `field: field; field: field`, with `; ` between two tuples, and `none` where there is no tuple.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from .grammar_generative_absa import TASKS, Span, WordTuple
from .words_generative_absa import marked

TUPLES, FIELDS, NOTHING = "; ", ": ", "none"
PROMPTS = {
    "ate": "Identify aspects: {text}",
    "ote": "Identify opinions: {text}",
    "alsc": "Identify the sentiment of {target}: {text}",
    "aoe": "Identify opinions on {target}: {text}",
    "aesc": "Identify aspects and sentiments: {text}",
    "aope": "Identify aspects and opinions: {text}",
    "aste": "Identify aspects, opinions and sentiments: {text}",
}


class ParsedText(NamedTuple):
    """The tuples that an output holds, in its order and with repeats."""

    tuples: list[WordTuple]
    num_invalid: int
    """how many more are none: a field is missing, too many or not in the text, or a label is unknown"""
    numbers: list[int]
    """the place of each among those that are written, from 0"""


@dataclass(frozen=True)
class TextFormat:
    """How a task's tuples are written.

    Args:
        task: one of the seven.
        labels: that a tuple can have.
    Raises:
        ValueError: if the task is unknown, or a label could not be told from what stands around it.
    """

    task: str
    labels: Sequence[str] = ("positive", "negative", "neutral")

    def __post_init__(self):
        if self.task not in TASKS:
            raise ValueError(f"task={self.task!r}: give one of {', '.join(TASKS)}")
        for label in self.labels:
            if label != label.strip() or not label or FIELDS.strip() in label or TUPLES.strip() in label:
                raise ValueError(f"labels has {label!r}: give names without : and ; and blanks at their ends")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a tuple, in the order in which they are written."""
        return TASKS[self.task].fields

    def prompt(self, words: Sequence[str], given: Span | None = None) -> str:
        """What the model reads.

        Args:
            words: of the sentence.
            given: the aspect term of "alsc" and "aoe", which is marked in the text, as it may stand there twice.
        Raises:
            ValueError: if the task needs an aspect term and has none, or takes none.
        """
        if TASKS[self.task].is_given != (given is not None):
            remedy = "give the span of an aspect term" if given is None else "leave the aspect term out"
            raise ValueError(f"task={self.task!r} with the aspect term {given}: {remedy}")
        if given is None:
            return PROMPTS[self.task].format(text=" ".join(words))
        return PROMPTS[self.task].format(target=" ".join(words[slice(*given)]), text=" ".join(marked(words, given)))

    def rows(self, tuples: Iterable[WordTuple], given: Span | None = None) -> list[tuple[Span | str, ...]]:
        """The fields of each tuple, each tuple once, in the order of the words; of `given` only where it is.

        Raises:
            ValueError: if a tuple lacks a field, or has an unknown label.
        """
        asked = [one for one in tuples if given is None or one.target == given]
        rows = {tuple(getattr(one, field) for field in self.fields) for one in asked}
        for row in rows:
            for field, value in zip(self.fields, row, strict=True):
                if value is None or (field == "label" and value not in self.labels):
                    known = f": one of {', '.join(self.labels)}" if field == "label" else ""
                    raise ValueError(f"a tuple has {field}={value!r}: give it{known}")
        if self.task == "alsc" and len(rows) != 1:
            raise ValueError(f"alsc: the aspect term {given} has {len(rows)} labels, give it one")

        def order(row: tuple) -> tuple:
            spans = [value for field, value in zip(self.fields, row, strict=True) if field != "label"]
            return [start for start, _ in spans], [end for _, end in spans], row

        return sorted(rows, key=order)

    def target(self, words: Sequence[str], tuples: Iterable[WordTuple], given: Span | None = None) -> str:
        """What the model is to write of the tuples of a sentence; the errors of `rows` come through."""
        written = [
            FIELDS.join(value if isinstance(value, str) else " ".join(words[slice(*value)]) for value in row)
            for row in self.rows(tuples, given)
        ]
        return TUPLES.join(written) or NOTHING

    def parse(self, output: str, words: Sequence[str], given: Span | None = None) -> ParsedText:
        """The tuples of what a model has written.

        The words of a field may stand in the sentence more than once. Of the places of a tuple's fields those are
        taken that are not taken yet and not before the last tuple, and of these the nearest to one another.

        Args:
            words: of the sentence.
            given: the aspect term of "alsc" and "aoe".
        """
        output, found, numbers = output.strip(), [], []
        if output == NOTHING:
            return ParsedText([], 0, [])
        all_written = output.split(TUPLES)
        for number, written in enumerate(all_written):
            candidates = list(self._candidates(written.strip(), words, given))
            if not candidates:
                continue
            taken = [starts_of(one) for one in found]
            free = [one for one in candidates if starts_of(one) not in taken]
            onwards = [one for one in free if not taken or starts_of(one)[:1] >= taken[-1][:1]]
            found.append(min(onwards or free or candidates, key=lambda one: (distance(one), one[:2])))
            numbers.append(number)
        return ParsedText(found, len(all_written) - len(found), numbers)

    def _candidates(self, written: str, words: Sequence[str], given: Span | None) -> Iterator[WordTuple]:
        """All tuples that a written one can stand for; none, if it is none."""
        spans = [field for field in self.fields if field != "label"]
        parts, label = [written], None
        if "label" in self.fields:
            *parts, label = written.rsplit(FIELDS, 1)
            if label not in self.labels:
                return
        if len(spans) == 2 and parts:
            parts = parts[0].split(FIELDS, 1)
        if len(parts) != len(spans):
            return
        for found in product(*(occurrences(part.split(), words) for part in parts)):
            yield WordTuple(**{"target": given, "label": label, **dict(zip(spans, found, strict=True))})


def starts_of(one: WordTuple) -> list[int]:
    """The first words of a tuple's spans, the aspect term's before the opinion's."""
    return [span[0] for span in (one.target, one.opinion) if span is not None]


def distance(one: WordTuple) -> int:
    """How many words stand between the aspect term and the opinion of a tuple; 0 without the two."""
    if one.target is None or one.opinion is None:
        return 0
    return max(0, one.opinion[0] - one.target[1], one.target[0] - one.opinion[1])


def occurrences(wanted: Sequence[str], words: Sequence[str]) -> list[Span]:
    """Where some words stand in a sentence, one behind the other; where they stand nowhere so, in whatever case."""
    for change in (str, str.casefold):
        sought, among, length = [change(word) for word in wanted], [change(word) for word in words], len(wanted)
        found = [(at, at + length) for at in range(len(words)) if length and among[at : at + length] == sought]
        if found:
            return found
    return []


__all__ = ["TASKS", "ParsedText", "TextFormat", "WordTuple"]
