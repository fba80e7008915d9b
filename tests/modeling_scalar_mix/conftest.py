"""Fixtures of the scalar mix's tests: tiny models with weights large enough for differences to show, and inputs."""

from collections.abc import Callable

import pytest
import torch
from transformers import BertConfig, PreTrainedConfig

from modeling_scalar_mix import ScalarMixConfig, ScalarMixForSequenceClassification

VOCABULARY = 60
SPECIAL = [1, 2]
TINY_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 40,
    "initializer_range": 0.5,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


@pytest.fixture(scope="session")
def make_config() -> Callable[..., ScalarMixConfig]:
    """A tiny configuration, over a tiny BERT unless another encoder is given, with changes."""

    def make(encoder: PreTrainedConfig | None = None, **changes) -> ScalarMixConfig:
        fields = {"special_token_ids": SPECIAL, "initializer_range": 0.5, "num_labels": 3, "dropout": 0.0}
        return ScalarMixConfig(encoder_config=encoder or BertConfig(**TINY_BERT), **{**fields, **changes})

    return make


@pytest.fixture(scope="session")
def make_model(make_config) -> Callable[..., ScalarMixForSequenceClassification]:
    """A tiny classifier in evaluation mode, always with the same weights, biases, w and gamma included."""

    def make(*arguments, **changes) -> ScalarMixForSequenceClassification:
        torch.manual_seed(0)
        model = ScalarMixForSequenceClassification(make_config(*arguments, **changes))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "bias" in name or ".mix." in name:
                    parameter.normal_(std=0.8)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., dict[str, torch.Tensor]]:
    """Pairs of texts, [CLS] a [SEP] b [SEP], each but the first shorter than the one before; padded on one side."""

    def make(padding: str = "right") -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        columns = {"input_ids": [], "token_type_ids": [], "attention_mask": []}
        for length in (5, 3, 1):
            text, aspect = (torch.randint(5, VOCABULARY, (n,), generator=generator).tolist() for n in (length, 2))
            ids = [1, *text, 2, *aspect, 2]
            empty = [0] * (10 - len(ids))
            types = [0] * (len(text) + 2) + [1] * (len(aspect) + 1)
            for column, values in zip(columns.values(), (ids, types, [1] * len(ids)), strict=True):
                column.append([*values, *empty] if padding == "right" else [*empty, *values])
        batch = {name: torch.tensor(values) for name, values in columns.items()}
        if padding == "left":
            batch["position_ids"] = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
        return {**batch, "labels": torch.tensor([0, 2, 1])}

    return make
