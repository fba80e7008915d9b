"""Ways of decoding a trained generator."""

import json
from pathlib import Path

import pytest

import decoding


def test_greedy_scores_are_those_of_the_run(finished_generator: Path, tiny_aste: Path):
    checkpoint = finished_generator / "seed-42"
    looked = decoding.look(checkpoint, str(tiny_aste))
    trained = json.loads((checkpoint / "results.json").read_text())["test"]
    for name, score in looked["greedy"].items():
        assert score == pytest.approx(trained[name], nan_ok=True), name
    assert looked["greedy"]["invalid_share"] == looked["4 beams"]["invalid_share"] == 0
    assert looked["greedy"].keys() == looked["greedy, without the grammar"].keys()
