"""Whether a text speaks of an aspect that was in no training, by how like its nearest word is to the aspect."""

import numpy as np
import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoTokenizer, BertConfig

from absa.tasks import likeness as fitting
from modeling_qacg_bert import (
    AspectSentimentPipeline,
    QACGBertConfig,
    QACGBertForSequenceClassification,
    QACGConfig,
    QACGForSequenceClassification,
)
from modeling_qacg_bert.likeness_qacg_bert import by_likeness, likeness

LABELS = {0: "positive", 1: "none", 2: "negative"}
NAMES = {"targets": ["LOCATION1", "LOCATION2"], "aspects": ["price", "safety"]}
TEXTS = ["LOCATION1 is safe", "the fish is dear", "far near LOCATION2 and nice", "LOCATION1", "safe"]


@pytest.fixture(scope="module", params=["on_bert", "on_any_encoder"])
def pipe(request, tiny_bert) -> AspectSentimentPipeline:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, padding_side="left")
    sizes = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
    sizes |= {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "initializer_range": 0.2}
    fields = {**NAMES, "context_source": "text", "id2label": LABELS, "likeness_calibration": [6.0, -3.0]}
    fields |= {
        "calibration_temperature": 1.5,
        "auxiliary_sentence": False,
        "num_context_layers": 2,
        "context_initializer_range": 0.2,
    }
    if request.param == "on_bert":
        model = QACGBertForSequenceClassification(QACGBertConfig(**sizes, **fields))
    else:
        model = QACGForSequenceClassification(QACGConfig(encoder_config=BertConfig(**sizes), **fields))
    return AspectSentimentPipeline(model=model.eval(), tokenizer=tokenizer)


def naive(pipe: AspectSentimentPipeline, text: str, aspect: str) -> float:
    """One token after the other, of one text and aspect."""

    def states(words: str) -> torch.Tensor:
        ids = pipe.tokenizer(words, return_tensors="pt")["input_ids"]
        model = pipe.model.base_model
        if hasattr(model, "embeddings"):
            return model.encoder.layer[0](model.embeddings(input_ids=ids), None, None, False, False)[0][0, 1:-1]
        return model.encoder(ids, output_hidden_states=True).hidden_states[1][0, 1:-1]

    with torch.no_grad():
        of_name = states(aspect.replace("-", " ")).mean(0)
        read = text.replace("LOCATION1", "").replace("LOCATION2", "")
        of_text = states(read if read.strip() else "location - 1")
        return max(torch.nn.functional.cosine_similarity(state, of_name, dim=0).item() for state in of_text)


def test_of_a_text_the_nearest_token_counts(pipe):
    asked = [(text, aspect) for text in TEXTS for aspect in ("price", "noise-at night", "safe")]
    found = likeness(pipe.model, pipe.tokenizer, *zip(*asked, strict=True))
    assert found.tolist() == pytest.approx([naive(pipe, *pair) for pair in asked], abs=1e-5)
    assert found[-1] == pytest.approx(1, abs=1e-5)  # the text is the aspect
    many = ["near " * 100 + "safe", "near " * 62]  # of which 62 tokens are read
    assert len(set(likeness(pipe.model, pipe.tokenizer, many, ["safe"] * 2).tolist())) == 1
    pipe.model.bfloat16()
    assert likeness(pipe.model, pipe.tokenizer, ["safe"], ["safe"]).item() == pytest.approx(1, abs=1e-5)
    pipe.model.float()


def test_targets_that_are_words_of_the_texts_are_read(pipe, monkeypatch):
    asked = pipe.model, pipe.tokenizer, ["the price is dear", "the fish is dear"], ["price", "price"]
    expected = likeness(*asked)
    monkeypatch.setattr(pipe.model.config, "targets", ["price", "fish"])
    assert torch.equal(likeness(*asked), expected)
    assert expected[0] > expected[1]


def test_a_text_or_an_aspect_without_tokens(pipe):
    nothing = "\u0301"  # an accent alone, which the tokenizer drops
    found = likeness(pipe.model, pipe.tokenizer, ["safe", nothing, "safe"], ["safe", "safe", nothing])
    assert found.tolist() == pytest.approx([1, -1, 0], abs=1e-5)
    _, (answer,) = pipe(["safe", nothing], aspects=["noise"], return_all=True)
    assert answer["present"] == pytest.approx(1 / (1 + np.exp(3 + 6)), abs=1e-6)
    with pytest.raises(ValueError, match="the model's vocabulary has no piece of it"):
        pipe("safe", aspects=[nothing])


def test_it_decides_whether_and_the_model_says_what(pipe):
    logits = torch.tensor([[2.0, -1.0, 0.5], [0.0, 9.0, 1.0]])
    texts, aspects = TEXTS[:2], ["noise", "view"]
    answered = by_likeness(pipe.model, pipe.tokenizer, texts, aspects, logits, "none")
    speaks = torch.sigmoid(6 * likeness(pipe.model, pipe.tokenizer, texts, aspects) - 3)
    torch.testing.assert_close((answered / 1.5).softmax(-1)[:, 1], 1 - speaks)
    torch.testing.assert_close(answered[:, [0, 2]], logits[:, [0, 2]])


@pytest.mark.parametrize("batch_size", [1, 8])
def test_the_pipeline_asks_it_about_aspects_that_are_new(pipe, batch_size):
    aspects = ["price", "noise at night", "Safety", "far \ud800"]
    asked = {"aspects": aspects, "return_all": True, "batch_size": batch_size}
    answered = [answer for own in pipe(TEXTS[:3], **asked) for answer in own]
    calibration, pipe.model.config.likeness_calibration = pipe.model.config.likeness_calibration, None
    of_model = [answer for own in pipe(TEXTS[:3], **asked) for answer in own]
    pipe.model.config.likeness_calibration = calibration
    assert [answer["in_training"] for answer in answered] == [True, False, True, False] * 3
    for text, answer, before in zip(np.repeat(TEXTS[:3], 4), answered, of_model, strict=True):
        if answer["in_training"]:
            assert answer == before
            continue
        assert answer["sentiment"] == pytest.approx(before["sentiment"])
        assert answer["present"] != pytest.approx(before["present"])
        if answer["aspect"] == "noise at night":
            expected = 1 / (1 + np.exp(3 - 6 * naive(pipe, str(text), answer["aspect"])))
            assert answer["present"] == pytest.approx(expected, abs=1e-5)
            assert answer["label"] == max(answer["probabilities"], key=answer["probabilities"].get)


def test_calibration_needs_a_slope_and_an_intercept():
    with pytest.raises(StrictDataclassError, match=r"likeness_calibration=\[1.0\]: a slope and an intercept, or None"):
        QACGBertConfig(likeness_calibration=[1.0])


class Rows:
    """What calibration looks at of a task."""

    contexts, none_label = object(), "none"

    def __init__(self, *labels: str):
        number = len(labels)
        self.splits = {"validation": {"text": ["t"] * number, "aspect": ["a"] * number, "label": labels}}


def test_calibration(pipe, monkeypatch):
    generator = np.random.default_rng(0)
    found = generator.uniform(0, 1, 20000)
    speaks = generator.uniform(0, 1, 20000) < 1 / (1 + np.exp(2 - 5 * found))
    task = Rows(*np.where(speaks, "positive", "none"))
    asked = []

    def fake(model, tokenizer, texts, aspects):
        asked.append(len(texts))
        return torch.from_numpy(sign * found[: len(texts)])

    monkeypatch.setattr(fitting, "likeness", fake)
    sign = 1
    terms = Rows("none")
    terms.contexts = None  # targets that are words of the texts
    calibrated = fitting.calibrate_likeness(pipe.model, pipe.tokenizer, [terms, task])
    assert calibrated["likeness_calibration"] == pytest.approx([5, -2], abs=0.25)
    assert asked == [20000]
    near_one, found = found, 0.97 + 0.005 * found  # as of an encoder whose states are all alike
    slope, intercept = fitting.calibrate_likeness(pipe.model, pipe.tokenizer, [task])["likeness_calibration"]
    assert (0.005 * slope, intercept + 0.97 * slope) == pytest.approx(calibrated["likeness_calibration"], abs=0.01)
    found = near_one
    sign = -1  # texts that speak of an aspect are less like it
    assert fitting.calibrate_likeness(pipe.model, pipe.tokenizer, [task]) == {"likeness_calibration": None}
    for useless in ([terms], [Rows("none", "none")], [Rows("positive")]):
        assert fitting.calibrate_likeness(pipe.model, pipe.tokenizer, useless) == {"likeness_calibration": None}
    monkeypatch.setattr(pipe.model.config, "context_source", "id")
    assert fitting.calibrate_likeness(pipe.model, pipe.tokenizer, [task]) == {}
