"""Tuples as tokens of a text model: targets to learn, and decoding that writes nothing but tuples of a sentence."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from transformers import PreTrainedTokenizerBase

from .text_generative_absa import FIELDS, NOTHING, TUPLES, Span, TextFormat, WordTuple

BETWEEN_FIELDS, BETWEEN_TUPLES = FIELDS.strip(), TUPLES.strip()
Place = tuple[int, int]
"""The number of a field, and that of its last word; -1 for a label."""
Thread = tuple[tuple[int, ...], Place]
"""Tokens that are still to come, and the place that is reached by them."""
THE_END = (-1, -1)
MOST_PIECES = 2**16  # words whose tokens are kept


class Read(NamedTuple):
    """The tuples that some tokens hold, in their order, each once."""

    tuples: list[WordTuple]
    steps: list[slice]
    """the tokens of each, with the one that ends it"""
    is_invalid: bool
    """whether something in them is no tuple, and was left out"""


class TextWriter:
    """Writes and reads tuples in the tokens of a model.

    Each word has the pieces that it has in running text, whatever stands next to it, so that what is learned and what
    may be decoded are the same tokens.

    Args:
        tokenizer: of a BART, a T5 or another AutoModelForSeq2SeqLM.
        text_format: of the task.
    Raises:
        ValueError: if the tokenizer ends no sequence, or draws separators and the words before them together.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, text_format: TextFormat):
        self.tokenizer, self.text_format = tokenizer, text_format
        self.first = tuple(tokenizer("")["input_ids"])  # what stands around a target: <s> and </s>
        if not self.first or self.first[-1] != tokenizer.eos_token_id:
            raise ValueError(f"tokenizer {type(tokenizer).__name__} ends no sequence with its eos_token: set it up so")
        *self.first, self.end = self.first
        self.separators = {text: self._behind(NOTHING, text) for text in (BETWEEN_FIELDS, BETWEEN_TUPLES)}
        self.pieces = lru_cache(MOST_PIECES)(self.pieces)  # asked for at every step

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _behind(self, before: str, text: str) -> tuple[int, ...]:
        """The tokens of a text that stands behind another."""
        head, whole = self._tokens(before), self._tokens(before + text)
        if whole[: len(head)] != head:
            raise ValueError(
                f"tokenizer {type(self.tokenizer).__name__} has no tokens of its own for {text!r} behind {before!r}: "
                "give one that parts them"
            )
        return whole[len(head) :]

    def pieces(self, text: str, is_first: bool) -> tuple[int, ...]:
        """The tokens of a word, or of a label, at the start of an output or inside of it."""
        return self._tokens(text) if is_first else self._behind(BETWEEN_TUPLES, f" {text}")

    def can_write(self, word: str) -> bool:
        """Whether a word is read again as it was written, which blanks and unknown signs are not."""
        if word.split() != [word]:
            return False
        read = {self.decode(self.pieces(word, is_first)).strip().casefold() for is_first in (True, False)}
        return read == {word.casefold()}

    def encode(self, words: Sequence[str], tuples: Iterable[WordTuple], given: Span | None = None) -> list[int]:
        """The labels of a model, with special tokens; the errors of `TextFormat.rows` come through."""
        ids = []
        for row in self.text_format.rows(tuples, given):
            for number, value in enumerate(row):
                if ids:
                    ids += self.separators[BETWEEN_FIELDS if number else BETWEEN_TUPLES]
                for text in [value] if isinstance(value, str) else words[slice(*value)]:
                    ids += self.pieces(text, is_first=not ids)
        return [*self.first, *(ids or self.pieces(NOTHING, is_first=True)), self.end]

    def decode(self, ids: Sequence[int] | torch.Tensor) -> str:
        """What a model has written, for `TextFormat.parse`."""
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def written(self, sequence: Sequence[int]) -> tuple[int, ...]:
        """The tokens between the decoder's start and the padding of a sequence that `generate` gives."""
        ids = tuple(sequence[1:])
        return ids[: ids.index(self.end) + 1] if self.end in ids else ids

    def read(self, ids: Sequence[int], words: Sequence[str], given: Span | None = None) -> Read:
        """The tuples of what was written of a sentence, see `TextFormat.parse`.

        Args:
            ids: as `written` gives them.
        """
        parsed = self.text_format.parse(self.decode(ids), words, given)
        number_at = [self.decode(ids[: at + 1]).count(TUPLES) for at in range(len(ids))]
        steps = {}
        for one, number in zip(parsed.tuples, parsed.numbers, strict=True):
            first = number_at.index(number)
            steps.setdefault(one, slice(first, first + number_at.count(number)))
        return Read(list(steps), list(steps.values()), parsed.num_invalid > 0)

    def allowed_tokens(self, sentences: Iterable[Sequence[str]]) -> Callable[[int, torch.Tensor], list[int]]:
        """What `generate` takes as `prefix_allowed_tokens_fn`, for a batch of these sentences, each a list of words.

        Then all that is written are tuples whose fields stand in the sentence, but for the last one if
        `max_new_tokens` cuts it off.
        """
        return allowed_tokens([Automaton(self, words) for words in sentences])


def allowed_tokens(automata: Sequence["Automaton"]) -> Callable[[int, torch.Tensor], list[int]]:
    """`TextWriter.allowed_tokens` of sentences whose automata are known."""
    return lambda number, ids: automata[number].allowed(tuple(ids.tolist()[1:]))  # without the decoder's start


class Automaton:
    """What may be written of one sentence: a nondeterministic automaton, since words can begin alike or repeat.

    A state is the set of threads that agree with the tokens so far; states are kept by these tokens.
    """

    def __init__(self, writer: TextWriter, words: Sequence[str]):
        self.writer, self.words = writer, words
        self.fields = writer.text_format.fields
        self.can_write = [writer.can_write(word) for word in words]
        threads = self.field(0, is_first=True)
        if self.fields != ("label",):
            threads = [*threads, (writer.pieces(NOTHING, is_first=True), THE_END)]
        self.states = {(): {((*writer.first, *tokens), place) for tokens, place in threads}}

    def allowed(self, ids: tuple[int, ...]) -> list[int]:
        """The tokens that may stand behind others; the end, where these are none that may be written."""
        return sorted({tokens[0] for tokens, _ in self.state(ids)}) or [self.writer.end]

    def choices(self, ids: tuple[int, ...], logits: torch.Tensor) -> list[torch.Tensor]:
        """For each token that was written the logits of those that could have been, its own first.

        The end of a tuple is one choice, whether another tuple follows or none.

        Args:
            ids: as `TextWriter.written` gives them.
            logits: at each of them, (T, vocabulary).
        Returns:
            (choices,) each; minus infinity comes first where a token could not have been.
        """
        ends, found = {self.writer.end, self.writer.separators[BETWEEN_TUPLES][0]}, []
        for at, token in enumerate(ids):
            allowed = self.allowed(ids[:at])
            chosen = [one for one in allowed if one == token or (token in ends and one in ends)]
            others = [one for one in allowed if one not in chosen]
            own = logits[at, chosen].logsumexp(dim=0, keepdim=True)  # of none: minus infinity
            found.append(torch.cat([own, logits[at, others]]))
        return found

    def labels_at(self, ids: tuple[int, ...]) -> dict[str, int]:
        """The first token of each label, where a label comes next; none elsewhere, or where two labels begin alike."""
        pieces = {
            label: self.writer.pieces(label, self.fields == ("label",)) for label in self.writer.text_format.labels
        }
        come_next = {tokens for tokens, (_, word) in self.state(ids) if word < 0}
        first = {label: tokens[0] for label, tokens in pieces.items()}
        return first if come_next.issuperset(pieces.values()) and len(set(first.values())) == len(first) else {}

    def state(self, ids: tuple[int, ...]) -> set[Thread]:
        """The threads behind some tokens."""
        known = len(ids)
        while ids[:known] not in self.states:
            known -= 1
        for length in range(known, len(ids)):
            state = set()
            for tokens, place in self.states[ids[:length]]:
                if tokens[0] == ids[length]:
                    state.update([(tokens[1:], place)] if tokens[1:] else self.behind(place))
            self.states[ids[: length + 1]] = state
        return self.states[ids]

    def field(self, number: int, is_first: bool = False) -> list[Thread]:
        """The threads of a field's first word, or of its label."""
        pieces = self.writer.pieces
        if self.fields[number] == "label":
            return [(pieces(label, is_first), (number, -1)) for label in self.writer.text_format.labels]
        return [(pieces(word, is_first), (number, at)) for at, word in enumerate(self.words) if self.can_write[at]]

    def behind(self, place: Place) -> list[Thread]:
        """The threads behind a whole word or label: the next word, the next field, the next tuple or the end."""
        (number, at), threads = place, []
        the_end = ((self.writer.end,), THE_END)
        if place == THE_END:
            return [the_end]
        # Behind a colon or semicolon that is a word's last letter, another word would make it a separator.
        goes_on = at >= 0 and not self.words[at].endswith((BETWEEN_FIELDS, BETWEEN_TUPLES))
        if goes_on and at + 1 < len(self.words) and self.can_write[at + 1]:
            threads.append((self.writer.pieces(self.words[at + 1], is_first=False), (number, at + 1)))
        is_last = number + 1 == len(self.fields)
        if is_last:
            threads.append(the_end)
        if self.fields != ("label",):
            separator = self.writer.separators[BETWEEN_TUPLES if is_last else BETWEEN_FIELDS]
            following = self.field(0 if is_last else number + 1)
            threads += [((*separator, *tokens), place) for tokens, place in following]
        return threads


__all__ = ["Automaton", "Read", "TextWriter", "allowed_tokens"]
