"""Tuples of a sentence as a sequence of indices and back, and which index may follow which.

An index is 0 for the start, 1 for the end (and padding), then one for each class (tasks, if there are several, then
labels), then one for each word of the sentence: word i is `first_word + i`. A span of words is named by its first and
its last word. Shapes: R sequences, t indices, W = max_words, V = vocab_size.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from transformers import LogitsProcessor

START, END = 0, 1
Order = Literal["aspect_first", "opinion_first"]
Span = tuple[int, int]
"""[first word, one behind the last word)"""


class WordTuple(NamedTuple):
    """What is said of which words; a field is None where a task has no such thing."""

    target: Span | None = None
    """of the aspect term"""
    opinion: Span | None = None
    """of the words that say it"""
    label: str | None = None


class Task(NamedTuple):
    """What is generated for each tuple, and whether the aspect term is given instead."""

    fields: tuple[str, ...]
    is_given: bool
    words: str
    """what the task's class token is named in words"""

    @property
    def period(self) -> int:
        """Indices of a tuple."""
        return sum(1 if field == "label" else 2 for field in self.fields)


TASKS = {
    "ate": Task(("target",), False, "aspects"),
    "ote": Task(("opinion",), False, "opinions"),
    "alsc": Task(("label",), True, "sentiment of an aspect"),
    "aoe": Task(("opinion",), True, "opinions of an aspect"),
    "aesc": Task(("target", "label"), False, "aspects and sentiments"),
    "aope": Task(("target", "opinion"), False, "aspects and opinions"),
    "aste": Task(("target", "opinion", "label"), False, "aspects, opinions and sentiments"),
}


SLOTS = (("target", "start"), ("target", "end"), ("opinion", "start"), ("opinion", "end"), ("label", "label"))
"""What an index of a tuple can be: its field, and its kind."""


class Parsed(NamedTuple):
    """The tuples that a sequence holds, in its order and with repeats."""

    tuples: list[WordTuple]
    positions: list[int]
    """where each begins in the sequence"""
    is_invalid: bool
    """whether something in it is no tuple, and was left out"""


@dataclass(frozen=True)
class Grammar:
    """The index space of a model, and the sequences that its tasks allow; `PointerABSAConfig.grammar` makes it."""

    tasks: tuple[str, ...]
    labels: tuple[str, ...]
    max_words: int
    max_tuples: int
    max_span: int | None
    order: Order
    no_repeats: bool

    @property
    def classes(self) -> list[str]:
        """Names of the class tokens, whose indices begin at 2."""
        return [*(self.tasks if len(self.tasks) > 1 else ()), *self.labels]

    @property
    def first_word(self) -> int:
        """Index of the first word of a sentence."""
        return 2 + len(self.classes)

    @property
    def vocab_size(self) -> int:
        """Number of indices V."""
        return self.first_word + self.max_words

    def fields(self, task: str) -> tuple[str, ...]:
        """The fields of a task's tuples, in the order in which they are generated."""
        fields = TASKS[task].fields
        if self.order == "opinion_first" and "target" in fields and "opinion" in fields:
            return ("opinion", "target", *fields[2:])
        return fields

    def prompt_length(self, task: str) -> int:
        """Indices before those that are generated."""
        return 1 + (len(self.tasks) > 1) + 2 * TASKS[task].is_given

    def max_tuples_of(self, task: str) -> int:
        """The most tuples of a sentence; a given aspect term has one label."""
        return 1 if task == "alsc" else self.max_tuples

    def max_new_tokens(self, task: str) -> int:
        """The most indices that are generated, the end included."""
        return TASKS[task].period * self.max_tuples_of(task) + 1

    def steps(self, task: str) -> list[tuple[int, str]]:
        """Of each index of a tuple the number of its field, and its kind: "start", "end" or "label"."""
        return [
            (number, kind)
            for number, field in enumerate(self.fields(task))
            for kind in (("label",) if field == "label" else ("start", "end"))
        ]

    def slots(self, task: str) -> list[int]:
        """Of each index of a tuple its number in `SLOTS`."""
        fields = self.fields(task)
        return [SLOTS.index((fields[number], kind)) for number, kind in self.steps(task)]

    def prompt(self, task: str, given: Span | None = None) -> list[int]:
        """What a sequence begins with: the start, the task where there are several, the given aspect term.

        Raises:
            ValueError: if the model has no such task, or the task needs an aspect term, or takes none.
        """
        if task not in self.tasks:
            raise ValueError(f"task={task!r}: this model was trained for {', '.join(self.tasks)}")
        if TASKS[task].is_given != (given is not None):
            remedy = "give the span of an aspect term" if given is None else "leave the aspect term out"
            raise ValueError(f"task={task!r} with the aspect term {given}: {remedy}")
        return [
            START,
            *([2 + self.tasks.index(task)] if len(self.tasks) > 1 else []),
            *([] if given is None else self._span(given)),
        ]

    def encode(self, task: str, tuples: Iterable[WordTuple], given: Span | None = None) -> tuple[list[int], list[int]]:
        """The prompt of a sentence, and the indices that are to be generated behind it, the end included.

        Args:
            tuples: of the sentence, in any order. A task takes the fields that it has, each tuple once; with `given`
                only tuples of that aspect term.
            given: the aspect term of "alsc" and "aoe".
        Raises:
            ValueError: if a field is missing, a span does not fit, or there are more tuples than the model generates.
        """
        prompt, fields = self.prompt(task, given), self.fields(task)
        found = set()
        for one in tuples:
            if given is None or one.target == given:
                found.add(tuple(getattr(one, field) for field in fields))
        most = self.max_tuples_of(task)
        if len(found) > most or (task == "alsc" and not found):
            raise ValueError(
                f"{task}: {len(found)} tuples, where a model with max_tuples={self.max_tuples} takes "
                f"{'exactly one label' if task == 'alsc' else f'at most {most}'}: set max_tuples or leave some out"
            )
        written = [self._indices(fields, values) for values in found]
        starts = [number for number, (_, kind) in enumerate(self.steps(task)) if kind == "start"]
        written.sort(key=lambda indices: ([indices[number] for number in starts], indices))
        return prompt, [*(index for indices in written for index in indices), END]

    def _indices(self, fields: Sequence[str], values: Sequence) -> list[int]:
        indices = []
        for field, value in zip(fields, values, strict=True):
            if value is None or (field == "label" and value not in self.labels):
                known = f": one of {', '.join(self.labels)}" if field == "label" else ""
                raise ValueError(f"a tuple has {field}={value!r}: give it{known}")
            indices += [2 + self.classes.index(value, -len(self.labels))] if field == "label" else self._span(value)
        return indices

    def _span(self, span: Span) -> list[int]:
        start, end = span
        if not 0 <= start < end <= self.max_words:
            raise ValueError(
                f"the span {span} is empty or outside of {self.max_words} words (max_words): leave it out, or set more"
            )
        return [self.first_word + start, self.first_word + end - 1]

    def task_numbers(self, ids: torch.Tensor) -> torch.Tensor:
        """The number of the task that each of some sequences, or prompts, is of, (R, t) -> (R,).

        Raises:
            ValueError: if one begins with none.
        """
        if len(self.tasks) == 1:
            return ids.new_zeros(len(ids))
        numbers = ids[:, 1:2] - 2
        if not numbers.numel() == len(ids) or ((numbers < 0) | (numbers >= len(self.tasks))).any():
            raise ValueError(
                f"the sequences begin with {ids[:, :2].tolist()[:5]}: a model of several tasks "
                f"({', '.join(self.tasks)}) needs decoder_prompt_ids, as grammar.prompt(task) gives them"
            )
        return numbers[:, 0]

    def parse(self, ids: Sequence[int], num_words: int | None = None) -> Parsed:
        """The tuples of a sequence that begins with its prompt; what is behind the first end is not read.

        Args:
            num_words: of the sentence, (None: `max_words`).
        """
        task = self.tasks[self.task_numbers(torch.tensor([ids]))]
        length, period = self.prompt_length(task), TASKS[task].period
        last = length + list(ids[length:]).index(END) if END in ids[length:] else len(ids)
        groups, begin = [], length
        for position in range(length, last):
            is_class = ids[position] < self.first_word
            if is_class if "label" in TASKS[task].fields else position + 1 - begin == period:
                groups.append((begin, position + 1))
                begin = position + 1
        given = None
        if TASKS[task].is_given:
            given = (ids[length - 2] - self.first_word, ids[length - 1] - self.first_word + 1)
        tuples, positions = [], []
        for start, end in groups:
            values = self._values(task, ids[start:end], self.max_words if num_words is None else num_words)
            if values is not None:
                tuples.append(WordTuple(**{"target": given, **values}))
                positions.append(start)
        return Parsed(tuples, positions, begin < last or len(tuples) < len(groups))

    def _values(self, task: str, indices: Sequence[int], num_words: int) -> dict | None:
        """The fields of one tuple, or None if it is none."""
        if len(indices) != TASKS[task].period:
            return None
        values, rest = {}, list(indices)
        for field in self.fields(task):
            if field == "label":
                number = rest.pop(0) - (self.first_word - len(self.labels))
                if not 0 <= number < len(self.labels):
                    return None
                values[field] = self.labels[number]
            else:
                start, last = (rest.pop(0) - self.first_word for _ in range(2))
                if not 0 <= start <= last < num_words:
                    return None
                values[field] = (start, last + 1)
        return values

    def legal(self, ids: torch.Tensor, word_mask: torch.Tensor) -> torch.Tensor:
        """Which indices may come next.

        Args:
            ids: sequences of one length with their prompts, (R, t).
            word_mask: True at the words of each sentence, (R, W).
        Returns:
            (R, V), True where an index is legal.
        """
        numbers = self.task_numbers(ids)
        legal = torch.zeros(len(ids), self.vocab_size, dtype=torch.bool, device=ids.device)
        for number, task in enumerate(self.tasks):
            rows = numbers == number
            legal[rows] = self._legal(task, ids[rows], word_mask[rows])
        return legal

    def _legal(self, task: str, ids: torch.Tensor, word_mask: torch.Tensor) -> torch.Tensor:
        written = ids[:, self.prompt_length(task) :]
        num_tuples, step = divmod(written.shape[1], TASKS[task].period)
        _, kind = self.steps(task)[step]
        legal = torch.zeros(len(ids), self.vocab_size, dtype=torch.bool, device=ids.device)
        words = legal[:, self.first_word :]  # a view, (R, W)
        if kind == "label":
            legal[:, self.first_word - len(self.labels) : self.first_word] = True
        else:
            words |= word_mask
        if kind == "end":
            number = torch.arange(self.max_words, device=ids.device)
            start = written[:, -1:] - self.first_word  # (R, 1)
            words &= number >= start
            if self.max_span is not None:
                words &= number < start + self.max_span
        if self.no_repeats and num_tuples:
            legal &= self._is_unused(task, written, word_mask)
        if step == 0:
            if num_tuples == self.max_tuples_of(task):
                legal[:] = False
            legal[:, END] = task != "alsc" or num_tuples > 0
        has_ended = (written == END).any(dim=1)
        legal[has_ended] = False
        legal[has_ended, END] = True
        return legal

    def _is_unused(self, task: str, written: torch.Tensor, word_mask: torch.Tensor) -> torch.Tensor:
        """Whether some tuple that begins as the last one, and goes on with an index, does not stand there yet, (R, V).

        So a repeat is impossible, and so is a beginning that only repeats could complete.
        """
        num_tuples, step = divmod(written.shape[1], TASKS[task].period)
        earlier, prefix = written.split([written.shape[1] - step, step], dim=1)
        earlier = earlier.unflatten(1, (num_tuples, -1))  # (R, tuples, period)
        begins_so = (earlier[:, :, :step] == prefix[:, None]).all(dim=-1)  # (R, tuples)
        used = torch.zeros(len(written), self.vocab_size, dtype=torch.long, device=written.device)
        used.scatter_add_(1, earlier[:, :, step], begins_so.long())

        ends = word_mask.long().flip(1).cumsum(1).flip(1)  # (R, W): of each start the words from there on
        if self.max_span is not None:
            ends = ends - torch.nn.functional.pad(ends, (0, self.max_span))[:, self.max_span :]
        num_spans = (ends * word_mask).sum(dim=1, keepdim=True)  # (R, 1)
        number, kind = self.steps(task)[step]
        completions = torch.ones_like(used)
        for field in self.fields(task)[number + 1 :]:
            completions *= len(self.labels) if field == "label" else num_spans
        if kind == "start":
            completions[:, self.first_word :] *= ends
        return used < completions

    def prefix_allowed_tokens_fn(self, word_mask: torch.Tensor) -> Callable[[int, torch.Tensor], list[int]]:
        """The same rule, as `generate` takes it from users of other models.

        Args:
            word_mask: True at the words of each sentence, (B, W).
        """

        def allowed(batch_id: int, ids: torch.Tensor) -> list[int]:
            return self.legal(ids[None], word_mask[batch_id][None])[0].nonzero()[:, 0].tolist()

        return allowed


class GrammarLogitsProcessor(LogitsProcessor):
    """Log-probabilities of the legal indices among themselves.

    Args:
        word_mask: True at the words of each sentence, (B, W); each sentence may have several beams.
    """

    def __init__(self, grammar: Grammar, word_mask: torch.Tensor):
        self.grammar = grammar
        self.word_mask = word_mask

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        word_mask = self.word_mask.repeat_interleave(len(input_ids) // len(self.word_mask), dim=0)
        legal = self.grammar.legal(input_ids, word_mask)
        # The lowest number, since without any legal index, as behind a beam that is illegal, -inf would give NaN.
        return scores.masked_fill(~legal, torch.finfo(scores.dtype).min).log_softmax(dim=-1)


__all__ = ["SLOTS", "TASKS", "Grammar", "GrammarLogitsProcessor", "Parsed", "WordTuple"]
