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
    one, and no label.
    """

    fillings: ClassVar[Mapping[str, int]] = {"context_ids": 0, "labels": NO_LABEL}

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
