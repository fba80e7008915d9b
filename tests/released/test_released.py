"""Checkpoints of earlier releases keep loading, by the code in them and by the package, to the same numbers."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_qacg_bert import AspectSentimentPipeline

CHECKPOINTS = sorted(path.parent for path in Path(__file__).parent.glob("*/*/config.json"))
TOLERANCE = 1e-5  # between processors and versions of PyTorch


@pytest.fixture(params=CHECKPOINTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def released(request):
    """A checkpoint, a batch, the logits it gave, and the texts with their answers."""
    batch = load_file(request.param / "expected.safetensors")
    expected = json.loads((request.param / "expected.json").read_text(encoding="utf-8"))
    return request.param, batch, batch.pop("logits"), expected


def assert_same_answers(given: list[list[dict]], expected: list[list[dict]]):
    assert sum(map(len, expected)) == 12
    for one, other in zip(given, expected, strict=True):
        for answer, as_released in zip(one, other, strict=True):
            assert set(answer) >= set(as_released)
            for key, value in as_released.items():
                wanted = pytest.approx(value, abs=TOLERANCE) if isinstance(value, (dict, float)) else value
                assert answer[key] == wanted, key


def test_there_are_some():
    assert {path.name for path in CHECKPOINTS} == {"qacg_bert", "cg_bert"}


def test_by_the_code_it_carries(released, stranger):
    checkpoint, batch, logits, expected = released
    report, tensors = stranger(checkpoint, batch, expected["texts"])
    torch.testing.assert_close(tensors["logits"], logits, rtol=0, atol=TOLERANCE)
    assert report["packages"] == ["transformers_modules"]
    assert_same_answers(report["answers"], expected["answers"])


def test_by_the_package(released):
    checkpoint, batch, logits, expected = released
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    assert type(model).__module__ == "modeling_qacg_bert.modeling_qacg_bert"
    with torch.no_grad():
        torch.testing.assert_close(model(**batch).logits, logits, rtol=0, atol=TOLERANCE)
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(checkpoint))
    assert_same_answers(pipe(expected["texts"], return_all=True), expected["answers"])
