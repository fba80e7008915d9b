"""Encoders of any kind become the encoder of a new model; training does the rest."""

import json
from pathlib import Path

import pytest
import torch
import yaml
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraForPreTraining,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

import absa
from absa.models import build_config, load_model
from absa.tasks.classification import describe
from absa.training.arguments import ABSATrainingArguments
from absa.training.trainer import ABSATrainer
from modeling_qacg_bert import Contexts
from modeling_scalar_mix import ScalarMixConfig, ScalarMixForSequenceClassification, ScalarMixModel

SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
DISTILBERT = {
    "vocab_size": 60,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "hidden_dim": 24,
    "max_position_embeddings": 40,
}
ENCODERS = {  # the class that is saved, its configuration, the prefix of the encoder's weights in it
    "bert-masked_lm": (BertForMaskedLM, BertConfig(**SMALL), "bert."),
    "distilbert": (DistilBertModel, DistilBertConfig(**DISTILBERT), ""),
    "roberta-masked_lm": (RobertaForMaskedLM, RobertaConfig(**SMALL), "roberta."),
    "electra-pretraining": (ElectraForPreTraining, ElectraConfig(**SMALL, embedding_size=16), "electra."),
    "mpnet": (MPNetModel, MPNetConfig(**SMALL), ""),
}
BATCH = {"input_ids": torch.arange(5, 19).view(2, 7), "attention_mask": torch.tensor([[1] * 7, [1] * 5 + [0] * 2])}


def save_encoder(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """Saves an encoder, and returns its weights by their names there, without a pooler's and a head's."""
    torch.manual_seed(3)
    model_class, config, prefix = ENCODERS[name]
    model = model_class(config)
    model.save_pretrained(folder)
    weights = {key.removeprefix(prefix): value for key, value in model.state_dict().items() if key.startswith(prefix)}
    return {key: value for key, value in weights.items() if not key.startswith("pooler.")}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_weight_of_an_encoder_is_loaded_and_every_other_is_new(name, tmp_path):
    weights = save_encoder(name, tmp_path)
    torch.manual_seed(0)
    model, report = ScalarMixForSequenceClassification.from_pretrained(
        tmp_path, dense_size=10, num_labels=5, output_loading_info=True
    )
    ours, of_encoder = model.state_dict(), "model.encoder."
    found = {key.removeprefix(of_encoder): value for key, value in ours.items() if key.startswith(of_encoder)}
    assert found.keys() == weights.keys()
    for key, value in weights.items():
        assert torch.equal(found[key], value), key
    new = {"model.mix.weights", "model.mix.gamma", "dense.weight", "dense.bias", "classifier.weight"}
    assert report["missing_keys"] == {*new, "classifier.bias"} == ours.keys() - {of_encoder + key for key in found}
    assert ours["model.mix.weights"].tolist() == [0.0] * 3
    assert ours["model.mix.gamma"].tolist() == [1.0]
    assert ours["dense.weight"].std().item() == pytest.approx(0.02, rel=0.2)
    assert not model.training
    assert model(**BATCH, token_type_ids=torch.zeros_like(BATCH["input_ids"])).logits.isfinite().all()

    with torch.no_grad():
        model.model.mix.weights.copy_(torch.tensor([0.5, -1.0, 2.0]))
    model.save_pretrained(tmp_path / "saved")
    loaded, report = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not any(report.values())
    assert torch.equal(loaded(**BATCH).logits, model(**BATCH).logits)
    assert loaded.layer_weights() == model.layer_weights()


def test_a_configuration_may_be_given(tmp_path):
    weights = save_encoder("bert-masked_lm", tmp_path)
    config = ScalarMixConfig(mix="last")
    model, report = ScalarMixModel.from_pretrained(tmp_path, config=config, output_loading_info=True)
    assert report["missing_keys"] == {"mix.gamma"}
    assert config.encoder_config is None  # the user's own stays as it is
    assert torch.equal(model.state_dict()["encoder.embeddings.LayerNorm.bias"], weights["embeddings.LayerNorm.bias"])
    with pytest.raises(ValueError, match=r"encoder_config is of a electra, .* holds a bert"):
        ScalarMixModel.from_pretrained(tmp_path, config=ScalarMixConfig(encoder_config=ElectraConfig(**SMALL)))


def test_a_frozen_encoder_stays_so(tmp_path):
    save_encoder("bert-masked_lm", tmp_path)
    model = ScalarMixForSequenceClassification.from_pretrained(tmp_path, freeze_encoder=True).train()
    model.save_pretrained(tmp_path / "saved")
    for one in (model, ScalarMixForSequenceClassification.from_pretrained(tmp_path / "saved").train()):
        assert sum(parameter.requires_grad for parameter in one.parameters()) == 4
        assert not one.model.encoder.training


def test_weights_that_would_be_random_are_refused(tmp_path):
    save_encoder("bert-masked_lm", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ValueError, match=r"lacks 16 weights of its encoder, .*encoder.layer.2.*Give a complete"):
        ScalarMixModel.from_pretrained(tmp_path)


def test_neither_w_nor_gamma_decays_and_both_have_their_own_rate(tiny_bert: Path, tmp_path: Path):
    config = build_config("scalar_mix", str(tiny_bert), describe(Contexts((), ("price",)), ["good", "bad"]))
    model = load_model(str(tiny_bert), config, "sdpa")
    without_evaluation = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
    for rates, expected in [({}, 2e-5), ({"learning_rates": {"mix": 3e-3}}, 3e-3)]:
        arguments = ABSATrainingArguments(output_dir=str(tmp_path), **without_evaluation, **rates)
        groups = ABSATrainer(model=model, args=arguments).create_optimizer().param_groups
        of_mix = {id(parameter) for parameter in model.model.mix.parameters()}
        found = [group for group in groups if of_mix & {id(parameter) for parameter in group["params"]}]
        assert [(group["lr"], group["weight_decay"]) for group in found] == [(expected, 0.0)]
        decayed = [parameter for group in groups if group["weight_decay"] for parameter in group["params"]]
        assert any(parameter is model.classifier.weight for parameter in decayed)


def test_the_recipe_trains_and_answers(
    tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, repo_root: Path, run_here
):
    recipe = "configuration/recipes/semeval2014_scalar_mix.yaml"
    rates = yaml.safe_load((repo_root / recipe).read_text())
    assert rates["new_learning_rate"] == pytest.approx(10 * rates["learning_rate"])
    options = ("--dataset", "sentihood", "--data_dir", tiny_sentihood, "--model_name_or_path", tiny_bert)
    options += ("--num_train_epochs", "4", "--learning_rate", "5e-3", "--bf16", "false", "--output_dir", tmp_path)
    run_here("examples/run_absa.py", recipe, *options)
    model = ScalarMixForSequenceClassification.from_pretrained(tmp_path / "seed-42")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "seed-42")
    assert sorted(model.config.special_token_ids) == [tokenizer.cls_token_id, tokenizer.sep_token_id]
    shares = model.layer_weights()["s"]
    assert len(shares) == 3
    assert 1e-5 < max(shares) - min(shares) < 0.1  # at its rate w has moved, and not far
    text = "LOCATION1 is safe but dear"
    opinions = absa.load(str(tmp_path / "seed-42"))(text, return_all=True)
    assert [opinion.aspect for opinion in opinions] == model.config.aspects
    pair = tokenizer("location - 1 is safe but dear", "location - 1 - price", return_tensors="pt")
    logits = model(**pair).logits[0] / model.config.calibration_temperature
    price = next(opinion for opinion in opinions if opinion.aspect == "price")
    assert list(price.probabilities.values()) == pytest.approx(logits.softmax(-1).tolist(), abs=1e-5)
