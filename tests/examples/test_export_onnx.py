"""What examples/export_onnx.py writes, run by onnxruntime on sizes that it did not see.

`test_readme.py` runs it as a user does.
"""

import contextlib
import io
import re
from pathlib import Path

import export_onnx as exporting
import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from absa import models as backbones
from absa.tasks import classification

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
SCRIPT = "examples/export_onnx.py"


def inputs(model, batch_size: int, length: int, padding: str | None) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(batch_size * 100 + length)
    mask = torch.ones(batch_size, length, dtype=torch.long)
    for row in range(batch_size):
        padded = row % (length // 2 + 1)
        if padding == "right":
            mask[row, length - padded :] = 0
        elif padding == "left":
            mask[row, :padded] = 0
    batch = {
        "input_ids": torch.randint(5, model.config.vocab_size, (batch_size, length), generator=generator) * mask,
        "attention_mask": mask,
        "token_type_ids": torch.randint(0, 2, (batch_size, length), generator=generator),
    }
    if model.config.model_type != "bert":
        batch["context_ids"] = torch.randint(0, model.config.num_contexts, (batch_size,), generator=generator)
    return batch


@pytest.fixture(
    params=["qacg_bert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cg_bert", "bert"))], scope="module"
)
def exported(request, tmp_path_factory, tiny_bert):
    """A tiny classifier with weights large enough to differ by, and the folder it was exported to."""
    contexts = classification.Contexts(("LOCATION1", "LOCATION2"), ("price", "safety"))
    config = backbones.build_config(request.param, str(tiny_bert), contexts, ["none", "positive", "negative"])
    torch.manual_seed(0)
    model = backbones.load_model(str(tiny_bert), config, "sdpa").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    model.save_pretrained(checkpoint)
    backbones.load_tokenizer(str(tiny_bert), config).save_pretrained(checkpoint)
    folder = tmp_path_factory.mktemp("exported") / "onnx"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exporting.main(exporting.ExportArguments(str(checkpoint), str(folder), int8=True))
    return model, folder, printed.getvalue()


def run(file: Path, batch: dict[str, torch.Tensor]) -> np.ndarray:
    (logits,) = onnxruntime.InferenceSession(file).run(None, {name: value.numpy() for name, value in batch.items()})
    return logits


@pytest.mark.parametrize("padding", [None, "right", "left"])
@pytest.mark.parametrize(("batch_size", "length"), [(1, 1), (1, 9), (5, 24), (13, 64)])
def test_logits_are_those_of_pytorch(exported, batch_size, length, padding):
    model, folder, _ = exported
    batch = inputs(model, batch_size, length, padding)
    with torch.no_grad():
        expected = model(**batch).logits.numpy()
    np.testing.assert_allclose(run(folder / "model.onnx", batch), expected, rtol=0, atol=1e-4)
    assert batch_size == 1 or np.ptp(expected, axis=0).max() > 1e-2, "rows this alike would prove little"


def test_int8_is_near(exported):
    model, folder, _ = exported
    batch = inputs(model, 13, 24, "right")
    with torch.no_grad():
        expected = model(**batch).logits.numpy()
    given = run(folder / "model.int8.onnx", batch)
    assert given.shape == expected.shape
    difference = np.abs(given - expected).max()
    assert 0 < difference < 0.5 * np.ptp(expected)


def test_what_is_written(exported):
    model, folder, printed = exported
    files = {path.name for path in folder.iterdir()}
    assert {"model.onnx", "model.int8.onnx", "config.json", "tokenizer.json"} <= files
    assert not any(name.endswith((".data", ".safetensors", ".bin")) for name in files)
    assert AutoConfig.from_pretrained(folder).aspects == ["price", "safety"]
    assert len(AutoTokenizer.from_pretrained(folder)) == model.config.vocab_size
    assert [line.split(":")[0] for line in printed.splitlines()] == [
        str(folder / "model.onnx"),
        str(folder / "model.int8.onnx"),
    ]


@pytest.mark.slow
def test_an_error_is_told_in_a_line(tmp_path: Path, run_script):
    finished = run_script(SCRIPT, "no/such", tmp_path / "out", check=False)
    assert finished.returncode != 0
    assert "checkpoint=no/such is no folder with a model" in finished.stderr.splitlines()[-1]


def test_errors(tiny_classifier: Path, tiny_bert: Path, tmp_path: Path, run_here):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises((ValueError, OSError), match=re.escape(f"output_dir={tmp_path} is not an empty folder")):
        run_here(SCRIPT, tiny_classifier, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    model = AutoModelForSequenceClassification.from_pretrained(tiny_bert)
    nameless = tmp_path / "nameless"
    model.save_pretrained(nameless)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(nameless)
    with pytest.raises(ValueError, match="names no aspects"):
        run_here(SCRIPT, nameless, tmp_path / "out")
    assert not (tmp_path / "out").exists()
