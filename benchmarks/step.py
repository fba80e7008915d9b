"""What context guidance costs: time and memory of a training step and of inference, beside BERT of the same size.

    python benchmarks/step.py --lengths 40 128 --threads 2

Random weights and texts, without padding unless --padded; BERT is `BertForSequenceClassification` on PyTorch's fused
attention. The models take turns in one run. Figures are medians with half the distance of the quartiles, and ratios of
medians. A training step is forward, backward and the optimizer's step, with dropout. Memory is the most that a call
takes of the device, on the CPU what a training step keeps for its backward pass.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from absa.commands import parse
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.timing import medians, where
from timing import (
    MODELS,
    SIZES,
    Threads,
    inference,
    make_batch,
    make_model,
    peak_megabytes,
    print_table,
    training_step,
)


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the models."})
    lengths: list[int] = field(default_factory=lambda: [32, 64, 128, 256, 512], metadata={"help": "Tokens of a text."})
    batch_sizes: list[int] = field(default_factory=lambda: [24], metadata={"help": "Texts of a batch."})
    rounds: int = field(default=12, metadata={"help": "Turns of each model, after three that are not counted."})
    device: str = field(default="cpu", metadata={"help": "cpu or cuda."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)
    padded: bool = field(default=False, metadata={"help": "Texts of half the length to all of it (default: all)."})
    compile: bool = field(default=False, metadata={"help": "torch.compile all three models (default: no)."})
    profile: bool = field(
        default=False, metadata={"help": "After each row, where the time goes: PyTorch's operators."}
    )


def kept_megabytes(model, batch: dict, autocast: Callable) -> float:
    """What the forward pass of a training step keeps for the backward pass, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    model.train()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), autocast():
        loss = model(**batch).loss
    del loss
    return sum(kept.values()) / 1e6


def print_profile(calls: dict[str, Callable], device: str):
    """Of a call of each model the operators that take longest themselves, by PyTorch's profiler."""
    for name, call in calls.items():
        with torch.profiler.profile() as profiler:
            call()
        table = profiler.key_averages().table(sort_by=f"self_{device}_time_total", row_limit=12)
        print(f"\n{name}\n{table}")


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each batch size, length and kind of call: milliseconds and MB of each model, and ratios to BERT."""
    device = arguments.device
    bf16 = use_bfloat16(arguments.bf16, device)

    def autocast():
        return torch.autocast(device, torch.bfloat16, enabled=bf16)

    models = {name: make_model(model_type, arguments.size, device) for name, model_type in MODELS.items()}
    run = {name: torch.compile(model) if arguments.compile else model for name, model in models.items()}
    for batch_size in arguments.batch_sizes:
        for length in arguments.lengths:
            batches = {
                name: make_batch(model, batch_size, length, device, padded=arguments.padded)
                for name, model in models.items()
            }
            for kind in (inference, training_step):
                calls = {name: kind(run[name], batches[name], autocast) for name in models}
                taken = medians(calls, arguments.rounds)
                row = {"batch": batch_size, "length": length, "call": kind.__name__.replace("_", " ")}
                for name in models:
                    middle, spread = taken[name]
                    row[f"{name}, ms"] = f"{1000 * middle:.2f} ±{1000 * spread:.2f}"
                    if name != "BERT":
                        row[f"{name}, ratio"] = f"{middle / taken['BERT'][0]:.2f}"
                    row[f"{name}, MB"] = ""
                    if device == "cuda":
                        row[f"{name}, MB"] = f"{peak_megabytes(calls[name]):.1f}"
                    elif kind is training_step and not arguments.compile:
                        row[f"{name}, MB"] = f"{kept_megabytes(models[name], batches[name], autocast):.1f}"
                yield row
                if arguments.profile:
                    print_profile(calls, device)


def main(arguments: BenchmarkArguments):
    arguments.bf16 = use_bfloat16(arguments.bf16, arguments.device)
    precision = "bfloat16 autocast" if arguments.bf16 else "float32"
    print(f"{arguments.size}, {precision}{', compiled' * arguments.compile}, {where(arguments.device)}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
