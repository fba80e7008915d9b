"""Fixtures of the model tests: tiny models, whose weights are large enough for differences to show, and inputs."""

from collections.abc import Callable

import pytest
import torch

from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

CONFIGS = {"qacg": QACGBertConfig, "cg": CGBertConfig}
MODELS = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}
TINY = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "num_contexts": 8,
    "num_labels": 3,
    "initializer_range": 0.2,
    "context_initializer_range": 0.2,
}


@pytest.fixture(params=["qacg", "cg"], scope="session")
def kind(request: pytest.FixtureRequest) -> str:
    """Both models in turn."""
    return request.param


@pytest.fixture(scope="session")
def make_config() -> Callable[..., QACGBertConfig | CGBertConfig]:
    """A tiny configuration of a kind, with changes."""

    def make(kind: str, **changes):
        return CONFIGS[kind](**{**TINY, **changes})

    return make


@pytest.fixture(scope="session")
def make_model(make_config) -> Callable[..., QACGBertForSequenceClassification | CGBertForSequenceClassification]:
    """A tiny classifier of a kind in eval mode, always with the same weights, biases included."""

    def make(kind: str, attn_implementation: str = "eager", **changes):
        torch.manual_seed(0)
        config = make_config(kind, **changes)
        model = MODELS[kind]._from_config(config, attn_implementation=attn_implementation)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("bias"):
                    parameter.normal_(std=0.1)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., dict[str, torch.Tensor]]:
    """Random inputs; with padding ("left" or "right") each text is shorter than the one before."""

    def make(batch_size: int = 3, num_tokens: int = 7, padding: str | None = None) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(1)

        def draw(high: int, *shape: int) -> torch.Tensor:
            return torch.randint(high, shape, generator=generator)

        batch = {
            "input_ids": 1
            + draw(59, batch_size, num_tokens),  # 0 is the padding token, whose embedding is not trained
            "token_type_ids": draw(2, batch_size, num_tokens),
            "context_ids": draw(8, batch_size),
            "labels": draw(3, batch_size),
        }
        if padding:
            is_token = torch.ones(batch_size, num_tokens, dtype=torch.long)
            for row in range(batch_size):
                padded = slice(num_tokens - 2 * row, None) if padding == "right" else slice(None, 2 * row)
                is_token[row, padded] = 0
            batch["attention_mask"] = is_token
        return batch

    return make
