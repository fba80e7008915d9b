"""What absa/attention.py adds up in batches, against the same figures of all weights at once."""

from pathlib import Path

import numpy as np
import pytest
import torch

from absa import attention
from modeling_qacg_bert import QACGBertForSequenceClassification


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint(label_bias=[0.0, 9.0, 0.0])


@torch.no_grad()
def test_weights_in_batches_are_those_of_all(checkpoint: Path):
    model = QACGBertForSequenceClassification.from_pretrained(checkpoint).eval()
    input_ids = torch.randint(5, 40, (4, 9), generator=torch.Generator().manual_seed(0))
    attention_mask = torch.tensor([[1] * 9, [1] * 7 + [0] * 2, [1] * 4 + [0] * 5, [1] * 9])
    context_ids = torch.tensor([0, 3, 7, 1])
    found = attention.Weights(2, 4)
    seen = {name: [] for name in attention.RANGES}
    for rows in (slice(0, 3), slice(3, 4)):
        batch = {"attention_mask": attention_mask[rows], "context_ids": context_ids[rows]}
        found.add(model(input_ids[rows], **batch, output_attentions=True), attention_mask[rows])
    terms = []
    for row in range(4):
        length = int(attention_mask[row].sum())
        outputs = model(
            input_ids[row : row + 1, :length], context_ids=context_ids[row : row + 1], output_attentions=True
        )
        names = ("attentions", "quasi_gates", "self_attentions", "quasi_attentions")
        for name, of_outputs in zip(attention.RANGES, names, strict=True):
            seen[name].append(torch.stack(getattr(outputs, of_outputs))[:, 0].flatten(2))  # (layers, heads, n or n²)
        gates, quasi = (torch.stack(getattr(outputs, name))[:, 0] for name in ("quasi_gates", "quasi_attentions"))
        terms.append((gates * quasi).mean(dim=(0, 1, 2)))  # over layers, heads and the tokens that attend
    for name, quantities in seen.items():
        values = torch.cat([quantity.flatten() for quantity in quantities]).numpy()
        expected, _ = np.histogram(values, attention.BINS, attention.RANGES[name])
        assert found.counts[name].sum() == len(values)
        assert np.abs(np.cumsum(found.counts[name] - expected)).max() <= 3, name  # values on the edge of a bin
    of_all = torch.cat(seen["attention"], dim=-1)
    assert found.negative_share() == pytest.approx((of_all < 0).double().mean(-1).numpy(), abs=0.01)
    assert 0 < found.negative_share().max() < 1
    gates = torch.cat([gate.flatten() for gate in seen["gate"]])
    assert found.numbers()["share_of_negative_gates"] == pytest.approx((gates < 0).double().mean().item(), abs=0.01)

    outputs = model(input_ids, attention_mask=attention_mask, context_ids=context_ids, output_attentions=True)
    received = attention.quasi_term(outputs, attention_mask)
    for row, expected in enumerate(terms):
        torch.testing.assert_close(received[row, : len(expected)], expected, atol=1e-6, rtol=1e-4)


def test_means_of_words():
    means = attention.WordMeans()
    means.add("price", ["Dear", "dear", "rent", "!", "!"], [-0.5, -0.3, -0.2, -9.0, -9.0])
    means.add("price", ["rent", "once"], [0.4, -9.0])
    means.add("safety", ["dear"], [0.1])
    lowest = means.lowest(["price", "safety"], top=2, at_least=2)
    assert lowest["safety"] == []
    assert [(entry["word"], entry["count"]) for entry in lowest["price"]] == [("dear", 2), ("rent", 2)]
    assert [entry["mean"] for entry in lowest["price"]] == pytest.approx([-0.4, 0.1])
