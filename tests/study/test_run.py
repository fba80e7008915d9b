"""The study as a user runs it, on a tiny BERT: trained, compared and put into tables."""

import json
from pathlib import Path

import pytest
import yaml

import grids
import report

LABELS = ("BERT-pair", "context in the input")


@pytest.fixture(scope="module")
def grid_file(tmp_path_factory, tiny_bert: Path) -> Path:
    """A grid of two runs that take seconds: one with an oracle, one a control."""
    fields = {
        "title": "tiny",
        "split": "test",
        "seeds": [1],
        "arguments": {
            "dataset": "sentihood",
            "model_name_or_path": str(tiny_bert),
            "num_train_epochs": 1,
            "per_device_train_batch_size": 8,
            "learning_rate": 5.0e-3,
            "bf16": False,
        },
        "runs": {
            LABELS[0]: {"model_type": "bert", "oracle": True},
            LABELS[1]: {
                "model_type": "qacg_bert",
                "control": "context_in_input",
                "config_overrides": "quasi_attention_scale=0.0,context_initializer_range=1.0",
            },
        },
        "paired": {LABELS[1]: LABELS[0]},
    }
    file = tmp_path_factory.mktemp("grid") / "tiny.yaml"
    file.write_text(yaml.safe_dump(fields))
    return file


@pytest.mark.slow
def test_train_compare_report(grid_file: Path, tiny_sentihood: Path, tmp_path: Path, run_here, monkeypatch):
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    printed = run_here("study/run.py", grid_file, "--sentihood_dir", tiny_sentihood, "--jobs", "2", *places)
    assert "2 runs to train" in printed
    grid = grids.read_grid(grid_file)
    results = {label: report.results_of(grid, label, tmp_path / "results") for label in LABELS}
    for label, (result,) in results.items():
        folder = tmp_path / "runs" / grids.run_name(grid.runs[label]) / "seed-1"
        stored = json.loads((folder / "results.json").read_text())["test"]
        assert result["test"] == {name: stored[name] for name in stored if not name.endswith(("_low", "_high"))}
        assert result["seed"] == 1
        commit = result["versions"]["commit"]  # None where the tests run on something else than a clone
        assert commit is None or len(commit) == 40
        assert [point["epoch"] for point in result["curve"]["model"]] == [1.0]
        assert result["curve"]["model"][0]["validation"]["strict_accuracy"] == result["validation"]["strict_accuracy"]
    pair, control = (results[label][0] for label in LABELS)
    assert pair["oracle"]["strict_accuracy"] == pair["test"]["strict_accuracy"]  # of one evaluation it is the best
    assert control["oracle"] is None
    assert control["arguments"]["control"] == "context_in_input"

    assert "0 runs to train" in run_here("study/run.py", grid_file, *places)

    printed = run_here("study/compare.py", grid_file, *places, "--resamples", "50")
    compared = json.loads((tmp_path / "results" / "paired" / "tiny.json").read_text())[LABELS[1]]
    expected = control["test"]["macro_f1"] - pair["test"]["macro_f1"]
    assert compared["scores"]["macro_f1"] == pytest.approx(expected, abs=1e-12)
    assert compared["scores"]["macro_f1_low"] <= expected <= compared["scores"]["macro_f1_high"]
    assert f"macro_f1 {100 * expected:+.1f}" in printed

    monkeypatch.setattr(report, "GRIDS", [grid_file])
    document = "\n".join(f"<!-- tiny{end} -->\nold\n<!-- /tiny{end} -->" for end in ("", "_paired", "_oracle"))
    filled = report.fill(document, tmp_path / "results")
    assert "old" not in filled
    assert f"| {LABELS[0]} | 1 | {100 * pair['test']['strict_accuracy']:.1f} |" in filled
    assert f"| {LABELS[1]} minus {LABELS[0]} | 1 |" in filled
    assert f"| {LABELS[0]}, best on test | 1 | {100 * pair['oracle']['strict_accuracy']:.1f} |" in filled
    assert report.fill(filled, tmp_path / "results") == filled


@pytest.mark.slow
def test_a_run_that_fails_is_named_with_its_log(grid_file: Path, tmp_path: Path, run_here, capsys):
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    with pytest.raises(SystemExit) as stopped:
        run_here("study/run.py", grid_file, "--sentihood_dir", tmp_path / "nothing", *places)
    assert stopped.value.code == 1
    (log,) = (tmp_path / "runs").glob("**/*.log")  # the second run is not tried
    assert f"failed: see {log}" in capsys.readouterr().out
    assert "nothing" in log.read_text()
    assert not (tmp_path / "results").exists()


def test_a_row_that_is_in_no_grid(grid_file: Path, run_here):
    with pytest.raises(ValueError, match="runs='BERT-pear' is in none of these grids"):
        run_here("study/run.py", grid_file, "--runs", "BERT-pear", "--dry_run")


def test_no_jobs(grid_file: Path, run_here):
    with pytest.raises(ValueError, match="jobs=0: at least 1"):
        run_here("study/run.py", grid_file, "--jobs", "0")
