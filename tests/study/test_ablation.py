"""The ablation of a grid's checkpoints."""

import shutil
from pathlib import Path

import yaml

import grids
import report
import results
from absa.ablation import GATES


def test_of_each_checkpoint_the_gates_in_turn(
    make_checkpoint, tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here
):
    run = {"dataset": "sentihood", "model_name_or_path": str(tiny_bert), "model_type": "qacg_bert"}
    file = tmp_path / "tiny.yaml"
    fields = {"title": "tiny", "split": "test", "seeds": [42], "runs": {"a": run, "b": {**run, "learning_rate": 1}}}
    file.write_text(yaml.safe_dump(fields))
    grid = grids.read_grid(file)
    folder = tmp_path / grids.run_name(grid.runs["a"]) / "seed-42"
    shutil.copytree(make_checkpoint(std=0.5), folder)
    (folder / "results.json").write_text("{}")
    words = ("study/ablation.py", file, "--data_dir", tiny_sentihood, "--results_dir", tmp_path)
    run_here(*words, "--output_dir", tmp_path)
    found = results.read_analysis(tmp_path, "ablation", grid)
    assert list(found) == ["a"]  # the other has not been trained
    looked = found["a"]["42"]
    assert looked.keys() == GATES.keys()
    assert looked["as trained"]["other_answers"] == 0 < looked["λ_A = 0"]["other_answers"] < 1
    assert len(report.ablation_table(grid, found).splitlines()) == 3
