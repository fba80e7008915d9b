"""Each kind of model is asked as `absa.load` asks it, and explained by its own answers."""

from dataclasses import fields
from pathlib import Path

import pytest

import absa
import asking
import kinds
from absa.opinions import Opinion

TEXTS = ["Camden is  dear but safe, and\nnear Soho.", "The soup was cold!", "Soho, the soup and Soho's price"]
NAMES = ["Soho", "soup"]
ASPECTS = ["price", "noise_at-night"]
LOADED = {  # what absa.load takes to be asked the same
    "tagger": {},
    "generator": {"task": "aste"},
    "given": {"targets": NAMES},
    "af_lstm": {"targets": NAMES},
    "td_lstm": {"targets": NAMES},
    "bert": {"targets": NAMES},
    "scalar_mix": {"targets": NAMES},
}
OF_RECORD = [field.name for field in fields(Opinion) if field.name != "text_id"]


def record(answer) -> dict:
    return {name: getattr(answer, name) for name in OF_RECORD}


def about(expected) -> dict:
    """A record, but for the last digits of its numbers."""
    told = record(expected)
    told["score"] = pytest.approx(told["score"], abs=1e-5)
    told["probabilities"] = pytest.approx(told["probabilities"], abs=1e-5)
    return told


@pytest.fixture(scope="module", params=LOADED)
def kind(request, folders: dict[str, Path]) -> str:
    return request.param


@pytest.fixture(scope="module")
def asker(kind: str, folders: dict[str, Path]) -> asking.Asker:
    return kinds.load(str(folders[kind]))


@pytest.fixture(scope="module")
def read(kind: str, folders: dict[str, Path]):
    return absa.load(str(folders[kind]))


def test_answers_are_those_of_the_toolkit(kind: str, asker, read):
    expected = read(TEXTS, **LOADED[kind])
    aspects = ASPECTS if asker.takes_words and kind != "td_lstm" else []  # which reads the words at a target's sides
    if aspects:
        of_aspects = read(TEXTS, aspects=ASPECTS)
        expected = [[*one, *other] for one, other in zip(expected, of_aspects, strict=True)]
    answered = asker.answers(TEXTS, NAMES, aspects)
    assert sum(map(len, answered)) > 2
    assert [list(map(record, of_text)) for of_text in answered] == [list(map(about, one)) for one in expected]
    for text, of_text in zip(TEXTS, answered, strict=True):
        for answer in of_text:
            assert answer.target is None or text[answer.target_start : answer.target_end] == answer.target


def test_words_are_weighed_by_leaving_them_out(kind: str, asker, read):
    text = "Camden is dear but safe and near Soho!"
    asked = asker.ask(text, ["Soho"] if asker.asks_names else [], [])
    answer = asked.answers[-1]
    words = {text[word.start : word.end]: word.value for word in asker.explain(asked, answer).words}
    assert answer.target not in words
    parameters = LOADED[kind] | ({"targets": ["Soho"]} if asker.asks_names else {})
    shared = [word for word in ("is", "but", "safe", "and") if word in words]  # all but the answer's own target
    assert len(shared) >= 2
    for word in shared:
        said = read(text.replace(f"{word} ", ""), **parameters)
        without = [one.probabilities[answer.label] for one in said if one.target == answer.target]
        lost = answer.probabilities[answer.label] - max(without, default=0.0)
        assert words[word] == pytest.approx(lost, abs=1e-5)
    assert max(map(abs, words.values())) > 1e-4


def test_a_target_that_is_not_read_is_said(make_model):
    asker = kinds.load(str(make_model("bert")))
    long = "The soup " + "is dear " * 60 + "unlike the fish"
    asked = asker.ask(long, ["soup", "fish"], [])
    assert [answer.target for answer in asked.answers] == ["soup"]
    assert asked.notes == [
        "The text is too long for the model: its end was not read.",
        "Not asked about, since only the end names it: fish.",
    ]
    assert [[one.target for one in of_text] for of_text in asker.ask_all([long, " \u200b"], ["fish"], [])] == [[], []]


def test_what_cannot_be_asked_is_said(folders):
    pairs, given = (kinds.load(str(folders[name])) for name in ("af_lstm", "given"))
    with pytest.raises(ValueError, match="Say what to ask about: words of the text, or an aspect"):
        pairs.ask("The soup is dear", [], [])
    with pytest.raises(ValueError, match="--- is no aspect: write it in words"):
        pairs.ask("The soup is dear", [], ["price", "---"])
    with pytest.raises(ValueError, match="Say what to ask about: words of the text, such as soup"):
        given.ask("The soup is dear", [], [])
    for asker in (pairs, given):
        with pytest.raises(ValueError, match="fish does not stand in the text"):
            asker.ask("The soup is dear", ["fish"], [])
    assert pairs.ask("The soup is dear", ["fish", "soup"], []).notes == ["Not in the text: fish."]


@pytest.mark.parametrize("task", ["tagging without spans", "bert without questions"])
def test_models_of_other_tasks_are_refused(make_tagger, bert_without_pooler, task: str):
    folder = make_tagger(["NN", "VB"]) if task == "tagging without spans" else bert_without_pooler
    with pytest.raises(ValueError, match=r"is no classifier of pairs: see examples/predict\.py"):
        kinds.load(str(folder))


def test_a_long_text_is_left_out_in_parts():
    text = f"{'very ' * 100}soup is far too dear"
    start = text.index("soup")
    parts = asking.parts_of(text, (start, start + 4))
    assert asking.MOST_PARTS / 2 < len(parts) <= asking.MOST_PARTS + 2
    assert all(end <= start or first >= start + 4 for first, end in parts)
    covered = " ".join(text[first:end] for first, end in parts)
    assert covered == text.replace("soup ", "")
    assert asking.parts_of("It's so-so, soup.", (12, 16)) == [(0, 4), (5, 10)]
    assert asking.parts_of("\u263a", (0, 0)) == []
