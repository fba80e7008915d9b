"""Trained runs of any family, compared on the same test rows."""
