"""examples/tasks.py: what a data set asks for."""

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value


@pytest.fixture(scope="session")
def tasks(example):
    return example("tasks")


def dataset(labels: list[str], names: list[str], target: str = "") -> DatasetDict:
    features = Features(
        {
            "id": Value("string"),
            "text": Value("string"),
            "target": Value("string"),
            "aspect": ClassLabel(names=["food", "service"]),
            "label": ClassLabel(names=names),
        }
    )
    columns = {
        "id": [str(number // 2) for number in range(len(labels))],
        "text": ["fine food"] * len(labels),
        "target": [target] * len(labels),
        "aspect": [number % 2 for number in range(len(labels))],
        "label": [names.index(label) for label in labels],
    }
    return DatasetDict({"train": Dataset.from_dict(columns, features=features)})


def test_own_labels_are_scored_by_absa(tasks):
    task = tasks.make_task(dataset(["none", "good", "bad", "none"], ["none", "good", "bad"]), "absa")
    assert task.label_names == ["none", "good", "bad"]
    assert list(task.contexts) == [("", "food"), ("", "service")]
    probabilities = np.eye(3)[[0, 1, 2, 1]]  # the last row is wrong: one of two texts and three of four rows are right
    scores = task.score_rows(task.splits["train"], probabilities)
    assert scores["strict_accuracy"] == 0.5
    assert scores["accuracy"] == 0.75
    assert set(task.main_scores) <= set(scores)
    assert task.select_by in scores


def test_targets_make_contexts(tasks):
    task = tasks.make_task(dataset(["good", "bad"], ["good", "bad"], target="Soho"), "absa")
    assert list(task.contexts) == [("Soho", "food"), ("Soho", "service")]


@pytest.mark.parametrize("metric", ["sentihood", "semeval2014"])
def test_labels_must_be_the_metrics(tasks, metric: str):
    with pytest.raises(ValueError, match=f"metric={metric} scores the labels"):
        tasks.make_task(dataset(["good", "bad"], ["good", "bad"]), metric)


def test_train_is_needed(tasks):
    data = dataset(["good", "bad"], ["good", "bad"])
    with pytest.raises(ValueError, match="a split named train"):
        tasks.make_task(DatasetDict({"test": data["train"]}), "absa")


def test_choose_and_as_strings(tasks):
    rows = tasks.as_strings(dataset(["good", "bad"], ["good", "bad"])["train"])
    assert rows["label"] == ["good", "bad"]
    assert tasks.choose(rows, [1]) == {
        "id": ["0"],
        "text": ["fine food"],
        "target": [""],
        "aspect": ["service"],
        "label": ["bad"],
    }
