"""Metrics for (targeted) aspect-based sentiment analysis, one folder per `evaluate` module."""
