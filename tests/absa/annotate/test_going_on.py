"""examples/annotate.py killed, stopped, started twice or out of space: it ends with the rows of one run."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa import annotate as module

SCRIPT = "examples/annotate.py"


@pytest.mark.slow
def test_killed_twenty_times_it_ends_with_the_same_rows(
    numbered_texts, read, assert_same, annotate, tmp_path: Path, run_script, tiny_classifier: Path
):
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork, by which the test starts twenty processes in seconds")
    texts = tmp_path / "texts.jsonl"
    lines = [
        json.dumps({"text": text} if number % 5 else {"no": text}) for number, text in enumerate(numbered_texts * 4)
    ]
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
    numbered_texts, assert_same, annotate, tmp_path: Path, repo_root: Path, run_script, tiny_classifier: Path
):
    """As a user runs it: twenty processes of their own, killed at any time from their start on."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in numbered_texts * 5))
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


@pytest.mark.slow
def test_stopped_by_a_signal_it_says_how_to_go_on(
    numbered_texts, assert_same, annotate, tmp_path: Path, repo_root: Path, tiny_classifier: Path, capsys
):
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": text}) for text in numbered_texts * 20))
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
    assert_same, tmp_path: Path, corpus: Path, undisturbed: Path, run_script, tiny_classifier: Path, annotate
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
    assert f"60 texts (15 of them name no target), 240 annotations: {folder}\n" in printed.stdout
    assert f"1 rows were rejected: {folder}/rejects-*.jsonl say why\n" in printed.stdout
    assert_same(folder, undisturbed)


def test_a_finished_run_is_left_alone(
    assert_same, annotate, tmp_path: Path, corpus: Path, undisturbed: Path, monkeypatch
):
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


def test_a_full_disk_leaves_nothing_half_written(
    assert_same, annotate, tmp_path: Path, corpus: Path, undisturbed: Path
):
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
def test_a_file_that_changes_meanwhile_is_told(annotate, tmp_path: Path, monkeypatch, last: str):
    """It becomes a byte shorter; or is as long, with a row less or with more rows."""
    line = '{"text": "LOCATION1"}\n'  # 22 bytes
    file = tmp_path / "texts.jsonl"
    file.write_text(9 * line)
    scan = module.scan

    def scan_before_it_changes(name, columns):
        source = scan(name, columns)
        file.write_text((7 if len(last) == 44 else 8) * line + last)
        return source

    monkeypatch.setattr(module, "scan", scan_before_it_changes)
    with pytest.raises(ValueError, match=r"texts.jsonl has changed since it was counted: put back the file"):
        annotate(tmp_path / "run", file, shard_size=100)
    assert not list((tmp_path / "run").glob("annotations-*"))
