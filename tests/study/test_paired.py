"""The pairs of a grid; what a difference and its interval are, tests/absa/comparison/test_scores.py says."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import paired
from grids import STUDY, Grid, read_grid
from report import paired_table
from results import read_analysis, read_results

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


def test_what_is_not_there(tmp_path: Path):
    arguments = paired.PairedArguments(STUDY / "grids" / "comparison_sentihood.yaml", tmp_path, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"qacg_bert and .*bert have no seed in common: train them with run"):
        paired.main(arguments)


def test_without_the_answers_there_is_no_interval(tmp_path: Path, capsys):
    grid = read_grid(STUDY / "grids" / "comparison_sentihood.yaml")
    shutil.copy(STUDY / "results.jsonl", tmp_path)
    arguments = paired.PairedArguments(STUDY / "grids" / "comparison_sentihood.yaml", tmp_path, tmp_path)
    paired.main(arguments)
    found = read_analysis(tmp_path, "paired", grid)
    assert found.keys() == grid.paired.keys()
    assert all(one["scores"] is None and len(one["seeds"]) > 1 for one in found.values())
    assert "no interval over sentences, since the answers in" in capsys.readouterr().out
    table = paired_table(grid, read_results(tmp_path), found)
    assert "±" in table
    assert "[" not in table
