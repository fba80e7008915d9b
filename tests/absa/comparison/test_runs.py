"""Which runs can be compared, and as what."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from absa.comparison.answers import TAGS, TUPLES, AsRows, tuples_in
from absa.comparison.runs import answers_of, read_run, way_of
from absa.comparison.scores import scores_of

pytestmark = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")


def read(*folders: Path) -> list:
    return [read_run(folder, folder.name) for folder in folders]


def change(run: Path, alter: Callable[[pd.DataFrame], pd.DataFrame]) -> Path:
    """The run with other answers of its seeds, as a frame of rows has them."""
    for file in run.glob("seed-*/test_probabilities.parquet"):
        alter(pd.read_parquet(file)).to_parquet(file)
    return run


def test_rows_are_compared_by_their_keys_whatever_their_order(write_run):
    first = write_run("a", "classification", {1: 0.9})
    other = change(write_run("b", "classification", {1: 0.9}), lambda rows: rows.sample(frac=1, random_state=0))
    runs = read(first, other)
    answers = answers_of(runs, way_of(runs))
    (_, second) = scores_of(answers, ["strict_accuracy"], 3)
    assert second.differences["strict_accuracy"] == second.differences["strict_accuracy_high"] == 0


def test_rows_with_one_key_are_told_apart(write_run):
    """A sentence may have a category, or a term, twice."""
    run = write_run("a", "classification", {1: 0.9}, dataset="aspect_polarity")
    change(run, lambda rows: pd.concat([rows, rows.iloc[:1]]))
    runs = read(run)
    ((answers,),) = (of_run.values() for of_run in answers_of(runs, way_of(runs)))
    assert len(set(answers.keys)) == len(answers.keys)
    assert [key for key in answers.keys if len(key) == 6] == [(*answers.keys[0], 1)]


def test_terms_that_a_text_has_twice_beside_absent_ones(write_run):
    """By the metric that takes each key once; terms of one name are put in the order of their places."""
    run = write_run("a", "classification", {1: 0.9}, dataset="aspect_polarity", absent_terms=1)

    def alter(rows: pd.DataFrame) -> pd.DataFrame:
        one = rows.iloc[[0, 0, 0]].assign(target=["tea", "tea", "tea room"], aspect="", id="x")
        one["target_start"] = pd.array([30, 5, 5], dtype="Int64")
        return pd.concat([rows.assign(target_start=pd.NA), one.assign(target_end=one["target_start"] + 3)])

    runs = read(change(run, alter))
    ((answers,),) = (of_run.values() for of_run in answers_of(runs, way_of(runs)))
    assert [key[1:3] for key in answers.keys if key[0] == "x"] == [("tea", 5), ("tea", 30), ("tea room", 5)]
    assert 0 <= answers.figures_of(np.arange(len(answers.keys)))["accuracy"] <= 1


@pytest.mark.parametrize(
    ("arguments", "scored_as"),
    [
        ({"dataset": "sentihood"}, "sentihood"),
        ({"dataset": "sentihood", "metric": "absa"}, "absa"),
        ({"dataset": "sentihood", "unseen_aspects": ["price"]}, "absa"),
        ({"dataset": "aspect_polarity", "absent_terms": 2}, "absa"),
        ({"dataset": "custom"}, "absa"),
    ],
)
def test_classifiers_are_scored_as_they_were(write_run, arguments: dict, scored_as: str):
    (run,) = read(write_run("a", "classification", {1: 0.9}, **arguments))
    assert way_of([run]).scored_as == scored_as


def of_other_rows(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(id=["seven" if id_ == "7" else id_ for id_ in rows["id"]])


def of_other_labels(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(label=["none", *rows["label"][1:]])


@pytest.mark.parametrize(
    ("alter", "told"),
    [
        (of_other_rows, r"b and a are about other test rows: a lacks 4 of 216, first \('seven', 'LOCATION1'"),
        (lambda rows: rows[rows["id"] != "7"], r"b and a are about other test rows: b lacks 4 of 216, first \('7'"),
        (of_other_labels, r"b and a have other gold labels: of \('0', 'LOCATION1', None, None, 'general'\) none and"),
        (lambda rows: rows.assign(p_neutral=0.0), r"a and b have other labels, \['negative', .* 'neutral'"),
    ],
)
def test_classifiers_on_other_data_are_refused(write_run, alter: Callable, told: str):
    first = write_run("a", "classification", {1: 0.9})
    runs = read(first, change(write_run("b", "classification", {1: 0.9}), alter))
    with pytest.raises(ValueError, match=told):
        answers_of(runs, way_of(runs))


def test_a_copied_seed_is_none(write_run):
    run = write_run("a", "classification", {1: 0.9})
    shutil.copytree(run / "seed-1", run / "seed-1-old")
    assert list(read_run(run, "a").seeds) == [1]


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "arguments.json, line 1: invalid JSON"), ("{}", "arguments.json has no dataset: give its name")],
)
def test_a_record_that_cannot_be_read(write_run, content: str, told: str):
    run = write_run("a", "classification", {1: 0.9})
    (run / "arguments.json").write_text(content)
    with pytest.raises(ValueError, match=told):
        read_run(run, "a")


def test_files_of_other_tools(write_run):
    """Numbers as ids, null for no target; and columns that are missing."""
    first = write_run("a", "classification", {1: 0.9}, metric="absa")
    other = change(
        write_run("b", "classification", {1: 0.9}, metric="absa"),
        lambda rows: rows.assign(id=rows["id"].astype(int), aspect=rows["aspect"].astype("category")),
    )
    runs = read(first, other)
    assert len(answers_of(runs, way_of(runs))) == 2
    change(other, lambda rows: rows.assign(target=None))
    runs = read(other)
    ((answers,),) = (of_run.values() for of_run in answers_of(runs, AsRows("aspect_polarity")))
    assert {key[1] for key in answers.keys} == {""}
    change(other, lambda rows: rows.drop(columns="aspect"))
    with pytest.raises(ValueError, match=r"seed-1/test_probabilities.parquet has no column 'aspect': give id, target"):
        answers_of(runs, way_of(runs))


def test_seeds_of_other_data_are_refused(write_run):
    run = write_run("a", "classification", {1: 0.9, 2: 0.9})
    other = change(write_run("b", "classification", {2: 0.9}), of_other_rows) / "seed-2"
    shutil.copytree(other, run / "seed-2", dirs_exist_ok=True)
    runs = read(run)
    with pytest.raises(ValueError, match="a, seed 2, and a, seed 1, are about other test rows"):
        answers_of(runs, way_of(runs))


@pytest.mark.parametrize("task", ["tagging", "generation"])
def test_classifiers_and_what_finds_targets_are_refused(write_run, task: str):
    runs = read(write_run("a", "classification", {1: 0.9}), write_run("b", task, {1: 0.9}))
    told = "a answers questions about given targets and aspects, b (tags words|finds tuples): that is not one task"
    with pytest.raises(ValueError, match=told):
        way_of(runs)


def test_a_generator_of_given_targets_and_one_that_finds_them_are_refused(write_run):
    runs = read(write_run("a", "generation", {1: 0.9}), write_run("b", "generation", {1: 0.9}, subtask="alsc"))
    with pytest.raises(ValueError, match="a does aste, b alsc: they find nothing that can be compared"):
        way_of(runs)


def as_generator(run: Path) -> Path:
    """The answers of a tagger as a generator of aesc, or whatever finds targets and judges them, would write them."""
    for folder in run.glob("seed-*"):
        rows = tuples_in(folder, ("target", "label"))
        columns = {
            "id": rows.ids,
            "words": rows.words,
            "subtask": ["aesc"] * len(rows.ids),
            "target": pa.array([None] * len(rows.ids), pa.list_(pa.int32())),
            "tuples": rows.gold,
            "predicted": rows.predicted,
            "invalid": rows.invalid,
        }
        pq.write_table(pa.table(columns), folder / TUPLES)
        (folder / TAGS).unlink()
    return run


def test_a_tagger_and_a_generator_are_compared_by_places_and_labels(write_run):
    tagger, generator = write_run("a", "tagging", {1: 0.7}), as_generator(write_run("b", "tagging", {1: 0.7}))
    runs = read(tagger, generator)
    way = way_of(runs)
    assert (way.scored_as, way.fields) == ("aesc", ("target", "label"))
    scores, same = scores_of(answers_of(runs, way), way.main_scores, 5)
    assert same.by_seed.equals(scores.by_seed)
    alone = scores_of(answers_of(runs[:1], way_of(runs[:1])), ["f1", "precision", "recall"], 5)[0]
    assert scores.by_seed["f1"].tolist() == alone.by_seed["f1"].tolist()
    assert list(scores.by_seed) == ["f1", "precision", "recall", "ate_f1"]
    rows = tuples_in(tagger / "seed-1", ("target", "label"))
    assert rows.scores[0] == [0.5] * len(rows.predicted[0])
    assert {one["label"] for tuples in rows.gold for one in tuples} == {"positive", "negative"}


def test_generators_are_compared_by_the_fields_that_all_find(write_run):
    runs = read(write_run("a", "generation", {1: 0.9}), as_generator(write_run("b", "tagging", {1: 0.9})))
    assert way_of(runs).scored_as == "aesc"
    with pytest.raises(ValueError, match="b and a are about other test rows: a lacks 40 of 40, first"):
        answers_of(runs, way_of(runs))  # whose words are others


def test_what_is_no_run(tmp_path: Path, write_run):
    with pytest.raises(FileNotFoundError, match=r"runs=.*nowhere holds no finished run: give the output_dir"):
        read_run(tmp_path / "nowhere", "a")
    run = write_run("a", "classification", {1: 0.9})
    with pytest.raises(FileNotFoundError, match=r"seed-1 holds no finished run"):
        read_run(run / "seed-1", "a")
    (run / "seed-1" / "test_probabilities.parquet").unlink()
    with pytest.raises(ValueError, match=r"seed-1 has no answers to a test split, none of test_probabilities.parquet"):
        read_run(run, "a")


def test_a_part_of_a_run_on_several_data_sets(write_run):
    alone = write_run("alone", "classification", {1: 0.9}, metric="absa")
    entries = [{"dataset": "sentihood", "metric": "absa"}, {"dataset": "mams", "name": "terms"}]
    run = write_run("a", "classification", {1: 0.9, 2: 0.9}, dataset="mixture", mixture=entries)
    for seed in (1, 2):
        (run / f"seed-{seed}" / "sentihood").mkdir()
        (run / f"seed-{seed}" / "test_probabilities.parquet").rename(
            run / f"seed-{seed}" / "sentihood" / "test_probabilities.parquet"
        )
    with pytest.raises(
        ValueError, match="a run on several data sets: give the one to compare, --part sentihood or ter"
    ):
        read_run(run, "a")
    runs = [read_run(folder, folder.name, "sentihood") for folder in (run, alone)]
    assert [one.checkpoint for one in runs] == [run / "seed-1", alone / "seed-1"]
    (mixed, _), (single,) = (list(of_run.values()) for of_run in answers_of(runs, way_of(runs)))
    assert mixed.keys == single.keys
    with pytest.raises(ValueError, match="seed-1/terms has no answers to a test split"):
        read_run(run, "a", "terms")


def test_seeds_that_are_not_finished_are_left_out(write_run):
    run = write_run("a", "classification", {1: 0.9, 10: 0.9, 2: 0.9})
    (run / "seed-2" / "results.json").unlink()
    assert list(read_run(run, "a").seeds) == [1, 10]
    assert json.loads((run / "arguments.json").read_text())["dataset"] == "sentihood"
