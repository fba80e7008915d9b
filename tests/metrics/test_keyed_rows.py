"""Checks and sorting of rows, and intervals: the files that stand in every metric folder (the copies are equal)."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from metrics.sentihood.aspect_groups import roc_auc
from metrics.sentihood.figures import DegenerateScoreWarning, presence_figures, ratio, with_bounds
from metrics.sentihood.keyed_rows import join_rows, sorted_rows

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
        ({"ids": [1, 2, 3]}, r"the key \(1, '', 'food'\) must be three strings"),
        ({"targets": [None, "b", "a"]}, r"the key \('2', None, 'food'\) must be three strings.*use '' for no target"),
        ({"targets": ["", "a", "a"]}, r"the key \('1', 'a', 'food'\).* is given 2 times"),
        (
            {"labels": ["none", "Positive", "none"]},
            r"unknown label 'Positive' for \('1', 'b', 'food'\): use one of \['",
        ),
        ({"probabilities": [[0.5, 0.5]] * 3}, r"for \('2', '', 'food'\) have the shape \(2,\): give 3 numbers"),
        ({"probabilities": [0.5, 0.5, 0.5]}, r"for \('2', '', 'food'\) have the shape \(\): give 3 numbers"),
        ({"probabilities": [[1, 0, 0], [float("nan"), 0, 1], [1, 0, 0]]}, r"\('1', 'b', 'food'\) are not all finite"),
        ({"probabilities": [[1, 0, 0], [1, 0, 0], [1.5, -0.5, 0]]}, r"\('1', 'a', 'food'\) are not all at least 0"),
        ({"probabilities": [[1, 0, 0], [0.5, 0.4, 0.098], [1, 0, 0]]}, r"\('1', 'b', 'food'\) do not sum to 1 within"),
        ({"probabilities": [[2.5, 0.5, 1], [1, 0, 0], [1, 0, 0]]}, r"\('2', '', 'food'\) do not sum.*the softmax"),
    ],
)
def test_bad_rows_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        sorted_rows(**three_rows(**changes))


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


@pytest.mark.parametrize("bootstrap", [-1, 2.5, None])
def test_bad_number_of_resamples(bootstrap):
    with pytest.raises(ValueError, match=f"bootstrap={bootstrap}: give the number of resamples"):
        with_bounds(lambda groups: {}, ["a"], bootstrap=bootstrap, seed=0)
