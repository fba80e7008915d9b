"""absa.load with two models: what one finds, the other judges."""

import math
from pathlib import Path
from statistics import median

import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer

import absa
from absa import models
from absa.found_targets import FoundTargetPipeline
from absa.tasks.describing import describe

SENTIMENTS = ["positive", "neutral", "negative"]
TEXTS = [
    "The price is dear, but the price is nice.",
    "",
    "\U0001f600 Soho is safe\u2026  but\u00a0not\tcheap \U0001f44d\U0001f3fd!",
    " \n\u200b",
    "It wasn't near; cafe\u0301 and \u4e2d\u6587\n\nare far \ud83d.",
    "but nice and " * 3 + "safe",
    "x" * 300 + " is dull",
]
LONG = "nice but dear " * 200
KINDS = ["bert", "qacg_bert", "td_lstm"]


@pytest.fixture(scope="module")
def make_classifier(tiny_bert: Path, save_word_model, tmp_path_factory):
    """A classifier of random weights that is asked about any words; TD-LSTM knows where they stand."""

    def make(kind: str, labels: list[str] = SENTIMENTS) -> str:
        if kind == "td_lstm":
            return str(save_word_model(" ".join(TEXTS).encode("utf-8", "ignore").decode(), architecture=kind))
        in_words = "text" if kind == "qacg_bert" else "id"
        described = describe(None, labels, none_label="none" if "none" in labels else None, context_source=in_words)
        torch.manual_seed(0)
        model = models.load_model(str(tiny_bert), models.build_config(kind, str(tiny_bert), described), "sdpa")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.2 * torch.randn_like(parameter)
        folder = tmp_path_factory.mktemp(kind)
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
        return str(folder)

    return make


@pytest.fixture(scope="module")
def classifiers(make_classifier) -> dict[str, str]:
    return {kind: make_classifier(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def finders(tiny_tagger: Path, make_generator) -> dict[str, str]:
    return {
        "tagger": str(tiny_tagger),
        **{task: str(make_generator(task)) for task in ("ate", "aesc", "aope", "aste")},
    }


def places(opinion: absa.Opinion) -> tuple:
    return tuple(
        getattr(opinion, f"{field}{end}") for field in ("target", "opinion") for end in ("", "_start", "_end")
    )


@pytest.mark.parametrize(
    ("found_by", "kind"),
    [*(("tagger", kind) for kind in KINDS), *((task, "bert") for task in ("ate", "aesc", "aope", "aste"))],
)
def test_it_is_what_the_two_say_by_hand(found_by: str, kind: str, finders, classifiers):
    finder, classifier = finders[found_by], classifiers[kind]
    opinions = absa.load(finder, classifier)(TEXTS, text_ids=range(10, 10 + len(TEXTS)))
    found, judge = absa.load(finder)(TEXTS), absa.load(classifier)
    assert [len(of_text) > 0 for of_text in opinions] == [len(of_text) > 0 for of_text in found]
    assert sum(map(bool, opinions)) > 3
    for number, (text, of_text) in enumerate(zip(TEXTS, opinions, strict=True)):
        assert list(dict.fromkeys(map(places, found[number]))) == [places(one) for one in of_text]
        for one in of_text:
            assert one.text_id == 10 + number
            assert one.aspect is None
            assert text[one.target_start : one.target_end] == one.target
            if one.opinion is not None:
                assert text[one.opinion_start : one.opinion_end] == one.opinion
            question = {"text": text, "target": one.target}
            question |= {"target_start": one.target_start, "target_end": one.target_end}
            (by_hand,) = judge(question)
            assert one.label == by_hand.label
            if one.label is not None:
                assert one.probabilities == pytest.approx(by_hand.probabilities, abs=1e-5)
                assert one.score == max(one.probabilities.values()) == one.probabilities[one.label]
    assert any(one.label for of_text in opinions for one in of_text)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_together_and_one_by_one(kind: str, finders, classifiers):
    read = absa.load(finders["tagger"], classifiers[kind], batch_size=3)
    texts = [*TEXTS, LONG]
    together = read(texts)
    for given in (tuple(texts), iter(texts), pd.Series(texts, range(5, 5 + len(texts)), dtype=object)):
        assert read(given) == together
    for number, text in enumerate(texts):
        alone = read(text, text_ids=[number], batch_size=1)
        assert list(map(places, alone)) == list(map(places, together[number]))
        for one, other in zip(alone, together[number], strict=True):
            assert one.label == other.label
            assert one.score == pytest.approx(other.score, abs=1e-5)
    assert read([]) == read("") == []


def found_by(*answers: dict):
    """A finder that gives each text these answers."""
    return lambda texts, batch_size: [list(answers) for _ in texts]


def term(text: str, target: str, **fields) -> dict:
    start = text.index(target)
    return {"target": target, "target_start": start, "target_end": start + len(target), **fields}


def test_what_differs_in_its_label_alone_is_one_target(classifiers):
    text = "The price is dear but nice."
    dear, nice = ({"opinion": word, "opinion_start": text.index(word)} for word in ("dear", "nice"))
    found = [
        term(text, "price", **words, label=label, score=0.9)
        for words, label in ((dear, "positive"), (dear, "negative"), (nice, "positive"))
    ]
    answers = FoundTargetPipeline(found_by(*found), absa.load(classifiers["bert"]).pipe)(text)
    assert [answer["opinion"] for answer in answers] == ["dear", "nice"]
    assert answers[0]["probabilities"] == pytest.approx(answers[1]["probabilities"])


@pytest.mark.parametrize("kind", KINDS)
def test_own_aspects_of_each_target(kind: str, finders, classifiers):
    read = absa.load(finders["tagger"], classifiers[kind], aspects=["price", "noise at night"])
    opinions, alone = read(TEXTS[0]), read(TEXTS[0], aspects=[])
    assert len(alone) > 1
    assert {one.aspect for one in alone} == {None}
    assert [places(one) for one in opinions] == [places(one) for one in alone for _ in range(2)]
    assert [one.aspect for one in opinions] == ["price", "noise at night"] * len(alone)
    question = {"text": TEXTS[0], "target": alone[0].target, "aspect": "price"}
    question |= {"target_start": alone[0].target_start, "target_end": alone[0].target_end}
    assert opinions[0].probabilities == pytest.approx(read.pipe.classifier(question)["probabilities"], abs=1e-5)
    for aspects, said in (
        ("price", "aspects='price': give a list of words"),
        (["price", 3], r"aspects has 3 \(int\): give words"),
        (["price", "-"], "aspects has '-'"),
    ):
        with pytest.raises(ValueError, match=said):
            read(TEXTS, aspects=aspects)
    with pytest.raises(ValueError, match="return_all='no': give True or False"):
        read(TEXTS, return_all="no")


@pytest.mark.parametrize("kind", ["bert", "qacg_bert"])
def test_a_long_aspect_takes_nothing_from_another(kind: str, finders, classifiers):
    read = absa.load(finders["tagger"], classifiers[kind])
    room = models.most_tokens(read.pipe.classifier.tokenizer.model_max_length, read.pipe.classifier.model.config)
    long = " ".join(["price"] * (room - 4))  # three are special, and one is of the text: none is left for a target
    opinions = read(TEXTS[0], aspects=["price", long])
    assert [(one.aspect, one.label is None) for one in opinions] == [("price", False), (long, True)] * (
        len(opinions) // 2
    )
    assert len(opinions) > 1
    with pytest.raises(ValueError, match=r"aspects has 'price price .* leaves no room for a text: give fewer words"):
        read(TEXTS[0], aspects=["price", f"{long} price"])


@pytest.mark.parametrize("kind", ["bert", "qacg_bert"])
def test_own_aspects_without_a_finder(kind: str, classifiers):
    read = absa.load(classifiers[kind], aspects=["price", "noise at night"])
    assert [[one.aspect for one in of_text] for of_text in read(TEXTS[:2])] == [["price", "noise at night"], []]
    (opinion,) = read(TEXTS[0], aspects=["price"])
    assert (opinion.target, opinion.label in SENTIMENTS) == (None, True)


@pytest.mark.parametrize("kind", ["bert", "qacg_bert"])
def test_a_classifier_may_deny_an_aspect_but_no_target(kind: str, finders, make_classifier):
    read = absa.load(finders["tagger"], make_classifier(kind, ["none", "positive", "negative"]), aspects=["price"])
    # Its weights are random: half of the answers become none.
    of_first = [one.probabilities for one in read(TEXTS[0], return_all=True)]
    odds = [math.log(of_one["none"] / max(of_one["positive"], of_one["negative"])) for of_one in of_first]
    with torch.no_grad():
        read.models[1].classifier.bias[0] -= median(odds)
    everything, kept = (read(TEXTS, return_all=return_all) for return_all in (True, None))
    labels = [one.label for of_text in everything for one in of_text]
    assert 0 < labels.count("none") < len(labels)
    assert [[one for one in of_text if one.label != "none"] for of_text in everything] == kept
    assert read(TEXTS, **read.all_answers) == everything
    with torch.no_grad():
        read.models[1].classifier.bias[0] += 100
    assert not any(read(TEXTS))
    as_such = read(TEXTS, aspects=[])
    for of_text, with_aspect in zip(as_such, everything, strict=True):
        assert list(map(places, of_text)) == list(map(places, with_aspect))
    for one in (one for of_text in as_such for one in of_text if one.label):
        assert one.probabilities["none"] == 0
        assert one.score == one.probabilities[one.label] == max(one.probabilities.values())
        assert sum(one.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_classifier_does_not_read_has_no_label(kind: str, classifiers):
    """Behind its cut, or so long that there is no room for the text, or invisible; the others are judged."""
    text = "nice \u200b is safe, " + "dear and cheap " * 4 + "but far"
    classifier, long = absa.load(classifiers[kind]).pipe, text[7:]
    found = [term(text, target) for target in ("nice", "\u200b", "safe", "far", long)]
    classifier.tokenizer.model_max_length = 12
    answers = FoundTargetPipeline(found_by(*found), classifier)(text)
    assert [answer["target"] for answer in answers] == ["nice", "\u200b", "safe", "far", long]
    assert [answer["label"] is None for answer in answers] == [False, True, False, True, True]
    for answer in (answers[1], answers[4]):
        assert answer["score"] is answer["probabilities"] is None
    assert answers[0]["truncated"] is answers[3]["truncated"] is True


def test_a_word_that_the_classifier_does_not_know(classifiers):
    """A vocabulary of words has none for an emoji."""
    text = "nice \U0001f600"
    pipe = FoundTargetPipeline(
        found_by(*(term(text, word) for word in text.split())), absa.load(classifiers["td_lstm"]).pipe
    )
    assert [answer["label"] is None for answer in pipe(text)] == [False, True]


def test_each_model_has_its_parameters(finders, classifiers):
    read = absa.load(finders["aste"], classifiers["qacg_bert"], task="ate", num_beams=2, abstain_below=1.0)
    opinions = [one for of_text in read(TEXTS) for one in of_text]
    assert {(one.opinion, one.label) for one in opinions} == {(None, None)}
    for parameters, said in (
        (
            {"targets": ["price"]},
            r"model=\S+ is a GlobalContextFor\w+; targets: no parameter of aspect-term-sentiment",
        ),
        ({"task": "aste"}, r"model=\S+ is a GlobalContextFor\w+; task: no parameter: leave it out"),
        ({"abstain_below": 0.5}, r"classifier=\S+ is a BertFor\w+; abstain_below: no parameter, there are targets"),
    ):
        with pytest.raises(ValueError, match=said):
            absa.load(finders["tagger"], classifiers["bert"], **parameters)


def test_pairs_that_are_none(finders, classifiers, make_generator, tiny_classifier: Path):
    tagger, judge = finders["tagger"], classifiers["bert"]
    fixed = r"classifier=\S+ is a {} that cannot be asked about any words of a text: give a classifier that was"
    for pair, said in (
        ((judge, tagger), r"model=\S+ is a BertFor\w+ that finds no targets in texts: give first a tagger, or a"),
        ((str(make_generator("ote")), judge), r"model=\S+ is a PointerForABSA that finds no targets"),
        ((str(make_generator("alsc")), judge), r"model=\S+ is a PointerForABSA that finds no targets"),
        ((tagger, str(tiny_classifier)), fixed.format("QACGBertForSequenceClassification")),
        ((tagger, tagger), fixed.format("GlobalContextForTokenClassification")),
        ((tagger, "outputs/nothing"), "classifier=outputs/nothing is no folder with a model"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=said):
            absa.load(*pair)


def test_what_the_finder_does_not_read_is_told(finders, classifiers, caplog):
    read = absa.load(finders["tagger"], classifiers["bert"])
    read.pipe.finder._max_length = 8
    text = TEXTS[0]
    cut, whole = read([text, "It is dear"])
    (told,) = caplog.messages
    assert told.startswith("1 of 2 texts are longer than the model reads, the first is 0")
    answers = read.pipe(one for one in (text, "It is dear"))  # of an iterator, which both models read
    assert [[one["truncated"] for one in own] for own in answers] == [[True] * len(cut), [False] * len(whole)]


def test_what_is_no_text(finders, classifiers):
    read = absa.load(finders["tagger"], classifiers["bert"])
    for texts, said in (
        ([TEXTS[0], None], "input 1: it is None"),
        ([TEXTS[0], {"words": ["nice"]}], "input 1: it is {'words': .*: give a text"),
        ({"words": ["nice"]}, "input 0: it is {'words': .*: give a text"),
        (pd.DataFrame({"text": TEXTS[:1]}), "table"),
        (3, "the input is 3"),
    ):
        with pytest.raises(ValueError, match=said):
            read(texts)
