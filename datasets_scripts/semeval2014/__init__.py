"""SemEval-2014 Task 4: aspect categories of restaurant reviews and their polarity."""

from .semeval2014 import SemEval2014

__all__ = ["SemEval2014"]
