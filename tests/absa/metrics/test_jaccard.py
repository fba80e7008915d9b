"""The Jaccard index of spans in four readings."""

import json
import re

import pytest

from absa.metrics.jaccard import jaccard_scores

NAMES = {
    "token_macro": "jaccard",
    "span_macro": "jaccard_spans",
    "token_micro": "jaccard_micro",
    "span_matched": "jaccard_matched",
}


def as_tuples(sentences, field):
    return [[{field: span} for span in spans] for spans in sentences]


@pytest.mark.parametrize("field", ["target", "opinion"])
def test_golden_numbers(shared_dir, field):
    cases = json.loads((shared_dir / "golden" / "generative" / "jaccard.json").read_text())["cases"]
    assert len(cases) == 8
    for case in cases:
        sides = (as_tuples(case[side], field) for side in ("G", "P"))
        scores = jaccard_scores(*sides, fields=[field])
        figures = {theirs: scores[f"{field}_{ours}"] for theirs, ours in NAMES.items()}
        assert figures == pytest.approx({name: case["figures"][name] for name in NAMES}, abs=1e-12), case["note"]
        empty = [not gold and not predicted for gold, predicted in zip(case["G"], case["P"], strict=True)]
        assert scores[f"{field}_empty_share"] == sum(empty) / len(empty)


def test_the_example_of_two_sets():
    """{0, 1, 2, 5, 6} and {0, 2, 3, 4, 5}: three of seven."""
    scores = jaccard_scores([[{"target": [0, 1]}, {"target": [2, 6]}]], [[{"target": [0, 3]}, {"target": [5, 7]}]])
    assert scores["target_jaccard"] == pytest.approx(3 / 7)


def test_equal_overlaps_go_to_the_earlier_span():
    gold, predicted = [[{"target": [0, 2]}, {"target": [2, 4]}]], [[{"target": [1, 3]}, {"target": [2, 5]}]]
    # [1, 3) has 1/3 of both; [2, 4) goes to [2, 5) first, with 2/3, and [0, 2) is left for it.
    assert jaccard_scores(gold, predicted)["target_jaccard_matched"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_spans_that_are_none():
    """Targets and opinions that are annotated apart."""
    gold = [[{"target": [0, 1], "opinion": None}, {"opinion": [2, 3]}]]
    scores = jaccard_scores(gold, [[{"target": [0, 1]}]])
    assert (scores["target_jaccard"], scores["opinion_jaccard"], scores["opinion_empty_share"]) == (1, 0, 0)


def test_intervals():
    gold, predicted = as_tuples([[[0, 2]]] * 4, "target"), as_tuples([[[0, 2]], [[0, 1]], [], [[4, 5]]], "target")
    scores = jaccard_scores(gold, predicted, bootstrap=50)
    for name in NAMES.values():
        assert scores[f"target_{name}_low"] < scores[f"target_{name}"] < scores[f"target_{name}_high"]
    assert scores["target_empty_share_high"] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"fields": ["label"]}, "fields=['label']: name one or more of target, opinion, each once."),
        ({"gold": []}, "gold has 0 sentences and predicted 1"),
        ({"gold": [[{"target": [3, 2]}]]}, "gold[0] has target=[3, 2]: give a span"),
    ],
)
def test_bad_input(arguments, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        jaccard_scores(**{"gold": [[]], "predicted": [[]], **arguments})
