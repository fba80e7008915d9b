"""Answers of models that write the tuples of a text as text."""

from collections.abc import Iterator
from typing import Any

import torch
from transformers import PreTrainedModel

from absa.open_questions import GivenTermPipeline
from absa.tasks.sequences import Texts
from modeling_generative_absa import AspectOpinionPipeline, WordTuple
from modeling_generative_absa.grammar_generative_absa import Span
from modeling_generative_absa.pipeline_generative_absa import NOT_FINITE, Sentence, is_read
from modeling_generative_absa.text_decoding_generative_absa import Automaton


class TextAnswerPipeline(AspectOpinionPipeline):
    """As `AspectOpinionPipeline`, of an encoder-decoder (BART, T5) that writes `term: opinion: label; term: ...`.

    It writes words of the sentence only. Where two labels begin with the same token, `probabilities` is None.
    """

    model: PreTrainedModel

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tokenizer.model_max_length = self._max_length
        self.texts = Texts(self.model.config, self.tokenizer)
        self.texts.prepare(self.model)

    def _encoded(self, words: list[str], task: str, given: Span | None) -> dict[str, Any]:
        row = self.texts.inputs(words, task, given)
        return {**row, "truncated": row["num_words"] < len(words)}

    def _is_readable(self, sentence: Sentence) -> bool:
        return is_read(sentence)

    def _padded(self, batch: list[Sentence], task: str) -> dict[str, Any]:
        rows = [{name: sentence.row[name] for name in ("input_ids", "attention_mask")} for sentence in batch]
        padded = self.tokenizer.pad(rows, padding_side="right", return_tensors="pt")  # BART counts positions
        return {**padded, "sentence": [sentence.row["sentence"] for sentence in batch]}

    def _forward(self, batch: dict[str, Any], num_beams: int = 1) -> dict[str, Any]:
        inputs, options = self.texts.before(self.model, dict(batch), {"num_beams": num_beams, "do_sample": False})
        sequences = self.model.generate(**inputs, **options)
        logits = self.model(**inputs, decoder_input_ids=sequences[:, :-1]).logits
        return {"sequences": sequences, "logits": logits, "automata": self.texts.automata}

    def _found(
        self, outputs: dict[str, Any], number: int, sentence: Sentence
    ) -> Iterator[tuple[WordTuple, float, dict[str, float] | None]]:
        automaton: Automaton = outputs["automata"][number]
        logits = outputs["logits"][number].double()
        temperature = getattr(self.model.config, "calibration_temperature", 1.0)  # a checkpoint of training has none
        if not logits.isfinite().all():
            raise ValueError(NOT_FINITE)
        ids = automaton.writer.written(outputs["sequences"][number].tolist())
        read = automaton.writer.read(ids, automaton.words, sentence.given)
        own = [(choices / temperature).log_softmax(dim=0)[0] for choices in automaton.choices(ids, logits)]
        for one, steps in zip(read.tuples, read.steps, strict=True):
            probabilities = None
            for at in range(steps.start, steps.stop):
                if first := automaton.labels_at(ids[:at]):
                    by_label = logits[at, list(first.values())] / temperature
                    probabilities = dict(zip(first, by_label.softmax(dim=0).tolist(), strict=True))
            yield one, torch.stack(own[steps]).sum().exp().item(), probabilities


class GivenTermTextPipeline(GivenTermPipeline, TextAnswerPipeline):
    """The same of the label, or the opinions, of given aspect terms."""
