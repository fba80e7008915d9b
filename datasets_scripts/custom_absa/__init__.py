"""People's own data for (targeted) aspect-based sentiment analysis."""

from .custom_absa import CustomABSA

__all__ = ["CustomABSA"]
