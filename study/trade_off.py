"""Strict accuracy against macro-F1: what a model gives of the one for the other if it says "none" less readily.

    python study/trade_off.py study/grids/comparison_sentihood.yaml

Multiplies each probability of "none" by a factor before the most probable label is taken, as `--none_factor` has it:
the scores on the grid's split at each of `FACTORS`, and those of the contrast set where the model can be asked about
it. What was found before in models that are not there is kept.
"""

import json
import warnings
from functools import partial
from pathlib import Path

import absa
from absa.calibration import multiply_none
from absa.commands import parse
from absa.comparison.answers import groups_of, read_rows
from absa.contrast import ask, counts
from absa.metrics.aspect_groups import NONE, Groups
from absa.metrics.sentihood import ASPECTS, LABELS, DegenerateScoreWarning, figures_of_groups
from contrast import SENTENCES
from grids import read_grid
from results import GridArguments, answers_in, look_at_trained

FACTORS = {"1": 1.0, "1/2": 1 / 2, "1/4": 1 / 4, "1/8": 1 / 8}
SCORES = ("strict_accuracy", "macro_f1")
OF_CONTRAST = ("opinions right", "false mentions")


def scores_at(groups: Groups, factor: float) -> dict[str, float]:
    """The `SCORES` where p(none) is multiplied by a factor and the rest follows."""
    probabilities = groups.probabilities.copy()  # (groups, aspects, labels)
    probabilities[..., NONE] *= factor
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DegenerateScoreWarning)  # of other scores
        figures = figures_of_groups(groups.gold, probabilities, groups.in_mixed)
    return {name: float(figures[name]) for name in SCORES}


def groups_in(checkpoint: Path, split: str) -> Groups:
    """The answers to SentiHood's rows that training has kept."""
    return groups_of(read_rows(answers_in(checkpoint, "sentihood"), split), ASPECTS, LABELS)


def contrast_at(checkpoint: Path) -> dict[str, dict[str, float]]:
    """What the model answers to the contrast set at each factor; nothing of a model of other names."""
    pipe, sentences = absa.load(str(checkpoint)).pipe, json.loads(SENTENCES.read_text(encoding="utf-8"))
    found, before = {}, 1.0
    for name, factor in FACTORS.items():
        try:
            multiply_none(pipe.model, factor / before)
            told = counts(ask(pipe, sentences))
        except ValueError:
            return {}
        before = factor
        found[name] = {score: told[score][0] / told[score][1] for score in OF_CONTRAST}
    return found


def look(checkpoint: Path, split: str) -> dict[str, dict[str, float]]:
    """The scores on a split, and of the contrast set, at each factor."""
    groups = groups_in(checkpoint, split)
    contrast = contrast_at(checkpoint) if (checkpoint / "config.json").is_file() else {}
    return {name: scores_at(groups, factor) | contrast.get(name, {}) for name, factor in FACTORS.items()}


if __name__ == "__main__":
    arguments = parse(GridArguments, "grid")
    look_at_trained("trade_off", arguments, partial(look, split=read_grid(arguments.grid).split))
