"""benchmarks/annotate.py runs on a tiny model: what it measures is not tested, only that it measures and checks it."""

from pathlib import Path

import pytest


@pytest.mark.slow
def test_annotate(tiny_classifier: Path, tiny_sentihood: Path, run_script):
    options = ("--data_dir", tiny_sentihood, "--sizes", "400", "800", "--rows_per_commit", "10", "--bf16", "false")
    lines = run_script("benchmarks/annotate.py", tiny_classifier, *options).stdout.splitlines()
    assert lines[0].startswith("float32, ")
    assert [line.split()[0] for line in lines[1:4]] == ["loop", "annotate.py", "ratio"]
    assert all(float(line.split()[1]) > 0 for line in lines[1:4])
    # Texts with one target and with both take turns: 200 * 4 + 200 * 8 questions.
    assert lines[4].startswith("same labels 2,400 of 2,400, largest difference of a score ")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith(("| 4", "| 8"))]
    assert [row[0] for row in rows] == ["400", "800"]
    for _, seconds, rate, megabytes in rows:
        assert float(seconds) > 0
        assert float(rate) > 0
        assert 100 < float(megabytes) < 10_000
