"""What a text is asked, and what is answered: the same record for every family of models."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import ClassVar, NamedTuple

import torch

MAX_CHARACTERS = 5_000
MAX_NAMES = 8
MAX_NAME = 100  # characters
MOST_PARTS = 64  # of a text that are left out one after the other, while all other visitors wait
TEXTS_AT_ONCE = 16  # of a file, so that whoever asks about one text meanwhile does not wait for all of it
WORD = re.compile(r"[^\W_]+(?:[-.'\N{RIGHT SINGLE QUOTATION MARK}][^\W_]+)*")
LEFT_OUT = "left_out"
LOCK = Lock()  # one call at a time, of whichever model


@dataclass(frozen=True)
class Answer:
    """What a text says of something. A field is None where the model's task has no such thing.

    Args:
        target, target_start, target_end: the thing that is spoken of, which is text[target_start:target_end].
        opinion, opinion_start, opinion_end: likewise the words that say it.
        aspect: the category of what is said.
        label: what is said.
        score: its probability.
        probabilities: of every label.
        truncated: whether the end of the text was not read.
    """

    target: str | None = None
    target_start: int | None = None
    target_end: int | None = None
    opinion: str | None = None
    opinion_start: int | None = None
    opinion_end: int | None = None
    aspect: str | None = None
    label: str | None = None
    score: float | None = None
    probabilities: Mapping[str, float] | None = None
    truncated: bool = False

    def told(self, answer: Mapping) -> "Answer":
        """This one, with what a pipeline says."""
        given = {name: answer[name] for name in self.__dataclass_fields__ if answer.get(name) not in (None, "")}
        return replace(self, **given)

    def probability(self, label: str | None) -> float:
        """Of a label; of the whole answer, where the model has no labels."""
        return self.probabilities[label] if self.probabilities and label else self.score


@dataclass(frozen=True)
class Asked:
    """A text, what it was asked about, and the answers."""

    text: str
    names: list[str]
    answers: list[Answer]
    notes: list[str] = field(default_factory=list)
    """What was not asked or read."""
    guessed: bool = False
    """Whether the names were looked for in the text."""


class Weighed(NamedTuple):
    """Characters [start, end) of a text, and how much they speak for an answer; below 0, against it."""

    start: int
    end: int
    value: float


@dataclass(frozen=True)
class Attention:
    """What [CLS] attends to: the words, and (words, layers, heads) of the whole and of what the context adds."""

    words: list[str]
    whole: torch.Tensor
    quasi_term: torch.Tensor

    def most_subtracting(self) -> tuple[int, int]:
        """The layer and head, from 1, that take most from the words; without subtraction the last layer's first."""
        taken = self.quasi_term.clamp(max=0).sum(0)  # (layers, heads)
        if not taken.any():
            return len(taken), 1
        layer, head = divmod(int(taken.argmin()), taken.shape[1])
        return layer + 1, head + 1


@dataclass(frozen=True)
class Explained:
    """Which words an answer rests on."""

    answer: Answer
    method: str
    words: list[Weighed]
    attention: Attention | None = None


class Asker(ABC):
    """Asks a model of some family.

    Args:
        pipe: its pipeline.
    """

    does = ""
    """What the model does, in a sentence."""
    asks_names = False
    """Whether visitors say which words of the text they ask about."""
    aspects: Sequence[str] = ()
    """Those that the model was trained on."""
    takes_words = False
    """Whether any words can be an aspect."""
    none_label: str | None = None
    methods: ClassVar[dict[str, str]] = {LEFT_OUT: "leaving words out"}
    num_layers = num_heads = 0
    """Of the attention that can be looked at."""

    def __init__(self, pipe):
        self.pipe = pipe

    @abstractmethod
    def answers(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> list[list[Answer]]:
        """What each text says; of what stands only in an end that was not read, a score of None."""

    @abstractmethod
    def again(self, asked: Asked, answer: Answer, texts: Sequence[tuple[str, int]]) -> list[float]:
        """The probability of an answer to other texts.

        Args:
            texts: each with the number of characters that its target stands earlier.
        """

    def names_for(self, text: str, names: Sequence[str]) -> tuple[list[str], list[str], bool]:
        """The names that a text is asked about, what to say of others, and whether they were looked for.

        Raises:
            ValueError: if there are none.
        """
        return list(names), [], False

    def ask(self, text: str, names: Sequence[str], aspects: Sequence[str]) -> Asked:
        """All answers to a text.

        Args:
            names: words of the text; none where the model finds them, or they are to be looked for.
        Raises:
            ValueError: if there is nothing to read or to ask about, or too much.
        """
        self.check(names, aspects)
        check_length(text)
        if not is_readable(text):
            raise ValueError("There is nothing to read: type a text.")
        names, notes, guessed = self.names_for(text, names)
        with LOCK:
            (answers,) = self.answers([text], names, aspects)
        read = [answer for answer in answers if answer.score is not None]
        unread = dict.fromkeys(answer.target for answer in answers if answer.score is None)
        if unread and not read:
            raise ValueError(f"{', '.join(unread)} stands only where the text is too long for the model: shorten it.")
        if any(answer.truncated for answer in answers):
            notes.append("The text is too long for the model: its end was not read.")
        if unread:
            notes.append(f"Not asked about, since only the end names it: {', '.join(unread)}.")
        return Asked(text, names, read, notes, guessed)

    def ask_all(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> Iterator[list[Answer]]:
        """All answers to each text of a file; texts with nothing to read or to ask about have none.

        Raises:
            ValueError: before the model is asked, naming the row.
        """
        self.check(names, aspects)
        check_rows(texts, check_length)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            with LOCK:
                answered = self.answers(texts[start : start + TEXTS_AT_ONCE], names, aspects)
            for answers in answered:
                yield [answer for answer in answers if answer.score is not None]

    def explain(self, asked: Asked, answer: Answer, method: str = LEFT_OUT) -> Explained:
        """Which words an answer rests on: how much less probable it is without each of them.

        Raises:
            ValueError: if the text is too long for the method.
        """
        kept = (answer.target_start, answer.target_end) if answer.target_start is not None else (0, 0)
        parts = parts_of(asked.text, kept)
        texts = []
        for start, end in parts:
            behind = end + len(asked.text[end:]) - len(asked.text[end:].lstrip())
            shift = behind - start if behind <= kept[0] else 0
            texts.append((asked.text[:start] + asked.text[behind:], shift))
        with LOCK:
            without = self.again(asked, answer, texts) if texts else []
        before = answer.probability(answer.label)
        words = [Weighed(*part, before - after) for part, after in zip(parts, without, strict=True)]
        return Explained(answer, LEFT_OUT, words)

    def check(self, names: Sequence[str], aspects: Sequence[str]):
        """What is asked is neither nothing nor too much.

        Raises:
            ValueError: if it is.
        """
        if self.aspects and not self.takes_words and not aspects:
            raise ValueError("Choose an aspect to ask about.")
        if self.takes_words and not names and not aspects:
            raise ValueError("Say what to ask about: words of the text, or an aspect.")
        if len(names) > MAX_NAMES:
            raise ValueError(f"{len(names)} names to ask about: give {MAX_NAMES} at most.")
        if (others := len(set(aspects) - set(self.aspects))) > MAX_NAMES:
            raise ValueError(f"{others} aspects of your own: give {MAX_NAMES} at most.")
        if (longest := max(map(len, [*names, *aspects]), default=0)) > MAX_NAME:
            raise ValueError(f"A name has {longest:,} characters: give {MAX_NAME} at most.")
        if wordless := [aspect for aspect in aspects if not any(map(str.isalnum, aspect))]:
            raise ValueError(f"{wordless[0]} is no aspect: write it in words.")


def is_readable(text: str) -> bool:
    """Whether a text has more than blanks and what no one sees."""
    return any(character.isprintable() and not character.isspace() for character in text)


def check_length(text: str):
    """A text is not too long.

    Raises:
        ValueError: if it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"The text has {len(text):,} characters: give {MAX_CHARACTERS:,} at most.")


def check_rows(texts: Sequence[str], check: Callable[[str], object]):
    """Each text of a file passes a check.

    Raises:
        ValueError: as the check, naming the row.
    """
    for number, text in enumerate(texts, start=1):
        try:
            check(text)
        except ValueError as error:
            raise ValueError(f"Row {number}: {error}") from error


def parts_of(text: str, kept: tuple[int, int]) -> list[tuple[int, int]]:
    """The words of a text but for those in [start, end), as [start, end) each; of a long text several words a part."""
    words = [word.span() for word in WORD.finditer(text) if not (word.start() < kept[1] and kept[0] < word.end())]
    size = -(-len(words) // MOST_PARTS) or 1
    sides = [[word for word in words if word[1] <= kept[0]], [word for word in words if word[1] > kept[0]]]
    return [
        (side[first][0], side[min(first + size, len(side)) - 1][1])
        for side in sides
        for first in range(0, len(side), size)
    ]
