"""Outputs and gradients against `naive.py`, in float64."""

import importlib.util
from pathlib import Path

import pytest
import torch

VARIANTS = {
    "learned": {},
    "learned-layer_norm": {"layer_norm": True},
    "learned-penalty-dense": {"mix_l2": 0.3, "dense_size": 4},
    "learned-special-tokens-too": {"special_token_ids": []},
    "uniform": {"mix": "uniform"},
    "last-layer_norm": {"mix": "last", "layer_norm": True},
}
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(scope="module")
def naive():
    """naive.py beside this file."""
    spec = importlib.util.spec_from_file_location("naive_mix", Path(__file__).with_name("naive.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_and_gradients_are_the_naive_ones(naive, make_model, make_batch, variant: str, padding: str):
    model, batch = make_model(**VARIANTS[variant]).double(), make_batch(padding)
    outputs = model(**batch, output_hidden_states=True)

    parameters = dict(model.named_parameters())
    classifier, logits = naive.NaiveMix(model.config, parameters), []
    for row, mask in enumerate(batch["attention_mask"].bool()):
        layers = [layer[row][mask] for layer in outputs.hidden_states]
        logits.append(classifier(layers, batch["input_ids"][row][mask].tolist()))
    loss = classifier.loss(logits, batch["labels"].tolist())
    expected = torch.autograd.grad(loss, parameters.values(), retain_graph=True)  # the encoder's, too

    torch.testing.assert_close(outputs.logits, torch.stack(logits), **EXACT)
    torch.testing.assert_close(outputs.loss, loss, **EXACT)
    outputs.loss.backward()
    for (name, parameter), gradient in zip(parameters.items(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, **EXACT, msg=name)
