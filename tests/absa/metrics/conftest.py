"""Rows of the metrics with one row for each aspect of a group."""

import numpy as np
import pytest


@pytest.fixture
def as_rows():
    """{(id, target): {aspect: (label, probabilities)}} as columns; aspects left out are none, and sure to be."""

    def columns(groups, metric):
        others = len(metric.LABELS) - 1
        sure = ("none", [0.9, *[0.1 / others] * others])
        return zip(
            *[
                (*group, aspect, *rows.get(aspect, sure))
                for group, rows in groups.items()
                for aspect in metric.ASPECTS
            ],
            strict=True,
        )

    return columns


@pytest.fixture(params=range(5))
def random_rows(request):
    """Columns of 40 groups, in which ties are common."""

    def columns(metric):
        generator = np.random.default_rng(request.param)
        keys = [(str(n // 2), f"LOCATION{n % 2 + 1}", aspect) for n in range(40) for aspect in metric.ASPECTS]
        weights = generator.integers(1, 6, size=(len(keys), len(metric.LABELS)))
        often_none = [0.6, *[0.4 / (len(metric.LABELS) - 1)] * (len(metric.LABELS) - 1)]
        labels = generator.choice(metric.LABELS, size=len(keys), p=often_none).tolist()
        return *zip(*keys, strict=True), labels, weights / weights.sum(axis=1, keepdims=True)

    return columns
