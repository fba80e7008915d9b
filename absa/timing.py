"""How long calls take on this machine, and what machine that is."""

import platform
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch

WARM_UP = 3  # rounds that are not counted


def seconds(call: Callable) -> float:
    start = time.perf_counter()
    call()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def cpu_seconds(call: Callable) -> float:
    """Of all threads: what a call takes, whatever else the machine does."""
    start = time.process_time()
    call()
    return time.process_time() - start


def medians(
    calls: Mapping[str, Callable], rounds: int, clock: Callable[[Callable], float] = seconds
) -> dict[str, tuple[float, float]]:
    """Median time of each call, and half the distance of the quartiles. The calls take turns, so that what else the
    machine does falls on all alike."""
    taken = {name: [] for name in calls}
    for _ in range(WARM_UP + rounds):
        for name, call in calls.items():
            taken[name].append(clock(call))
    quartiles = {name: np.percentile(values[WARM_UP:], [25, 50, 75]) for name, values in taken.items()}
    return {name: (middle, (high - low) / 2) for name, (low, middle, high) in quartiles.items()}


def where(device: str) -> str:
    """The machine and what computes on it."""
    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"
    return f"{processor()}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}"


def processor() -> str:
    """The processor's name where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
