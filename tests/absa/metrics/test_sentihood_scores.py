"""SentiHood's figures: by hand, against a naive copy of the definitions, and against the literature's script."""

import csv
import json
import math
import random
import warnings
from statistics import mean

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from absa.metrics.sentihood import ASPECTS, LABELS, DegenerateScoreWarning, sentihood_scores

LITERATURE = {
    "strict_accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "aspect_auc",
    "sentiment_accuracy",
    "sentiment_auc",
}


def as_rows(groups):
    """{(id, target): {aspect: (label, probabilities)}} as columns; aspects left out are none, and sure to be."""
    sure_none = ("none", [0.9, 0.05, 0.05])
    rows = [
        (*group, aspect, *aspects.get(aspect, sure_none)) for group, aspects in groups.items() for aspect in ASPECTS
    ]
    return dict(zip(("ids", "targets", "aspects", "labels", "probabilities"), zip(*rows, strict=True), strict=True))


def permuted(rows, seed):
    order = random.Random(seed).sample(range(len(rows["ids"])), len(rows["ids"]))
    return {name: [column[row] for row in order] for name, column in rows.items()}


def quiet_scores(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        return sentihood_scores(**rows, **options)


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


def test_by_hand():
    scores = quiet_scores(as_rows(BY_HAND))
    expected = {
        "strict_accuracy": 1 / 5,  # only ("2", "LOCATION1")
        "macro_precision": (1 / 3 + 1 + 0) / 3,  # = 4/9, over the three groups with gold
        "macro_recall": (1 / 2 + 1 + 0) / 3,  # = 1/2
        "macro_f1": 8 / 17,  # 2 * 4/9 * 1/2 / (4/9 + 1/2)
        # general+ 0.1/0.9 right, safety- 0.4/0.5 right, price- 0.3/0.9 wrong, price+ 0.5, not above 0.5: right
        "sentiment_accuracy": 3 / 4,
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


def test_undefined_figures_are_nan_and_warned_of():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = sentihood_scores(**as_rows(BY_HAND))
    reasons = dict(str(warning.message).split(" is NaN: ") for warning in caught)
    # transit-location is in no gold label; only price has both sentiments.
    assert reasons["aspect_auc"] == "only one class occurs in the gold labels of transit-location."
    assert reasons["sentiment_auc"] == "only one class occurs in the gold labels of general, transit-location, safety."
    assert reasons["audit_transit-location_recall"] == "no aspect is present in the gold labels."
    assert set(reasons) == {name for name, value in scores.items() if math.isnan(value)}


def test_no_gold_aspect_at_all():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = sentihood_scores(**as_rows({("1", "LOCATION1"): {}, ("2", "LOCATION1"): {}}))
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert scores["strict_accuracy"] == 1
    assert scores["audit_macro_f1"] == 1
    assert undefined >= LITERATURE - {"strict_accuracy"}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}


def test_missing_every_aspect_is_zero_not_undefined():
    groups = {
        ("1", "LOCATION1"): {aspect: ("positive", [0.8, 0.1, 0.1]) for aspect in ASPECTS},
        ("2", "LOCATION1"): {},
    }
    scores = quiet_scores(as_rows(groups))
    assert (scores["macro_precision"], scores["macro_recall"], scores["macro_f1"]) == (0, 0, 0)
    assert scores["audit_macro_f1"] == 0.5  # 1 for the empty group, 0 for the other


def test_ties_go_to_the_first_label():
    tie = {("1", "LOCATION1"): {"price": ("none", [0.5, 0.5, 0.0]), "safety": ("positive", [0.2, 0.4, 0.4])}}
    assert quiet_scores(as_rows(tie))["strict_accuracy"] == 1


def test_sentiment_share_of_zero_over_zero_is_a_half():
    groups = {
        ("1", "LOCATION1"): {"price": ("positive", [1.0, 0.0, 0.0])},
        ("2", "LOCATION1"): {"price": ("negative", [1.0, 0.0, 0.0])},
    }
    scores = quiet_scores(as_rows(groups))
    assert scores["sentiment_accuracy"] == 0.5  # both taken for positive
    assert scores["audit_price_sentiment_auc"] == 0.5


def random_rows(seed, num_groups=60):
    generator = np.random.default_rng(seed)
    groups = {}
    for number in range(num_groups):
        logits = generator.normal(size=(4, 3)).round(1)  # rounded, for ties
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = generator.choice(LABELS, size=4, p=[0.6, 0.25, 0.15])
        groups[str(number // 2), f"LOCATION{number % 2 + 1}"] = {
            aspect: (str(label), row.tolist())
            for aspect, label, row in zip(ASPECTS, labels, probabilities, strict=True)
        }
    return as_rows(groups)


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


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_naive_definitions(seed):
    rows = random_rows(seed)
    scores = sentihood_scores(**rows)
    naive = naive_scores(**rows)
    assert set(naive) == LITERATURE
    assert {name: scores[name] for name in naive} == pytest.approx(naive, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_row_order_changes_no_bit(seed):
    rows = random_rows(0)
    assert sentihood_scores(**permuted(rows, seed), bootstrap=3) == sentihood_scores(**rows, bootstrap=3)


def test_float32_is_summed_in_float64():
    rows = random_rows(1)
    single = np.asarray(rows["probabilities"], dtype=np.float32)
    from_single = sentihood_scores(**{**rows, "probabilities": single})
    assert from_single == sentihood_scores(**{**rows, "probabilities": single.astype(np.float64)})


def test_figures_are_plain_numbers():
    scores = sentihood_scores(**random_rows(2), bootstrap=2)
    assert {type(value) for value in scores.values()} == {float, int}
    assert json.loads(json.dumps(scores)) == scores


def test_bounds():
    rows = random_rows(3)
    scores = sentihood_scores(**rows, bootstrap=200, seed=7)
    assert sentihood_scores(**rows, bootstrap=200, seed=7) == scores
    assert sentihood_scores(**rows, bootstrap=200, seed=8) != scores
    for name in LITERATURE:
        assert 0 <= scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"] <= 1
    bounded = {name.removesuffix("_low") for name in scores if name.endswith("_low")}
    assert bounded == {name for name in sentihood_scores(**rows) if not name.startswith(("floor_", "count_"))}


def test_unknown_aspect():
    rows = as_rows(BY_HAND)
    rows["aspects"] = ["nightlife", *rows["aspects"][1:]]
    with pytest.raises(ValueError, match=r"unknown aspect 'nightlife' for \('1', 'LOCATION1', 'nightlife'\)"):
        sentihood_scores(**rows)


def test_group_without_all_aspects():
    rows = {name: column[:-1] for name, column in as_rows(BY_HAND).items()}
    with pytest.raises(ValueError, match=r"no row for aspects \['safety'\] of \(id, target\) \('4', 'LOCATION1'\)"):
        sentihood_scores(**rows)


@pytest.fixture(scope="module")
def published(shared_dir):
    """Rows of a BERT-pair model on the test set, and the figures that the literature's script gives for them."""
    name = "sentihood_test_bert_pair_nli_m.csv"
    with (shared_dir / "reference_outputs" / name).open(newline="") as file:
        lines = list(csv.DictReader(file))
    rows = {f"{field}s": [line[field] for line in lines] for field in ("id", "target", "aspect", "label")}
    rows["probabilities"] = [[float(line[f"p_{label}"]) for label in LABELS] for line in lines]
    return rows, json.loads((shared_dir / "reference_outputs" / "expected.json").read_text())[name]


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_equals_the_script_of_the_literature(published, seed):
    rows, expected = published
    scores = sentihood_scores(**(rows if seed is None else permuted(rows, seed)))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-12, rel=0)
    assert scores == sentihood_scores(**rows)


def test_claims_of_the_card(published, repo_root):
    rows, _ = published
    scores = sentihood_scores(**rows, bootstrap=1000, seed=0)
    card = " ".join((repo_root / "absa" / "metrics" / "sentihood" / "README.md").read_text(encoding="utf-8").split())
    claims = [
        f"{scores['count_groups_without_gold']} of the {scores['count_groups']} of the test set",
        f"answering none everywhere gives {scores['floor_all_none_strict_accuracy']:.1%}",
        f"sentiment accuracy of {scores['floor_majority_sentiment_accuracy']:.1%}",
        f"a macro-F1 of {scores['floor_all_present_macro_f1']:.1%}",
        f"{len(set(rows['ids']))} sentences are few",
        f"strict accuracy of {scores['strict_accuracy']:.1%} the interval is "
        f"{100 * scores['strict_accuracy_low']:.1f} to {100 * scores['strict_accuracy_high']:.1f}",
    ]
    assert [claim for claim in claims if claim not in card] == []
