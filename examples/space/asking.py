"""The model behind the demo, which any number of visitors ask at once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from threading import Lock

from names import names_in

MAX_CHARACTERS = 5_000
MAX_TARGETS = 8
TEXTS_AT_ONCE = 16  # of a file, so that whoever asks about one text meanwhile does not wait for all of it


@dataclass(frozen=True)
class Asked:
    """A text, what it was asked about, and the answers."""

    text: str
    targets: dict[str, str] | None
    """The model's target for each name; None where the text has the model's own, or the model none."""
    answers: list[dict]
    missing: list[str]
    """Names that do not stand in the text."""


class Asker:
    """Asks a pipeline, one call at a time.

    Args:
        pipe: an `aspect-sentiment` pipeline.
    """

    def __init__(self, pipe):
        self.pipe = pipe
        self.lock = Lock()
        config = pipe.model.config
        self.targets, self.aspects = list(config.targets or []), list(config.aspects)
        self.num_layers, self.num_heads = config.num_hidden_layers, config.num_attention_heads

    def ask(self, text: str, targets: Sequence[str], aspects: Sequence[str]) -> Asked:
        """All answers to a text.

        Args:
            targets: as they are written in the text; none to look for the model's own, and else for names.
        Raises:
            ValueError: if there is nothing to read or to ask about, or too much.
        """
        (asked,) = self.ask_all([text], targets, aspects)
        return asked

    def ask_all(self, texts: Sequence[str], targets: Sequence[str], aspects: Sequence[str]) -> Iterator[Asked]:
        """All answers to each text; what is at fault in any is said before the model is asked.

        Raises:
            ValueError: as `ask`, but texts that are blank or name nothing to ask about have no answers here.
        """
        if not aspects:
            raise ValueError("Choose an aspect to ask about.")
        if len(targets) > MAX_TARGETS:
            raise ValueError(f"{len(targets)} names to ask about: give {MAX_TARGETS} at most.")
        is_one = len(texts) == 1
        questions = [self._question(text, targets, is_one) for text in texts]
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            for named, alike in groupby(questions[start : start + TEXTS_AT_ONCE], key=lambda question: question[1]):
                some = list(alike)
                with self.lock:
                    answered = self.pipe(
                        [text for text, _, _ in some], targets=named, aspects=list(aspects), return_all=True
                    )
                for (text, _, missing), answers in zip(some, answered, strict=True):
                    yield Asked(text, named, answers, missing)

    def _question(self, text: str, targets: Sequence[str], is_one: bool) -> tuple[str, dict | None, list[str]]:
        """The text, its targets as the pipeline takes them, and the names that do not stand in it."""
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"The text has {len(text):,} characters: give {MAX_CHARACTERS:,} at most.")
        if not any(character.isprintable() and not character.isspace() for character in text):
            if is_one:
                raise ValueError("There is nothing to read: type a text.")
            return text, None, []
        if not self.targets or (not targets and any(target in text for target in self.targets)):
            return text, None, []
        names = list(dict.fromkeys(targets)) or names_in(text)[:MAX_TARGETS]
        present = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]
        if is_one and not present:
            given = f"{', '.join(names)} does not stand in the text" if names else "No name was found in the text"
            raise ValueError(f"{given}: write what to ask about as it is written there.")
        missing = [name for name in names if name not in present]
        return text, self._named(names) or None, missing

    def _named(self, names: Sequence[str]) -> dict[str, str]:
        """The model's target for each name, in turn; its own stand for themselves."""
        in_turn = cycle([target for target in self.targets if target not in names] or self.targets)
        return {name: name if name in self.targets else next(in_turn) for name in names}

    def explain(self, asked: Asked, target: str, aspect: str, method: str) -> dict:
        """The answer to one question of a text, with the relevance and the attention of its words.

        Args:
            method: "gradient" or "integrated_gradients".
        Returns:
            What the pipeline answers; its words have `relevance`, `attention` and, of QACG-BERT, `quasi_term`.
        """
        question = {"text": asked.text, "aspect": aspect} | ({"target": target} if self.targets else {})
        with self.lock:
            answer = self.pipe(question, targets=asked.targets, explain=method)
            attention = self.pipe(question, targets=asked.targets, explain="attention")["words"]
        words = [{**word, **other} for word, other in zip(answer["words"], attention, strict=True)]
        return {**answer, "words": words}

    def most_subtracting(self, answer: dict) -> tuple[int, int]:
        """The layer and head, from 1, that take most from the words; without subtraction the last layer's first."""
        taken = {
            (layer + 1, head + 1): sum(min(0.0, word["quasi_term"][layer][head]) for word in answer["words"])
            for layer in range(self.num_layers)
            for head in range(self.num_heads)
            if all("quasi_term" in word for word in answer["words"])
        }
        place = min(taken, key=taken.get, default=None)
        return place if place and taken[place] < 0 else (self.num_layers, 1)
