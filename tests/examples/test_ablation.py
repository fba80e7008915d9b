"""examples/paper/ablation.py: changed gates are what the configuration would have them be."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

import ablation
from absa import models as backbones
from absa.tasks.classification import describe
from modeling_qacg_bert import Contexts, QACGBertForSequenceClassification

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


def test_table(checkpoint: Path, tiny_sentihood: Path, run_here):
    lines = run_here("examples/paper/ablation.py", checkpoint, checkpoint, "--data_dir", tiny_sentihood).splitlines()
    assert lines[0].startswith("| SentiHood, test split, % | strict_accuracy | macro_f1 |")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert [row[0] for row in rows] == list(ablation.GATES)
    assert rows[0][-1] == "0.0 (0.0)"
    assert all(cell.endswith("(0.0)") for row in rows for cell in row[1:])  # one checkpoint twice
    assert np.ptp([float(row[-1].split()[0]) for row in rows]) > 0


def test_another_model(tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here):
    config = backbones.build_config(
        "cg_bert", str(tiny_bert), describe(Contexts((), ("price",)), ["none", "positive"])
    )
    backbones.load_model(str(tiny_bert), config, "sdpa").save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path)
    for script in ("ablation", "figures"):
        with pytest.raises(ValueError, match="is a cg_bert, which has no quasi-attention"):
            run_here(f"examples/paper/{script}.py", tmp_path, "--data_dir", tiny_sentihood)
