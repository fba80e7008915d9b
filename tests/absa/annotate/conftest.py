"""A corpus of sixty texts, runs of examples/annotate.py on it, and what they wrote."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from absa import annotate as module

WORDS = ["safe", "dangerous", "cheap", "dear", "near", "far", "nice", "dull"]


@pytest.fixture(scope="session")
def numbered_texts() -> list[str]:
    """Of different lengths, so that batches by length mix them; every fourth names no target."""
    targets = ("LOCATION1", "LOCATION2", "LOCATION1 and LOCATION2", "nowhere")
    return [
        f"{'but nice and ' * (number % 5)}{targets[number % 4]} is {WORDS[number % 8]} {number}"
        for number in range(60)
    ]


@pytest.fixture(scope="session")
def corpus(numbered_texts: list[str], tmp_path_factory) -> Path:
    """The texts in three files, ten, twenty and thirty of them, with a bad row at the end of the second."""
    folder = tmp_path_factory.mktemp("corpus")
    table = pa.table({"number": list(range(10)), "text": numbered_texts[:10]})
    pq.write_table(table, folder / "a.parquet", row_group_size=4)
    lines = [json.dumps({"text": text}) for text in numbered_texts[10:30]]
    (folder / "b.jsonl").write_text("\n".join([*lines, '{"text": "cut o']))
    with gzip.open(folder / "c.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([("text", "number"), *((text, n) for n, text in enumerate(numbered_texts[30:]))])
    return folder


@pytest.fixture(scope="session")
def annotate(tiny_classifier: Path) -> Callable[..., Path]:
    """Runs the script's main function here and returns the folder it wrote to."""

    def run(output_dir: Path, *inputs: Path | str, checkpoint: Path | str = tiny_classifier, **options) -> Path:
        arguments = {"return_all": True, "shard_size": 7, "bf16": "false", **options}
        module.main(module.AnnotateArguments(str(checkpoint), [*map(str, inputs)], str(output_dir), **arguments))
        return output_dir

    return run


@pytest.fixture(scope="session")
def undisturbed(annotate, corpus: Path, tmp_path_factory) -> Path:
    return annotate(tmp_path_factory.mktemp("undisturbed") / "run", corpus)


def annotations(folder: Path) -> pd.DataFrame:
    files = sorted(folder.glob("annotations-*.parquet"))
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def rejects(folder: Path) -> list[dict]:
    files = sorted(folder.glob("rejects-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture(scope="session")
def read() -> Callable[[Path], pd.DataFrame]:
    """All rows of a run."""
    return annotations


@pytest.fixture(scope="session")
def rejected() -> Callable[[Path], list[dict]]:
    """All rejects of a run."""
    return rejects


@pytest.fixture(scope="session")
def assert_same() -> Callable[[Path, Path], None]:
    """The same rows, bit by bit and in the same files, the same rejects and counts, and nothing else."""

    def check(folder: Path, expected: Path):
        pd.testing.assert_frame_equal(annotations(folder), annotations(expected), check_exact=True)
        assert rejects(folder) == rejects(expected)
        assert sorted(file.name for file in folder.iterdir()) == sorted(file.name for file in expected.iterdir())
        assert (folder / "summary.json").read_text() == (expected / "summary.json").read_text()

    return check
