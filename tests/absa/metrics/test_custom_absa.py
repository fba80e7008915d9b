"""Figures for people's own data: by hand, against scikit-learn, and over groups of unequal size."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

from absa.metrics.custom_absa import absa_scores
from absa.metrics.ratios import DegenerateScoreWarning

LABELS = ("none", "good", "bad")


def columns(rows):
    return dict(zip(("ids", "targets", "aspects", "labels", "probabilities"), zip(*rows, strict=True), strict=True))


# Groups of two, one and two rows.
BY_HAND = columns(
    [
        ("1", "phone", "battery", "good", [0.2, 0.7, 0.1]),  # right
        ("1", "phone", "screen", "none", [0.6, 0.3, 0.1]),  # right
        ("1", "case", "price", "bad", [0.5, 0.1, 0.4]),  # none; bad is the best of the others
        ("2", "phone", "battery", "bad", [0.1, 0.8, 0.1]),  # good
        ("2", "phone", "screen", "none", [0.3, 0.4, 0.3]),  # good
    ]
)


def test_by_hand():
    scores = absa_scores(**BY_HAND, label_names=LABELS)
    assert scores == pytest.approx(
        {
            "strict_accuracy": 1 / 3,
            "accuracy": 2 / 5,
            # none: 1 hit, 2 gold, 2 predicted -> 2/4. good: 1, 1, 3 -> 2/4. bad: 0, 2, 0 -> 0.
            "macro_f1": (1 / 2 + 1 / 2 + 0) / 3,
            # present in gold: 3, predicted: 3, both: battery 1 and 2
            "presence_precision": 2 / 3,
            "presence_recall": 2 / 3,
            "presence_f1": 4 / 6,
            "sentiment_accuracy": 2 / 3,  # battery 1 and price
            # id 1 has a good battery, right, and a bad price, right among the sentiments; id 2 has one opinion
            "mixed_accuracy": 2 / 2,
            "count_mixed_rows": 2,
            "accuracy/battery": 1 / 2,
            "accuracy/price": 0.0,
            "accuracy/screen": 1 / 2,
        },
        abs=1e-15,
    )
    in_all = {name: score for name, score in scores.items() if "/" not in name}
    assert absa_scores(**BY_HAND, label_names=LABELS, by_aspect=False) == in_all
    without_none = absa_scores(**BY_HAND, label_names=LABELS, none_label=None)
    of_presence = {"presence_precision", "presence_recall", "presence_f1", "sentiment_accuracy"}
    others = {name: score for name, score in scores.items() if name not in of_presence}
    # Then none is a label like others: all rows are of texts with several, and two of them are right.
    assert without_none == {**others, "mixed_accuracy": 2 / 5, "count_mixed_rows": 5}


def test_the_none_label_may_stand_anywhere():
    moved = [[row[1], row[2], row[0]] for row in BY_HAND["probabilities"]]
    scores = absa_scores(**{**BY_HAND, "probabilities": moved}, label_names=np.array(["good", "bad", "none"]))
    assert scores == absa_scores(**BY_HAND, label_names=LABELS)


def random_rows(seed, num_ids=30):
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(num_ids):
        for aspect in generator.choice(["a", "b", "c", "d"], size=generator.integers(1, 5), replace=False):
            probabilities = generator.dirichlet(np.ones(3))
            rows.append((str(number), "", str(aspect), str(generator.choice(LABELS)), probabilities.tolist()))
    return columns(rows)


@pytest.mark.parametrize("seed", range(5))
def test_equals_sklearn(seed):
    rows = random_rows(seed)
    scores = absa_scores(**rows, label_names=LABELS)
    predicted = [LABELS[int(np.argmax(row))] for row in rows["probabilities"]]
    precision, recall, f1, _ = precision_recall_fscore_support(
        [label != "none" for label in rows["labels"]], [label != "none" for label in predicted], average="binary"
    )
    expected = {
        "accuracy": accuracy_score(rows["labels"], predicted),
        "macro_f1": f1_score(rows["labels"], predicted, average="macro"),
        "presence_precision": precision,
        "presence_recall": recall,
        "presence_f1": f1,
    }
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-12)


def test_macro_f1_leaves_out_labels_that_do_not_occur():
    # none: 2 * 1 / (1 + 2), good: 2 * 0 / (1 + 0), bad occurs nowhere.
    rows = columns([("1", "", "a", "none", [0.9, 0.1, 0.0]), ("2", "", "a", "good", [0.9, 0.1, 0.0])])
    with pytest.warns(DegenerateScoreWarning, match="presence_precision is NaN"):
        scores = absa_scores(**rows, label_names=LABELS)
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 0) / 2, abs=1e-15)


def test_only_none_in_gold():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = absa_scores(["1"], [""], ["a"], ["none"], [[1, 0, 0]], label_names=LABELS)
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined == {
        "presence_precision",
        "presence_recall",
        "presence_f1",
        "sentiment_accuracy",
        "mixed_accuracy",
    }
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}


def test_resamples_hold_whole_groups():
    # Ids with one right row of one, and with one right row of three. Drawn: a twice, both, or b twice, so strict
    # accuracy is 1, 1/2 or 0 and accuracy 2/2, 2/4 or 2/6, with probabilities 1/4, 1/2, 1/4.
    right, wrong = ("good", [0.0, 1.0, 0.0]), ("good", [0.0, 0.0, 1.0])
    rows = columns(
        [("a", "", "x", *right), ("b", "", "x", *right), ("b", "", "y", *wrong), ("b", "", "z", *wrong)],
    )
    scores = absa_scores(**rows, label_names=LABELS, bootstrap=100)
    assert (scores["strict_accuracy_low"], scores["strict_accuracy_high"]) == (0, 1)
    assert (scores["accuracy_low"], scores["accuracy_high"]) == (2 / 6, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_names": ["none"]}, r"labels=\['none'\]: name two or more labels"),
        ({"label_names": None}, "labels=None: name two or more labels"),
        ({"label_names": set(LABELS)}, r"labels={'bad', 'good', 'none'}: name two or more labels"),
        ({"label_names": ["none", ["good"]]}, r"labels=\['none', \['good'\]\]: name two or more labels"),
        ({"label_names": LABELS, "none_label": ["none"]}, r"none_label=\['none'\] is not one of the labels"),
        ({"label_names": ["none", "good", "good"]}, "name two or more labels, each once"),
        ({"label_names": ["absent", "good", "bad"]}, r"none_label='none' is not one of the labels \['absent'"),
        ({"label_names": ["none", "good", "awful"]}, r"unknown label 'bad' for \('1', 'case', 'price'\)"),
    ],
)
def test_bad_labels(options, message):
    with pytest.raises(ValueError, match=message):
        absa_scores(**BY_HAND, **options)
