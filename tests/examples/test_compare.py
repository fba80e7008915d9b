"""examples/compare.py, as a user runs it."""

import re
import shutil
from pathlib import Path


def test_a_trained_run_and_another_one(finished_run: tuple[Path, str], tmp_path: Path, run_here):
    run, _ = finished_run
    shutil.copytree(run, tmp_path / "other")
    shutil.rmtree(tmp_path / "other" / "seed-1")
    words = ("--names", "both", "one seed", "--resamples", "5", "--texts", "2")
    words += ("--output", tmp_path / "new" / "page.html")
    printed = run_here("examples/compare.py", run, tmp_path / "other", *words)
    rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    assert [row[:2] for row in rows[2:]] == [["| both", "2"], ["| one seed", "1"], ["| one seed minus both", "1"]]
    assert rows[0][2:4] == ["strict_accuracy", "macro_f1"]
    assert rows[4][2] == "+0.0 [+0.0, +0.0]"
    assert float(rows[2][-2].split()[0]) > 0
    html = (tmp_path / "new" / "page.html").read_text()
    assert re.search(r"\b0 of \d+ rows are answered differently by seed 2;", html)
