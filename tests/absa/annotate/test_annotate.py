"""Annotation on Ray Data: the pipeline's answers to every row, once, whatever happens to its processes."""

import csv
import gzip
import json
import os
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import AutoConfig

import absa
from absa.annotate import AnnotateArguments, answers
from absa.opinions import to_table

pytestmark = pytest.mark.usefixtures("ray_here")


@pytest.fixture(scope="module")
def checkpoints(tiny_classifier: Path, tmp_path_factory) -> dict[bool, Path]:
    """The tiny classifier with auxiliary sentences and without."""
    folder = tmp_path_factory.mktemp("other")
    config = AutoConfig.from_pretrained(tiny_classifier)
    config.auxiliary_sentence = not config.auxiliary_sentence
    for file in tiny_classifier.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config.save_pretrained(folder)
    return {not config.auxiliary_sentence: tiny_classifier, config.auxiliary_sentence: folder}


@pytest.fixture(scope="module")
def corpus(make_texts, tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """Sixty texts in files of three kinds, with ids and without, and five rows that are no texts; and the texts."""
    folder, texts = tmp_path_factory.mktemp("corpus"), make_texts(60)
    pq.write_table(pa.table({"id": range(10), "text": texts[:10]}), folder / "a.parquet", row_group_size=4)
    lines = [json.dumps({"text": text}) for text in texts[10:30]]
    (folder / "b.jsonl").write_text("\n".join(['{"text": "cut o', *lines, '{"text": null}']))
    with gzip.open(folder / "c.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([("text", "id"), *((text, f"c{n}") for n, text in enumerate(texts[30:])), ("one",)])
    (folder / "d.csv").write_text("review\nLOCATION1 is safe\n")
    (folder / "e.jsonl").touch()
    ids = [*map(str, range(10)), *(f"{folder.name}/b.jsonl:{n}" for n in range(2, 22)), *(f"c{n}" for n in range(30))]
    return folder, dict(zip(ids, texts, strict=True))


@pytest.mark.parametrize("auxiliary_sentence", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_same_rows_as_the_pipeline_and_every_other_row_is_named(
    auxiliary_sentence: bool, checkpoints, corpus, run, assert_same_as_pipe, tmp_path: Path, capsys
):
    folder, texts = corpus
    output = run(checkpoints[auxiliary_sentence], tmp_path / "run", folder, rows_per_commit=7, keep_text=True)
    assert_same_as_pipe(output, checkpoints[auxiliary_sentence], texts)
    rows = pd.read_parquet(output)
    assert (rows["text"] == rows["text_id"].map(texts)).all()
    rejects = pd.read_parquet(f"{output}-rejects").sort_values(["file", "row"])
    assert [tuple(reject) for reject in rejects[["file", "reason"]].to_numpy()] == [
        (f"{folder.name}/b.jsonl", "the line is no JSON: Unterminated string starting at: line 1 column 10 (char 9)"),
        (f"{folder.name}/b.jsonl", "the text is missing"),
        (f"{folder.name}/c.csv.gz", "1 fields, where the header has 2"),
        (f"{folder.name}/d.csv", "the file has 0 columns text among review"),
        (f"{folder.name}/e.jsonl", "the file has no rows"),
    ]
    assert rejects["row"].tolist()[:3] == [1, 22, 31]
    printed = capsys.readouterr().out
    assert "60 texts" in printed
    assert "5 rows were rejected" in printed


@pytest.mark.slow
def test_goes_on_with_the_same_run_only(checkpoints, corpus, run, assert_same_as_pipe, tmp_path: Path, capsys):
    folder, texts = tmp_path / corpus[0].name, corpus[1]
    folder.mkdir()
    for file in corpus[0].iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    output = run(checkpoints[True], tmp_path / "run", folder, rows_per_commit=7)
    files = sorted(output.iterdir())
    for file in files[::2]:
        file.unlink()
    before = {file: file.stat().st_mtime_ns for file in files[1::2]}
    (folder / "f.jsonl").write_text('{"text": "LOCATION2 is near", "id": "new"}\n')
    capsys.readouterr()
    run(checkpoints[True], output, folder, rows_per_commit=7)
    assert f"{len(before)} files are there already" in capsys.readouterr().out
    assert len(list(output.iterdir())) == len(files) + 1
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert_same_as_pipe(output, checkpoints[True], texts | {"new": "LOCATION2 is near"})

    with pytest.raises(ValueError, match="holds a run with rows_per_commit=7, not 8: give the same"):
        run(checkpoints[True], output, folder, rows_per_commit=8)
    with pytest.raises(ValueError, match="holds a run with model="):
        run(checkpoints[False], output, folder, rows_per_commit=7)
    (folder / "f.jsonl").write_text('{"text": "LOCATION2 is far", "id": "changed"}\n')
    with pytest.raises(ValueError, match=r"f.jsonl has 46 bytes, and had 43 when the run .* began"):
        run(checkpoints[True], output, folder, rows_per_commit=7)
    with pytest.raises(ValueError, match="holds other files: give a folder of its own"):
        run(checkpoints[True], folder, corpus[0], rows_per_commit=7)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(checkpoints, make_texts, run, assert_same_as_pipe, tmp_path: Path):
    """As the system does it to a process that takes too much memory."""
    texts = {f"texts.jsonl:{number}": text for number, text in enumerate(make_texts(600), start=1)}
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts.values()))
    killed = []

    def kill():
        while not killed and len(list(tmp_path.glob("run/*.parquet"))) < 3:
            time.sleep(0.01)
        for process in psutil.Process().children(recursive=True):
            if "Annotator" in "".join(process.cmdline()):
                process.send_signal(signal.SIGKILL)
                killed.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    output = run(checkpoints[True], tmp_path / "run", tmp_path / "texts.jsonl", rows_per_commit=10, batch_size=2)
    thread.join()
    assert killed
    assert_same_as_pipe(output, checkpoints[True], texts)


def test_texts_that_cannot_be_asked_are_told_with_their_reason(tiny_classifier: Path):
    """With a name that stands for LOCATION1, of a text that has LOCATION1 beside it."""
    predictor = absa.load(str(tiny_classifier), targets={"Camden": "LOCATION1"}, return_all=True)
    texts = ["Camden is dear", "Camden is not LOCATION1", "Camden is safe"]
    said, refused = answers(predictor, texts, ["a", "b", "c"])
    assert [{opinion.text_id for opinion in of_text} for of_text in said] == [{"a"}, set(), {"c"}]
    assert list(refused) == [1]
    assert "LOCATION1" in refused[1]


@pytest.mark.parametrize(
    ("trained", "parameters"),
    [
        pytest.param("tagger", {}, marks=pytest.mark.slow),
        pytest.param("tagger", {"decoding": "greedy"}, marks=pytest.mark.slow),
        pytest.param("aste", {"abstain_below": 0.9}, marks=pytest.mark.slow),
        pytest.param("aoe", {"targets": ["safe", "LOCATION1"]}, marks=pytest.mark.slow),
        pytest.param("aste", {"classifier": ""}, marks=pytest.mark.slow),
    ],
    ids=["tagger", "tagger-greedy", "generator", "generator-given", "generator-classifier"],
)
def test_who_finds_terms_has_the_same_rows_as_absa_load(
    trained: str,
    parameters: dict,
    tagger: Path,
    make_generator,
    save_word_model,
    make_texts,
    run,
    tmp_path: Path,
):
    checkpoint = tagger if trained == "tagger" else make_generator(trained)
    if "classifier" in parameters:
        parameters = {"classifier": str(save_word_model(" ".join(make_texts(12))))}
    texts = {f"r{number}": text for number, text in enumerate(make_texts(12))}
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in texts.items()))
    output = run(checkpoint, tmp_path / "run", tmp_path / "in.jsonl", return_all=False, **parameters)
    said = absa.load(str(checkpoint), **parameters)(list(texts.values()), text_ids=list(texts))
    expected = to_table(opinion for of_text in said for opinion in of_text).to_pandas(maps_as_pydicts="strict")
    written = pd.read_parquet(output, to_pandas_kwargs={"maps_as_pydicts": "strict"})
    key = ["text_id", "target_start", "target_end", "opinion_start", "opinion_end", "label"]
    assert len(expected) > len(texts) / 2, "answers this few would prove little"
    both = [frame.sort_values(key, ignore_index=True) for frame in (written, expected)]
    probabilities = [pd.DataFrame(frame.pop("probabilities").dropna().tolist()) for frame in both]
    pd.testing.assert_frame_equal(*both, check_exact=False, rtol=0, atol=1e-6)
    pd.testing.assert_frame_equal(*probabilities, check_exact=False, rtol=0, atol=1e-6)
    for row in written.itertuples():
        assert texts[row.text_id][row.target_start : row.target_end] == row.target
        if trained in ("aste", "aoe"):
            assert texts[row.text_id][int(row.opinion_start) : int(row.opinion_end)] == row.opinion


def test_questions_to_a_tagger_are_refused_before_anything_is_written(tagger, tiny_classifier, run, tmp_path):
    (tmp_path / "in.csv").write_text("text\nIt is dear\n")
    for checkpoint, options in (
        *((tagger, option) for option in ({"targets": ["a"]}, {"return_all": True}, {"abstain_below": 0.5})),
        (tiny_classifier, {"decoding": "greedy"}),
    ):
        (name,) = options
        with pytest.raises(ValueError, match=rf"; {name}: no parameter of aspect-\S*sentiment, .*: leave it out"):
            run(checkpoint, tmp_path / "run", tmp_path / "in.csv", **{"return_all": False, **options})
    assert not (tmp_path / "run-run.json").exists()


def test_errors_name_their_argument_or_file(tiny_classifier: Path, run, tmp_path: Path):
    file = tmp_path / "damaged.csv.gz"
    file.write_bytes(gzip.compress(b"text\n" + os.urandom(10_000))[:-100])
    with pytest.raises(ValueError, match="rows_per_commit=0: give at least 1"):
        AnnotateArguments("model", [str(file)], "out", rows_per_commit=0)
    for options, message in (
        ({"cpus_per_worker": 64}, "cpus_per_worker=64: no machine of the cluster has more than 2"),
        ({"gpus_per_worker": 0.5}, "gpus_per_worker=0.5: no machine of the cluster has more than 0"),
    ):
        with pytest.raises(ValueError, match=message):
            run(tiny_classifier, tmp_path / "run", file, **options)
    with pytest.raises(OSError, match=r"damaged\.csv\.gz cannot be read to its end"):
        run(tiny_classifier, tmp_path / "run", file)


@pytest.mark.slow
def test_a_column_that_no_file_has(tiny_classifier: Path, run, tmp_path: Path):
    (tmp_path / b"\xff.csv".decode("utf-8", "replace")).write_bytes(b"review,\xff\nLOCATION1 is dear,1\n")
    with pytest.raises(
        ValueError, match=r"no row of the inputs is a text; .* has 0 columns text among review, \\udcff"
    ):
        run(tiny_classifier, tmp_path / "run", tmp_path)
