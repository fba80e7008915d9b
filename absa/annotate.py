"""Annotates a corpus: what each text says about each target and aspect, as parquet. See examples/annotate.py."""

import hashlib
import json
import logging
import math
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, parse_flag_from_env
from transformers import (
    AutoConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from absa.annotation_files import (
    SUMMARY,
    annotations_file,
    check_same_run,
    missing_shards,
    remove_partial,
    schema,
    summarise,
    write_json,
    write_shard,
)
from absa.annotation_progress import Progress
from absa.corpus import Columns, Reject, Row, Shards, Source, read_shards, scan, shown
from absa.corpus_files import find_files
from absa.models import load_classifier, loading
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.predict import looked_for, named_targets
from modeling_qacg_bert import AspectSentimentPipeline, Contexts
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning
from modeling_qacg_bert.processing_qacg_bert import is_readable

logger = logging.getLogger("annotate")

LONGEST_SCAN = timedelta(days=1)  # that the other processes wait for the first
# Arguments that the rows depend on, beside the checkpoint and the inputs.
RECORDED = (
    *("text_column", "id_column", "targets", "aspects", "split_sentences", "return_all", "abstain_below"),
    *("shard_size", "batch_size", "bf16"),
)


@dataclass
class AnnotateArguments:
    """Which model, which texts, which questions, and how."""

    checkpoint: str = field(
        metadata={"help": "Folder or Hub id of a classifier that examples/run_absa.py has trained."}
    )
    inputs: list[str] = field(
        metadata={
            "help": "Files (.parquet, .csv, .jsonl, the last two also as .gz), folders of them, or Hub data sets."
        }
    )
    output_dir: str = field(metadata={"help": "Folder for the annotations; it holds one run."})
    split: str = field(default="train", metadata={"help": "Split of Hub data sets (default: train)."})
    config_name: str | None = field(
        default=None, metadata={"help": "Configuration of Hub data sets (default: their own)."}
    )
    revision: str | None = field(
        default=None, metadata={"help": "Branch, tag or commit of Hub data sets (default: main)."}
    )
    text_column: str = field(default="text", metadata={"help": "Name of the texts' column (default: text)."})
    id_column: str | None = field(
        default=None, metadata={"help": "Column of names for the texts (default: they are numbered from 1)."}
    )
    targets: list[str] | None = field(
        default=None,
        metadata={"help": "Ask about these targets only, or own names for them: Camden=LOCATION1 (default: all)."},
    )
    aspects: list[str] | None = field(default=None, metadata={"help": "Ask about these aspects only (default: all)."})
    split_sentences: bool = field(
        default=False,
        metadata={"help": "Ask about the sentences of a text apart, with their places in it (default: whole texts)."},
    )
    return_all: bool = field(
        default=False, metadata={"help": "Write rows with the label none too (default: what the texts speak of)."}
    )
    abstain_below: float = field(
        default=0.0, metadata={"help": "Rows with a lower score have no label and are always written (default: 0)."}
    )
    shard_size: int = field(
        default=5000, metadata={"help": "Texts of a shard, which is what a stop may lose (default: 5000)."}
    )
    batch_size: int = field(default=32, metadata={"help": "Questions in a forward pass (default: 32)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)  # a bool once the device is known


class Work(NamedTuple):
    """What there is to do: the files in their order, and the shards that are not complete."""

    run: dict[str, Any]
    sources: list[Source]
    pending: list[int]


class Part(NamedTuple):
    """What a process has to do of one file.

    Attributes:
        shards: numbers of the shards within the file, from 0.
        first_shard, first_row: numbers of the file's first in the whole corpus, from 0.
        texts: rows of the shards.
    """

    source: Source
    shards: frozenset[int]
    first_shard: int
    first_row: int
    texts: int


def check(arguments: AnnotateArguments):
    """What can be known to be wrong before anything is read.

    Raises:
        ValueError, FileExistsError: naming the argument.
    """
    for option, places in (("inputs", arguments.inputs), ("output_dir", [arguments.output_dir])):
        if not all(places):
            raise ValueError(f"{option} has the name '', which would be this folder: give '.' if it is meant")
    for name in ("shard_size", "batch_size"):
        if getattr(arguments, name) < 1:
            raise ValueError(f"{name}={getattr(arguments, name)}: give at least 1")
    output_dir = Path(arguments.output_dir)
    if output_dir.exists() and not output_dir.is_dir():
        raise FileExistsError(f"output_dir={output_dir} is a file: give a folder")
    for name in arguments.inputs:
        path, output = Path(name).resolve(), output_dir.resolve()
        if path.exists() and (path.is_relative_to(output) or output.is_relative_to(path)):
            raise ValueError(f"output_dir={output_dir} and input={name} hold one another: give a folder apart")


def load_checkpoint(checkpoint: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A trained classifier and its tokenizer.

    Raises:
        FileNotFoundError: if there is no such checkpoint.
        ValueError: if it is none of a trained aspect-sentiment model.
    """
    with loading("checkpoint", checkpoint):
        config = AutoConfig.from_pretrained(checkpoint)
        try:
            Contexts.from_config(config)
        except ValueError as error:
            raise ValueError(f"checkpoint={checkpoint} is no aspect-sentiment model: {error}") from error
    return load_classifier("checkpoint", checkpoint, dtype=torch.float32)


def digest(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """SHA-256 of what a checkpoint answers by: configuration, tokenizer and weights, wherever they are stored."""
    config = {
        name: value
        for name, value in model.config.to_dict().items()
        if name not in ("_name_or_path", "transformers_version")
    }
    described = [config, tokenizer.backend_tokenizer.to_str(), tokenizer.model_max_length]
    sha256 = hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode())
    for name, tensor in sorted(model.state_dict().items()):
        sha256.update(name.encode())
        sha256.update(tensor.contiguous().numpy().data)
    return sha256.hexdigest()


def plan(arguments: AnnotateArguments, columns: Columns, checkpoint_sha256: str) -> Work:
    """Looks through the corpus, and for what is done of it.

    Raises:
        OSError, ValueError: if a file cannot be read or lacks a column, or the folder holds another run.
    """
    files, left_out = find_files(arguments.inputs, arguments.split, arguments.config_name, arguments.revision)
    if left_out:
        logger.warning(
            "%d files are left out, hidden or no parquet, csv or jsonl, such as %s", len(left_out), left_out[0]
        )
    sources = [scan(name, columns) for name in files]
    without_rows = [source.name for source in sources if not source.rows]
    if len(without_rows) == len(sources):
        raise ValueError(f"inputs={' '.join(arguments.inputs)} hold no rows: there is nothing to annotate")
    if without_rows:
        logger.warning("%d files have no rows, such as %s", len(without_rows), without_rows[0])
    run = {name: getattr(arguments, name) for name in RECORDED}
    run |= {"checkpoint_sha256": checkpoint_sha256, "inputs": sources}
    output_dir = Path(arguments.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    check_same_run(output_dir, run)
    shards = count_shards(sources, arguments.shard_size)
    pending = missing_shards(output_dir, shards)
    if len(pending) < shards:
        logger.warning("going on: %d of %d shards are there", shards - len(pending), shards)
    return Work(run, sources, pending)


def agreed(state: PartialState, look: Callable[[], Work]) -> Work:
    """What the first process finds, so that all agree on what is left, whatever has been written meanwhile.

    Where it raises an error, the others end without a word of their own.
    """
    work = None
    try:
        if state.is_main_process:
            work = look()
    finally:
        (work,) = broadcast_object_list([work])
    if work is None:
        sys.exit(1)
    return work


def count_shards(sources: list[Source], shard_size: int) -> int:
    return sum(math.ceil(source.rows / shard_size) for source in sources)


def parts(sources: list[Source], shard_size: int, chosen: set[int]) -> Iterator[Part]:
    """The files that have some of the chosen shards."""
    first_shard = first_row = 0
    for source in sources:
        number = count_shards([source], shard_size)
        own = frozenset(shard for shard in range(number) if first_shard + shard in chosen)
        if own:
            texts = sum(min(shard_size, source.rows - shard * shard_size) for shard in own)
            yield Part(source, own, first_shard, first_row, texts)
        first_shard += number
        first_row += source.rows


def checked(row: Row | Reject, pipe: AspectSentimentPipeline) -> Row | Reject:
    """A row that can be asked about, or why it cannot."""
    if isinstance(row, Reject):
        return row
    if not is_readable(row.text):
        return Reject(row.row, row.line, f"the text has nothing to read: {shown(row.text)}")
    try:
        pipe.targets_in(row.text)
    except ValueError as error:
        return Reject(row.row, row.line, str(error))
    return row


def annotated(
    pipe: AspectSentimentPipeline, part: Part, rows: list[Row], split_sentences: bool, update: Callable[[], None]
) -> dict[str, list]:
    """The columns of a shard's annotations."""
    names = schema(pipe.model.config.id2label.values(), split_sentences).names
    columns: dict[str, list] = {name: [] for name in names}
    for row, answers in zip(rows, pipe(row.text for row in rows), strict=True):
        identity = str(part.first_row + row.row) if row.id is None else row.id
        for answer in answers:
            add(columns, {"id": identity, "file": part.source.name, "row": row.row}, answer)
        update()
    return columns


def add(columns: dict[str, list], place: dict[str, Any], answer: dict[str, Any]):
    """Adds an answer of the pipeline to the columns."""
    probabilities = {f"probability_{label}": value for label, value in answer["probabilities"].items()}
    values = place | answer | probabilities
    for name, column in columns.items():
        column.append(values[name])


@contextmanager
def without_words_of_the_pipeline() -> Iterator[None]:
    """It would show a progress bar for each shard, and warn of each whose texts name no target."""
    before = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoTargetWarning)
            yield
    finally:
        if before:
            transformers.utils.logging.enable_progress_bar()


@contextmanager
def stopped_with_a_line() -> Iterator[None]:
    """Makes SIGTERM and Ctrl-C end the program with what to do next."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        first = not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0
        sys.exit("stopped; run the same command again to go on" if first else 1)
    finally:
        signal.signal(signal.SIGTERM, before)


@stopped_with_a_line()
@without_words_of_the_pipeline()
def main(arguments: AnnotateArguments):
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    check(arguments)
    # accelerate takes several processes on CPUs only where it is told that they are to be there.
    on_cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()
    state = PartialState(cpu=on_cpu, timeout=LONGEST_SCAN)
    arguments.bf16 = use_bfloat16(arguments.bf16, state.device.type)
    model, tokenizer = load_checkpoint(arguments.checkpoint)
    checkpoint_sha256 = digest(model, tokenizer)
    targets = named_targets(arguments.targets)
    pipe = AspectSentimentPipeline(
        model=model,
        tokenizer=tokenizer,
        device=state.device,
        batch_size=arguments.batch_size,
        targets=targets,
        aspects=arguments.aspects,
        split_sentences=arguments.split_sentences,
        return_all=arguments.return_all,
        abstain_below=arguments.abstain_below,
    )
    columns = Columns(arguments.text_column, arguments.id_column)

    work = agreed(state, lambda: plan(arguments, columns, checkpoint_sha256))
    output_dir = Path(arguments.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    if work.run["checkpoint_sha256"] != checkpoint_sha256:
        raise ValueError(f"checkpoint={arguments.checkpoint} is another one on the first process's machine")
    if state.is_local_main_process and not state.is_main_process:  # a machine may have a disk of its own
        check_same_run(output_dir, work.run)

    mine = {
        shard
        for shard in work.pending[state.process_index :: state.num_processes]
        if not annotations_file(output_dir, shard).exists()
    }
    to_do = list(parts(work.sources, arguments.shard_size, mine))
    progress = Progress(sum(part.texts for part in to_do), state)
    for part in to_do:
        for shard, rows in read_shards(part.source, columns, Shards(arguments.shard_size, part.shards)):
            rows = [checked(row, pipe) for row in rows]
            rejects = [row for row in rows if isinstance(row, Reject)]
            texts = [row for row in rows if isinstance(row, Row)]
            with torch.autocast(state.device.type, torch.bfloat16, enabled=arguments.bf16):
                answers = annotated(pipe, part, texts, arguments.split_sentences, progress.update)
            progress.update(len(rejects))
            without_target = sum(not pipe.targets_in(row.text) for row in texts)
            write_shard(
                output_dir, part.first_shard + shard, part.source.name, answers, rejects, len(rows), without_target
            )
    seconds = progress.close()
    if state.is_main_process and progress.total:
        rate = progress.total / seconds
        print(f"{progress.name}: {progress.total:,} texts in {seconds:.2f} s, {rate:.1f} texts/s")

    # Whoever finishes last finds all shards there; of two at once, both write the same.
    shards = count_shards(work.sources, arguments.shard_size)
    if not missing_shards(output_dir, shards):
        summary = summarise(output_dir, shards)
        write_json(output_dir / SUMMARY, summary)
        remove_partial(output_dir)
        texts, without_target = summary["texts"], summary["texts_without_target"]
        of_them = f" ({without_target:,} of them name no target)" if without_target else ""
        print(f"{texts:,} texts{of_them}, {summary['annotations']:,} annotations: {output_dir}")
        if texts and without_target == texts:
            logger.warning("no text names one of %s", looked_for(targets, model.config.targets))
        if summary["rejects"]:
            print(f"{summary['rejects']:,} rows were rejected: {output_dir}/rejects-*.jsonl say why")
    state.destroy_process_group()
