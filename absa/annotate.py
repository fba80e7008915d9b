"""Annotates a corpus, on one machine, a Ray cluster or Spark: what its texts say, as parquet."""

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import torch
from pyarrow import fs

from absa.opinions import Opinion, to_table
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.predict import Predictor, load, looked_for, named_targets
from absa.text_files import REJECTS, filesystem_of, find_files, read, write

if TYPE_CHECKING:
    import pandas as pd

OF_THE_PIPELINE = ("aspects", "split_sentences", "return_all", "abstain_below", "decoding")
# Arguments that the rows depend on, beside the model and the inputs.
RECORDED = ("text_column", "id_column", "keep_text", "targets", *OF_THE_PIPELINE, "rows_per_commit", "bf16")
OBJECT_STORE = 512 * 1024 * 1024  # bytes for what waits between the stages, where Ray starts on this machine
SPARK_SCHEMA = (
    "text_id string, target string, target_start long, target_end long, aspect string, opinion string, "
    "opinion_start long, opinion_end long, label string, score double, probabilities map<string, double>"
)


@dataclass
class AnnotateArguments:
    """Which model, which texts, which questions (taggers and most generators find the targets), and how."""

    checkpoint: str = field(
        metadata={"help": "Folder or Hub id of a trained model, which every machine of the cluster can reach."}
    )
    inputs: list[str] = field(
        metadata={
            "help": "Files (.parquet, .csv, .jsonl, the last two also as .gz) and folders of them, also as addresses "
            "(s3://, gs://, hdfs://), or Hub data sets."
        }
    )
    output_dir: str = field(
        metadata={"help": "Folder or address for the opinions; OUTPUT_DIR-rejects and -run.json lie beside it."}
    )
    classifier: str | None = field(
        default=None,
        metadata={
            "help": "Folder or Hub id of a classifier that is asked about any words: it judges the targets that the "
            "checkpoint finds (default: the checkpoint does)."
        },
    )
    split: str = field(default="train", metadata={"help": "Split of Hub data sets (default: train)."})
    config_name: str | None = field(
        default=None, metadata={"help": "Configuration of Hub data sets (default: their own)."}
    )
    revision: str | None = field(
        default=None, metadata={"help": "Branch, tag or commit of Hub data sets (default: main)."}
    )
    text_column: str = field(default="text", metadata={"help": "Name of the texts' column (default: text)."})
    id_column: str | None = field(
        default=None, metadata={"help": "Column of names for the texts (default: id, if there is one, else FILE:ROW)."}
    )
    keep_text: bool = field(default=False, metadata={"help": "Write the text with each opinion (default: false)."})
    targets: list[str] | None = field(
        default=None,
        metadata={"help": "Ask about these targets only, or own names for them: Camden=LOCATION1 (default: all)."},
    )
    aspects: list[str] | None = field(default=None, metadata={"help": "Ask about these aspects only (default: all)."})
    split_sentences: bool = field(
        default=False, metadata={"help": "Ask about the sentences of a text apart (default: whole texts)."}
    )
    return_all: bool = field(
        default=False, metadata={"help": "Write rows with the label none too (default: what the texts speak of)."}
    )
    abstain_below: float = field(
        default=0.0,
        metadata={"help": "Below this probability rows have no label, and are written (default: 0)."},
    )
    decoding: str | None = field(
        default=None,
        metadata={"choices": ["constrained", "greedy"], "help": "Of a tagger's tags (default: constrained)."},
    )
    rows_per_commit: int = field(
        default=2000, metadata={"help": "Rows of the input for each file of the output (default: 2000)."}
    )
    batch_size: int = field(
        default=32, metadata={"help": "Questions, or texts of a tagger or generator, in a forward pass (default: 32)."}
    )
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)
    address: str | None = field(
        default=None, metadata={"help": "Ray cluster (default: $RAY_ADDRESS, else Ray starts on this machine)."}
    )
    workers: int | None = field(
        default=None, metadata={"help": "Processes with a model each (default: as many as the cluster has room for)."}
    )
    cpus_per_worker: int | None = field(
        default=None, metadata={"help": "Threads of a worker (default: 4, or all of a smaller machine)."}
    )
    gpus_per_worker: float | None = field(
        default=None, metadata={"help": "GPUs of a worker, such as 0.5 (default: 1 if the cluster has some, else 0)."}
    )

    def __post_init__(self):
        for name in ("rows_per_commit", "batch_size", "workers", "cpus_per_worker"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name}={value}: give at least 1")

    def load(self, device: str) -> Predictor:
        # Each family's pipeline has parameters of its own, so that only those are handed on that the user has given.
        parameters = {name: getattr(self, name) for name in OF_THE_PIPELINE}
        parameters = {name: value for name, value in parameters.items() if value != getattr(type(self), name)}
        targets = named_targets(self.targets)
        parameters |= {"device": device, "batch_size": self.batch_size, "targets": targets}
        return load(self.checkpoint, self.classifier, **parameters)


def digest(predictor: Predictor) -> str:
    """SHA-256 of the configuration and weights of a model, or of two, wherever they are stored."""
    sha256 = hashlib.sha256()
    for model in predictor.models:
        config = model.config.to_dict()
        for name in ("_name_or_path", "transformers_version"):
            config.pop(name, None)
        sha256.update(json.dumps(config, sort_keys=True, default=str).encode())
        for name, tensor in sorted(model.state_dict().items()):
            sha256.update(name.encode())
            sha256.update(tensor.contiguous().view(torch.uint8).numpy().data)
    return sha256.hexdigest()


def check_same_run(filesystem: fs.FileSystem, output_dir: str, run: dict[str, Any]):
    """Records a run, or finds that it goes on with the recorded one.

    Raises:
        ValueError: if the folder holds another run or other files, or an input has changed since.
    """
    record = f"{output_dir}-run.json"
    if filesystem.get_file_info(record).is_file:
        with filesystem.open_input_stream(record) as file:
            before = json.loads(file.read())
        for name in run.keys() - {"inputs"}:
            if before.get(name) != run[name]:  # an earlier release had fewer arguments
                raise ValueError(
                    f"output_dir={output_dir} holds a run with {name}={before.get(name)}, not {run[name]}: give the "
                    "same, or another output_dir"
                )
        for name in before["inputs"].keys() & run["inputs"].keys():
            if before["inputs"][name] != run["inputs"][name]:
                raise ValueError(
                    f"{name} has {run['inputs'][name]:,} bytes, and had {before['inputs'][name]:,} when the run in "
                    f"output_dir={output_dir} began: put new rows into a file of their own, or give another output_dir"
                )
        run = run | {"inputs": before["inputs"] | run["inputs"]}
    elif filesystem.get_file_info(fs.FileSelector(output_dir, allow_not_found=True)):
        raise ValueError(f"output_dir={output_dir} holds other files: give a folder of its own")
    for folder in (output_dir, f"{output_dir}-rejects"):
        filesystem.create_dir(folder, recursive=True)
    with filesystem.open_output_stream(record) as file:
        file.write(json.dumps(run, indent=1).encode())


class Annotator:
    """A worker: loads the model once, and makes of a chunk of texts its two files, and counts."""

    def __init__(
        self, arguments: AnnotateArguments, threads: int, on_gpu: bool, filesystem: fs.FileSystem, output_dir: str
    ):
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads))  # of the tokenizer
        torch.set_num_threads(threads)
        self.device = torch.accelerator.current_accelerator().type if on_gpu else "cpu"
        self.bf16 = use_bfloat16(arguments.bf16, self.device)
        self.predictor, self.keep_text = arguments.load(self.device), arguments.keep_text
        self.output = filesystem, output_dir

    def __call__(self, chunks: pa.Table) -> pa.Table:
        return pa.Table.from_pylist([self.annotate(chunk) for chunk in chunks.to_pylist()])

    def annotate(self, chunk: dict[str, Any]) -> dict[str, Any]:
        texts, rejects = chunk["texts"], chunk["rejects"]
        with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
            said, refused = answers(self.predictor, texts, chunk["ids"])
        for number, reason in refused.items():
            place = {"id": chunk["ids"][number], "file": chunk["file"], "row": chunk["rows"][number]}
            rejects.append({**place, "reason": reason})
        opinions = to_table(chain.from_iterable(said))
        if self.keep_text:
            kept = [text for text, of_text in zip(texts, said, strict=True) for _ in of_text]
            opinions = opinions.append_column("text", pa.array(kept, pa.large_string()))
        write(chunk["name"], opinions, pa.Table.from_pylist(rejects, schema=REJECTS), *self.output)
        return {
            "counts": [len(texts) - len(refused), len(opinions), len(rejects)],
            "reason": "{file}, row {row}: {reason}".format(**rejects[0]) if rejects else "",
        }


def answers(predictor: Predictor, texts: list[str], ids: list[str]) -> tuple[list[list[Opinion]], dict[int, str]]:
    """What texts say, and why some, by their number, cannot be asked: for a name that is the model's own, say."""
    try:
        return predictor(texts, text_ids=ids), {}
    except ValueError:
        said, refused = [], {}
    for number, (text, id_) in enumerate(zip(texts, ids, strict=True)):
        try:
            said.append(predictor(text, text_ids=[id_]))
        except ValueError as error:
            said.append([])
            refused[number] = str(error)
    return said, refused


@contextmanager
def ray_started(address: str | None) -> Iterator[None]:
    """Ray of a cluster, or on this machine, where it neither reports to its makers nor talks to the user."""
    import ray

    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        ray.init(address, **quiet)
    else:
        # A machine that sleeps, or is busy for a while, is not taken for a dead one.
        os.environ.setdefault("RAY_health_check_failure_threshold", "100")
        # By default workers give way to all other processes, those of Ray too, and answer some 5 % fewer texts.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init(
            "local",
            num_cpus=torch.get_num_threads(),
            object_store_memory=OBJECT_STORE,
            include_dashboard=False,
            **quiet,
        )
    try:
        yield
    finally:
        ray.shutdown()


def room(arguments: AnnotateArguments) -> tuple[int, int, float]:
    """Workers, processors of each and GPUs of each: as given, or as the cluster has room for.

    Raises:
        ValueError: if no machine has room for a worker, for which Ray would wait.
    """
    import ray

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    machines = [(machine.get("CPU", 0), machine.get("GPU", 0)) for machine in machines]
    most_cpus, most_gpus = (max(of_machines) for of_machines in zip(*machines, strict=True))
    gpus = min(1, most_gpus) if arguments.gpus_per_worker is None else arguments.gpus_per_worker
    # The workers that a machine's GPUs are enough for share its processors; without GPUs a worker may have all.
    slots = [has_gpus // gpus if gpus else 1 for _, has_gpus in machines]
    shares = [int(has_cpus // slot) for (has_cpus, _), slot in zip(machines, slots, strict=True) if slot]
    cpus = arguments.cpus_per_worker or max(1, min(4, max(shares, default=0)))
    for name, wanted, there in (("cpus", cpus, most_cpus), ("gpus", gpus, most_gpus)):
        if wanted > there:
            raise ValueError(f"{name}_per_worker={wanted:g}: no machine of the cluster has more than {there:g}")
    fit = [
        min(has_cpus // cpus, slot if gpus else has_cpus) for (has_cpus, _), slot in zip(machines, slots, strict=True)
    ]
    return arguments.workers or max(1, int(sum(fit))), cpus, gpus


def annotate(arguments: AnnotateArguments):
    """Writes what the texts say, from where an earlier call was stopped, and prints how far it is.

    Raises:
        ValueError, OSError: naming the argument or the file.
    """
    try:
        import ray.data
    except ImportError as error:
        raise ValueError(f"annotation runs on Ray Data: pip install '.[annotate]' ({error})") from error
    filesystem, output_dir = filesystem_of(arguments.output_dir)
    files = find_files(arguments.inputs, arguments.split, arguments.config_name, arguments.revision)
    predictor = arguments.load("cpu")
    known = getattr(predictor.models[0].config, "targets", None)
    run = {name: getattr(arguments, name) for name in RECORDED} | {"model": digest(predictor)}
    del predictor  # the workers have their own
    check_same_run(filesystem, output_dir, run | {"inputs": {file.name: file.size for file in files}})
    done = frozenset(info.base_name for info in filesystem.get_file_info(fs.FileSelector(output_dir)))

    context = ray.data.DataContext.get_current().copy()
    context.target_max_block_size = 1  # byte: each chunk is a block of its own, which is written when it is answered
    context.enable_progress_bars = context.print_on_execution_start = False
    with ray_started(arguments.address), ray.data.DataContext.current(context):
        workers, cpus, gpus = room(arguments)
        of_files = (files, arguments.text_column, arguments.id_column, arguments.rows_per_commit, done)
        whole = {"batch_size": None, "batch_format": "pyarrow"}
        # Reading takes no processor from the workers, who may have all there are.
        readers = ray.data.TaskPoolStrategy(size=min(workers + 1, len(files)))
        written = (
            ray.data.from_items(list(range(len(files))), override_num_blocks=len(files))
            .map_batches(read, fn_args=of_files, num_cpus=0, compute=readers, **whole)
            .map_batches(
                Annotator,
                fn_constructor_args=(arguments, cpus, bool(gpus), filesystem, output_dir),
                compute=ray.data.ActorPoolStrategy(size=workers),
                num_cpus=cpus,
                num_gpus=gpus,
                **whole,
            )
        )
        on_gpus = f" and {gpus:g} GPUs" if gpus else ""
        print(f"{workers} workers with {cpus} threads{on_gpus}; {len(done):,} files are there already", flush=True)
        try:
            texts, opinions, rejects, reason = shown(written.iter_batches(**whole))
        except ray.exceptions.RayTaskError as error:  # its cause is what was raised
            raise error.cause from None
    print(f"{texts:,} texts, {opinions:,} opinions: {arguments.output_dir}")
    if rejects:
        print(f"{rejects:,} rows were rejected: {arguments.output_dir}-rejects says why")
    if texts and not opinions and known:
        print(f"does no text name {looked_for(named_targets(arguments.targets), known)}?")
    if rejects and not texts and not done:
        raise ValueError(f"no row of the inputs is a text; {reason}")


def shown(batches: Iterator[pa.Table]) -> tuple[int, int, int, str]:
    """Texts, opinions and rejects of all batches, and why the first reject is one; a line as they come."""
    totals, first_reason, first, last = [0, 0, 0], "", None, 0.0
    for batch in batches:
        for row in batch.to_pylist():
            totals = [total + count for total, count in zip(totals, row["counts"], strict=True)]
            if row["reason"] and not first_reason:
                first_reason = row["reason"]
                print(f"rejected: {first_reason}", flush=True)
        now = time.monotonic()
        first = first or (totals[0], now)  # the rate leaves out how long the workers took to start
        if now - last >= 1:
            rate = f", {(totals[0] - first[0]) / (now - first[1]):.1f} texts/s" if now > first[1] else ""
            rejects = f", {totals[2]:,} rejects" if totals[2] else ""
            print(f"{totals[0]:,} texts{rate}{rejects}", flush=True)
            last = now
    return *totals, first_reason


@cache
def _loaded(model: str, parameters: str) -> Predictor:
    return load(model, **json.loads(parameters))


def spark_udf(
    model: str, text_column: str = "text", id_column: str = "id", **parameters
) -> Callable[[Iterator["pd.DataFrame"]], Iterator["pd.DataFrame"]]:
    """What `DataFrame.mapInPandas` of PySpark takes, with `SPARK_SCHEMA`: from rows of texts to rows of opinions.

        opinions = reviews.mapInPandas(spark_udf("outputs/quickstart/seed-42"), SPARK_SCHEMA)

    A row whose text is no string or cannot be asked has no opinions. A Python worker of Spark loads the model once.

    Args:
        model: folder or Hub id of a trained model, which every machine of the cluster can reach.
        text_column, id_column: columns of the texts and of what the opinions name them by.
        parameters: of `absa.load`; `targets={"Camden": "LOCATION1"}` or `classifier="USER/CLASSIFIER"`, for example.
    """
    described = json.dumps(parameters)

    def opinions_of(frames: Iterator["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
        predictor = _loaded(model, described)
        for frame in frames:
            frame = frame[[isinstance(text, str) for text in frame[text_column]]]
            said, _ = answers(predictor, list(frame[text_column]), [str(name) for name in frame[id_column]])
            opinions = to_table(chain.from_iterable(said))
            yield opinions.to_pandas(maps_as_pydicts="strict", integer_object_nulls=True)

    return opinions_of
