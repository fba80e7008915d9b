"""Loading encoders of any kind; weights that are missing."""

import json
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForTokenClassification,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraForPreTraining,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

from modeling_global_context import (
    GlobalContextConfig,
    GlobalContextForTokenClassification,
    GlobalContextModel,
    labels_of,
)

SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
ENCODERS = {  # the class that is saved, its configuration, the prefix of the encoder's weights in it
    "bert": (BertModel, BertConfig(**SMALL), ""),
    "bert-masked_lm": (BertForMaskedLM, BertConfig(**SMALL), "bert."),
    "distilbert": (
        DistilBertModel,
        DistilBertConfig(vocab_size=60, dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40),
        "",
    ),
    "roberta-masked_lm": (RobertaForMaskedLM, RobertaConfig(**SMALL), "roberta."),
    "electra-pretraining": (ElectraForPreTraining, ElectraConfig(**SMALL, embedding_size=8), "electra."),
    "mpnet": (MPNetModel, MPNetConfig(**SMALL), ""),
}
NEW = ("model.lstm.", "model.context.", "model.attention.", "classifier.", "crf.")
TINY = {"lstm_size": 12, "num_labels": 5}
BATCH = {"input_ids": torch.arange(5, 19).view(2, 7), "attention_mask": torch.tensor([[1] * 7, [1] * 5 + [0] * 2])}


def save_encoder(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """Saves an encoder, and returns its weights by their names there, without a pooler's and a head's."""
    torch.manual_seed(3)
    model_class, config, prefix = ENCODERS[name]
    model = model_class(config)
    with torch.no_grad():  # no weight with what a weight has that is not loaded
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    weights = {key.removeprefix(prefix): value for key, value in model.state_dict().items() if key.startswith(prefix)}
    return {key: value for key, value in weights.items() if not key.startswith("pooler.")}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_weight_of_an_encoder_is_loaded_and_every_other_is_new(name, tmp_path):
    weights = save_encoder(name, tmp_path)
    model, report = GlobalContextForTokenClassification.from_pretrained(
        tmp_path, crf=True, output_loading_info=True, **TINY
    )
    ours = model.state_dict()
    of_encoder = {key.removeprefix("model.encoder."): ours[key] for key in ours if not key.startswith(NEW)}
    assert of_encoder.keys() == weights.keys()
    for key, value in weights.items():
        assert torch.equal(of_encoder[key], value), key
    assert report["missing_keys"] == {key for key in ours if key.startswith(NEW)}
    assert not model.training
    assert (model.config.lstm_size, model.config.num_labels, model.config.crf) == (12, 5, True)
    assert model(**BATCH, token_type_ids=torch.zeros_like(BATCH["input_ids"])).logits.isfinite().all()
    assert model.num_parameters() == sum(
        parameter.numel() for parameter in model.parameters() if parameter.requires_grad
    )

    model.save_pretrained(tmp_path / "saved")
    loaded, report = GlobalContextForTokenClassification.from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not any(report.values())
    assert all(torch.equal(value, ours[key]) for key, value in loaded.state_dict().items())
    torch.testing.assert_close(loaded(**BATCH).logits, model(**BATCH).logits)


def test_a_configuration_may_be_given_with_the_encoder_and_without(tmp_path):
    weights = save_encoder("bert-masked_lm", tmp_path)
    config = GlobalContextConfig(**TINY)
    whole = GlobalContextConfig(**TINY, encoder_config=BertConfig(**{**SMALL, "hidden_dropout_prob": 0.3}))
    for given in (config, whole):
        model = AutoModelForTokenClassification.from_pretrained(tmp_path, config=given)
        assert type(model) is GlobalContextForTokenClassification
        for key, value in weights.items():
            assert torch.equal(model.state_dict()[f"model.encoder.{key}"], value), key
    assert model.model.encoder.config.hidden_dropout_prob == 0.3
    assert config.encoder_config is None  # the user's own stays as it is
    with pytest.raises(StrictDataclassError, match="validate_encoder"):
        GlobalContextModel.from_pretrained(tmp_path, config=GlobalContextConfig(vocab_size=60))


def test_the_model_without_a_head_loads_an_encoder(tmp_path):
    weights = save_encoder("bert", tmp_path)
    model, report = GlobalContextModel.from_pretrained(tmp_path, output_loading_info=True, lstm_size=12)
    for key, value in weights.items():
        assert torch.equal(model.state_dict()[f"encoder.{key}"], value), key
    assert {key.partition(".")[0] for key in report["missing_keys"]} == {"lstm", "context"}


def test_an_encoder_of_another_type_is_refused(tmp_path):
    save_encoder("electra-pretraining", tmp_path)
    with pytest.raises(ValueError, match=r"encoder_config is of a bert, .* holds a electra"):
        GlobalContextModel.from_pretrained(tmp_path, config=GlobalContextConfig(encoder_config=BertConfig(**SMALL)))


@pytest.mark.parametrize("fault", ["missing", "mismatched"])
def test_weights_that_would_be_random_are_refused_by_name(tmp_path, fault):
    save_encoder("bert-masked_lm", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    key = "bert.encoder.layer.1.output.dense.weight"
    value = weights.pop(key)
    if fault == "mismatched":
        weights[key] = value[:, :3].contiguous()
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks 1 weights .*encoder.layer.1.output.dense.weight"):
        GlobalContextForTokenClassification.from_pretrained(tmp_path, ignore_mismatched_sizes=True, **TINY)


def test_size_of_new_weights(tmp_path):
    save_encoder("bert", tmp_path)
    torch.manual_seed(0)
    model = GlobalContextForTokenClassification.from_pretrained(tmp_path, lstm_size=100, num_labels=30, crf=True)
    for name, value in model.state_dict().items():
        if name.startswith("model.lstm."):
            assert 0.9 * 50**-0.5 < value.abs().max() <= 50**-0.5, name
        elif name.startswith("crf."):
            assert 0.05 < value.abs().max() <= 0.1, name
        elif name.startswith(NEW) and name.endswith("bias"):
            assert value.eq(0).all(), name
        elif name.startswith(NEW):
            assert value.std() == pytest.approx(0.02, rel=0.1), name


def test_weights_of_a_head_that_are_missing_are_initialised(tmp_path, make_model):
    model = make_model(crf=True)
    model.base_model.save_pretrained(tmp_path)
    loaded, report = GlobalContextForTokenClassification.from_pretrained(tmp_path, output_loading_info=True)
    of_head = {key for key in loaded.state_dict() if not key.startswith("model.")}
    assert report["missing_keys"] == of_head
    for name in ("transitions", "start_transitions", "end_transitions"):
        assert 0 < getattr(loaded.crf, name).abs().max() <= 0.1
    for key, value in loaded.base_model.state_dict().items():
        assert torch.equal(value, model.base_model.state_dict()[key]), key


def test_a_bilstm_that_is_missing_is_initialised_as_torch_does(tmp_path, make_model):
    make_model(use_bilstm=False, interaction="none").save_pretrained(tmp_path)
    loaded = GlobalContextForTokenClassification.from_pretrained(
        tmp_path, use_bilstm=True, lstm_size=16, ignore_mismatched_sizes=True
    )
    for name, value in loaded.model.lstm.named_parameters():
        assert 0.5 * 8**-0.5 < value.abs().max() <= 8**-0.5, name


@pytest.mark.parametrize(
    ("labels", "tasks"),
    [
        (labels_of("BIEOS", ["POS"]), {"aspect-term-sentiment", "token-classification", "ner"}),
        (labels_of("BIO", ["POS"]), {"aspect-term-sentiment", "token-classification", "ner"}),
        (["NN", "VB"], set()),
    ],
    ids=["BIEOS", "BIO", "plain"],
)
def test_labels_of_spans_have_pipelines(tmp_path, make_model, labels, tasks):
    make_model(labels=labels).save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["custom_pipelines"].keys() == tasks
