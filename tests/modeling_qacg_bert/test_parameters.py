"""How many parameters there are, and that each of them is trained."""

import pytest
import torch

from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

# bert-base: H = 768, d = 64, 12 layers, with its pooler.
BERT_BASE = 109_482_240
CLASSIFIER = 768 * 3 + 3
CONTEXT_EMBEDDING = 8 * 768
CONTEXT_MATRIX = 768 * 2 * 768 + 768
GATES = 4 * 64


@pytest.fixture
def count(kind):
    """Number of parameters of a bert-base with 8 contexts and 3 labels."""
    classes = {
        "qacg": (QACGBertConfig, QACGBertForSequenceClassification),
        "cg": (CGBertConfig, CGBertForSequenceClassification),
    }
    config_class, model_class = classes[kind]

    def count_parameters(**changes) -> int:
        with torch.device("meta"):
            return model_class(config_class(num_labels=3, **changes)).num_parameters()

    return count_parameters


def test_number_of_parameters(count):
    projections = 2 * (64 * 64 + 64)
    by_hand = BERT_BASE + CLASSIFIER + CONTEXT_EMBEDDING + 12 * (CONTEXT_MATRIX + projections + GATES)
    assert count() == by_hand == 123_758_595


def test_number_of_parameters_of_the_released_code(count):
    # The released code has 123,783,236 at these sizes. The difference is `bert.pooler.attention_gate.{0,3}`: two
    # linear layers (768 -> 32 and 32 -> 1) that its forward pass never calls. No output depends on them, so they are
    # not here.
    never_called = (768 * 32 + 32) + (32 + 1)
    assert never_called == 24_641
    assert count() + never_called == 123_783_236


def test_number_of_parameters_with_released_projections_and_gate_biases(count):
    projections = 2 * (768 * 768 + 768)
    biases = 2  # one for each gate
    by_hand = BERT_BASE + CLASSIFIER + CONTEXT_EMBEDDING + 12 * (CONTEXT_MATRIX + projections + GATES + biases)
    assert count(context_projection="hidden", gate_bias=True) == by_hand == 137_832_987


def gradients(model, batch) -> dict[str, torch.Tensor]:
    model.train()
    model.zero_grad()
    model(**batch).loss.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("context_projection", ["head", "hidden"])
def test_every_parameter_is_trained(kind, make_model, make_batch, context_projection, backend):
    model = make_model(kind, backend, context_projection=context_projection, gate_bias=True)
    for name, gradient in gradients(model, make_batch(padding="right")).items():
        assert gradient is not None, f"{name} has no gradient"
        assert torch.isfinite(gradient).all(), f"{name} has a gradient that is not finite"
        assert gradient.abs().max() > 1e-9, f"the gradient of {name} is zero"


@pytest.mark.parametrize("context_projection", ["head", "hidden"])
def test_every_parameter_is_trained_the_same_with_gradient_checkpointing(
    kind, make_model, make_batch, context_projection
):
    without_dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = make_model(kind, "sdpa", context_projection=context_projection, **without_dropout)
    batch = make_batch(padding="right")
    expected = gradients(model, batch)
    if hasattr(model, "activation_checkpointing_enable"):
        model.activation_checkpointing_enable()
    else:  # its name in older Transformers
        model.gradient_checkpointing_enable()
    assert any(module.gradient_checkpointing for module in model.bert.encoder.layer)
    for name, gradient in gradients(model, batch).items():
        torch.testing.assert_close(gradient, expected[name], msg=lambda m, name=name: f"{name}: {m}")


def test_dropout_acts_in_training_only(kind, make_model, make_batch):
    model = make_model(kind, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.5)
    batch = make_batch()
    with torch.no_grad():
        assert torch.equal(model(**batch).logits, model(**batch).logits)
        model.train()
        assert not torch.equal(model(**batch).logits, model(**batch).logits)
