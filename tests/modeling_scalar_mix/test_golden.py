"""Against numbers from allennlp's formula, in float64."""

import json
from pathlib import Path

import pytest
import torch
from transformers import BertConfig

from modeling_scalar_mix import ScalarMixConfig
from modeling_scalar_mix.modeling_scalar_mix import ScalarMix, masked_mean

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def golden(shared_dir: Path) -> dict:
    return json.loads((shared_dir / "golden" / "generative" / "scalar_mix.json").read_text())


def mix_of(case: dict, **changes) -> ScalarMix:
    mix = ScalarMix(ScalarMixConfig(encoder_config=BertConfig(num_hidden_layers=2), **changes)).double()
    with torch.no_grad():
        mix.weights.copy_(double(case["w"]))
        mix.gamma.fill_(case["gamma"])
    return mix


def double(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("number", range(4))
def test_mix_and_masked_mean(golden, number: int):
    case, mask = golden["cases"][number], torch.tensor(golden["mask"])
    mix = mix_of(case)
    mixed = mix(double(golden["layers"]).unbind())
    torch.testing.assert_close(mix.shares(), double(case["s"]), **EXACT)
    torch.testing.assert_close(mixed, double(case["mix"]), **EXACT)
    torch.testing.assert_close(masked_mean(mixed, mask), double(case["masked_mean"]), **EXACT)
    # allennlp's norm is over all numbers of a batch: a text's output would depend on its neighbours.
    normalised = mix_of(case, layer_norm=True)(double(golden["layers"]).unbind())
    assert (normalised - double(case["mix_layer_norm"])).abs().max() > 0.01


def test_gradients(golden):
    case = golden["gradient"]
    mix = mix_of(case)
    mix(double(golden["layers"]).unbind()).backward(double(case["upstream"]))
    torch.testing.assert_close(mix.weights.grad, double(case["grad_w"]), **EXACT)
    torch.testing.assert_close(mix.gamma.grad, double([case["grad_gamma"]]), **EXACT)
