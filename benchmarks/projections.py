"""Three ways to the queries, keys, values, context matrices and gates of a layer, in inference.

    python benchmarks/projections.py --threads 2

"one by one" goes from module to module. "stacked" is one product, whose weights are put together at every call, as in
training. "stacked before" has them put together once, as the pipeline does for a list (`with_stacked_weights`). The
last column is what that saves of the time of a whole model.
"""

from contextlib import nullcontext
from dataclasses import dataclass, field

import torch

from absa.commands import parse
from timing import SIZES, Threads, inference, make_batch, make_model, medians, print_table, where


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the model."})
    length: int = field(default=40, metadata={"help": "Tokens of a text."})
    batch_sizes: list[int] = field(default_factory=lambda: [1, 8, 24], metadata={"help": "Texts of a batch."})
    rounds: int = field(default=40, metadata={"help": "Turns of each way, after three that are not counted."})


@torch.inference_mode()
def main(arguments: BenchmarkArguments):
    model = make_model("QACG-BERT", arguments.size).eval()
    attention = model.bert.encoder.layer[0].attention.self
    weights = attention.stack()
    print(f"{arguments.size}, float32, texts of {arguments.length} tokens, {where('cpu')}")
    rows = []
    for batch_size in arguments.batch_sizes:
        hidden_states = torch.randn(batch_size, arguments.length, model.config.hidden_size)
        context_embedding = torch.randn(batch_size, 1, model.config.hidden_size)
        states = (hidden_states, context_embedding)
        forward = inference(model, make_batch(model, batch_size, arguments.length), nullcontext)
        calls = {
            "one by one": lambda states=states: attention._project(*states),
            "stacked": lambda states=states: attention._project_at_once(*states, attention.stack()),
            "stacked before": lambda states=states: attention._project_at_once(*states, weights),
            "model": forward,
        }
        taken = {name: 1000 * middle for name, (middle, _) in medians(calls, arguments.rounds).items()}
        saved = model.config.num_hidden_layers * (taken["one by one"] - taken["stacked before"]) / taken["model"]
        cells = {f"{name}, ms": f"{milliseconds:.3f}" for name, milliseconds in taken.items()}
        rows.append({"batch": batch_size, **cells, "saved": f"{100 * saved:.1f} %"})
    print_table(rows)


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
