"""SentiHood as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.keyed_metric import KeyedRowsMixin, metric_info
from absa.metrics.sentihood import sentihood_scores

DESCRIPTION = """
Targeted aspect-based sentiment analysis on SentiHood: strict accuracy, macro-F1 and AUC of aspects, accuracy and AUC
of sentiment as the literature computes them, with an audit of what those leave out.
The labels are none, positive, negative, in this order. Each (id, target) needs the four aspects general, price,
transit-location and safety. Rows are joined by key, never by order.
"""

CITATION = """
@inproceedings{saeidi-etal-2016-sentihood,
  title = {{S}enti{H}ood: Targeted Aspect Based Sentiment Analysis Dataset for Urban Neighbourhoods},
  author = {Saeidi, Marzieh and Bouchard, Guillaume and Liakata, Maria and Riedel, Sebastian},
  booktitle = {Proceedings of COLING 2016},
  year = {2016}
}
"""


class Sentihood(KeyedRowsMixin, evaluate.Metric):
    """`compute(predictions, references, bootstrap=0, seed=0)`; see `sentihood_scores` for the figures."""

    scores = staticmethod(sentihood_scores)

    def _info(self):
        urls = ["https://aclanthology.org/C16-1146", "https://aclanthology.org/N19-1035"]
        return metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
