"""Ways of decoding a trained generator."""

import json
from pathlib import Path

import pytest

import decoding


def test_each_way_is_what_generate_is_asked_for(finished_generator: Path, tiny_aste: Path, asked_of_generate: list):
    decoding.look(finished_generator / "seed-42", str(tiny_aste))
    asked = [(options.get("num_beams", 1), "logits_processor" in options) for options in asked_of_generate]
    assert asked == [(1, True), (1, False), (4, True)]


def test_greedy_scores_are_those_of_the_run(finished_generator: Path, tiny_aste: Path):
    checkpoint = finished_generator / "seed-42"
    looked = decoding.look(checkpoint, str(tiny_aste))
    trained = json.loads((checkpoint / "results.json").read_text())["test"]
    for name, score in looked["greedy"].items():
        assert score == pytest.approx(trained[name], nan_ok=True), name
    assert looked["greedy"]["invalid_share"] == looked["4 beams"]["invalid_share"] == 0
    assert looked["greedy"].keys() == looked["greedy, without the grammar"].keys()
