"""Checkpoints of earlier releases keep loading, by the code in them and by the package, to the same numbers."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_qacg_bert import AspectSentimentPipeline

RELEASES = sorted(Path(__file__).parent.glob("*.zip"))
MODELS = ("qacg_bert", "cg_bert")
TOLERANCE = 1e-5  # between processors and versions of PyTorch


@pytest.fixture(params=MODELS)
def model_type(request):
    return request.param


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def released(request, model_type, tmp_path):
    """A checkpoint, a batch, the logits it gave, and the texts with their answers."""
    shutil.unpack_archive(request.param, tmp_path)
    checkpoint = tmp_path / model_type
    batch = load_file(checkpoint / "expected.safetensors")
    expected = json.loads((checkpoint / "expected.json").read_text(encoding="utf-8"))
    return checkpoint, batch, batch.pop("logits"), expected


def assert_same_answers(given: list[list[dict]], expected: list[list[dict]]):
    assert sum(map(len, expected)) == 12
    for one, other in zip(given, expected, strict=True):
        for answer, as_released in zip(one, other, strict=True):
            assert set(answer) >= set(as_released)
            for key, value in as_released.items():
                wanted = pytest.approx(value, abs=TOLERANCE) if isinstance(value, (dict, float)) else value
                assert answer[key] == wanted, key


def test_there_are_some():
    assert "0.1.0" in {path.stem for path in RELEASES}


def test_by_the_code_it_carries(released, stranger):
    checkpoint, batch, logits, expected = released
    pipelines = {"aspect-sentiment": {"return_all": True}}
    report, tensors = stranger(checkpoint, batch, AutoModelForSequenceClassification, pipelines, expected["texts"])
    torch.testing.assert_close(tensors["logits"], logits, rtol=0, atol=TOLERANCE)
    assert report["packages"] == ["transformers_modules"]
    assert_same_answers(report["answers"]["aspect-sentiment"], expected["answers"])


def test_by_the_package(released):
    checkpoint, batch, logits, expected = released
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    assert type(model).__module__ == "modeling_qacg_bert.modeling_qacg_bert"
    with torch.no_grad():
        torch.testing.assert_close(model(**batch).logits, logits, rtol=0, atol=TOLERANCE)
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(checkpoint))
    assert_same_answers(pipe(expected["texts"], return_all=True), expected["answers"])
