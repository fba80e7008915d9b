"""Strict accuracy against macro-F1, on answers of which it is known at which factor they turn right."""

import json
from pathlib import Path

import pandas as pd
import pytest

import absa
import trade_off
from absa.contrast import CONTEXTS
from absa.metrics.sentihood import ASPECTS
from contrast import SENTENCES


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
    looked = trade_off.look(tmp_path, "test")
    for score in trade_off.SCORES:  # a text of which nothing is found has precision 0
        assert [scores[score] for scores in looked.values()] == pytest.approx([1 / 3, 2 / 3, 1, 1])


def test_the_contrast_set_at_each_factor(make_checkpoint):
    checkpoint = make_checkpoint(0.5, [1.0, 0.2, 0.0])
    found = trade_off.contrast_at(checkpoint)
    pipe = absa.load(str(checkpoint)).pipe
    right = dict.fromkeys(trade_off.FACTORS, 0)
    opinions = 0
    for sentence in json.loads(SENTENCES.read_text()):
        gold = {(one["target_entity"], one["aspect"]): one["sentiment"].lower() for one in sentence["opinions"]}
        opinions += len(gold)
        for target, aspect in CONTEXTS.in_text(sentence["text"]):
            probabilities = pipe({"text": sentence["text"], "target": target, "aspect": aspect})["probabilities"]
            for name, factor in trade_off.FACTORS.items():
                told = {label: value * (factor if label == "none" else 1) for label, value in probabilities.items()}
                right[name] += max(told, key=told.get) == gold.get((target, aspect))
    assert {name: of["opinions right"] for name, of in found.items()} == {
        name: pytest.approx(count / opinions) for name, count in right.items()
    }
    assert right["1/8"] > right["1"]
