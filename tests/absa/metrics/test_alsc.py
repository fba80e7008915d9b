"""The label of given targets, against scikit-learn and by hand."""

import math
import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from absa.metrics.alsc import LABELS, alsc_scores
from absa.metrics.aspect_polarity import aspect_polarity_scores

quietly = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


def sentences_of(labels, sizes):
    """Targets with these labels, so many for each sentence."""
    labels = iter(labels)
    return [[{"target": [place, place + 1], "label": next(labels)} for place in range(size)] for size in sizes]


@pytest.fixture
def drawn():
    generator = np.random.default_rng(3)
    sizes = generator.integers(0, 4, 60)
    gold, predicted = (generator.choice(LABELS, int(sizes.sum()), p=[0.6, 0.3, 0.1]).tolist() for _ in range(2))
    return gold, predicted, sizes


@quietly
def test_as_others_compute_them(drawn):
    gold, predicted, sizes = drawn
    scores = alsc_scores(sentences_of(gold, sizes), sentences_of(predicted, sizes))
    assert scores["accuracy"] == pytest.approx(accuracy_score(gold, predicted))
    assert scores["macro_f1"] == pytest.approx(f1_score(gold, predicted, average="macro"))
    majority = ["positive"] * len(gold)
    assert scores["floor_majority_accuracy"] == pytest.approx(accuracy_score(gold, majority))
    floor = f1_score(gold, majority, average="macro", zero_division=0)
    assert scores["floor_majority_macro_f1"] == pytest.approx(floor)
    # The same figures as of a model that is sure of its labels.
    sure = [[float(label == name) for name in LABELS] for label in predicted]
    rows = [str(number) for number in range(len(gold))]
    others = aspect_polarity_scores(rows, rows, rows, gold, sure, label_names=LABELS)
    same = ("accuracy", "macro_f1", *(f"f1/{name}" for name in LABELS), "floor_majority_accuracy")
    assert {name: scores[name] for name in same} == {name: others[name] for name in same}


@quietly
def test_sentences_of_several_labels():
    gold = sentences_of(["positive", "negative", "positive", "positive", "neutral", "negative"], [2, 2, 0, 2])
    predicted = sentences_of(["positive", "positive", "positive", "negative", "neutral", None], [2, 2, 0, 2])
    scores = alsc_scores(gold, predicted)
    assert (scores["accuracy"], scores["mixed_accuracy"]) == (3 / 6, 2 / 4)  # of the first and the last sentence
    assert math.isnan(alsc_scores(gold[1:3], predicted[1:3])["mixed_accuracy"])


@quietly
def test_no_label_is_wrong():
    gold = sentences_of(["positive", "negative", "positive"], [2, 1, 0])
    scores = alsc_scores(gold, sentences_of(["positive", None, None], [2, 1, 0]))
    assert (scores["accuracy"], scores["invalid_share"]) == (1 / 3, 2 / 3)
    assert scores["f1/positive"] == 2 / 3  # recall 1/2, precision 1
    assert scores["macro_f1"] == 1 / 3
    assert math.isnan(scores["f1/neutral"])
    counts = {name: scores[name] for name in scores if name.startswith("count")}
    assert counts == {
        "count_sentences": 3,
        "count_targets": 3,
        "count/positive": 2,
        "count/negative": 1,
        "count/neutral": 0,
    }


@quietly
def test_intervals_are_of_sentences():
    """The targets of a sentence are drawn together: of one sentence there is nothing to draw."""
    gold, predicted = (sentences_of([*labels], [2]) for labels in (("positive", "negative"), ("positive", "positive")))
    scores = alsc_scores(gold, predicted, bootstrap=20)
    assert scores["accuracy_low"] == scores["accuracy"] == scores["accuracy_high"] == 0.5
    assert "floor_majority_accuracy_low" not in scores


@pytest.mark.parametrize(
    ("gold", "predicted", "told"),
    [
        (["positive"], ["good"], "predicted[0] has the label 'good': use one of ['positive', 'negative', 'neutral']."),
        (["conflict"], ["positive"], "gold[0] has the label 'conflict': use one of"),
        ([None], ["positive"], "gold[0] has label=None: give a string."),
        ([], [], "gold has no targets: a score needs at least one."),
    ],
)
def test_bad_labels(gold, predicted, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        alsc_scores(*(sentences_of(labels, [len(labels)]) for labels in (gold, predicted)))


def test_other_targets():
    gold, other = sentences_of(["positive"], [1]), [[{"target": [5, 6], "label": "positive"}]]
    for predicted, told in ((other, "[(5, 6)]"), ([gold[0] * 2], "[(0, 1), (0, 1)]"), ([[]], "[]")):
        message = f"gold[0] has the targets [(0, 1)], and predicted[0] {told}: give the same, each once."
        with pytest.raises(ValueError, match=re.escape(message)):
            alsc_scores(gold, predicted)
