"""absa.load: what texts say, as Opinions."""

import math
from pathlib import Path

import pyarrow as pa
import pytest

import absa
from absa.opinions import SCHEMA, to_table

TEXTS = ["LOCATION1 is dear but safe.", "Nothing here.", "LOCATION2 is near LOCATION1."]
QUESTIONS = 4  # aspects of a target


@pytest.fixture(scope="module")
def predictor(make_checkpoint):
    return absa.load(str(make_checkpoint()), return_all=True)


@pytest.mark.filterwarnings("ignore:.*names one of the targets")
def test_opinions_of_texts(predictor):
    opinions = predictor(TEXTS, text_ids=["a", "b", "c"])
    assert [len(of_text) for of_text in opinions] == [QUESTIONS, 0, 2 * QUESTIONS]
    assert predictor(TEXTS[0]) == predictor(TEXTS[:1])[0]
    first = opinions[0][0]
    assert (first.text_id, first.target, first.aspect) == ("a", "LOCATION1", "general")
    assert first.label == max(first.probabilities, key=first.probabilities.get)
    assert first.score == first.probabilities[first.label]
    assert math.isclose(sum(first.probabilities.values()), 1, abs_tol=1e-6)
    assert first.opinion is first.target_start is None


def test_parameters_of_a_call(predictor):
    (opinion,) = predictor("Camden is dear.", targets={"Camden": "LOCATION1"}, aspects=["price"])
    assert (opinion.target, opinion.aspect) == ("Camden", "price")


def test_as_many_ids_as_texts(predictor):
    with pytest.raises(ValueError, match="zip"):
        predictor(TEXTS[:1], text_ids=["a", "b"])


def test_a_table(predictor, tmp_path: Path):
    table = to_table(predictor(TEXTS[0]))
    assert table.schema == SCHEMA
    assert table.num_rows == QUESTIONS
    pa.parquet.write_table(table, tmp_path / "opinions.parquet")
    frame = pa.parquet.read_table(tmp_path / "opinions.parquet").to_pandas()
    assert set(dict(frame["probabilities"][0])) == {"none", "positive", "negative"}
    assert to_table([]).schema == SCHEMA


def test_no_such_model():
    with pytest.raises(FileNotFoundError, match=r"model=outputs/nothing is no folder with a model"):
        absa.load("outputs/nothing")
