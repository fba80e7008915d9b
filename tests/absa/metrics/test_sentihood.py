"""SentiHood's figures: by hand, and against a naive copy of the definitions."""

import math
from statistics import mean

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from absa.metrics import sentihood
from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.sentihood import ASPECTS, LABELS, sentihood_scores

pytestmark = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


BY_HAND = {
    # gold {general+, safety-}, predicted {general+, price-, transit+}: one right of three predicted and of two gold
    ("1", "LOCATION1"): {
        "general": ("positive", [0.1, 0.8, 0.1]),
        "price": ("none", [0.3, 0.1, 0.6]),
        "transit-location": ("none", [0.2, 0.7, 0.1]),
        "safety": ("negative", [0.5, 0.1, 0.4]),
    },
    # gold {price-}, predicted {price+}: the right aspect, with the wrong sentiment
    ("1", "LOCATION2"): {"price": ("negative", [0.1, 0.6, 0.3])},
    # gold {}, predicted {}
    ("2", "LOCATION1"): {},
    # gold {}, predicted {general+}
    ("3", "LOCATION1"): {"general": ("none", [0.2, 0.7, 0.1])},
    # gold {price+}, predicted {}; the share of negative is exactly 0.5
    ("4", "LOCATION1"): {"price": ("positive", [0.8, 0.1, 0.1])},
}


def test_by_hand(as_rows):
    scores = sentihood_scores(*as_rows(BY_HAND, sentihood))
    expected = {
        "strict_accuracy": 1 / 5,  # only ("2", "LOCATION1")
        "macro_precision": (1 / 3 + 1 + 0) / 3,  # = 4/9, over the three groups with gold
        "macro_recall": (1 / 2 + 1 + 0) / 3,  # = 1/2
        "macro_f1": 8 / 17,  # 2 * 4/9 * 1/2 / (4/9 + 1/2)
        # general+ 0.1/0.9 right, safety- 0.4/0.5 right, price- 0.3/0.9 wrong, price+ 0.5, not above 0.5: right
        "sentiment_accuracy": 3 / 4,
        # id 1 has general+ and safety-, right, and price- of its other target, wrong
        "mixed_accuracy": 2 / 3,
        "count_mixed_rows": 3,
        "audit_macro_precision": (1 / 3 + 1 + 1 + 0 + 0) / 5,  # = 7/15
        "audit_macro_recall": (1 / 2 + 1 + 1 + 0 + 0) / 5,  # = 1/2
        "audit_macro_f1": 14 / 29,  # 2 * 7/15 * 1/2 / (7/15 + 1/2)
        "audit_strict_accuracy_with_gold": 0 / 3,
        "audit_strict_accuracy_without_gold": 1 / 2,
        # general: gold in group 1, predicted in 1 and 3
        "audit_general_precision": 1 / 2,
        "audit_general_recall": 1.0,
        "audit_general_f1": 2 / 3,
        # P(none) of the four gold none 0.9, 0.9, 0.2, 0.9, all above the 0.1 of the other
        "audit_general_auc": 1.0,
        # price: gold none 0.3, 0.9, 0.9; others 0.1, 0.8. Of six pairs only 0.3 < 0.8 is wrong.
        "audit_price_auc": 5 / 6,
        "audit_price_sentiment_accuracy": 1 / 2,
        # price: shares 1/3 for the negative, 1/2 for the positive
        "audit_price_sentiment_auc": 0.0,
        "floor_all_none_strict_accuracy": 2 / 5,
        # all four predicted: precisions 2/4, 1/4, 1/4 of the groups with gold, recalls 1
        "floor_all_present_macro_precision": 1 / 3,
        "floor_all_present_macro_f1": 1 / 2,  # 2 * 1/3 / (1/3 + 1)
        "floor_majority_sentiment_accuracy": 2 / 4,
        "count_groups": 5,
        "count_groups_without_gold": 2,
        "count_none": 16,
        "count_positive": 2,
        "count_negative": 2,
    }
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-15)


def test_undefined_figures_are_nan_and_warned_of(as_rows):
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = sentihood_scores(*as_rows(BY_HAND, sentihood))
    reasons = dict(str(warning.message).split(" is NaN: ") for warning in caught)
    # transit-location is in no gold label; only price has both sentiments.
    assert reasons["aspect_auc"] == "only one class occurs in the gold labels of transit-location."
    assert reasons["sentiment_auc"] == "only one class occurs in the gold labels of general, transit-location, safety."
    assert reasons["audit_transit-location_recall"] == "no aspect is present in the gold labels."
    assert set(reasons) == {name for name, value in scores.items() if math.isnan(value)}


def test_missing_every_aspect_is_zero_not_undefined(as_rows):
    groups = {
        ("1", "LOCATION1"): {aspect: ("positive", [0.8, 0.1, 0.1]) for aspect in ASPECTS},
        ("2", "LOCATION1"): {},
    }
    scores = sentihood_scores(*as_rows(groups, sentihood))
    assert (scores["macro_precision"], scores["macro_recall"], scores["macro_f1"]) == (0, 0, 0)
    assert scores["audit_macro_f1"] == 0.5  # 1 for the empty group, 0 for the other


def test_ties_go_to_the_first_label(as_rows):
    tie = {("1", "LOCATION1"): {"price": ("none", [0.5, 0.5, 0.0]), "safety": ("positive", [0.2, 0.4, 0.4])}}
    assert sentihood_scores(*as_rows(tie, sentihood))["strict_accuracy"] == 1


def test_sentiment_share_of_zero_over_zero_is_a_half(as_rows):
    groups = {
        ("1", "LOCATION1"): {"price": ("positive", [1.0, 0.0, 0.0])},
        ("2", "LOCATION1"): {"price": ("negative", [1.0, 0.0, 0.0])},
    }
    scores = sentihood_scores(*as_rows(groups, sentihood))
    assert scores["sentiment_accuracy"] == 0.5  # both taken for positive
    assert scores["audit_price_sentiment_auc"] == 0.5


def naive_scores(ids, targets, aspects, labels, probabilities):
    """The definitions of the literature, group by group, with sets and scikit-learn."""
    groups = {}
    for id, target, aspect, label, row in zip(ids, targets, aspects, labels, probabilities, strict=True):
        groups.setdefault((id, target), {})[aspect] = (label, row, LABELS[int(np.argmax(row))])
    strict, precisions, recalls = [], [], []
    for group in groups.values():
        strict.append(all(label == prediction for label, _, prediction in group.values()))
        gold = {aspect for aspect, (label, _, _) in group.items() if label != "none"}
        predicted = {aspect for aspect, (_, _, prediction) in group.items() if prediction != "none"}
        if gold:
            precisions.append(len(gold & predicted) / len(predicted) if gold & predicted else 0)
            recalls.append(len(gold & predicted) / len(gold))
    precision, recall = mean(precisions), mean(recalls)
    aspect_aucs, sentiment_aucs, sentiments, guesses = [], [], [], []
    for aspect in ASPECTS:
        rows = [group[aspect] for group in groups.values()]
        aspect_aucs.append(roc_auc_score([label == "none" for label, _, _ in rows], [row[0] for _, row, _ in rows]))
        negative = [label == "negative" for label, _, _ in rows if label != "none"]
        shares = [row[2] / (row[1] + row[2]) for label, row, _ in rows if label != "none"]
        sentiment_aucs.append(roc_auc_score(negative, shares))
        sentiments += negative
        guesses += [share > 0.5 for share in shares]
    return {
        "strict_accuracy": mean(strict),
        "macro_precision": precision,
        "macro_recall": recall,
        "macro_f1": 2 * precision * recall / (precision + recall),
        "aspect_auc": mean(aspect_aucs),
        "sentiment_accuracy": accuracy_score(sentiments, guesses),
        "sentiment_auc": mean(sentiment_aucs),
    }


def test_equals_the_naive_definitions(random_rows):
    rows = random_rows(sentihood)
    scores, naive = sentihood_scores(*rows), naive_scores(*rows)
    assert {name: scores[name] for name in naive} == pytest.approx(naive, abs=1e-12)
