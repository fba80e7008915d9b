"""The contrast set, asked of a checkpoint."""

import json
from pathlib import Path

import contrast
import opinion_tables


def test_it_is_kept_beside_the_model(make_checkpoint):
    checkpoint = make_checkpoint(std=0.5)
    contrast.main(contrast.ContrastArguments(checkpoint))
    found = json.loads((checkpoint / contrast.FOUND).read_text())
    assert found.keys() >= set(opinion_tables.CONTRAST)
    assert all(0 <= share <= 1 for share in found.values())


def test_what_cannot_be_asked_is_passed_over(make_checkpoint, tmp_path: Path, capsys):
    contrast.main(contrast.ContrastArguments(tmp_path))  # one model a context lie in folders of their own
    checkpoint = make_checkpoint()
    config = json.loads((checkpoint / "config.json").read_text())
    labels = {"id2label": {0: "none", 1: "good", 2: "bad"}, "label2id": {"none": 0, "good": 1, "bad": 2}}
    (checkpoint / "config.json").write_text(json.dumps({**config, **labels}))
    contrast.main(contrast.ContrastArguments(checkpoint))
    assert capsys.readouterr().out.startswith("the contrast set is not asked: the model has no label")
    assert not list(tmp_path.glob("**/contrast.json"))
