"""What is computed in fewer steps than the paper writes is the same: outputs, gradients, and with wrapped modules."""

import copy

import pytest
import torch
from accelerate import cpu_offload

from modeling_qacg_bert import attention_qacg_bert
from modeling_qacg_bert.attention_qacg_bert import quasi_attention_eager, quasi_attention_sdpa
from modeling_qacg_bert.layers_qacg_bert import ContextGuidedSelfAttention

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


@pytest.mark.parametrize("gate_bias", [False, True], ids=["", "gate_bias"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@PADDINGS
def test_projections_at_once_are_those_one_by_one(
    kind, make_model, make_batch, padding, backend, gate_bias, monkeypatch
):
    model = make_model(kind, backend, gate_bias=gate_bias, **WITHOUT_DROPOUT).double().train()
    batch = make_batch(3, 9, padding)
    at_once = outputs_and_gradients(model, batch)
    monkeypatch.setattr(ContextGuidedSelfAttention, "_project_at_once", lambda *_: pytest.fail("it was taken"))
    monkeypatch.setattr(ContextGuidedSelfAttention, "_is_plain", lambda _: False)
    assert_same(at_once, outputs_and_gradients(model, batch))


@PADDINGS
def test_weights_stacked_once_give_the_same(kind, make_model, make_batch, padding):
    model, batch = make_model(kind, "sdpa", gate_bias=True).double(), make_batch(3, 9, padding)
    attentions = [layer.attention.self for layer in model.bert.encoder.layer]
    state = model.state_dict().keys()
    with torch.no_grad():
        expected = model(**batch).logits
        with model.with_stacked_weights():
            assert all(attention.stacked is not None for attention in attentions)
            assert model.state_dict().keys() == state
            torch.testing.assert_close(model(**batch).logits, expected)
    assert all(attention.stacked is None for attention in attentions)


def test_stacked_weights_under_autocast(kind, make_model, make_batch):
    model, batch = make_model(kind, "sdpa"), make_batch(3, 9, "left")
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expected = model(**batch).logits
        with model.with_stacked_weights():
            assert model.bert.encoder.layer[0].attention.self.stacked.weight.dtype == torch.bfloat16
            given = model(**batch).logits
    torch.testing.assert_close(given.float(), expected.float(), rtol=5e-2, atol=1e-1)


def test_stacked_weights_are_gone_after_an_error_and_a_change_counts_in_the_next_use(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    with torch.no_grad():
        before = model(**batch).logits
        with pytest.raises(ValueError, match="context_ids is missing"), model.with_stacked_weights():
            model(batch["input_ids"])
        model.bert.encoder.layer[0].attention.self.query.weight.data.mul_(-3.0)
        with model.with_stacked_weights():
            given = model(**batch).logits
        assert (given - before).abs().max() > 1e-4
        torch.testing.assert_close(given, model(**batch).logits)


def test_a_wrapped_layer_is_not_stacked(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    attentions = [layer.attention.self for layer in model.bert.encoder.layer]
    attentions[1].key.register_forward_hook(lambda module, inputs, output: 2 * output)
    with torch.no_grad():
        expected = model(**batch).logits
        with model.with_stacked_weights():
            assert [attention.stacked is None for attention in attentions] == [False, True]
            torch.testing.assert_close(model(**batch).logits, expected)


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


@pytest.mark.parametrize("name", ["query", "value", "context_matrix.from_hidden", "query_gate.from_context"])
def test_a_hook_on_a_projection_is_called(kind, make_model, make_batch, name):
    model, batch = make_model(kind, **WITHOUT_DROPOUT).train(), make_batch()
    expected = model(**batch).logits
    attention = model.bert.encoder.layer[1].attention.self
    called = []
    with attention.get_submodule(name).register_forward_hook(lambda *_: called.append(name)):
        torch.testing.assert_close(model(**batch).logits, expected)
    assert called == [name]
    with attention.get_submodule(name).register_forward_hook(lambda module, inputs, output: 2 * output):
        assert (model(**batch).logits - expected).abs().max() > 1e-4


def test_weights_that_are_loaded_when_they_are_needed(kind, make_model, make_batch):
    model, batch = make_model(kind, **WITHOUT_DROPOUT).train(), make_batch()
    expected = model(**batch).logits
    offloaded = cpu_offload(copy.deepcopy(model), execution_device=torch.device("cpu"))
    assert next(offloaded.parameters()).is_meta
    with torch.no_grad():
        torch.testing.assert_close(offloaded(**batch).logits, expected)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_a_changed_weight_counts_at_once(kind, make_model, make_batch, training):
    model, batch = make_model(kind, **WITHOUT_DROPOUT).train(training), make_batch()
    with torch.inference_mode():
        before = model(**batch).logits.clone()
    model.bert.encoder.layer[0].attention.self.key_gate.from_hidden.weight.data.add_(3.0)
    with torch.inference_mode():
        after = model(**batch).logits
    assert (after - before).abs().max() > 1e-4


@pytest.mark.parametrize("num_rows", [1, 150, 201])
def test_scores_too_many_for_the_cache_are_computed_in_parts(num_rows, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    query, context_query = (torch.randn(2, 5, num_rows, 4, generator=generator) for _ in range(2))
    key, value, context_key = (torch.randn(2, 5, 201, 4, generator=generator) for _ in range(3))
    gate = torch.rand(2, 5, num_rows, 1, generator=generator) * 2 - 1
    key_mask = torch.ones(2, 1, 1, 201, dtype=torch.bool)
    key_mask[1, ..., 150:] = False
    expected = quasi_attention_eager(query, key, value, context_query, context_key, gate, key_mask, 0.7)[0]
    taken = []
    in_blocks = attention_qacg_bert._quasi_half_in_blocks
    monkeypatch.setattr(attention_qacg_bert, "_quasi_half_in_blocks", lambda *a: taken.append(1) or in_blocks(*a))
    with torch.no_grad():
        given = quasi_attention_sdpa(query, key, value, context_query, context_key, gate, key_mask, 0.7)[0]
    torch.testing.assert_close(given, expected)
    assert bool(taken) == (num_rows > 1)
    with_gradients = quasi_attention_sdpa(query, key, value, context_query, context_key, gate, key_mask, 0.7)[0]
    torch.testing.assert_close(with_gradients, expected)
    assert len(taken) == (num_rows > 1)


@pytest.mark.parametrize("padded", [False, True])
def test_dropped_weights_are_those_of_eager(padded):
    generator = torch.Generator().manual_seed(0)
    states = [torch.randn(2, 3, 7, 4, generator=generator) for _ in range(5)]
    gate = torch.rand(2, 3, 7, 1, generator=generator) * 2 - 1
    key_mask = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    key_mask[1, ..., 4:] = not padded
    outputs = []
    for backend in (quasi_attention_eager, quasi_attention_sdpa):
        torch.manual_seed(1)
        outputs.append(backend(*states, gate, key_mask, 0.7, 0.4)[0])
    torch.testing.assert_close(*outputs)
    without = quasi_attention_sdpa(*states, gate, key_mask, 0.7, 0.0)[0]
    assert (outputs[0] - without).abs().max() > 0.1
