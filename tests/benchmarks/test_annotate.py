"""benchmarks/annotate.py runs on a tiny model: what it measures is not tested, only that it measures and checks it."""

from pathlib import Path

import pytest


@pytest.mark.slow
def test_annotate(tiny_classifier: Path, tiny_sentihood: Path, run_script):
    options = ("--data_dir", tiny_sentihood, "--sizes", "40", "--loop_texts", "10", "--shard_size", "16")
    lines = run_script("benchmarks/annotate.py", tiny_classifier, *options).stdout.splitlines()
    assert lines[0].startswith("float32, ")
    # Texts with one target and with both take turns: 5 * 4 + 5 * 8 questions.
    assert lines[2] == "10 texts, 60 questions"
    assert [line.split()[0] for line in lines[3:6]] == ["loop", "annotate.py", "ratio"]
    assert float(lines[5].split()[1]) > 0
    assert lines[6].startswith("same labels 60 of 60, largest difference of a probability ")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[9:] if line.startswith("| 40")]
    assert [row[0] for row in rows] == ["40"]
    for _, seconds, annotating, rate, megabytes in rows:
        assert 0 <= float(annotating) < float(seconds)
        assert float(rate) > 0
        assert 100 < float(megabytes) < 10_000
