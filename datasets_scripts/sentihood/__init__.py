"""SentiHood: targeted aspect-based sentiment analysis of neighbourhoods."""

from .sentihood import SentiHood

__all__ = ["SentiHood"]
