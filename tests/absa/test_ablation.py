"""Changed gates are what the configuration would have them be."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig

from absa import ablation
from modeling_qacg_bert import QACGBertForSequenceClassification, QACGConfig, QACGForSequenceClassification

BATCH = {"input_ids": torch.arange(20, 40).view(2, 10), "context_ids": torch.tensor([0, 5])}


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    """With gates that matter, of both signs."""
    return make_checkpoint(std=0.5)


@torch.no_grad()
def test_gates(checkpoint: Path):
    model = QACGBertForSequenceClassification.from_pretrained(checkpoint, attn_implementation="eager")
    found = {}
    for name, change in ablation.GATES.items():
        with ablation.gates(change):
            found[name] = model(**BATCH, output_attentions=True)
    gate = found["as trained"].quasi_gates[0]
    assert gate.min() < 0 < gate.max()
    assert torch.equal(found["λ_A ≥ 0"].quasi_gates[0], gate.clamp(min=0))
    assert torch.equal(found["λ_A ≤ 0"].quasi_gates[0], gate.clamp(max=0))
    plain = QACGBertForSequenceClassification.from_pretrained(checkpoint, quasi_attention_scale=0.0)
    torch.testing.assert_close(found["λ_A = 0"].logits, plain(**BATCH).logits, atol=1e-5, rtol=0)
    again = model(**BATCH, output_attentions=True)
    assert torch.equal(found["as trained"].logits, again.logits)  # the gates are the model's own again
    assert len({tuple(outputs.logits.flatten().tolist()) for outputs in found.values()}) == 4


@torch.no_grad()
def test_gates_around_any_encoder():
    encoder = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
    torch.manual_seed(0)
    config = QACGConfig(encoder_config=encoder, context_initializer_range=0.5, initializer_range=0.5)
    model = QACGForSequenceClassification(config).eval()
    with ablation.gates(ablation.GATES["λ_A = 0"]):
        found = model(**BATCH).logits
    assert (found - model(**BATCH).logits).abs().max() > 1e-3
    model.config.quasi_attention_scale = 0.0
    torch.testing.assert_close(found, model(**BATCH).logits)
