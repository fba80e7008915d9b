"""SentiHood's figures. `evaluate.load` on this folder gives the same as an `evaluate` module."""

from .figures import DegenerateScoreWarning
from .sentihood_scores import ASPECTS, LABELS, sentihood_scores

__all__ = ["ASPECTS", "LABELS", "DegenerateScoreWarning", "sentihood_scores"]
