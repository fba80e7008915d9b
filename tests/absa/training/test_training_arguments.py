"""examples/training_arguments.py: what no run can be trained with is told before anything is loaded."""

import json
from pathlib import Path

import pytest

from absa.training import arguments


@pytest.fixture
def parse(repo_root: Path, monkeypatch):
    monkeypatch.chdir(repo_root)
    return arguments.parse_arguments


def test_a_token_is_refused_and_not_shown(parse):
    with pytest.raises(ValueError, match="hub_token would be saved beside the checkpoints: set HF_TOKEN") as error:
        parse(["--hub_token", "hf_NeverShowThisNeverShowThis"])
    assert "NeverShowThis" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("learning_rate", "nan", "a finite number of at least 0"),
        ("learning_rate", "inf", "a finite number of at least 0"),
        ("learning_rate", "-1e-05", "a finite number of at least 0"),
        ("new_learning_rate", "nan", "a number above 0, but not infinity"),
        ("layer_decay", "nan", "a factor above 0 and at most 1"),
        ("num_train_epochs", "nan", "a number above 0, but not infinity"),
        ("num_train_epochs", "0.0", "a number above 0, but not infinity"),
        ("num_train_epochs", "-1.0", "a number above 0, but not infinity"),
        ("max_steps", "0", "at least 1, or -1"),
        ("per_device_train_batch_size", "0", "at least 1"),
        ("per_device_eval_batch_size", "-1", "at least 1"),
        ("gradient_accumulation_steps", "0", "at least 1"),
        ("warmup_steps", "-1.0", "a finite number of at least 0"),
        ("weight_decay", "nan", "a finite number of at least 0"),
        ("max_grad_norm", "-1.0", "a finite number of at least 0"),
        ("label_smoothing_factor", "2.0", "a number from 0 to 1"),
        ("adam_beta1", "1.0", "a number from 0 to below 1"),
        ("max_length", "-5", "at least 1"),
        ("max_length", "0", "at least 1"),
        ("validation_fraction", "0.0", "a part, above 0 and below 1"),
        ("validation_fraction", "1.0", "a part, above 0 and below 1"),
        ("validation_fraction", "nan", "a part, above 0 and below 1"),
        ("num_context_layers", "0", "at least 1"),
        ("lr_scheduler_kwargs", "power=2", "a mapping"),
    ],
)
def test_values_out_of_range(parse, name: str, value: str, told: str):
    with pytest.raises(ValueError, match=rf"^{name}={value}: {told}"):
        parse([f"--{name}={value}"])


@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_seeds_that_are_none(parse, seed: str):
    with pytest.raises(
        ValueError, match=rf"seeds=\[3, {seed}\]: {seed} is no seed; give numbers from 0 to 4294967295"
    ):
        parse(["--seeds", "3", seed])


def test_a_mapping_that_is_no_json(parse):
    with pytest.raises(ValueError, match=r"\{power is given for a mapping, but is no JSON: Expecting"):
        parse(["--lr_scheduler_kwargs", "{power"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("absent_label: no", "absent_label=False, a bool where a text is wanted: put what you mean in quotes"),
        ("absent_label: [no]", r"absent_label=\[False\], a list where a text is wanted"),
        ("absent_label: 1.10", "absent_label=1.1, a float where a text is wanted"),
        ("absent_label: {a: b}", "absent_label={'a': 'b'}, a dict where a text is wanted"),
        ("absent_label: [a, b]", r"absent_label=\['a', 'b'\], a list where a text is wanted"),
        ("eval_strategy: off", "eval_strategy=False, a bool where a text is wanted"),
        ("include_for_metrics: [loss, --bf16]", "include_for_metrics=.*would begin another argument"),
        ("k" * 999 + ": 1", r"holds \['k{78}\.\.\., which are no arguments"),
    ],
)
def test_recipes_whose_values_would_change(parse, tmp_path: Path, line: str, told: str):
    (tmp_path / "recipe.yaml").write_text(line)
    with pytest.raises(ValueError, match=f"recipe.*{told}"):
        parse([str(tmp_path / "recipe.yaml")])


def test_recipes_whose_values_stay(parse, tmp_path: Path):
    (tmp_path / "recipe.yaml").write_text(
        'absent_label: "no"\nmodel_revision: 1234567\noutput_dir: -x\nbf16: off\nreport_to: [none]\nseeds: [1, 2]\n'
        "lr_scheduler_kwargs: {power: 2}\n"
    )
    model, data, training = parse([str(tmp_path / "recipe.yaml")])
    assert (data.absent_label, model.model_revision, training.output_dir) == ("no", "1234567", "-x")
    assert training.lr_scheduler_kwargs == {"power": 2}
    assert (training.bf16, training.report_to, data.seeds) == (False, [], [1, 2])


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ("foo=1", "'foo=1' is no field=value of a qacg_bert"),
        ("model_type=bert", "'model_type=bert' is no field=value"),
        ("problem_type=regression", "'problem_type=regression' is no field=value"),
        ("gate_bias", "'gate_bias' is no field=value"),
        ("gate_bias=true,gate_bias=false", "gives gate_bias twice: keep one"),
        ("hidden_dropout_prob=1.5", "has hidden_dropout_prob=1.5: give a finite number, from 0 to 1"),
        ("attention_probs_dropout_prob=NaN", "has attention_probs_dropout_prob=nan: give a finite number"),
        ("hidden_dropout_prob=lots", "hidden_dropout_prob.*'lots'"),
        ("quasi_attention_scale=Infinity", "has quasi_attention_scale=inf: give a finite number"),
        ("layer_norm_eps=-1", "has layer_norm_eps=-1: give a finite number, from 0 to 1"),
        ("num_hidden_layers=1000000000", "has num_hidden_layers=1000000000: give a finite number, from 1 to 1000"),
        ("vocab_size=1" + "0" * 30, r"has vocab_size=10{30}: give a finite number"),
        ("hidden_act=gellu", "has hidden_act=gellu: give one of gelu"),
        ("hidden_act=[]", r"has hidden_act=\[\]: give one of gelu"),
        ("gate_bias=1", "Field 'gate_bias' expected bool"),
        ("context_initializer_range=-1", "context_initializer_range=-1: a standard deviation"),
        ("context_projection=" + "x" * 5000, r"context_projection=x{61}\.\.\. gives no qacg_bert"),
    ],
    ids=lambda value: value[:40],
)
def test_overrides_that_make_no_model(parse, overrides: str, told: str):
    with pytest.raises(ValueError, match=f"config_overrides=.*{told}") as caught:
        parse(["--config_overrides", overrides])
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "is for None, model_type=qacg_bert"),
        ({"model_type": ["qacg_bert"]}, r"is for \['qacg_bert'\], model_type=qacg_bert"),
        ({"model_type": "qacg_bert", "gate_bias": "yes"}, "Field 'gate_bias' expected bool, got str"),
        ({"model_type": "qacg_bert", "hidden_size": "32"}, "Field 'hidden_size' expected int, got str"),
        ({"model_type": "qacg_bert", "hidden_dropout_prob": 7}, "has hidden_dropout_prob=7: give a finite number"),
        ({"model_type": "qacg_bert", "aspects": ["a", "a"]}, "a name occurs twice"),
        ({"model_type": "qacg_bert", "id2label": 5}, "'int' object has no attribute 'items'"),
        ([1], "is no mapping of names to values"),
    ],
)
def test_presets_that_make_no_model(parse, tmp_path: Path, fields, told: str):
    (tmp_path / "preset.json").write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=f"model_preset=.*preset.json .*{told}"):
        parse(["--model_preset", str(tmp_path / "preset.json")])


def test_what_must_agree_with_the_backbone_waits_for_it(parse, tmp_path: Path):
    (tmp_path / "preset.json").write_text('{"model_type": "qacg_bert", "hidden_size": 100, "num_context_layers": 20}')
    model, _, _ = parse(
        ["--model_preset", str(tmp_path / "preset.json"), "--config_overrides", "num_context_layers=18"]
    )
    assert model.config_overrides == "num_context_layers=18"


def test_a_recipe_serves_another_data_set_without_what_it_says_of_its_own(parse, tmp_path: Path, caplog):
    (tmp_path / "recipe.yaml").write_text(
        "dataset: sentihood\ndata_dir: somewhere\nmetric: sentihood\nmetric_for_best_model: audit_macro_f1\n"
        "learning_rate: 1e-3\n"
    )
    words = [str(tmp_path / "recipe.yaml"), "--dataset", "custom", "--train_file", "own.csv"]
    _, data, training = parse(words)
    assert (data.dataset, data.data_dir, data.metric, data.train_file) == ("custom", None, None, "own.csv")
    assert (training.metric_for_best_model, training.learning_rate) == (None, 1e-3)
    assert caplog.messages == [
        "dataset=custom: of the recipe, which is for sentihood, data_dir=somewhere, metric=sentihood, "
        "metric_for_best_model=audit_macro_f1 is left out"
    ]
    assert parse([*words, "--metric_for_best_model=accuracy"])[2].metric_for_best_model == "accuracy"
    caplog.clear()
    assert parse([words[0], "--dataset=sentihood"])[1].data_dir == "somewhere"
    assert not caplog.messages
