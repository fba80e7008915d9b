"""absa.load: what texts say, as Opinions."""

import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import torch
from transformers import AutoTokenizer, GenerationConfig

import absa
from absa.opinions import SCHEMA, to_table
from modeling_global_context import GlobalContextConfig, GlobalContextForTokenClassification, labels_of

TEXTS = ["LOCATION1 is dear but safe.", "Nothing here.", "LOCATION2 is near LOCATION1."]
QUESTIONS = 4  # aspects of a target


@pytest.fixture(scope="module")
def predictor(make_checkpoint):
    return absa.load(str(make_checkpoint()), return_all=True)


@pytest.mark.filterwarnings("ignore:.*names one of the targets")
def test_opinions_of_texts(predictor):
    opinions = predictor(TEXTS, text_ids=["a", "b", "c"])
    assert [len(of_text) for of_text in opinions] == [QUESTIONS, 0, 2 * QUESTIONS]
    assert predictor(TEXTS[0]) == predictor(TEXTS[:1])[0]
    first = opinions[0][0]
    assert (first.text_id, first.target, first.aspect) == ("a", "LOCATION1", "general")
    assert first.label == max(first.probabilities, key=first.probabilities.get)
    assert first.score == first.probabilities[first.label]
    assert math.isclose(sum(first.probabilities.values()), 1, abs_tol=1e-6)
    assert first.opinion is first.target_start is None


def test_parameters_of_a_call(predictor):
    (opinion,) = predictor("Camden is dear.", targets={"Camden": "LOCATION1"}, aspects=["price"])
    assert (opinion.target, opinion.aspect) == ("Camden", "price")


@pytest.fixture(scope="module")
def tagger(tiny_bert: Path, tmp_path_factory):
    """Finds terms of random weights."""
    tokenizer, labels = AutoTokenizer.from_pretrained(tiny_bert), labels_of("BIEOS", ["POS", "NEG"])
    torch.manual_seed(0)
    config = GlobalContextConfig(
        vocab_size=len(tokenizer), lstm_size=8, initializer_range=0.5, id2label=dict(enumerate(labels))
    )
    folder = tmp_path_factory.mktemp("tagger")
    GlobalContextForTokenClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return absa.load(str(folder), batch_size=2)


def test_a_question_is_asked_alone(predictor):
    question = {"text": "All is dear.", "target": "LOCATION2", "aspect": "price"}
    (opinion,) = predictor(question, text_ids=["a"])
    assert (opinion.text_id, opinion.target, opinion.aspect) == ("a", "LOCATION2", "price")
    assert predictor([TEXTS[0], question])[1][0].probabilities == pytest.approx(opinion.probabilities)


def test_terms_of_texts(tagger):
    """However they are given; what has no words says nothing."""
    texts = [TEXTS[0], "", " \n\t", TEXTS[2], "nice but dear " * 5000]
    opinions = tagger(texts)
    assert [bool(of_text) for of_text in opinions] == [True, False, False, True, True]
    for number, of_text in enumerate(opinions):
        for opinion in of_text:
            assert opinion.text_id == number
            assert texts[number][opinion.target_start : opinion.target_end] == opinion.target != ""
    assert tagger("") == tagger(iter([])) == tagger([]) == []
    for given in (tuple(texts), iter(texts), pd.Series(texts)):
        assert tagger(given) == opinions
    (alone,) = tagger([TEXTS[0]], text_ids=["a"])
    assert [opinion.target for opinion in alone] == [opinion.target for opinion in opinions[0]]
    words = tagger({"words": ["nice", "but", "dear"]})
    assert [opinion.target for opinion in words] == [opinion.target for opinion in tagger("nice but dear")]


@pytest.mark.parametrize("which", ["predictor", "tagger"])
@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (None, "the input is None"),
        (3, "the input is 3"),
        (b"safe", "the input is b'safe'"),
        (pd.DataFrame({"text": TEXTS}), "table"),
        (["safe", None], "input 1: it is None"),
        (("safe", b"safe"), "input 1: it is b'safe'"),
        (pd.Series(["safe", float("nan")], dtype=object), "input 1: it is nan"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_texts_that_are_none_are_refused(which: str, texts, said: str, request):
    read = request.getfixturevalue(which)
    with pytest.raises(ValueError, match=said):
        read(texts)
    if isinstance(texts, list):
        with pytest.raises(ValueError, match=said):
            read(iter(texts))


def test_parameters_of_a_tagger(tagger):
    one, other = (tagger(TEXTS, batch_size=batch_size) for batch_size in (1, 3))
    for given, expected in zip(one, other, strict=True):
        assert [opinion.target for opinion in given] == [opinion.target for opinion in expected]
    with pytest.raises(ValueError, match="batch_size=0"):
        tagger(TEXTS, batch_size=0)
    with pytest.raises(TypeError, match="aspects: no parameter of aspect-term-sentiment, which has decoding"):
        tagger(TEXTS, aspects=["price"])


@pytest.mark.parametrize("which", ["predictor", "tagger"])
def test_as_many_ids_as_texts(which: str, request):
    with pytest.raises(ValueError, match="text_ids has 2 ids for 1 texts"):
        request.getfixturevalue(which)(iter(TEXTS[:1]), text_ids=["a", "b"])


def test_aspect_terms_that_are_given(make_generator):
    """By their words, or by their places as the pipeline of the checkpoint takes them."""
    checkpoint = make_generator("aoe")
    GenerationConfig.from_pretrained(checkpoint, min_new_tokens=2).save_pretrained(checkpoint)  # at least one opinion
    read = absa.load(str(checkpoint), targets=["dear", "safe"])
    opinions = read(TEXTS)
    places = [[(one.target, one.target_start) for one in of_text] for of_text in opinions]
    assert {*places[0]} == {("dear", 13), ("safe", 22)}
    assert places[1:] == [[], []]
    read = absa.load(str(checkpoint))
    asked = [{"text": TEXTS[0], "target_start": start, "target_end": start + 4} for start in (13, 22)]
    assert [one.opinion for of_one in read(asked) for one in of_one] == [one.opinion for one in opinions[0]]
    assert read(TEXTS[0], targets=["safe"]) == read(TEXTS, targets=["safe"])[0]
    # Two targets that are parts of one word are one question.
    assert read("cheap-dear", targets=["cheap", "dear"]) == read("cheap-dear", targets=["cheap"]) != []
    for texts, targets, said in (
        (TEXTS[:1], None, r"input 0: a text alone asks nothing, .*: give targets=\['battery life'\]"),
        ([TEXTS[0], None], ["safe"], "input 1: it is None .*: give a text, or leave targets out"),
        ({"text": TEXTS[0]}, ["safe"], "input 0: it is {'text': .*: give a text, or leave targets out"),
        (pd.DataFrame({"safe": TEXTS}), ["safe"], "table"),
        (TEXTS, {"Camden": "LOCATION1"}, "targets=.* give a list of words"),
    ):
        with pytest.raises(ValueError, match=said):
            read(texts, targets=targets)


def test_a_table(predictor, tmp_path: Path):
    table = to_table(predictor(TEXTS[0]))
    assert table.schema == SCHEMA
    assert table.num_rows == QUESTIONS
    pa.parquet.write_table(table, tmp_path / "opinions.parquet")
    frame = pa.parquet.read_table(tmp_path / "opinions.parquet").to_pandas()
    assert set(dict(frame["probabilities"][0])) == {"none", "positive", "negative"}
    assert to_table([]).schema == SCHEMA


def test_no_such_model():
    with pytest.raises(FileNotFoundError, match=r"model=outputs/nothing is no folder with a model"):
        absa.load("outputs/nothing")
