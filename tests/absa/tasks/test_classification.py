"""absa/tasks/classification.py: what a data set asks for."""

from pathlib import Path

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from transformers import AutoTokenizer, BertForSequenceClassification

from absa.tasks.arguments import ClassificationArguments, GenerationArguments
from absa.tasks.classification import Classification, make_task, warn_of_one_answer
from absa.tasks.collating import CollatorOfTexts
from absa.tasks.generation import Generation


def dataset(labels: list[str], names: list[str], target: str = "") -> DatasetDict:
    """Two rows a text; training and validation data are the same."""
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
        "text": [f"fine food {number // 2}" for number in range(len(labels))],
        "target": [target] * len(labels),
        "aspect": [number % 2 for number in range(len(labels))],
        "label": [names.index(label) for label in labels],
    }
    rows = Dataset.from_dict(columns, features=features)
    return DatasetDict({"train": rows, "validation": rows})


def test_own_labels_are_scored_by_absa():
    task = make_task(dataset(["none", "good", "bad", "none"], ["none", "good", "bad"]), "absa", 0.5, 0)
    assert task.label_names == ["none", "good", "bad"]
    assert list(task.contexts) == [("", "food"), ("", "service")]
    logits = 99 * np.eye(3)[[0, 1, 2, 1]]  # the last row is wrong: one of two texts and three of four rows are right
    scores = task.score("train", logits)
    assert scores["strict_accuracy"] == 0.5
    assert scores["accuracy"] == 0.75
    assert set(task.main_scores) <= set(scores)
    assert task.select_by in scores


@pytest.fixture
def mams_dir(tmp_path: Path) -> Path:
    soup = '<aspectTerms><aspectTerm term="soup" polarity="positive" from="5" to="9"/></aspectTerms>'
    price = '<aspectCategories><aspectCategory category="price" polarity="negative"/></aspectCategories>'
    for folder, annotated in (("MAMS-ATSA", soup), ("MAMS-ACSA", price)):
        (tmp_path / folder / "raw").mkdir(parents=True)
        for split in ("train", "val", "test"):
            content = f"<sentences><sentence><text>Dear soup</text>{annotated}</sentence></sentences>"
            (tmp_path / folder / "raw" / f"{split}.xml").write_text(content)
    return tmp_path


def test_mams_stands_in_two_tasks(mams_dir: Path):
    arguments = ClassificationArguments(dataset="mams", data_dir=str(mams_dir))
    assert arguments.data_config == "category_rows"
    task = Classification.load(arguments)
    assert (len(task.contexts), task.none_label, task.select_by) == (8, "none", "macro_f1")
    assert {name: rows["label"] for name, rows in task.splits.items()} == dict.fromkeys(
        ("train", "validation", "test"), ["none"] * 3 + ["negative"] + ["none"] * 4
    )
    terms = ClassificationArguments(dataset="mams", data_config="term_rows", data_dir=str(mams_dir))
    task = Classification.load(terms)
    assert (task.contexts, task.none_label, task.splits["test"]["target_start"]) == (None, None, [5])
    wrong = "dataset=mams has the columns .*, and task={} learns {}: give other data or another --data_config, or"
    with pytest.raises(ValueError, match=wrong.format("classification", "label")):
        Classification.load(ClassificationArguments(dataset="mams", data_config="terms", data_dir=str(mams_dir)))
    rows = GenerationArguments(dataset="mams", data_config="category_rows", data_dir=str(mams_dir))
    with pytest.raises(ValueError, match=wrong.format("generation", "tuples")):
        Generation.load(rows)


def test_the_label_of_what_is_absent_may_have_any_name():
    data = dataset(["absent", "good", "bad", "absent"], ["absent", "good", "bad"])
    task = make_task(data, "absa", 0.5, 0, none_label="absent")
    assert task.none_label == "absent"
    # The last row is wrong: of three that are found two are there, and these are all that are.
    scores = task.score("train", 99 * np.eye(3)[[0, 1, 2, 1]])
    assert (scores["presence_precision"], scores["presence_recall"]) == (2 / 3, 1)
    without = make_task(data, "absa", 0.5, 0)
    assert without.none_label is None
    assert "presence_recall" not in without.score("train", 99 * np.eye(3)[[0, 1, 2, 1]])


@pytest.mark.parametrize("metric", ["sentihood", "semeval2014"])
def test_labels_must_be_the_metrics(metric: str):
    with pytest.raises(ValueError, match=f"metric={metric} scores the labels"):
        make_task(dataset(["good", "bad"], ["good", "bad"]), metric, 0.5, 0)


def test_train_is_needed():
    data = dataset(["good", "bad"], ["good", "bad"])
    with pytest.raises(ValueError, match="a split named train"):
        make_task(DatasetDict({"test": data["train"]}), "absa", 0.5, 0)


def test_whole_texts_are_held_out_where_there_is_no_validation_split():
    data = DatasetDict({"train": dataset(["good", "bad"] * 10, ["good", "bad"])["train"]})

    def held_out(seed: int) -> list[str]:
        splits = make_task(data, "absa", 0.2, seed).splits
        assert not set(splits["train"]["text"]) & set(splits["validation"]["text"])
        assert len(splits["train"]["id"]) == 16
        assert len(splits["validation"]["id"]) == 4  # two of ten texts, two rows each
        return splits["validation"]["text"]

    assert held_out(0) == held_out(0)
    assert len({tuple(held_out(seed)) for seed in range(5)}) > 1
    with pytest.raises(ValueError, match=r"validation_fraction=0.01 of 10 training texts is 0"):
        make_task(data, "absa", 0.01, 0)


def test_a_misspelt_label_is_seen_among_the_counts():
    names = ["none", "positive", "negative", "positve"]
    data = dataset(["none", "positive", "negative", "positve", "positive", "positive"], names, target="Soho")
    data["validation"] = data["validation"].select(range(2))
    lines = make_task(data, "absa", 0.5, 0).overview().splitlines()
    assert [line.split() for line in lines[:-1]] == [
        ["train", "validation"],
        ["positive", "3", "1"],
        ["none", "1", "1"],
        ["negative", "1", "0"],
        ["positve", "1", "0"],
        ["rows", "6", "2"],
        ["texts", "3", "1"],
    ]
    assert lines[-1] == "2 pairs of target and aspect; targets: Soho; aspects: food, service"


def test_of_many_labels_the_frequent_and_the_rare_are_shown():
    names = [f"label {number}" for number in range(100)]
    data = dataset([name for name in names for _ in range(3)][:-2], names)
    table = make_task(data, "absa", 0.5, 0).overview()
    assert len(table.splitlines()) < 30
    assert "label 0 " in table
    assert "label 99 " in table


def test_bert_single_needs_rows_of_every_context():
    data = dataset(["good", "bad"], ["good", "bad"], target="Soho")
    data["train"] = data["train"].select([0])
    task = make_task(data, "absa", 0.5, 0)
    with pytest.raises(ValueError, match="train has no row of target 'Soho' and aspect 'service'"):
        task.parts(ClassificationArguments(auxiliary_sentence=False), BertForSequenceClassification)


def test_a_batch_of_texts_has_a_label_for_each_context_and_none_for_the_filling(tiny_bert: Path):
    collate = CollatorOfTexts(AutoTokenizer.from_pretrained(tiny_bert), pad_to_multiple_of=8)
    batch = collate(
        [
            {"input_ids": [2, 5, 3], "attention_mask": [1, 1, 1], "context_ids": [4, 6], "labels": [1, 0]},
            {"input_ids": [2, 3], "attention_mask": [1, 1], "context_ids": [7, 5, 1], "labels": [0, 2, 0]},
        ]
    )
    assert batch["input_ids"].shape == (2, 8)
    assert batch["context_ids"].tolist() == [[4, 6, 0], [7, 5, 1]]
    assert batch["labels"].tolist() == [[1, 0, -100], [0, 2, 0]]


def test_a_model_that_answers_the_same_to_everything_is_warned_of(caplog):
    names = ["none", "good", "bad"]
    warn_of_one_answer("test", np.array([0, 0, 1]), [0, 1, 1], names)
    warn_of_one_answer("test", np.array([0, 0, 0]), [0, 0, 0], names)  # and should
    assert not caplog.messages
    warn_of_one_answer("test", np.array([0, 0, 0]), [0, 1, 2], names)
    assert "answers 'none' to all 3 rows" in caplog.text
