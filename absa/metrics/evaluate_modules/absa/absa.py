"""ABSA on any data as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.custom_absa import absa_scores
from absa.metrics.keyed_metric import KeyedRowsMixin, metric_info

DESCRIPTION = """
(Targeted) aspect-based sentiment analysis on any data, with any aspects and labels: strict accuracy, accuracy and
macro-F1; where one label means "not present", also precision, recall and F1 of presence and accuracy of sentiment.
`labels` names the labels in the order of the probabilities, `none_label` the one of an aspect that is not present, or
None where every row has a sentiment. Rows are joined by key, never by order.
"""

CITATION = """
@inproceedings{wu-ong-2021-context,
  title = {Context-Guided {BERT} for Targeted Aspect-Based Sentiment Analysis},
  author = {Wu, Zhengxuan and Ong, Desmond C.},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2021}
}
"""


class Absa(KeyedRowsMixin, evaluate.Metric):
    """`compute(predictions, references, labels, none_label="none", bootstrap=0, seed=0)`; see `absa_scores`."""

    scores = staticmethod(absa_scores)

    def _info(self):
        return metric_info(description=DESCRIPTION, citation=CITATION)

    def compute(self, *, labels=None, none_label="none", **arguments):
        """Score predictions against references, or all that `add` and `add_batch` collected when neither is given."""
        return super().compute(label_names=labels, none_label=none_label, **arguments)
