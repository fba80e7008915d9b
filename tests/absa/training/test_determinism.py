"""The same seed gives the same bits, and on a GPU what a CPU computes, up to rounding."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

# Of the weights after 2 epochs on a GPU, in float32, against those of the same run on a CPU.
GPU_TOLERANCE = 1e-3


def trained(folder: Path) -> tuple[dict[str, torch.Tensor], bytes]:
    """Weights, and the probabilities of the test split as they were written."""
    return load_file(folder / "model.safetensors"), (folder / "test_probabilities.parquet").read_bytes()


def assert_same_bits(one, other):
    assert one[0].keys() == other[0].keys()
    assert not [name for name, weight in one[0].items() if not torch.equal(weight, other[0][name])]
    assert one[1] == other[1]


@pytest.mark.slow
def test_the_switch_changes_no_bit_on_a_cpu(finished_run, recipe: Path, run_script, tmp_path: Path):
    """Neither does a second run: there is nothing on a CPU that it would have to switch off."""
    words = ("--output_dir", tmp_path / "run", "--seeds", "1", "--use_cpu", "true", "--full_determinism", "true")
    run_script("examples/run_absa.py", recipe, *words)
    assert_same_bits(trained(tmp_path / "run" / "seed-1"), trained(finished_run[0] / "seed-1"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_the_switch_gives_the_same_bits_on_a_gpu(recipe: Path, run_script, tmp_path: Path):
    no_dropout = ("--config_overrides", "hidden_dropout_prob=0.0")  # whose masks differ between GPU and CPU
    for run, words in {
        "one": ("--full_determinism", "true"),
        "other": ("--full_determinism", "true"),
        "gpu": no_dropout,
        "cpu": (*no_dropout, "--use_cpu", "true"),
    }.items():
        run_script("examples/run_absa.py", recipe, "--output_dir", tmp_path / run, "--seeds", "1", *words)
    one, other, gpu, cpu = (trained(tmp_path / run / "seed-1") for run in ("one", "other", "gpu", "cpu"))
    assert_same_bits(one, other)
    for name, weight in cpu[0].items():
        torch.testing.assert_close(gpu[0][name], weight, rtol=0, atol=GPU_TOLERANCE)
