"""Time and memory of QACG-BERT's attention alone, backend by backend, in the shapes of bert-base; needs a CUDA device.

    python benchmarks/attention.py --lengths 128 256 512

Numbers are bfloat16, without padding. Each backend is compared with eager attention before it is timed. The backends
take turns, each after a pass over more memory than the caches hold, which also gives Python the time to launch ahead;
figures are medians of what the device took, and the memory that a call holds at most beside what it is given. One
contender is put together from others' kernels: PyTorch's fused attention for the softmax half and the package
triton-sigmoid for the other. It has no dropout; without the package it is left out.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from absa.commands import parse
from modeling_qacg_bert.attention_qacg_bert import (
    quasi_attention_eager,
    quasi_attention_sdpa,
    softmax_attention_sdpa,
)
from modeling_qacg_bert.triton_qacg_bert import quasi_attention_triton
from timing import medians, print_table

NUM_HEADS, HEAD_SIZE = 12, 64
DROPOUT = 0.1
TOLERANCE = 0.02  # of the largest output: bfloat16 has 8 bits
TWO_LIBRARIES = "sdpa + triton-sigmoid"
MEASURES = ("forward", "forward and backward", f"the same, dropout {DROPOUT}")


@dataclass
class BenchmarkArguments:
    """What to measure."""

    lengths: list[int] = field(default_factory=lambda: [128, 256, 512], metadata={"help": "Tokens of a text."})
    batch_size: int = field(default=24, metadata={"help": "Texts of a batch (default: 24)."})
    rounds: int = field(default=30, metadata={"help": "Turns of each backend, after three that are not counted."})


def of_two_libraries(sigmoid_attention: Callable) -> Callable:
    """A backend of PyTorch's softmax attention and `triton_sigmoid.sigmoid_attention`, for texts without padding."""

    def quasi_attention(
        query, key, value, context_query, context_key, gate, key_mask, quasi_attention_scale=1.0, dropout=0.0
    ):
        assert key_mask is None
        assert not dropout
        softmax_half, _ = softmax_attention_sdpa(query, key, value, None)
        # (B, n, h, d) there; its default bias, -log(n), is not QACG-BERT's.
        states = (states.transpose(1, 2) for states in (context_query, context_key, value))
        quasi_half = sigmoid_attention(*states, sigmoid_bias=0.0).transpose(1, 2)
        return torch.addcmul(softmax_half, quasi_attention_scale * gate, quasi_half), None

    return quasi_attention


def contenders() -> dict[str, Callable]:
    backends = {"eager": quasi_attention_eager, "sdpa": quasi_attention_sdpa}
    try:
        from triton_sigmoid import sigmoid_attention  # refuses to be imported without a CUDA device
    except ImportError:
        pass  # `rows` says so
    else:
        backends[TWO_LIBRARIES] = of_two_libraries(sigmoid_attention)
    return {**backends, "triton": quasi_attention_triton}


def make_tensors(batch_size: int, length: int, device: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """Five states (B, h, n, d), whose memory is (B, n, h, d) as in the model, and gates (B, h, n, 1)."""
    shape = (batch_size, length, NUM_HEADS, HEAD_SIZE)
    states = [torch.randn(shape, device=device, dtype=dtype).transpose(1, 2) for _ in range(5)]
    gate = torch.rand(batch_size, NUM_HEADS, length, 1, device=device, dtype=dtype) * 2 - 1
    return [tensor.requires_grad_() for tensor in (*states, gate)]


def forward(attention: Callable, tensors: list[torch.Tensor]) -> Callable:
    def call():
        with torch.inference_mode():
            attention(*tensors, None)

    return call


def forward_and_backward(attention: Callable, tensors: list[torch.Tensor], dropout: float) -> Callable:
    gradient = torch.randn_like(tensors[0])

    def call():
        output, _ = attention(*tensors, None, 1.0, dropout)
        torch.autograd.grad(output, tensors, gradient)

    return call


def milliseconds(call: Callable) -> float:
    """Of the device alone, after a pass over more memory than its caches hold."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.empty(2**30, dtype=torch.uint8, device="cuda").zero_()
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def peak_mib(call: Callable) -> float:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


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


def check(name: str, attention: Callable, tensors: list[torch.Tensor]):
    """Stops where a backend does not compute what eager attention does in float32."""
    with torch.no_grad():
        expected = quasi_attention_eager(*(tensor.float() for tensor in tensors), None)[0]
        difference = (attention(*tensors, None)[0] - expected).abs().max() / expected.abs().max()
    if not difference <= TOLERANCE:
        sys.exit(f"{name} is off from eager attention by {difference:.1e} of the largest output")


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each length and backend: milliseconds and MiB of each measure."""
    backends = contenders()
    for length in arguments.lengths:
        tensors = make_tensors(arguments.batch_size, length, "cuda", torch.bfloat16)
        of_backends = {name: {"length": length, "backend": name} for name in backends}
        for name, attention in backends.items():
            check(name, attention, tensors)
        for measure in MEASURES:
            calls = {}
            for name, attention in backends.items():
                if measure == "forward":
                    calls[name] = forward(attention, tensors)
                elif measure == "forward and backward":
                    calls[name] = forward_and_backward(attention, tensors, 0.0)
                elif name != TWO_LIBRARIES:
                    calls[name] = forward_and_backward(attention, tensors, DROPOUT)
            taken = medians(calls, arguments.rounds, milliseconds)
            for name, row in of_backends.items():
                row[f"{measure}, ms"] = taken[name][0] if name in taken else ""
                row[f"{measure}, MiB"] = round(peak_mib(calls[name])) if name in calls else ""
        yield from of_backends.values()
    if TWO_LIBRARIES not in backends:
        yield {"backend": TWO_LIBRARIES, f"{MEASURES[0]}, ms": "skipped: pip install triton-sigmoid"}


def main(arguments: BenchmarkArguments):
    if not torch.cuda.is_available():
        sys.exit("benchmarks/attention.py measures a CUDA device, and PyTorch finds none here")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, bfloat16")
    print(f"batch {arguments.batch_size}, {NUM_HEADS} heads of {HEAD_SIZE}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
