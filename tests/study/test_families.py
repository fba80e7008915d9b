"""All families beside one another, and models that no grid trains."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import families
from absa.tasks.rows import write_probabilities
from family_tables import families_table, others_table
from grids import read_grid
from results import add_result, read_analysis, read_results
from score_tables import MAIN_SCORES

SIZE = {"parameters": 1234, "megabytes": 5.0}


def write_run(folder: Path, right: list[int]) -> Path:
    """A run whose seeds 1, 2, ... have so many of eight sentences right."""
    for seed, count in enumerate(right, start=1):
        one = folder / f"seed-{seed}"
        one.mkdir(parents=True)
        rows = {"id": list("12345678"), "text": list("abcdefgh"), "target": ["soup"] * 8, "aspect": [""] * 8}
        rows["label"] = ["positive", "negative"] * 4
        answers = [np.eye(3)[int((label == "negative") ^ (n >= count))] for n, label in enumerate(rows["label"])]
        write_probabilities(
            one / "test_probabilities.parquet", rows, np.array(answers), ["positive", "negative", "neutral"]
        )
        (one / "results.json").write_text(json.dumps({"size": SIZE}))
    (folder / "arguments.json").write_text(json.dumps({"dataset": "aspect_polarity"}))
    return folder


def test_models_of_others_stand_beside_those_of_the_grid(tmp_path: Path):
    runs = {name: {"dataset": "aspect_polarity", "model_type": name} for name in ("bert", "cg_bert")}
    fields = {"title": "Title", "split": "test", "seeds": [1, 2], "runs": runs}
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(fields))
    folders = {
        "bert": write_run(tmp_path / "rival", [8, 6]),
        "cg_bert": write_run(tmp_path / "guided", [1]),
        "SetFit": write_run(tmp_path / "setfit", [4, 2, 8]),
    }
    arguments = families.FamiliesArguments(
        tmp_path / "grid.yaml", list(folders.values()), list(folders), texts=3, resamples=5, results_dir=tmp_path
    )
    families.main(arguments)
    grid = read_grid(arguments.grid)
    found = read_analysis(tmp_path, "families", grid)
    assert found["bert"]["scores"].keys() == {"1", "2"}
    assert "scores" not in found["cg_bert"]  # which run.py has
    assert found["SetFit"]["differences"]["accuracy"] == pytest.approx(-0.5)

    rival, setfit, difference = others_table(grid, found).splitlines()[2:]
    assert rival.startswith("| bert | 2 | 87.5 (17.7) | ")
    assert setfit.startswith("| SetFit | 3 | 58.3 (38.2) | ")
    # Over the seeds that both have: (50 + 25 - 100 - 75) / 2.
    assert difference.startswith("| SetFit minus bert | 2 | -50.0 [")

    scores = dict.fromkeys(MAIN_SCORES["aspect_polarity"], 0.5)
    add_result(tmp_path, {"arguments": grid.runs["cg_bert"], "seed": 1, "test": scores})
    table = families_table({"a": grid, "b": grid}, read_results(tmp_path), {"a": {}, "b": found}).splitlines()
    assert table[0].startswith("| % | seeds | a: accuracy | ")
    assert table[0].endswith(" | parameters | texts/s | MB |")
    assert table[2] == "| bert" + " | " * 8 + "1,234 |  | 5 |"
    assert table[3] == "| cg_bert | 1" + " | 50.0" * 6 + " | 1,234 |  | 5 |"
    assert table[4].startswith("| SetFit | 3" + " | " * 4)
