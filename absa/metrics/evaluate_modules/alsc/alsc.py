"""The label of given targets as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.alsc import LABELS, alsc_scores
from absa.metrics.keyed_metric import TuplesMixin, tuple_metric_info

DESCRIPTION = """
Aspect-level sentiment classification of given targets, for models that answer with a label or with nothing: accuracy,
F1 and macro-F1, and what the commonest label reaches. Sentences are joined by id, never by order.
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


class Alsc(TuplesMixin, evaluate.Metric):
    """`compute(predictions, references, label_names=LABELS, bootstrap=0, seed=0)`; see `alsc_scores`."""

    @staticmethod
    def scores(gold, predicted, invalid, *, label_names=LABELS, bootstrap=0, seed=0):
        # A target without a predicted label is invalid, whatever else its sentence has.
        return alsc_scores(gold, predicted, label_names=label_names, bootstrap=bootstrap, seed=seed)

    def _info(self):
        urls = ["https://aclanthology.org/2021.acl-long.188"]
        return tuple_metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
