"""Size, time and SentiHood scores of one classifier: PyTorch, ONNX and ONNX in int8, in one run.

    python benchmarks/onnx_int8.py CHECKPOINT --data_dir DIR --threads 1

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

from absa.commands import parse
from absa.metrics.sentihood import sentihood_scores
from absa.models import load_classifier
from absa.onnx import export, quantise, session
from absa.tasks.classification import as_strings
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import Contexts, encode
from timing import Threads, print_table, where

SCORES = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")
BATCH_SIZE = 32
Batch = dict[str, torch.Tensor]


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})


def onnx_forward(file: Path) -> Callable[[Batch], np.ndarray]:
    run = session(file).run
    return lambda batch: run(["logits"], {name: value.numpy() for name, value in batch.items()})[0]


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
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    rows = as_strings(load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"])
    columns = encode(
        tokenizer,
        Contexts.from_config(model.config),
        *(rows[name] for name in ("text", "target", "aspect")),
        auxiliary_sentence=model.config.auxiliary_sentence,
    )
    order = sorted(range(len(rows["id"])), key=lambda row: -len(columns["input_ids"][row]))
    chunks = [order[start : start + BATCH_SIZE] for start in range(0, len(order), BATCH_SIZE)]
    batches = []
    for chunk in chunks:
        unpadded = {name: [column[row] for row in chunk] for name, column in columns.items()}
        batches.append((chunk, dict(tokenizer.pad(unpadded, return_tensors="pt"))))

    print(f"{len(order)} rows, batches of {BATCH_SIZE}, {where('cpu')}; scores in percent")
    table, reference = [], None
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("model.pt", "model.onnx", "model.int8.onnx")}
        torch.save(model.state_dict(), files["model.pt"])
        export(model, files["model.onnx"])
        quantise(files["model.onnx"], files["model.int8.onnx"])
        forwards = {
            "PyTorch float32": lambda batch: model(**batch).logits.numpy(),
            "ONNX float32": onnx_forward(files["model.onnx"]),
            "ONNX int8": onnx_forward(files["model.int8.onnx"]),
        }
        for (name, forward), file in zip(forwards.items(), files.values(), strict=True):
            seconds, logits = measure(forward, batches)
            probabilities = softmax(logits, axis=-1)
            reference = probabilities if reference is None else reference
            scores = sentihood_scores(*(rows[key] for key in ("id", "target", "aspect", "label")), probabilities)
            row = {"": name, "MB": f"{file.stat().st_size / 1e6:.1f}", "seconds": f"{seconds:.1f}"}
            row |= {score.replace("_", " "): f"{100 * scores[score]:.1f}" for score in SCORES}
            table.append(row | {"largest change of a probability": f"{np.abs(probabilities - reference).max():.1e}"})
    print_table(table)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
