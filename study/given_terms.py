"""Asks generators that label given terms about those of SemEval-2014, and leaves what examples/compare.py reads.

    python study/given_terms.py outputs/alsc --data_dir DIR --output_dir outputs/alsc_on_terms
    python examples/compare.py outputs/bert_pair outputs/alsc_on_terms --names BERT-pair "pointer model"

The first folder is a run of `run_absa.py --task generation --subtasks alsc`. Its models are asked, through
`absa.load`, about the test rows of the project's classifiers, and scored by their metric.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from absa.commands import parse, user_errors
from absa.comparison.runs import read_run
from absa.comparison.speed import megabytes, parameters
from absa.predict import Predictor, load
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import BOOTSTRAP
from absa.tasks.classification import Classification
from absa.tasks.rows import PLACES
from absa.training.run import digest, each_seed, summarise_run
from datasets_scripts.source_files import shorten

DATASET = "aspect_polarity"


@dataclass
class GivenTermsArguments:
    """Which models, on which data."""

    run: Path = field(metadata={"help": "Folder of a run, above its seed-N."})
    data_dir: str = field(metadata={"help": "Folder of the organisers' XML files."})
    output_dir: Path = field(metadata={"help": "Where answers and scores go."})
    data_config: str = field(
        default="restaurants_terms", metadata={"help": "Of aspect_polarity (default: restaurants_terms)."}
    )
    seeds: list[int] | None = field(default=None, metadata={"help": "Of the run (default: all that are finished)."})


def probabilities(read: Predictor, task: Classification) -> np.ndarray:
    """Of the labels of each test row, (rows, labels).

    Raises:
        ValueError: if a model has other labels, or does not read a term.
    """
    rows = task.splits["test"]
    questions = [
        dict(zip(("text", *PLACES), row, strict=True))
        for row in zip(rows["text"], *(rows[place] for place in PLACES), strict=True)
    ]
    found = []
    for question, answers in zip(questions, read.pipe(questions), strict=True):
        by_label = answers[0]["probabilities"] if answers else None
        if by_label is None or by_label.keys() != set(task.label_names):
            said = shorten(str(answers))
            raise ValueError(f"{question} is answered by {said}: give a model of alsc with {task.label_names}")
        found.append([by_label[label] for label in task.label_names])
    return np.array(found)


def main(arguments: GivenTermsArguments):
    run = read_run(arguments.run, str(arguments.run))
    arguments.seeds = arguments.seeds or list(run.seeds)
    if unknown := sorted(set(arguments.seeds) - run.seeds.keys()):
        finished = " ".join(map(str, run.seeds))
        raise ValueError(f"seeds={unknown[0]}: of {arguments.run} these are finished: {finished}")
    of_data = {"dataset": DATASET, "data_dir": arguments.data_dir, "data_config": arguments.data_config}
    task = Classification.load(ClassificationArguments(**of_data))

    def ask(seed: int, folder: Path, begin) -> Mapping[str, Any]:
        begin()
        read = load(str(run.seeds[seed]))
        log_probabilities = np.log(probabilities(read, task))
        task.write_answers(folder, "test", log_probabilities)
        size = {"parameters": parameters(read), "megabytes": megabytes(run.seeds[seed])}
        return {"seed": seed, "test": task.score("test", log_probabilities, BOOTSTRAP), "size": size}

    described = {"task": "classification", "model_type": run.arguments["model_type"], "dataset": DATASET}
    described |= {f"trained_{name}": value for name, value in run.arguments.items()}
    described |= {**asdict(arguments), "run": str(arguments.run)}
    del described["output_dir"]  # the same answers elsewhere are the same answers
    each_seed(arguments, {**described, "data_sha256": digest(task.splits)}, ask)
    summarise_run(arguments.output_dir, task, described, oracle=False)


if __name__ == "__main__":
    with user_errors():
        main(parse(GivenTermsArguments, "run"))
