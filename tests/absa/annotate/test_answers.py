"""What examples/annotate.py writes: the rows of the pipeline, in files that others can load."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_qacg_bert import AspectSentimentPipeline


def test_rows_are_the_answers_of_the_pipeline(
    numbered_texts, read, undisturbed: Path, corpus: Path, tiny_classifier: Path
):
    pipe = AspectSentimentPipeline(
        model=AutoModelForSequenceClassification.from_pretrained(tiny_classifier),
        tokenizer=AutoTokenizer.from_pretrained(tiny_classifier),
        return_all=True,
    )
    expected = [
        {"number": number, **answer} for number, text in enumerate(numbered_texts) for answer in pipe(text)
    ]  # one text a call, where the script mixes them in batches
    rows = read(undisturbed)
    # 15 texts with each of LOCATION1, LOCATION2, both and none: (15 + 15 + 30) * 4 aspects.
    assert len(rows) == len(expected) == 240
    for name in ("target", "aspect", "label", "truncated"):
        assert rows[name].tolist() == [answer[name] for answer in expected]
    for name in ("score", "present"):
        assert rows[name].tolist() == pytest.approx([answer[name] for answer in expected], abs=1e-5)
    for label in ("none", "positive", "negative"):
        given = rows[f"probability_{label}"].tolist()
        assert given == pytest.approx([answer["probabilities"][label] for answer in expected], abs=1e-5)
    files = [("a.parquet", 0), ("b.jsonl", 10), ("c.csv.gz", 30)]
    places = [max((first, name) for name, first in files if first <= answer["number"]) for answer in expected]
    assert rows["file"].tolist() == [str(corpus / name) for _, name in places]
    assert rows["row"].tolist() == [
        answer["number"] - first + 1 for answer, (first, _) in zip(expected, places, strict=True)
    ]
    # The broken line is row 31 of the corpus.
    assert rows["id"].tolist() == [str(answer["number"] + 1 + (answer["number"] >= 30)) for answer in expected]


def test_files_of_a_run(read, rejected, undisturbed: Path):
    # Shards of 7 rows that do not cross files: 2 of 10, 3 of 21, 5 of 30.
    shards = sorted(undisturbed.glob("annotations-*.parquet"))
    assert [file.name for file in shards] == [f"annotations-{number:05}.parquet" for number in range(10)]
    assert [file.name for file in undisturbed.glob("rejects-*")] == ["rejects-00004.jsonl"]
    (reject,) = rejected(undisturbed)
    assert (Path(reject["file"]).name, reject["row"], reject["line"]) == ("b.jsonl", 21, 21)
    assert reject["reason"].startswith("no JSON: Unterminated string")
    assert not list(undisturbed.glob(".*"))
    summary = json.loads((undisturbed / "summary.json").read_text())
    assert (summary["texts"], summary["rejects"], summary["annotations"]) == (60, 1, 240)
    rows = read(undisturbed)
    counted = rows.groupby(["target", "aspect", "label"]).size()
    assert {(one["target"], one["aspect"], one["label"]): one["annotations"] for one in summary["labels"]} == dict(
        counted
    )


def test_rows_load_as_a_data_set(undisturbed: Path, tmp_path: Path):
    rows = load_dataset("parquet", data_files=f"{undisturbed}/annotations-*.parquet", cache_dir=str(tmp_path))["train"]
    assert rows.num_rows == 240
    types = {name: feature.dtype for name, feature in rows.features.items()}
    assert types == {
        **dict.fromkeys(("id", "file"), "string"),
        "row": "int64",
        **dict.fromkeys(("target", "aspect", "label"), "string"),
        **dict.fromkeys(("score", "present"), "float32"),
        **{f"probability_{label}": "float32" for label in ("none", "positive", "negative")},
        "truncated": "bool",
    }


def test_a_shard_without_answers_has_the_same_columns(annotate, undisturbed: Path, tmp_path: Path, caplog, capsys):
    (tmp_path / "texts.jsonl").write_text('{"text": "nowhere"}\n' * 3)
    folder = annotate(tmp_path / "run", tmp_path / "texts.jsonl")
    (file,) = folder.glob("annotations-*.parquet")
    table = pq.read_table(file)
    assert table.num_rows == 0
    assert table.schema.equals(pq.read_schema(undisturbed / "annotations-00000.parquet"))
    assert json.loads((folder / "summary.json").read_text()) == {
        "texts": 3,
        "texts_without_target": 3,
        "rejects": 0,
        "annotations": 0,
        "labels": [],
    }
    assert "3 texts (3 of them name no target), 0 annotations" in capsys.readouterr().out
    remedy = (
        "no text names one of LOCATION1, LOCATION2: map the names in the texts to them, --targets Camden=LOCATION1"
    )
    assert [record.getMessage() for record in caplog.records].count(remedy) == 1


def test_texts_without_a_target_are_counted(annotate, corpus: Path, tmp_path: Path, caplog, recwarn):
    names = {"targets": ["nowhere=LOCATION1", "12=LOCATION2"]}
    (tmp_path / "texts.csv").write_text("text\nnowhere\nsomewhere\nit is 12\n")
    summary = json.loads((annotate(tmp_path / "run", tmp_path / "texts.csv", **names) / "summary.json").read_text())
    assert (summary["texts"], summary["texts_without_target"]) == (3, 1)
    assert "names" not in caplog.text
    annotate(tmp_path / "other", tmp_path / "texts.csv", targets=["Soho=LOCATION1"])
    assert "no text names one of Soho: give --targets the names as the texts have them" in caplog.text
    assert not [warning for warning in recwarn if "no text names" in str(warning.message)]


def test_sentences_with_their_places(read, annotate, undisturbed: Path, tmp_path: Path):
    text = "LOCATION1 is dear. It is safe!\nLOCATION2 is 3.5 miles off."
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": text}))
    folder = annotate(tmp_path / "run", tmp_path / "texts.jsonl", split_sentences=True, aspects=["price", "safety"])
    rows = read(folder)
    assert list(rows) == [*read(undisturbed), "start", "end"]
    about = [(row.target, text[row.start : row.end]) for row in rows.itertuples()]
    assert about == [
        *[("LOCATION1", "LOCATION1 is dear. It is safe!")] * 2,
        *[("LOCATION2", "LOCATION2 is 3.5 miles off.")] * 2,
    ]
    with pytest.raises(ValueError, match=r"\(split_sentences was True and is now False\)"):
        annotate(tmp_path / "run", tmp_path / "texts.jsonl", aspects=["price", "safety"])


def test_a_target_that_is_not_read_has_no_label(read, annotate, tmp_path: Path):
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": f"LOCATION1 {'is safe ' * 600} LOCATION2"}))
    rows = read(annotate(tmp_path / "run", tmp_path / "texts.jsonl", aspects=["price"]))
    assert rows["truncated"].all()
    assert rows["label"].isna().tolist() == [False, True]


def test_own_names_ids_aspects_and_abstentions(read, rejected, annotate, tmp_path: Path):
    (tmp_path / "texts.csv").write_text("key,review\nx1,Camden is dear\nx2,Soho and CAMDEN\nx3,LOCATION1 or Camden\n")
    folder = annotate(
        tmp_path / "run",
        tmp_path / "texts.csv",
        text_column="review",
        id_column="key",
        targets=["Camden=LOCATION1", "Soho=LOCATION2"],
        aspects=["price"],
        return_all=False,
        abstain_below=1.0,
    )
    rows = read(folder)
    assert rows[["id", "row", "target", "aspect"]].values.tolist() == [
        ["x1", 1, "Camden", "price"],
        ["x2", 2, "Camden", "price"],
        ["x2", 2, "Soho", "price"],
    ]
    assert rows["label"].isna().all()
    (reject,) = rejected(folder)
    assert (reject["row"], reject["line"]) == (3, 4)
    assert "the text holds 'LOCATION1', which targets gives to 'Camden'" in reject["reason"]


def test_computed_in_fewer_bits(read, annotate, tmp_path: Path, corpus: Path, undisturbed: Path):
    rows = read(annotate(tmp_path / "run", corpus, bf16="true"))
    exact = read(undisturbed)
    assert rows[["id", "target", "aspect"]].equals(exact[["id", "target", "aspect"]])
    difference = (rows["score"] - exact["score"]).abs().max()
    assert 0 < difference < 0.05
    with pytest.raises(ValueError, match=r"\(bf16 was True and is now False\)"):
        annotate(tmp_path / "run", corpus)


def test_the_size_of_the_batches_changes_no_answer(read, annotate, tmp_path: Path, corpus: Path, undisturbed: Path):
    rows, expected = read(annotate(tmp_path / "run", corpus, batch_size=3)), read(undisturbed)
    assert rows["label"].equals(expected["label"])
    assert rows["score"].tolist() == pytest.approx(expected["score"].tolist(), abs=1e-5)


def test_progress_without_a_terminal(annotate, tmp_path: Path, corpus: Path, caplog, monkeypatch):
    monkeypatch.setattr("absa.annotation_progress.LOG_EVERY_S", 0)
    annotate(tmp_path / "run", corpus)
    assert "annotating: 61 of 61 texts, " in caplog.text
    assert " texts/s, 0:00:00 left" in caplog.text
