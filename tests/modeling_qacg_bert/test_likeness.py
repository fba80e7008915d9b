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
    pipeline_qacg_bert,
)
from modeling_qacg_bert.likeness_qacg_bert import by_likeness, labels_said, likeness
from modeling_qacg_bert.relevance_qacg_bert import said_at

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
        read = text.replace("LOCATION1", "location - 1").replace("LOCATION2", "location - 2")
        placeholder = {"location", "-", "1", "2"}
        words = [token not in placeholder for token in pipe.tokenizer.tokenize(read)]
        of_text = states(read)[words]
        cosines = [torch.nn.functional.cosine_similarity(state, of_name, dim=0).item() for state in of_text]
        return max(cosines, default=-1)


def asked(texts: list[str], aspects: list[str]) -> list[tuple[str, str, str]]:
    """Texts, targets and aspects."""
    return list(zip(*((text, "", aspect) for text in texts for aspect in aspects), strict=True))


def test_of_a_text_the_nearest_token_counts(pipe):
    questions = asked(TEXTS, ["price", "noise-at night", "safe"])
    found = likeness(pipe.model, pipe.tokenizer, *questions)
    expected = [naive(pipe, text, aspect) for text, _, aspect in zip(*questions, strict=True)]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)
    assert found[-1] == pytest.approx(1, abs=1e-5)  # the text is the aspect
    many = ["near " * 100 + "safe", "near " * 62]  # of which 62 tokens are read
    assert len(set(likeness(pipe.model, pipe.tokenizer, *asked(many, ["safe"])).tolist())) == 1
    pipe.model.bfloat16()
    assert likeness(pipe.model, pipe.tokenizer, *asked(["safe"], ["safe"])).item() == pytest.approx(1, abs=1e-5)
    pipe.model.float()


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_pipeline_takes_the_states_of_its_own_pass(pipe, monkeypatch, symmetric):
    monkeypatch.setattr(pipe.model.config, "symmetric_targets", symmetric)
    texts = ["far LOCATION2 is near LOCATION1", "safe LOCATION2", "near " * 100 + "safe"]
    aspects = ["noise", "price", "far"]
    read = []
    monkeypatch.setattr(pipeline_qacg_bert, "by_likeness", lambda *given: read.append(given[2]) or by_likeness(*given))
    answers = [answer for own in pipe(texts, aspects=aspects, return_all=True, batch_size=4) for answer in own]
    new = [answer for answer in answers if not answer["in_training"]]
    of_texts = [texts[0]] * 4 + [texts[1]] * 2 + [texts[2]] * 2
    targets, names = ([answer[field] for answer in new] for field in ("target", "aspect"))
    torch.testing.assert_close(read[0], likeness(pipe.model, pipe.tokenizer, of_texts, targets, names))
    is_same = read[0][0] == read[0][2]  # about one target of a text and the other
    assert bool(is_same) is not symmetric


def test_auxiliary_sentences_are_no_part_of_the_text(pipe, monkeypatch):
    monkeypatch.setattr(pipe.model.config, "auxiliary_sentence", True)
    answers = pipe(TEXTS[1], aspects=["noise", "price", "fish"], return_all=True)
    for answer in answers[::2]:
        expected = 1 / (1 + np.exp(3 - 6 * naive(pipe, TEXTS[1], answer["aspect"])))
        assert answer["present"] == pytest.approx(expected, abs=1e-5)


def test_targets_that_are_words_of_the_texts_are_read(pipe, monkeypatch):
    questions = asked(["the price is dear", "the fish is dear"], ["price"])
    expected = likeness(pipe.model, pipe.tokenizer, *questions)
    monkeypatch.setattr(pipe.model.config, "targets", ["price", "fish"])
    assert torch.equal(likeness(pipe.model, pipe.tokenizer, *questions), expected)
    assert expected[0] > expected[1]


def test_a_text_or_an_aspect_without_tokens(pipe):
    nothing = "\u0301"  # an accent alone, which the tokenizer drops
    questions = ["safe", nothing, "safe"], [""] * 3, ["safe", "safe", nothing]
    found = likeness(pipe.model, pipe.tokenizer, *questions)
    assert found.tolist() == pytest.approx([1, -1, 0], abs=1e-5)
    _, (answer,) = pipe(["safe", nothing], aspects=["noise"], return_all=True)
    assert answer["present"] == pytest.approx(1 / (1 + np.exp(3 + 6)), abs=1e-6)
    with pytest.raises(ValueError, match="the model's vocabulary has no piece of it"):
        pipe("safe", aspects=[nothing])


def test_it_decides_whether_and_the_model_says_what(pipe):
    logits = torch.tensor([[2.0, -1.0, 0.5], [0.0, 9.0, 1.0]])
    like = torch.tensor([0.2, 0.9])
    answered = by_likeness(pipe.model.config, logits, like, "none")
    speaks = torch.sigmoid(6 * like - 3)
    torch.testing.assert_close((answered / 1.5).softmax(-1)[:, 1], 1 - speaks)
    torch.testing.assert_close(answered[:, [0, 2]], logits[:, [0, 2]])


def test_a_text_that_speaks_of_an_aspect_has_a_sentiment():
    """Though each of several is less probable than that it does not; in training labels are what is most probable."""
    probabilities = torch.tensor([[0.29, 0.42, 0.29], [0.2, 0.6, 0.2], [0.2, 0.42, 0.38]])
    is_sentiment = torch.tensor([True, False, True])
    assert labels_said(probabilities, is_sentiment, [0, 1]).tolist() == [0, 1, 1]
    assert labels_said(probabilities, is_sentiment, []).tolist() == [1, 1, 1]
    answer = {"probabilities": {"positive": 0.2, "none": 0.42, "negative": 0.38}}
    assert [said_at(answer | {"label": label}) for label in ("negative", None)] == [2, 1]  # what is explained


@pytest.mark.parametrize("batch_size", [1, 8])
def test_the_pipeline_asks_it_about_aspects_that_are_new(pipe, batch_size):
    aspects = ["price", "noise at night", "Safety", "far \ud800"]
    options = {"aspects": aspects, "return_all": True, "batch_size": batch_size}
    answered = [answer for own in pipe(TEXTS[:3], **options) for answer in own]
    calibration, pipe.model.config.likeness_calibration = pipe.model.config.likeness_calibration, None
    of_model = [answer for own in pipe(TEXTS[:3], **options) for answer in own]
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
        said = answer["sentiment"] if answer["present"] > 0.5 else {"none": 1}
        assert answer["label"] == max(said, key=said.get)
        assert answer["score"] == answer["probabilities"][answer["label"]]


def test_calibration_needs_a_slope_and_an_intercept():
    with pytest.raises(StrictDataclassError, match=r"likeness_calibration=\[1.0\]: a slope and an intercept, or None"):
        QACGBertConfig(likeness_calibration=[1.0])


class Rows:
    """What calibration looks at of a task."""

    contexts, none_label = object(), "none"

    def __init__(self, *labels: str):
        number = len(labels)
        self.splits = {
            "validation": {**{name: ["a"] * number for name in ("text", "target", "aspect")}, "label": labels}
        }


def test_calibration(pipe, monkeypatch):
    generator = np.random.default_rng(0)
    found = generator.uniform(0, 1, 20000)
    speaks = generator.uniform(0, 1, 20000) < 1 / (1 + np.exp(2 - 5 * found))
    task = Rows(*np.where(speaks, "positive", "none"))
    numbers = []

    def fake(model, tokenizer, texts, targets, aspects):
        numbers.append(len(texts))
        return torch.from_numpy(sign * found[: len(texts)])

    monkeypatch.setattr(fitting, "likeness", fake)
    sign = 1
    terms = Rows("none")
    terms.contexts = None  # targets that are words of the texts
    calibrated = fitting.calibrate_likeness(pipe.model, pipe.tokenizer, [terms, task])
    assert calibrated["likeness_calibration"] == pytest.approx([5, -2], abs=0.25)
    assert numbers == [20000]
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
