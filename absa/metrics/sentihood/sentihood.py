"""SentiHood as an `evaluate` module: the rows go in as dicts, the arithmetic is in `sentihood_scores.py`."""

import datasets
import evaluate

# `evaluate.load` copies what this file imports with a single dot, and nothing that those files import in turn.
from .aspect_groups import aspect_groups
from .figures import DegenerateScoreWarning, check_resampling
from .keyed_rows import KeyedRowsMixin, join_rows
from .sentihood_scores import ASPECTS, LABELS, sentihood_scores

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "Sentihood"]

DESCRIPTION = """
Targeted aspect-based sentiment analysis on SentiHood: strict accuracy, macro-F1 and AUC of aspects, accuracy and AUC
of sentiment as the literature computes them, with an audit of what those leave out.
Rows are joined by key, never by order.
"""

INPUTS = """
Args:
    predictions: list of {"id": str, "target": str, "aspect": str, "probabilities": [float] * 3},
        the probabilities in the order ("none", "positive", "negative") and summing to 1.
    references: list of {"id": str, "target": str, "aspect": str, "label": str}.
        Each (id, target) needs the four aspects general, price, transit-location and safety.
    bootstrap (int): resamples of ids for 95% intervals <name>_low and <name>_high; 0 for none.
    seed (int): of the resampling.

Returns:
    dict of figures between 0 and 1, and counts; see README.md for each.
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

    def _info(self):
        key = {field: datasets.Value("string") for field in ("id", "target", "aspect")}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            license="Apache-2.0",
            reference_urls=["https://aclanthology.org/C16-1146", "https://aclanthology.org/N19-1035"],
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
        return sentihood_scores(**join_rows(predictions, references), bootstrap=bootstrap, seed=seed)
