"""What is asked to measure speed, and what is said of sizes."""

import json
from pathlib import Path

import pytest

import absa
from absa.comparison import speed
from absa.comparison.runs import read_run

QUESTION = {"text": "soup was cold", "target": "soup", "target_start": 0, "target_end": 4, "aspect": ""}


@pytest.fixture
def asked(monkeypatch) -> list:
    """What a pipeline is called with."""
    calls = []
    for pipeline in (absa.open_questions.OpenQuestionPipeline, absa.predict.AspectSentimentPipeline):
        monkeypatch.setattr(
            pipeline, "__call__", lambda self, inputs, **options: calls.append((inputs, options)) or []
        )
    return calls


@pytest.mark.parametrize("knows_names", [True, False])
def test_classifiers_are_asked_the_questions_and_no_more(
    knows_names: bool, tiny_classifier: Path, save_word_model, asked: list
):
    folder = tiny_classifier if knows_names else save_word_model("the soup was cold")
    speed.asking(absa.load(str(folder), device="cpu"), {QUESTION["text"]: [QUESTION, QUESTION]})()
    assert asked == [([QUESTION, QUESTION], {})]


def test_a_model_that_finds_targets_reads_texts(tiny_tagger: Path, monkeypatch):
    predictor, asked = absa.load(str(tiny_tagger), device="cpu"), []
    monkeypatch.setattr(type(predictor.pipe), "__call__", lambda self, texts, **_: asked.append(texts) or [[]])
    speed.asking(predictor, {QUESTION["text"]: [QUESTION, QUESTION]})()
    assert asked == [[QUESTION["text"]]]


def test_sizes(tiny_classifier: Path, write_run):
    runs = [write_run(name, "classification", {1: 0.9}) for name in ("a", "b", "c")]
    for file in tiny_classifier.iterdir():
        (runs[0] / "seed-1" / file.name).write_bytes(file.read_bytes())
    own = {"parameters": 22_700_000, "megabytes": 91.2}
    (runs[1] / "seed-1" / "results.json").write_text(json.dumps({"size": own}))
    text = "LOCATION1 is dear"
    questions = {text: [{**QUESTION, "text": text, "target": "LOCATION1", "aspect": "price"}]}
    cells = speed.size_cells([read_run(run, run.name) for run in runs], questions, 5, "cpu")
    weights = (tiny_classifier / "model.safetensors").stat().st_size
    assert speed.megabytes(tiny_classifier) >= weights / 1e6
    assert float(cells[0]["texts/s"].split(" ± ")[0]) > 0
    assert int(cells[0]["parameters"].replace(",", "")) * 4 == pytest.approx(weights, rel=0.2)
    assert cells[1] == {"parameters": "22,700,000", "texts/s": "", "MB": "91"}
    assert cells[2] == dict.fromkeys(speed.SIZES, ""), "it has no model"
    cells = speed.size_cells([read_run(runs[0], "a")], {}, 0, "cpu")
    assert cells[0]["texts/s"] == ""


def test_a_model_that_cannot_be_loaded_has_no_size(tiny_classifier: Path, write_run):
    run = write_run("a", "classification", {1: 0.9})
    (run / "seed-1" / "config.json").write_bytes((tiny_classifier / "config.json").read_bytes())
    with pytest.warns(UserWarning, match="a: neither size nor speed, since model="):
        assert speed.size_cells([read_run(run, "a")], {}, 0, "cpu") == [dict.fromkeys(speed.SIZES, "")]
    (run / "seed-1" / "results.json").write_text('{"size": {"parameters": 3}}')
    with pytest.raises(ValueError, match=r"results.json: size={'parameters': 3}: give parameters and megabytes"):
        speed.size_cells([read_run(run, "a")], {}, 0, "cpu")
