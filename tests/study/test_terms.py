"""The sizes of the terms, against the weights that the eager backend returns."""

import json
from pathlib import Path

import pytest
import torch
import yaml

import terms
from modeling_qacg_bert import QACGBertForSequenceClassification


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return {
        "input_ids": torch.randint(5, 40, (3, 7), generator=random),
        "context_ids": torch.tensor([0, 3, 7]),
        "labels": torch.tensor([0, 1, 2]),
    }


def model_of(tiny_classifier: Path, **changes) -> QACGBertForSequenceClassification:
    model = QACGBertForSequenceClassification.from_pretrained(tiny_classifier, **changes).eval()
    random = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if "_gate" in name or "context_" in name:
            torch.nn.init.normal_(parameter, std=0.3, generator=random)
    return model


def test_sizes(tiny_classifier: Path, batch):
    model = model_of(tiny_classifier)
    values = []
    for layer in model.bert.encoder.layer:
        layer.attention.self.value.register_forward_hook(lambda module, args, output: values.append(output))
    found = terms.size_of_terms(model, [batch])
    values.clear()
    with torch.no_grad():
        outputs = model.bert(batch["input_ids"], context_ids=batch["context_ids"], output_attentions=True)
    ratios = []
    for layer, value in enumerate(values):
        value = value.unflatten(-1, (4, 8)).transpose(1, 2)
        softmax_term = outputs.self_attentions[layer] @ value
        quasi_term = outputs.quasi_gates[layer] * (outputs.quasi_attentions[layer] @ value)
        ratios.append((quasi_term.norm(dim=-1) / softmax_term.norm(dim=-1)).mean().item())
        spread = outputs.quasi_attentions[layer].std(dim=-1, correction=0).mean().item()
        assert spread > 0.01
        assert found["spread"][layer] == pytest.approx(spread, rel=1e-4)
        assert found["gate"][layer] == pytest.approx(outputs.quasi_gates[layer].abs().mean().item(), rel=1e-4)
    assert found["ratio"] == pytest.approx(ratios, rel=1e-4)
    assert found["ratio_by_length"] == {"n <= 20": pytest.approx(sum(ratios) / 2, rel=1e-4)}
    assert "attend" not in vars(model.bert.encoder.layer[0].attention.self)


def test_without_quasi_attention_there_is_no_quasi_term(tiny_classifier: Path, batch):
    found = terms.size_of_terms(model_of(tiny_classifier, quasi_attention_scale=0.0), [batch])
    assert found["ratio"] == pytest.approx([0, 0], abs=1e-5)
    assert found["spread"] == [0, 0]
    assert min(found["gate"]) > 0.01


def test_gradients(tiny_classifier: Path, batch):
    model = model_of(tiny_classifier)
    found = terms.gradients(model, batch)
    assert set(found) == set(terms.NEW_MODULES)
    model(**batch).loss.backward()
    expected = model.bert.context_embeddings.weight.grad.square().mean().sqrt().item()
    assert found["context_embeddings"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("length", "name"), [(20, "n <= 20"), (21, "n <= 40"), (60, "n <= 60"), (61, "n > 60")])
def test_bins(length: int, name: str):
    assert terms.bin_of(length) == name


def test_layers_without_context_are_passed_over(tiny_classifier: Path, batch):
    found = terms.size_of_terms(model_of(tiny_classifier, num_context_layers=1), [batch])
    assert len(found["gate"]) == len(found["ratio"]) == 1


def test_what_is_stored_of_models_that_are_not_there_is_kept(
    tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here
):
    run = {"dataset": "sentihood", "model_type": "qacg_bert", "model_name_or_path": str(tiny_bert)}
    fields = {"title": "tiny", "split": "validation", "seeds": [42], "runs": {"a": run, "b": run}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(fields))
    file = tmp_path / "results" / "terms" / "tiny.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"a": {"before": {}, "after": {"ratio": [0.25]}}, "gone": {"before": {}}}))
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    words = ("study/terms.py", tmp_path / "tiny.yaml", "--sentihood_dir", tiny_sentihood, *places)
    assert run_here(*words).splitlines()[0].startswith("a {'before': [")
    found = json.loads(file.read_text())
    assert list(found) == ["a", "b"]
    assert found["a"]["after"] == {"ratio": [0.25]}
    assert "after" not in found["b"]
    assert found["a"]["before"] == found["b"]["before"]  # the same weights
    assert 0 < found["b"]["before"]["gate"][0] < 0.01

    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**fields, "runs": {"a": {**run, "model_type": "bert"}}}))
    with pytest.raises(ValueError, match="has no QACG-BERT on SentiHood"):
        run_here(*words)
    assert json.loads(file.read_text()) == found
