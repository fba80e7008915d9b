"""SemEval-2014's figures: by hand, and against a naive copy of the definitions."""

import math

import numpy as np
import pytest

from absa.metrics import semeval2014
from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.semeval2014 import LABELS, semeval2014_scores

pytestmark = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


# Probabilities in the order none, positive, neutral, negative, conflict.
BY_HAND = {
    # gold {food, service}, predicted {food, price}
    ("1", ""): {
        "food": ("positive", [0.1, 0.6, 0.1, 0.1, 0.1]),  # right in all three
        "service": ("negative", [0.6, 0.1, 0.05, 0.2, 0.05]),  # none; the best of the others is right
        "price": ("none", [0.2, 0.5, 0.1, 0.1, 0.1]),
    },
    # gold {food, price, ambience}, predicted {food, price}
    ("2", ""): {
        "food": ("neutral", [0.0, 0.1, 0.3, 0.2, 0.4]),  # conflict: wrong of four, right of three
        "price": ("negative", [0.1, 0.2, 0.4, 0.25, 0.05]),  # neutral: wrong of four and three, right of two
        "ambience": ("conflict", [0.7, 0.1, 0.1, 0.1, 0.0]),  # none; positive is the first of the others: wrong
    },
    # gold {}, predicted {service}: outside the literature's figures
    ("3", ""): {"service": ("none", [0.1, 0.6, 0.1, 0.1, 0.1])},
}


def test_by_hand(as_rows):
    scores = semeval2014_scores(*as_rows(BY_HAND, semeval2014))
    expected = {
        # hits food; food, price -> 3. Predicted 2 + 2, gold 2 + 3.
        "precision": 3 / 4,
        "recall": 3 / 5,
        "f1": 6 / 9,
        "accuracy_4way": 2 / 5,  # food 1, service
        "accuracy_3way": 3 / 4,  # and food 2; ambience is conflict, so not asked
        "accuracy_binary": 3 / 3,  # food 1, service, price
        # of both sentences with gold labels all five rows, which differ: right as in accuracy_4way
        "mixed_accuracy": 2 / 5,
        "count_mixed_rows": 5,
        "audit_precision": 3 / 5,  # service of sentence 3 counts
        "audit_recall": 3 / 5,
        "audit_f1": 6 / 10,
        "audit_strict_accuracy": 0.0,
        # price: predicted in 1 and 2, gold in 2
        "audit_price_precision": 1 / 2,
        "audit_price_recall": 1.0,
        "audit_price_f1": 2 / 3,
        # P(none) of gold none 0.2, 0.9, both above 0.1
        "audit_price_auc": 1.0,
        "audit_food_sentiment_accuracy": 1 / 2,
        "floor_all_none_strict_accuracy": 1 / 3,
        "floor_all_present_precision": 5 / 10,
        "floor_all_present_f1": 10 / 15,
        "floor_majority_accuracy_4way": 2 / 5,
        "floor_majority_accuracy_3way": 2 / 4,
        "floor_majority_accuracy_binary": 2 / 3,
        "count_groups": 3,
        "count_groups_without_gold": 1,
        "count_none": 10,
        "count_positive": 1,
        "count_neutral": 1,
        "count_negative": 2,
        "count_conflict": 1,
    }
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-15)


def test_nothing_predicted(as_rows):
    rows = as_rows({("1", ""): {"food": ("positive", [0.6, 0.4, 0, 0, 0])}}, semeval2014)
    with pytest.warns(DegenerateScoreWarning, match="^precision is NaN: no aspect is predicted to be present"):
        scores = semeval2014_scores(*rows)
    assert math.isnan(scores["precision"])
    assert (scores["recall"], scores["f1"], scores["accuracy_4way"]) == (0, 0, 1)


def test_only_conflict_leaves_the_narrower_accuracies_undefined(as_rows):
    with pytest.warns(
        DegenerateScoreWarning, match="accuracy_binary is NaN: no gold label is one of positive, negative"
    ):
        scores = semeval2014_scores(*as_rows({("1", ""): {"food": ("conflict", [0, 0, 0, 0, 1])}}, semeval2014))
    assert scores["accuracy_4way"] == 1
    assert math.isnan(scores["accuracy_3way"])
    assert math.isnan(scores["accuracy_binary"])


def naive_scores(ids, targets, aspects, labels, probabilities):
    """The definitions of the literature, row by row, replacing a prediction only if it is outside the choice."""
    predictions = [LABELS[int(np.argmax(row))] for row in probabilities]
    groups = list(zip(ids, targets, strict=True))
    with_gold = {group for group, label in zip(groups, labels, strict=True) if label != "none"}
    pairs = [
        (label != "none", prediction != "none")
        for group, label, prediction in zip(groups, labels, predictions, strict=True)
        if group in with_gold
    ]
    hits = sum(gold and predicted for gold, predicted in pairs)
    precision, recall = hits / sum(predicted for _, predicted in pairs), hits / sum(gold for gold, _ in pairs)
    figures = {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}
    choices = {
        "accuracy_4way": LABELS[1:],
        "accuracy_3way": ("positive", "neutral", "negative"),
        "accuracy_binary": ("positive", "negative"),
    }
    for name, choice in choices.items():
        right = []
        for label, prediction, row in zip(labels, predictions, probabilities, strict=True):
            if label in choice:
                best = max(choice, key=lambda sentiment: row[LABELS.index(sentiment)])
                right.append((prediction if prediction in choice else best) == label)
        figures[name] = sum(right) / len(right)
    return figures


def test_equals_the_naive_definitions(random_rows):
    rows = random_rows(semeval2014)
    scores, naive = semeval2014_scores(*rows), naive_scores(*rows)
    assert {name: scores[name] for name in naive} == pytest.approx(naive, abs=1e-12)
