"""examples/annotate.py: the rows of the pipeline, whatever happens, and every bad row with its reason."""

import csv
import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_qacg_bert import AspectSentimentPipeline

SCRIPT = "examples/annotate.py"
ASPECTS = ["general", "price", "transit-location", "safety"]
WORDS = ["safe", "dangerous", "cheap", "dear", "near", "far", "nice", "dull"]
# Of different lengths, so that batches by length mix them; every fourth names no target.
TEXTS = [
    f"{'but nice and ' * (number % 5)}{('LOCATION1', 'LOCATION2', 'LOCATION1 and LOCATION2', 'nowhere')[number % 4]} "
    f"is {WORDS[number % 8]} {number}"
    for number in range(60)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """The texts in three files, ten, twenty and thirty of them, with a bad row at the end of the second."""
    folder = tmp_path_factory.mktemp("corpus")
    table = pa.table({"number": list(range(10)), "text": TEXTS[:10]})
    pq.write_table(table, folder / "a.parquet", row_group_size=4)
    lines = [json.dumps({"text": text}) for text in TEXTS[10:30]]
    (folder / "b.jsonl").write_text("\n".join([*lines, '{"text": "cut o']))
    with gzip.open(folder / "c.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([("text", "number"), *((text, number) for number, text in enumerate(TEXTS[30:]))])
    return folder


@pytest.fixture(scope="module")
def annotate(example, tiny_classifier: Path) -> Callable[..., Path]:
    """Runs the script's main function here and returns the folder it wrote to."""
    module = example("annotate")

    def run(output_dir: Path, *inputs: Path | str, checkpoint: Path | str = tiny_classifier, **options) -> Path:
        arguments = {"return_all": True, "shard_size": 7, **options}
        module.main(module.AnnotateArguments(str(checkpoint), [*map(str, inputs)], str(output_dir), **arguments))
        return output_dir

    return run


@pytest.fixture(scope="module")
def undisturbed(annotate, corpus: Path, tmp_path_factory) -> Path:
    return annotate(tmp_path_factory.mktemp("undisturbed") / "run", corpus)


def read(folder: Path) -> pd.DataFrame:
    files = sorted(folder.glob("annotations-*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def rejected(folder: Path) -> list[dict]:
    files = sorted(folder.glob("rejects-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def assert_same(folder: Path, expected: Path):
    """The same rows, bit by bit and in the same files, the same rejects and counts, and nothing else."""
    pd.testing.assert_frame_equal(read(folder), read(expected), check_exact=True)
    assert rejected(folder) == rejected(expected)
    assert sorted(file.name for file in folder.iterdir()) == sorted(file.name for file in expected.iterdir())
    assert (folder / "summary.json").read_text() == (expected / "summary.json").read_text()


def test_rows_are_the_answers_of_the_pipeline(undisturbed: Path, corpus: Path, tiny_classifier: Path):
    pipe = AspectSentimentPipeline(
        model=AutoModelForSequenceClassification.from_pretrained(tiny_classifier),
        tokenizer=AutoTokenizer.from_pretrained(tiny_classifier),
        return_all=True,
    )
    expected = [
        {"number": number, **answer} for number, text in enumerate(TEXTS) for answer in pipe(text)
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


def test_files_of_a_run(undisturbed: Path):
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


def test_a_shard_without_answers_has_the_same_columns(annotate, undisturbed: Path, tmp_path: Path):
    (tmp_path / "texts.jsonl").write_text('{"text": "nowhere"}\n' * 3)
    folder = annotate(tmp_path / "run", tmp_path / "texts.jsonl")
    (file,) = folder.glob("annotations-*.parquet")
    table = pq.read_table(file)
    assert table.num_rows == 0
    assert table.schema.equals(pq.read_schema(undisturbed / "annotations-00000.parquet"))
    assert json.loads((folder / "summary.json").read_text()) == {
        "texts": 3,
        "rejects": 0,
        "annotations": 0,
        "labels": [],
    }


def test_own_names_ids_aspects_and_abstentions(annotate, tmp_path: Path):
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


def test_bad_rows_of_jsonl(annotate, tmp_path: Path):
    lines = [
        b'\xef\xbb\xbf{"text": "LOCATION1 after a byte order mark", "id": 7}\r',
        b'{"text": "LOCATION1',
        b"",
        b"\x00\x00\x00",
        b'{"text": 3, "id": "a"}',
        b'{"text": null, "id": "a"}',
        b'{"id": "a", "other": 1}',
        b'["LOCATION1"]',
        b'{"text": "\xff LOCATION1", "id": "a"}',
        b'{"text": " \\u200b", "id": "a"}',
        b'{"text": "LOCATION1", "id": null}',
        b'{"text": "LOCATION1", "id": 1.5}',
        b'{"text": "LOCATION1", "id": "\\ud800"}',
        b"[" * 100_000,
        b'{"text": "LOCATION1 \\u0000 \\ud800 is safe", "id": "nul"}',
    ]
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    folder = annotate(tmp_path / "run", file, id_column="id", aspects=["price"], shard_size=4)
    assert read(folder)["id"].tolist() == ["7", "nul"]
    reasons = {reject["row"]: reject["reason"] for reject in rejected(folder)}
    assert all(reject["line"] == reject["row"] for reject in rejected(folder))
    expected = {
        2: "no JSON: Unterminated string starting at at character 10",
        3: "the line is blank",
        4: "no JSON: Expecting value",
        5: "the text is 3 (int), no string",
        6: "the text is missing",
        7: "it has no text, but id, other",
        8: "it is ['LOCATION1'] (list), no object",
        9: "the line is not UTF-8: invalid start byte at byte 10",
        10: "the text has nothing to read: ' \\u200b' (str)",
        11: "the id is missing",
        12: "the id is 1.5 (float), neither a string nor a whole number",
        13: "the id is not UTF-8",
        14: "no JSON: ",
    }
    assert list(reasons) == list(expected)
    for row, start in expected.items():
        assert reasons[row].startswith(start), row
    assert json.loads((folder / "summary.json").read_text())["rejects"] == 13


def test_bad_rows_of_csv(annotate, example, tmp_path: Path):
    limit = example("corpus").LONGEST_FIELD
    lines = [
        b"\xef\xbb\xbfid,text",
        b"1,LOCATION1 is safe",
        b"2",
        b"3,LOCATION1, which is dear",
        b'4,"LOCATION1 on two',
        b'lines, ""quoted"""',
        b"",
        b'5,"LOCATION1" is safe',
        b"6,LOCATION1 \xff",
        b'7,5" LOCATION1 \x00',
        b"8,",
        b",LOCATION1",
        b"9," + b"x" * (limit + 1),
        b"10,LOCATION1",
        b'11,"LOCATION1 is never closed',
        b"12,LOCATION1",
        b"13,LOCATION2",
    ]
    file = tmp_path / "bad.csv"
    file.write_bytes(b"\r\n".join(lines) + b"\r\n")
    folder = annotate(tmp_path / "run", file, id_column="id", aspects=["price"], shard_size=4)
    assert read(folder)[["id", "row"]].values.tolist() == [["1", 1], ["4", 4], ["7", 8], ["10", 12]]
    expected = {
        (2, 3): "1 fields, where the header has 2",
        (3, 4): "3 fields, where the header has 2",
        (5, 7): "the line is blank",
        (6, 8): "malformed csv: ',' expected after '\"'",
        (7, 9): "the line is not UTF-8",
        (9, 11): "the text has nothing to read: '' (str)",
        (10, 12): "the id is missing",
        (11, 13): "malformed csv: field larger than field limit",
        (13, 15): "malformed csv: unexpected end of data; lines 15 to 17 are lost to a quote that opens and does not",
    }
    found = rejected(folder)
    assert [(reject["row"], reject["line"]) for reject in found] == list(expected)
    for reject, start in zip(found, expected.values(), strict=True):
        assert reject["reason"].startswith(start), reject


def test_bad_rows_of_parquet(annotate, tmp_path: Path):
    raw = pa.array([b"LOCATION1 is safe", None, b"LOCATION1 \xff", b"\t", b"LOCATION1"], pa.binary())
    as_strings = pa.Array.from_buffers(pa.string(), 5, raw.buffers(), null_count=1)
    pq.write_table(pa.table({"text": as_strings, "id": [1, 2, 3, 4, 5]}), tmp_path / "bad.parquet", row_group_size=2)
    folder = annotate(tmp_path / "run", tmp_path / "bad.parquet", id_column="id", aspects=["price"], shard_size=2)
    assert read(folder)["id"].tolist() == ["1", "5"]
    reasons = [(reject["row"], reject["line"], reject["reason"]) for reject in rejected(folder)]
    assert reasons == [
        (2, None, "the text is missing"),
        (3, None, "it is not UTF-8: invalid start byte at byte 10"),
        (4, None, "the text has nothing to read: '\\t' (str)"),
    ]


def test_dictionaries_and_large_strings_of_parquet(annotate, tmp_path: Path):
    texts = pa.array(["LOCATION1 is safe", "LOCATION1"] * 3)
    for name, column in (("dictionary", texts.dictionary_encode()), ("large", texts.cast(pa.large_string()))):
        pq.write_table(pa.table({"text": column}), tmp_path / f"{name}.parquet")
    rows = read(annotate(tmp_path / "run", *tmp_path.glob("*.parquet"), aspects=["price"]))
    assert rows["id"].tolist() == [str(number) for number in range(1, 13)]


@pytest.mark.slow
def test_killed_twenty_times_it_ends_with_the_same_rows(annotate, tmp_path: Path, run_script, tiny_classifier: Path):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork, by which the test starts twenty processes in seconds")
    texts = tmp_path / "texts.jsonl"
    lines = [json.dumps({"text": text} if number % 5 else {"no": text}) for number, text in enumerate(TEXTS * 4)]
    texts.write_text("\n".join(lines))
    folder = tmp_path / "killed"
    killing = Path(__file__).with_name("kill_annotate.py")
    kills = [json.loads(line) for line in run_script(killing, tiny_classifier, texts, folder).stdout.splitlines()]
    assert len(kills) == 20
    assert all(kill["killed"] for kill in kills), "a start came to its end before it was killed"
    assert all(kill["before"] <= kill["after"] < 120 for kill in kills)
    assert sum(kill["after"] > kill["before"] for kill in kills) >= 5, "it was killed too early to show anything"
    assert sum(kill["partial"] for kill in kills) >= 5, "no kill came while a file was written"
    assert_same(folder, annotate(tmp_path / "undisturbed", texts, shard_size=2))
    assert not read(folder).duplicated(["file", "row", "target", "aspect"]).any()


@pytest.mark.slow
def test_the_script_killed_twenty_times_ends_with_the_same_rows(
    annotate, tmp_path: Path, repo_root: Path, run_script, tiny_classifier: Path
):
    """As a user runs it: twenty processes of their own, killed at any time from their start on."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS * 5))
    folder = tmp_path / "killed"
    words = [SCRIPT, str(tiny_classifier), str(texts), "--output_dir", str(folder), "--shard_size", "1"]
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        before = complete(folder)
        process = start(repo_root, words)
        wanted = before + int(torch.randint(0, 6, (1,), generator=generator))
        wait(lambda wanted=wanted: complete(folder) >= wanted, process)
        # Until a random moment, for five shards at most: a fast machine must not come to the end before the last kill.
        moment = time.monotonic() + float(torch.rand(1, generator=generator)) * (8 if wanted == before else 0.1)
        wait(lambda wanted=wanted, moment=moment: time.monotonic() > moment or complete(folder) >= wanted + 5, process)
        process.kill()
        process.communicate()
    assert complete(folder) < 300, "it came to its end before it was killed twenty times"
    run_script(*words)
    assert_same(folder, annotate(tmp_path / "undisturbed", texts, shard_size=1, return_all=False))


def complete(folder: Path) -> int:
    return len(list(folder.glob("annotations-*")))


def start(repo_root: Path, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=repo_root,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait(until: Callable[[], bool], process: subprocess.Popen):
    deadline = time.monotonic() + 120
    while not until():
        assert process.poll() is None, process.communicate()[1][-4000:]
        assert time.monotonic() < deadline, "nothing in two minutes"
        time.sleep(0.002)


def test_stopped_by_a_signal_it_says_how_to_go_on(
    annotate, tmp_path: Path, repo_root: Path, tiny_classifier: Path, capsys
):
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS * 20))
    folder = tmp_path / "stopped"
    words = [SCRIPT, str(tiny_classifier), str(texts), "--output_dir", str(folder), "--shard_size", "4"]
    process = start(repo_root, words)
    wait(lambda: list(folder.glob("annotations-*")), process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors.splitlines()[-1] == "stopped; run the same command again to go on"
    assert not list(folder.glob(".*.partial"))
    there = len(list(folder.glob("annotations-*")))
    assert 0 < there < 300
    annotate(folder, texts, shard_size=4, return_all=False)
    captured = capsys.readouterr()
    assert f"annotating: {1200 - 4 * there:,} texts in " in captured.out
    assert_same(folder, annotate(tmp_path / "undisturbed", texts, shard_size=4, return_all=False))


@pytest.mark.slow
def test_two_processes_finish_what_one_began(
    tmp_path: Path, corpus: Path, undisturbed: Path, run_script, tiny_classifier: Path, annotate
):
    folder = annotate(tmp_path / "run", corpus)
    for file in [*folder.glob("annotations-*[3-9].parquet"), folder / "summary.json", *folder.glob("rejects-*")]:
        file.unlink()
    (folder / ".annotations-00003.parquet.0123.partial").write_bytes(b"PAR1 cut off")
    (folder / ".rejects-00001.jsonl.4567.partial").write_bytes(b"{")
    printed = run_script(
        *("--config_file", "configuration/accelerate/cpu_2_processes.yaml"),
        *(SCRIPT, tiny_classifier, corpus, "--output_dir", folder, "--return_all", "--shard_size", "7"),
        launcher=(sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch"),
    )
    # Shards 3 to 9 are left, every other one is the first process's: 3, 5, 7 and 9, with 7, 7, 7 and 2 rows.
    assert "annotating, process 1 of 2: 23 texts in " in printed.stdout
    assert f"60 texts, 240 annotations: {folder}\n" in printed.stdout
    assert f"1 rows were rejected: {folder}/rejects-*.jsonl say why\n" in printed.stdout
    assert_same(folder, undisturbed)


def test_a_finished_run_is_left_alone(annotate, tmp_path: Path, corpus: Path, undisturbed: Path, monkeypatch):
    folder = annotate(tmp_path / "run", corpus)
    written = {file: file.stat().st_mtime_ns for file in folder.glob("annotations-*")}
    annotate(folder, corpus)
    assert {file: file.stat().st_mtime_ns for file in folder.glob("annotations-*")} == written
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"inputs": [{}]}', b"\xff", b"[" * 100_000])
def test_a_record_that_is_none_is_named(annotate, tmp_path: Path, corpus: Path, content: bytes):
    folder = annotate(tmp_path / "run", corpus / "a.parquet")
    (folder / "run.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"run.json is no record of a run .*: give another --output_dir"):
        annotate(folder, corpus / "a.parquet")


@pytest.mark.parametrize("keep", [0, 100])
def test_a_shard_that_was_damaged_is_named(annotate, tmp_path: Path, corpus: Path, keep: int):
    folder = annotate(tmp_path / "run", corpus / "a.parquet")
    shard = folder / "annotations-00000.parquet"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:keep])
    with pytest.raises(ValueError, match=r"annotations-00000.parquet is no shard of this run .*: remove it and run"):
        annotate(folder, corpus / "a.parquet")
    shard.unlink()
    annotate(folder, corpus / "a.parquet")
    assert shard.read_bytes() == whole


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_too_long_for_memory_are_rejected_and_the_rest_is_read(
    annotate, example, tmp_path: Path, monkeypatch, packed: bool, ending: str
):
    monkeypatch.setattr(example("corpus"), "LONGEST_LINE", 60)
    long = "LOCATION1 is dear" * 20
    jsonl = [json.dumps({"text": text}) for text in ("LOCATION1 is dear", long, "LOCATION2 is safe", long)]
    csv = ["text", "LOCATION1 is dear", long, f'"{long}', "LOCATION2 is safe", '"LOCATION2', 'is near"']
    suffix = ".gz" if packed else ""
    for name, lines in (("a.jsonl", jsonl), ("b.csv", csv)):
        content = ending.join(lines).encode()
        (tmp_path / f"{name}{suffix}").write_bytes(gzip.compress(content) if packed else content)
    folder = annotate(tmp_path / "run", tmp_path / f"a.jsonl{suffix}", tmp_path / f"b.csv{suffix}")
    assert sorted(
        set(zip(read(folder)["file"].map(lambda name: Path(name).name[0]), read(folder)["row"], strict=True))
    ) == [
        *(("a", row) for row in (1, 3)),
        *(("b", row) for row in (1, 4, 5)),
    ]
    reasons = {(Path(reject["file"]).name[0], reject["row"]): reject["reason"] for reject in rejected(folder)}
    assert list(reasons) == [("a", 2), ("a", 4), ("b", 2), ("b", 3)]
    assert reasons["a", 2] == "the line has more than 60 bytes"
    assert "field larger than field limit" in reasons["b", 3]


def test_texts_too_long_for_memory_are_rejected(annotate, tmp_path: Path):
    texts = ["LOCATION1 is dear", "LOCATION1 " + "x" * 2**20, "LOCATION1 is far"]
    pd.DataFrame({"text": texts}).to_parquet(tmp_path / "a.parquet")
    folder = annotate(tmp_path / "run", tmp_path / "a.parquet")
    assert set(read(folder)["row"]) == {1, 3}
    assert [reject["reason"] for reject in rejected(folder)] == [
        "the text has 1048586 characters: 1048576 are the most"
    ]


def test_what_is_neither_file_nor_folder(annotate, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"input=.*pipe.csv is neither a file nor a folder"):
        annotate(tmp_path / "run", tmp_path / "pipe.csv")


def test_another_run_is_refused(annotate, tmp_path: Path, corpus: Path, tiny_classifier: Path):
    for file in corpus.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    inputs = [tmp_path / "a.parquet", tmp_path / "b.jsonl"]
    folder = annotate(tmp_path / "run", *inputs)
    before = {file: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(
        ValueError, match=r"holds another run \(batch_size was 32 and is now 8\): give another --output"
    ):
        annotate(folder, *inputs, batch_size=8)
    with pytest.raises(ValueError, match=r"aspects was None and is now \['price'\]; return_all was True and is now F"):
        annotate(folder, *inputs, aspects=["price"], return_all=False)
    with pytest.raises(ValueError, match=r"input .*c.csv.gz was None and is now 'number 3"):
        annotate(folder, *inputs, tmp_path / "c.csv.gz")
    with pytest.raises(ValueError, match=r"a.parquet was 'number 1, .* is now 'number 2"):
        annotate(folder, *reversed(inputs))

    model = AutoModelForSequenceClassification.from_pretrained(tiny_classifier)
    with torch.no_grad():
        model.classifier.bias[0] += 1e-3
    model.save_pretrained(tmp_path / "other")
    AutoTokenizer.from_pretrained(tiny_classifier).save_pretrained(tmp_path / "other")
    with pytest.raises(ValueError, match=r"\(checkpoint_sha256 was '\w+' and is now '\w+'\)"):
        annotate(folder, *inputs, checkpoint=tmp_path / "other")

    # One letter of one text, at the same length.
    inputs[1].write_text(inputs[1].read_text().replace("safe", "same", 1))
    with pytest.raises(ValueError, match=r"input .*b.jsonl was 'number 2, \d+ bytes, sha256 \w+' and is now"):
        annotate(folder, *inputs)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before

    (folder / "run.json").unlink()
    with pytest.raises(ValueError, match=r"holds annotations without run.json"):
        annotate(folder, *inputs)


def test_a_full_disk_leaves_nothing_half_written(annotate, tmp_path: Path, corpus: Path, undisturbed: Path):
    written, write_table = [], pq.write_table

    def full(table, file, **options):
        written.append(table)
        if len(written) == 4:
            file.write(b"PAR1")
            raise OSError(errno.ENOSPC, "No space left on device")
        write_table(table, file, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        with pytest.raises(
            OSError, match=r"annotations-00003.parquet could not be written .*No space left.*free space"
        ):
            annotate(tmp_path / "run", corpus)
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        *(f"annotations-0000{number}.parquet" for number in range(3)),
        "run.json",
    ]
    assert_same(annotate(tmp_path / "run", corpus), undisturbed)


@pytest.mark.parametrize(
    "last", ['{"text": "LOCATION"}\n', '"LOCATION1 is far" or \n'.rjust(44), "\n" * 22], ids=["size", "fewer", "more"]
)
def test_a_file_that_changes_meanwhile_is_told(annotate, example, tmp_path: Path, monkeypatch, last: str):
    """It becomes a byte shorter; or is as long, with a row less or with more rows."""
    line = '{"text": "LOCATION1"}\n'  # 22 bytes
    file = tmp_path / "texts.jsonl"
    file.write_text(9 * line)
    module = example("annotate")
    scan = module.scan

    def scan_before_it_changes(name, columns):
        source = scan(name, columns)
        file.write_text((7 if len(last) == 44 else 8) * line + last)
        return source

    monkeypatch.setattr(module, "scan", scan_before_it_changes)
    with pytest.raises(ValueError, match=r"texts.jsonl has changed since it was counted: put back the file"):
        annotate(tmp_path / "run", file, shard_size=100)
    assert not list((tmp_path / "run").glob("annotations-*"))


@pytest.mark.parametrize("option", ["bf16", "int8"])
def test_computed_in_fewer_bits(annotate, tmp_path: Path, corpus: Path, undisturbed: Path, option: str):
    rows = read(annotate(tmp_path / "run", corpus, **{option: True}))
    exact = read(undisturbed)
    assert rows[["id", "target", "aspect"]].equals(exact[["id", "target", "aspect"]])
    difference = (rows["score"] - exact["score"]).abs().max()
    assert 0 < difference < 0.05
    with pytest.raises(ValueError, match=rf"\({option} was True and is now False\)"):
        annotate(tmp_path / "run", corpus)


def test_int8_needs_a_cpu(annotate, example, tmp_path: Path, corpus: Path, monkeypatch):
    on_a_gpu = SimpleNamespace(device=torch.device("cuda", 0))
    monkeypatch.setattr(example("annotate"), "PartialState", lambda **_: on_a_gpu)
    with pytest.raises(
        ValueError, match=r"int8 is for CPUs, and this is cuda:0: give --bf16, or `accelerate launch --"
    ):
        annotate(tmp_path / "run", corpus, int8=True)


def test_the_size_of_the_batches_changes_no_answer(annotate, tmp_path: Path, corpus: Path, undisturbed: Path):
    rows, expected = read(annotate(tmp_path / "run", corpus, batch_size=3)), read(undisturbed)
    assert rows["label"].equals(expected["label"])
    assert rows["score"].tolist() == pytest.approx(expected["score"].tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"a.csv": "id,review\n1,x\n"}, {}, "text_column=text is no column of .*a.csv, which has id, review"),
        ({"a.csv": "text,text\n1,x\n"}, {}, "text_column=text is the name of several columns of .*a.csv"),
        ({"a.csv": 'text,"cut\n'}, {}, "a.csv, line 1: malformed csv: unexpected end of data; correct the header"),
        ({"a.jsonl": '{"id": 1}\n{"review": "x"}\n'}, {}, "text_column=text is no column .* has id, review"),
        ({"a.jsonl": '{"text": "x"}\n'}, {"id_column": "key"}, "id_column=key is no column of .*a.jsonl"),
        ({"a.jsonl": "", "b.csv": "", "c.csv": "text\n"}, {}, "hold no rows: there is nothing to annotate"),
        ({"a.txt": "x"}, {}, "is a folder without a file that ends in .parquet"),
        ({"a.csv": "x" * 1000 + "\n1\n"}, {}, "text_column=text is no column of .*a.csv, which has x{80}...$"),
        ({"a.jsonl": '{"text": "x"}'}, {"aspects": ["noise"]}, r"aspects 'noise': unknown .*\['general', 'price'"),
        ({"a.jsonl": '{"text": "x"}'}, {"targets": ["Soho"]}, r"targets 'Soho': unknown .*\['LOCATION1'"),
        ({"a.jsonl": '{"text": "x"}'}, {"targets": ["Soho", "A=LOCATION1"]}, "give Soho=Soho, or names only"),
        ({"a.jsonl": '{"text": "x"}'}, {"abstain_below": 2.0}, "abstain_below=2.0: give a probability"),
        ({"a.jsonl": '{"text": "x"}'}, {"shard_size": 0}, "shard_size=0: give at least 1"),
        ({"a.jsonl": '{"text": "x"}'}, {"bf16": True, "int8": True}, "give one of them"),
        ({"a.parquet": "no parquet"}, {}, "a.parquet cannot be read to its end"),
        ({"a.csv.gz": "no gzip"}, {}, "a.csv.gz cannot be read to its end"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_errors(annotate, tmp_path: Path, content, options, message):
    (tmp_path / "in").mkdir()
    for name, text in content.items():
        (tmp_path / "in" / name).write_text(text)
    with pytest.raises((ValueError, OSError), match=message):
        annotate(tmp_path / "out", tmp_path / "in", **options)
    assert not list(tmp_path.glob("out/annotations-*"))


def test_columns_of_other_types(annotate, tmp_path: Path):
    pq.write_table(pa.table({"text": [1, 2], "id": [0.5, 1.5], "good": ["a", "b"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"text_column=text of .*a.parquet holds int64, no strings"):
        annotate(tmp_path / "out", tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"id_column=id of .*a.parquet holds double, neither strings nor whole"):
        annotate(tmp_path / "out", tmp_path / "a.parquet", text_column="good", id_column="id")


def test_a_cut_off_gz_file(annotate, tmp_path: Path):
    whole = gzip.compress(b"".join(b'{"text": "LOCATION1 %d"}\n' % number for number in range(1000)))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match=r"a.jsonl.gz cannot be read to its end: Compressed file ended before"):
        annotate(tmp_path / "out", tmp_path / "a.jsonl.gz")


def test_places_that_do_not_fit(annotate, tmp_path: Path, tiny_classifier: Path, tiny_bert: Path, monkeypatch):
    file = tmp_path / "in" / "a.jsonl"
    file.parent.mkdir()
    file.write_text('{"text": "LOCATION1"}')
    with pytest.raises(FileNotFoundError, match=r"input=.*b.csv does not exist"):
        annotate(tmp_path / "out", tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"inputs has the name '', which would be this folder: give '\.'"):
        annotate(tmp_path / "out", file, "")
    with pytest.raises(ValueError, match=r"output_dir has the name '', which would be this folder"):
        annotate("", file)
    with pytest.raises(ValueError, match=r"a.jsonl is given twice: its texts would count double; leave it out"):
        annotate(tmp_path / "out", file, file.parent)
    with pytest.raises(ValueError, match=r"output_dir=.*out and input=.*in hold one another"):
        annotate(file.parent / "out", file.parent)
    with pytest.raises(FileExistsError, match=r"output_dir=.* is a file: give a folder"):
        annotate(tiny_classifier / "config.json", file)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ValueError, match=r"input=.*a.txt: give a file that ends in .parquet, .csv"):
        annotate(tmp_path / "out", tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"checkpoint=.* is no aspect-sentiment model: .* names no aspects"):
        annotate(tmp_path / "out", file, checkpoint=tiny_bert)
    with pytest.raises(FileNotFoundError, match=r"checkpoint=no/such is no folder with a model, and the Hub did not"):
        annotate(tmp_path / "out", file, checkpoint="no/such")
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_data_are_told(annotate, tmp_path: Path, caplog):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "below" / "a.jsonl").write_text('{"text": "LOCATION1"}')
    (tmp_path / "in" / "README.md").write_text("x")
    (tmp_path / "in" / ".hidden.jsonl").write_text('{"text": "LOCATION1"}')
    annotate(tmp_path / "out", tmp_path / "in")
    assert "2 files are left out, hidden or no parquet, csv or jsonl, such as" in caplog.text
    assert len(read(tmp_path / "out")) == 4


def test_links_in_a_folder(annotate, tmp_path: Path, caplog):
    """To files they are read; that no loop of folders is followed, and that what leads nowhere is told."""
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    for place in (folder / "below", elsewhere):
        place.mkdir(parents=True)
        (place / "a.jsonl").write_text('{"text": "LOCATION1"}')
    (folder / "b.jsonl").symlink_to(elsewhere / "a.jsonl")
    for name, target in (("none.csv", "absent.csv"), ("self.csv", "self.csv"), ("up.csv", ".."), ("out", elsewhere)):
        (folder / "below" / name).symlink_to(target)
    annotate(tmp_path / "out", folder)
    assert "4 files are left out, hidden or no parquet, csv or jsonl, such as" in caplog.text
    assert sorted(set(read(tmp_path / "out")["file"])) == [str(folder / "b.jsonl"), str(folder / "below" / "a.jsonl")]
    (folder / "below" / "again.jsonl").symlink_to("a.jsonl")
    with pytest.raises(ValueError, match=r"again.jsonl is given twice: .* the link that leads to .*below/a.jsonl"):
        annotate(tmp_path / "out", folder)


def test_a_folder_that_cannot_be_searched_is_told(annotate, tmp_path: Path, monkeypatch):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "LOCATION1"}')

    def forbidden(path, scandir=os.scandir):
        if os.fspath(path).endswith("below"):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(OSError, match=r"below cannot be searched: Permission denied; set its permissions right"):
        annotate(tmp_path / "out", tmp_path / "in")


def test_a_name_that_is_not_utf8_is_told(annotate, tmp_path: Path):
    (tmp_path / "in").mkdir()
    name = os.fsdecode(bytes(tmp_path / "in") + b"/caf\xe9.jsonl")
    try:
        Path(name).write_text('{"text": "LOCATION1"}')
    except OSError:
        pytest.skip("this system has no such names")
    with pytest.raises(ValueError, match=r"caf\\udce9.jsonl' has a name that is not UTF-8: rename the file"):
        annotate(tmp_path / "out", tmp_path / "in")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_other_encodings_are_told(annotate, tmp_path: Path, name: str, encoding: str):
    content = ("text\nLOCATION1\n" if "csv" in name else '{"text": "LOCATION1"}\n').encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(ValueError, match=rf"{name} begins as UTF-16 or UTF-32, and is not UTF-8: save the file as"):
        annotate(tmp_path / "out", tmp_path / name)


def test_files_without_rows_are_told(annotate, tmp_path: Path, caplog):
    for name, content in (("a.csv", ""), ("b.csv", "text\n"), ("c.jsonl", '{"text": "LOCATION1"}')):
        (tmp_path / name).write_text(content)
    annotate(tmp_path / "out", *sorted(tmp_path.glob("*.*")))
    assert "2 files have no rows, such as" in caplog.text
    assert len(read(tmp_path / "out")) == 4


def test_the_limit_of_csv_is_as_it_was(annotate, tmp_path: Path):
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text("text\nLOCATION1\n")
    annotate(tmp_path / "out", tmp_path / "a.csv")
    assert csv.field_size_limit() == before < 1 << 20


def test_progress_without_a_terminal(annotate, example, tmp_path: Path, corpus: Path, caplog, monkeypatch):
    monkeypatch.setattr(example("annotate"), "LOG_EVERY_S", 0)
    annotate(tmp_path / "run", corpus)
    assert "annotating: 61 of 61 texts, " in caplog.text
    assert " texts/s, 0:00:00 left" in caplog.text
