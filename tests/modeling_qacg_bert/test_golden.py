"""Against numbers of the authors' released implementation, whose weights examples/convert_checkpoint.py converts."""

import convert_checkpoint
import pytest
import torch
from safetensors import safe_open

from modeling_qacg_bert import CGBertForSequenceClassification, QACGBertForSequenceClassification

TOLERANCE = {"rtol": 0, "atol": 1e-5}
FILES = {  # test id: file, kind, context_projection asked for
    "qacg_full": ("qacg_full", "qacg", None),
    "qacg_head-as_stored": ("qacg_head", "qacg", None),
    "qacg_head-compacted": ("qacg_head", "qacg", "head"),
    "cg": ("cg", "cg", None),
}


@pytest.fixture(scope="module", params=FILES.values(), ids=list(FILES))
def golden(request, shared_dir):
    """A converted model on each backend, the inputs and the outputs of the released code."""
    file, kind, context_projection = request.param
    with safe_open(shared_dir / "golden" / f"{file}.safetensors", "pt") as tensors:
        groups = {"weights": {}, "inputs": {}, "outputs": {}}
        for key in tensors.keys():  # noqa: SIM118 - safe_open is no mapping
            group, name = key.split(".", 1)
            groups[group][name] = tensors.get_tensor(key)
        fields = {name: int(value) for name, value in tensors.metadata().items() if name != "kind"}
    config = convert_checkpoint.build_config(kind, fields, groups["weights"], context_projection=context_projection)
    weights = convert_checkpoint.convert_state_dict(groups["weights"], config)
    model_class = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}[kind]
    models = {}
    for backend in ("eager", "sdpa"):
        models[backend] = model_class._from_config(config, attn_implementation=backend).eval()
        models[backend].load_state_dict(weights)
    return models, groups["inputs"], groups["outputs"]


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_logits_and_loss(golden, backend):
    models, inputs, expected = golden
    with torch.no_grad():
        outputs = models[backend](**inputs)
    torch.testing.assert_close(outputs.logits, expected["logits"], **TOLERANCE)
    torch.testing.assert_close(outputs.loss, expected["loss"].squeeze(), **TOLERANCE)


def test_attention_quantities(golden):
    models, inputs, expected = golden
    model = models["eager"]
    if model.config.model_type == "cg_bert":
        assert set(expected) == {"logits", "loss"}  # there is nothing else to compare
        return
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    is_token = inputs["attention_mask"].bool()
    for layer in range(model.config.num_hidden_layers):
        gate, quasi = outputs.quasi_gates[layer], outputs.quasi_attentions[layer]
        for name, actual in {
            "attention": outputs.attentions[layer],
            "self_attention": outputs.self_attentions[layer],
            "gated_quasi_attention": gate * quasi,
            "gate": gate,
        }.items():
            # Rows of padded positions mean nothing: (B, h, n, ...) -> (tokens, h, ...).
            actual, of_released = (x.transpose(1, 2)[is_token] for x in (actual, expected[f"{name}.{layer}"]))
            torch.testing.assert_close(
                actual, of_released, **TOLERANCE, msg=lambda m, name=f"{name}.{layer}": f"{name}: {m}"
            )


def test_projections_are_stored_as_asked_for(golden, request):
    models, _, _ = golden
    model = models["eager"]
    size = {"qacg_full": 32, "qacg_head-as_stored": 32, "qacg_head-compacted": 8, "cg": 8}
    (test_id,) = [name for name in FILES if f"[{name}]" in request.node.name]
    assert model.bert.encoder.layer[1].attention.self.context_key.weight.shape == (size[test_id], size[test_id])
    assert model.config.gate_bias is (test_id != "cg")
