"""Checkpoints that are broken, or made to do harm: nothing in them is run, and no answer comes from random weights."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import TrainerCallback
from transformers.trainer import DEFAULT_CALLBACKS

from absa import models
from absa.training import checkpoints
from absa.training.run import main
from modeling_qacg_bert import AspectSentimentPipeline


class Harmful:
    """What a pickle does when it is loaded without care."""

    def __init__(self, touched: Path):
        self.touched = touched

    def __reduce__(self):
        return Path.touch, (self.touched,)


@pytest.fixture
def checkpoint(tiny_classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_classifier, tmp_path / "checkpoint"))


@pytest.fixture
def load(checkpoint: Path) -> Callable:
    return lambda: models.load_classifier("model", str(checkpoint))


def change_weights(checkpoint: Path, change: Callable[[dict[str, torch.Tensor]], None]):
    weights = load_file(checkpoint / "model.safetensors")
    change(weights)
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})


def test_a_pickle_is_not_opened(checkpoint: Path, load, tmp_path: Path):
    weights = {**load_file(checkpoint / "model.safetensors"), "harmful": Harmful(tmp_path / "touched")}
    (checkpoint / "model.safetensors").unlink()
    torch.save(weights, checkpoint / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match=r"model=.* no file named model.safetensors"):
        load()
    assert not (tmp_path / "touched").exists()
    torch.load(checkpoint / "pytorch_model.bin", weights_only=False)
    assert (tmp_path / "touched").exists(), "the pickle is harmless, and the test shows nothing"


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_going_on_runs_no_pickle(tmp_path: Path, recipe: Path, run_in_process, monkeypatch, name: str):
    """Of a training checkpoint that someone else has changed."""
    words = [str(recipe), "--seeds", "1", "--output_dir", str(tmp_path / "run")]

    class Stop(TrainerCallback):
        def on_save(self, args, state, control, **kwargs):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, Stop])
        with pytest.raises(KeyboardInterrupt):
            run_in_process(main, words)
    (folder,) = (tmp_path / "run" / "seed-1").glob("checkpoint-*")
    (folder / name).write_bytes(pickle.dumps(Harmful(tmp_path / "touched"), protocol=2))
    checkpoints.mark_complete(folder)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        run_in_process(main, words)
    assert not (tmp_path / "touched").exists()


def test_shards_lie_beside_their_index(checkpoint: Path, load, tmp_path: Path):
    names = list(load_file(checkpoint / "model.safetensors"))
    os.replace(checkpoint / "model.safetensors", tmp_path / "other.safetensors")
    index = checkpoint / "model.safetensors.index.json"
    for shard in ("../other.safetensors", str(tmp_path / "other.safetensors")):
        index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, shard)}))
        with pytest.raises(ValueError, match=r"model=.*index.json names files outside of it"):
            load()
    for broken in ("{", "[]", '{"weight_map": []}'):
        index.write_text(broken)
        with pytest.raises(ValueError, match=r"index.json is no index of shards"):
            load()
    os.replace(tmp_path / "other.safetensors", checkpoint / "part.safetensors")
    index.write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(names, "part.safetensors")}))
    load()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda weights: weights.pop("classifier.weight"), "lacks 1 weights: classifier.weight"),
        (lambda weights: weights.pop("bert.pooler.dense.bias"), "lacks 1 weights: bert.pooler.dense.bias"),
        (
            lambda weights: weights.update({"classifier.bias": torch.zeros(5)}),
            "has other sizes in 1 weights: classifier.bias",
        ),
        (
            lambda weights: weights["classifier.bias"].fill_(float("nan")),
            "is not finite in 1 weights: classifier.bias",
        ),
        (
            lambda weights: weights.update({"classifier.weight": torch.arange(96).reshape(3, 32)}),
            "has whole numbers only in 1 weights: classifier.weight",
        ),
    ],
)
def test_weights_that_are_not_those_of_a_classifier(checkpoint: Path, load, change: Callable, told: str):
    change_weights(checkpoint, change)
    with pytest.raises(ValueError, match=f"model=.* {told}"):
        load()


def change_config(checkpoint: Path, **fields):
    file = checkpoint / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_layers_that_the_configuration_leaves_out(checkpoint: Path, load):
    change_config(checkpoint, num_hidden_layers=1)
    with pytest.raises(ValueError, match=r"has, beside those of its configuration, \d+ weights: bert.encoder.layer.1"):
        load()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"id2label": {"0": "none", "1": "positive", "2": "positive"}}, "has the labels"),
        ({"hidden_act": "nope"}, "cannot be loaded"),
        ({"num_attention_heads": 0}, "cannot be loaded"),
        ({"num_hidden_layers": 10**9}, "has num_hidden_layers=1000000000: give a finite number"),
        ({"id2label": {"a": "b"}}, "cannot be loaded"),
        ({"vocab_size": 10}, "tokenizer of|other sizes"),
    ],
)
def test_configurations_that_fit_nothing(checkpoint: Path, load, fields: dict, told: str):
    change_config(checkpoint, **fields)
    with pytest.raises(ValueError, match=rf"model=.* {told}"):
        load()


@pytest.mark.parametrize("content", ["", "{", "null", "[" * 100_000, '{"model_type": []}'])
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_files_that_are_no_json(checkpoint: Path, load, name: str, content: str):
    (checkpoint / name).write_text(content)
    with pytest.raises((ValueError, FileNotFoundError), match="model="):
        load()


@pytest.mark.parametrize("size", [0, 7, 1000])
def test_weights_that_are_cut_off(checkpoint: Path, load, size: int):
    os.truncate(checkpoint / "model.safetensors", size)
    with pytest.raises(ValueError, match=r"model=.* has weights that cannot be read"):
        load()


def test_answers_that_are_no_numbers_are_not_given(load):
    model, tokenizer = load()
    with torch.no_grad():
        model.classifier.bias[1] = float("inf")
    with pytest.raises(ValueError, match="the model's answers are not finite"):
        AspectSentimentPipeline(model=model, tokenizer=tokenizer)("LOCATION1 is dear")
