"""The tables of docs/accuracy.md and of the README."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def report(study):
    return study("report")


@pytest.mark.parametrize("name", ["docs/accuracy.md", "README.md"])
def test_documents_have_the_figures_of_the_results_files(report, repo_root: Path, name: str):
    document = (repo_root / name).read_text(encoding="utf-8")
    assert report.TABLE.search(document)
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


def test_sizes_of_terms(report, study, tmp_path: Path):
    grids = study("grids")
    grid = grids.Grid("g", "title", "validation", [1], {}, {}, {})
    assert report.terms_of(grid, tmp_path) == {}
    sizes = {"gate": [0.1, 0.3], "ratio": [0.5, 1.5], "ratio_by_length": {"n <= 20": 0.25}}
    found = {
        "a": {"before": {**sizes, "gradient": {"query_gate": 0.0123}}, "after": sizes},
        "b": {"before": {**sizes, "gradient": {"query_gate": 1e-8}}},
    }
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "g.json").write_text(json.dumps(found))
    before = report.before_table(grid, tmp_path).splitlines()
    assert before[0] == "| before training | gate | quasi / softmax | n <= 20 | ∇ query gate |"
    assert before[2:] == ["| a | 0.200 | 1.000 | 0.250 | 1e-02 |", "| b | 0.200 | 1.000 | 0.250 | 1e-08 |"]
    after = report.after_table(grid, tmp_path).splitlines()
    assert after[0] == "| after training: gate, quasi / softmax | guided layer 1 | guided layer 2 | n <= 20 |"
    assert after[2:] == ["| a | 0.100, 0.50 | 0.300, 1.50 | 0.25 |"]
