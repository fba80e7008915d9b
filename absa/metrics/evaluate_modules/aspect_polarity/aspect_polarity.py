"""Polarity of given terms or categories as an `evaluate` module; the arithmetic is in `absa.metrics`."""

import evaluate

from absa.metrics.aspect_polarity import aspect_polarity_scores
from absa.metrics.keyed_metric import KeyedRowsMixin, metric_info

DESCRIPTION = """
The polarity of given aspect terms or categories (SemEval-2014 Task 4, subtasks 2 and 4; as AF-LSTM and its baselines
report it): accuracy, macro-F1 and F1 by label; accuracy on sentences of several polarities, where a model has to know
which term or category it is asked about; what the commonest label and the best label of each sentence reach. `labels`
names the labels in the order of the probabilities. Rows are joined by key, never by order.
"""

CITATION = """
@inproceedings{pontiki-etal-2014-semeval,
  title = {{S}em{E}val-2014 Task 4: Aspect Based Sentiment Analysis},
  author = {Pontiki, Maria and Galanis, Dimitris and Pavlopoulos, John and Papageorgiou, Harris and
            Androutsopoulos, Ion and Manandhar, Suresh},
  booktitle = {Proceedings of SemEval 2014},
  year = {2014}
}
@inproceedings{tay-etal-2018-learning,
  title = {Learning to Attend via Word-Aspect Associative Fusion for Aspect-Based Sentiment Analysis},
  author = {Tay, Yi and Tuan, Luu Anh and Hui, Siu Cheung},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  year = {2018}
}
"""


class AspectPolarity(KeyedRowsMixin, evaluate.Metric):
    """`compute(predictions, references, labels, bootstrap=0, seed=0)`; see `aspect_polarity_scores`."""

    scores = staticmethod(aspect_polarity_scores)

    def _info(self):
        urls = ["https://aclanthology.org/S14-2004", "https://arxiv.org/abs/1712.05403"]
        return metric_info(description=DESCRIPTION, citation=CITATION, reference_urls=urls)

    def compute(self, *, labels=None, **arguments):
        """Score predictions against references, or all that `add` and `add_batch` collected when neither is given."""
        return super().compute(label_names=labels, **arguments)
