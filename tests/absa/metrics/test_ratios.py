"""Ratios: by hand, against scikit-learn, and undefined."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from absa.metrics.ratios import DegenerateScoreWarning, presence_figures, ratio, roc_auc, share


def test_what_is_undefined_is_nan_with_a_warning():
    with pytest.warns(DegenerateScoreWarning, match="recall is NaN: no gold aspect"):
        assert np.isnan(ratio("recall", 0, 0, "no gold aspect"))
    assert ratio("recall", 0, 4, "no gold aspect") == 0
    right, none = np.array([True, False]), np.array([False, False])
    with pytest.warns(DegenerateScoreWarning, match="accuracy is NaN: no rows"):
        assert np.isnan(share("accuracy", right, none, "no rows"))
    assert share("accuracy", right, ~none, "no rows") == 0.5
    with pytest.warns(DegenerateScoreWarning, match="auc is NaN: only one class"):
        assert np.isnan(roc_auc("auc", ~none, np.array([0.1, 0.2])))


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
def test_equals_sklearn(seed):
    generator = np.random.default_rng(seed)
    positive = generator.random(200) < 0.2
    scores = generator.integers(0, 30, 200) / 30  # with ties
    assert roc_auc("auc", positive, scores) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    *figures, _ = precision_recall_fscore_support(positive, scores > 0.7, average="binary")
    assert [*presence_figures("", positive, scores > 0.7).values()] == pytest.approx(figures, abs=1e-12)
