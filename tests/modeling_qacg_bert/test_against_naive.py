"""Outputs and gradients against `naive.py`, in float64 and float32, on both backends, in inference and in training."""

from itertools import product

import pytest
import torch

LISTS = ("hidden_states", "attentions", "self_attentions", "quasi_attentions", "quasi_gates")
TOLERANCE = {  # of outputs, of gradients
    torch.float64: ({"rtol": 1e-10, "atol": 1e-10}, {"rtol": 1e-9, "atol": 1e-10}),
    torch.float32: ({"rtol": 1e-4, "atol": 2e-5}, {"rtol": 2e-3, "atol": 2e-4}),
}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SCALES = {"quasi_attention_scale": 0.7, "query_gate_scale": 1.3, "key_gate_scale": 0.4}
SETTINGS = {
    "qacg-head": ("qacg", {}),
    "qacg-head-gate_bias": ("qacg", {"gate_bias": True}),
    "qacg-hidden-scales": ("qacg", {"context_projection": "hidden", **SCALES}),
    "qacg-hidden-gate_bias": ("qacg", {"context_projection": "hidden", "gate_bias": True}),
    "qacg-head-1_context_layer": ("qacg", {"num_context_layers": 1}),
    "qacg-head-centred": ("qacg", {"quasi_form": "centred"}),
    "qacg-hidden-normalised-scales": ("qacg", {"quasi_form": "normalised", "context_projection": "hidden", **SCALES}),
    "qacg-head-softmax-1_context_layer": ("qacg", {"quasi_form": "softmax", "num_context_layers": 1}),
    "cg-head": ("cg", {}),
    "cg-head-1_context_layer": ("cg", {"num_context_layers": 1}),
    "cg-head-gate_bias": ("cg", {"gate_bias": True}),
    "cg-hidden": ("cg", {"context_projection": "hidden"}),
    "cg-hidden-gate_bias": ("cg", {"context_projection": "hidden", "gate_bias": True}),
}
SHAPES = {
    "1_token": (1, None),
    "7_tokens-left_padding": (7, "left"),
    "7_tokens-right_padding": (7, "right"),
    "13_tokens": (13, None),
}


def objective(logits: torch.Tensor, last_hidden_state: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The classification loss plus numbers that depend on every token of the last layer."""
    weights = torch.linspace(-1, 1, last_hidden_state.numel(), dtype=last_hidden_state.dtype)
    return torch.nn.functional.cross_entropy(logits, labels) + (last_hidden_state.flatten() * weights).sum()


@pytest.fixture(scope="module", params=product(SETTINGS, SHAPES), ids="-".join)
def case(request, naive, make_model, make_batch):
    """A model in float64, a batch, and the naive outputs and gradients."""
    setting, shape = request.param
    kind, changes = SETTINGS[setting]
    num_tokens, padding = SHAPES[shape]
    model = make_model(kind, **WITHOUT_DROPOUT, **changes).double()
    batch = make_batch(batch_size=2, num_tokens=num_tokens, padding=padding)
    mask = batch.get("attention_mask", torch.ones_like(batch["input_ids"]))
    parameters = {name: parameter.detach().clone().requires_grad_() for name, parameter in model.named_parameters()}
    classify = naive.NaiveClassifier(model.config, parameters)
    texts = [
        classify(*(column.tolist() for column in row))
        for row in zip(batch["input_ids"], batch["token_type_ids"], mask, batch["context_ids"], strict=True)
    ]
    expected = {"logits": torch.stack([text["logits"] for text in texts])}
    for name in LISTS:
        expected[name] = [torch.stack(layer) for layer in zip(*(text[name] for text in texts), strict=True)]
    objective(expected["logits"], expected["hidden_states"][-1], batch["labels"]).backward()
    return model, batch, expected, {name: parameter.grad for name, parameter in parameters.items()}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_outputs_and_gradients_are_the_naive_ones(case, dtype, backend, training):
    reference, batch, expected, expected_gradients = case
    model = type(reference)._from_config(reference.config, attn_implementation=backend).train(training).to(dtype)
    model.load_state_dict(reference.state_dict())
    outputs = model(**batch, output_hidden_states=True, output_attentions=backend == "eager")

    tolerance, gradient_tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(outputs.logits, expected["logits"].to(dtype), **tolerance)
    for name in LISTS if backend == "eager" else ("hidden_states",):
        actual = outputs.get(name) or ()
        assert len(actual) == len(expected[name])
        for layer, (a, b) in enumerate(zip(actual, expected[name], strict=True)):
            torch.testing.assert_close(a, b.to(dtype), **tolerance, msg=lambda m, n=name, i=layer: f"{n}[{i}]: {m}")

    objective(outputs.logits, outputs.hidden_states[-1], batch["labels"]).backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(
            parameter.grad,
            expected_gradients[name].to(dtype),
            **gradient_tolerance,
            msg=lambda m, n=name: f"gradient of {n}: {m}",
        )
