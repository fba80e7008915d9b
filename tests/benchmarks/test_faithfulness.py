"""benchmarks/faithfulness.py: the curves by hand, and a run on a tiny model."""

from pathlib import Path

import pytest

import faithfulness
from modeling_qacg_bert.processing_qacg_bert import Word


def test_curves():
    a, b = Word(0, 4), Word(5, 9)
    row = {"input_ids": [2, 10, 11, 12, 3, 20, 3], "words": [None, a, a, b, None, None, None]}
    deletion, insertion = faithfulness.curves(row, [b, a], mask_token_id=4)
    whole, nothing = [2, 10, 11, 12, 3, 20, 3], [2, 4, 4, 4, 3, 20, 3]  # special tokens and auxiliary sentence stay
    assert deletion == [whole, [2, 10, 11, 4, 3, 20, 3], nothing]
    assert insertion == [nothing, [2, 4, 4, 12, 3, 20, 3], whole]


def test_area():
    assert faithfulness.area([1.0, 0.5, 0.0]) == pytest.approx(0.5)
    assert faithfulness.area([1.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert faithfulness.area([0.25, 0.25]) == pytest.approx(0.25)


def test_as_a_user_runs_it(tiny_classifier: Path, tiny_sentihood: Path, run_here):
    options = ("--data_dir", tiny_sentihood, "--num_questions", "5")
    lines = run_here("benchmarks/faithfulness.py", tiny_classifier, *options).splitlines()
    assert lines[0].startswith("5 questions of SentiHood's test split, ")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[4:]]
    assert [row[0] for row in rows] == ["gradient", "integrated gradients", "random"]
    for row in rows:
        for cell in row[1:]:
            mean, error = map(float, cell.split(" ± "))
            assert 0 < mean < 1
            assert 0 <= error < 1
