"""Polarity of terms and categories: by hand, against scikit-learn, on the test sets, and over resampled sentences."""

import math
import random

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from absa.metrics.aspect_polarity import aspect_polarity_scores, figures_of_rows
from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning
from datasets_scripts import load_absa_dataset

LABELS = ["positive", "neutral", "negative"]
NAMES = ("ids", "targets", "aspects", "labels", "probabilities")


def columns(rows):
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


BY_HAND = columns(
    [
        ("2", "tea", "", "positive", [0.4, 0.2, 0.4]),  # right, by the order of the labels
        ("1", "soup", "", "positive", [0.7, 0.2, 0.1]),  # right
        ("1", "soup", "", "negative", [0.6, 0.1, 0.3]),  # positive; the term stands in the sentence twice
        ("1", "bread", "", "positive", [0.5, 0.4, 0.1]),  # right
        ("3", "menu", "", "neutral", [0.1, 0.1, 0.8]),  # negative
    ]
)


def test_by_hand():
    scores = aspect_polarity_scores(**BY_HAND, label_names=LABELS)
    assert scores == pytest.approx(
        {
            "accuracy": 3 / 5,
            "mixed_accuracy": 2 / 3,  # sentence 1
            # positive: 3 right, 3 gold, 4 predicted. neutral: 0, 1, 0. negative: 0, 1, 1.
            **{"f1/positive": 6 / 7, "f1/neutral": 0, "f1/negative": 0, "macro_f1": 2 / 7},
            "floor_majority_accuracy": 3 / 5,
            "ceiling_sentence_accuracy": (2 + 1 + 1) / 5,
            **{"count_sentences": 3, "count_rows": 5, "count_mixed_rows": 3},
            **{"count/positive": 3, "count/neutral": 1, "count/negative": 1},
        },
        abs=1e-15,
    )


def random_rows(seed, num_sentences=80):
    generator = np.random.default_rng(seed)
    return [
        (str(number), str(term), "", str(generator.choice(LABELS)), generator.dirichlet(np.ones(3)).tolist())
        for number in range(num_sentences)
        for term in range(generator.integers(1, 5))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_equals_sklearn(seed):
    rows = random_rows(seed)
    scores = aspect_polarity_scores(**columns(rows), label_names=LABELS)
    gold, predicted = ([], [])
    for *_, label, row in rows:
        gold.append(label)
        predicted.append(LABELS[int(np.argmax(row))])
    of_sentence = {}
    for id_, *_, label, _ in rows:
        of_sentence.setdefault(id_, set()).add(label)
    mixed = [number for number, (id_, *_) in enumerate(rows) if len(of_sentence[id_]) > 1]
    expected = {
        "accuracy": accuracy_score(gold, predicted),
        "macro_f1": f1_score(gold, predicted, average="macro"),
        "mixed_accuracy": accuracy_score([gold[row] for row in mixed], [predicted[row] for row in mixed]),
    }
    for label, f1 in zip(LABELS, f1_score(gold, predicted, labels=LABELS, average=None), strict=True):
        expected[f"f1/{label}"] = f1
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert scores["count_mixed_rows"] == len(mixed)


def test_what_the_rows_do_not_define():
    rows = columns([("1", "", "food", "positive", [1, 0, 0]), ("2", "", "food", "neutral", [0, 1, 0])])
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = aspect_polarity_scores(**rows, label_names=LABELS)
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined == {"mixed_accuracy", "f1/negative"}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert scores["macro_f1"] == 1


def test_intervals_are_of_sentences_in_any_order():
    # Sentences with one right row of one, and with one right row of three, as for the absa metric.
    right, wrong = ("positive", [1, 0, 0]), ("positive", [0, 0, 1])
    rows = columns([("a", "x", "", *right), ("b", "x", "", *right), ("b", "y", "", *wrong), ("b", "z", "", *wrong)])
    with pytest.warns(DegenerateScoreWarning):
        scores = aspect_polarity_scores(**rows, label_names=LABELS, bootstrap=100)
    assert (scores["accuracy_low"], scores["accuracy_high"]) == (2 / 6, 1)
    rows = random_rows(0)
    scores = aspect_polarity_scores(**columns(rows), label_names=LABELS, bootstrap=50, seed=3)
    shuffled = random.Random(0).sample(rows, len(rows))
    assert aspect_polarity_scores(**columns(shuffled), label_names=LABELS, bootstrap=50, seed=3) == scores
    bounded = {name.removesuffix("_low") for name in scores if name.endswith("_low")}
    assert bounded == {"accuracy", "macro_f1", "mixed_accuracy", *(f"f1/{label}" for label in LABELS)}
    assert all(scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"] for name in bounded)


def test_figures_of_rows_are_those_of_the_scores():
    rows = random_rows(1)
    figures_of = figures_of_rows(**columns(rows), label_names=LABELS)
    scores = aspect_polarity_scores(**columns(rows), label_names=LABELS, bootstrap=20)
    bounded = with_bounds(figures_of, [row[0] for row in rows], 20, 0)
    assert bounded == {name: scores[name] for name in bounded}
    # The first sentence three times.
    first = np.flatnonzero([row[0] == "0" for row in rows])
    assert figures_of(np.tile(first, 3))["accuracy"] == figures_of(first)["accuracy"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label_names": ["positive"]}, r"labels=\['positive'\]: name two or more labels"),
        ({"label_names": ["positive", "negative"]}, "unknown label 'neutral' for"),
        ({"targets": [None] * 5}, r"rows\[0\]: the key \('2', None, ''\) must be three strings"),
        ({"ids": ["1"]}, "unequal lengths"),
        ({"bootstrap": -1}, "bootstrap=-1: give an integer"),
    ],
)
def test_bad_rows(changes, told):
    with pytest.raises(ValueError, match=told):
        aspect_polarity_scores(**{**BY_HAND, "label_names": LABELS, **changes})


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.mark.parametrize("labels", [3, 2])
@pytest.mark.parametrize("name", ["laptops_terms", "restaurants_terms", "restaurants_categories"])
@pytest.mark.filterwarnings("ignore:.* validation rows are of sentences")
def test_majority_on_the_papers_splits(name, labels, shared_dir, cache, repo_root):
    """The class of most training rows reaches the floor, and the card has the figures."""
    options = {"data_dir": shared_dir / "data" / "semeval2014", "cache_dir": cache, "labels": labels}
    splits = load_absa_dataset("aspect_polarity", name, **options)
    test, label_names = splits["test"], splits["train"].features["label"].names
    counts = np.bincount(splits["train"]["label"], minlength=labels)
    scores = aspect_polarity_scores(
        test["id"],
        test["target"],
        [test.features["aspect"].int2str(aspect) for aspect in test["aspect"]],
        [label_names[label] for label in test["label"]],
        np.tile(np.log1p(counts) / np.log1p(counts).sum(), (len(test), 1)),
        label_names=label_names,
    )
    assert scores["accuracy"] == scores["floor_majority_accuracy"]
    shown = (
        *(scores[count] for count in ("count_rows", "count_mixed_rows")),
        f"{100 * scores['accuracy']:.2f} %",
        f"{100 * scores['ceiling_sentence_accuracy']:.1f} %",
    )
    card = repo_root / "absa" / "metrics" / "evaluate_modules" / "aspect_polarity" / "README.md"
    assert f"| {name}, {labels} labels | {' | '.join(map(str, shown))} |" in card.read_text(encoding="utf-8")
