"""What the builders share, on a data set of three lines: sources, downloads, cache, splits; and what each pins."""

import functools
import hashlib
import http.server
import threading
from typing import ClassVar

import datasets
import pytest
from datasets import DatasetDict, Features

from datasets_scripts import MAMS, SemEval2014, SentiHood
from datasets_scripts.aspect_polarity import aspect_polarity
from datasets_scripts.builder import TEXT, RowsBuilder, row_features
from datasets_scripts.source_files import read_lines


class Toy(RowsBuilder):
    BASE_URL = "https://toy.invalid"
    FILES: ClassVar = {"train": "train.txt", "test": "test.txt"}
    SHA256_OF: ClassVar = {}
    FEATURES: ClassVar = {
        "rows": row_features(["food", "price"], ["none", "good"]),
        "raw": Features({"id": TEXT, "text": TEXT}),
    }

    @staticmethod
    def read(file):
        return [{"id": str(number), "text": line} for number, line in read_lines(file)]

    @staticmethod
    def rows(sentence):
        for aspect in ("food", "price"):
            yield {
                **sentence,
                "target": "",
                "aspect": aspect,
                "label": "good" if aspect in sentence["text"] else "none",
            }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.txt").write_text("good food\n\ngood price\n")
    (tmp_path / "source" / "test.txt").write_text("Good  food\n")
    return tmp_path / "source"


@pytest.fixture
def load(tmp_path):
    def build(**arguments) -> DatasetDict:
        builder = Toy(cache_dir=str(tmp_path / "cache"), **arguments)
        builder.download_and_prepare()
        return builder.as_dataset()

    return build


def test_rows_and_raw_sentences(load, folder):
    splits = load(data_dir=folder)
    assert {split: rows.features for split, rows in splits.items()} == dict.fromkeys(Toy.FILES, Toy.FEATURES["rows"])
    rows = [(row["id"], row["text"], row["aspect"], row["label"]) for row in splits["train"]]
    assert rows[:2] == [("1", "good food", 0, 1), ("1", "good food", 1, 0)]
    assert rows[2:] == [("3", "good price", 0, 0), ("3", "good price", 1, 1)]
    assert load(data_dir=folder, config_name="raw")["test"].to_list() == [{"id": "1", "text": "Good  food"}]


def test_cached_rows_are_those_of_the_files(load, folder, monkeypatch):
    first = load(data_dir=folder)
    with monkeypatch.context() as patch:
        patch.setattr(Toy, "read", None)
        assert load(data_dir=folder)["train"].to_list() == first["train"].to_list()
    files = {split: folder / name for split, name in Toy.FILES.items()}
    assert len(load(data_files={"train": files["test"], "test": files["train"]})["train"]) == 2
    files["train"].write_text("bad food\n")
    assert load(data_dir=folder)["train"]["text"][:] == ["bad food"] * 2


def test_deduplicate(load, folder):
    splits = load(data_dir=folder, deduplicate=True)
    assert {split: set(rows["text"]) for split, rows in splits.items()} == {
        "train": {"good price"},
        "test": {"Good  food"},
    }
    with pytest.raises(ValueError, match="deduplicate='no': give True or False"):
        load(data_dir=folder, deduplicate="no")


def test_sources_that_are_not_there(load, folder):
    with pytest.raises(ValueError, match=r"train.txt has no public source; get it and pass its folder as data_dir"):
        load()
    (folder / "test.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"data_dir='.*' lacks test.txt; get what is missing from https://toy"):
        load(data_dir=folder)


@pytest.fixture
def served(folder, monkeypatch):
    """The folder over HTTP on this machine, as the toy's pinned source."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)  # this machine is there, offline or not
        monkeypatch.setattr(Toy, "BASE_URL", f"http://127.0.0.1:{server.server_port}")
        digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in Toy.FILES.values()}
        monkeypatch.setattr(Toy, "SHA256_OF", digests)
        yield folder
        server.shutdown()


def test_download_is_verified_and_a_changed_file_fetched_anew(load, served):
    good = (served / "test.txt").read_bytes()
    (served / "test.txt").write_bytes(b"Bad food\n")
    actual, expected = hashlib.sha256(b"Bad food\n").hexdigest(), Toy.SHA256_OF["test.txt"]
    with pytest.raises(ValueError, match=rf"/test.txt has SHA-256 {actual}, expected {expected}"):
        load()
    (served / "test.txt").write_bytes(good)
    assert {split: len(rows) for split, rows in load().items()} == {"train": 4, "test": 2}


@pytest.mark.parametrize("offline", [False, True])
def test_file_that_cannot_be_fetched(load, served, monkeypatch, offline):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", offline)
    (served / "train.txt").unlink()
    with pytest.raises(ConnectionError, match=r"/train.txt could not be downloaded \(.*\); .* as data_dir"):
        load()


@pytest.mark.parametrize(("builder", "name"), [(SentiHood, "sentihood"), (SemEval2014, "semeval2014"), (MAMS, "mams")])
def test_sources_are_pinned(shared_dir, builder, name):
    assert len(builder.BASE_URL.split("/")[5]) == 40  # a commit
    for file, digest in builder.SHA256_OF.items():
        assert hashlib.sha256((shared_dir / "data" / name / file).read_bytes()).hexdigest() == digest


def test_files_of_the_papers_splits_are_pinned(shared_dir):
    for file, digest in aspect_polarity.SHA256.items():
        assert hashlib.sha256((shared_dir / "data" / "semeval2014" / file).read_bytes()).hexdigest() == digest
    assert {file for source in aspect_polarity.SOURCES.values() for file in source.files.values()} == {
        *aspect_polarity.SHA256
    }
