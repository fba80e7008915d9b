"""benchmarks/faithfulness.py: the curves by hand, and a run on a tiny model."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import faithfulness
from modeling_qacg_bert.processing_qacg_bert import Word

A, B = Word(0, 4), Word(5, 9)
ROW = {"input_ids": [2, 10, 11, 12, 3, 20, 3], "words": [None, A, A, B, None, None, None]}


def test_curves():
    deletion, insertion = faithfulness.curves(ROW, [B, A], mask_token_id=4)
    whole, nothing = [2, 10, 11, 12, 3, 20, 3], [2, 4, 4, 4, 3, 20, 3]  # special tokens and auxiliary sentence stay
    assert deletion == [whole, [2, 10, 11, 4, 3, 20, 3], nothing]
    assert insertion == [nothing, [2, 4, 4, 12, 3, 20, 3], whole]


def test_areas(monkeypatch):
    """Of two rows whose labels have these probabilities along both curves."""
    answers = [[0, p] for p in (1.0, 0.5, 0.0, 0.0, 0.0, 1.0)] + [[0.25, 0.75]] * 4
    monkeypatch.setattr(faithfulness, "probabilities", lambda model, tokenizer, states: torch.tensor(answers))
    tokenizer = SimpleNamespace(mask_token_id=4)
    found = faithfulness.areas(None, tokenizer, [ROW, ROW], labels=[1, 0], ranked=[[B, A], [A]])
    assert found == pytest.approx(np.array([[0.5, 0.25], [0.25, 0.25]]))


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
