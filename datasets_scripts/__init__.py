"""Data sets for aspect-based sentiment analysis: as rows of (id, text, target, aspect, label), tagged sentences, and
sentences with tuples of targets, opinions and labels.

What the package offers is imported on first use, so that its plain modules serve where `datasets` is not installed.
"""

from importlib import import_module

HOMES = {
    "ASTEV2": ".aste_v2.aste_v2",
    "AspectPolarity": ".aspect_polarity.aspect_polarity",
    "BARTABSA": ".bartabsa.bartabsa",
    "CoNLL": ".conll.conll",
    "CoNLLU": ".conllu.conllu",
    "CustomABSA": ".custom_absa.custom_absa",
    "E2EABSA": ".e2e_absa.e2e_absa",
    "MAMS": ".mams.mams",
    "SemEval2014": ".semeval2014.semeval2014",
    "SemEval2015": ".semeval2016.semeval2016",
    "SemEval2016": ".semeval2016.semeval2016",
    "SentiHood": ".sentihood.sentihood",
    "export_parquet": ".parquet",
    "load_absa_dataset": ".loading",
}
__all__ = list(HOMES)


def __getattr__(name: str):
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name], __name__), name)
