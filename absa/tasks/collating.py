"""Batches of texts with all of their contexts, and of sentences with the labels of their words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> Mapping[str, torch.Tensor]:
        lists = {"context_ids": 0, "labels": NO_LABEL}
        batch = super().__call__(
            [{name: value for name, value in row.items() if name not in lists} for row in features]
        )
        for name, filling in lists.items():
            values = [torch.tensor(row[name]) for row in features]
            batch[name] = pad_sequence(values, batch_first=True, padding_value=filling)
        return batch


@dataclass
class CollatorOfWords(DataCollatorWithPadding):
    """As `DataCollatorWithPadding`, on the right whatever the tokenizer's side, for rows with `labels` and `word_mask`
    of each token."""

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> Mapping[str, torch.Tensor]:
        lists = {"word_mask": 0, "labels": NO_LABEL}
        inputs = [{name: value for name, value in row.items() if name not in lists} for row in features]
        batch = self.tokenizer.pad(inputs, padding_side="right", return_tensors="pt")
        for name, filling in lists.items():
            values = [torch.tensor(row[name]) for row in features]
            batch[name] = pad_sequence(values, batch_first=True, padding_value=filling)
        return batch
