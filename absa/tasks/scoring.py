"""By which metric the rows of a data set are scored, and which of its scores count."""

from collections.abc import Sequence

import numpy as np

from absa.metrics.semeval2014 import LABELS as SEMEVAL2014_LABELS
from absa.metrics.semeval2014 import semeval2014_scores
from absa.metrics.sentihood import LABELS as SENTIHOOD_LABELS
from absa.metrics.sentihood import sentihood_scores

MAIN_SCORES = {  # that tables show
    "sentihood": ["strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc"],
    "semeval2014": ["precision", "recall", "f1", "accuracy_binary", "accuracy_3way", "accuracy_4way"],
    "aspect_polarity": ["accuracy", "macro_f1", "mixed_accuracy"],
    "absa": ["strict_accuracy", "accuracy", "macro_f1"],
}
SELECT_BY = {  # what chooses the checkpoint
    "sentihood": "strict_accuracy",
    "semeval2014": "f1",
    "aspect_polarity": "accuracy",
    "absa": "macro_f1",
}
LABELS_AND_SCORERS = {  # of the metrics for one data set
    "sentihood": (list(SENTIHOOD_LABELS), sentihood_scores),
    "semeval2014": (list(SEMEVAL2014_LABELS), semeval2014_scores),
}


def metric_of(dataset: str, metric: str | None, unseen_aspects: Sequence[str] | None) -> str:
    """The metric that a run's arguments ask for: that of the data set, which needs all aspects, or "absa"."""
    has_own = dataset in MAIN_SCORES and not unseen_aspects
    return metric or (dataset if has_own else "absa")


def accuracy(label_names: Sequence[str], ids, targets, aspects, labels, probabilities, bootstrap: int = 0):
    """Share of the rows whose most probable label is the gold one: what chooses the checkpoint of BERT-single."""
    gold = np.array([label_names.index(label) for label in labels])
    return {"accuracy": float((probabilities.argmax(-1) == gold).mean())}
