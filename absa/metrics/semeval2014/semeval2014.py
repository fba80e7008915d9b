"""SemEval-2014 Task 4 as an `evaluate` module: rows go in as dicts, the arithmetic is in `semeval2014_scores.py`."""

import datasets
import evaluate

# `evaluate.load` copies what this file imports with a single dot, and nothing that those files import in turn.
from .aspect_groups import aspect_groups
from .figures import DegenerateScoreWarning, check_resampling
from .keyed_rows import KeyedRowsMixin, join_rows
from .semeval2014_scores import ASPECTS, LABELS, semeval2014_scores

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "Semeval2014"]

DESCRIPTION = """
Aspect-based sentiment analysis on SemEval-2014 Task 4, restaurants, subtasks 3 and 4: micro precision, recall and F1
of aspect categories; 4-way, 3-way and binary accuracy of their polarity, as the literature computes them, with an
audit of what those leave out.
Rows are joined by key, never by order.
"""

INPUTS = """
Args:
    predictions: list of {"id": str, "target": "", "aspect": str, "probabilities": [float] * 5},
        the probabilities in the order ("none", "positive", "neutral", "negative", "conflict") and summing to 1.
    references: list of {"id": str, "target": "", "aspect": str, "label": str}.
        Each sentence needs the five aspects price, anecdotes, food, ambience and service.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1, and counts; see README.md for each.
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

    def _info(self):
        key = {field: datasets.Value("string") for field in ("id", "target", "aspect")}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            license="Apache-2.0",
            reference_urls=["https://aclanthology.org/S14-2004", "https://aclanthology.org/N19-1035"],
            features=datasets.Features(
                {
                    "predictions": {**key, "probabilities": datasets.Sequence(datasets.Value("float64"))},
                    "references": {**key, "label": datasets.Value("string")},
                }
            ),
        )

    def compute(self, *, predictions=None, references=None, bootstrap=0, seed=0):
        """Score predictions against references, or all that `add` and `add_batch` collected when neither is given."""
        check_resampling(bootstrap, seed)
        if predictions is not None or references is not None:
            # Checked before `evaluate` writes the rows to disk: its own errors name no key, and an error after that
            # leaves its file locked.
            aspect_groups(join_rows(predictions, references), ASPECTS, LABELS)
        return super().compute(predictions=predictions, references=references, bootstrap=bootstrap, seed=seed)

    def _compute(self, predictions, references, bootstrap, seed):
        return semeval2014_scores(**join_rows(predictions, references), bootstrap=bootstrap, seed=seed)
