"""Exports a trained classifier to ONNX, for batches and texts of any size.

    python examples/export_onnx.py outputs/quickstart/seed-42 outputs/onnx --int8

OUTPUT_DIR receives model.onnx, with --int8 also model.int8.onnx, the configuration, the tokenizer, and questions.json,
from which `examples/predict_onnx.py` makes the inputs. What is written is compared with PyTorch before it is kept.
"""

from dataclasses import dataclass, field
from pathlib import Path

import torch

from absa.commands import parse, user_errors
from absa.models import load_classifier

try:
    from absa.onnx import export, largest_difference, quantise, with_names, write_questions
except ImportError as error:
    raise SystemExit(f"{error.name} is not installed: pip install 'qacg-bert[onnx]'") from error

TOLERANCE = 1e-4  # of a logit, in float32


@dataclass
class ExportArguments:
    """What to export, and where to."""

    checkpoint: str = field(
        metadata={"help": "Folder or Hub id of a classifier that examples/run_absa.py has trained."}
    )
    output_dir: str = field(metadata={"help": "Folder to write to; it is made, or is empty."})
    aspects: list[str] | None = field(
        default=None,
        metadata={
            "help": "Of a model that is asked about any words: the aspects to export (default: those of its training)."
        },
    )
    int8: bool = field(
        default=False,
        metadata={"help": "Also write weights of 8 bits, for CPUs; activations are quantised as they come."},
    )


def main(arguments: ExportArguments):
    output_dir = Path(arguments.output_dir)
    if output_dir.exists() and (not output_dir.is_dir() or any(output_dir.iterdir())):
        raise FileExistsError(f"output_dir={output_dir} is not an empty folder: choose another")
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    model = with_names(model, tokenizer, arguments.aspects)
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
    write_questions(model, tokenizer, output_dir / "questions.json")
    model.config.save_pretrained(output_dir)
    tokenizer.save_pretrained(output_dir)


if __name__ == "__main__":
    with user_errors():
        main(parse(ExportArguments, "checkpoint", "output_dir"))
