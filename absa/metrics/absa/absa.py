"""ABSA on any data as an `evaluate` module: the rows go in as dicts, the arithmetic is in `absa_scores.py`."""

import datasets
import evaluate

# `evaluate.load` copies what this file imports with a single dot, and nothing that those files import in turn.
from .absa_scores import absa_scores, check_label_names
from .figures import DegenerateScoreWarning, check_resampling
from .keyed_rows import KeyedRowsMixin, join_rows, sorted_rows

__all__ = ["Absa", "DegenerateScoreWarning"]

DESCRIPTION = """
(Targeted) aspect-based sentiment analysis on any data, with any aspects and labels: strict accuracy, accuracy and
macro-F1; where one label means "not present", also precision, recall and F1 of presence and accuracy of sentiment.
Rows are joined by key, never by order.
"""

INPUTS = """
Args:
    predictions: list of {"id": str, "target": str, "aspect": str, "probabilities": [float] * num_labels}.
    references: list of {"id": str, "target": str, "aspect": str, "label": str}; target "" where there is none.
    labels (list of str): the labels, in the order of the probabilities.
    none_label (str or None): the label of an aspect that is not present; None where every row has a sentiment.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1; see README.md for each.
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

    def _info(self):
        key = {field: datasets.Value("string") for field in ("id", "target", "aspect")}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            license="Apache-2.0",
            features=datasets.Features(
                {
                    "predictions": {**key, "probabilities": datasets.Sequence(datasets.Value("float64"))},
                    "references": {**key, "label": datasets.Value("string")},
                }
            ),
        )

    def compute(self, *, predictions=None, references=None, labels=None, none_label="none", bootstrap=0, seed=0):
        """Score predictions against references, or all that `add` and `add_batch` collected when neither is given."""
        check_label_names(labels, none_label)
        check_resampling(bootstrap, seed)
        if predictions is not None or references is not None:
            # Checked before `evaluate` writes the rows to disk: its own errors name no key, and an error after that
            # leaves its file locked.
            sorted_rows(**join_rows(predictions, references), label_names=labels)
        return super().compute(
            predictions=predictions,
            references=references,
            label_names=labels,
            none_label=none_label,
            bootstrap=bootstrap,
            seed=seed,
        )

    def _compute(self, predictions, references, label_names, none_label, bootstrap, seed):
        return absa_scores(
            **join_rows(predictions, references),
            label_names=label_names,
            none_label=none_label,
            bootstrap=bootstrap,
            seed=seed,
        )
