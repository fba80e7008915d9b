"""The tables of docs/accuracy.md."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def report(study):
    return study("report")


def test_the_document_has_the_figures_of_the_results_files(report, repo_root: Path):
    document = (repo_root / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert report.fill(document, repo_root / "examples" / "study" / "results") == document


def test_means_deviations_and_what_was_not_run(report, study, tmp_path: Path):
    grids = study("grids")
    run = {**grids.BUDGET, "dataset": "sentihood", "model_type": "bert"}
    other = {**run, "model_type": "cg_bert"}
    grid = grids.Grid(
        "g", "title", "validation", [1, 2, 3], {"B": run, "C": other}, {"R": ["1", "2", "3", "4", "5"]}, {}
    )
    for seed, score in ((1, 0.70), (2, 0.72)):
        file = tmp_path / grids.run_name(run) / f"seed-{seed}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        scores = dict.fromkeys(report.MAIN_SCORES["sentihood"], score) | {"sentiment_auc": None}
        file.write_text(json.dumps({"seed": seed, "validation": scores, "test": {}, "oracle": None}))
    lines = report.scores_table(grid, tmp_path).splitlines()
    assert lines[2] == "| R |  | 1 | 2 | 3 | 4 | 5 |"
    # The mean of 70 and 72 and their sample deviation, 2 / sqrt(2).
    assert lines[3] == "| B | 2 | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | undefined |"
    assert lines[-1] == "Not run: B (seed 3); C (seeds 1, 2, 3)."


def test_a_place_for_no_table(report, tmp_path: Path):
    with pytest.raises(ValueError, match="there is no table comparision"):
        report.fill("<!-- comparision -->\n<!-- /comparision -->", tmp_path)
