"""Joined texts."""

import itertools
import json
from pathlib import Path

import pytest

from absa.tasks.arguments import ClassificationArguments
from absa.tasks.joined import with_joined_texts
from absa.tasks.registry import load_task

JOINTS = (". ", "; ", ", ")
SAID = {  # text -> labels of price and safety, of Camden
    "Camden is dear.": ("negative", "none"),
    "  I felt safe in Camden ,": ("none", "positive"),
    "Camden is cheap and safe": ("positive", "positive"),
    "Who knows Camden?": ("none", "none"),
}
OF_TWO = "Camden beats Soho"


def rows_of(targets: dict[str, dict[str, tuple[str, str]]]) -> dict[str, list[str]]:
    """Columns of texts -> targets -> labels of price and safety."""
    rows = [
        (str(number), text, target, aspect, label)
        for number, (text, about) in enumerate(targets.items())
        for target, labels in about.items()
        for aspect, label in zip(("price", "safety"), labels, strict=True)
    ]
    return dict(zip(("id", "text", "target", "aspect", "label"), map(list, zip(*rows, strict=True)), strict=True))


def joined_of(before: dict, after: dict) -> dict[str, dict[tuple[str, str], str]]:
    """Text -> (target, aspect) -> label of what is new."""
    old, found = len(before["id"]), {}
    assert {name: column[:old] for name, column in after.items()} == before
    for text, *pair, label in zip(*(after[name][old:] for name in ("text", "target", "aspect", "label")), strict=True):
        assert found.setdefault(text, {}).setdefault(tuple(pair), label) == label
    return found


def expected(target: str, targets: tuple[str, ...]) -> dict[str, dict[tuple[str, str], str]]:
    """All that can be made of `SAID`."""
    possible = {}
    for (first, labels), (second, others) in itertools.permutations(SAID.items(), 2):
        if set(labels) | set(others) == {"none"}:
            continue
        start = first.rstrip(" .,")
        for joint in (" ",) if start.endswith("?") else JOINTS:
            agree = all("none" in both or len(set(both)) == 1 for both in zip(labels, others, strict=True))
            if agree:
                merged = [other if label == "none" else label for label, other in zip(labels, others, strict=True)]
                about = dict(zip(((target, "price"), (target, "safety")), merged, strict=True))
                possible[start + joint + second.lstrip()] = about
            for name in targets:
                about = {(target, "price"): labels[0], (target, "safety"): labels[1]}
                about |= {(name, "price"): others[0], (name, "safety"): others[1]}
                possible[start + joint + second.lstrip().replace("Camden", name)] = about
    return possible


@pytest.mark.parametrize("targets", [(), ("Camden", "Soho"), ("Camden", "Soho", "York")])
def test_opinions_stay_with_their_place_and_aspect(targets: tuple[str, ...]):
    texts = {text: {"Camden": labels} for text, labels in SAID.items()}
    rows = rows_of({**texts, OF_TWO: {"Camden": ("none", "none"), "Soho": ("none", "positive")}})
    possible = expected("Camden", targets[1:])
    found = joined_of(rows, with_joined_texts(rows, 100, "none", targets))
    assert found.items() <= possible.items()
    assert found.keys() == possible.keys()  # of so many, each was drawn


def test_texts_of_aspects_alone_are_joined_too():
    rows = rows_of({text: {"": labels} for text, labels in SAID.items()})
    found = joined_of(rows, with_joined_texts(rows, 100, "none", ()))
    assert found == expected("", ())


def test_where_every_row_has_a_sentiment():
    rows = {
        "id": ["1", "1", "2", "3"],
        "text": ["Fine food, slow staff", "Fine food, slow staff", "Dear", "Bad food"],
        "target": [""] * 4,
        "aspect": ["food", "staff", "price", "food"],
        "label": ["good", "bad", "bad", "bad"],
    }
    found = joined_of(rows, with_joined_texts(rows, 50, None, ()))
    assert {frozenset(about.items()) for about in found.values()} == {
        frozenset({(("", "food"), "good"), (("", "staff"), "bad"), (("", "price"), "bad")}),
        frozenset({(("", "price"), "bad"), (("", "food"), "bad")}),
    }


def test_two_targets_are_joined_as_they_are_and_two_texts_named_by_neither_keep_their_target():
    rows = rows_of({"Camden is dear": {"Camden": ("negative", "none")}, "Safe!": {"Soho": ("none", "positive")}})
    found = joined_of(rows, with_joined_texts(rows, 20, "none", ("Camden", "Soho")))
    both = {("Camden", "price"): "negative", ("Camden", "safety"): "none"}
    both |= {("Soho", "price"): "none", ("Soho", "safety"): "positive"}
    assert found.pop("Safe! Camden is dear") == both
    assert set(map(str, found.values())) == {str(both)}
    silent = rows_of({"Dear!": {"Soho": ("negative", "none")}, "Safe!": {"Soho": ("none", "positive")}})
    found = joined_of(silent, with_joined_texts(silent, 20, "none", ("Camden", "Soho")))
    assert {target for about in found.values() for target, _ in about} == {"Soho"}


def test_what_cannot_be_joined():
    rows = rows_of({"Camden is dear": {"Camden": ("negative", "none")}, "Cheap": {"Camden": ("positive", "none")}})
    with pytest.raises(ValueError, match=r"joined_texts=-1: give how many"):
        with_joined_texts(rows, -1, "none")
    with pytest.raises(ValueError, match=r"joined_texts=0\.5 asks for 1 texts, and 0 can be joined"):
        with_joined_texts(rows, 0.5, "none")
    with pytest.raises(ValueError, match="0 can be joined"):
        with_joined_texts({**rows, "label": ["none"] * 4}, 0.5, "none")
    places = {"target_start": [None, 3, None, None], "target_end": [None, 5, None, None]}
    with pytest.raises(ValueError, match="is for data that names its targets"):
        with_joined_texts({**rows, **places}, 0.5, "none")


def test_only_training_has_them_and_nothing_of_what_is_held_out(tiny_sentihood: Path, tmp_path: Path):
    words = {"dataset": "sentihood", "data_dir": str(tiny_sentihood)}
    plain = load_task(ClassificationArguments(**words))
    for symmetric in (False, True):
        task = load_task(ClassificationArguments(**words, joined_texts=2.0, symmetric_targets=symmetric))
        assert {**task.splits, "train": None} == {**plain.splits, "train": None}
        found = joined_of(plain.splits["train"], task.splits["train"])
        assert any("LOCATION2" in text for text in found) is symmetric  # texts about both are not joined
    (held_out := tmp_path / "held_out.txt").write_text(plain.splits["train"]["text"][0])
    for data in (words, {"mixture": [words]}):
        arguments = ClassificationArguments(**data, joined_texts=2.0, held_out=[str(held_out)])
        texts = set(load_task(arguments).splits["train"]["text"])
        assert len(texts) > 30
        assert not any("train 0:" in text for text in texts)


def test_a_model_learns_from_them(recipe: Path, tmp_path: Path, run_here):
    words = ("--joined_texts", "1", "--symmetric_targets", "true", "--max_steps", "2")
    run_here("examples/run_absa.py", recipe, *words, "--output_dir", tmp_path / "run")
    assert json.loads((tmp_path / "run" / "arguments.json").read_text())["joined_texts"] == 1.0
    with pytest.raises(ValueError, match=r"holds another run .*joined_texts was 1"):
        run_here("examples/run_absa.py", recipe, *words[2:], "--output_dir", tmp_path / "run")
