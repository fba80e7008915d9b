"""Loading backbones of any kind under new pointers; weights that are missing."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    BartForConditionalGeneration,
    BartModel,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from modeling_generative_absa import PointerABSAConfig, PointerABSAModel, PointerForABSA

SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
BART = BartConfig(
    vocab_size=60, d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=90,
)  # fmt: skip
T5 = T5Config(vocab_size=60, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_decoder_layers=2, num_heads=2)
BACKBONES = {  # the class that is saved, its configuration, the prefix of the backbone's weights in it
    "bert": (BertModel, BertConfig(**SMALL), ""),
    "bert-masked_lm": (BertForMaskedLM, BertConfig(**SMALL), "bert."),
    "distilbert": (
        DistilBertModel,
        DistilBertConfig(vocab_size=60, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40),
        "",
    ),
    "roberta-masked_lm": (RobertaForMaskedLM, RobertaConfig(**SMALL), "roberta."),
    "mpnet": (MPNetModel, MPNetConfig(**SMALL), ""),
    "bart": (BartModel, BART, ""),
    "bart-generation": (BartForConditionalGeneration, BART, "model."),
    "t5-generation": (T5ForConditionalGeneration, T5, ""),
}
NEW = ("model.pointer.", "model.embeddings.", "model.decoder.", "scores.")
TINY = {"max_words": 10, "max_tuples": 3}
BATCH = {
    "input_ids": torch.arange(5, 19).view(2, 7),
    "attention_mask": torch.tensor([[1] * 7, [1] * 5 + [0] * 2]),
    "word_ids": torch.tensor([[-1, 0, 0, 1, 2, 3, -1], [-1, 0, 1, 2, -1, -1, -1]]),
}
LABELS = torch.tensor([[5, 6, 7, 7, 2, 1]] * 2)


def save_backbone(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """Saves a backbone, and returns its weights by their names there, without a pooler's and a head's."""
    torch.manual_seed(3)
    model_class, config, prefix = BACKBONES[name]
    model = model_class(config)
    with torch.no_grad():  # no weight with what a weight has that is not loaded
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    weights = {key.removeprefix(prefix): value for key, value in model.state_dict().items() if key.startswith(prefix)}
    return {key: value for key, value in weights.items() if not key.startswith(("pooler.", "lm_head."))}


@pytest.mark.parametrize("name", BACKBONES)
def test_every_weight_of_a_backbone_is_loaded_and_every_other_is_new(name, tmp_path):
    weights = save_backbone(name, tmp_path)
    model, report = PointerForABSA.from_pretrained(tmp_path, output_loading_info=True, **TINY)
    ours = model.state_dict()
    of_backbone = {key.removeprefix("model.backbone."): ours[key] for key in ours if not key.startswith(NEW)}
    assert of_backbone.keys() == weights.keys()
    for key, value in weights.items():
        assert torch.equal(of_backbone[key], value), key
    assert report["missing_keys"] == {key for key in ours if key.startswith(NEW)}
    assert not model.training
    assert model.config.max_words == 10
    logits = model(**BATCH, labels=LABELS).logits
    assert logits.isfinite().all()

    model.save_pretrained(tmp_path / "saved")
    loaded, report = PointerForABSA.from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not any(report.values())
    assert all(torch.equal(value, ours[key]) for key, value in loaded.state_dict().items())
    torch.testing.assert_close(loaded(**BATCH, labels=LABELS).logits, logits)
    assert torch.equal(loaded.generate(**BATCH), model.generate(**BATCH))
    # Index 2 is a class here; BART's own configuration ends sequences with it.
    assert loaded.generation_config.forced_eos_token_id is None
    assert (loaded.generation_config.eos_token_id, loaded.generation_config.decoder_start_token_id) == (1, 0)


@pytest.mark.parametrize("name", ["bart", "t5-generation"])
def test_embeddings_of_encoder_and_decoder_stay_one(name, tmp_path):
    save_backbone(name, tmp_path)
    PointerForABSA.from_pretrained(tmp_path, **TINY).save_pretrained(tmp_path / "saved")
    for model in (
        PointerForABSA.from_pretrained(tmp_path, **TINY),
        PointerForABSA.from_pretrained(tmp_path / "saved"),
    ):
        backbone = model.model.backbone
        tables = {backbone.shared.weight, backbone.encoder.embed_tokens.weight, backbone.decoder.embed_tokens.weight}
        assert len(tables) == 1


def test_a_configuration_may_be_given_with_the_backbone_and_without(tmp_path):
    weights = save_backbone("bert-masked_lm", tmp_path)
    config = PointerABSAConfig(**TINY)
    whole = PointerABSAConfig(**TINY, backbone_config=BertConfig(**{**SMALL, "hidden_dropout_prob": 0.3}))
    for given in (config, whole):
        model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, config=given)
        assert type(model) is PointerForABSA
        for key, value in weights.items():
            assert torch.equal(model.state_dict()[f"model.backbone.{key}"], value), key
    assert model.model.backbone.config.hidden_dropout_prob == 0.3
    assert config.backbone_config is None  # the user's own stays as it is


def test_the_model_without_a_head_loads_a_backbone(tmp_path):
    save_backbone("bert", tmp_path)
    model, report = PointerABSAModel.from_pretrained(tmp_path, output_loading_info=True, **TINY)
    assert {key.partition(".")[0] for key in report["missing_keys"]} == {"pointer", "embeddings", "decoder"}
    assert not model.training


def test_a_backbone_of_another_type_is_refused(tmp_path):
    save_backbone("bart", tmp_path)
    with pytest.raises(ValueError, match=r"backbone_config is of a bert, .* holds a bart"):
        PointerABSAModel.from_pretrained(tmp_path, config=PointerABSAConfig(backbone_config=BertConfig(**SMALL)))


@pytest.mark.parametrize("fault", ["missing", "mismatched"])
def test_weights_that_would_be_random_are_refused_by_name(tmp_path, fault):
    save_backbone("bart-generation", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    key = "model.decoder.layers.1.fc1.weight"
    value = weights.pop(key)
    if fault == "mismatched":
        weights[key] = value[:, :3].contiguous()
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks 1 weights .*decoder.layers.1.fc1.weight"):
        PointerForABSA.from_pretrained(tmp_path, ignore_mismatched_sizes=True, **TINY)


def test_size_of_new_weights(tmp_path):
    save_backbone("bert", tmp_path)
    torch.manual_seed(0)
    model = PointerForABSA.from_pretrained(tmp_path, initializer_range=0.05, **{**TINY, "max_tuples": 100})
    for name, value in model.state_dict().items():
        if name.startswith(NEW) and "norm" not in name and name.endswith("bias"):
            assert value.eq(0).all(), name
        elif name.startswith(NEW) and "norm" not in name and value.numel() > 200:
            assert value.std() == pytest.approx(0.05, rel=0.15), name


def test_as_many_new_weights_as_the_design_counts():
    """Over MiniLM: two layers, the MLP, three projections, positions, slots and classes."""
    minilm = BertConfig(
        hidden_size=384, num_hidden_layers=1, num_attention_heads=12, intermediate_size=8, vocab_size=10
    )
    with torch.device("meta"):
        model = PointerForABSA(PointerABSAConfig(backbone_config=minilm))
    new = {name: value.numel() for name, value in model.named_parameters() if name.startswith(NEW)}
    layer = 2 * (4 * (384**2 + 384)) + 2 * 4 * 384**2 + 5 * 384 + 3 * 2 * 384
    others = 2 * (384**2 + 384) + 3 * 384**2 + (82 + 2) * 384 + 2 * 384 + 5 * 384 + 5 * 384
    assert sum(new.values()) == 2 * layer + others == 5_508_096


def test_the_pipeline_is_named(tmp_path, make_model):
    make_model().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["custom_pipelines"].keys() == {"aspect-opinion-extraction"}
