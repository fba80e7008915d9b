"""SemEval-2014's figures. `evaluate.load` on this folder gives the same as an `evaluate` module."""

from .figures import DegenerateScoreWarning
from .semeval2014_scores import ASPECTS, LABELS, semeval2014_scores

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "semeval2014_scores"]
