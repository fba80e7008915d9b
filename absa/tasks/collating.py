"""Batches of texts with all of their contexts, and of sentences with the labels of their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import DataCollatorWithPadding

NO_LABEL = -100  # that the loss passes over


@dataclass
class CollatorOfTexts(DataCollatorWithPadding):
    """As `DataCollatorWithPadding`, for rows whose `context_ids` and `labels` are lists.

    Both become (B, K) for the longest of these lists. What fills up shorter ones has a context, since the model needs
    one, and no label. So do `teacher_probabilities`, (B, K, labels).
    """

    fillings: ClassVar[Mapping[str, int]] = {"context_ids": 0, "labels": NO_LABEL, "teacher_probabilities": 0}

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> Mapping[str, torch.Tensor]:
        batch = self.padded([{k: value for k, value in row.items() if k not in self.fillings} for row in features])
        for name, filling in self.fillings.items():
            if name in features[0]:
                values = [torch.tensor(row[name]) for row in features]
                batch[name] = pad_sequence(values, batch_first=True, padding_value=filling)
        return batch

    def padded(self, inputs: list[dict]) -> Mapping[str, torch.Tensor]:
        return super().__call__(inputs)


@dataclass
class CollatorOfContexts(CollatorOfTexts):
    """The same for rows that have the tokens of a context, or of each of several, in `context_input_ids`.

    A batch has each distinct context once, (C, m), and its rows as `context_ids`. Rows without such tokens (of
    BERT-pair, which reads contexts behind the text) are padded.
    """

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> Mapping[str, torch.Tensor]:
        if "context_input_ids" not in features[0]:
            return self.padded(list(features))
        numbers, rows = {}, []
        for row in features:
            row = dict(row)
            asked = row.pop("context_input_ids")
            is_one = isinstance(asked[0], int)
            ids = [numbers.setdefault(tuple(context), len(numbers)) for context in ([asked] if is_one else asked)]
            rows.append({**row, "context_ids": ids[0] if is_one else ids})
        batch = self.padded(rows) if is_one else super().__call__(rows)
        contexts = self.tokenizer.pad(
            {"input_ids": list(map(list, numbers))}, padding_side="right", return_tensors="pt"
        )
        return {**batch, **{f"context_{name}": value for name, value in contexts.items()}}


@dataclass
class CollatorOfWords(CollatorOfTexts):
    """The same of `word_mask` and `labels` of each token; padding is on the right, whatever the tokenizer's side."""

    fillings: ClassVar[Mapping[str, int]] = {"word_mask": 0, "labels": NO_LABEL}

    def padded(self, inputs: list[dict]) -> Mapping[str, torch.Tensor]:
        return self.tokenizer.pad(inputs, padding_side="right", return_tensors="pt")


@dataclass
class CollatorOfSequences(CollatorOfWords):
    """The same of `word_ids` of each token, and of `decoder_prompt_ids` and `labels` of each index to generate; or of
    the `labels` of a model that writes text, with each `sentence` as it is."""

    fillings: ClassVar[Mapping[str, int]] = {"word_ids": -1, "decoder_prompt_ids": 0, "labels": NO_LABEL}

    def padded(self, inputs: list[dict]) -> Mapping[str, Any]:
        sentences = {name: [row.pop(name) for row in inputs] for name in ("sentence",) if name in inputs[0]}
        return {**super().padded(inputs), **sentences}
