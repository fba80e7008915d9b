"""E2E-ABSA as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.keyed_metric import TaggedSentencesMixin, tag_metric_info

DESCRIPTION = """
End-to-end aspect-based sentiment analysis: aspect terms and their polarity (POS, NEG, NEU) as tags of the scheme
BIEOS, BIO or OT. Micro precision, recall and F1 and macro-F1 exactly as BERT-E2E-ABSA computes them; strict figures,
F1 of the borders, accuracy of the polarity. Sentences are joined by id, never by order.
"""

CITATION = """
@inproceedings{li-etal-2019-exploiting,
  title = {Exploiting {BERT} for End-to-End Aspect-based Sentiment Analysis},
  author = {Li, Xin and Bing, Lidong and Zhang, Wenxuan and Lam, Wai},
  booktitle = {Proceedings of the 5th Workshop on Noisy User-generated Text (W-NUT 2019)},
  pages = {34--41},
  year = {2019}
}
"""


class E2eAbsa(TaggedSentencesMixin, evaluate.Metric):
    """`compute(predictions, references, scheme="BIEOS", bootstrap=0, seed=0)`; see `e2e_absa_scores`."""

    scores = staticmethod(e2e_absa_scores)

    def _info(self):
        urls = ["https://aclanthology.org/D19-5505"]
        return tag_metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
