"""Tuples as tokens of a text model: targets to learn, and decoding that writes nothing but tuples of a sentence."""

from collections.abc import Callable, Iterable, Sequence

import torch
from transformers import PreTrainedTokenizerBase

from .text_generative_absa import FIELDS, NOTHING, TUPLES, Span, TextFormat, WordTuple

BETWEEN_FIELDS, BETWEEN_TUPLES = FIELDS.strip(), TUPLES.strip()
Place = tuple[int, int]
"""The number of a field, and that of its last word; -1 for a label."""
Thread = tuple[tuple[int, ...], Place]
"""Tokens that are still to come, and the place that is reached by them."""
THE_END = (-1, -1)


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
        self._pieces = {}

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
        if (text, is_first) not in self._pieces:
            pieces = self._tokens(text) if is_first else self._behind(BETWEEN_TUPLES, f" {text}")
            self._pieces[text, is_first] = pieces
        return self._pieces[text, is_first]

    def can_write(self, word: str) -> bool:
        """Whether a word is read again as it was written, which blanks and unknown signs are not."""
        if word.split() != [word]:
            return False
        read = {self.decode(self.pieces(word, is_first)).casefold() for is_first in (True, False)}
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
        text = self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip()

    def allowed_tokens(self, sentences: Iterable[Sequence[str]]) -> Callable[[int, torch.Tensor], list[int]]:
        """What `generate` takes as `prefix_allowed_tokens_fn`, for a batch of these sentences, each a list of words.

        Then all that is written are tuples whose fields stand in the sentence, but for the last one if
        `max_new_tokens` cuts it off.
        """
        automata = [Automaton(self, words) for words in sentences]
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


__all__ = ["TextWriter"]
