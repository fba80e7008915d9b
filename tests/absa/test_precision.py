"""bfloat16 where the hardware has it, and figures of the model as it answers: in float32."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa import precision
from absa.training import arguments
from modeling_qacg_bert import AspectSentimentPipeline


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True}, True),
        ({"architecture": "aarch64", "bf16": True}, True),
        ({}, False),
    ],
    ids=["avx2", "avx512", "amx", "arm", "unknown"],
)
def test_auto_on_a_cpu(monkeypatch, capabilities, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert precision.use_bfloat16("auto", "cpu") is expected


@pytest.mark.parametrize("native", [False, True])
def test_auto_on_a_gpu_asks_without_emulation(monkeypatch, native):
    # A T4 says yes with emulation.
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation or native)
    assert precision.use_bfloat16("auto", "cuda") is native


@pytest.mark.parametrize(("native", "warned"), [(False, True), (True, False)])
def test_true_is_obeyed(monkeypatch, native, warned):
    monkeypatch.setattr(precision, "has_bfloat16", lambda device_type: native)
    with pytest.raises(ValueError, match="bf16=fast: auto, true or false"):
        precision.use_bfloat16("fast", "cpu")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert precision.use_bfloat16("true", "cpu") is True
        assert precision.use_bfloat16("false", "cpu") is False
        assert precision.use_bfloat16(True, "cpu") is True  # resolved before
    assert ["this cpu emulates bfloat16" in str(warning.message) for warning in caught] == [True] * warned


@pytest.mark.parametrize(
    ("words", "expected"),
    [([], True), (["--bf16"], True), (["--bf16", "false"], False), (["--fp16"], False)],
    ids=["default", "alone", "false", "beside fp16"],
)
def test_training_arguments_hold_what_it_became(monkeypatch, words, expected):
    monkeypatch.setattr(precision, "has_bfloat16", lambda device_type: True)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    if "--fp16" in words:
        monkeypatch.setattr("transformers.TrainingArguments._validate_args", lambda self: None)
    _, _, training = arguments.parse_arguments(words)
    assert training.bf16 is expected


def test_scores_temperature_and_probabilities_are_of_float32(tmp_path: Path, recipe: Path, run_here):
    """Trained in bfloat16, a run leaves behind the figures of the float32 model that the pipeline runs."""
    folder = tmp_path / "run"
    run_here("examples/run_absa.py", recipe, "--bf16", "--num_train_epochs", "1", "--output_dir", folder)
    assert json.loads((folder / "arguments.json").read_text())["bf16"] is True
    stored = pd.read_parquet(folder / "seed-42" / "test_probabilities.parquet")
    labels = [name for name in stored if name.startswith("p_")]
    model = AutoModelForSequenceClassification.from_pretrained(folder / "seed-42")
    temperature, model.config.calibration_temperature = model.config.calibration_temperature, 1.0
    assert temperature != 1
    tokenizer = AutoTokenizer.from_pretrained(folder / "seed-42")
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, return_all=True)
    texts = json.loads((Path(json.loads(recipe.read_text())["data_dir"]) / "sentihood-test.json").read_text())
    answers = [answer for of_text in pipe([sentence["text"] for sentence in texts]) for answer in of_text]
    answered = [[answer["probabilities"][name.removeprefix("p_")] for name in labels] for answer in answers]
    np.testing.assert_allclose(stored[labels].to_numpy(), answered, atol=2e-6)
