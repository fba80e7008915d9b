"""Runs as training leaves them, without models: answers to forty sentences that are right as often as is asked."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from absa.metrics.sentihood import ASPECTS, LABELS
from absa.tasks.generation import Generation, GenerationAnswers
from absa.tasks.rows import write_probabilities

NUM_SENTENCES = 40


def write_rows(folder: Path, seed: int, right: float):
    """Every third sentence has two targets. The gold labels are the same for all runs."""
    gold, answers = np.random.default_rng(0), np.random.default_rng(seed)
    rows, probabilities = {name: [] for name in ("id", "text", "target", "aspect", "label")}, []
    for number in range(NUM_SENTENCES):
        for target in ("LOCATION1", "LOCATION2")[: 1 + (number % 3 == 0)]:
            for aspect in ASPECTS:
                label = gold.choice(3, p=[0.4, 0.3, 0.3])
                p = answers.dirichlet([1, 1, 1])
                p[label] += right * answers.random()
                text = f"{number}: LOCATION1 <b>is</b> by LOCATION2."
                for column, value in zip(
                    rows.values(), (str(number), text, target, aspect, LABELS[label]), strict=True
                ):
                    column.append(value)
                probabilities.append(p / p.sum())
    write_probabilities(folder / "test_probabilities.parquet", rows, np.array(probabilities), list(LABELS))


def write_tags(folder: Path, seed: int, right: float):
    gold, answers = np.random.default_rng(0), np.random.default_rng(seed)
    tags = [gold.choice(["O", "S-POS", "S-NEG"], 6).tolist() for _ in range(NUM_SENTENCES)]
    predicted = [[tag if answers.random() < right else "O" for tag in sentence] for sentence in tags]
    rows = {
        "id": [str(number) for number in range(NUM_SENTENCES)],
        "tokens": [list("abcdef")] * NUM_SENTENCES,
        "tags": tags,
        "predicted": predicted,
        "probabilities": [[0.5] * 6] * NUM_SENTENCES,
    }
    pd.DataFrame(rows).to_parquet(folder / "test_tags.parquet")


def write_tuples(folder: Path, seed: int, right: float, subtask: str = "aste"):
    """Up to two tuples a sentence; of alsc one for each of these targets, which are given."""
    gold, answers = np.random.default_rng(0), np.random.default_rng(seed)
    rows = {name: [] for name in ("id", "words", "target", "tuples", "predicted")}
    for number in range(NUM_SENTENCES):
        targets = [(n, n + 1) for n in range(gold.integers(1, 3))]
        tuples = [{"target": target, "opinion": (2, 3), "label": str(gold.choice(LABELS))} for target in targets]
        found = [one if answers.random() < right else {**one, "label": "none"} for one in tuples]
        given, sides = [None], [(tuples, found)]
        if subtask == "alsc":
            given = targets
            sides = [[[{"label": side[n]["label"]}] for side in (tuples, found)] for n in range(len(targets))]
        for target, (of_gold, of_found) in zip(given, sides, strict=True):
            values = (str(number), ["a", "b", "c"], target, of_gold, of_found)
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
    num_tuples, num_rows = sum(map(len, rows["predicted"])), len(rows["id"])
    task = Generation({"test": {**rows, "subtask": [subtask] * num_rows}}, (subtask,), list(LABELS))
    steps = {"chosen": np.zeros(num_tuples, int), "tuple_of": np.arange(num_tuples)}
    log_probabilities = np.log(np.tile([0.75, 0.25], (num_tuples, 1)))
    answers = GenerationAnswers(rows["predicted"], [False] * num_rows, log_probabilities, **steps)
    task.write_answers(folder, "test", answers)


WRITERS = {"classification": write_rows, "tagging": write_tags, "generation": write_tuples}


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, task: str, right: Mapping[int, float], dataset: str = "sentihood", **options) -> Path:
        """A run whose seeds are right as often as `right` says.

        Args:
            options: arguments of the run; `subtask` of generators.
        """
        of_writer = {"subtask": options.pop("subtask")} if "subtask" in options else {}
        run = tmp_path / name
        for seed, share in right.items():
            folder = run / f"seed-{seed}"
            folder.mkdir(parents=True)
            WRITERS[task](folder, seed + 1000 * len(name), share, **of_writer)
            (folder / "results.json").write_text("{}")
        (run / "arguments.json").write_text(json.dumps({"task": task, "dataset": dataset, **options}))
        return run

    return write
