"""Fixtures of the tagger tests: tiny models, whose weights are large enough for differences to show, and inputs."""

from collections.abc import Callable

import pytest
import torch
from transformers import BertConfig, PreTrainedConfig

from modeling_global_context import GlobalContextConfig, GlobalContextForTokenClassification, labels_of

VOCABULARY = 60
LABELS = labels_of("BIEOS", ["POS", "NEG"])
TINY_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "initializer_range": 0.3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


@pytest.fixture(scope="session")
def make_config() -> Callable[..., GlobalContextConfig]:
    """A tiny configuration, over a tiny BERT unless another encoder is given, with changes."""

    def make(encoder: PreTrainedConfig | str | None = "bert", labels=LABELS, **changes) -> GlobalContextConfig:
        fields = {"lstm_size": 12, "num_attention_heads": 3, "initializer_range": 0.3}
        if encoder is None:
            fields |= {"vocab_size": VOCABULARY, "embedding_size": 10}
        else:
            fields["encoder_config"] = BertConfig(**TINY_BERT) if encoder == "bert" else encoder
        named = {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
        return GlobalContextConfig(**{**fields, **named, **changes})

    return make


@pytest.fixture(scope="session")
def make_model(make_config) -> Callable[..., GlobalContextForTokenClassification]:
    """A tiny tagger in evaluation mode, always with the same weights, biases included."""

    def make(*arguments, **changes) -> GlobalContextForTokenClassification:
        torch.manual_seed(0)
        model = GlobalContextForTokenClassification(make_config(*arguments, **changes))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "bias" in name or name.startswith("crf."):
                    parameter.normal_(std=0.3)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def make_batch() -> Callable[..., dict[str, torch.Tensor]]:
    """Random inputs; with padding ("left" or "right") each sentence is shorter than the one before."""

    def make(batch_size: int = 3, num_tokens: int = 7, padding: str | None = None) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        draw = lambda high: torch.randint(high, (batch_size, num_tokens), generator=generator)  # noqa: E731
        batch = {
            "input_ids": 1 + draw(VOCABULARY - 1),
            "attention_mask": torch.ones(batch_size, num_tokens, dtype=torch.long),
            "labels": draw(len(LABELS)),
        }
        for row in range(batch_size if padding else 0):
            padded = slice(num_tokens - 2 * row, None) if padding == "right" else slice(None, 2 * row)
            batch["attention_mask"][row, padded] = 0
            batch["labels"][row, padded] = -100
        return batch

    return make
