"""benchmarks/attention.py: what of it needs no CUDA device, and all of it where there is one."""

import pytest
import torch

import attention as benchmark
from modeling_qacg_bert.attention_qacg_bert import QUASI_ATTENTION

WITHOUT_DEVICE = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
WITH_DEVICE = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


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


@pytest.fixture
def without_clock(monkeypatch):
    """Everything but the clock, on the CPU: a call takes one millisecond and three megabytes."""
    make_tensors = benchmark.make_tensors

    def on_the_cpu(batch_size, length, device, dtype):
        return make_tensors(batch_size, length, "cpu", dtype)

    def medians(calls, *_):
        return {name: (float(call() is None), 0.0) for name, call in calls.items()}

    monkeypatch.setattr(benchmark, "make_tensors", on_the_cpu)
    monkeypatch.setattr(benchmark, "medians", medians)
    monkeypatch.setattr(benchmark, "peak_megabytes", lambda call: 3.0)
    monkeypatch.delitem(QUASI_ATTENTION, "triton")


def test_rows(without_clock):
    rows = list(benchmark.rows(benchmark.BenchmarkArguments(lengths=[5, 8], batch_size=2)))
    assert [list(row.values()) for row in rows] == [
        [length, backend, 1.0, 3, 1.0, 3, 1.0, 3] for length in (5, 8) for backend in ("eager", "sdpa")
    ]


@pytest.mark.parametrize("wrong", [1.1, torch.nan])
def test_a_wrong_backend_is_not_timed(without_clock, monkeypatch, wrong: float):
    sdpa = QUASI_ATTENTION["sdpa"]
    monkeypatch.setitem(QUASI_ATTENTION, "wrong", lambda *states: (sdpa(*states)[0] * wrong, None))
    with pytest.raises(SystemExit, match="wrong is off from eager attention by"):
        list(benchmark.rows(benchmark.BenchmarkArguments(lengths=[5], batch_size=2)))
