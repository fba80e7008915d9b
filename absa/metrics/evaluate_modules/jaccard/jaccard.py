"""Overlap of spans as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.jaccard import jaccard_scores
from absa.metrics.keyed_metric import TuplesMixin, tuple_metric_info
from absa.metrics.tuple_rows import SPANS

DESCRIPTION = """
The Jaccard index of predicted and gold spans of targets and opinions, in four readings: of the positions that they
cover, of the sets of spans, pooled, and of spans paired one to one. Sentences are joined by id, never by order.
"""

CITATION = """
@article{jaccard1912distribution,
  title = {The Distribution of the Flora in the Alpine Zone},
  author = {Jaccard, Paul},
  journal = {New Phytologist},
  volume = {11},
  number = {2},
  pages = {37--50},
  year = {1912}
}
"""


class Jaccard(TuplesMixin, evaluate.Metric):
    """`compute(predictions, references, fields=("target", "opinion"), bootstrap=0, seed=0)`; see `jaccard_scores`."""

    @staticmethod
    def scores(gold, predicted, invalid, *, fields=SPANS, bootstrap=0, seed=0):
        # What is dropped of an output overlaps with nothing.
        return jaccard_scores(gold, predicted, fields=fields, bootstrap=bootstrap, seed=seed)

    def _info(self):
        urls = ["https://en.wikipedia.org/wiki/Jaccard_index"]
        return tuple_metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
