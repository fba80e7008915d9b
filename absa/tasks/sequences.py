"""What a model that generates reads of a sentence, and the way back from its sequences to tuples."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from absa.models import most_tokens
from absa.tasks.collating import NO_LABEL
from modeling_generative_absa import TASKS, WordTuple, encode_words
from modeling_generative_absa.grammar_generative_absa import Span
from modeling_generative_absa.text_decoding_generative_absa import Automaton, TextWriter, allowed_tokens
from modeling_generative_absa.text_generative_absa import TextFormat
from modeling_generative_absa.words_generative_absa import without_surrogates

MOST_WRITTEN = 256  # tokens of an answer in text
MOST_CHOICES = 64  # of a token, that are kept


class Found(NamedTuple):
    """What a sequence says."""

    tuples: list[WordTuple]
    steps: list[tuple[np.ndarray, np.ndarray]]
    """of each tuple the log-probabilities of all that could stand at its steps, (steps, V), and the numbers of what
    does, (steps,)"""
    is_invalid: bool
    """whether something in it is no tuple, and was left out"""


class Sequences(ABC):
    """How sentences, subtasks and tuples are written for a model.

    Args:
        config: of the model.
        tokenizer: its own; the most tokens are its `model_max_length`.
    """

    def __init__(self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase):
        self.config, self.tokenizer = config, tokenizer
        tokenizer.truncation_side = "right"  # a long text loses its end, whatever the tokenizer has learned

    @abstractmethod
    def prepare(self, model: PreTrainedModel):
        """Makes a model generate as it is to, whatever its checkpoint says of generation."""

    @abstractmethod
    def inputs(self, words: Sequence[str], subtask: str, given: Span | None) -> dict[str, Any]:
        """What the model reads, with `num_words`, how many words that are."""

    @abstractmethod
    def targets(
        self, words: Sequence[str], subtask: str, given: Span | None, tuples: Sequence[WordTuple]
    ) -> dict[str, list[int]]:
        """What it is to write; ValueError if it cannot."""

    @abstractmethod
    def before(
        self, model: PreTrainedModel, inputs: dict[str, Any], options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """A batch as `generate` takes it, and the options that this takes."""

    @abstractmethod
    def after(self, model: PreTrainedModel, inputs: dict[str, Any], sequences: torch.Tensor) -> tuple:
        """The sequences of a batch with their log-probabilities, what `read` reads."""

    @abstractmethod
    def read(self, entry: Mapping[str, Any], subtask: str, given: Span | None, *predicted: np.ndarray) -> Found:
        """The tuples that one entry's sequence holds."""


class Indices(Sequences):
    """Indices of a pointer model."""

    def prepare(self, model):
        """Nothing to do: its configuration says it."""

    def inputs(self, words, subtask, given):
        marked = given if self.config.mark_given else None
        row = encode_words(self.tokenizer, words, self.config.max_words, self.tokenizer.model_max_length, marked)
        row.pop("truncated")
        return row if max(row["word_ids"], default=-1) >= 0 else {**row, "num_words": 0}

    def targets(self, words, subtask, given, tuples):
        prompt, labels = self.config.grammar.encode(subtask, tuples, given)
        return {"decoder_prompt_ids": prompt, "labels": labels}

    def before(self, model, inputs, options):
        with torch.no_grad():  # once for the loss, the answers and their probabilities
            encoded = model.base_model.encode(inputs["input_ids"], inputs["attention_mask"], inputs["word_ids"])
        return {**inputs, "encoder_outputs": encoded}, dict(options)

    def after(self, model, inputs, sequences):
        known = (inputs["decoder_prompt_ids"], inputs["encoder_outputs"], inputs["attention_mask"])
        # The Trainer pads short ones to 20 indices, more than a model of short answers has positions for.
        sequences = sequences[:, : self.config.max_target_length]
        return sequences, model.log_probabilities(sequences, *known)

    def read(self, entry, subtask, given, sequence, log_probabilities):
        grammar = self.config.grammar
        length, period = grammar.prompt_length(subtask), TASKS[subtask].period
        ids = sequence[sequence != NO_LABEL].tolist()
        parsed = grammar.parse(ids, max(entry["word_ids"]) + 1)
        steps = [
            (log_probabilities[at - length : at - length + period], np.array(ids[at : at + period]))
            for at in parsed.positions
        ]
        return Found(parsed.tuples, steps, parsed.is_invalid)


class Texts(Sequences):
    """Texts of an encoder-decoder, such as BART or T5."""

    def __init__(self, config, tokenizer):
        super().__init__(config, tokenizer)
        labels = list(config.id2label.values())
        self.writers = {task: TextWriter(tokenizer, TextFormat(task, labels)) for task in config.tasks}

    def prepare(self, model):
        # BART's checkpoints ask for four beams without repeated words.
        model.generation_config = GenerationConfig.from_model_config(self.config)
        model.generation_config.max_length = most_tokens(MOST_WRITTEN, self.config)

    def inputs(self, words, subtask, given):
        def encode(num_words: int) -> list[int]:
            prompt = self.writers[subtask].text_format.prompt(words[:num_words], given)
            return self.tokenizer(prompt, verbose=False)["input_ids"]

        words = [without_surrogates(word) for word in words]
        # Of blanks alone, as of a pointer model, nothing is asked.
        most, num_words = self.tokenizer.model_max_length, len(words) if any(map(str.strip, words)) else 0
        if len(encode(num_words)) > most:
            num_words = max(0, bisect_right(range(num_words), most, key=lambda number: len(encode(number))) - 1)
        ids = encode(num_words)
        sentence = {"subtask": subtask, "words": words[:num_words]}
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "sentence": sentence, "num_words": num_words}

    def targets(self, words, subtask, given, tuples):
        return {"labels": self.writers[subtask].encode(words, tuples, given)}

    def before(self, model, inputs, options):
        sentences, options = inputs.pop("sentence"), dict(options)
        self.automata = [Automaton(self.writers[one["subtask"]], one["words"]) for one in sentences]
        is_constrained = options.pop("constrained", True)
        # None is told too: of no options at all the Trainer takes its own, with `constrained`.
        options["prefix_allowed_tokens_fn"] = allowed_tokens(self.automata) if is_constrained else None
        if (options.get("num_beams") or 1) > 1:
            options.setdefault("length_penalty", 0.0)  # compared by their probabilities, as of pointer models
        return inputs, options

    def after(self, model, inputs, sequences):
        written = [one.writer.written(ids) for one, ids in zip(self.automata, sequences.tolist(), strict=True)]
        sequences = sequences[:, : 1 + max(map(len, written))]  # the Trainer pads to the most that there could be
        with torch.no_grad():
            read = {name: inputs[name] for name in ("input_ids", "attention_mask")}
            logits = model(**read, decoder_input_ids=sequences[:, :-1]).logits.float()
        lowest = torch.finfo(logits.dtype).min
        kept = logits.new_full((*logits.shape[:2], MOST_CHOICES), lowest)
        for row, (automaton, ids) in enumerate(zip(self.automata, written, strict=True)):
            for at, choices in enumerate(automaton.choices(ids, logits[row])):
                likeliest = choices[1:].topk(min(len(choices) - 1, MOST_CHOICES - 1)).values
                kept[row, at, : 1 + len(likeliest)] = torch.cat([choices[:1], likeliest]).clamp(min=lowest)
        return sequences, kept.log_softmax(dim=-1)

    def read(self, entry, subtask, given, sequence, log_probabilities):
        writer = self.writers[subtask]
        ids = writer.written(sequence[sequence != NO_LABEL].tolist())
        found = writer.read(ids, entry["sentence"]["words"], given)
        steps = [
            (log_probabilities[of_tuple], np.zeros(of_tuple.stop - of_tuple.start, int)) for of_tuple in found.steps
        ]
        return Found(found.tuples, steps, found.is_invalid)


def sequences_of(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> Sequences:
    """How a model writes."""
    return (Indices if hasattr(config, "grammar") else Texts)(config, tokenizer)
