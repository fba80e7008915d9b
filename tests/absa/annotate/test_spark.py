"""Annotation by Spark, in a session on this machine."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

import absa
from absa.annotate import SPARK_SCHEMA, spark_udf
from absa.opinions import SCHEMA, to_table


@pytest.fixture
def spark(tmp_path: Path, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pip install '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark runs on Java, which is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path)).config("spark.driver.host", "localhost")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 7).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.slow
def test_same_opinions_as_the_pipeline(spark, tiny_classifier: Path, make_texts):
    texts = make_texts(20)
    reviews = spark.createDataFrame(
        [*((f"r{n}", text) for n, text in enumerate(texts)), ("null", None)], "id string, text string"
    )
    found = reviews.mapInPandas(spark_udf(str(tiny_classifier), return_all=True), SPARK_SCHEMA)
    assert found.columns == SCHEMA.names
    rows = [row.asDict() for row in found.collect()]
    said = absa.load(str(tiny_classifier), return_all=True)(texts, text_ids=[f"r{n}" for n in range(20)])
    expected = to_table(opinion for of_text in said for opinion in of_text).to_pylist(maps_as_pydicts="strict")
    assert len(rows) == len(expected) > 0
    for row, wanted in zip(rows, expected, strict=True):
        assert row.pop("probabilities") == pytest.approx(wanted.pop("probabilities"), abs=1e-6)
        assert row.pop("score") == pytest.approx(wanted.pop("score"), abs=1e-6)
        assert row == wanted


@pytest.mark.parametrize("judged", [False, True], ids=["tagger", "tagger-classifier"])
def test_rows_of_a_tagger_without_spark(judged: bool, tagger: Path, make_texts, save_word_model):
    texts = make_texts(9)
    frame = pd.DataFrame({"id": range(10), "text": [*texts, None]})
    parameters = {"classifier": str(save_word_model(" ".join(texts)))} if judged else {}
    frames = spark_udf(str(tagger), decoding="greedy", **parameters)(iter([frame[:4], frame[4:]]))
    rows = pd.concat(frames).to_dict("records")
    said = absa.load(str(tagger), decoding="greedy", **parameters)(texts, text_ids=range(9))
    expected = to_table(opinion for of_text in said for opinion in of_text).to_pylist(maps_as_pydicts="strict")
    assert len(rows) == len(expected) > 0
    assert [list(row) for row in rows] == [SCHEMA.names] * len(rows)
    for row, wanted in zip(rows, expected, strict=True):
        assert row["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-6)
        for name in ("text_id", "target", "target_start", "target_end", "label"):
            assert row[name] == wanted[name]
