"""benchmarks/gpu.py: its stages on a CPU, with tiny models, and what it says where something is missing."""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest
import torch
import yaml

RECIPES = sorted((Path(__file__).resolve().parents[2] / "configuration" / "recipes").iterdir())


@pytest.fixture
def gpu(repo_root: Path, monkeypatch):
    monkeypatch.chdir(repo_root)
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    return importlib.import_module("gpu")


@pytest.fixture
def run_stage(gpu, tmp_path: Path):
    """Runs a stage in this process; its rows, as they were written, and the exit status."""

    def run(stage: str) -> tuple[list[dict], int]:
        with pytest.raises(SystemExit) as ended:
            gpu.main(gpu.GPUArguments(stage=stage, output_dir=str(tmp_path), device="cpu"))
        written = json.loads((tmp_path / f"{stage}.json").read_text())
        assert written["stage"] == stage
        assert torch.__version__ in written["device"]
        return written["rows"], int(ended.value.code)

    return run


@pytest.fixture
def without_data_packages(repo_root: Path, run_script, monkeypatch):
    """Runs Python code in a process that finds neither `datasets` nor `evaluate`."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(repo_root), str(repo_root / "benchmarks")]))
    absent = "import runpy, sys; sys.modules.update(datasets=None, evaluate=None)\n"
    return lambda code, *words: run_script(absent + code, *words, launcher=(sys.executable, "-c"), timeout=900)


def test_it_needs_none_of_the_packages_of_data(without_data_packages):
    without_data_packages("import gpu, random_training")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device(gpu):
    with pytest.raises(SystemExit) as ended:
        gpu.main(gpu.GPUArguments())
    assert ended.value.code == "benchmarks/gpu.py measures a CUDA device, and PyTorch finds none here"


def test_kernel(run_stage):
    pytest.importorskip("triton", reason="Triton is not installed")
    rows, status = run_stage("kernel")
    assert status == 0
    assert len(rows) == 3 * 2 * 2  # dtypes, without padding and with, eager and sdpa
    for row in rows:
        assert row["output, largest error"] < {"float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}[row["dtype"]]


def test_a_wrong_kernel_fails(gpu, run_stage, monkeypatch):
    pytest.importorskip("triton", reason="Triton is not installed")
    eager = gpu.QUASI_ATTENTION["eager"]
    monkeypatch.setattr(gpu, "backends", lambda: ["eager", "triton"])
    monkeypatch.setattr(gpu, "QUASI_ATTENTION", {"eager": eager, "triton": lambda *states: (eager(*states)[0] * 1.1,)})
    rows, status = run_stage("kernel")
    assert status == 1
    assert {row["backend"]: row["ok"] for row in rows} == {"eager": "", "triton": "no"}


def test_half_precision(run_stage):
    rows, status = run_stage("half_precision")
    assert status == 0
    assert {row["ok"] for row in rows} == {"yes"}
    assert all(row["gradients off by"] > 1e-5 for row in rows if row["dtype"] != "float32")


def test_step(run_stage):
    rows, status = run_stage("step")
    assert status == 0
    assert [row["call"] for row in rows] == ["inference", "training step"]


def test_what_needs_a_device_or_a_package_says_so(gpu, run_stage, monkeypatch):
    for stage in ("tests", "attention", "step_compiled"):
        rows, status = run_stage(stage)
        assert status == 0
        assert rows[0]["ok"].startswith("skipped: needs a CUDA device")
    monkeypatch.setattr(gpu, "find_spec", lambda package: None if package == "accelerate" else package)
    assert run_stage("recipes") == ([{"ok": "skipped: needs accelerate"}], 0)


def test_a_stage_that_breaks_keeps_its_rows(gpu, run_stage, monkeypatch):
    def break_after_a_row(device: str):
        yield {"ok": "yes"}
        raise RuntimeError("out of luck")

    monkeypatch.setitem(gpu.STAGES, "step", (break_after_a_row, ()))
    assert run_stage("step") == ([{"ok": "yes"}, {"ok": "no: RuntimeError: out of luck"}], 1)


def test_sizes_of_each_recipe_are_known(gpu):
    backbones = {yaml.safe_load(recipe.read_text()).get("model_name_or_path") for recipe in RECIPES}
    assert backbones - {None} == importlib.import_module("random_training").SIZE_OF.keys()


def test_a_recipe(gpu):
    """Contexts together, so that labels are lists."""
    trainer, logits = gpu.train("sentihood_minilm_together.yaml", "cpu")
    assert trainer.state.global_step == 3
    assert torch.tensor(logits).isfinite().all()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["determinism", "recipes", "launch"])
def test_training_stages(without_data_packages, tmp_path: Path, stage: str):
    code = "sys.argv[0] = 'benchmarks/gpu.py'; runpy.run_path(sys.argv[0], run_name='__main__')"
    without_data_packages(code, stage, "--device", "cpu", "--output_dir", tmp_path)
    rows = json.loads((tmp_path / f"{stage}.json").read_text())["rows"]
    assert {row["ok"] for row in rows} == {"yes"}
    if stage == "recipes":
        assert [row["recipe"] for row in rows] == [path.name for path in RECIPES]
        assert all(row[f"loss {number}"] > 0 for row in rows for number in (1, 2, 3))
