"""What Ray Data runs on the machines of a cluster: chunks of a corpus are read, answered and written."""

import io
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported, which would report to its makers
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import torch
from pyarrow import fs
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from absa.opinions import to_table
from absa.precision import BFloat16, use_bfloat16
from absa.predict import load
from absa.texts import REJECTS, TextFile, read_chunks

if TYPE_CHECKING:
    from absa.annotate import AnnotateArguments

LIGHT = 0.01  # processors of the tasks that read and write, beside workers that may have all others
OBJECT_STORE = 512 * 1024 * 1024  # bytes for what waits between the stages, where Ray starts on this machine


@dataclass
class Counts:
    """Texts answered, opinions in them, rows rejected, and why the first of these was."""

    texts: int = 0
    opinions: int = 0
    rejects: int = 0
    reason: str = ""

    def add(self, texts: int, opinions: int, rejects: int, reason: str):
        self.texts += texts
        self.opinions += opinions
        self.rejects += rejects
        self.reason = self.reason or reason


class Texts(Datasource):
    """Files of texts. Each is a task, which gives the file's chunks, a row each: see `absa.texts.CHUNKS`."""

    def __init__(self, files: list[TextFile], *arguments):
        super().__init__()
        self.files, self.arguments = files, arguments

    def estimate_inmemory_data_size(self) -> int:
        return sum(file.size for file in self.files)

    def get_read_tasks(self, parallelism: int, per_task_row_limit=None, data_context=None) -> list[ReadTask]:
        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(partial(read_chunks, file, *self.arguments), metadata) for file in self.files]


class Annotator:
    """A worker: loads the model once, and makes of a chunk its `Counts` and the bytes of its two files."""

    def __init__(
        self, model: str, parameters: dict[str, Any], keep_text: bool, bf16: BFloat16, threads: int, on_gpu: bool
    ):
        torch.set_num_threads(threads)
        self.device = torch.accelerator.current_accelerator().type if on_gpu else "cpu"
        self.bf16 = use_bfloat16(bf16, self.device)
        self.predictor = load(model, device=self.device, **parameters)
        self.keep_text = keep_text

    def __call__(self, chunks: pa.Table) -> pa.Table:
        with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
            return pa.Table.from_pylist([self.answers(chunk) for chunk in chunks.to_pylist()])

    def answers(self, chunk: dict[str, Any]) -> dict[str, Any]:
        texts, ids, rejects = chunk["texts"], chunk["ids"], chunk["rejects"]
        refused = 0
        try:
            said = self.predictor(texts, text_ids=ids)
        except ValueError:  # of one of them, such as a text that uses the model's own name of a target for another
            said = []
            for text, id_, row in zip(texts, ids, chunk["rows"], strict=True):
                try:
                    said.append(self.predictor(text, text_ids=[id_]))
                except ValueError as error:
                    said.append([])
                    refused += 1
                    rejects.append({"id": id_, "file": chunk["file"], "row": row, "reason": str(error)})
        opinions = to_table(chain.from_iterable(said))
        if self.keep_text:
            kept = [text for text, of_text in zip(texts, said, strict=True) for _ in of_text]
            opinions = opinions.append_column("text", pa.array(kept, pa.large_string()))
        return {
            "chunk": chunk["chunk"],
            "counts": [len(texts) - refused, len(opinions), len(rejects)],
            "reason": "{file}, row {row}: {reason}".format(**rejects[0]) if rejects else "",
            "opinions": as_parquet(opinions),
            "rejects": as_parquet(pa.Table.from_pylist(rejects, schema=REJECTS)) if rejects else None,
        }


def as_parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def write(answered: pa.Table, filesystem: fs.FileSystem, output_dir: str) -> pa.Table:
    """Writes the files of chunks under their names, rejects before opinions, which say that the chunk is done.

    Written twice, by a task that was lost and is run again or by a worker that outlives its run, they replace
    themselves.
    """
    for row in answered.to_pylist():
        for folder, content in ((f"{output_dir}-rejects", row["rejects"]), (output_dir, row["opinions"])):
            if content is not None:
                partial_file = f"{folder}/.{row['chunk']}"
                with filesystem.open_output_stream(partial_file) as file:
                    file.write(content)
                filesystem.move(partial_file, f"{folder}/{row['chunk']}")
    return answered.select(["counts", "reason"])


@contextmanager
def started(address: str | None) -> Iterator[None]:
    """Ray of a cluster, or on this machine."""
    if ray.is_initialized():
        yield
        return
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        ray.init(address, **quiet)
    else:
        cpus = torch.get_num_threads() + 1  # for workers, and one for what is light
        ray.init("local", num_cpus=cpus, object_store_memory=OBJECT_STORE, include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def room(arguments: "AnnotateArguments") -> tuple[int, int, float]:
    """Workers, processors of each and GPUs of each: as given, or as the cluster has room for.

    Raises:
        ValueError: if no machine has room for one, which Ray would wait for.
    """
    has = ray.cluster_resources()
    largest = {
        kind: max(node["Resources"].get(kind, 0) for node in ray.nodes() if node["Alive"]) for kind in ("CPU", "GPU")
    }
    cpus = arguments.cpus_per_worker or max(1, min(4, int(largest["CPU"]) - 1))
    gpus = arguments.gpus_per_worker
    if gpus is None:
        gpus = min(1.0, largest["GPU"])
    for name, wanted, there in (("cpus", cpus, largest["CPU"]), ("gpus", gpus, largest["GPU"])):
        if wanted > there:
            raise ValueError(f"{name}_per_worker={wanted}: no machine of the cluster has more than {there:g}")
    most = has["GPU"] / gpus if gpus else (has["CPU"] - 1) / cpus
    return arguments.workers or max(1, int(most)), cpus, gpus


def run(arguments: "AnnotateArguments", files: list[TextFile], filesystem: fs.FileSystem, output_dir: str) -> Counts:
    """Annotates the chunks that have no file yet, and prints a line when some are written.

    Raises:
        ValueError, OSError: what a task of the project has raised, such as for a damaged file.
    """
    done = frozenset(info.base_name for info in filesystem.get_file_info(fs.FileSelector(output_dir)))
    counts, context = Counts(), ray.data.DataContext.get_current().copy()
    context.target_max_block_size = 1  # byte: each chunk is a block of its own, which is written when it is answered
    context.enable_progress_bars = context.print_on_execution_start = False
    with started(arguments.address), ray.data.DataContext.current(context):
        workers, cpus, gpus = room(arguments)
        texts = Texts(files, arguments.text_column, arguments.id_column, arguments.rows_per_commit, done)
        how = {"batch_size": None, "batch_format": "pyarrow"}
        written = (
            ray.data.read_datasource(texts, override_num_blocks=len(files), num_cpus=LIGHT)
            .map_batches(
                Annotator,
                fn_constructor_args=(
                    *(arguments.checkpoint, arguments.parameters(), arguments.keep_text, arguments.bf16),
                    *(cpus, bool(gpus)),
                ),
                compute=ray.data.ActorPoolStrategy(size=workers),
                num_cpus=cpus,
                num_gpus=gpus,
                **how,
            )
            .map_batches(write, fn_args=(filesystem, output_dir), num_cpus=LIGHT, **how)
        )
        on_gpus = f" and {gpus:g} GPUs" if gpus else ""
        print(f"{workers} workers of {cpus} threads{on_gpus}; {len(done):,} files are there", flush=True)
        start = then = time.monotonic()
        try:
            for batch in written.iter_batches(**how):
                texts_before = counts.texts
                for row in batch.to_pylist():
                    counts.add(*row["counts"], row["reason"])
                now = time.monotonic()
                rate = (counts.texts - texts_before) / (now - then)
                rejects = f", {counts.rejects:,} rejects" if counts.rejects else ""
                print(f"{counts.texts:,} texts, {rate:.1f} texts/s{rejects}", flush=True)
                then = now
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
    seconds = time.monotonic() - start
    print(f"{counts.texts:,} texts in {seconds:.1f} s, {counts.opinions:,} opinions: {arguments.output_dir}")
    return counts
