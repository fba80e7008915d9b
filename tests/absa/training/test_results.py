"""absa/training/results.py: what a run leaves behind."""

import json
import math

import pytest

from absa.training import results


def test_mean_and_sample_standard_deviation():
    summary = results.summarise({1: {"f1": 0.5}, 2: {"f1": 0.7}, 3: {"f1": 0.9}})
    # deviations -0.2, 0, 0.2: sqrt((0.04 + 0 + 0.04) / 2) = 0.2
    assert summary["f1"]["mean"] == pytest.approx(0.7)
    assert summary["f1"]["std"] == pytest.approx(0.2)
    assert results.summarise({1: {"f1": 0.5, "f1_low": 0.4, "f1_high": 0.6}}) == {"f1": {"mean": 0.5, "std": None}}


def test_undefined_scores_stay_undefined(tmp_path):
    summary = results.summarise({1: {"auc": math.nan}, 2: {"auc": 0.5}})
    assert math.isnan(summary["auc"]["mean"])
    results.write_json(tmp_path / "new" / "scores.json", {"summary": summary, "list": [math.inf, 1]})
    written = json.loads((tmp_path / "new" / "scores.json").read_text())
    assert written == {"summary": {"auc": {"mean": None, "std": None}}, "list": [None, 1]}  # null, which is JSON
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["scores.json"]


def test_percent():
    # 70 and 72: mean 71, deviation 2 / sqrt(2).
    assert results.percent([0.70, 0.72]) == "71.0 (1.4)"
    assert results.percent([0.7]) == "70.0"
    assert results.percent([0.7, None]) == results.percent([math.nan]) == "undefined"


def test_table():
    summary = {"strict_accuracy": {"mean": 0.7425, "std": 0.0031}, "f1": {"mean": 1.0, "std": None}}
    assert results.table(summary, ["strict_accuracy", "f1"], "test", 3) == (
        "test, %          mean (std) over 3 seeds\nstrict_accuracy  74.2 (0.3)\nf1               100.0"
    )
