"""Exports a trained classifier to ONNX, for batches and texts of any size.

    python examples/export_onnx.py outputs/quickstart/seed-42 outputs/onnx --int8

OUTPUT_DIR receives model.onnx, with --int8 also model.int8.onnx, the configuration and the tokenizer. The inputs are
those of the model: `input_ids`, `attention_mask` and `token_type_ids`, (batch, length), and `context_ids`, (batch,),
which the baseline has not. The output is `logits`, (batch, labels). What is written is compared with PyTorch before it
is kept.
"""

import logging
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel

from absa.commands import parse, user_errors
from absa.models import load_classifier
from modeling_qacg_bert import Contexts

try:
    import onnx
    import onnxruntime
    import onnxscript  # noqa: F401  # what torch.onnx writes with
    from onnxruntime.quantization import QuantType, quantize_dynamic
except ImportError as error:
    raise SystemExit(f"{error.name} is not installed: pip install 'qacg-bert[onnx]'") from error

TOLERANCE = 1e-4  # of a logit, in float32
BATCHES = ((1, 5), (2, 64), (7, 33), (32, 16))  # (batch, length) to compare; none is the one that is traced
SEED = 0


@dataclass
class ExportArguments:
    """What to export, and where to."""

    checkpoint: str = field(
        metadata={"help": "Folder or Hub id of a classifier that examples/run_absa.py has trained."}
    )
    output_dir: str = field(metadata={"help": "Folder to write to; it is made, or is empty."})
    int8: bool = field(
        default=False,
        metadata={"help": "Also write weights of 8 bits, for CPUs; activations are quantised as they come."},
    )


def random_batch(model: PreTrainedModel, batch_size: int, length: int) -> dict[str, torch.Tensor]:
    """Inputs of these sizes whose rows, but the first, are padded by up to half, by turns on the right and left."""
    generator = torch.Generator().manual_seed(SEED)

    def draw(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    mask = torch.ones(batch_size, length, dtype=torch.long)
    for row in range(1, batch_size):
        padding = int(draw(0, length // 2 + 1, 1))
        mask[row, slice(length - padding, None) if row % 2 else slice(padding)] = 0
    batch = {
        "input_ids": draw(0, model.config.vocab_size, batch_size, length) * mask,
        "attention_mask": mask,
        "token_type_ids": draw(0, model.config.type_vocab_size, batch_size, length),
    }
    if model.config.model_type != "bert":
        batch["context_ids"] = draw(0, model.config.num_contexts, batch_size)
    return batch


@contextmanager
def quiet():
    """Without what the exporters say of packages and steps that are not needed here."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def export(model: PreTrainedModel, file: Path):
    """Writes a classifier, in eval mode, as one ONNX file."""
    sizes = torch.export.Dim("batch"), torch.export.Dim("length", max=model.config.max_position_embeddings)
    batch = random_batch(model, 3, 11)
    with quiet():
        torch.onnx.export(
            model,
            (),
            file,
            kwargs=batch,
            input_names=list(batch),
            output_names=["logits"],
            dynamic_shapes={name: dict(enumerate(sizes[: value.dim()])) for name, value in batch.items()},
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def session(file: Path, threads: int | None = None) -> onnxruntime.InferenceSession:
    """A model to run on the CPU; the threads are as many as PyTorch's unless given."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or torch.get_num_threads()
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


@torch.no_grad()
def largest_difference(model: PreTrainedModel, file: Path) -> float:
    """The most that a logit of an ONNX file is away from the model's, over `BATCHES` that fit the model."""
    onnx_model = session(file)
    differences = []
    for batch_size, length in BATCHES:
        batch = random_batch(model, batch_size, min(length, model.config.max_position_embeddings))
        (logits,) = onnx_model.run(["logits"], {name: value.numpy() for name, value in batch.items()})
        differences.append(np.abs(logits - model(**batch).logits.numpy()).max())
    return float(max(differences))


def quantise(file: Path, to: Path):
    """Weights of matrix products and embeddings in 8 bits, one scale a column; all else stays in float32."""
    model = onnx.load(file)
    # Shapes that the exporter noted before it transposed weights; onnxruntime infers them anew.
    del model.graph.value_info[:]
    with quiet():
        quantize_dynamic(
            model, to, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul", "Gather"]
        )


def main(arguments: ExportArguments):
    output_dir = Path(arguments.output_dir)
    if output_dir.exists() and (not output_dir.is_dir() or any(output_dir.iterdir())):
        raise FileExistsError(f"output_dir={output_dir} is not an empty folder: choose another")
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    Contexts.from_config(model.config)  # for its error: without names no one knows what an output answers

    output_dir.mkdir(parents=True, exist_ok=True)
    file = output_dir / "model.onnx"
    export(model, file)
    difference = largest_difference(model, file)
    if not difference <= TOLERANCE:
        file.unlink()
        raise ValueError(
            f"checkpoint={arguments.checkpoint}: a logit of the ONNX model is {difference:.1e} away from PyTorch's, "
            f"more than {TOLERANCE}; it was not kept"
        )
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, logits within {difference:.1e} of PyTorch's")
    if arguments.int8:
        small = output_dir / "model.int8.onnx"
        quantise(file, small)
        difference = largest_difference(model, small)
        print(f"{small}: {small.stat().st_size / 1e6:.1f} MB, logits within {difference:.1e} of PyTorch's")
    model.config.save_pretrained(output_dir)
    tokenizer.save_pretrained(output_dir)


if __name__ == "__main__":
    with user_errors():
        main(parse(ExportArguments, "checkpoint", "output_dir"))
