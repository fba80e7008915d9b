"""The benchmarks run, on tiny models: what they measure is not tested, only that they measure and check it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

LABELS = ["none", "positive", "negative"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run of two seeds that is twice as sure of itself as it may be."""
    generator = np.random.default_rng(0)
    for seed in (1, 2):
        folder = tmp_path / "run" / f"seed-{seed}"
        folder.mkdir(parents=True)
        for split in ("validation", "test"):
            logits = generator.normal(scale=2, size=(3000, 3))
            drawn = [generator.choice(3, p=np.exp(row) / np.exp(row).sum()) for row in logits]
            sure = np.exp(2 * logits) / np.exp(2 * logits).sum(-1, keepdims=True)
            columns = {f"p_{label}": sure[:, index] for index, label in enumerate(LABELS)}
            table = pd.DataFrame({"label": [LABELS[index] for index in drawn], **columns})
            table.to_parquet(folder / f"{split}_probabilities.parquet")
    return tmp_path / "run"


def test_calibration_error(run: Path, run_script):
    _, heading, _, line = run_script("benchmarks/calibration_error.py", run).stdout.splitlines()
    names = [name.strip() for name in heading.split("|")[1:-1]]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    values = dict(zip(names, cells, strict=True))
    assert values["test, %"] == "run"
    assert float(values["temperature"]) == pytest.approx(2, rel=0.1)
    for kind in ("label", "present", "sentiment"):
        before, after = (float(values[f"{kind}, {when}"].split()[0]) for when in ("before", "after"))
        assert before > 6 > 3 > after


def test_calibration_error_of_no_run(tmp_path: Path, run_script):
    finished = run_script("benchmarks/calibration_error.py", tmp_path, check=False)
    assert finished.returncode != 0
    assert "holds no seed-*/test_probabilities.parquet" in finished.stderr


def test_pipeline(tiny_classifier: Path, tiny_sentihood: Path, run_here):
    printed = run_here("benchmarks/pipeline.py", tiny_classifier, "--data_dir", tiny_sentihood)
    # 16 texts, every other one with both targets.
    assert printed.startswith("16 texts, 96 questions, 1 threads, float32")
    assert "same labels 96 of 96" in printed
    assert "ratio" in printed


@pytest.mark.slow
def test_onnx_int8(tiny_classifier: Path, tiny_sentihood: Path, run_here):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
    printed = run_here("benchmarks/onnx_int8.py", tiny_classifier, "--data_dir", tiny_sentihood)
    assert printed.startswith("96 rows, batches of 32, ")
    rows = {cells[1].strip(): cells for line in printed.splitlines()[4:] if (cells := line.split("|"))}
    assert list(rows) == ["PyTorch float32", "ONNX float32", "ONNX int8"]
    assert float(rows["ONNX float32"][-2]) < 1e-4
    assert rows["ONNX float32"][4:9] == rows["PyTorch float32"][4:9]
    assert 0 < float(rows["ONNX int8"][-2]) < 0.5


def cells_of(printed: str) -> list[list[str]]:
    """The cells of the rows of all tables, headings and rules left out."""
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def test_step(run_here):
    printed = run_here("benchmarks/step.py", "--size", "tiny", "--lengths", "5", "9", "--batch_sizes", "2")
    heading, _, *rows = cells_of(printed)
    assert [row[:3] for row in rows] == [
        ["2", length, what] for length in ("5", "9") for what in ("inference", "training step")
    ]
    for row in rows:
        bert, ours = (float(row[heading.index(f"{name}, ms")].split()[0]) for name in ("BERT", "QACG-BERT"))
        assert float(row[-2]) == pytest.approx(ours / bert, rel=0.1)
    assert float(rows[1][-1]) > float(rows[1][4]) > 0  # QACG-BERT keeps more for its backward pass than BERT


@pytest.mark.slow
def test_memory(tiny_classifier, run_script):
    rows = cells_of(run_script("benchmarks/memory.py", tiny_classifier, "--megabytes", "1").stdout)
    assert [row[0] for row in rows[2:]] == ["a text of 0.0 MB", "line.jsonl", "packed.jsonl.gz", "texts.parquet"]
    assert all(0 < int(before) <= int(peak) for _, _, before, peak in rows[2:])


@pytest.mark.slow
def test_load_of_a_pipeline(tiny_classifier, run_script):
    words = ("--clients", "3", "--seconds", "2", "--cases", "pipeline")
    row = run_script("benchmarks/load.py", tiny_classifier, *words).stdout.splitlines()[-1].split("|")
    assert row[1].strip() == "pipeline"
    assert int(row[3].replace(",", "")) >= 3
    assert [cell.strip() for cell in row[4:6]] == ["0", "0"]  # wrong, errors


@pytest.mark.slow
def test_profile(run_here):
    rows = cells_of(run_here("benchmarks/step.py", "--size=tiny", "--lengths=5", "--batch_sizes=2", "--profile"))
    first = next(number for number, row in enumerate(rows) if row[0] == "operator, ms")
    assert rows[first][1:] == ["BERT", "CG-BERT", "QACG-BERT"]
    (total,) = (row for row in rows[first : first + 40] if row[0] == "all" and rows.index(row) > first)
    listed = rows[first + 2 : rows.index(total)]
    assert any(row[0] == "aten::addmm" for row in listed)
    assert 0 < sum(float(row[1]) for row in listed) <= float(total[1]) + 0.001 * len(listed)


def test_contexts(finished_run, run_here):
    options = ("--size", "tiny", "--length", "5", "--batch_size", "2", "--num_contexts", "1", "3", "--rounds", "3")
    printed = run_here("benchmarks/contexts.py", *options, "--runs", finished_run[0])
    rows = cells_of(printed)
    assert [row[:2] for row in rows[2:6]] == [[what, k] for what in ("inference", "training step") for k in ("1", "3")]
    assert rows[2][3] == rows[2][4] == "1.00"
    assert rows[-1][:2] == ["all", "2"]
    assert 0 <= float(rows[-1][4].split()[0]) <= 100


def test_epoch(recipe: Path, run_here):
    printed = run_here("benchmarks/epoch.py", recipe, "--seeds", "1")
    rows = cells_of(printed)[2:]
    assert [row[:2] for row in rows] == [["plain", "1"], ["recipe", "1"]]
    assert all(float(row[2]) > float(row[3]) >= 0 and 0.1 < float(row[4]) < 3 for row in rows)
    assert "plain / recipe: " in printed
