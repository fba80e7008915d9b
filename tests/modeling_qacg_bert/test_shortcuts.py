"""What is computed in fewer steps than the paper writes is the same: outputs and gradients."""

import pytest
import torch

from modeling_qacg_bert import attention_qacg_bert
from modeling_qacg_bert.attention_qacg_bert import quasi_attention_eager, quasi_attention_sdpa, quasi_weights

WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
PADDINGS = pytest.mark.parametrize("padding", [None, "left", "right"], ids=["no_padding", "left", "right"])


def outputs_and_gradients(model, batch, **options) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    model.zero_grad()
    outputs = model(**batch, **options)
    outputs.loss.backward()
    return outputs.logits.detach(), {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def assert_same(given, expected):
    torch.testing.assert_close(given[0], expected[0])
    for name, gradient in expected[1].items():
        torch.testing.assert_close(given[1][name], gradient, msg=lambda m, name=name: f"{name}: {m}")


@PADDINGS
def test_the_last_layer_of_the_first_token_is_that_of_all(kind, make_model, make_batch, padding):
    model = make_model(kind, "sdpa", **WITHOUT_DROPOUT).double()
    batch = make_batch(3, 9, padding)
    everything = outputs_and_gradients(model, batch, output_hidden_states=True)
    assert_same(outputs_and_gradients(model, batch), everything)


def test_a_model_without_a_head_gives_all_states_unless_told(kind, make_model, make_batch):
    model = make_model(kind).bert
    batch = {name: tensor for name, tensor in make_batch(3, 9).items() if name != "labels"}
    with torch.no_grad():
        everything = model(**batch)
        first = model(**batch, first_token_only=True)
    assert everything.last_hidden_state.shape == (3, 9, 32)
    assert first.last_hidden_state.shape == (3, 1, 32)
    torch.testing.assert_close(first.last_hidden_state, everything.last_hidden_state[:, :1])
    torch.testing.assert_close(first.pooler_output, everything.pooler_output)
    assert model(**batch, first_token_only=True, output_attentions=True).attentions[-1].shape == (3, 4, 9, 9)


@pytest.mark.parametrize("form", ["sigmoid", "centred", "normalised"])
@pytest.mark.parametrize("num_rows", [1, 150, 201])
def test_scores_too_many_for_the_cache_are_computed_in_parts(num_rows, form, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    query, context_query = (torch.randn(2, 5, num_rows, 4, generator=generator) for _ in range(2))
    key, value, context_key = (torch.randn(2, 5, 201, 4, generator=generator) for _ in range(3))
    gate = torch.rand(2, 5, num_rows, 1, generator=generator) * 2 - 1
    key_mask = torch.ones(2, 1, 1, 201, dtype=torch.bool)
    key_mask[1, ..., 150:] = False
    arguments = (query, key, value, context_query, context_key, gate, key_mask, 0.7, 0.0, form)
    expected = quasi_attention_eager(*arguments)[0]
    taken = []
    in_blocks = attention_qacg_bert._quasi_half_in_blocks
    monkeypatch.setattr(attention_qacg_bert, "_quasi_half_in_blocks", lambda *a: taken.append(1) or in_blocks(*a))
    with torch.no_grad():
        given = quasi_attention_sdpa(*arguments)[0]
    torch.testing.assert_close(given, expected)
    assert bool(taken) == (num_rows > 1)
    with_gradients = quasi_attention_sdpa(*arguments)[0]
    torch.testing.assert_close(with_gradients, expected)
    assert len(taken) == (num_rows > 1)


@pytest.mark.parametrize("form", ["sigmoid", "centred", "normalised", "softmax"])
@pytest.mark.parametrize("padded", [False, True])
def test_dropped_weights_are_those_of_eager(padded, form):
    generator = torch.Generator().manual_seed(0)
    states = [torch.randn(2, 3, 7, 4, generator=generator) for _ in range(5)]
    gate = torch.rand(2, 3, 7, 1, generator=generator) * 2 - 1
    key_mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    key_mask[1, ..., 4:] = not padded
    outputs = []
    for backend in (quasi_attention_eager, quasi_attention_sdpa):
        torch.manual_seed(1)
        outputs.append(backend(*states, gate, key_mask, 0.7, 0.4, form)[0])
    torch.testing.assert_close(*outputs)
    without = quasi_attention_sdpa(*states, gate, key_mask, 0.7, 0.0, form)[0]
    assert (outputs[0] - without).abs().max() > 0.1


@pytest.mark.parametrize(
    ("form", "lowest", "total"), [("centred", -0.5, None), ("normalised", 0, 1), ("softmax", 0, 1)]
)
def test_forms_of_quasi_attention(form, lowest, total):
    """What their names say; and of a text that is padding only, nothing that is no number."""
    generator = torch.Generator().manual_seed(0)
    scores = 5 * torch.randn(2, 3, 7, 7, generator=generator)
    key_mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    key_mask[0, ..., 4:] = key_mask[1] = False
    weights = quasi_weights(scores.clone(), form, key_mask)
    assert weights.isfinite().all()
    assert weights.min() >= lowest
    assert weights.max() <= 0.5 if form == "centred" else 1
    assert not weights[0, ..., 4:].any()
    if total is not None:
        torch.testing.assert_close(weights[0].sum(dim=-1), torch.full((3, 7), float(total)))
    assert (weights[0] < 0).any() == (lowest < 0)
