"""The sizes of the terms, against a model without the quasi term."""

from pathlib import Path

import pytest
import torch
import yaml

import grids
import results
import terms
from modeling_qacg_bert import QACGBertForSequenceClassification


def batch_of(length: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 40, (3, length), generator=torch.Generator().manual_seed(length))
    return {"input_ids": ids, "context_ids": torch.tensor([0, 3, 7]), "labels": torch.tensor([0, 1, 2])}


def model_of(tiny_classifier: Path, **changes) -> QACGBertForSequenceClassification:
    model = QACGBertForSequenceClassification.from_pretrained(tiny_classifier, **changes).eval()
    random = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        if "_gate" in name or "context_" in name:
            torch.nn.init.normal_(parameter, std=0.3, generator=random)
    return model


@torch.no_grad()
def first_attention(model, batch) -> torch.Tensor:
    """What the first layer's heads give, (B, n, h, d)."""
    seen = []
    attention = model.bert.encoder.layer[0].attention.self
    hook = attention.register_forward_hook(lambda module, args, output: seen.append(output[0]))
    model(**batch)
    hook.remove()
    return seen[0].unflatten(-1, (4, 8))


def test_sizes(tiny_classifier: Path):
    model, batch = model_of(tiny_classifier), batch_of(7)
    found = terms.size_of_terms(model, [batch])
    softmax_term = first_attention(model_of(tiny_classifier, quasi_attention_scale=0.0), batch)
    quasi_term = first_attention(model, batch) - softmax_term
    ratio = (quasi_term.norm(dim=-1) / softmax_term.norm(dim=-1)).mean().item()
    assert ratio > 0.01
    assert found["ratio"][0] == pytest.approx(ratio, rel=1e-4)
    with torch.no_grad():
        outputs = model.bert(batch["input_ids"], context_ids=batch["context_ids"], output_attentions=True)
    for layer, (gate, quasi) in enumerate(zip(outputs.quasi_gates, outputs.quasi_attentions, strict=True)):
        assert found["gate"][layer] == pytest.approx(gate.abs().mean().item(), rel=1e-4)
        spread = quasi.std(dim=-1, correction=0)
        assert found["spread"][layer] == pytest.approx(spread.mean().item(), rel=1e-4)
        relative = (spread / quasi.mean(dim=-1)).mean().item()
        assert found["relative_spread"][layer] == pytest.approx(relative, rel=1e-4)


def test_the_relative_spread_compares_the_forms(tiny_classifier: Path):
    """That of normalised weights is that of the sigmoids they are made from, whatever α is and a row sums to."""
    of_forms = {
        form: terms.size_of_terms(
            model_of(tiny_classifier, quasi_form=form, quasi_attention_scale=scale), [batch_of(7)]
        )
        for form, scale in (("sigmoid", 3.0), ("normalised", 1.0), ("centred", 3.0))
    }
    sigmoid, normalised, centred = (found["relative_spread"][0] for found in of_forms.values())
    assert sigmoid > 0.01
    assert normalised == pytest.approx(sigmoid, rel=1e-4)
    assert of_forms["normalised"]["spread"][0] < 0.2 * of_forms["sigmoid"]["spread"][0]
    assert of_forms["centred"]["spread"][0] == pytest.approx(of_forms["sigmoid"]["spread"][0], rel=1e-4)
    assert centred > sigmoid


@pytest.mark.parametrize("num_context_layers", [1, 2])
def test_several_contexts_are_as_many_texts(tiny_classifier: Path, num_context_layers: int):
    model, batch = model_of(tiny_classifier, num_context_layers=num_context_layers), batch_of(7)
    together = {**batch, "context_ids": torch.tensor([[0, 1], [3, 4], [7, 2]])}
    apart = {"input_ids": batch["input_ids"].repeat_interleave(2, 0), "context_ids": together["context_ids"].flatten()}
    found, expected = (terms.size_of_terms(model, [one]) for one in (together, apart))
    for name in terms.SIZES:
        assert len(found[name]) == num_context_layers
        assert found[name] == pytest.approx(expected[name], rel=1e-4)


def test_every_token_counts_the_same(tiny_classifier: Path):
    model, batches = model_of(tiny_classifier), [batch_of(7), batch_of(21), batch_of(14)]
    found = terms.size_of_terms(model, batches)
    each = [terms.size_of_terms(model, [batch]) for batch in batches]
    for name in terms.SIZES:
        for layer in range(2):
            values = [sizes[name][layer] for sizes in each]
            assert found[name][layer] == pytest.approx((7 * values[0] + 21 * values[1] + 14 * values[2]) / 42)
    short, long, middle = (sum(sizes["ratio"]) / 2 for sizes in each)
    assert list(found["ratio_by_length"]) == ["n <= 20", "n <= 40"]
    assert found["ratio_by_length"] == pytest.approx({"n <= 20": (7 * short + 14 * middle) / 21, "n <= 40": long})


def test_without_quasi_attention_there_is_no_quasi_term(tiny_classifier: Path):
    model = model_of(tiny_classifier, quasi_attention_scale=0.0, num_context_layers=1)
    found = terms.size_of_terms(model, [batch_of(7)])
    assert found["ratio"] == found["spread"] == found["relative_spread"] == [0]  # of the guided layer alone
    assert found["gate"][0] > 0.01


def test_gradients(tiny_classifier: Path):
    model, batch = model_of(tiny_classifier), batch_of(7)
    found = terms.gradients(model, batch)
    assert set(found) == terms.NEW_MODULES
    model.zero_grad()
    model(**batch).loss.backward()
    expected = model.bert.context_embeddings.weight.grad.square().mean().sqrt().item()
    assert found["context_embeddings"] == pytest.approx(expected, rel=1e-5)


def test_what_was_found_in_models_that_are_not_there_is_kept(
    tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here
):
    file, run = tmp_path / "tiny.yaml", {"dataset": "sentihood", "model_name_or_path": str(tiny_bert)}
    runs = {"a": {"model_type": "qacg_bert"}, "b": {"model_type": "bert"}, "c": {"model_type": "cg_bert"}}
    fields = {"title": "tiny", "split": "validation", "seeds": [42, 43], "arguments": run, "runs": runs}
    file.write_text(yaml.safe_dump(fields))
    grid = grids.read_grid(file)
    earlier = {"before": {"ratio": [0.125]}, "after": {"ratio": [0.25]}}
    results.write_analysis(tmp_path, "terms", grid, {"a": {"43": earlier}, "gone": {}})
    words = ("study/terms.py", file, "--data_dir", tiny_sentihood, "--results_dir", tmp_path)
    printed = run_here(*words, "--output_dir", tmp_path).splitlines()
    assert [line[:16] for line in printed if line[:2] == "a "] == ["a 42 {'before': "]  # and nothing of 43
    found = results.read_analysis(tmp_path, "terms", grid)
    assert list(found) == ["a"]  # the only one with quasi-attention
    assert list(found["a"]) == ["42", "43"]
    assert found["a"]["43"] == earlier
    assert list(found["a"]["42"]) == ["before"]  # of the first seed the model as training finds it
    assert 0 < found["a"]["42"]["before"]["gate"][0] < 0.01
