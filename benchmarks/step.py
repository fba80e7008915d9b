"""What context guidance costs: time of a training step and of inference, beside BERT of the same size, in one run.

    python benchmarks/step.py --lengths 40 128 --batch_sizes 24

Random weights and texts without padding; BERT is `BertForSequenceClassification` on PyTorch's fused attention. The
models take turns, so that what else the machine does falls on all alike; figures are medians, and ratios of medians. A
training step is forward, backward and the optimizer's step, with dropout.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification

from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

from arguments import parse  # noqa: E402  # from examples/

SIZES = {
    "minilm": {
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
    "base": {},
}
MODELS = {
    "BERT": (BertConfig, BertForSequenceClassification),
    "CG-BERT": (CGBertConfig, CGBertForSequenceClassification),
    "QACG-BERT": (QACGBertConfig, QACGBertForSequenceClassification),
}


@dataclass
class BenchmarkArguments:
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the models."})
    lengths: list[int] = field(default_factory=lambda: [40, 128], metadata={"help": "Tokens of a text."})
    batch_sizes: list[int] = field(default_factory=lambda: [24], metadata={"help": "Texts of a batch."})
    rounds: int = field(default=15, metadata={"help": "Turns of each model; the first three are not counted."})
    device: str = field(default="cpu", metadata={"help": "cpu or cuda."})
    bf16: bool = field(default=False, metadata={"help": "Autocast to bfloat16 (default: float32)."})
    threads: int | None = field(default=None, metadata={"help": "Threads of PyTorch (default: as it finds)."})


def make_batch(size: int, length: int, vocab_size: int, device: str) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.randint(1000, vocab_size, (size, length), device=device),
        "attention_mask": torch.ones(size, length, dtype=torch.long, device=device),
        "token_type_ids": torch.zeros(size, length, dtype=torch.long, device=device),
        "context_ids": torch.randint(8, (size,), device=device),
        "labels": torch.randint(3, (size,), device=device),
    }


def training_step(model, batch, autocast) -> Callable:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def step():
        model.train()
        with autocast():
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def inference(model, batch, autocast) -> Callable:
    unlabelled = {name: tensor for name, tensor in batch.items() if name != "labels"}

    def forward():
        model.eval()
        with torch.inference_mode(), autocast():
            model(**unlabelled)

    return forward


def seconds(call: Callable, device: str) -> float:
    start = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def medians(calls: dict[str, Callable], rounds: int, device: str) -> dict[str, float]:
    """Median seconds of each call; they take turns."""
    taken = {name: [] for name in calls}
    for number in range(rounds):
        for name, call in calls.items():
            elapsed = seconds(call, device)
            if number >= 3:
                taken[name].append(elapsed)
    return {name: statistics.median(values) for name, values in taken.items()}


def main(arguments: BenchmarkArguments):
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    def autocast():
        return torch.autocast(arguments.device, torch.bfloat16, enabled=arguments.bf16)

    models = {
        name: model_class._from_config(
            config_class(num_labels=3, **SIZES[arguments.size]), attn_implementation="sdpa"
        ).to(arguments.device)
        for name, (config_class, model_class) in MODELS.items()
    }
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or platform.machine()
    precision = "bfloat16 autocast" if arguments.bf16 else "float32"
    print(f"{arguments.size}, {precision}, {where}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}\n")
    print("| batch | length | | BERT, ms | CG-BERT, ms | ratio | QACG-BERT, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for batch_size in arguments.batch_sizes:
        for length in arguments.lengths:
            for kind in (inference, training_step):
                calls = {}
                for name, model in models.items():
                    batch = make_batch(batch_size, length, model.config.vocab_size, arguments.device)
                    if name == "BERT":
                        del batch["context_ids"]
                    calls[name] = kind(model, batch, autocast)
                taken = medians(calls, arguments.rounds, arguments.device)
                cells = [f"{1000 * taken['BERT']:.1f}"]
                for name in ("CG-BERT", "QACG-BERT"):
                    cells += [f"{1000 * taken[name]:.1f}", f"{taken[name] / taken['BERT']:.2f}"]
                what = kind.__name__.replace("_", " ")
                print(f"| {batch_size} | {length} | {what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
