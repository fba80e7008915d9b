"""Generators of labels among classifiers."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import given_terms
from absa.predict import load
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.tasks.rows import choose

NO_ANSWERS = {"id": [], "words": [], "subtask": [], "target": [], "tuples": [], "predicted": [], "scores": []}


@pytest.fixture
def run(make_generator, tmp_path: Path) -> Path:
    """As run_absa.py leaves it, with a generator of random weights."""
    folder = tmp_path / "alsc"
    shutil.copytree(make_generator("alsc"), folder / "seed-7")
    (folder / "seed-7/results.json").write_text("{}")
    pd.DataFrame({**NO_ANSWERS, "invalid": []}).to_parquet(folder / "seed-7/test_tuples.parquet")
    (folder / "arguments.json").write_text(json.dumps({"dataset": "bartabsa", "model_type": "pointer_absa"}))
    return folder


def test_a_generator_stands_among_classifiers(run: Path, shared_dir: Path, monkeypatch, run_here, tmp_path: Path):
    """On the short ones among the test rows, of which the tiny model reads all."""
    of_data = {"dataset": "aspect_polarity", "data_config": "laptops_terms"}
    task = Classification.load(ClassificationArguments(**of_data, data_dir=str(shared_dir / "data/semeval2014")))
    short = [number for number, text in enumerate(task.splits["test"]["text"]) if len(text) < 45]
    task = replace(task, splits={**task.splits, "test": choose(task.splits["test"], short)})
    monkeypatch.setattr(given_terms.Classification, "load", lambda arguments: task)
    given_terms.main(given_terms.GivenTermsArguments(run, "of the test", tmp_path / "rows"))
    rows = pd.read_parquet(tmp_path / "rows/seed-7/test_probabilities.parquet")
    assert rows["text"].tolist() == task.splits["test"]["text"]
    assert len(rows) > 20
    read = load(str(run / "seed-7"))
    for row in rows.iloc[[0, 9, -1]].to_dict("records"):
        place = {name: int(row[name]) for name in ("target_start", "target_end")}
        assert row["text"][slice(*place.values())] == row["target"]
        (answer,) = read.pipe({"text": row["text"], **place})
        assert {label: row[f"p_{label}"] for label in answer["probabilities"]} == pytest.approx(
            answer["probabilities"], abs=1e-5
        )
    table = run_here("examples/compare.py", *[tmp_path / "rows"] * 2, "--names", "one", "other", "--texts", "0")
    accuracy = json.loads((tmp_path / "rows/seed-7/results.json").read_text())["test"]["accuracy"]
    assert f"| one | 1 | {100 * accuracy:.1f} [" in table
    assert f"{len(rows)} rows" in table
    trained = json.loads((run / "arguments.json").read_text())
    (run / "arguments.json").write_text(json.dumps({**trained, "num_train_epochs": 2}))
    another = r"holds another run \(trained_num_train_epochs was None and is now 2\)"
    with pytest.raises(ValueError, match=another):  # and does not take its first answers for those of the new models
        given_terms.main(given_terms.GivenTermsArguments(run, "of the test", tmp_path / "rows"))


def test_a_model_with_other_answers(run: Path, make_generator, shared_dir: Path, tmp_path: Path):
    shutil.rmtree(run / "seed-7")
    shutil.copytree(make_generator("aoe"), run / "seed-7")
    (run / "seed-7/results.json").write_text("{}")
    pd.DataFrame({**NO_ANSWERS, "invalid": []}).to_parquet(run / "seed-7/test_tuples.parquet")
    arguments = given_terms.GivenTermsArguments(run, str(shared_dir / "data/semeval2014"), tmp_path / "rows")
    with pytest.raises(ValueError, match=r"answered by .*: give a model of alsc with \['positive'"):
        given_terms.main(arguments)


def test_a_seed_that_is_not_finished(run: Path, tmp_path: Path):
    arguments = given_terms.GivenTermsArguments(run, "not read", tmp_path / "rows", seeds=[7, 99])
    with pytest.raises(ValueError, match=r"seeds=99: of .*alsc these are finished: 7$"):
        given_terms.main(arguments)
