"""What K contexts of a text cost in one pass, beside one context.

    python benchmarks/contexts.py --threads 2

A text of `length` tokens asked about K contexts, (B, K) context ids, against the same texts asked about one, with m
guided layers; and against K passes of one context each. Random weights; the calls take turns in one run.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

from absa.commands import parse
from absa.timing import medians, where
from timing import SIZES, Threads, inference, make_batch, make_model, print_table, training_step


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the model."})
    length: int = field(default=40, metadata={"help": "Tokens of a text."})
    batch_size: int = field(default=8, metadata={"help": "Texts of a batch."})
    num_contexts: list[int] = field(default_factory=lambda: [1, 2, 4, 8], metadata={"help": "K."})
    rounds: int = field(default=12, metadata={"help": "Turns of each call, after three that are not counted."})


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """Milliseconds of each K and number of guided layers, and their ratios."""
    num_layers = make_model("bert", arguments.size).config.num_hidden_layers
    guided = sorted({num_layers, num_layers // 2, 2}, reverse=True)
    models = {m: make_model("qacg_bert", arguments.size, num_context_layers=m) for m in guided}
    for kind in (inference, training_step):
        calls = {
            (m, k): kind(model, make_batch(model, arguments.batch_size, arguments.length, num_contexts=k), nullcontext)
            for m, model in models.items()
            for k in sorted({1, *arguments.num_contexts})
        }
        taken = {key: middle for key, (middle, _) in medians(calls, arguments.rounds).items()}
        for k in arguments.num_contexts:
            row = {"call": kind.__name__.replace("_", " "), "K": k}
            for m in guided:
                row[f"m = {m}, ms"] = f"{1000 * taken[m, k]:.1f}"
                row[f"m = {m}, to one"] = f"{taken[m, k] / taken[m, 1]:.2f}"
                row[f"m = {m}, to K passes"] = f"{taken[m, k] / (k * taken[m, 1]):.2f}"
            yield row


def main(arguments: BenchmarkArguments):
    print(f"{arguments.size}, float32, {arguments.batch_size} texts of {arguments.length} tokens, {where('cpu')}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
