"""SemEval-2014's figures: by hand, against a naive copy of the definitions, and against the literature's script."""

import csv
import json
import math
import random
import warnings

import numpy as np
import pytest

from absa.metrics.semeval2014 import ASPECTS, LABELS, DegenerateScoreWarning, semeval2014_scores

LITERATURE = {"precision", "recall", "f1", "accuracy_4way", "accuracy_3way", "accuracy_binary"}


def as_rows(sentences):
    """{id: {aspect: (label, probabilities)}} as columns; aspects left out are none, and sure to be."""
    sure_none = ("none", [0.9, 0.05, 0.03, 0.01, 0.01])
    rows = [
        (id, "", aspect, *aspects.get(aspect, sure_none)) for id, aspects in sentences.items() for aspect in ASPECTS
    ]
    return dict(zip(("ids", "targets", "aspects", "labels", "probabilities"), zip(*rows, strict=True), strict=True))


def permuted(rows, seed):
    order = random.Random(seed).sample(range(len(rows["ids"])), len(rows["ids"]))
    return {name: [column[row] for row in order] for name, column in rows.items()}


def quiet_scores(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        return semeval2014_scores(**rows, **options)


# Probabilities in the order none, positive, neutral, negative, conflict.
BY_HAND = {
    # gold {food, service}, predicted {food, price}
    "1": {
        "food": ("positive", [0.1, 0.6, 0.1, 0.1, 0.1]),  # right in all three
        "service": ("negative", [0.6, 0.1, 0.05, 0.2, 0.05]),  # none; the best of the others is right
        "price": ("none", [0.2, 0.5, 0.1, 0.1, 0.1]),
    },
    # gold {food, price, ambience}, predicted {food, price}
    "2": {
        "food": ("neutral", [0.0, 0.1, 0.3, 0.2, 0.4]),  # conflict: wrong of four, right of three
        "price": ("negative", [0.1, 0.2, 0.4, 0.25, 0.05]),  # neutral: wrong of four and three, right of two
        "ambience": ("conflict", [0.7, 0.1, 0.1, 0.1, 0.0]),  # none; positive is the first of the others: wrong
    },
    # gold {}, predicted {service}: outside the literature's figures
    "3": {"service": ("none", [0.1, 0.6, 0.1, 0.1, 0.1])},
}


def test_by_hand():
    scores = quiet_scores(as_rows(BY_HAND))
    expected = {
        # hits food; food, price -> 3. Predicted 2 + 2, gold 2 + 3.
        "precision": 3 / 4,
        "recall": 3 / 5,
        "f1": 6 / 9,
        "accuracy_4way": 2 / 5,  # food 1, service
        "accuracy_3way": 3 / 4,  # and food 2; ambience is conflict, so not asked
        "accuracy_binary": 3 / 3,  # food 1, service, price
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


@pytest.mark.filterwarnings("ignore::absa.metrics.semeval2014.DegenerateScoreWarning")
def test_nothing_predicted():
    rows = as_rows({"1": {"food": ("positive", [0.6, 0.4, 0, 0, 0])}})
    with pytest.warns(DegenerateScoreWarning, match="^precision is NaN: no aspect is predicted to be present"):
        scores = semeval2014_scores(**rows)
    assert math.isnan(scores["precision"])
    assert (scores["recall"], scores["f1"], scores["accuracy_4way"]) == (0, 0, 1)


def test_no_gold_aspect_at_all():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = semeval2014_scores(**as_rows({"1": {}, "2": {}}))
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined >= LITERATURE
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert scores["audit_strict_accuracy"] == 1


@pytest.mark.filterwarnings("ignore::absa.metrics.semeval2014.DegenerateScoreWarning")
def test_only_conflict_leaves_the_narrower_accuracies_undefined():
    with pytest.warns(
        DegenerateScoreWarning, match="accuracy_binary is NaN: no gold label is one of positive, negative"
    ):
        scores = semeval2014_scores(**as_rows({"1": {"food": ("conflict", [0, 0, 0, 0, 1])}}))
    assert scores["accuracy_4way"] == 1
    assert math.isnan(scores["accuracy_3way"])
    assert math.isnan(scores["accuracy_binary"])


def random_rows(seed, num_sentences=40):
    generator = np.random.default_rng(seed)
    sentences = {}
    for number in range(num_sentences):
        logits = generator.normal(size=(5, 5)).round(1)  # rounded, for ties
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        labels = generator.choice(LABELS, size=5, p=[0.5, 0.2, 0.1, 0.1, 0.1])
        sentences[f"{number}#1"] = {
            aspect: (str(label), row.tolist())
            for aspect, label, row in zip(ASPECTS, labels, probabilities, strict=True)
        }
    return as_rows(sentences)


def naive_scores(ids, targets, aspects, labels, probabilities):
    """The definitions of the literature, row by row, replacing a prediction only if it is outside the choice."""
    predictions = [LABELS[int(np.argmax(row))] for row in probabilities]
    with_gold = {id for id, label in zip(ids, labels, strict=True) if label != "none"}
    pairs = [
        (label != "none", prediction != "none")
        for id, label, prediction in zip(ids, labels, predictions, strict=True)
        if id in with_gold
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


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_naive_definitions(seed):
    rows = random_rows(seed)
    scores = semeval2014_scores(**rows)
    naive = naive_scores(**rows)
    assert set(naive) == LITERATURE
    assert {name: scores[name] for name in naive} == pytest.approx(naive, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_row_order_changes_no_bit(seed):
    rows = random_rows(0)
    assert semeval2014_scores(**permuted(rows, seed), bootstrap=3) == semeval2014_scores(**rows, bootstrap=3)


def test_bounds():
    rows = random_rows(3)
    scores = semeval2014_scores(**rows, bootstrap=200, seed=7)
    assert semeval2014_scores(**rows, bootstrap=200, seed=7) == scores
    assert semeval2014_scores(**rows, bootstrap=200, seed=8) != scores
    for name in LITERATURE:
        assert 0 <= scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"] <= 1


def test_unknown_aspect():
    rows = as_rows(BY_HAND)
    rows["aspects"] = ["anecdotes/miscellaneous", *rows["aspects"][1:]]
    with pytest.raises(
        ValueError, match=r"unknown aspect 'anecdotes/miscellaneous'.*use one of \['price', 'anecdotes'"
    ):
        semeval2014_scores(**rows)


@pytest.fixture(scope="module")
def published(shared_dir):
    """Rows of a BERT-pair model on the test set, and the figures that the literature's script gives for them."""
    name = "semeval2014_test_bert_pair_nli_m.csv"
    with (shared_dir / "reference_outputs" / name).open(newline="") as file:
        lines = list(csv.DictReader(file))
    rows = {f"{field}s": [line[field] for line in lines] for field in ("id", "target", "aspect", "label")}
    rows["probabilities"] = [[float(line[f"p_{label}"]) for label in LABELS] for line in lines]
    return rows, json.loads((shared_dir / "reference_outputs" / "expected.json").read_text())[name]


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_equals_the_script_of_the_literature(published, seed):
    rows, expected = published
    scores = semeval2014_scores(**(rows if seed is None else permuted(rows, seed)))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-12, rel=0)
    assert scores == semeval2014_scores(**rows)


def test_claims_of_the_card(published, repo_root):
    rows, _ = published
    scores = semeval2014_scores(**rows, bootstrap=1000, seed=0)
    card = " ".join((repo_root / "absa" / "metrics" / "semeval2014" / "README.md").read_text(encoding="utf-8").split())
    four, three, two = (100 * scores[f"floor_majority_accuracy_{choice}"] for choice in ("4way", "3way", "binary"))
    gold = sum(label != "none" for label in rows["labels"])
    claims = [
        f"Every one of the {scores['count_groups']} test sentences has a gold aspect",
        f"an F1 of {scores['floor_all_present_f1']:.1%} on the test set",
        f"Always answering positive gives {four:.1f}%, {three:.1f}% and {two:.1f}%",
        f"{scores['count_conflict']} of the {gold} gold aspects of the test set are conflict",
        f"an F1 of {scores['f1']:.1%} the interval is {100 * scores['f1_low']:.1f} to {100 * scores['f1_high']:.1f}",
    ]
    assert scores["count_groups_without_gold"] == 0
    assert [claim for claim in claims if claim not in card] == []
