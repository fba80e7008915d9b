"""Rows: joined by key, checked and sorted."""

import re

import numpy as np
import pytest
import torch

from absa.metrics.rows import join_rows, sorted_rows, with_places

LABELS = ("none", "positive", "negative")
KEY = {"id": "1", "target": "", "aspect": "food"}
SECOND = "('1', 'b', 'food')"
LONG = "x" * 1_000_000


def three_rows(**changes):
    return {
        "ids": ["2", "1", "1"],
        "targets": ["", "b", "a"],
        "aspects": ["food", "food", "food"],
        "labels": ["none", "positive", "negative"],
        "probabilities": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
        "label_names": LABELS,
    } | changes


def test_rows_are_sorted_by_key_and_stay_together():
    rows = sorted_rows(**three_rows())
    assert rows.keys == [("1", "a", "food"), ("1", "b", "food"), ("2", "", "food")]
    assert rows.labels.tolist() == [2, 1, 0]
    assert rows.probabilities.argmax(axis=1).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "column",
    [
        [(0.25, 0.5, 0.25)] * 3,
        np.array([[0.25, 0.5, 0.25]] * 3, dtype=np.float16),
        torch.tensor([[0.25, 0.5, 0.25]] * 3),
        [torch.tensor([0.25, 0.5, 0.25])] * 3,
        np.array([[0.25, 0.5, 0.25], None], dtype=object)[[0, 0, 0]],
    ],
    ids=["tuples", "float16", "tensor", "tensors", "column of lists"],
)
def test_probabilities_may_be_what_numpy_reads(column):
    probabilities = sorted_rows(**three_rows(probabilities=column)).probabilities
    assert probabilities.tolist() == [[0.25, 0.5, 0.25]] * 3
    assert probabilities.dtype == np.float64


def test_probabilities_may_miss_one_by_a_thousandth():
    near = [[0.8, 0.1, 0.1009], [0.8, 0.1, 0.0991], [1, 0, 0]]
    assert sorted_rows(**three_rows(probabilities=near)).probabilities.shape == (3, 3)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ids": ["1"]}, "unequal lengths {'ids': 1, 'targets': 3"),
        ({"ids": ["2", 1, 3]}, "rows[1]: the key (1, 'b', 'food') must be three strings"),
        ({"ids": ["2", "1", "a\ud83d"]}, "rows[2]: the key ('a\\ud83d', 'a', 'food') must be three strings"),
        ({"targets": [None, "b", "a"]}, "rows[0]: the key ('2', None, 'food') must be three strings"),
        ({"targets": ["", "a", "a"]}, "rows[2]: the key ('1', 'a', 'food') ('id', 'target', 'aspect') is given twice"),
        ({"ids": [LONG] * 3, "targets": ["", "a", "a"]}, "is given twice: keep one row for each key"),
        ({"labels": ["none", "Positive", "none"]}, f"unknown label 'Positive' for {SECOND}: use one of ['none', "),
        ({"labels": ["none", ["none"], "none"]}, f"unknown label ['none'] for {SECOND}"),
        ({"labels": LONG}, "labels='xxx"),
        ({"labels": {"none"}}, "labels={'none'} (set): give a list, one entry per row"),
        ({"labels": iter(LABELS)}, "(tuple_iterator): give a list"),
        ({column: [] for column in three_rows() if column != "label_names"}, "there are no rows"),
    ],
    ids=lambda value: "" if isinstance(value, str) else "-".join(value),
)
def test_bad_rows_are_named(changes, told):
    with pytest.raises(ValueError, match=re.escape(told)) as error:
        sorted_rows(**three_rows(**changes))
    assert len(str(error.value)) < 1200


NO_NUMBERS = "are no row of numbers: give a list or an array of floats"
NO_DISTRIBUTION = "are not 3 numbers of at least 0 with a sum of 1 within 0.001: give the softmax"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (0.5, NO_NUMBERS),
        (["1", "0", "0"], NO_NUMBERS),
        ([True, False, False], NO_NUMBERS),
        ([[1], 0, 0], NO_NUMBERS),
        ([10**400, 0, 0], NO_NUMBERS),
        ([LONG] * 20, NO_NUMBERS),
        (torch.tensor([1.0, 0, 0], requires_grad=True), NO_NUMBERS),
        (torch.tensor([1.0, 0, 0], dtype=torch.bfloat16), NO_NUMBERS),
        (torch.zeros(3, device="meta"), NO_NUMBERS),
        ([0.5, 0.5], NO_DISTRIBUTION),
        ([0.01] * 1000, NO_DISTRIBUTION),
        ([float("nan"), 0, 1], NO_DISTRIBUTION),
        ([float("inf"), float("-inf"), 0], NO_DISTRIBUTION),
        ([1, -1e-12, 0], NO_DISTRIBUTION),
        ([0.5, 0.4, 0.098], NO_DISTRIBUTION),
        ([1e308, 1e308, 0], NO_DISTRIBUTION),
    ],
    ids=lambda value: f"{type(value).__name__}-{value!r}"[:40],
)
@pytest.mark.filterwarnings("error")  # numpy's of overflow
def test_probabilities_that_are_none(row, told):
    with pytest.raises(ValueError, match=re.escape(f"for {SECOND} {told}")) as error:
        sorted_rows(**three_rows(probabilities=[[1, 0, 0], row, [1, 0, 0]]))
    assert len(str(error.value)) < 2000


def test_targets_that_a_text_names_twice_have_their_place():
    ids, targets = ["1", "1", "1", "1", "2"], ["tea", "tea", "tea!", "tea", "tea"]
    found = with_places(ids, targets, ["", "", "", "taste", ""], [5, 130, 40, 5, None])
    assert found == ["tea\x00000000005", "tea\x00000000130", "tea!", "tea", "tea"]
    assert sorted(found[:3]) == found[:3]
    assert with_places(["1"] * 2, ["tea"] * 2, [""] * 2, [None] * 2) == ["tea", "tea"]  # of which there is no place


def test_rows_are_joined_by_key():
    predictions = [KEY | {"id": "2", "probabilities": [0, 1], "label": "b"}, KEY | {"probabilities": [1, 0], 7: None}]
    references = [KEY | {"label": "a", "text": object()}, KEY | {"id": "2", "label": "b"}]
    joined = {
        "ids": ["1", "2"],
        "targets": ["", ""],
        "aspects": ["food", "food"],
        "labels": ["a", "b"],
        "probabilities": [[1, 0], [0, 1]],
    }
    assert join_rows(predictions, references) == joined
    assert join_rows(dict(enumerate(predictions)).values(), dict(enumerate(references)).values()) == joined


@pytest.mark.parametrize(
    ("predicted", "gold", "told"),
    [
        ("12", "143", r"^predictions lack 2 of the 3 keys .* of references, first \('3', '', 'food'\): give one"),
        ("312", "12", r"^references lack 1 of the 3 keys .* of predictions, first \('3', '', 'food'\): drop the"),
        ("121", "12", r"^predictions\[2\]: the key \('1', '', 'food'\).* is given twice: keep one row for each key"),
        ("12", "122", r"^references\[2\]: the key \('2', '', 'food'\).* is given twice"),
    ],
)
def test_keys_that_do_not_match(predicted, gold, told):
    predictions = [KEY | {"id": id, "probabilities": [1, 0]} for id in predicted]
    with pytest.raises(ValueError, match=told):
        join_rows(predictions, [KEY | {"id": id, "label": "a"} for id in gold])


@pytest.mark.parametrize("side", ["predictions", "references"])
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (None, r"=None \(NoneType\): give a list of dicts with \['id', 'target', 'aspect', '"),
        (iter([KEY]), r"=<list_iterator .*> \(list_iterator\): give a list of dicts"),
        ([None], r"\[0\]=None \(NoneType\) has no 'id': give a dict with \['id'"),
        ([KEY], r"\[0\]={.*} \(dict\) has no '(probabilities|label)': give a dict"),
    ],
    ids=["none", "iterator", "no row", "no value"],
)
def test_sides_that_are_no_rows(side, rows, told):
    sides = {"predictions": [KEY | {"probabilities": [1, 0]}], "references": [KEY | {"label": "a"}]}
    with pytest.raises(ValueError, match=f"^{side}{told}"):
        join_rows(**sides | {side: rows})
