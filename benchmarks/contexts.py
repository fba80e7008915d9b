"""What K contexts of a text cost in one pass, beside one context, and what sharing the lower layers does to accuracy.

    python benchmarks/contexts.py --threads 2 --runs outputs/together/m6 outputs/together/m3 outputs/together/m2

A text of `length` tokens asked about K contexts, (B, K) context ids, against the same texts asked about one, with m
guided layers; and against K passes of one context each. Random weights; the calls take turns in one run. With `--runs`
the test scores of runs of `run_absa.py` stand in a second table, by their `num_context_layers`.
"""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse
from absa.training.results import percent
from timing import SIZES, Threads, inference, make_batch, make_model, medians, print_table, training_step, where


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the model."})
    length: int = field(default=40, metadata={"help": "Tokens of a text."})
    batch_size: int = field(default=8, metadata={"help": "Texts of a batch."})
    num_contexts: list[int] = field(default_factory=lambda: [1, 2, 4, 8], metadata={"help": "K."})
    rounds: int = field(default=12, metadata={"help": "Turns of each call, after three that are not counted."})
    runs: list[str] = field(default_factory=list, metadata={"help": "Output folders of run_absa.py."})


def accuracies(folders: list[str]) -> Iterator[dict]:
    """Test scores of runs, those with the same number of guided layers as seeds of one row."""
    by_layers = {}
    for folder in folders:
        results = json.loads((Path(folder) / "all_results.json").read_text(encoding="utf-8"))
        layers = results["arguments"]["num_context_layers"] or "all"
        for seed, result in results["seeds"].items():
            scores = {name: result[results["split"]][name] for name in results["main_scores"]}
            by_layers.setdefault(layers, {})[seed] = scores
    for layers, of_seeds in by_layers.items():
        of_seeds = list(of_seeds.values())
        scores = {name.replace("_", " "): percent([scores[name] for scores in of_seeds]) for name in of_seeds[0]}
        yield {"guided layers": layers, "seeds": len(of_seeds), **scores}


def costs(arguments: BenchmarkArguments) -> Iterator[dict]:
    """Milliseconds of each K and number of guided layers, and their ratios."""
    num_layers = make_model("BERT", arguments.size).config.num_hidden_layers
    guided = sorted({num_layers, num_layers // 2, 2}, reverse=True)
    models = {m: make_model("QACG-BERT", arguments.size, num_context_layers=m) for m in guided}
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
    print_table(costs(arguments))
    print_table(accuracies(arguments.runs))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
