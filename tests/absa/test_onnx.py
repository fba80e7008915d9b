"""What examples/export_onnx.py writes, run by onnxruntime on sizes that it did not see, and without PyTorch."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import absa
from absa import models as backbones
from absa.tasks.classification import describe
from modeling_qacg_bert import AspectSentimentPipeline, Contexts

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
from absa.onnx import random_batch, session

SCRIPT = "examples/export_onnx.py"
WITHOUT_TORCH = """
import runpy, sys
sys.modules.update(dict.fromkeys(("torch", "transformers", "absa", "modeling_qacg_bert")))
runpy.run_path(SCRIPT, run_name="__main__")
"""


@pytest.fixture(
    params=["qacg_bert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cg_bert", "bert", "scalar_mix"))],
    scope="module",
)
def exported(request, tmp_path_factory, tiny_bert, run_script):
    """A tiny classifier with weights large enough to differ by, its pipeline, and the folder of its export."""
    contexts = Contexts(("LOCATION1", "LOCATION2"), ("price", "transit-location"))
    symmetric = request.param != "cg_bert"
    labels = ["none", "positive", "negative"]
    described = describe(contexts, labels, auxiliary_sentence=symmetric, symmetric_targets=symmetric)
    config = backbones.build_config(request.param, str(tiny_bert), described)
    config.calibration_temperature = 1.5
    if hasattr(config, "special_token_ids"):
        config.special_token_ids = [2, 3]
    torch.manual_seed(0)
    model = backbones.load_model(str(tiny_bert), config, "sdpa").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    tokenizer = backbones.load_tokenizer(str(tiny_bert), config)
    folder = tmp_path_factory.mktemp("exported")
    model.save_pretrained(folder / "checkpoint")
    tokenizer.save_pretrained(folder / "checkpoint")
    run_script(SCRIPT, folder / "checkpoint", folder / "onnx", "--int8")
    return model, AspectSentimentPipeline(model=model, tokenizer=tokenizer), folder / "onnx"


@pytest.mark.parametrize(("batch_size", "length"), [(1, 1), (1, 9), (5, 24), (13, 64)])
def test_logits_are_those_of_pytorch(exported, batch_size: int, length: int):
    model, _, folder = exported
    batch = random_batch(model, batch_size, length)
    with torch.no_grad():
        expected = model(**batch).logits.numpy()
    given, quantised = (
        session(folder / name).run(None, {name: value.numpy() for name, value in batch.items()})[0]
        for name in ("model.onnx", "model.int8.onnx")
    )
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-4)
    if batch_size > 1:
        assert np.ptp(expected, axis=0).max() > 1e-2, "rows this alike would prove little"
        assert 0 < np.abs(quantised - expected).max() < 0.5 * np.ptp(expected)


@pytest.mark.parametrize(
    "text", ["LOCATION1 is dear,  but LOCATION2's safe, LOCATION_12 cheap", "safe and dear " * 40]
)
def test_answers_without_pytorch_are_the_pipelines(exported, tmp_path: Path, repo_root: Path, text: str):
    _, pipe, folder = exported
    script = WITHOUT_TORCH.replace("SCRIPT", repr(str(repo_root / "examples" / "predict_onnx.py")))
    words = [sys.executable, "-c", script, folder, text]
    finished = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    lines = [line.split() for line in finished.stdout.splitlines()]
    asked = [
        {"text": text, "target": target, "aspect": aspect}
        for target, aspect in Contexts.from_config(pipe.model.config)
    ]
    answers = pipe(asked)
    assert [line[:3] for line in lines] == [
        [answer[key] for key in ("target", "aspect", "label")] for answer in answers
    ]
    assert [float(line[3]) for line in lines] == pytest.approx([answer["score"] for answer in answers], abs=2e-4)
    assert len({line[3] for line in lines}) > 1


def test_answers_about_words(tiny_bert: Path, save_word_model, tmp_path: Path, run_here):
    """Of a model whose training named no aspects; those of the export are asked about."""
    text, checkpoint, aspects = "The price is dear, the place safe.", tmp_path / "pairs", ["price", "safe", "noise"]
    config = backbones.build_config("bert", str(tiny_bert), describe(None, ["positive", "negative"]))
    torch.manual_seed(0)
    model = backbones.load_model(str(tiny_bert), config, "sdpa")
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    model.save_pretrained(checkpoint)
    backbones.load_tokenizer(str(tiny_bert), config).save_pretrained(checkpoint)
    with pytest.raises(ValueError, match="aspects is empty, and this model's training named none: give words"):
        run_here(SCRIPT, checkpoint, tmp_path / "onnx")
    run_here(SCRIPT, checkpoint, tmp_path / "onnx", "--aspects", *aspects)
    printed = run_here("examples/predict_onnx.py", tmp_path / "onnx", text)
    lines = [line.rsplit(maxsplit=2) for line in printed.splitlines()]
    answers = absa.load(str(checkpoint)).pipe(text, aspects=aspects)
    assert [(about.strip(), label) for about, label, _ in lines] == [(one["aspect"], one["label"]) for one in answers]
    scores = [answer["score"] for answer in answers]
    assert [float(score) for _, _, score in lines] == pytest.approx(scores, abs=2e-4)
    assert np.ptp(scores) > 0.01
    with pytest.raises(ValueError, match="a AFLstmForSequenceClassification with an LSTM cannot be exported"):
        run_here(SCRIPT, save_word_model(text), tmp_path / "lstm", "--aspects", "price")


def test_errors(tiny_bert: Path, tiny_tagger: Path, tmp_path: Path, run_here):
    with pytest.raises(FileExistsError, match=re.escape(f"output_dir={tmp_path.parent} is not an empty folder")):
        run_here(SCRIPT, tiny_bert, tmp_path.parent)
    nameless = tmp_path / "nameless"
    AutoModelForSequenceClassification.from_pretrained(tiny_bert).save_pretrained(nameless)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(nameless)
    with pytest.raises(ValueError, match="names no aspects"):
        run_here(SCRIPT, nameless, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match=r"checkpoint=.* holds a GlobalContextForTokenClassification, and only"):
        run_here(SCRIPT, tiny_tagger, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit, match=r"has no questions.json: give a folder that examples/export_onnx.py"):
        run_here("examples/predict_onnx.py", tiny_tagger, "The price is dear")
