"""Size, time and SentiHood scores of one classifier: PyTorch, ONNX and ONNX in int8, in one run.

    python benchmarks/onnx_int8.py CHECKPOINT --data_dir DIR --threads 1

CHECKPOINT is a SentiHood classifier, DIR holds the SentiHood files. Time is that of the forward passes over the test
split, in batches of rows of like length, on as many threads for all three; each warms up first.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from scipy.special import softmax
from torch.utils.data import DataLoader
from transformers import DataCollatorWithPadding

from absa.commands import parse
from absa.models import load_classifier
from absa.onnx import export, quantise, session
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.timing import where
from timing import OnSentiHood, print_table

BATCH_SIZE = 32
Batch = dict[str, torch.Tensor]


def onnx_forward(file: Path) -> Callable[[Batch], np.ndarray]:
    run = session(file).run
    return lambda batch: run(["logits"], {name: value.numpy() for name, value in batch.items()})[0]


@torch.no_grad()
def rows(arguments: OnSentiHood) -> Iterator[dict]:
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    data_arguments, reference = ClassificationArguments(data_dir=arguments.data_dir), None
    task = Classification.load(data_arguments)
    entries = task.entries("test", data_arguments, tokenizer, model.config)
    dataset = entries.dataset.remove_columns("labels")
    batches = list(map(dict, DataLoader(dataset, BATCH_SIZE, collate_fn=DataCollatorWithPadding(tokenizer))))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("model.pt", "model.onnx", "model.int8.onnx")]
        torch.save(model.state_dict(), files[0])
        export(model, files[1])
        quantise(files[1], files[2])
        forwards = {
            "PyTorch float32": lambda batch: model(**batch).logits.numpy(),
            "ONNX float32": onnx_forward(files[1]),
            "ONNX int8": onnx_forward(files[2]),
        }
        for (name, forward), file in zip(forwards.items(), files, strict=True):
            for batch in batches[:2] + batches[-2:]:
                forward(batch)
            start = time.perf_counter()
            logits = [forward(batch) for batch in batches]
            row = {"": name, "MB": f"{file.stat().st_size / 1e6:.1f}", "seconds": f"{time.perf_counter() - start:.1f}"}
            answers = task.answers("test", entries, np.concatenate(logits))
            scores, probabilities = task.score("test", answers), softmax(answers, axis=-1)
            reference = probabilities if reference is None else reference
            row |= {score.replace("_", " "): f"{100 * scores[score]:.1f}" for score in task.main_scores}
            yield row | {"largest change of a probability": f"{np.abs(probabilities - reference).max():.1e}"}


def main(arguments: OnSentiHood):
    print(f"batches of {BATCH_SIZE}, {where('cpu')}; scores in percent")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(OnSentiHood, "checkpoint"))
