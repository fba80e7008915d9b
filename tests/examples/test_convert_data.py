"""examples/convert_data.py as a user runs it."""

from pathlib import Path

import pytest

SCRIPT = "examples/convert_data.py"


def test_what_was_written_and_what_was_not_is_told(tmp_path: Path, run_here):
    source, output = tmp_path / "a.txt", tmp_path / "a.xml"
    source.write_text("Great $T$ here .\nfood\n2\nGreat food $T$ .\nhere\n1\n")
    words = (SCRIPT, source, output, "--to", "semeval2014")
    with pytest.raises(ValueError, match="labels=2: give each as label=name, such as 2=positive"):
        run_here(*words, "--labels", "2")
    with pytest.raises(ValueError, match="labels=2=positive 2=negative: a label is given twice; keep one name for it"):
        run_here(*words, "--labels", "2=positive", "2=negative")
    assert run_here(*words, "--labels", "2=positive").splitlines() == [
        f"{source} (apc): 1 sentences, 2 opinions",
        f"{output} (semeval2014): 1 sentences, 1 opinions",
        "  1 opinions have the label '1': left out",
    ]
    with pytest.raises(FileExistsError, match=r"a\.xml is there already; remove it, or choose"):
        run_here(*words, "--from", "apc", "--labels", "2=positive")
