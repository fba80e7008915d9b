"""Which aspects are taken for one another, on answers whose shares are known."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

import apart
from absa.metrics.aspect_groups import Groups
from absa.metrics.sentihood import ASPECTS, LABELS


def test_shares_and_distances():
    groups = Groups(
        ids=["1", "2", "3", "4", "5"],
        # Of the pair 0, 1: both are there in the first, neither in the last. The third column is not asked about,
        gold=np.array([[1, 2, 0], [1, 0, 2], [2, 0, 0], [0, 1, 0], [0, 0, 1]]),
        probabilities=np.eye(3)[[[1, 0, 0], [2, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]]],
        in_mixed=np.zeros((5, 3), dtype=bool),  # nor this
    )
    # One of both is there in the second, third and fourth: found in two, and the other one in two.
    assert apart.taken_for_another(groups, 0, 1) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    # Aspects at 0, 1 and 5 of a line for one target, and at 0, 3 and 3 for the other.
    points = torch.tensor([[0.0, 0], [1, 0], [5, 0], [0, 0], [0, 3], [0, 3]])
    distances = apart.relative_distances(points, 3)  # means 2, 4 and 2 over the targets, 8/3 over the pairs
    assert distances == {(0, 1): pytest.approx(0.75), (0, 2): pytest.approx(1.5), (1, 2): pytest.approx(0.75)}


def test_a_checkpoint_that_finds_general_for_price(tmp_path: Path):
    rows = []
    for id, present in enumerate(ASPECTS):
        for aspect in ASPECTS:
            answer = "positive" if aspect == "general" and present in ("general", "price") else "none"
            label = "negative" if aspect == present else "none"
            probabilities = {f"p_{name}": float(name == answer) for name in LABELS}
            rows.append({"id": str(id), "target": "LOCATION1", "aspect": aspect, "label": label, **probabilities})
    pd.DataFrame(rows).to_parquet(tmp_path / "validation_probabilities.parquet")
    save_file({"bert.context_embeddings.weight": torch.eye(8)}, tmp_path / "model.safetensors")
    looked = apart.look(tmp_path)
    assert looked["general, price"] == {"distance": pytest.approx(1), "right": 0.5, "other": 0.5}
    assert looked["general, safety"] == {"distance": pytest.approx(1), "right": 0.5, "other": 0}
