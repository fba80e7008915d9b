"""Named entities and parts of speech as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.keyed_metric import TaggedSentencesMixin, tag_metric_info
from absa.metrics.tagging import tagging_scores

DESCRIPTION = """
Tagging: of named entities (schemes BIO and BIEOS) micro precision, recall and F1 as conlleval and seqeval's default
compute them, strictly, and by type; of any tags the accuracy over words. Sentences are joined by id, never by order.
"""

CITATION = """
@inproceedings{tjong-kim-sang-de-meulder-2003-introduction,
  title = {Introduction to the {C}o{NLL}-2003 Shared Task: Language-Independent Named Entity Recognition},
  author = {Tjong Kim Sang, Erik F. and De Meulder, Fien},
  booktitle = {Proceedings of the Seventh Conference on Natural Language Learning at HLT-NAACL 2003},
  pages = {142--147},
  year = {2003}
}
"""


class Tagging(TaggedSentencesMixin, evaluate.Metric):
    """`compute(predictions, references, scheme="BIO", bootstrap=0, seed=0)`; see `tagging_scores`."""

    @staticmethod
    def scores(gold, predicted, *, scheme="BIO", bootstrap=0, seed=0):
        # Without the words of `tagging_scores`, which go by order, while sentences are joined by id here.
        return tagging_scores(gold, predicted, scheme=scheme, bootstrap=bootstrap, seed=seed)

    def _info(self):
        urls = ["https://aclanthology.org/W03-0419"]
        return tag_metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
