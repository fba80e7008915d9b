"""One model of the seeds of a run."""

import json
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
    for label in runs:
        for seed, sign in ((1, 1), (2, -1)):
            folder = tmp_path / grids.run_name(grid.runs[label]) / f"seed-{seed}"
            folder.parent.mkdir(parents=True, exist_ok=True)
            make_checkpoint(std=0.5).rename(folder)
            weights = load_file(folder / "model.safetensors")
            weights["classifier.bias"] = torch.tensor([0.0, 100.0, -100.0]) * sign  # whose mean says nothing
            save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
            (folder / "results.json").write_text("{}")
    words = ("study/soup.py", file, "--data_dir", tiny_sentihood, "--results_dir", tmp_path, "--output_dir", tmp_path)
    run_here(*words)
    found = results.read_analysis(tmp_path, "soup", grid)
    assert list(found) == ["one start"]
    scores = found["one start"]["1+2"]["mean of weights"]
    seeds = [tmp_path / grids.run_name(grid.runs["one start"]) / f"seed-{seed}" for seed in (1, 2)]
    of_recipe = ("--num_train_epochs", "1", "--model_name_or_path", tiny_bert, "--data_dir", tiny_sentihood)
    run_here("examples/run_absa.py", "--mean_of", *seeds, "--output_dir", tmp_path / "soup", *of_recipe)
    told = json.loads((tmp_path / "soup" / "seed-42" / "results.json").read_text())["test"]
    assert scores == pytest.approx({name: told[name] for name in scores}, nan_ok=True)
    _, _, row = report.tables_of(grid, {}, results.analyses_in(tmp_path))["tiny_soup"].splitlines()
    assert row.startswith("| one start, mean of weights | 2 |")
