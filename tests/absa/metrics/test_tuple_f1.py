"""Exact matches of tuples: the counts of BARTABSA's metrics on their own numbers, ten lines of sets, and by hand."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absa.metrics.jaccard import jaccard_scores
from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.tuple_f1 import PROJECTIONS, figures_of_sentences, tuple_f1_scores

quietly = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")
COUNTS = ("right", "predicted", "gold")


@pytest.fixture(scope="module")
def golden(shared_dir):
    return lambda name: json.loads((shared_dir / "golden" / "generative" / f"{name}.json").read_text())


def groups_of(indices, classes, sizes):
    """What BARTABSA's metrics read of an output: the tuples, each closed by a class, and whether one was dropped.

    Their quirks are here, and not in the metric: without eos (1) the last index is dropped; 0 is a class; what no
    class closes is left out, and does not make the output invalid.
    """
    body = indices[1:]
    body = body[: body.index(1)] if 1 in body else body[:-1]
    groups, group, is_invalid = [], [], False
    for index in body:
        group.append(index)
        if index < classes:
            borders = group[:-1]
            is_good = len(group) == sizes and all(a <= b for a, b in zip(borders[::2], borders[1::2], strict=True))
            groups += [group] if is_good else []
            is_invalid |= not is_good
            group = []
    return groups, is_invalid


def span(start, end):
    """Of BARTABSA's pieces, whose end is within."""
    return [start, end + 1]


def triplet(group):
    return {"target": span(*group[:2]), "opinion": span(*group[2:4]), "label": str(group[4])}


def figures_in_percent(scores, prefix=""):
    return [round(scores[f"{prefix}{name}"], 4) * 100 for name in ("f1", "recall", "precision")]


def counts_of(gold, predicted, fields):
    """tp, fp, fn."""
    scores = tuple_f1_scores(gold, predicted, fields=fields)
    right, of_predicted, of_gold = (scores[f"count_{name}"] for name in COUNTS)
    return right, of_predicted - right, of_gold - right


SUBTASKS = {
    "triple": ("", ("target", "opinion", "label"), "triple"),
    "ae_oe": ("aope_", PROJECTIONS["aope"], "oe_ae"),
    "ae_sc": ("aesc_", PROJECTIONS["aesc"], "ae_sc"),
}


def assert_as_peng(gold, predicted, invalid, expected):
    scores = tuple_f1_scores(gold, predicted, invalid=invalid)
    for name, (prefix, fields, name_of_percent) in SUBTASKS.items():
        counts = tuple(expected[f"{name}_{kind}"] for kind in ("tp", "fp", "fn"))
        assert counts_of(gold, predicted, fields) == counts
        percent = [expected[f"{name_of_percent}_{kind}"] for kind in ("f", "rec", "pre")]
        figures = figures_in_percent(scores, prefix)
        assert [0 if math.isnan(figure) else figure for figure in figures] == pytest.approx(percent, abs=1e-9)
    assert round(scores["invalid_share"], 4) == expected["invalid"]


@quietly
def test_triplets_as_peng(golden):
    reference = golden("metric_peng")
    assert len(reference["cases"]) == 48
    assert len(reference["hand"]) == 13
    sides = [], [], []
    for case in reference["cases"]:
        groups, is_invalid = groups_of(case["pred"], classes=5, sizes=5)
        one = [list(map(triplet, case["target_span"]))], [list(map(triplet, groups))], [is_invalid]
        assert_as_peng(*one, case["alone"])
        for side, sentence in zip(sides, one, strict=True):
            side.extend(sentence)
    assert_as_peng(*sides, reference["all"])
    for case in reference["hand"]:
        groups, is_invalid = groups_of(case["p"], classes=5, sizes=5)
        assert_as_peng(
            [list(map(triplet, case["target_span"]))], [list(map(triplet, groups))], [is_invalid], case["metric"]
        )


def test_opinions_as_fan(golden):
    reference = golden("metric_fan")
    gold, predicted, invalid = [], [], []
    for case in reference["cases"]:  # after sos the given target, of two indices
        groups, is_invalid = groups_of([0, *case["pred"][3:]], classes=3, sizes=3)
        gold.append([{"opinion": span(*opinion)} for opinion in case["target_span"]])
        predicted.append([{"opinion": span(*group[:2])} for group in groups])
        invalid.append(is_invalid)
    expected = reference["all"]
    assert counts_of(gold, predicted, ["opinion"]) == (expected["tp"], expected["fp"], expected["fn"])
    scores = tuple_f1_scores(gold, predicted, fields=["opinion"], invalid=invalid)
    assert figures_in_percent(scores) == pytest.approx([expected[f"oe_{kind}"] for kind in ("f", "rec", "pre")])
    assert scores["invalid_share"] == expected["invalid"]


def test_targets_and_opinions_as_wang(golden):
    reference = golden("metric_wang")
    gold, predicted, invalid = [], [], []
    for case in reference["aesc"]:  # after sos the task, twice
        groups, is_invalid = groups_of([0, *case["pred"][3:]], classes=8, sizes=3)
        for side, tuples in ((gold, case["target_span"]), (predicted, groups)):
            side.append([{"target": span(*one[:2]), "label": str(one[2])} for one in tuples])
        invalid.append(is_invalid)
    expected = reference["aesc_all"]
    # The counts of wang have neither gold conflict nor what is predicted of it.
    conflict = [{tuple(t["target"]) for t in tuples if t["label"] == "7"} for tuples in gold]
    without = [
        [[t for t in tuples if tuple(t["target"]) not in left] for tuples, left in zip(side, conflict, strict=True)]
        for side in (gold, predicted)
    ]
    assert sum(map(len, conflict)) == 1
    for name, fields in (("aesc", ["target", "label"]), ("ae", ["target"])):
        assert counts_of(*without, fields) == tuple(expected[f"{name}_{kind}"] for kind in ("tp", "fp", "fn"))
    scores = tuple_f1_scores(*without, fields=["target", "label"], invalid=invalid)
    for prefix, name in (("", "aesc"), ("ate_", "ae")):
        percent = [expected[f"{name}_{kind}"] for kind in ("f", "rec", "pre")]
        assert figures_in_percent(scores, prefix) == pytest.approx(percent)
    assert scores["invalid_share"] == expected["invalid"]

    gold, predicted = [], []
    for case in reference["oe"]:
        body = case["pred"][3 : case["pred"].index(1)]
        pairs = [body[place : place + 2] for place in range(0, len(body) - 1, 2)]
        gold.append([{"opinion": span(*opinion)} for opinion in case["target_span"]])
        predicted.append([{"opinion": span(*pair)} for pair in pairs if pair[0] <= pair[1]])
    expected = reference["oe_all"]
    assert counts_of(gold, predicted, ["opinion"]) == tuple(expected[f"oe_{kind}"] for kind in ("tp", "fp", "fn"))


PLACES = {"camera": [0, 1], "battery life": [1, 3], "food": [0, 1], "excellent": [4, 5]}


def read_answer(text, is_triplet):
    """Tuples of an answer in InstructABSA's form whose words stand in a text, and whether one was dropped."""
    tuples, is_invalid = [], False
    for part in text.split(", "):
        *words, label = part.split(":")
        if len(words) != 1 + is_triplet or not all(word in PLACES for word in words):
            is_invalid = True
            continue
        spans = dict(zip(("target", "opinion"), map(PLACES.get, words), strict=False))
        tuples.append({**spans, "label": label})
    return tuples, is_invalid


@quietly
def test_what_instructabsa_counts_is_not_counted(golden):
    """There the empty string and the letter e have F1 1.33, and the polarity of a triplet is never read."""
    theirs, ours = [], []
    for case in golden("metric_instructabsa")["cases"]:
        fields = ["target", "opinion", "label"] if case["triplet"] else ["target", "label"]
        (gold, _), (predicted, is_invalid) = (read_answer(case[s][0], case["triplet"]) for s in ("gold", "pred"))
        scores = tuple_f1_scores([gold], [predicted], fields=fields, invalid=[is_invalid])
        theirs.append(case["result"][2] if isinstance(case["result"], list) else case["result"])
        ours.append((scores["f1"], scores["invalid_share"]))
    assert theirs == [1, 4 / 3, 4 / 3, 1, 1, 1, "ZeroDivisionError: float division by zero"]
    assert ours == [(1, 0), (0, 1), (0, 1), (0, 1), (0, 0), (1, 0), (0, 1)]


SPANS = st.tuples(st.integers(0, 2), st.integers(1, 2)).map(lambda pair: [pair[0], pair[0] + pair[1]])
TUPLES = st.fixed_dictionaries(
    {"target": SPANS, "opinion": SPANS, "aspect": st.sampled_from("xy"), "label": st.sampled_from(["good", "bad"])}
)
SENTENCES = st.lists(st.tuples(st.lists(TUPLES, max_size=4), st.lists(TUPLES, max_size=4)), min_size=1, max_size=5)
FIELDS = st.sampled_from([("target", "opinion", "label"), ("target", "label"), ("opinion",), ("label", "aspect")])


@given(SENTENCES, FIELDS)
@settings(max_examples=200, deadline=None, derandomize=True)
@quietly
def test_against_sets(sentences, fields):
    right = num_gold = num_predicted = num_equal = 0
    for gold, predicted in sentences:
        gold_set = {json.dumps([one[field] for field in fields]) for one in gold}
        predicted_set = {json.dumps([one[field] for field in fields]) for one in predicted}
        right += len(gold_set & predicted_set)
        num_gold += len(gold_set)
        num_predicted += len(predicted_set)
        num_equal += gold_set == predicted_set
    scores = tuple_f1_scores(*map(list, zip(*sentences, strict=True)), fields=fields)
    assert [scores[f"count_{name}"] for name in ("right", "gold", "predicted")] == [right, num_gold, num_predicted]
    expected = [right / num_predicted if num_predicted else math.nan, right / num_gold if num_gold else math.nan]
    f1 = 2 * right / (num_gold + num_predicted) if num_gold + num_predicted else math.nan
    figures = [scores[name] for name in ("precision", "recall", "f1", "exact")]
    assert figures == pytest.approx([*expected, f1, num_equal / len(sentences)], nan_ok=True)


A = {"target": [0, 1], "opinion": [2, 4], "label": "positive"}


def test_projections_are_sets():
    """A target with two opinions is found once; its label may be wrong in one triplet."""
    other = {**A, "opinion": [5, 6]}
    scores = tuple_f1_scores([[A, other]], [[A, {**other, "label": "negative"}]])
    assert {name: scores[f"{name}_f1"] for name in PROJECTIONS} == {"aope": 1, "aesc": 2 / 3, "ate": 1, "ote": 1}
    assert (scores["f1"], scores["exact"]) == (1 / 2, 0)
    names = [name for name in tuple_f1_scores([[A]], [[A]], fields=["label", "target"]) if name.endswith("_f1")]
    assert names == ["ate_f1"]


def test_undefined_figures_warn():
    with pytest.warns(DegenerateScoreWarning) as caught:
        scores = tuple_f1_scores([[A]], [[]])
    undefined = {name for name, value in scores.items() if math.isnan(value)}
    assert undefined == {str(warning.message).split(" is NaN")[0] for warning in caught}
    assert undefined == {"precision", *(f"{name}_precision" for name in PROJECTIONS)}
    assert (scores["f1"], scores["recall"]) == (0, 0)


@quietly
def test_intervals():
    generator = np.random.default_rng(0)
    gold = [[{**A, "target": [int(n), int(n) + 1]} for n in generator.integers(0, 9, 3)] for _ in range(100)]
    predicted = [tuples[: generator.integers(0, 4)] for tuples in gold]
    scores = tuple_f1_scores(gold, predicted, bootstrap=200, seed=1)
    plain = tuple_f1_scores(gold, predicted)
    assert {name: scores[name] for name in plain} == plain
    assert scores["recall_low"] < scores["recall"] < scores["recall_high"]
    assert not [name for name in scores if name.startswith("count_") and name.endswith("_low")]
    figures = figures_of_sentences(gold, predicted)(np.arange(100))
    assert figures == {name: value for name, value in plain.items() if not name.startswith("count_")}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"gold": []}, "gold has 0 sentences and predicted 1: give as many, at least one."),
        ({"predicted": "x"}, "predicted='x' (str): give a list of lists of tuples."),
        ({"predicted": [A]}, "predicted[0]={'label': 'positive', 'opinion': [2, 4], 'target': [0, 1]} (dict): give a"),
        ({"predicted": [[[0, 1]]]}, "predicted[0]=[[0, 1]] (list): give a list of dicts with target, opinion, label"),
        ({"gold": [[{**A, "label": None}]]}, "gold[0] has label=None: give a string."),
        ({"gold": [[{**A, "target": [1, 1]}]]}, "has target=[1, 1]: give a span [start, end), two whole numbers"),
        ({"gold": [[{**A, "target": [0.0, 1]}]]}, "has target=[0.0, 1]: give a span"),
        ({"gold": [[{**A, "opinion": "food"}]]}, "has opinion='food': give a span"),
        ({"fields": ["target", "target"]}, "fields=['target', 'target']: name one or more of target, opinion, aspect"),
        ({"fields": "label"}, "fields='label': name one or more of"),
        ({"invalid": [0.5]}, "invalid=[0.5]: give True or False for each of 1 sentences."),
        ({"invalid": []}, "invalid=[]: give True or False"),
    ],
)
def test_bad_input(arguments, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        tuple_f1_scores(**{"gold": [[A]], "predicted": [[A]], **arguments})


@pytest.mark.parametrize("metric", [tuple_f1_scores, jaccard_scores])
def test_rows_of_a_sentence_are_drawn_together(metric):
    """Rows that say the same twice make nothing more certain."""
    gold = [[{"target": (number, number + 1), "opinion": (9, 10)}] for number in range(8)]
    predicted = [of_row if number % 3 else [] for number, of_row in enumerate(gold)]
    options = {"fields": ("target", "opinion"), "bootstrap": 100}
    once = metric(gold, predicted, **options)
    twice = metric(gold * 2, predicted * 2, ids=[str(number) for number in range(8)] * 2, **options)
    bounds = {name: value for name, value in once.items() if name.endswith(("_low", "_high"))}
    assert {name: twice[name] for name in bounds} == pytest.approx(bounds)
    assert metric(gold * 2, predicted * 2, **options) != twice
