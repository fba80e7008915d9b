"""Size, time and SentiHood scores of one classifier: PyTorch, ONNX and ONNX in int8, in one run.

    python benchmarks/onnx_int8.py CHECKPOINT --data_dir DIR

CHECKPOINT is a SentiHood classifier, DIR holds the SentiHood files. Time is that of the forward passes over the test
split, in batches of rows of like length, on as many threads for all three; each warms up first.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from scipy.special import softmax
from torch import nn
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa.commands import parse
from absa.metrics.sentihood import sentihood_scores
from absa.onnx import export, quantise, session
from absa.tasks.classification import as_strings, choose
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import Contexts, encode

SCORES = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")
Batch = dict[str, torch.Tensor]


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})
    num_rows: int | None = field(default=None, metadata={"help": "Rows of the test split, for a try (default: all)."})
    batch_size: int = field(default=32, metadata={"help": "Rows in a forward pass (default: 32)."})
    threads: int = field(default=1, metadata={"help": "Threads of PyTorch and of onnxruntime (default: 1)."})


def size_mb(model: nn.Module, folder: str) -> float:
    file = Path(folder) / "size.pt"
    torch.save(model.state_dict(), file)
    return file.stat().st_size / 1e6


def measure(
    forward: Callable[[Batch], np.ndarray], batches: list[tuple[list[int], Batch]]
) -> tuple[float, np.ndarray]:
    """Seconds of the forward passes, and the logits (rows, labels) in the order of the rows."""
    for _, batch in batches[:2] + batches[-2:]:
        forward(batch)
    start = time.perf_counter()
    answers = [forward(batch) for _, batch in batches]
    seconds = time.perf_counter() - start
    logits = np.empty((sum(len(rows) for rows, _ in batches), answers[0].shape[1]))
    for (rows, _), answer in zip(batches, answers, strict=True):
        logits[rows] = answer
    return seconds, logits


@torch.no_grad()
def main(arguments: BenchmarkArguments):
    torch.set_num_threads(arguments.threads)
    model = AutoModelForSequenceClassification.from_pretrained(arguments.checkpoint, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(arguments.checkpoint)
    rows = as_strings(load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"])
    rows = choose(rows, range(len(rows["id"]))[: arguments.num_rows])
    columns = encode(
        tokenizer,
        Contexts.from_config(model.config),
        *(rows[name] for name in ("text", "target", "aspect")),
        auxiliary_sentence=model.config.auxiliary_sentence,
    )
    order = sorted(range(len(rows["id"])), key=lambda row: -len(columns["input_ids"][row]))
    chunks = [order[start : start + arguments.batch_size] for start in range(0, len(order), arguments.batch_size)]
    batches = []
    for chunk in chunks:
        unpadded = {name: [column[row] for row in chunk] for name, column in columns.items()}
        batches.append((chunk, dict(tokenizer.pad(unpadded, return_tensors="pt"))))

    print(f"{len(order)} rows, batches of {arguments.batch_size}, {arguments.threads} threads; scores in percent\n")
    heading = ["", "MB", "seconds", *(name.replace("_", " ") for name in SCORES), "largest change of a probability"]
    print(f"| {' | '.join(heading)} |\n|{'---|' * len(heading)}")
    reference = None
    with tempfile.TemporaryDirectory() as folder:
        onnx_file, int8_file = Path(folder) / "model.onnx", Path(folder) / "model.int8.onnx"
        export(model, onnx_file)
        quantise(onnx_file, int8_file)
        contenders = {
            "PyTorch float32": (lambda batch: model(**batch).logits.numpy(), size_mb(model, folder)),
        }
        for name, file in (("ONNX float32", onnx_file), ("ONNX int8", int8_file)):
            run = session(file).run
            contenders[name] = (
                lambda batch, run=run: run(["logits"], {key: value.numpy() for key, value in batch.items()})[0],
                file.stat().st_size / 1e6,
            )
        for name, (forward, megabytes) in contenders.items():
            seconds, logits = measure(forward, batches)
            probabilities = softmax(logits, axis=-1)
            reference = probabilities if reference is None else reference
            scores = sentihood_scores(*(rows[key] for key in ("id", "target", "aspect", "label")), probabilities)
            cells = [f"{megabytes:.1f}", f"{seconds:.1f}", *(f"{100 * scores[score]:.1f}" for score in SCORES)]
            print(
                f"| {name} | " + " | ".join(cells) + f" | {np.abs(probabilities - reference).max():.1e} |", flush=True
            )


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
