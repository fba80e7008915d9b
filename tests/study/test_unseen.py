"""What models say of aspects that they have not seen."""

from pathlib import Path

import pandas as pd
import pytest

import grids
import unseen


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

    left_out = {"unseen_aspects": "price"}
    entries = [{"dataset": "mams", "unseen_aspects": ["food"]}, {"dataset": "sentihood", "unseen_aspects": ["price"]}]
    runs = {"closed": {}, "ours": left_out, "rival": {"dataset": "sentihood", "mixture": entries}}
    grid = grids.Grid("g", "title", "test", [1, 2, 3], runs)
    analysis = {"ours": found(a=0.72, b=0.8, c=0.9), "rival": found(a=0.7, b=0.85), "closed": found(b=1.0)}
    assert unseen.goals(grid, analysis) == {
        "price": {
            "share": {"aspect_auc": [0.8], "sentiment_accuracy": [1.0]},
            "lead": {"aspect_auc": pytest.approx([0.02, -0.05]), "sentiment_accuracy": [0.0, 0.0]},
        }
    }


def test_grids_leave_out_each_aspect_twice():
    for name in ("unseen_sentihood", "unseen_mams"):
        grid = grids.read_grid(grids.STUDY / "grids" / f"{name}.yaml")
        assert {len(found) for found in unseen.goals(grid, {}).values()} == {2}
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
