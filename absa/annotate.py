"""Annotates a corpus, on one machine, a Ray cluster or Spark: what its texts say, as parquet."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from pyarrow import fs

from absa.opinions import to_table
from absa.precision import BFLOAT16_METADATA, BFloat16
from absa.predict import Predictor, load, looked_for, named_targets
from absa.texts import filesystem_of, find_files

if TYPE_CHECKING:
    import pandas as pd

# Arguments that the rows depend on, beside the model and the inputs.
RECORDED = ("text_column", "id_column", "keep_text", "targets", "aspects", "split_sentences", "return_all")
RECORDED += ("abstain_below", "rows_per_commit", "bf16")
SPARK_SCHEMA = (
    "text_id string, target string, target_start long, target_end long, aspect string, opinion string, "
    "opinion_start long, opinion_end long, label string, score double, probabilities map<string, double>"
)


@dataclass
class AnnotateArguments:
    """Which model, which texts, which questions, and how."""

    checkpoint: str = field(
        metadata={"help": "Folder or Hub id of a trained model; workers on other machines have to reach it, too."}
    )
    inputs: list[str] = field(
        metadata={
            "help": "Files (.parquet, .csv, .jsonl, the last two also as .gz), folders of them, both also as s3://, "
            "gs:// and hdfs:// addresses, or Hub data sets."
        }
    )
    output_dir: str = field(
        metadata={"help": "Folder for the opinions; OUTPUT_DIR-rejects and OUTPUT_DIR-run.json lie beside it."}
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
        default=None,
        metadata={"help": "Column of names for the texts (default: id where there is one, else FILE:ROW)."},
    )
    keep_text: bool = field(default=False, metadata={"help": "Write the text with each opinion (default: not)."})
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
        default=0.0, metadata={"help": "Rows with a lower score have no label and are always written (default: 0)."}
    )
    rows_per_commit: int = field(
        default=2000, metadata={"help": "Rows of a file of the output, which is what a stop may lose (default: 2000)."}
    )
    batch_size: int = field(default=32, metadata={"help": "Questions in a forward pass (default: 32)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)
    address: str | None = field(
        default=None, metadata={"help": "Ray cluster (default: $RAY_ADDRESS, else Ray starts on this machine)."}
    )
    workers: int | None = field(
        default=None, metadata={"help": "Processes with a model each (default: as many as the cluster has room for)."}
    )
    cpus_per_worker: int | None = field(
        default=None, metadata={"help": "Threads of a worker (default: 4, or fewer where the machine has fewer)."}
    )
    gpus_per_worker: float | None = field(
        default=None, metadata={"help": "GPUs of a worker, 0.5 for two on one (default: 1 if the cluster has some)."}
    )

    def parameters(self) -> dict[str, Any]:
        """What the pipeline takes of it."""
        names = ("aspects", "split_sentences", "return_all", "abstain_below", "batch_size")
        return {name: getattr(self, name) for name in names} | {"targets": named_targets(self.targets)}


def digest(predictor: Predictor) -> str:
    """SHA-256 of a model's configuration and weights, wherever they are stored."""
    config = predictor.pipe.model.config.to_dict()
    for name in ("_name_or_path", "transformers_version"):
        config.pop(name, None)
    sha256 = hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode())
    for name, tensor in sorted(predictor.pipe.model.state_dict().items()):
        sha256.update(name.encode())
        sha256.update(tensor.cpu().contiguous().view(torch.uint8).numpy().data)
    return sha256.hexdigest()


def check_same_run(filesystem: fs.FileSystem, output_dir: str, run: dict[str, Any]):
    """Records a run, or finds that it goes on with one.

    Raises:
        ValueError: if the folder holds another run, or one whose files have changed since.
    """
    record = f"{output_dir}-run.json"
    if filesystem.get_file_info(record).is_file:
        with filesystem.open_input_stream(record) as file:
            before = json.loads(file.read())
        for name in run.keys() - {"inputs"}:
            if before[name] != run[name]:
                raise ValueError(
                    f"output_dir={output_dir} holds a run with {name}={before[name]}, not {run[name]}: give the same, "
                    "or another output_dir"
                )
        for name in before["inputs"].keys() & run["inputs"].keys():
            if before["inputs"][name] != run["inputs"][name]:
                raise ValueError(
                    f"{name} has {run['inputs'][name]:,} bytes, and had {before['inputs'][name]:,} when the run of "
                    f"output_dir={output_dir} began: put new rows into files of their own, or give another output_dir"
                )
        run = run | {"inputs": before["inputs"] | run["inputs"]}
    elif filesystem.get_file_info(fs.FileSelector(output_dir, allow_not_found=True)):
        raise ValueError(f"output_dir={output_dir} holds other files: give a folder of its own")
    for folder in (output_dir, f"{output_dir}-rejects"):
        filesystem.create_dir(folder, recursive=True)
    with filesystem.open_output_stream(record) as file:
        file.write(json.dumps(run, indent=1).encode())


def annotate(arguments: AnnotateArguments):
    """Writes what the texts say, from where an earlier call was stopped.

    Raises:
        ValueError, OSError: naming the argument or the file.
    """
    for name in ("rows_per_commit", "batch_size", "workers", "cpus_per_worker"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            raise ValueError(f"{name}={value}: give at least 1")
    try:
        from absa.ray_data import run
    except ImportError as error:
        raise ValueError(f"annotation runs on Ray Data: pip install '.[annotate]' ({error})") from error
    filesystem, output_dir = filesystem_of(arguments.output_dir)
    files = find_files(arguments.inputs, arguments.split, arguments.config_name, arguments.revision)
    predictor = load(arguments.checkpoint, device="cpu", **arguments.parameters())
    described = {name: getattr(arguments, name) for name in RECORDED} | {"model": digest(predictor)}
    described["inputs"] = {file.name: file.size for file in files}
    check_same_run(filesystem, output_dir, described)
    known = getattr(predictor.pipe.model.config, "targets", None)
    del predictor  # the workers have their own

    counts = run(arguments, files, filesystem, output_dir)
    if counts.texts and not counts.opinions and known:
        print(f"no opinion was found: no text names {looked_for(arguments.parameters()['targets'], known)}")
    if counts.rejects:
        print(f"{counts.rejects:,} rows were rejected: {arguments.output_dir}-rejects says why")
    if counts.rejects and not counts.texts:
        raise ValueError(f"no row of the inputs is a text; {counts.reason}")


@cache
def _loaded(model: str, parameters: str) -> Predictor:
    return load(model, **json.loads(parameters))


def spark_udf(
    model: str, text_column: str = "text", id_column: str = "id", **parameters
) -> Callable[[Iterator["pd.DataFrame"]], Iterator["pd.DataFrame"]]:
    """What `DataFrame.mapInPandas` of PySpark takes, with `SPARK_SCHEMA`: rows of texts to rows of opinions.

        opinions = reviews.mapInPandas(spark_udf("outputs/quickstart/seed-42"), SPARK_SCHEMA)

    A row whose text is no string gives no opinion. A Python worker of Spark loads the model once.

    Args:
        model: folder or Hub id of a trained model, which every machine can reach.
        text_column, id_column: columns of the texts and of what the opinions name them by.
        parameters: of the pipeline, see `absa.load`; `targets`, for example.
    """
    described = json.dumps(parameters)

    def opinions_of(frames: Iterator["pd.DataFrame"]) -> Iterator["pd.DataFrame"]:
        predictor = _loaded(model, described)
        for frame in frames:
            frame = frame[[isinstance(text, str) for text in frame[text_column]]]
            said = predictor(frame[text_column], text_ids=[str(name) for name in frame[id_column]])
            yield to_table(chain.from_iterable(said)).to_pandas(maps_as_pydicts="strict", integer_object_nulls=True)

    return opinions_of
