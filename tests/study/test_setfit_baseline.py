"""The baseline of SetFit's own library, which the tests' environment does not have: pip install '.[setfit]'."""

import pytest

pytest.importorskip("setfit", reason="SetFit is not installed: pip install '.[setfit]'")
pytest.importorskip("spacy", reason="spaCy is not installed: pip install '.[setfit]'")

import numpy as np
from setfit.span import PolarityModel

import setfit_baseline

ROW = {"text": "We found the pad thai too sweet here", "aspect": ""}


def test_rows_as_the_library_writes_them():
    model = PolarityModel.__new__(PolarityModel)
    model.span_context = 3
    rows = [
        {**ROW, "target_start": 13, "target_end": 21},
        {**ROW, "target_start": 13, "target_end": 19},  # which cuts a word
        {**ROW, "aspect": "food", "target_start": None, "target_end": None},
    ]
    term = f"We found the pad thai too sweet here:{ROW['text']}"
    assert setfit_baseline.written(model, rows) == [term, term, f"food:{ROW['text']}"]


def test_probabilities_are_in_the_order_of_the_labels():
    class Model:
        class model_head:  # noqa: N801
            classes_ = np.array(["negative", "neutral", "positive"])

        def predict_proba(self, inputs, as_numpy):
            return np.array([[0.1, 0.2, 0.7]] * len(inputs))

    found = setfit_baseline.probabilities(Model(), ["a"], ["positive", "neutral", "negative"])
    assert found.tolist() == [[0.7, 0.2, 0.1]]
