"""Generative aspect-based sentiment analysis."""
