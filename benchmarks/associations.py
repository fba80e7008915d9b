"""Time of circular convolution and correlation of words with an aspect, by FFT and by a circulant matrix.

    python benchmarks/associations.py --threads 1

Numbers are float32. Before they are timed, the two are compared; they take turns, and figures are medians and half
the distance of the quartiles.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import torch

from absa.commands import parse
from absa.timing import medians, where
from modeling_af_lstm.associations_af_lstm import ASSOCIATIONS
from timing import Threads, print_table

TOLERANCE = 1e-5  # of the largest number


@dataclass(kw_only=True)
class BenchmarkArguments(Threads):
    """What to measure."""

    sizes: list[int] = field(default_factory=lambda: [50, 300, 512], metadata={"help": "Widths of states."})
    batch_size: int = field(default=32, metadata={"help": "Pairs of a text and an aspect (default: 32)."})
    length: int = field(default=24, metadata={"help": "Words of a text (default: 24)."})
    rounds: int = field(default=30, metadata={"help": "Turns of each, after three that are not counted."})
    device: str = field(default="cpu", metadata={"help": "Where to compute, cpu or cuda (default: cpu)."})


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each size, association and measure."""
    for size in arguments.sizes:
        states = torch.randn(arguments.batch_size, arguments.length, size, device=arguments.device)
        aspects = torch.randn(arguments.batch_size, size, device=arguments.device)
        for name in ("conv", "corr"):
            backends = {backend: ASSOCIATIONS[backend][name] for backend in ASSOCIATIONS}
            error = error_of(backends, states, aspects)
            if not error <= TOLERANCE:
                sys.exit(f"fft and direct differ by {error:.1e} of the largest number")
            for what, call in (("forward", forward), ("forward and backward", both)):
                calls = {backend: partial(call, associate, states, aspects) for backend, associate in backends.items()}
                times = medians(calls, arguments.rounds)
                yield {
                    "d": size,
                    "association": name,
                    "measure": what,
                    **{f"{backend}, ms": f"{1e3 * t:.2f} ± {1e3 * half:.2f}" for backend, (t, half) in times.items()},
                    "direct / fft": times["direct"][0] / times["fft"][0],
                }


def forward(associate: Callable, states: torch.Tensor, aspects: torch.Tensor):
    with torch.inference_mode():
        associate(states, aspects)


def both(associate: Callable, states: torch.Tensor, aspects: torch.Tensor):
    inputs = states.detach().requires_grad_(), aspects.detach().requires_grad_()
    torch.autograd.grad(associate(*inputs).sum(), inputs)


def error_of(backends: dict[str, Callable], states: torch.Tensor, aspects: torch.Tensor) -> float:
    """The largest difference of the two, as a part of the largest number."""
    found, expected = (backends[backend](states, aspects) for backend in ("fft", "direct"))
    return ((found - expected).abs().max() / expected.abs().max()).item()


def main(arguments: BenchmarkArguments):
    print(f"{arguments.batch_size} pairs, {arguments.length} words, float32, {where(arguments.device)}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
