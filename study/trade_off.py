"""Strict accuracy against macro-F1: what a model gives of the one for the other if it says "none" less readily.

    python study/trade_off.py study/grids/comparison_sentihood.yaml

Multiplies each probability of "none" by a factor before the most probable label is taken, which takes no training: the
scores on the test split at each of `FACTORS`. What was found before in models that are not there is kept.
"""

import warnings
from pathlib import Path

from absa.commands import parse
from absa.comparison.answers import groups_of, read_rows
from absa.metrics.aspect_groups import NONE, Groups
from absa.metrics.sentihood import ASPECTS, LABELS, DegenerateScoreWarning, figures_of_groups
from results import GridArguments, answers_in, look_at_trained

FACTORS = {"1": 1.0, "1/2": 1 / 2, "1/4": 1 / 4, "1/8": 1 / 8}
SCORES = ("strict_accuracy", "macro_f1")


def scores_at(groups: Groups, factor: float) -> dict[str, float]:
    """The `SCORES` where p(none) is multiplied by a factor and the rest follows."""
    probabilities = groups.probabilities.copy()  # (groups, aspects, labels)
    probabilities[..., NONE] *= factor
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DegenerateScoreWarning)  # of other scores
        figures = figures_of_groups(groups.gold, probabilities, groups.in_mixed)
    return {name: float(figures[name]) for name in SCORES}


def groups_in(checkpoint: Path, split: str = "test") -> Groups:
    """The answers to SentiHood's rows that training has kept."""
    return groups_of(read_rows(answers_in(checkpoint, "sentihood"), split), ASPECTS, LABELS)


def look(checkpoint: Path) -> dict[str, dict[str, float]]:
    """The scores on the test split at each factor."""
    groups = groups_in(checkpoint)
    return {name: scores_at(groups, factor) for name, factor in FACTORS.items()}


if __name__ == "__main__":
    look_at_trained("trade_off", parse(GridArguments, "grid"), look)
