"""SemEval-2014 Task 4 as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.keyed_metric import KeyedRowsMixin, metric_info
from absa.metrics.semeval2014 import semeval2014_scores

DESCRIPTION = """
Aspect-based sentiment analysis on SemEval-2014 Task 4, restaurants, subtasks 3 and 4: micro precision, recall and F1
of aspect categories; 4-way, 3-way and binary accuracy of their polarity, as the literature computes them, with an
audit of what those leave out.
The labels are none, positive, neutral, negative, conflict, in this order. Each sentence needs the five aspects price,
anecdotes, food, ambience and service. Rows are joined by key, never by order.
"""

CITATION = """
@inproceedings{pontiki-etal-2014-semeval,
  title = {{S}em{E}val-2014 Task 4: Aspect Based Sentiment Analysis},
  author = {Pontiki, Maria and Galanis, Dimitris and Pavlopoulos, John and Papageorgiou, Harris and
            Androutsopoulos, Ion and Manandhar, Suresh},
  booktitle = {Proceedings of SemEval 2014},
  year = {2014}
}
"""


class Semeval2014(KeyedRowsMixin, evaluate.Metric):
    """`compute(predictions, references, bootstrap=0, seed=0)`; see `semeval2014_scores` for the figures."""

    scores = staticmethod(semeval2014_scores)

    def _info(self):
        urls = ["https://aclanthology.org/S14-2004", "https://aclanthology.org/N19-1035"]
        return metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)
