"""What models say of aspects that they have not seen."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

import absa
import grids
import unseen
from absa.tasks import classification


@pytest.mark.parametrize("folder", [".", "sentihood"], ids=["one data set", "of a mixture"])
def test_figures_are_of_each_aspect(tmp_path: Path, folder: str):
    columns = ["id", "target", "aspect", "label", "p_none", "p_positive", "p_negative"]
    rows = [
        ("1", "", "price", "none", 0.9, 0.0, 0.1),
        ("2", "", "price", "negative", 0.8, 0.05, 0.15),  # there, and negative
        ("3", "", "price", "positive", 0.95, 0.0, 0.05),  # less likely there than where it is not
        ("1", "", "safety", "none", 0.5, 0.3, 0.2),
        ("2", "", "safety", "positive", 0.1, 0.6, 0.3),
        ("3", "", "safety", "none", 0.6, 0.2, 0.2),
    ]
    (tmp_path / folder).mkdir(exist_ok=True)
    pd.DataFrame(rows, columns=columns).to_parquet(tmp_path / folder / "test_probabilities.parquet")
    of_price = {"aspect_auc": 0.5, "sentiment_accuracy": 0.5, "taken_for": {"safety": 1.0}}
    of_safety = {"aspect_auc": 1.0, "sentiment_accuracy": 1.0, "taken_for": {"price": 0.5}}
    assert unseen.of_checkpoint(tmp_path, "sentihood") == {"price": of_price, "safety": of_safety}


def test_goals_are_of_the_seeds_that_both_have():
    def found(**auc_by_seed: float) -> dict:
        return {
            seed: {name: {"aspect_auc": auc, "sentiment_accuracy": 0.5} for name in ("price", "safety")}
            for seed, auc in auc_by_seed.items()
        }

    left_out = {"dataset": "sentihood", "unseen_aspects": "price"}
    entries = [
        {"dataset": "sentihood", "unseen_aspects": ["price"]},
        {"dataset": "mams", "unseen_aspects": ["food"], "name": "terms"},
    ]
    runs = {"closed": {}, "ours": left_out, "rival": left_out, "more": {"dataset": "sentihood", "mixture": entries}}
    grid = grids.Grid("g", "title", "test", [1, 2, 3], runs)
    analysis = {"ours": found(a=0.72, b=0.8, c=0.9), "rival": found(a=0.7, b=0.85), "closed": found(b=1.0)}
    analysis["more, by likeness"] = found(b=0.95)
    assert unseen.goals(grid, analysis) == {
        (): {
            "price": {
                "share": {"aspect_auc": [0.8], "sentiment_accuracy": [1.0]},
                "lead": {"aspect_auc": pytest.approx([0.02, -0.05]), "sentiment_accuracy": [0.0, 0.0]},
            }
        },
        ("terms",): {
            "price": {
                "share": {"aspect_auc": [0.95], "sentiment_accuracy": [1.0]},
                "lead": {"aspect_auc": pytest.approx([0.1]), "sentiment_accuracy": [0.0]},
            }
        },
    }


def test_each_aspect_is_left_out_of_a_model_and_its_rival():
    for name in ("unseen_sentihood", "unseen_mams"):
        grid = grids.read_grid(grids.STUDY / "grids" / f"{name}.yaml")
        for aspect in unseen.goals(grid, {})[()]:
            ours, rival, *_ = [run for run in grid.runs.values() if aspect in unseen.left_out(run)]
            assert (ours["model_type"], rival["model_type"]) == ("qacg_bert", "bert")
        closed, seen = (grid.runs[label] for label in (unseen.CLOSED, "seen"))
        assert {name for name in closed if closed[name] != seen[name]} == {"context_source"}


def test_what_needs_no_training(tiny_bert: Path):
    """A text that is the aspect's name is the most like it."""
    rows = {
        "text": ["price", "good price", "bad price", "far and near"],
        "aspect": ["price"] * 4,
        "label": ["positive", "positive", "negative", "none"],
    }
    found = unseen.by_similarity(rows, ["none", "positive", "negative"], str(tiny_bert))
    assert found["price"]["aspect_auc"] > 0.6
    assert unseen.by_commonest(rows) == {
        "price": {"aspect_auc": 0.5, "sentiment_accuracy": pytest.approx(2 / 3)},
    }


def test_likeness_decides_as_in_the_pipeline(recipe, tiny_sentihood, run_here, monkeypatch, tmp_path: Path):
    asked = {"model_type": "qacg_bert", "context_source": "text", "unseen_aspects": "price", "metric": "absa"}
    calibration = {"likeness_calibration": [6.0, -3.0]}
    monkeypatch.setattr(classification, "calibrate_likeness", lambda model, tokenizer, tasks: calibration)
    words = [f"--{name}={value}" for name, value in asked.items()]
    run_here("examples/run_absa.py", recipe, *words, "--learning_rate=1e-3", f"--output_dir={tmp_path}")
    folder = tmp_path / "seed-42"
    run = {**asked, "dataset": "sentihood", "model_name_or_path": "package:"}
    assert calibration.items() <= json.loads((folder / "config.json").read_text()).items()
    (found,) = unseen.by_likeness_of(folder, run).values()
    pipe = absa.load(str(folder)).pipe
    rows = pd.read_parquet(folder / "test_probabilities.parquet").query("aspect == 'price'")
    asked = rows[["text", "target", "aspect"]].to_dict("records")
    answers = pipe(asked)
    present = np.array([answer["present"] for answer in answers]).round(5)
    is_there = (rows["label"] != "none").to_numpy()
    assert found["aspect_auc"] == pytest.approx(roc_auc_score(is_there, present))
    speaks = [answer["label"] != "none" for answer in answers]
    assert found["precision"] == pytest.approx(precision_score(is_there, speaks, zero_division=0))
    assert found["recall"] == pytest.approx(recall_score(is_there, speaks))
    sentiments = [max(answer["sentiment"], key=answer["sentiment"].get) for answer in answers]
    right = [said == label for said, label in zip(sentiments, rows["label"], strict=True) if label != "none"]
    assert found["sentiment_accuracy"] == pytest.approx(np.mean(right))
    assert {answer["in_training"] for answer in answers} == {False}
