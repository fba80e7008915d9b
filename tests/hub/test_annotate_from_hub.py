"""examples/annotate.py reads data sets of the Hub, at the commit that it found first."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def parquet(texts: list[str]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), file, row_group_size=2)
    return file.getvalue()


@pytest.fixture
def annotate(repo_root: Path, hub_environment, tiny_classifier: Path, tmp_path: Path):
    def run(name: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [
                sys.executable,
                "examples/annotate.py",
                tiny_classifier,
                name,
                "--output_dir",
                tmp_path / "run",
                *options,
            ],
            cwd=repo_root,
            env=hub_environment,
            capture_output=True,
            text=True,
        )

    return run


@pytest.mark.slow
def test_a_data_set_of_the_hub(annotate, connect, repo_id, tmp_path: Path):
    api, name = connect(), repo_id("dataset")
    api.create_repo(name, repo_type="dataset")
    files = {
        "data/train-00000.parquet": parquet([f"LOCATION1 is safe {number}" for number in range(5)]),
        "data/train-00001.parquet": parquet([f"LOCATION2 is dear {number}" for number in range(3)]),
        "data/test-00000.parquet": parquet(["LOCATION1 is not read"]),
    }
    for path, content in files.items():
        api.upload_file(path_or_fileobj=content, path_in_repo=path, repo_id=name, repo_type="dataset")
    commit = api.repo_info(name, repo_type="dataset").sha

    finished = annotate(name, "--return_all", "--shard_size", "3")
    assert finished.returncode == 0, finished.stderr[-3000:]
    rows = pd.concat([pd.read_parquet(file) for file in sorted(tmp_path.glob("run/annotations-*.parquet"))])
    assert len(rows) == 8 * 4
    assert rows["file"].unique().tolist() == [
        f"hf://datasets/{name}@{commit}/data/train-0000{number}.parquet" for number in range(2)
    ]
    assert rows["id"].unique().tolist() == [str(number) for number in range(1, 9)]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["texts"] == 8

    api.upload_file(
        path_or_fileobj=parquet(["LOCATION1 is new"]),
        path_in_repo="data/train-00001.parquet",
        repo_id=name,
        repo_type="dataset",
    )
    last = (tmp_path / "run" / "annotations-00002.parquet").read_bytes()
    (tmp_path / "run" / "annotations-00002.parquet").unlink()
    again = annotate(name, "--return_all", "--shard_size", "3", "--revision", commit)
    assert again.returncode == 0, again.stderr[-3000:]
    assert "going on: 2 of 3 shards are there" in again.stderr
    assert (tmp_path / "run" / "annotations-00002.parquet").read_bytes() == last


def test_what_the_hub_does_not_have(connect, repo_id, repo_root: Path, hub_environment):
    absent, name = repo_id("dataset"), repo_id("dataset")
    api = connect()
    api.create_repo(name, repo_type="dataset")
    api.upload_file(
        path_or_fileobj=parquet(["x"]), path_in_repo="data/train.parquet", repo_id=name, repo_type="dataset"
    )
    script = f"""
from absa.corpus import find_files
for name, split in (({absent!r}, "train"), ({name!r}, "trian")):
    try:
        find_files([name], split, None, None)
    except (FileNotFoundError, ValueError) as error:
        print(type(error).__name__, error)
"""
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=repo_root, env=hub_environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    unknown, no_split = finished.stdout.splitlines()
    assert unknown.startswith(
        f"FileNotFoundError input={absent} is no file or folder, and the Hub did not give it: check the name"
    )
    assert no_split == f"ValueError split=trian: {name} has train"
