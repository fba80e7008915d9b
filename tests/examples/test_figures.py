"""examples/paper/figures.py, run as a user runs it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

FIGURES = ("relevance", "weights", "tokens", "negative_share", "lowest_words")


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    """It answers positive to everything."""
    return make_checkpoint(label_bias=[0.0, 9.0, 0.0])


def test_figures(checkpoint: Path, tiny_sentihood: Path, tmp_path: Path, run_here):
    options = ("--data_dir", tiny_sentihood, "--output_dir", tmp_path / "figures", "--num_examples", "6")
    chosen = ("--layer", "2", "--head", "3")
    printed = run_here("examples/paper/figures.py", checkpoint, *options, *chosen)
    assert printed.splitlines()[-1] == f"figures and numbers: {tmp_path / 'figures'}"
    for name in FIGURES:
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "figures" / f"{name}.svg").read_text()
    numbers = json.loads((tmp_path / "figures" / "figures.json").read_text())
    assert set(numbers) == set(FIGURES)
    assert [len(panel["relevance"]) for panel in numbers["relevance"]] == [4, 8]
    for panel in numbers["relevance"]:
        for relevance in panel["relevance"].values():
            assert len(relevance) == len(panel["words"])
            assert max(relevance) == 1
    assert numbers["weights"]["questions"] == 6
    assert (numbers["tokens"]["layer"], numbers["tokens"]["head"]) == (2, 3)
    assert numbers["tokens"]["words"][:3] == ["LOCATION1", "is", "a"]
    assert all(0 < value < 1 for value in numbers["tokens"]["self_attention"])
    assert np.shape(numbers["negative_share"]) == (2, 4)
    assert set(numbers["lowest_words"]) == {"general", "price", "transit-location", "safety"}
    assert all(math.isfinite(entry["mean"]) for words in numbers["lowest_words"].values() for entry in words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", "3"), "layer=3: give 1 to 2"),
        (("--head", "0"), "head=0: give 1 to 4"),
        (("--aspect", "noise"), "aspect 'noise' is unknown"),
        (("--texts", "nothing here"), "texts 'nothing here': the model says that it speaks of nothing"),
    ],
)
def test_what_cannot_be_drawn(checkpoint: Path, tiny_sentihood: Path, tmp_path: Path, run_here, options, message: str):
    with pytest.raises(ValueError, match=message):
        run_here(
            "examples/paper/figures.py", checkpoint, "--data_dir", tiny_sentihood, "--output_dir", tmp_path, *options
        )
