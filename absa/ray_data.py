"""What Ray Data runs on the machines of a cluster: chunks of a corpus are read, answered and written."""

import hashlib
import io
import logging
import os
import posixpath
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported, which would report to its makers
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import torch
from pyarrow import fs
from ray.data.block import Block, BlockAccessor, BlockMetadata
from ray.data.checkpoint import CheckpointConfig
from ray.data.datasource import BlockBasedFileDatasink, Datasource, ReadTask

from absa.opinions import to_table
from absa.precision import BFloat16, use_bfloat16
from absa.predict import load
from absa.texts import REJECTS, TextFile, read_chunks

if TYPE_CHECKING:
    from absa.annotate import AnnotateArguments

CHUNK = "chunk"  # the column by which Ray Data's checkpoint knows what is done
LIGHT = 0.01  # processors of the tasks that read and write, beside workers that may have all others
OBJECT_STORE = 512 * 1024 * 1024  # bytes for what waits between the stages, where Ray starts on this machine


class Counts(NamedTuple):
    """Texts answered, opinions in them, rows rejected, and why the first of these was."""

    texts: int = 0
    opinions: int = 0
    rejects: int = 0
    reason: str = ""

    def plus(self, other: "Counts") -> "Counts":
        *numbers, _ = (mine + others for mine, others in zip(self, other, strict=True))
        return Counts(*numbers, self.reason or other.reason)


@ray.remote(num_cpus=0)
class Tally:
    """What has been written so far, for the driver to show."""

    def __init__(self):
        self.counts = Counts()

    def add(self, counts: Counts):
        self.counts = self.counts.plus(counts)

    def read(self) -> Counts:
        return self.counts


class Texts(Datasource):
    """Files of texts. Each is a task, which gives the file's chunks, a row each: see `absa.texts.CHUNKS`."""

    def __init__(self, files: list[TextFile], text_column: str, id_column: str | None, rows_per_commit: int):
        super().__init__()
        self.files, self.arguments = files, (text_column, id_column, rows_per_commit)

    def estimate_inmemory_data_size(self) -> int:
        return sum(file.size for file in self.files)

    def get_read_tasks(self, parallelism: int, per_task_row_limit=None, data_context=None) -> list[ReadTask]:
        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(partial(read_chunks, file, *self.arguments), metadata) for file in self.files]


class Annotator:
    """A worker. It loads the model once, and makes of a chunk its answers: `Counts`, and the bytes of two files."""

    def __init__(
        self, model: str, parameters: dict[str, Any], keep_text: bool, threads: int, on_gpu: bool, bf16: BFloat16
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
        try:
            said = self.predictor(texts, text_ids=ids)
        except ValueError:  # of one of them, such as a text that uses the model's own name of a target for another
            said = []
            for text, id_, row in zip(texts, ids, chunk["rows"], strict=True):
                try:
                    said.append(self.predictor(text, text_ids=[id_]))
                except ValueError as error:
                    said.append([])
                    rejects.append({"id": id_, "file": chunk["file"], "row": row, "reason": str(error)})
        opinions = to_table(chain.from_iterable(said))
        if self.keep_text:
            kept = [text for text, of_text in zip(texts, said, strict=True) for _ in of_text]
            opinions = opinions.append_column("text", pa.array(kept, pa.large_string()))
        reason = "{file}, row {row}: {reason}".format(**rejects[0]) if rejects else ""
        counts = Counts(len(texts) + len(chunk["rejects"]) - len(rejects), len(opinions), len(rejects), reason)
        files = {"opinions_file": as_parquet(opinions)}
        files["rejects_file"] = as_parquet(pa.Table.from_pylist(rejects, schema=REJECTS)) if rejects else b""
        return {CHUNK: chunk[CHUNK], **counts._asdict(), **files}


def as_parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


class Opinions(BlockBasedFileDatasink):
    """Two folders of parquet files: opinions, under the names by which Ray Data commits or removes them, and rejects.

    The rejects' files have the names of their chunks, so that a chunk that is written again replaces its own.
    """

    def __init__(self, path: str, rejects_path: str, filesystem: fs.FileSystem, tally):
        super().__init__(path, filesystem=filesystem, file_format="parquet")
        self.rejects_path, self.tally, self.written = rejects_path, tally, Counts()

    def write(self, blocks: Iterable[Block], ctx) -> Counts:
        blocks = list(blocks)
        super().write(blocks, ctx)
        (row,) = chain.from_iterable(BlockAccessor.for_block(block).to_arrow().to_pylist() for block in blocks)
        counts = Counts(*(row[name] for name in Counts._fields))
        self.tally.add.remote(counts)
        return counts

    def write_block_to_file(self, block: BlockAccessor, file: pa.NativeFile):
        (row,) = block.to_arrow().to_pylist()
        if row["rejects_file"]:
            name = hashlib.sha256(row[CHUNK].encode()).hexdigest()[:32]
            with self.filesystem.open_output_stream(posixpath.join(self.rejects_path, f"{name}.parquet")) as rejects:
                rejects.write(row["rejects_file"])
        file.write(row["opinions_file"])

    def on_write_complete(self, write_result):
        for counts in write_result.write_returns:
            self.written = self.written.plus(counts)


@contextmanager
def started(address: str | None) -> Iterator[None]:
    """Ray of a cluster; else on this machine, with a processor more than there are, for Ray's own light work."""
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    address = address or os.environ.get("RAY_ADDRESS")
    if ray.is_initialized():
        yield
        return
    if address:
        ray.init(address, **quiet)
    else:
        cpus = torch.get_num_threads() + 1
        ray.init("local", num_cpus=cpus, object_store_memory=OBJECT_STORE, include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def room(arguments: "AnnotateArguments") -> tuple[int, int, float]:
    """Workers, processors of each and GPUs of each: as given, or as the cluster has room for."""
    has = ray.cluster_resources()
    largest = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
    cpus = arguments.cpus_per_worker or max(1, min(4, int(largest) - 1))
    gpus = arguments.gpus_per_worker
    if gpus is None:
        gpus = 1.0 if has.get("GPU") else 0.0
    for name, wanted, there in (("cpus", cpus, largest), ("gpus", gpus, has.get("GPU", 0))):
        if wanted > there:
            raise ValueError(f"{name}_per_worker={wanted}: no machine of the cluster has more than {there:g}")
    most = has["GPU"] / gpus if gpus else (has["CPU"] - 1) / cpus
    return arguments.workers or max(1, int(most)), cpus, gpus


def run(arguments: "AnnotateArguments", files: list[TextFile], filesystem: fs.FileSystem, output_dir: str) -> Counts:
    """Annotates what the checkpoint does not have yet.

    Raises:
        ValueError, OSError: what a task of the project has raised, such as for a damaged file.
    """
    with started(arguments.address):
        workers, cpus, gpus = room(arguments)
        context = ray.data.DataContext.get_current().copy()
        context.target_max_block_size = 1  # byte: each chunk is a block of its own, which is written and committed
        context.enable_progress_bars = context.print_on_execution_start = False
        context.checkpoint_config = CheckpointConfig(
            CHUNK, f"{output_dir}-checkpoint/done", override_filesystem=filesystem, delete_checkpoint_on_success=False
        )
        with ray.data.DataContext.current(context):
            tally = Tally.remote()
            sink = Opinions(output_dir, f"{output_dir}-rejects", filesystem, tally)
            texts = Texts(files, arguments.text_column, arguments.id_column, arguments.rows_per_commit)
            chunks = ray.data.read_datasource(texts, override_num_blocks=len(files), num_cpus=LIGHT)
            model = (arguments.checkpoint, arguments.parameters(), arguments.keep_text, cpus, bool(gpus))
            answers = chunks.map_batches(
                Annotator,
                fn_constructor_args=(*model, arguments.bf16),
                batch_size=None,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(size=workers),
                num_cpus=cpus,
                num_gpus=gpus,
            )
            start = time.monotonic()
            print(f"{workers} workers, {cpus} threads{f' and {gpus:g} GPUs' if gpus else ''} each")
            with shown(tally):
                try:
                    answers.write_datasink(sink, ray_remote_args={"num_cpus": LIGHT})
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
    seconds = time.monotonic() - start
    print(f"{sink.written.texts:,} texts in {seconds:.1f} s, {sink.written.opinions:,} opinions: {output_dir}")
    return sink.written


@contextmanager
def shown(tally) -> Iterator[None]:
    """Prints a line when something has been written, at most one a second."""
    stopped = Event()

    def watch():
        before, then = Counts(), time.monotonic()
        while not stopped.wait(1):
            counts, now = ray.get(tally.read.remote()), time.monotonic()
            if counts == before:
                continue
            rate = (counts.texts - before.texts) / (now - then)
            rejects = f", {counts.rejects:,} rejects" if counts.rejects else ""
            first = f" ({counts.reason})" if counts.rejects and not before.rejects else ""
            print(f"{counts.texts:,} texts, {rate:.1f} texts/s{rejects}{first}", flush=True)
            before, then = counts, now

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
