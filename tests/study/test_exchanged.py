"""Asking twice, with the names of two places exchanged."""

import json
from pathlib import Path

import numpy as np
import pytest

import exchanged
from absa.ablation import answers
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification


def test_a_text_of_two_places_is_asked_about_the_other_name():
    question = {"text": "LOCATION1 is dearer than location2, LOCATION2s", "target": "LOCATION2", "aspect": "price"}
    other = {"text": "LOCATION2 is dearer than location2, LOCATION1s", "target": "LOCATION1", "aspect": "price"}
    assert exchanged.exchanged(question) == other
    assert exchanged.exchanged(other) == question
    of_one = {"text": "LOCATION1 is dear", "target": "LOCATION1", "aspect": "price"}
    assert exchanged.exchanged(of_one) == of_one


def test_the_mean_of_both_ways(make_checkpoint, tiny_sentihood: Path, monkeypatch):
    task = Classification.load(ClassificationArguments(dataset="sentihood", data_dir=str(tiny_sentihood)))
    asked = []

    def answers_kept(*given) -> np.ndarray:
        asked.append(answers(*given))
        return asked[-1]

    monkeypatch.setattr(exchanged, "answers", answers_kept)
    found = exchanged.look(make_checkpoint(std=0.5), task, "validation")
    once, other = asked
    has_two = np.array(["LOCATION2" in text for text in task.splits["validation"]["text"]])
    assert 0 < has_two.mean() < 1
    assert np.abs(once - other)[has_two].max() > 1e-3
    np.testing.assert_allclose(once[~has_two], other[~has_two], atol=1e-6)
    for way, probabilities in (("asked once", once), ("both ways", (once + other) / 2)):
        scores = task.score("validation", np.log(probabilities))
        assert found[way] == pytest.approx(
            {name: scores[name] for name in (*task.main_scores, "mixed_accuracy")}, nan_ok=True
        )


def test_a_symmetric_model_is_left_out(make_checkpoint):
    checkpoint = make_checkpoint()
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps({**config, "symmetric_targets": True}))
    assert exchanged.look(checkpoint, None, "test") == {}
