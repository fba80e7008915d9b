"""examples/predict.py as a user runs it."""

import re
from pathlib import Path

import pytest

import absa

SCRIPT = "examples/predict.py"


def test_asks_about_the_targets_in_the_text(tiny_classifier: Path, run_script):
    finished = run_script(SCRIPT, tiny_classifier, "LOCATION2 is dear", "nothing here", "LOCATION1 and LOCATION2")
    assert finished.stderr == ""  # a user is told nothing of how models are loaded
    lines = finished.stdout.splitlines()
    assert lines[0] == "LOCATION2 is dear"
    aspects = ["general", "price", "transit-location", "safety"]
    assert [line.split()[:2] for line in lines[1:5]] == [["LOCATION2", aspect] for aspect in aspects]
    assert lines[5:7] == [
        "nothing here",
        "  names none of LOCATION1, LOCATION2: map the names in the texts to them, --targets Camden=LOCATION1",
    ]
    assert len(lines) == 16
    label, probability = lines[1].split()[2:]
    assert label in ("none", "positive", "negative")
    assert 0.33 <= float(probability) <= 1


def test_own_names_for_targets(tiny_classifier: Path, run_here):
    words = ("--targets", "Camden=LOCATION1", "Camden Town=LOCATION2", "--aspects", "price")
    lines = run_here(SCRIPT, tiny_classifier, "Camden Town is dear", "CAMDEN is dear", *words).splitlines()
    assert lines[1].split()[:3] == ["Camden", "Town", "price"]
    assert lines[3].split()[:2] == ["Camden", "price"]
    assert len(lines) == 4


def test_restricted_questions_and_long_texts(tiny_classifier: Path, run_here):
    words = ("--targets", "LOCATION1", "--aspects", "price")
    printed = run_here(SCRIPT, tiny_classifier, "LOCATION1 and LOCATION2 " + "is safe " * 3000, *words)
    assert len(printed.splitlines()) == 2
    assert printed.splitlines()[1].split()[:2] == ["LOCATION1", "price"]


def test_a_tagger_finds_the_targets(tiny_tagger: Path, run_here):
    text = "The price is dear, but it is safe."
    lines = run_here(SCRIPT, tiny_tagger, text, " ").splitlines()
    assert (lines[0], lines[-2:]) == (text, [" ", "  has nothing to read"])
    opinions = absa.load(str(tiny_tagger))(text)
    assert len(opinions) == len(lines) - 3 > 0
    for line, opinion in zip(lines[1:-2], opinions, strict=True):
        place = f"{opinion.target} [{opinion.target_start}:{opinion.target_end}]"
        assert line == f"  {place:<28} {opinion.label:<10} {opinion.score:.2f}"
        assert text[opinion.target_start : opinion.target_end] == opinion.target


def test_a_text_in_which_a_tagger_finds_nothing(make_tagger, run_here, monkeypatch):
    monkeypatch.setattr("modeling_global_context.pipeline_global_context.spans_of", lambda *_: [])
    lines = run_here(SCRIPT, make_tagger(["O", "B-POS", "I-POS"]), "It is dear.").splitlines()
    assert lines == ["It is dear.", "  says nothing that the model finds"]


def test_a_classifier_judges_what_another_model_finds(make_generator, save_word_model, run_here):
    text = "The price is dear, but it is safe."
    pair = str(make_generator("aste")), str(save_word_model(text))
    lines = run_here(SCRIPT, pair[0], text, "--classifier", pair[1], "--aspects", "noise").splitlines()
    opinions = absa.load(*pair, aspects=["noise"])(text)
    assert len(opinions) == len(lines) - 1 > 0
    for line, one in zip(lines[1:], opinions, strict=True):
        about = f"{one.target} [{one.target_start}:{one.target_end}] noise"
        about += f": {one.opinion} [{one.opinion_start}:{one.opinion_end}]"
        judged = f"{one.label} {one.score:.2f}" if one.label else "not read"  # of a sign, which is no word
        assert " ".join(line.split()) == f"{about} {judged}"


def test_a_target_that_is_not_read(save_word_model, run_here):
    text = "dear " * 600 + "price"
    lines = run_here(SCRIPT, save_word_model(text), text, "--targets", "price").splitlines()
    assert [line.split() for line in lines[1:]] == [["price", "[3000:3005]", "not", "read"]]


@pytest.mark.parametrize("question", ["targets", "aspects"])
def test_a_tagger_takes_no_questions(tiny_tagger: Path, run_here, question: str):
    told = rf"model=.* is a GlobalContextFor.*; {question}: no parameter of aspect-term-sentiment, .*: leave it out"
    with pytest.raises(ValueError, match=told):
        run_here(SCRIPT, tiny_tagger, "It is dear.", f"--{question}", "price")


@pytest.mark.parametrize("task", ["ate", "ote", "alsc", "aoe", "aesc", "aope", "aste"])
def test_a_generator_says_what_its_task_has(make_generator, run_here, task: str):
    text = "The price is dear, but it is safe."
    folder, given = make_generator(task), task in ("alsc", "aoe")
    asked = {"targets": ["price", "it"]} if given else {}
    words = ("--targets", *asked["targets"]) if given else ()
    lines = run_here(SCRIPT, folder, text, "no", " ", *words).splitlines()
    opinions = absa.load(str(folder), **asked)(text)
    expected = []
    for one in opinions:
        terms = [(one.target, one.target_start, one.target_end), (one.opinion, one.opinion_start, one.opinion_end)]
        about = ": ".join(f"{words} [{start}:{end}]" for words, start, end in terms if words is not None)
        expected.append(f"{about} {one.label} {one.score:.2f}" if "s" in task else f"{about} {one.score:.2f}")
    assert lines[0] == text
    assert [" ".join(line.split()) for line in lines[1 : 1 + len(opinions)]] == expected
    assert expected
    assert lines[-1] == "  has nothing to read"
    if given:
        assert {one.target for one in opinions} <= set(asked["targets"])
        assert lines[-3:-1] == ["  names none of price, it", " "]


def test_a_generator_that_is_given_no_targets(make_generator, run_here):
    with pytest.raises(ValueError, match=r"input 0: a text alone asks nothing, .* give targets=\['battery life'\]"):
        run_here(SCRIPT, make_generator("aoe"), "The price is dear.")
    with pytest.raises(ValueError, match=r"is a PointerForABSA; targets: no parameter of aspect-opinion-extraction"):
        run_here(SCRIPT, make_generator("aste"), "The price is dear.", "--targets", "price")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["{checkpoint}", "LOCATION1", "--aspects", "noise"],
            "aspects 'noise': unknown to the model; give some of ['general'",
        ),
        (
            ["{checkpoint}", "LOCATION1", "--targets", "Soho"],
            "targets 'Soho': unknown to the model; give some of ['LOCATION1'",
        ),
        (["{checkpoint}", "Soho", "--targets", "Soho", "A=LOCATION1"], "give Soho=Soho, or names only"),
        (
            ["{checkpoint}", "A", "--targets", "A=LOCATION1", "A=LOCATION2"],
            "targets A=LOCATION1 A=LOCATION2: a name is given twice; keep one target for it",
        ),
        (["no/such/folder", "LOCATION1"], "model=no/such/folder is no folder with a model"),
    ],
    ids=["aspect", "target", "mixed", "twice", "folder"],
)
def test_errors(tiny_classifier: Path, run_here, words, message):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(message)) as error:
        run_here(SCRIPT, *(word.format(checkpoint=tiny_classifier) for word in words))
    assert "\n" not in str(error.value)


def test_a_mistake_is_told_in_one_line(run_script):
    finished = run_script(SCRIPT, "no-such/model", "LOCATION1", check=False)
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert line.startswith("model=no-such/model is no folder with a model, and the Hub did not give it")
