"""examples/paper/ablation.py: a line for each change of the gates."""

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from absa import models as backbones
from absa.ablation import GATES
from absa.tasks.classification import describe
from modeling_qacg_bert import Contexts


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    """With gates that matter, of both signs."""
    return make_checkpoint(std=0.5)


def test_table(checkpoint: Path, tiny_sentihood: Path, run_here):
    lines = run_here("examples/paper/ablation.py", checkpoint, checkpoint, "--data_dir", tiny_sentihood).splitlines()
    assert lines[0].startswith("| SentiHood, test split, % | strict_accuracy | macro_f1 |")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert [row[0] for row in rows] == list(GATES)
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
