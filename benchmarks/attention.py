"""Time and memory of QACG-BERT's attention alone, backend by backend, in the shapes of bert-base; needs a CUDA device.

    python benchmarks/attention.py --lengths 128 256 512

Numbers are bfloat16, without padding. Each backend is compared with eager attention before it is timed. The backends
take turns, each after a pass over more memory than the caches hold, which also gives Python the time to launch ahead;
figures are medians of what the device took, and the memory that a call holds at most beside what it is given.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import torch

from absa.commands import parse
from absa.timing import medians
from modeling_qacg_bert.attention_qacg_bert import QUASI_ATTENTION, quasi_attention_eager
from timing import peak_megabytes, print_table

NUM_HEADS, HEAD_SIZE = 12, 64
DROPOUT = 0.1
TOLERANCE = 0.02  # of the largest output: bfloat16 has 8 bits


@dataclass
class BenchmarkArguments:
    """What to measure."""

    lengths: list[int] = field(default_factory=lambda: [128, 256, 512], metadata={"help": "Tokens of a text."})
    batch_size: int = field(default=24, metadata={"help": "Texts of a batch (default: 24)."})
    rounds: int = field(default=30, metadata={"help": "Turns of each backend, after three that are not counted."})


def make_tensors(batch_size: int, length: int, device: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """Five states (B, h, n, d), whose memory is (B, n, h, d) as in the model, and gates (B, h, n, 1)."""
    shape = (batch_size, length, NUM_HEADS, HEAD_SIZE)
    states = [torch.randn(shape, device=device, dtype=dtype).transpose(1, 2) for _ in range(5)]
    gate = torch.rand(batch_size, NUM_HEADS, length, 1, device=device, dtype=dtype) * 2 - 1
    return [tensor.requires_grad_() for tensor in (*states, gate)]


def calls_of(attention: Callable, tensors: list[torch.Tensor]) -> dict[str, Callable]:
    """What is measured of a backend, by the name of the measure."""
    gradient = torch.randn_like(tensors[0])

    def forward():
        with torch.inference_mode():
            attention(*tensors, None)

    def both(dropout: float):
        torch.autograd.grad(attention(*tensors, None, 1.0, dropout)[0], tensors, gradient)

    return {
        "forward": forward,
        "forward and backward": partial(both, 0.0),
        f"the same, dropout {DROPOUT}": partial(both, DROPOUT),
    }


def milliseconds(call: Callable) -> float:
    """Of the device alone, after a pass over more memory than its caches hold."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.empty(2**30, dtype=torch.uint8, device="cuda").zero_()
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def errors(attention: Callable, tensors: list[torch.Tensor], key_mask: torch.Tensor | None) -> list[float]:
    """Of the output and of each tensor's gradient, the largest error beside eager attention in float64, as a part of
    the largest number."""
    found = output_and_gradients(attention, tensors, key_mask)
    expected = output_and_gradients(quasi_attention_eager, [tensor.double() for tensor in tensors], key_mask)
    pairs = zip(found, expected, strict=True)
    return [((one.double() - other).abs().max() / other.abs().max()).item() for one, other in pairs]


def output_and_gradients(attention: Callable, tensors: list[torch.Tensor], key_mask: torch.Tensor | None):
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    output = attention(*tensors, key_mask)[0]
    gradient = torch.randn(output.shape, generator=torch.Generator().manual_seed(1)).to(output)
    return [output.detach(), *torch.autograd.grad(output, tensors, gradient)]


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each length and backend: milliseconds and MB of each measure."""
    for length in arguments.lengths:
        tensors = make_tensors(arguments.batch_size, length, "cuda", torch.bfloat16)
        of_backends, calls = {}, {}
        for name, attention in QUASI_ATTENTION.items():
            error, *_ = errors(attention, tensors, None)
            if not error <= TOLERANCE:
                sys.exit(f"{name} is off from eager attention by {error:.1e} of the largest output")
            of_backends[name] = {"length": length, "backend": name}
            calls[name] = calls_of(attention, tensors)
        for measure in calls["eager"]:
            of_measure = {name: of_backend[measure] for name, of_backend in calls.items()}
            taken = medians(of_measure, arguments.rounds, milliseconds)
            for name, row in of_backends.items():
                row[f"{measure}, ms"] = taken[name][0]
                row[f"{measure}, MB"] = round(peak_megabytes(of_measure[name]))
        yield from of_backends.values()


def main(arguments: BenchmarkArguments):
    if not torch.cuda.is_available():
        sys.exit("benchmarks/attention.py measures a CUDA device, and PyTorch finds none here")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, bfloat16")
    print(f"batch {arguments.batch_size}, {NUM_HEADS} heads of {HEAD_SIZE}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
