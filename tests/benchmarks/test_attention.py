"""benchmarks/attention.py: what of it needs no CUDA device, and all of it where there is one."""

import math

import pytest
import torch

import attention as benchmark
from modeling_qacg_bert.attention_qacg_bert import quasi_attention_eager, quasi_attention_sdpa

WITHOUT_DEVICE = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
WITH_DEVICE = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def sigmoid_attention(query, key, value, sigmoid_bias=None):
    """What `triton_sigmoid.sigmoid_attention` computes: (B, n, h, d), and a bias of -log(n) unless told otherwise."""
    bias = -math.log(key.shape[1]) if sigmoid_bias is None else sigmoid_bias
    scores = torch.einsum("bihd,bjhd->bhij", query, key) / math.sqrt(query.shape[-1]) + bias
    return torch.einsum("bhij,bjhd->bihd", torch.sigmoid(scores), value)


@pytest.mark.slow
@WITHOUT_DEVICE
def test_without_a_device(run_script):
    finished = run_script("benchmarks/attention.py", check=False)
    assert finished.returncode == 1
    assert finished.stderr.strip() == "benchmarks/attention.py measures a CUDA device, and PyTorch finds none here"


@WITH_DEVICE
def test_with_a_device(run_script):
    pytest.importorskip("triton", reason="Triton is not installed")
    printed = run_script(
        "benchmarks/attention.py", "--lengths", "32", "100", "--batch_size", "2", "--rounds", "4"
    ).stdout
    names = [line.split("|")[2].strip() for line in printed.splitlines() if line.startswith(("| 32 |", "| 100 |"))]
    assert names.count("eager") == names.count("sdpa") == names.count("triton") == 2


def test_two_libraries_compute_quasi_attention():
    tensors = [tensor.double() for tensor in benchmark.make_tensors(2, 9, "cpu", torch.float32)]
    composed = benchmark.of_two_libraries(sigmoid_attention)
    torch.testing.assert_close(composed(*tensors, None, 0.7)[0], quasi_attention_eager(*tensors, None, 0.7)[0])


def test_a_wrong_backend_is_not_timed():
    tensors = benchmark.make_tensors(2, 9, "cpu", torch.bfloat16)
    benchmark.check("sdpa", quasi_attention_sdpa, tensors)
    with pytest.raises(SystemExit, match="wrong is off from eager attention by"):
        benchmark.check("wrong", lambda *a: quasi_attention_sdpa(*a, quasi_attention_scale=0.5), tensors)
    with pytest.raises(SystemExit, match="nan is off"):
        benchmark.check("nan", lambda *a: (a[0] * torch.nan, None), tensors)


def test_table(monkeypatch, capsys):
    """Everything but the clock, on the CPU."""
    ran = []

    def medians(calls, rounds, clock):
        ran.append(sorted(calls))
        return {name: (float(call() is None), 0.0) for name, call in calls.items()}

    backends = {"eager": quasi_attention_eager, "sdpa + triton-sigmoid": benchmark.of_two_libraries(sigmoid_attention)}
    make_tensors = benchmark.make_tensors
    monkeypatch.setattr(benchmark, "contenders", lambda: backends)
    monkeypatch.setattr(
        benchmark, "make_tensors", lambda size, length, _, dtype: make_tensors(size, length, "cpu", dtype)
    )
    monkeypatch.setattr(benchmark, "medians", medians)
    monkeypatch.setattr(benchmark, "peak_mib", lambda call: 3.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "device")
    benchmark.main(benchmark.BenchmarkArguments(lengths=[5, 8], batch_size=2))
    assert ran == [["eager", "sdpa + triton-sigmoid"]] * 2 + [["eager"]] + [["eager", "sdpa + triton-sigmoid"]] * 2 + [
        ["eager"]
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("device, PyTorch")
    assert lines[3].count("|") == lines[4].count("|") == 9
    assert lines[5:] == [
        "| 5 | eager | 1 | 3 | 1 | 3 | 1 | 3 |",
        "| 5 | sdpa + triton-sigmoid | 1 | 3 | 1 | 3 |  |  |",
        "| 8 | eager | 1 | 3 | 1 | 3 | 1 | 3 |",
        "| 8 | sdpa + triton-sigmoid | 1 | 3 | 1 | 3 |  |  |",
    ]
