"""A toolkit for aspect-based sentiment analysis: what runs, and does not travel with a checkpoint.

`absa.load` and `absa.Opinion` are imported when they are asked for, so that a module of the toolkit can be imported
where some of its packages are not installed.
"""

from importlib import import_module

__all__ = ["Opinion", "load"]

PLACES = {"Opinion": "absa.opinions", "load": "absa.predict"}


def __getattr__(name: str):
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(PLACES[name]), name)
