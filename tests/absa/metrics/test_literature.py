"""SentiHood's and SemEval-2014's figures on the answers of trained models, against the literature's script."""

import csv
import json
import math
import random
import re
import warnings

import numpy as np
import pytest

from absa.metrics import semeval2014, sentihood
from absa.metrics.ratios import DegenerateScoreWarning

METRICS = {
    "sentihood": (sentihood.sentihood_scores, sentihood),
    "semeval2014": (semeval2014.semeval2014_scores, semeval2014),
}
pytestmark = pytest.mark.parametrize("dataset", METRICS)


@pytest.fixture
def published(dataset, shared_dir):
    """Rows of a BERT-pair model on the test set, and the figures that the literature's script gives for them."""
    folder, name = shared_dir / "reference_outputs", f"{dataset}_test_bert_pair_nli_m.csv"
    with (folder / name).open(newline="") as file:
        lines = list(csv.DictReader(file))
    rows = {f"{field}s": [line[field] for line in lines] for field in ("id", "target", "aspect", "label")}
    rows["probabilities"] = [[float(line[f"p_{label}"]) for label in METRICS[dataset][1].LABELS] for line in lines]
    return rows, json.loads((folder / "expected.json").read_text())[name]


@pytest.fixture
def rows(published):
    return published[0]


@pytest.fixture
def scores_of(dataset):
    return METRICS[dataset][0]


@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_script_of_the_literature(published, scores_of, seed):
    rows, expected = published
    scores = scores_of(**rows)
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-12, rel=0)
    order = random.Random(seed).sample(range(len(rows["ids"])), len(rows["ids"]))
    assert scores_of(**{name: [column[row] for row in order] for name, column in rows.items()}) == scores


def test_claims_of_the_card(published, dataset, scores_of, repo_root):
    rows, expected = published
    scores = scores_of(**rows, bootstrap=1000, seed=0)
    assert all(0 <= scores[f"{name}_low"] < scores[name] < scores[f"{name}_high"] <= 1 for name in expected)
    bounded = {name.removesuffix("_low") for name in scores if name.endswith("_low")}
    assert bounded == {name for name in scores_of(**rows) if not name.startswith(("floor_", "count_"))}
    shown = {name: f"{100 * score:.1f}" for name, score in scores.items()}
    num_gold = sum(label != "none" for label in rows["labels"])
    if dataset == "sentihood":
        claims = [
            f"{scores['count_groups_without_gold']} of the {scores['count_groups']} of the test set",
            f"answering none everywhere gives {shown['floor_all_none_strict_accuracy']}%",
            f"sentiment accuracy of {shown['floor_majority_sentiment_accuracy']}%",
            f"a macro-F1 of {shown['floor_all_present_macro_f1']}%",
            f"{len(set(rows['ids']))} sentences are few",
            f"strict accuracy of {shown['strict_accuracy']}% the interval is "
            f"{shown['strict_accuracy_low']} to {shown['strict_accuracy_high']}",
            f"`mixed_accuracy` is {shown['mixed_accuracy']}%, with an interval of "
            f"{shown['mixed_accuracy_low']} to {shown['mixed_accuracy_high']}",
        ]
    else:
        four, three, two = (shown[f"floor_majority_accuracy_{choice}"] for choice in ("4way", "3way", "binary"))
        assert scores["count_groups_without_gold"] == 0
        claims = [
            f"Every one of the {scores['count_groups']} test sentences has a gold aspect",
            f"an F1 of {shown['floor_all_present_f1']}% on the test set",
            f"Always answering positive gives {four}%, {three}% and {two}%",
            f"{scores['count_conflict']} of the {num_gold} gold aspects of the test set are conflict",
            f"an F1 of {shown['f1']}% the interval is {shown['f1_low']} to {shown['f1_high']}",
        ]
    claims.append(f"these rows: {scores['count_mixed_rows']} of the {num_gold} of the test set")
    card = repo_root / "absa" / "metrics" / "evaluate_modules" / dataset / "README.md"
    text = " ".join(card.read_text(encoding="utf-8").split())
    assert [claim for claim in claims if claim not in text] == []


def test_numbers(rows, scores_of):
    single = np.asarray(rows["probabilities"], dtype=np.float32)
    scores = scores_of(**rows | {"probabilities": single})
    assert scores == scores_of(**rows | {"probabilities": single.astype(np.float64)})  # float32 is summed in float64
    assert {type(value) for value in scores.values()} == {float, int}
    assert json.loads(json.dumps(scores)) == scores


def test_no_gold_aspect_at_all(published, scores_of):
    rows, expected = published
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = scores_of(**rows | {"labels": ["none"] * len(rows["ids"])})
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined >= set(expected) - {"strict_accuracy"}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(map(math.isnan, scores_of(**rows).values()))


def test_aspects(rows, dataset, scores_of):
    aspects = list(METRICS[dataset][1].ASPECTS)
    with pytest.raises(ValueError, match=rf"unknown aspect 'nightlife' for .*use one of {re.escape(str(aspects))}"):
        scores_of(**rows | {"aspects": ["nightlife", *rows["aspects"][1:]]})
    key, missing = (rows["ids"][-1], rows["targets"][-1]), rows["aspects"][-1]
    message = f"no row for aspects {[missing]} of (id, target) {key}: give all of {aspects}"
    with pytest.raises(ValueError, match=re.escape(message)):
        scores_of(**{name: column[:-1] for name, column in rows.items()})
