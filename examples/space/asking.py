"""The model behind the demo, which any number of visitors ask at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from threading import Lock

import torch

from names import names_in

MAX_CHARACTERS = 5_000
MAX_TARGETS = 8
MAX_NAME = 100  # characters
MAX_WORDS_INTEGRATED = 100  # which the model reads 64 times, while all others wait
TEXTS_AT_ONCE = 16  # of a file, so that whoever asks about one text meanwhile does not wait for all of it


@dataclass(frozen=True)
class Asked:
    """A text, what it was asked about, and the answers."""

    text: str
    targets: dict[str, str] | None
    """The model's target for each name; None where the text has the model's own, or the model none."""
    answers: list[dict]
    notes: list[str]
    """What was not asked or read."""


@dataclass(frozen=True)
class Explained:
    """Why a question has its answer."""

    answer: dict
    """As the pipeline gives it; its words have `relevance`."""
    method: str
    attention: torch.Tensor
    """What [CLS] attends to: (words, layers, heads)"""
    quasi_term: torch.Tensor
    """Likewise, what of that the context adds or takes away; 0 without quasi-attention."""


class Asker:
    """Asks a pipeline, one call at a time.

    Args:
        pipe: an `aspect-sentiment` pipeline.
    """

    def __init__(self, pipe):
        self.pipe = pipe
        self.lock = Lock()
        config = pipe.model.config
        self.targets, self.aspects = list(config.targets or []), list(config.aspects or [])
        self.takes_words = getattr(config, "context_source", "id") == "text"  # as aspects
        self.none_label = getattr(config, "none_label", "none")
        self.num_layers, self.num_heads = config.num_hidden_layers, config.num_attention_heads

    def ask(self, text: str, names: Sequence[str], aspects: Sequence[str]) -> Asked:
        """All answers to a text.

        Args:
            names: of targets as they are written in the text; none to look for the model's own, and else for names.
        Raises:
            ValueError: if there is nothing to read or to ask about, or too much.
        """
        self._check(names, aspects)
        named, present, notes = self._named(text, names)
        if not any(character.isprintable() and not character.isspace() for character in text):
            raise ValueError("There is nothing to read: type a text.")
        if self.targets and not present:
            given = f"{', '.join(names)} does not stand in the text" if names else "No name was found in the text"
            raise ValueError(f"{given}: write what to ask about as it is written there.")
        with self.lock:
            answers = self.pipe(text, targets=named, aspects=list(aspects), return_all=True)
        read = [answer for answer in answers if answer["label"] is not None]
        if not read:
            raise ValueError(f"{', '.join(present)} stands only where the text is too long for the model: shorten it.")
        if read[0]["truncated"]:
            notes.append("The text is too long for the model: its end was not read.")
        unread = dict.fromkeys(answer["target"] for answer in answers if answer["label"] is None)
        if unread:
            notes.append(f"Not asked about, since only the end names it: {', '.join(unread)}.")
        return Asked(text, named, read, notes)

    def ask_all(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> Iterator[list[dict]]:
        """All answers to each text of a file; blank texts and those with nothing to ask about have none,
        nor have targets that stand only in what the model does not read of a text.

        Raises:
            ValueError: before the model is asked, naming the row.
        """
        self._check(names, aspects)
        questions = []
        for number, text in enumerate(texts, start=1):
            try:
                named, _, _ = self._named(text, names)
            except ValueError as error:
                raise ValueError(f"Row {number}: {error}") from error
            questions.append((text, named))
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            for named, alike in groupby(questions[start : start + TEXTS_AT_ONCE], key=lambda question: question[1]):
                with self.lock:
                    answered = self.pipe(
                        [text for text, _ in alike], targets=named, aspects=list(aspects), return_all=True
                    )
                for answers in answered:
                    yield [answer for answer in answers if answer["label"] is not None]

    def explain(self, asked: Asked, target: str, aspect: str, method: str) -> Explained:
        """Why one question of a text has its answer.

        Args:
            method: "gradient" or "integrated_gradients".
        Raises:
            ValueError: if the text is too long for the method.
        """
        if method == "integrated_gradients" and len(asked.text.split()) > MAX_WORDS_INTEGRATED:
            raise ValueError(f"Integrated gradients take {MAX_WORDS_INTEGRATED} words at most: choose gradient.")
        question = {"text": asked.text, "aspect": aspect} | ({"target": target} if self.targets else {})
        with self.lock:
            answer = self.pipe(question, targets=asked.targets, explain=method)
            words = self.pipe(question, targets=asked.targets, explain="attention")["words"]
        attention = torch.tensor([word["attention"] for word in words])
        has_quasi_term = "quasi_term" in words[0]
        quasi_term = torch.tensor([word["quasi_term"] for word in words]) if has_quasi_term else 0 * attention
        return Explained(answer, method, attention, quasi_term)

    def most_subtracting(self, explained: Explained) -> tuple[int, int]:
        """The layer and head, from 1, that take most from the words; without subtraction the last layer's first."""
        taken = explained.quasi_term.clamp(max=0).sum(0)  # (layers, heads)
        if not taken.any():
            return self.num_layers, 1
        layer, head = divmod(int(taken.argmin()), self.num_heads)
        return layer + 1, head + 1

    def _check(self, names: Sequence[str], aspects: Sequence[str]):
        if not aspects:
            raise ValueError("Choose an aspect to ask about.")
        if len(names) > MAX_TARGETS:
            raise ValueError(f"{len(names)} names to ask about: give {MAX_TARGETS} at most.")
        if (others := len(set(aspects) - set(self.aspects))) > MAX_TARGETS:
            raise ValueError(f"{others} aspects of your own: give {MAX_TARGETS} at most.")
        if (longest := max(map(len, [*names, *aspects]))) > MAX_NAME:
            raise ValueError(f"A name has {longest:,} characters: give {MAX_NAME} at most.")

    def _named(self, text: str, names: Sequence[str]) -> tuple[dict[str, str] | None, list[str], list[str]]:
        """The model's target for each name, those of a text that can be asked about, and what to say of the others."""
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"The text has {len(text):,} characters: give {MAX_CHARACTERS:,} at most.")
        if not self.targets:
            return None, [], []
        if not names:
            own = self.pipe.targets_in(text)
            if own:
                return None, own, []
        found = names or names_in(text)
        asked = found[:MAX_TARGETS]
        in_turn = cycle([target for target in self.targets if target not in asked] or self.targets)
        named = {name: name if name in self.targets else next(in_turn) for name in asked} or None
        present = self.pipe.targets_in(text, targets=named) if named else []
        missing = [name for name in asked if name not in present]
        notes = [f"Not in the text: {', '.join(missing)}."] if missing else []
        if len(found) > len(asked):
            notes.append(f"Not asked about: {', '.join(found[len(asked) :])}. {MAX_TARGETS} names are the most.")
        return named, present, notes
