"""What models say of aspects that they have not seen."""

from pathlib import Path

import pandas as pd
import pytest

import unseen


def test_figures_are_of_each_aspect(tmp_path: Path):
    columns = ["aspect", "label", "p_none", "p_positive", "p_negative"]
    rows = [
        ("price", "none", 0.9, 0.0, 0.1),
        ("price", "negative", 0.8, 0.05, 0.15),  # there, and negative
        ("price", "positive", 0.95, 0.0, 0.05),  # less likely there than where it is not
        ("safety", "none", 0.5, 0.3, 0.2),
        ("safety", "positive", 0.1, 0.6, 0.3),
    ]
    pd.DataFrame(rows, columns=columns).to_parquet(tmp_path / "test_probabilities.parquet")
    assert unseen.of_checkpoint(tmp_path) == {
        "price": {"aspect_auc": 0.5, "sentiment_accuracy": 0.5},
        "safety": {"aspect_auc": 1.0, "sentiment_accuracy": 1.0},
    }


def test_what_needs_no_training(tiny_bert: Path):
    """A text that is the aspect's name is the most like it."""
    rows = {
        "text": ["price", "good price", "bad price", "far and near"],
        "aspect": ["price"] * 4,
        "label": ["positive", "positive", "negative", "none"],
    }
    found = unseen.similarities(rows, ["none", "positive", "negative"], str(tiny_bert))
    assert found["price"]["aspect_auc"] > 0.6
    vectors = unseen.embedded(str(tiny_bert), [*rows["text"], "price"])
    assert vectors["price"] @ vectors["price"] == pytest.approx(1, abs=1e-5)
    assert len(vectors) == 4
