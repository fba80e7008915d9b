"""Learning rates of weights, and losses weighted by class."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    AutoConfig,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    BertForSequenceClassification,
)

from absa import losses, models
from absa.training import optimisation
from absa.training.arguments import ABSATrainingArguments
from absa.training.trainer import ABSATrainer
from modeling_qacg_bert import QACGConfig, QACGForSequenceClassification

SIZES = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
SMALL = {
    "distilbert": {"vocab_size": 30, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 8},
    "modernbert": {**SIZES, "intermediate_size": 8, "pad_token_id": 0},
    "t5": {"vocab_size": 30, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 2, "num_heads": 2},
    "bart": {"vocab_size": 30, "d_model": 8},
}
for side in ("encoder", "decoder"):
    SMALL["bart"] |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 8}


@pytest.fixture
def model(tiny_classifier: Path):
    return models.classifier_of("qacg_bert").from_pretrained(tiny_classifier)


def test_new_is_what_bert_has_not_and_the_classifier(model, tiny_bert: Path):
    bert = {name for name, _ in BertForSequenceClassification.from_pretrained(tiny_bert).named_parameters()}
    for name, _ in model.named_parameters():
        assert optimisation.is_new(name, model) is (name not in bert or name.startswith("classifier.")), name


def test_learning_rates_by_depth(model):
    names = {parameter: name for name, parameter in model.named_parameters()}
    decayed = [name for name in names.values() if name.endswith("weight")]
    groups = optimisation.parameter_groups(model, decayed, 0.01, 1.0, 3.0, 0.5)
    found = {names[parameter]: group for group in groups for parameter in group["params"]}
    assert sorted(found) == sorted(names.values())
    assert sum(len(group["params"]) for group in groups) == len(names)  # each in one group
    # Two layers: the pooler stands above them, at 1; each step down halves.
    for name, rate, decay in [
        ("bert.pooler.dense.weight", 1.0, 0.01),
        ("bert.encoder.layer.1.output.dense.bias", 0.5, 0.0),
        ("bert.encoder.layer.0.attention.self.query.weight", 0.25, 0.01),
        ("bert.embeddings.word_embeddings.weight", 0.125, 0.01),
        ("bert.encoder.layer.0.attention.self.query_gate.from_hidden.weight", 3.0, 0.01),
        ("bert.context_embeddings.weight", 3.0, 0.01),
        ("classifier.bias", 3.0, 0.0),
    ]:
        assert (found[name]["lr"], found[name]["weight_decay"]) == (rate, decay), name


@pytest.mark.parametrize(
    ("encoder", "first", "last"),
    [
        ("distilbert", "transformer.layer.0.attention.q_lin.weight", "transformer.layer.1.ffn.lin1.bias"),
        ("modernbert", "layers.0.attn.Wqkv.weight", "layers.1.mlp.Wi.weight"),
    ],
)
def test_depth_in_any_encoder(encoder: str, first: str, last: str):
    config = QACGConfig(encoder_config=AutoConfig.for_model(encoder, **SMALL[encoder]))
    model = QACGForSequenceClassification(config)
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = optimisation.parameter_groups(model, [], 0.0, 1.0, 3.0, 0.5)
    rates = {names[parameter]: group["lr"] for group in groups for parameter in group["params"]}
    assert (rates[f"model.encoder.{first}"], rates[f"model.encoder.{last}"]) == (0.25, 0.5)
    assert {rate for name, rate in rates.items() if ".embeddings." in name} == {0.125}
    assert {rate for name, rate in rates.items() if ".guidance." in name} == {3.0}


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_nothing_of_an_encoder_decoder_is_new(kind: str):
    model = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(kind, **SMALL[kind]))
    assert not any(optimisation.is_new(name, model) for name, _ in model.named_parameters())
    depths = {name: optimisation.depth_of(name, 2) for name, _ in model.named_parameters()}
    assert {depth for name, depth in depths.items() if "shared" in name} == {0}
    assert set(depths.values()) >= {0, 1, 2}


def test_the_trainer_uses_them(model, tmp_path: Path):
    for options, expected in [
        ({}, {2e-5}),
        ({"new_learning_rate": 1e-3}, {2e-5, 1e-3}),
        ({"layer_decay": 0.5}, {2e-5, 1e-5, 5e-6, 2.5e-6}),  # new and pooler, both layers, embeddings
        (
            {"learning_rates": '{"classifier": 1e-3, "pooler": 1e-4}', "new_learning_rate": 2e-3},
            {2e-5, 1e-4, 1e-3, 2e-3},
        ),
    ]:
        without_evaluation = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
        arguments = ABSATrainingArguments(output_dir=str(tmp_path), **without_evaluation, **options)
        trainer = ABSATrainer(model=model, args=arguments)
        trainer.create_optimizer()
        assert {group["lr"] for group in trainer.optimizer.param_groups} == expected


def test_l2_is_in_the_gradient_of_all_trained_weights(model, tmp_path: Path):
    without_evaluation = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
    options = {"output_dir": str(tmp_path), **without_evaluation, "learning_rate": 0.1, "new_learning_rate": 0.2}
    optimizers = []
    for l2 in (None, 0.5):
        trainer = ABSATrainer(model=model, args=ABSATrainingArguments(l2=l2, **options))
        optimizers.append(trainer.create_optimizer())
    assert [type(one) for one in optimizers] == [torch.optim.AdamW, torch.optim.Adam]
    assert {(group["lr"], group["weight_decay"]) for group in optimizers[1].param_groups} == {(0.1, 1.0), (0.2, 1.0)}
    weights = [parameter for group in optimizers[1].param_groups for parameter in group["params"]]
    assert {id(weight) for weight in weights} == {id(weight) for weight in model.parameters()}
    trainer.optimizer.zero_grad()
    before = [weight.detach().clone() for weight in weights]
    for weight in weights:
        weight.grad = torch.zeros_like(weight)
    optimizers[1].step()  # the first of Adam is as long as the rate, against the gradient: here 2 * 0.5 of each weight
    for group in optimizers[1].param_groups:
        for weight in group["params"]:
            old = before.pop(0)
            is_large = old.abs() > 1e-3
            torch.testing.assert_close((old - weight)[is_large], group["lr"] * old.sign()[is_large], rtol=1e-4, atol=0)


def test_a_rate_of_a_part_that_there_is_not(model):
    with pytest.raises(ValueError, match="learning_rates names lstm: the parts of the model are embeddings"):
        optimisation.parameter_groups(model, [], 0.01, 1.0, None, 1.0, {"lstm": 1e-3, "classifier": 1e-3})


def test_what_has_a_rate_of_0_is_not_trained(model):
    rates = {"encoder": 1e-3, "encoder.layer.1.output": 5e-4, "embeddings.word_embeddings": 0}
    optimisation.freeze(model, rates)
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert frozen == ["bert.embeddings.word_embeddings.weight"]
    names = {parameter: name for name, parameter in model.named_parameters()}
    groups = optimisation.parameter_groups(model, [], 0.0, 1.0, 3.0, 1.0, rates)
    found = {names[parameter]: group["lr"] for group in groups for parameter in group["params"]}
    assert found.keys() == set(names.values()) - set(frozen)
    assert found["bert.encoder.layer.1.output.dense.weight"] == 5e-4  # the inner module's
    assert found["bert.encoder.layer.1.attention.output.dense.weight"] == 1e-3
    assert found["bert.embeddings.position_embeddings.weight"] == 1.0
    optimisation.freeze(model, None)  # nothing is asked for
    assert [name for name, parameter in model.named_parameters() if not parameter.requires_grad] == frozen


@pytest.mark.parametrize("encoder", ["mpnet", "deberta-v2"])
def test_relative_positions_are_below_all_layers(encoder: str):
    options = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]} if encoder == "deberta-v2" else {}
    config = AutoConfig.for_model(encoder, **SIZES, intermediate_size=8, **options)
    names = [name for name, _ in AutoModelForSequenceClassification.from_config(config).named_parameters()]
    relative = [name for name in names if "relative_attention_bias" in name or "rel_embeddings" in name]
    assert {optimisation.depth_of(name, 2) for name in relative} == {0}


def test_balanced_loss():
    # Labels 0, 0, 0, 1 of three: 0 weighs 4 / (2 * 3) = 2/3, 1 weighs 4 / (2 * 1) = 2; their mean over rows is 1.
    loss = losses.balanced_loss([0, 0, 0, 1], 3, 0.0)
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, 1, 0, 1])
    rows = cross_entropy(logits, labels, reduction="none")
    expected = (rows * torch.tensor([2 / 3, 2, 2 / 3, 2])).mean()
    assert loss(SimpleNamespace(logits=logits), labels).item() == pytest.approx(expected.item(), rel=1e-6)


def test_balanced_and_smoothed_loss():
    loss = losses.balanced_loss([0, 0, 0, 1], 2, 0.2)
    logits, labels = torch.tensor([[0.3, -1.0], [2.0, 0.5]]), torch.tensor([0, 1])
    weights = torch.tensor([2 / 3, 2])
    surprise = -weights * logits.log_softmax(-1)  # (rows, labels)
    targets = torch.tensor([[0.9, 0.1], [0.1, 0.9]])  # 0.8 and 0.2 / 2
    expected = (targets * surprise).sum(-1).mean()
    assert loss(SimpleNamespace(logits=logits), labels).item() == pytest.approx(expected.item(), rel=1e-6)


def test_balanced_loss_of_contexts_in_one_pass():
    loss = losses.balanced_loss([0, 1], 2, 0.1)
    logits = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([[0, 1, -100], [1, -100, -100]])
    rows = cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1, reduction="sum")
    outputs = SimpleNamespace(logits=logits)
    assert loss(outputs, labels).item() == pytest.approx(rows.item() / 3, rel=1e-6)
    # With accumulated gradients the Trainer says how many labels the whole step has.
    assert loss(outputs, labels, num_items_in_batch=6).item() == pytest.approx(rows.item() / 6, rel=1e-6)
