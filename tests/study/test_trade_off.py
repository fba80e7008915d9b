"""Strict accuracy against macro-F1, on answers of which it is known at which factor they turn right."""

from pathlib import Path

import pandas as pd
import pytest

import trade_off
from absa.metrics.sentihood import ASPECTS


@pytest.mark.parametrize("folder", [".", "sentihood"], ids=["one data set", "of a mixture"])
def test_what_turns_right_at_which_factor(tmp_path: Path, folder: str):
    rows = []  # texts of one positive aspect each, with these odds; the others are surely absent
    for id, (present, odds) in enumerate({"general": 3.0, "price": 0.8, "safety": 0.36}.items()):
        for aspect in ASPECTS:
            positive = odds / (1 + odds) if aspect == present else 0.01
            label = "positive" if aspect == present else "none"
            probabilities = {"p_none": 1 - positive, "p_positive": positive, "p_negative": 0.0}
            rows.append({"id": str(id), "target": "LOCATION1", "aspect": aspect, "label": label, **probabilities})
    (tmp_path / folder).mkdir(exist_ok=True)
    pd.DataFrame(rows).to_parquet(tmp_path / folder / "test_probabilities.parquet")
    looked = trade_off.look(tmp_path)
    for score in trade_off.SCORES:  # a text of which nothing is found has precision 0
        assert [scores[score] for scores in looked.values()] == pytest.approx([1 / 3, 2 / 3, 1, 1])
