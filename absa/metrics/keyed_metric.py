"""What the `evaluate` modules share: rows go in as dicts, and are checked before `evaluate` writes them to disk."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from absa.metrics.rows import KEY_FIELDS, join_rows, plain_rows
from absa.metrics.tag_sequences import join_tags, plain_tags
from absa.metrics.tuple_rows import FIELDS, SPANS, join_tuples, plain_tuples

INPUTS = """
Args:
    predictions: list of {"id": str, "target": str, "aspect": str, "probabilities": [float] * number of labels},
        the probabilities summing to 1.
    references: list of {"id": str, "target": str, "aspect": str, "label": str}; target "" where there is none.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1, and counts; see README.md for each.
"""
TAG_INPUTS = """
Args:
    predictions, references: list of {"id": str, "tags": [str]}, a tag for each word.
    scheme (str): of the tags.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1, and counts; see README.md for each.
"""

TUPLE_INPUTS = """
Args:
    predictions, references: list of {"id": str, "tuples": [{"target": [start, end], "label": str, ...}]}, with the
        fields that the metric reads; predictions may have "invalid" (bool): some output was no tuple.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1, and counts; see README.md for each.
"""


def metric_info(**about: str | list[str]) -> evaluate.MetricInfo:
    """The info of a metric of keyed rows, with what is said `about` it."""
    key = {field: datasets.Value("string") for field in KEY_FIELDS}
    features = {
        "predictions": {**key, "probabilities": datasets.Sequence(datasets.Value("float64"))},
        "references": {**key, "label": datasets.Value("string")},
    }
    features = datasets.Features(features)
    return evaluate.MetricInfo(**about, inputs_description=INPUTS, license="Apache-2.0", features=features)


def tag_metric_info(**about: str | list[str]) -> evaluate.MetricInfo:
    """The info of a metric of tagged sentences, with what is said `about` it."""
    sentence = {"id": datasets.Value("string"), "tags": datasets.Sequence(datasets.Value("string"))}
    features = datasets.Features({"predictions": sentence, "references": sentence})
    return evaluate.MetricInfo(**about, inputs_description=TAG_INPUTS, license="Apache-2.0", features=features)


def tuple_metric_info(**about: str | list[str]) -> evaluate.MetricInfo:
    """The info of a metric of sentences of tuples, with what is said `about` it."""
    span = datasets.Sequence(datasets.Value("int64"))
    fields = {field: span if field in SPANS else datasets.Value("string") for field in FIELDS}
    sentence = {"id": datasets.Value("string"), "tuples": [fields], "invalid": datasets.Value("bool")}
    features = datasets.Features({"predictions": sentence, "references": sentence})
    return evaluate.MetricInfo(**about, inputs_description=TUPLE_INPUTS, license="Apache-2.0", features=features)


class KeyedRowsMixin:
    """For an `evaluate.Metric` with `scores`, a static method: columns as `join` gives them -> figures by name.

    A mixin, because `evaluate.load` takes the first metric class that it finds in a script.
    """

    join = staticmethod(join_rows)
    plain = staticmethod(plain_rows)

    def compute(self, *, predictions=None, references=None, **options):
        """Score predictions against references, or all that `add` and `add_batch` collected when neither is given."""
        if predictions is None and references is None:
            return super().compute(**options)
        # Not by way of the disk, where `evaluate` leaves its file locked after an error.
        return self._compute(predictions, references, **options)

    def add_batch(self, *, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]):
        """Collect as many predictions as references for `compute`; the keys of a batch need not be the same.

        Raises:
            ValueError: a field is missing or of another type, a key is given twice, or the lengths differ.
        """
        predictions, references = self.plain("predictions", predictions), self.plain("references", references)
        super().add_batch(predictions=predictions, references=references)

    def add(self, *, prediction: Mapping[str, Any], reference: Mapping[str, Any]):
        """Collect one of each, as `add_batch`."""
        self.add_batch(predictions=[prediction], references=[reference])

    def _compute(self, predictions, references, **options):
        return self.scores(**self.join(predictions, references), **options)


class TaggedSentencesMixin(KeyedRowsMixin):
    """The same for sentences of tags, with `gold` and `predicted` as columns."""

    join = staticmethod(join_tags)
    plain = staticmethod(plain_tags)


class TuplesMixin(KeyedRowsMixin):
    """The same for sentences of tuples, with `gold`, `predicted` and `invalid` as columns."""

    join = staticmethod(join_tuples)
    plain = staticmethod(plain_tuples)
