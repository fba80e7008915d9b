"""Which aspects are taken for one another, on answers whose shares are known."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import save_file

import apart
import compare
import grids
from absa.metrics.sentihood import ASPECTS, LABELS

RUN = {"dataset": "sentihood", "model_type": "cg_bert", "auxiliary_sentence": False}


def test_shares_and_distances():
    groups = compare.Groups(
        ids=["1", "2", "3", "4", "5"],
        # Of the pair 0, 1: both are there in the first, neither in the last. The third column is not asked about.
        gold=np.array([[1, 2, 0], [1, 0, 2], [2, 0, 0], [0, 1, 0], [0, 0, 1]]),
        probabilities=np.eye(3)[[[1, 0, 0], [2, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]]],
    )
    # One of both is there in the second, third and fourth: found in two, and the other one in two.
    assert apart.taken_for_another(groups, 0, 1) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    # Aspects at 0, 1 and 5 of a line for one target, and at 0, 3 and 3 for the other.
    points = torch.tensor([[0.0, 0], [1, 0], [5, 0], [0, 0], [0, 3], [0, 3]])
    distances = apart.relative_distances(points, 3)  # means 2, 4 and 2 over the targets, 8/3 over the pairs
    assert distances == {(0, 1): pytest.approx(0.75), (0, 2): pytest.approx(1.5), (1, 2): pytest.approx(0.75)}


def write_run(folder: Path):
    """A checkpoint that finds general wherever gold has general or price, and nothing else."""
    folder.mkdir(parents=True)
    rows = []
    for id, present in enumerate(ASPECTS):
        for aspect in ASPECTS:
            answer = "positive" if aspect == "general" and present in ("general", "price") else "none"
            label = "negative" if aspect == present else "none"
            probabilities = {f"p_{name}": float(name == answer) for name in LABELS}
            rows.append({"id": str(id), "target": "LOCATION1", "aspect": aspect, "label": label, **probabilities})
    pd.DataFrame(rows).to_parquet(folder / "validation_probabilities.parquet")
    save_file({"bert.context_embeddings.weight": torch.eye(8)}, folder / "model.safetensors")
    (folder / "results.json").write_text("{}")


def test_what_is_stored_of_models_that_are_not_there_is_kept(tmp_path: Path, run_here):
    run = {**grids.BUDGET, **RUN}
    write_run(tmp_path / "runs" / grids.run_name(run) / "seed-42")
    fields = {"title": "tiny", "split": "validation", "seeds": [42, 43], "runs": {"a": RUN}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(fields))
    file = tmp_path / "results" / "apart" / "tiny.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"a": {"42": {}, "43": {"kept": {}}}}))
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    words = ("study/apart.py", tmp_path / "tiny.yaml", *places)
    (line,) = run_here(*words).splitlines()
    assert line == "a, seed 42: general, price: distance 1.00, right 0.50, other 0.50"
    found = json.loads(file.read_text())["a"]
    assert found["43"] == {"kept": {}}
    assert found["42"]["general, price"] == {"distance": pytest.approx(1), "right": 0.5, "other": 0.5}
    assert found["42"]["general, safety"] == {"distance": pytest.approx(1), "right": 0.5, "other": 0}

    for change in ({"model_type": "bert"}, {"auxiliary_sentence": True}, {"dataset": "semeval2014"}):
        (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**fields, "runs": {"a": {**RUN, **change}}}))
        with pytest.raises(
            ValueError, match="'a' is no context-guided model without auxiliary sentences on SentiHood"
        ):
            run_here(*words)
