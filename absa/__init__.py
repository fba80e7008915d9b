"""A toolkit for aspect-based sentiment analysis: what runs, and does not travel with a checkpoint."""

from absa.opinions import Opinion
from absa.predict import load

__all__ = ["Opinion", "load"]
