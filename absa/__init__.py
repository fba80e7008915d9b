"""A toolkit for aspect-based sentiment analysis: everything that runs and does not travel with a checkpoint."""
