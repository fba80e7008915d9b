"""Metrics for (targeted) aspect-based sentiment analysis: plain functions here, `evaluate` modules over them."""
