"""What annotating a corpus leaves behind: a parquet file a shard, its rejects, the record of the run, the summary.

Every file is there whole or not at all, whatever happens and however many processes write it. The annotations of a
shard come last: where they are, the shard is complete.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from absa.corpus import Reject
from datasets_scripts.source_files import shorten

RECORD = "run.json"
SUMMARY = "summary.json"
PARTIAL = ".partial"
COUNTS = b"annotated"  # key of the counts in a parquet file's metadata


def annotations_file(output_dir: Path, shard: int) -> Path:
    return output_dir / f"annotations-{shard:05}.parquet"


def rejects_file(output_dir: Path, shard: int) -> Path:
    return output_dir / f"rejects-{shard:05}.jsonl"


def schema(labels: Iterable[str], split_sentences: bool = False) -> pa.Schema:
    """Columns of the annotations, one row a (text, target, aspect).

    id: of the text: the user's, or its number in the whole corpus, from 1.
    file, row: where the text stands; rows count from 1, and the header of a csv file is none.
    target, aspect: the context; the target is the user's own name where there is one, "" without targets.
    label: the most probable label, or null for an abstention, or where the target was not read (see truncated).
    score: the probability of the most probable label.
    present: P(the text speaks of the aspect).
    probability_<label>: of each label of the model, in the order of their ids.
    truncated: whether the end of the text was too long for the model and not read.
    start, end: with `split_sentences`, the characters of the text that the row is about, [start, end).
    """
    columns = {"id": pa.string(), "file": pa.string(), "row": pa.int64()}
    columns |= {"target": pa.string(), "aspect": pa.string(), "label": pa.string()}
    columns |= {"score": pa.float32(), "present": pa.float32()}
    columns |= {f"probability_{label}": pa.float32() for label in labels}
    columns["truncated"] = pa.bool_()
    columns |= {"start": pa.int64(), "end": pa.int64()} if split_sentences else {}
    return pa.schema(columns.items())


@contextmanager
def whole_or_not_at_all(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which has its name only when it is complete and on the disk.

    No two processes write one temporary file. What killed ones have left of the same file is removed.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{PARTIAL}")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        try:
            os.replace(temporary, path)
        except FileNotFoundError:
            if not path.exists():  # else another process was first with the same, and has cleared up
                raise
    except OSError as error:
        raise OSError(
            f"{path} could not be written ({error}); nothing is half written: free space or set the folder right, "
            "and run the same command again to go on"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # the new name reaches the disk with its folder, where the system can say so
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    remove_partial(path.parent, path.name)


def remove_partial(output_dir: Path, name: str = ""):
    """Removes what killed processes have left of a file that is complete, or of all of them."""
    for left in output_dir.glob(f".{name or '*'}.*{PARTIAL}"):
        left.unlink(missing_ok=True)


def write_json(path: Path, value: Mapping):
    with whole_or_not_at_all(path) as file:
        file.write((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_shard(
    output_dir: Path,
    shard: int,
    file_name: str,
    rows: Mapping[str, list],
    rejects: list[Reject],
    of: int,
    without_target: int,
):
    """Writes what there is to say of a shard.

    Args:
        shard: its number.
        file_name: the file that its texts are from.
        rows: the columns of `schema`, labels included.
        rejects: the rows that are no texts.
        of: the rows that were read.
        without_target: the texts among them that name no target.
    """
    labels = [name.removeprefix("probability_") for name in rows if name.startswith("probability_")]
    counts = json.dumps({"rows_read": of, "rejects": len(rejects), "without_target": without_target}).encode()
    table = pa.table(rows, schema=schema(labels, "start" in rows).with_metadata({COUNTS: counts}))
    if rejects:
        with whole_or_not_at_all(rejects_file(output_dir, shard)) as file:
            for reject in rejects:
                line = json.dumps({"file": file_name, **reject._asdict()}, ensure_ascii=False)
                file.write(line.encode(errors="backslashreplace") + b"\n")
    with whole_or_not_at_all(annotations_file(output_dir, shard)) as file:
        pq.write_table(table, file, compression="zstd")


def missing_shards(output_dir: Path, shards: int) -> list[int]:
    """Numbers of the shards that are not complete."""
    there = {path.name for path in output_dir.glob("annotations-*.parquet")}
    return [shard for shard in range(shards) if annotations_file(output_dir, shard).name not in there]


def summarise(output_dir: Path, shards: int) -> dict[str, Any]:
    """Counts over all shards: what is read of them, however they came to be."""
    read = rejects = without_target = rows = 0
    counts: dict[tuple, int] = {}
    for shard in range(shards):
        file = annotations_file(output_dir, shard)
        try:
            with pq.ParquetFile(file) as parquet:
                of_shard = json.loads(parquet.schema_arrow.metadata[COUNTS])
                table = parquet.read(["target", "aspect", "label"])
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{file} is no shard of this run ({type(error).__name__}: {error}): remove it and run again"
            ) from error
        read += of_shard["rows_read"]
        rejects += of_shard["rejects"]
        without_target += of_shard["without_target"]
        rows += table.num_rows
        for group in table.group_by(table.column_names).aggregate([([], "count_all")]).to_pylist():
            key = group["target"], group["aspect"], group["label"]
            counts[key] = counts.get(key, 0) + group["count_all"]
    return {
        "texts": read - rejects,
        "texts_without_target": without_target,
        "rejects": rejects,
        "annotations": rows,
        "labels": [
            {"target": target, "aspect": aspect, "label": label, "annotations": counts[target, aspect, label]}
            for target, aspect, label in sorted(counts, key=lambda key: (key[0], key[1], key[2] or ""))
        ],
    }


def check_same_run(output_dir: Path, run: Mapping[str, Any]):
    """A folder holds one run: with other options or inputs, it would mix two.

    Args:
        run: what the rows depend on; "inputs" are the sources.
    Raises:
        ValueError: naming what differs.
    """
    described = json.loads(json.dumps({**run, "inputs": [asdict(source) for source in run["inputs"]]}))
    record = output_dir / RECORD
    if not record.is_file():
        if any(output_dir.glob("annotations-*.parquet")):
            raise ValueError(f"output_dir={output_dir} holds annotations without {RECORD}: give another --output_dir")
        write_json(record, described)
        return
    try:
        before = by_name(json.loads(record.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{record} is no record of a run ({type(error).__name__}: {error}): give another --output_dir, or remove "
            "this one's files to begin anew"
        ) from error
    now = by_name(described)
    differences = [
        f"{name} was {shorten(repr(before.get(name)), 200)} and is now {shorten(repr(now.get(name)), 200)}"
        for name in [*before, *(name for name in now if name not in before)]
        if before.get(name) != now.get(name)
    ]
    if differences:
        more = f" and {len(differences) - 5} more" if len(differences) > 5 else ""
        raise ValueError(
            f"output_dir={output_dir} holds another run ({'; '.join(differences[:5])}{more}): give another "
            "--output_dir, or the same arguments and inputs to go on"
        )


def by_name(run: Mapping[str, Any]) -> dict[str, Any]:
    """The record with a name for each input, and its place among them."""
    inputs = {
        f"input {source['name']}": f"number {number}, {source['size']} bytes, sha256 {source['sha256']}"
        for number, source in enumerate(run["inputs"], 1)
    }
    return {name: value for name, value in run.items() if name != "inputs"} | inputs
