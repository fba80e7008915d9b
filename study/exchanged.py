"""Do models gain from being asked twice, once with LOCATION1 and LOCATION2 in each other's place?

    python study/exchanged.py study/grids/levers_sentihood.yaml --data_dir DIR

On the grid's split of SentiHood, of checkpoints that were trained with the names as they stand: the scores of their
own answers, and of the mean of their probabilities over both ways to ask. A text that names one place is asked once:
its place is LOCATION1 in all of the data. A model with `symmetric_targets` answers both ways alike, and is left out.
What was found before in models that are not there is kept.
"""

from functools import partial
from pathlib import Path

import numpy as np

import absa
from absa.ablation import answers, questions_of
from absa.calibration import uncalibrate
from absa.commands import parse
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from grids import read_grid
from modeling_qacg_bert.processing_qacg_bert import exchange
from results import GridAndDataArguments, look_at_trained

TARGETS = ("LOCATION1", "LOCATION2")


def exchanged(question: dict[str, str]) -> dict[str, str]:
    """The same question, with the names of the two places exchanged where the text has both."""
    if not all(target in question["text"] for target in TARGETS):
        return question
    pattern, replacement = exchange(*TARGETS)
    other = TARGETS[question["target"] == TARGETS[0]]
    return {**question, "text": pattern.sub(replacement, question["text"]), "target": other}


def look(checkpoint: Path, task: Classification, split: str) -> dict[str, dict[str, float]]:
    """The main scores and that of mixed texts, of both ways; nothing of a model that is symmetric."""
    pipe = absa.load(str(checkpoint)).pipe
    if getattr(pipe.model.config, "symmetric_targets", False):
        return {}
    uncalibrate(pipe.model)
    questions = questions_of(task, split)
    once = answers(pipe, questions, task.label_names)
    twice = (once + answers(pipe, list(map(exchanged, questions)), task.label_names)) / 2
    found = {way: task.score(split, np.log(asked)) for way, asked in (("asked once", once), ("both ways", twice))}
    names = (*task.main_scores, "mixed_accuracy")
    return {way: {name: scores[name] for name in names} for way, scores in found.items()}


def main(arguments: GridAndDataArguments):
    task = Classification.load(ClassificationArguments(dataset="sentihood", data_dir=arguments.data_dir))
    look_at = partial(look, task=task, split=read_grid(arguments.grid).split)
    look_at_trained("exchanged", arguments, look_at, asks_model=True)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
