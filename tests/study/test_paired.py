"""The pairs of a grid; what a difference and its interval are, tests/absa/comparison/test_scores.py says."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

import paired
from grids import STUDY, Grid, read_grid
from results import add_result, read_analysis, read_results, write_analysis
from score_tables import MAIN_SCORES, paired_table

GRID = Grid("grid", "Title", "test", [1], {"a": {"dataset": "own", "metric": "absa"}})


def write_run(folder: Path, labels: list[str]) -> Path:
    folder.mkdir()
    rows = {"id": ["1", "2"], "target": ["", ""], "aspect": ["food", "food"], "label": labels}
    probabilities = {"p_positive": [0.9, 0.8], "p_negative": [0.1, 0.2]}
    pd.DataFrame({**rows, **probabilities}).to_parquet(folder / "test_probabilities.parquet")
    return folder


def test_runs_of_a_grid_are_compared_by_its_metric(tmp_path: Path):
    runs = [write_run(tmp_path / name, ["positive", "negative"]) for name in "ab"]
    found = paired.difference(GRID, [[runs[0]], [runs[1]]], 5)
    assert found["strict_accuracy"] == found["strict_accuracy_low"] == 0


def test_runs_on_different_data(tmp_path: Path):
    runs = [write_run(tmp_path / "a", ["positive"] * 2), write_run(tmp_path / "b", ["positive", "negative"])]
    with pytest.raises(ValueError, match=r"b and .*a have other gold labels: of \('2', .*negative and positive"):
        paired.difference(GRID, [[runs[0]], [runs[1]]], 5)


def test_a_grid_that_is_judged_by_validation_is_not_compared_on_the_test_split():
    grid = STUDY / "grids" / "levers_sentihood.yaml"
    with pytest.raises(ValueError, match="is judged by its validation split"):
        paired.main(paired.PairedArguments(grid))


def test_a_run_is_compared_with_several_others_and_what_is_not_trained_is_passed_over(tmp_path: Path, capsys):
    run = {"task": "generation", "model_type": "pointer_absa", "dataset": "aste_v2"}
    runs = {name: {**run, "config_overrides": f"alpha={n}"} for n, name in enumerate(("a", "b", "c", "new"))}
    pairs = {"c": ["new", "a", "b"], "b": "a"}
    fields = {"title": "tiny", "split": "test", "seeds": [1, 2, 3], "paired": pairs, "runs": runs}
    arguments = paired.PairedArguments(tmp_path / "tiny.yaml", tmp_path / "gone", tmp_path)
    arguments.grid.write_text(yaml.safe_dump(fields, sort_keys=False))
    grid = read_grid(arguments.grid)
    for number, name in enumerate("abc"):
        for seed in (1, 2):
            scores = dict.fromkeys(MAIN_SCORES["aste"], (number + seed) / 100)
            add_result(tmp_path, {"arguments": grid.runs[name], "seed": seed, "test": scores})
    kept = {
        "seeds": [1, 2],
        "resamples": 9,
        "scores": {f"{name}{end}": 0.0 for name in MAIN_SCORES["aste"] for end in ("", "_low", "_high")},
    }
    before = {"b": {"a": kept}, "c": {"a": {**kept, "seeds": [1]}}}
    write_analysis(tmp_path, "paired", grid, before)
    paired.main(arguments)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "c minus new: no seed is trained of both, train them with run.py"
    assert printed[1].startswith("c minus a: no new interval over sentences, the answers in ")
    found = read_analysis(tmp_path, "paired", grid)
    without = {"seeds": [1, 2], "scores": None}
    assert found == {"c": {"a": without, "b": without}, "b": {"a": kept}}
    rows = paired_table(grid, read_results(tmp_path), found).splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| c minus a", "2", "+2.0 ± 0.7"],
        ["| c minus b", "2", "+1.0 ± 0.7"],
        ["| b minus a", "2", "+1.0 [+0.0, +0.0] ± 0.7"],
    ]
