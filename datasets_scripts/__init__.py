"""Data sets for (targeted) aspect-based sentiment analysis, all as rows of (id, text, target, aspect, label)."""

from .custom_absa import CustomABSA
from .exporting import export_parquet
from .loading import load_absa_dataset
from .semeval2014 import SemEval2014
from .sentihood import SentiHood

__all__ = ["CustomABSA", "SemEval2014", "SentiHood", "export_parquet", "load_absa_dataset"]
