"""Checks and sorting of rows, and intervals: the files that stand in every metric folder (the copies are equal)."""

import re
import tracemalloc
import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

from absa.metrics.sentihood.aspect_groups import roc_auc
from absa.metrics.sentihood.figures import MOST_RESAMPLES, DegenerateScoreWarning, presence_figures, ratio, with_bounds
from absa.metrics.sentihood.keyed_rows import join_rows, sorted_rows

LABELS = ("none", "positive", "negative")


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
        np.array([[0.25, 0.5, 0.25]] * 3),
        torch.tensor([[0.25, 0.5, 0.25]] * 3),
        [torch.tensor([0.25, 0.5, 0.25])] * 3,
        np.array([[0.25, 0.5, 0.25], None], dtype=object)[[0, 0, 0]],
    ],
    ids=["tuples", "array", "tensor", "tensors", "column of lists"],
)
def test_probabilities_may_be_what_numpy_reads(column):
    assert sorted_rows(**three_rows(probabilities=column)).probabilities.tolist() == [[0.25, 0.5, 0.25]] * 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_probabilities_become_float64(dtype):
    rows = sorted_rows(**three_rows(probabilities=np.array([[0.5, 0.25, 0.25]] * 3, dtype=dtype)))
    assert rows.probabilities.dtype == np.float64
    assert rows.probabilities.sum() == 3


def test_probabilities_may_miss_one_by_a_thousandth():
    near = [[0.8, 0.1, 0.1009], [0.8, 0.1, 0.0991], [1, 0, 0]]
    assert sorted_rows(**three_rows(probabilities=near)).probabilities.shape == (3, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": ["1"]}, r"unequal lengths \{'ids': 1, 'targets': 3"),
        ({"ids": ["2", 1, 3]}, r"rows\[1\]: the key \(1, 'b', 'food'\) must be three strings"),
        (
            {"ids": ["2", "1", "a\ud83d"]},
            r"rows\[2\]: the key \('a\\ud83d', 'a', 'food'\).*without half surrogate pairs",
        ),
        ({"targets": [None, "b", "a"]}, r"the key \('2', None, 'food'\) must be three strings.*use '' for no target"),
        ({"targets": ["", "a", "a"]}, r"the key \('1', 'a', 'food'\).* is given 2 times"),
        (
            {"labels": ["none", "Positive", "none"]},
            r"unknown label 'Positive' for \('1', 'b', 'food'\): use one of \['",
        ),
        ({"probabilities": [[0.5, 0.5]] * 3}, r"for \('2', '', 'food'\) have the shape \(2,\): give 3 numbers"),
        (
            {"probabilities": [0.5, 0.5, 0.5]},
            r"probabilities 0.5 for \('2', '', 'food'\) are no row of numbers: give a",
        ),
        ({"probabilities": [[1, 0, 0], [float("nan"), 0, 1], [1, 0, 0]]}, r"\('1', 'b', 'food'\) are not all finite"),
        ({"probabilities": [[1, 0, 0], [1, 0, 0], [1.5, -0.5, 0]]}, r"\('1', 'a', 'food'\) are not all at least 0"),
        ({"probabilities": [[1, 0, 0], [0.5, 0.4, 0.098], [1, 0, 0]]}, r"\('1', 'b', 'food'\) do not sum to 1 within"),
        ({"probabilities": [[2.5, 0.5, 1], [1, 0, 0], [1, 0, 0]]}, r"\('2', '', 'food'\) do not sum.*the softmax"),
    ],
)
def test_bad_rows_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        sorted_rows(**three_rows(**changes))


@pytest.mark.parametrize("name", ["ids", "targets", "aspects", "labels", "probabilities"])
@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (None, r"None \(NoneType\)"),
        (3, r"3 \(int\)"),
        ("abc", r"'abc' \(str\)"),
        (b"abc", r"b'abc' \(bytes\)"),
        ({"a": 1}, r"{'a': 1} \(dict\)"),
        ({"a"}, r"{'a'} \(set\)"),
        ((row for row in "abc"), r"<generator .*> \(generator\)"),
        (np.array(0.5), r"array\(0.5\) \(ndarray\)"),
        (csr_matrix([[1.0]]), r"<.*> \(csr_matrix\)"),
    ],
    ids=["none", "number", "string", "bytes", "dict", "set", "generator", "no dimensions", "sparse"],
)
def test_columns_that_are_no_sequences(name, column, shown):
    with pytest.raises(ValueError, match=f"^{name}={shown}: give a list, one entry per row"):
        sorted_rows(**three_rows(**{name: column}))


@pytest.mark.parametrize(
    "label", [None, 0, True, float("nan"), b"none", ["none"], {}, np.array(["none", "x"])], ids=repr
)
def test_labels_of_another_type(label):
    with pytest.raises(ValueError, match=r"^unknown label .* for \('1', 'b', 'food'\): use one of \['none'") as error:
        sorted_rows(**three_rows(labels=["none", label, "none"]))
    assert repr(label) in str(error.value)


@pytest.mark.parametrize(
    "row",
    [
        None,
        "1 0 0",
        ["1", "0", "0"],
        [b"1", b"0", b"0"],
        [None, 0, 1],
        [True, False, False],
        [1 + 0j, 0, 0],
        [[1, 0, 0]],
        [[1], 0, 0],
        {"none": 1.0},
        {0.2, 0.8},
        [10**400, 0, 0],
        np.array([1, 0, 0], dtype=object),
        csr_matrix([[1, 0, 0]]),
        torch.tensor([1.0, 0, 0], requires_grad=True),
        torch.tensor([1.0, 0, 0], dtype=torch.bfloat16),
        torch.zeros(3, device="meta"),
    ],
    ids=lambda row: f"{type(row).__name__}-{row!r}"[:40],
)
def test_probabilities_that_are_no_numbers(row):
    message = (
        r"^the probabilities .* for \('1', 'b', 'food'\) are no row of numbers: give a list or an array of floats"
    )
    with pytest.raises(ValueError, match=f"(?s){message}"):
        sorted_rows(**three_rows(probabilities=[[1, 0, 0], row, [1, 0, 0]]))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ([float("inf"), float("-inf"), 0], "are not all finite"),
        ([1, -1e-12, 0], "are not all at least 0"),
        ([1e308, 1e308, 0], "do not sum to 1"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_overflows_is_no_warning_of_numpy(row, fault):
    with pytest.raises(ValueError, match=rf"\('1', 'b', 'food'\) {fault}"):
        sorted_rows(**three_rows(probabilities=[[1, 0, 0], row, [1, 0, 0]]))


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": [LONG, LONG, LONG], "targets": ["", "a", "a"]},
        {"targets": [None, LONG, LONG]},
        {"labels": [LONG, "none", "none"]},
        {"labels": LONG},
        {"probabilities": [LONG] * 3},
        {"probabilities": [[LONG] * 20] * 3},
        {"probabilities": [[0.5] * 1000] * 3, "label_names": [f"{number}{LONG}" for number in range(20)]},
        {"label_names": [f"{number}" for number in range(10_000)], "labels": [LONG] * 3},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_messages_stay_short(changes):
    with pytest.raises(ValueError, match=r"use|give|keep") as error:
        sorted_rows(**three_rows(**changes))
    assert len(str(error.value)) < 1200


def test_no_rows():
    with pytest.raises(ValueError, match="no rows"):
        sorted_rows([], [], [], [], [], LABELS)


def test_join_follows_the_references():
    key = {"target": "", "aspect": "food"}
    joined = join_rows(
        [{**key, "id": "1", "probabilities": [1, 0]}, {**key, "id": "2", "probabilities": [0, 1]}],
        [{**key, "id": "2", "label": "b"}, {**key, "id": "1", "label": "a"}],
    )
    assert joined == {
        "ids": ["2", "1"],
        "targets": ["", ""],
        "aspects": ["food", "food"],
        "labels": ["b", "a"],
        "probabilities": [[0, 1], [1, 0]],
    }


KEY = {"id": "1", "target": "", "aspect": "food"}


def test_other_fields_are_ignored():
    predictions = [KEY | {"probabilities": [1, 0], "label": "b", 7: None}]
    references = [KEY | {"label": "a", "text": object()}]
    columns = {"ids": ["1"], "targets": [""], "aspects": ["food"], "labels": ["a"], "probabilities": [[1, 0]]}
    assert join_rows(predictions, references) == columns


@pytest.mark.parametrize("side", ["predictions", "references"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (None, r"=None \(NoneType\): give a list of dicts with \['id', 'target', 'aspect', '"),
        ("rows.csv", r"='rows.csv' \(str\): give a list of dicts"),
        (KEY, r"={'aspect': 'food', 'id': '1', 'target': ''} \(dict\): give a list of dicts"),
        (iter([KEY]), r"=<list_iterator .*> \(list_iterator\): give a list of dicts"),
        ([None], r"\[0\]=None \(NoneType\): give a dict with \['id'"),
        ([list(KEY)], r"\[0\]=\['id', 'target', 'aspect'\] \(list\): give a dict"),
        (range(10**12), r"\[0\]=0 \(int\): give a dict"),
        ([KEY], r"\[0\] has no '(probabilities|label)'"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_sides_that_are_no_rows(side, rows, message):
    sides = {"predictions": [KEY | {"probabilities": [1, 0]}], "references": [KEY | {"label": "a"}]}
    with pytest.raises(ValueError, match=f"^{side}{message}"):
        join_rows(**sides | {side: rows})


def test_ratio_of_nothing_warns():
    with pytest.warns(DegenerateScoreWarning, match="recall is NaN: no gold aspect"):
        assert np.isnan(ratio("recall", 0, 0, "no gold aspect"))
    assert ratio("recall", 0, 4, "no gold aspect") == 0


def test_presence_figures_by_hand():
    # gold 3, predicted 2, both 1: precision 1/2, recall 1/3, F1 = 2/(3 + 2).
    gold, predicted = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    assert presence_figures("x_", gold, predicted) == {"x_precision": 1 / 2, "x_recall": 1 / 3, "x_f1": 2 / 5}


def test_precision_without_a_prediction_is_undefined_but_f1_is_zero():
    with pytest.warns(DegenerateScoreWarning) as caught:
        figures = presence_figures("", np.array([True, False]), np.array([False, False]))
    assert [str(warning.message) for warning in caught] == ["precision is NaN: no aspect is predicted to be present."]
    assert np.isnan(figures["precision"])
    assert (figures["recall"], figures["f1"]) == (0.0, 0.0)


def test_roc_auc_by_hand():
    # Pairs (positive, negative): .9>.5, .9>.1, .5=.5, .5>.1 -> (1 + 1 + 1/2 + 1) / 4.
    assert roc_auc("auc", np.array([True, True, False, False]), np.array([0.9, 0.5, 0.5, 0.1])) == 3.5 / 4


@pytest.mark.parametrize("seed", range(5))
def test_roc_auc_equals_sklearn(seed):
    generator = np.random.default_rng(seed)
    positive = generator.random(200) < 0.2
    scores = generator.integers(0, 30, 200) / 30  # with ties
    assert roc_auc("auc", positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


def test_roc_auc_of_one_class():
    with pytest.warns(DegenerateScoreWarning, match="auc is NaN: only one class"):
        assert np.isnan(roc_auc("auc", np.array([True, True]), np.array([0.1, 0.2])))


def test_bounds_draw_whole_ids():
    drawn = []

    def figures_of(groups):
        drawn.append(groups.tolist())
        return {"mean": float(groups.mean())}

    with_bounds(figures_of, ["a", "a", "b"], bootstrap=50, seed=0)
    # Two ids are drawn, each with all its groups: a twice, both, or b twice.
    assert drawn[0] == [0, 1, 2]
    assert {tuple(groups) for groups in drawn[1:]} == {(0, 0, 1, 1), (0, 1, 2), (2, 2)}


def test_bounds_are_the_percentiles_of_the_resamples():
    values = np.arange(40.0)
    seen = []

    def figures_of(groups):
        seen.append(float(values[groups].mean()))
        return {"mean": seen[-1]}

    ids = [f"{number:02}" for number in range(40)]
    bounded = with_bounds(figures_of, ids, bootstrap=200, seed=3)
    assert list(bounded) == ["mean", "mean_low", "mean_high"]
    assert bounded["mean"] == 19.5
    assert [bounded["mean_low"], bounded["mean_high"]] == np.percentile(seen[1:], [2.5, 97.5]).tolist()
    assert bounded["mean_low"] < 19.5 < bounded["mean_high"]
    assert with_bounds(figures_of, ids, bootstrap=200, seed=3) == bounded
    assert with_bounds(figures_of, ids, bootstrap=200, seed=4) != bounded


def test_undefined_resamples_are_left_out_silently():
    def figures_of(groups):
        return {"share": ratio("share", 1, (groups == 0).sum(), "group 0 is absent"), "never": float("nan")}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounded = with_bounds(figures_of, ["a", "b"], bootstrap=30, seed=0)
    # Group 0 is drawn once (1/1), twice (1/2) or, left out, never.
    assert (bounded["share_low"], bounded["share_high"]) == (0.5, 1.0)
    assert np.isnan(bounded["never_low"])
    assert np.isnan(bounded["never_high"])


@pytest.mark.parametrize("bootstrap", [-1, 2.5, None, True, "3", [3], MOST_RESAMPLES + 1])
def test_bad_number_of_resamples(bootstrap):
    message = re.escape(f"bootstrap={bootstrap!r}: give the number of resamples, an integer from 0")
    with pytest.raises(ValueError, match=message):
        with_bounds(lambda groups: {}, ["a"], bootstrap=bootstrap, seed=0)


@pytest.mark.parametrize("bootstrap", [0, 2])
@pytest.mark.parametrize("seed", [-1, 2.5, True, "3", [3]])
def test_bad_seed(bootstrap, seed):
    with pytest.raises(ValueError, match=re.escape(f"seed={seed!r}: give an integer of at least 0")):
        with_bounds(lambda groups: {}, ["a"], bootstrap=bootstrap, seed=seed)


def test_integers_of_numpy_are_integers():
    def figures_of(groups):
        return {"mean": float(groups.mean())}

    expected = with_bounds(figures_of, ["a", "b"], bootstrap=3, seed=1)
    assert with_bounds(figures_of, ["a", "b"], bootstrap=np.int64(3), seed=np.uint8(1)) == expected


def test_ids_that_end_in_nul_are_ids_of_their_own():
    drawn = set()

    def figures_of(groups):
        drawn.add(tuple(groups.tolist()))
        return {}

    with_bounds(figures_of, ["a", "a\0"], bootstrap=30, seed=0)
    assert drawn == {(0, 0), (0, 1), (1, 1)}


def test_one_long_id_does_not_lengthen_the_others():
    tracemalloc.start()
    with_bounds(lambda groups: {}, ["x" * 100_000, *map(str, range(300))], bootstrap=1, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000  # bytes; 300 strings of 100,000 characters are 120,000,000 in an array


def test_a_figure_with_the_name_of_a_bound():
    with pytest.raises(ValueError, match="'accuracy/price_low' is a figure and a bound of another: rename the aspect"):
        with_bounds(lambda groups: {"accuracy/price": 0.5, "accuracy/price_low": 1.0}, ["a"], bootstrap=1, seed=0)


def test_values_of_a_dict_are_rows_and_labels():
    labels = {0: "none", 1: "good"}
    rows = {"a": {"id": "1", "target": "", "aspect": "food", "label": "good"}}
    predictions = {"a": {"id": "1", "target": "", "aspect": "food", "probabilities": [0.25, 0.75]}}
    joined = join_rows(predictions.values(), rows.values())
    assert sorted_rows(**joined, label_names=labels.values()).labels.tolist() == [1]
