"""Rows: joined by key, checked and sorted."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from absa.metrics.rows import join_rows, sorted_rows

LABELS = ("none", "positive", "negative")
KEY = {"id": "1", "target": "", "aspect": "food"}
SECOND = r"\('1', 'b', 'food'\)"


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
    ("changes", "message"),
    [
        ({"ids": ["1"]}, r"unequal lengths \{'ids': 1, 'targets': 3"),
        ({"ids": ["2", 1, 3]}, r"rows\[1\]: the key \(1, 'b', 'food'\) must be three strings"),
        ({"ids": ["2", "1", "a\ud83d"]}, r"rows\[2\]: the key \('a\\ud83d', 'a', 'food'\).*without half surrogate"),
        ({"targets": [None, "b", "a"]}, r"the key \('2', None, 'food'\) must be three strings.*use '' for no target"),
        ({"targets": ["", "a", "a"]}, r"the key \('1', 'a', 'food'\).* is given 2 times"),
        ({"labels": ["none", "Positive", "none"]}, rf"unknown label 'Positive' for {SECOND}: use one of \['"),
        ({"labels": ["none", ["none"], "none"]}, rf"unknown label \['none'\] for {SECOND}: use one of \['"),
        ({"labels": ["none", 0, "none"]}, rf"unknown label 0 for {SECOND}"),
        ({"probabilities": [[0.5, 0.5]] * 3}, r"for \('2', '', 'food'\) have the shape \(2,\): give 3 numbers"),
        ({"labels": "abc"}, r"^labels='abc' \(str\): give a list, one entry per row"),
        ({"labels": {"none"}}, r"^labels={'none'} \(set\): give a list"),
        ({"labels": iter(LABELS)}, r"^labels=<.*> \(tuple_iterator\): give a list"),
        ({"probabilities": np.array(0.5)}, r"^probabilities=array\(0.5\) \(ndarray\): give a list"),
        ({"probabilities": csr_matrix([[1.0]])}, r"^probabilities=<.*> \(csr_matrix\): give a list"),
        ({"ids": [], "targets": [], "aspects": [], "labels": [], "probabilities": []}, "there are no rows"),
    ],
)
def test_bad_rows_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        sorted_rows(**three_rows(**changes))


@pytest.mark.parametrize(
    "row",
    [
        0.5,
        ["1", "0", "0"],
        [None, 0, 1],
        [True, False, False],
        [[1, 0, 0]],
        [[1], 0, 0],
        [10**400, 0, 0],
        csr_matrix([[1, 0, 0]]),
        torch.tensor([1.0, 0, 0], requires_grad=True),
        torch.tensor([1.0, 0, 0], dtype=torch.bfloat16),
        torch.zeros(3, device="meta"),
    ],
    ids=lambda row: f"{type(row).__name__}-{row!r}"[:40],
)
def test_probabilities_that_are_no_numbers(row):
    message = f"(?s)^the probabilities .* for {SECOND} are no row of numbers: give a list or an array of floats"
    with pytest.raises(ValueError, match=message):
        sorted_rows(**three_rows(probabilities=[[1, 0, 0], row, [1, 0, 0]]))


@pytest.mark.parametrize(
    "row",
    [
        [float("nan"), 0, 1],
        [float("inf"), float("-inf"), 0],
        [1, -1e-12, 0],
        [0.5, 0.4, 0.098],
        [1e308, 1e308, 0],
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("error")  # numpy's of overflow
def test_probabilities_that_are_no_distribution(row):
    message = f"for {SECOND} are not at least 0 with a sum of 1 within 0.001: give the softmax"
    with pytest.raises(ValueError, match=message):
        sorted_rows(**three_rows(probabilities=[[1, 0, 0], row, [1, 0, 0]]))


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": [LONG, LONG, LONG], "targets": ["", "a", "a"]},
        {"labels": LONG},
        {"probabilities": [[LONG] * 20] * 3},
        {"probabilities": [[0.5] * 1000] * 3, "label_names": [f"{number}{LONG}" for number in range(20)]},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_messages_stay_short(changes):
    with pytest.raises(ValueError, match=r"use|give|keep") as error:
        sorted_rows(**three_rows(**changes))
    assert len(str(error.value)) < 1200


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
    ("predicted", "gold", "message"),
    [
        ("12", "123", r"^predictions lack 1 of the 3 keys .* of references, first \('3', '', 'food'\): give one"),
        ("312", "12", r"^references lack 1 of the 3 keys .* of predictions, first \('3', '', 'food'\): drop the"),
        ("121", "12", r"^predictions: the key \('1', '', 'food'\).* is given 2 times: keep one row for each key"),
        ("12", "122", r"^references: the key \('2', '', 'food'\).* is given 2 times"),
    ],
)
def test_keys_that_do_not_match(predicted, gold, message):
    predictions = [KEY | {"id": id, "probabilities": [1, 0]} for id in predicted]
    with pytest.raises(ValueError, match=message):
        join_rows(predictions, [KEY | {"id": id, "label": "a"} for id in gold])


@pytest.mark.parametrize("side", ["predictions", "references"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, r"=None \(NoneType\): give a list of dicts with \['id', 'target', 'aspect', '"),
        (iter([KEY]), r"=<list_iterator .*> \(list_iterator\): give a list of dicts"),
        ([None], r"\[0\]=None \(NoneType\): give a dict with \['id'"),
        ([KEY], r"\[0\] has no '(probabilities|label)'"),
    ],
    ids=["none", "iterator", "no row", "no value"],
)
def test_sides_that_are_no_rows(side, rows, message):
    sides = {"predictions": [KEY | {"probabilities": [1, 0]}], "references": [KEY | {"label": "a"}]}
    with pytest.raises(ValueError, match=f"^{side}{message}"):
        join_rows(**sides | {side: rows})
