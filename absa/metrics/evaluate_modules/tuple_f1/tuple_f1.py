"""Tuples of targets, opinions and labels as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.keyed_metric import TuplesMixin, tuple_metric_info
from absa.metrics.tuple_f1 import tuple_f1_scores

DESCRIPTION = """
Aspect sentiment triplets, and whatever else is made of targets, opinions, aspects and labels: micro precision, recall
and F1 of exact matches, on sets of tuples, sentence by sentence, and of their projections on fewer fields. Sentences
are joined by id, never by order.
"""

CITATION = """
@inproceedings{yan-etal-2021-unified,
  title = {A Unified Generative Framework for Aspect-based Sentiment Analysis},
  author = {Yan, Hang and Dai, Junqi and Ji, Tuo and Qiu, Xipeng and Zhang, Zheng},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  pages = {2416--2429},
  year = {2021}
}
"""


class TupleF1(TuplesMixin, evaluate.Metric):
    """`compute(predictions, references, fields=("target", "opinion", "label"), bootstrap=0, seed=0)`."""

    scores = staticmethod(tuple_f1_scores)

    def _info(self):
        urls = ["https://aclanthology.org/2021.acl-long.188"]
        return tuple_metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
