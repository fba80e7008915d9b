"""The contrast set: counts by hand, and models that know their names or read any words."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoTokenizer

import contrast
from absa import models
from absa.contrast import CONTEXTS, ask, counts
from absa.metrics.sentihood import LABELS
from absa.open_questions import OpenQuestionPipeline
from absa.tasks.describing import describe
from modeling_qacg_bert import AspectSentimentPipeline


def sentence(text: str, *opinions: tuple[str, str, str]) -> dict:
    names = ("target_entity", "aspect", "sentiment")
    return {"text": text, "opinions": [dict(zip(names, opinion, strict=True)) for opinion in opinions]}


SENTENCES = [
    sentence("LOCATION1 is a", ("LOCATION1", "price", "Negative"), ("LOCATION1", "safety", "Positive")),
    sentence("LOCATION1, LOCATION2", ("LOCATION1", "price", "Positive"), ("LOCATION2", "price", "Negative")),
]


class Pipe:
    """Hears every price as positive, with a label of other data before it, and nothing else."""

    model = SimpleNamespace(config=SimpleNamespace(label2id={"neutral": 0, **dict.fromkeys(LABELS, 1)}))

    def __call__(self, questions: list[dict]) -> list[dict]:
        heard = {"neutral": 0.5, "positive": 0.4, "negative": 0.1, "none": 0.0}
        silent = {"neutral": 0.5, "positive": 0.1, "negative": 0.0, "none": 0.4}
        return [{"probabilities": heard if one["aspect"] == "price" else silent} for one in questions]


def test_by_hand():
    first, second = ask(Pipe(), SENTENCES)
    assert first.wrong == {("LOCATION1", "price"): "positive", ("LOCATION1", "safety"): "none"}
    assert second.wrong == {("LOCATION2", "price"): "positive"}
    one, two = ({"opinions right": (0, 2), "whole sentences right": (0, 1)}, {"opinions right": (1, 2)})
    found = counts([first, second])
    assert {name: found[f"{name}, one place"] for name in one} == one
    assert {name: found[f"{name}, two places"] for name in two} == two
    assert (found["opinions right"], found["whole sentences right"]) == ((1, 4), (0, 2))
    # Of four questions about one place and eight about two, two each are about opinions.
    names = ("false mentions", "false mentions, one place", "false mentions, two places")
    assert [found[name] for name in names] == [(0, 8), (0, 2), (0, 6)]


def test_a_model_of_other_labels():
    pipe = SimpleNamespace(model=SimpleNamespace(config=SimpleNamespace(label2id={"none": 0, "good": 1})))
    with pytest.raises(ValueError, match="the model has no label negative, but none, good: give one"):
        ask(pipe, SENTENCES)


@pytest.mark.parametrize(("model_type", "source"), [("qacg_bert", "id"), ("bert", "id"), ("bert", "text")])
def test_what_a_checkpoint_answers(tmp_path: Path, tiny_bert: Path, monkeypatch, model_type: str, source: str):
    """As it does to the texts alone: of three answers about a target two are in gold, and one is another there."""
    described = describe(CONTEXTS, LABELS, context_source=source)
    config = models.build_config(model_type, str(tiny_bert), described)
    torch.manual_seed(0)
    model = models.load_model(str(tiny_bert), config, "sdpa").eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    kind = OpenQuestionPipeline if source == "text" else AspectSentimentPipeline
    pipe, texts = kind(model=model, tokenizer=tokenizer), ["LOCATION1 is dear", "LOCATION2 is far, LOCATION1 safe"]
    likely = [list(one["probabilities"].values()) for of_text in pipe(texts, return_all=True) for one in of_text]
    with torch.no_grad():
        model.classifier.bias -= torch.tensor(likely).log().mean(0)  # so that not all answers are alike
    sentences, given = [], set()
    for text, answers in zip(texts, pipe(texts, return_all=True), strict=True):
        labels = {(one["target"], one["aspect"]): one["label"] for one in answers if one["aspect"] != "safety"}
        given |= {*labels.values()}
        others = {pair: min({*LABELS} - {label}) for pair, label in labels.items() if pair[1] == "price"}
        sentences.append(sentence(text, *((*pair, label) for pair, label in {**labels, **others}.items())))
    assert len(given) > 1
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "sentences.json").write_text(json.dumps(sentences))
    monkeypatch.setattr(contrast, "SENTENCES", tmp_path / "sentences.json")
    contrast.main(contrast.ContrastArguments(tmp_path))
    assert json.loads((tmp_path / contrast.FOUND).read_text())["opinions right"] == 2 / 3
