"""Intervals: what is drawn, and the percentiles of it."""

import re
import warnings

import numpy as np
import pytest

from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import ratio


@pytest.mark.parametrize(
    ("ids", "resamples"),
    [
        # Two ids are drawn, each with all its groups: the first twice, both, or the second twice.
        (["a", "a", "b"], {(0, 0, 1, 1), (0, 1, 2), (2, 2)}),
        (["a", "a\0"], {(0, 0), (0, 1), (1, 1)}),
    ],
    ids=["groups of an id", "an id that ends in NUL"],
)
def test_bounds_draw_whole_ids(ids, resamples):
    drawn = []

    def figures_of(groups):
        drawn.append(tuple(groups.tolist()))
        return {"mean": float(groups.mean())}

    with_bounds(figures_of, ids, bootstrap=50, seed=0)
    assert drawn[0] == tuple(range(len(ids)))
    assert set(drawn[1:]) == resamples


def test_bounds_are_the_percentiles_of_the_resamples():
    seen = []

    def figures_of(groups):
        seen.append(float(groups.mean()))
        return {"mean": seen[-1]}

    ids = [f"{number:02}" for number in range(40)]
    bounded = with_bounds(figures_of, ids, bootstrap=200, seed=3)
    low, high = np.percentile(seen[1:], [2.5, 97.5])
    assert bounded == {"mean": 19.5, "mean_low": low, "mean_high": high}
    assert low < 19.5 < high
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
    assert np.isnan([bounded["never_low"], bounded["never_high"]]).all()


@pytest.mark.parametrize("value", [-1, 2.5, None, True, "3"])
@pytest.mark.parametrize("name", ["bootstrap", "seed"])
def test_bad_options(name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}: give an integer of at least 0")):
        with_bounds(lambda groups: {}, ["a"], **{"bootstrap": 0, "seed": 0, name: value})


def test_a_figure_with_the_name_of_a_bound():
    with pytest.raises(ValueError, match="'accuracy/price_low' is a figure and a bound of another: rename the aspect"):
        with_bounds(lambda groups: {"accuracy/price": 0.5, "accuracy/price_low": 1.0}, ["a"], bootstrap=1, seed=0)
