"""The study as a user runs it, on a tiny BERT: trained, compared and put into tables."""

import json
import sys
from pathlib import Path

import pytest
import yaml

import grids
import report
import results
import run

LABELS = ("BERT-pair", "context in the input")


@pytest.fixture(scope="module")
def grid_file(tmp_path_factory, tiny_bert: Path) -> Path:
    """A grid of two runs that take seconds: one with an oracle, one a control."""
    arguments = {"dataset": "sentihood", "model_name_or_path": str(tiny_bert), "num_train_epochs": 1, "bf16": False}
    arguments |= {"per_device_train_batch_size": 8, "learning_rate": 5.0e-3}
    control = {"model_type": "qacg_bert", "control": "context_in_input"}
    control["config_overrides"] = "quasi_attention_scale=0.0,context_initializer_range=1.0"
    runs = {LABELS[0]: {"model_type": "bert", "oracle": True}, LABELS[1]: control}
    fields = {"title": "tiny", "split": "test", "seeds": [1], "arguments": arguments, "runs": runs}
    file = tmp_path_factory.mktemp("grid") / "tiny.yaml"
    file.write_text(yaml.safe_dump({**fields, "paired": {LABELS[1]: LABELS[0]}}))
    return file


@pytest.mark.slow
def test_train_compare_report(grid_file: Path, tiny_sentihood: Path, tmp_path: Path, run_here, monkeypatch):
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path)
    printed = run_here("study/run.py", grid_file, "--data_dirs", f"sentihood={tiny_sentihood}", "--jobs", "2", *places)
    assert "2 runs to train" in printed
    grid = grids.read_grid(grid_file)
    lines = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    by_name = {grids.run_name(line["arguments"]): line for line in lines}
    names = [grids.run_name(grid.runs[label]) for label in LABELS]
    for name in names:
        stored = json.loads((tmp_path / "runs" / name / "seed-1" / "results.json").read_text())["test"]
        scores = {score: value for score, value in stored.items() if not score.endswith(("_low", "_high"))}
        assert by_name[name]["test"] == scores
        (point,) = by_name[name]["curve"]["model"]
        assert point["epoch"] == 1.0
        assert point["validation"]["strict_accuracy"] == by_name[name]["validation"]["strict_accuracy"]
    pair, control = (by_name[name] for name in names)
    assert pair["oracle"]["strict_accuracy"] == pair["test"]["strict_accuracy"]  # of one evaluation it is the best
    assert control["oracle"] is None
    assert "0 runs to train" in run_here("study/run.py", grid_file, *places)

    printed = run_here("study/compare.py", grid_file, *places, "--resamples", "50")
    scores = results.read_analysis(tmp_path, "paired", grid)[LABELS[1]]["scores"]
    expected = control["test"]["macro_f1"] - pair["test"]["macro_f1"]
    assert scores["macro_f1"] == pytest.approx(expected, abs=1e-12)
    assert scores["macro_f1_low"] <= expected <= scores["macro_f1_high"]
    assert f"macro_f1 {100 * expected:+.1f}" in printed

    monkeypatch.setattr(report, "GRIDS", [grid_file])
    document = "\n".join(f"<!-- tiny{end} -->\nold\n<!-- /tiny{end} -->" for end in ("", "_paired", "_oracle"))
    filled = report.fill(document, tmp_path)
    assert "old" not in filled
    assert f"| {LABELS[0]} | 1 | {100 * pair['test']['strict_accuracy']:.1f} |" in filled
    assert f"| {LABELS[1]} minus {LABELS[0]} | 1 |" in filled
    assert f"| {LABELS[0]}, best on test | 1 | {100 * pair['oracle']['strict_accuracy']:.1f} |" in filled
    assert report.fill(filled, tmp_path) == filled


def test_a_run_that_fails_is_named_with_its_log_and_leaves_no_line(grid_file: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(run, "command", lambda *arguments: [sys.executable, "-c", "raise SystemExit('no weights')"])
    with pytest.raises(ChildProcessError, match=r"sentihood/bert.* seed 1 failed: see .*seed-1\.log"):
        run.main(run.StudyArguments([grid_file], output_dir=tmp_path / "runs", results_dir=tmp_path))
    logs = (tmp_path / "runs").glob("**/*.log")
    assert "no weights" in [log.read_text().strip() for log in logs]
    assert not (tmp_path / "results.jsonl").exists()


def test_a_row_that_is_in_no_grid(grid_file: Path):
    with pytest.raises(ValueError, match=r"runs=\['BERT-pear'\] is in none of these grids"):
        run.main(run.StudyArguments([grid_file], runs=["BERT-pear"]))
