"""One model of the seeds of a run."""

from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

import grids
import report
import results


def test_the_mean_of_seeds_with_one_start(
    make_checkpoint, tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here
):
    run = {"dataset": "sentihood", "model_name_or_path": str(tiny_bert), "model_type": "qacg_bert"}
    runs = {"apart": run, "one start": {**run, "init_seed": 0}}
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({"title": "tiny", "split": "test", "seeds": [1, 2], "runs": runs}))
    grid = grids.read_grid(file)
    test = dict.fromkeys(report.MAIN_SCORES["sentihood"], 0.5)
    for label in runs:
        for seed, sign in ((1, 1), (2, -1)):
            folder = tmp_path / grids.run_name(grid.runs[label]) / f"seed-{seed}"
            folder.parent.mkdir(parents=True, exist_ok=True)
            make_checkpoint(std=0.5).rename(folder)
            weights = load_file(folder / "model.safetensors")
            weights["classifier.bias"] = torch.tensor([0.0, 100.0, -100.0]) * sign  # whose mean says nothing
            save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
            (folder / "results.json").write_text("{}")
            results.add_result(tmp_path, {"arguments": grid.runs[label], "seed": seed, "test": test})
    words = ("study/soup.py", file, "--data_dir", tiny_sentihood, "--results_dir", tmp_path, "--output_dir", tmp_path)
    run_here(*words)
    found = results.read_analysis(tmp_path, "soup", grid)
    assert list(found) == ["one start"]
    looked = found["one start"][""]
    assert list(looked) == ["seed 1", "seed 2", "mean of weights"]
    assert looked["seed 1"] == pytest.approx(test)
    assert len(report.tables_of(grid, {}, tmp_path)["tiny_soup"].splitlines()) == 2 + 3
