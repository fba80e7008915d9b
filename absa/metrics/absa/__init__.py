"""Figures for people's own data. `evaluate.load` on this folder gives the same as an `evaluate` module."""

from .absa_scores import absa_scores
from .figures import DegenerateScoreWarning

__all__ = ["DegenerateScoreWarning", "absa_scores"]
