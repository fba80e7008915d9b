"""Strict accuracy against macro-F1, on answers of which it is known at which factor they turn right."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

import grids
import trade_off
from absa.metrics.sentihood import ASPECTS

RUN = {"dataset": "sentihood", "model_type": "bert"}


def rows(odds_of_present: dict[str, float]) -> pd.DataFrame:
    """Texts of one positive aspect each, and its odds; the others are surely absent."""
    made = []
    for id, present in enumerate(odds_of_present):
        for aspect in ASPECTS:
            positive = odds_of_present[present] / (1 + odds_of_present[present]) if aspect == present else 0.01
            label = "positive" if aspect == present else "none"
            probabilities = {"p_none": 1 - positive, "p_positive": positive, "p_negative": 0.0}
            made.append({"id": str(id), "target": "LOCATION1", "aspect": aspect, "label": label, **probabilities})
    return pd.DataFrame(made)


def test_what_turns_right_at_which_factor(tmp_path: Path):
    rows({"general": 3.0, "price": 0.8, "safety": 0.36}).to_parquet(tmp_path / "test_probabilities.parquet")
    strict = [scores["strict_accuracy"] for scores in trade_off.look(tmp_path).values()]
    assert strict == pytest.approx([1 / 3, 2 / 3, 1, 1])
    macro_f1 = [scores["macro_f1"] for scores in trade_off.look(tmp_path).values()]
    assert macro_f1 == pytest.approx([1 / 3, 2 / 3, 1, 1])  # a text of which nothing is found has precision 0


def test_what_is_stored_of_models_that_are_not_there_is_kept(tmp_path: Path, run_here):
    folder = tmp_path / "runs" / grids.run_name({**grids.BUDGET, **RUN}) / "seed-42"
    folder.mkdir(parents=True)
    rows({"general": 3.0, "price": 0.8, "safety": 0.36}).to_parquet(folder / "test_probabilities.parquet")
    (folder / "results.json").write_text("{}")
    fields = {"title": "tiny", "split": "test", "seeds": [42, 43], "runs": {"a": RUN}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(fields))
    file = tmp_path / "results" / "trade_off" / "tiny.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"a": {"43": {"kept": {}}}}))
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path / "results")
    (line,) = run_here("study/trade_off.py", tmp_path / "tiny.yaml", *places).splitlines()
    assert line == "a, seed 42: 1: 33.3, 33.3; 1/2: 66.7, 66.7; 1/4: 100.0, 100.0; 1/8: 100.0, 100.0"
    found = json.loads(file.read_text())["a"]
    assert found["43"] == {"kept": {}}
    assert found["42"]["1/4"] == {"strict_accuracy": 1, "macro_f1": 1}

    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**fields, "runs": {"b": {**RUN, "dataset": "semeval2014"}}}))
    with pytest.raises(ValueError, match="'b' is on semeval2014: give a grid on sentihood"):
        run_here("study/trade_off.py", tmp_path / "tiny.yaml", *places)
