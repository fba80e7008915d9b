"""Calibration errors against cases that can be worked out by hand, and the temperature that was put in."""

import math

import numpy as np
import pytest

from absa import calibration

LABELS = ["none", "positive", "negative"]


def test_error_by_hand():
    confidence = np.array([0.61, 0.65, 0.95, 0.95, 0.95, 0.95])
    correct = np.array([True, False, True, True, True, False])
    # 2 rows in the bin of 0.6 to 0.667: mean 0.63, half right; 4 rows above 0.933: mean 0.95, three quarters right.
    expected = 2 / 6 * (0.63 - 0.5) + 4 / 6 * (0.95 - 0.75)
    assert calibration.expected_calibration_error(confidence, correct) == pytest.approx(expected)


def test_probabilities_of_zero_and_one_have_a_bin():
    assert calibration.expected_calibration_error(np.array([0.0, 1.0]), np.array([True, False])) == 1.0
    assert calibration.expected_calibration_error(np.array([0.0, 1.0]), np.array([False, True])) == 0.0
    assert math.isnan(calibration.expected_calibration_error(np.array([]), np.array([], dtype=bool)))


@pytest.fixture(scope="module")
def drawn():
    """Logits, and labels drawn from their softmax at temperature 2.5."""
    generator = np.random.default_rng(0)
    logits = generator.normal(scale=4, size=(20_000, 3))
    weights = np.exp(logits / 2.5)
    shares = (weights / weights.sum(-1, keepdims=True)).cumsum(-1)
    return logits, (generator.random((20_000, 1)) > shares).sum(-1)


def test_the_temperature_that_labels_were_drawn_at_is_found(drawn):
    assert calibration.fit_temperature(*drawn) == pytest.approx(2.5, rel=0.03)


def test_the_right_temperature_makes_all_errors_small(drawn):
    logits, labels = drawn
    before = calibration.calibration_errors(logits, labels, LABELS)
    after = calibration.calibration_errors(logits / 2.5, labels, LABELS)
    assert list(before) == list(after) == ["label", "present", "sentiment"]
    assert min(before.values()) > 0.05
    assert max(after.values()) < 0.015


def test_errors_of_certain_answers():
    # Row 0 is certain and right, row 1 certain of the wrong sentiment, row 2 certain of none where there is one.
    logits = np.array([[50.0, 0, 0], [0, 50.0, 0], [50.0, 0, 25.0]])
    errors = calibration.calibration_errors(logits, [0, 2, 2], LABELS)
    assert errors == pytest.approx({"label": 2 / 3, "present": 1 / 3, "sentiment": 1 / 2}, abs=1e-6)
    assert list(calibration.calibration_errors(logits, [0, 2, 2], ["a", "b", "c"])) == ["label"]


def test_a_temperature_is_kept_where_it_helps_rows_that_it_was_not_fitted_to(drawn):
    logits, labels = drawn
    assert calibration.helpful_temperature(logits, labels) == calibration.fit_temperature(logits, labels)
    assert calibration.helpful_temperature(logits[:3], labels[:3]) == 1.0


def test_few_rows_that_are_calibrated_seldom_get_a_temperature(drawn):
    logits, labels = drawn
    parts = [slice(start, start + 40) for start in range(0, 800, 40)]
    temperatures = [calibration.helpful_temperature(logits[part] / 2.5, labels[part]) for part in parts]
    assert temperatures.count(1.0) >= 14
    fitted = [calibration.fit_temperature(logits[part] / 2.5, labels[part]) for part in parts]
    assert max(fitted) > 1.3  # what would have been kept
    overconfident = [calibration.helpful_temperature(logits[part], labels[part]) for part in parts]
    assert overconfident.count(1.0) <= 2
