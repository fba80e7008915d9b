"""absa/training/arguments.py: recipes, the command line, and what no run can be trained with."""

import json
from pathlib import Path

import pytest

from absa.training.arguments import parse_arguments

TAGGING = ("--task", "tagging", "--model_type", "global_context")


def test_a_token_is_refused_and_not_shown():
    with pytest.raises(ValueError, match="hub_token would be saved beside the checkpoints: set HF_TOKEN") as error:
        parse_arguments(["--hub_token", "hf_NeverShowThisNeverShowThis"])
    assert "NeverShowThis" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--seeds", "3", "3"], r"seeds=\[3, 3\] holds a seed twice"),
        (["--seed", "3"], "seed=3 has no effect here: give --seeds"),
        (["--save_only_model", "true"], "save_only_model=True has no effect here: a run that is stopped could not go"),
        (
            ["--metric_for_best_model", "invalid_share", "--greater_is_better", "false"],
            "greater_is_better=False has no effect here: losses are better when",
        ),
        (["--dataloader_drop_last", "true"], "dataloader_drop_last=True has no effect here: each row of a split"),
        (["--bf16_full_eval", "true"], "bf16_full_eval=True has no effect here: what is chosen is scored in float32"),
        (["--r_drop", "true", "--label_smoothing_factor=0.1"], "r_drop=true with label_smoothing_factor=0.1"),
        (["--config_overrides", "gate_bais=true"], "'gate_bais=true' is no field=value of a qacg_bert"),
        (["--model_type", "bert", "--num_context_layers", "1"], "'num_context_layers=1' is no field=value of a bert"),
        (["--contexts_together", "true"], "contexts_together=true with auxiliary_sentence=true"),
        (
            ["--contexts_together", "--auxiliary_sentence", "false", "--class_balanced_sampling"],
            "class_balanced_sampling=true draws rows",
        ),
        (["--class_weighted_loss", "--class_balanced_sampling"], "both balance the labels; leave one out"),
        (["--dataset", "conllu"], "dataset=conllu is for task=tagging; task=classification takes sentihood, semeval2"),
        ([*TAGGING, "--dataset", "mams"], "dataset=mams is for task=classification; task=tagging takes e2e_absa, con"),
        (["--dataset", "aste_v2"], "dataset=aste_v2 is for task=generation; task=classification takes .* mams, cus"),
        (["--dataset", "e2e_absa"], "or --task tagging with a recipe and a model of that task"),
        ([*TAGGING, "--dataset", "custom"], "dataset=custom is for task=classification; task=tagging takes e2e_absa,"),
        ([*TAGGING, "--train_file", "x.csv"], "train_file=x.csv with dataset=e2e_absa, .* --dataset conll --data_con"),
        (["--task", "tagging"], "model_type=qacg_bert has no model ForTokenClassification: choose one of bert, rob"),
        (["--model_type", "global_context"], "has no model ForSequenceClassification: choose one of qacg_bert, cg_b"),
        (["configuration/recipes/ewt_minilm.yaml", "--task", "classification"], "no arguments of task=classifi"),
    ],
)
def test_what_no_run_can_be_trained_with(words: list[str], told: str, repo_root: Path, monkeypatch):
    monkeypatch.chdir(repo_root)
    with pytest.raises(ValueError, match=told):
        parse_arguments(words)


@pytest.mark.parametrize(
    ("words", "symmetric"),
    [
        ((), False),
        (("--context_source", "text"), True),
        (("--context_source", "text", "--symmetric_targets", "false"), False),
        (("--context_source", "text", "--model_type", "bert"), False),
        (("--mixture", '[{"dataset": "sentihood"}, {"dataset": "mams"}]'), True),
        (("--symmetric_targets", "true"), True),
    ],
)
def test_contexts_in_words_tell_places_apart_by_their_texts(words: tuple[str, ...], symmetric: bool):
    """The words of the contexts of two places differ in one of many tokens."""
    assert parse_arguments(words).data.symmetric_targets is symmetric


def test_a_recipe_in_json(tmp_path: Path):
    (tmp_path / "recipe.json").write_text(
        json.dumps({"seeds": [1, 2], "data_dir": None, "bf16": False, "metric": "absa"})
    )
    _, data, training = parse_arguments([str(tmp_path / "recipe.json"), "--learning_rate", "1e-3"])
    assert (training.seeds, data.data_dir, training.bf16, data.metric) == ([1, 2], None, False, "absa")
    assert training.learning_rate == 1e-3


def test_values_of_a_recipe_are_words_of_the_command(tmp_path: Path, capsys):
    """YAML would make False of `no`, and 1.1 of 1.10: a label is what is written."""
    file = tmp_path / "recipe.yaml"
    file.write_text(
        "absent_label: no\nmodel_revision: 1.10\noutput_dir: -x\nbf16: false\nreport_to: [none]\nseeds: [1, 2]\n"
        "lr_scheduler_kwargs: {power: 2}\ndata_dir: null\nlearning_rate: 1e-3\n"
    )
    model, data, training = parse_arguments([str(file), "--seeds", "7"])
    assert (data.absent_label, model.model_revision, training.output_dir) == ("no", "1.10", "-x")
    assert (training.bf16, training.report_to, training.seeds) == (False, [], [7])
    assert (training.lr_scheduler_kwargs, data.data_dir, training.learning_rate) == ({"power": 2}, None, 1e-3)
    file.write_text("model_type: qacgbert\n")
    with pytest.raises(SystemExit):
        parse_arguments([str(file)])
    assert "--model_type: invalid choice: 'qacgbert'" in capsys.readouterr().err.replace("/--model-type", "")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("r.yaml", "learning_rat: 1.0e-4\n", r"holds \['learning_rat'\], which are no arguments"),
        ("r.yaml", "seeds: [1\n", "cannot be read: ParserError: while parsing"),
        ("r.yaml", "", "is no mapping"),
        ("r.yaml", "seeds: 1\nbf16: true\nseeds: 2\n", r"gives \['seeds'\] more than once: keep one"),
        ("r.json", '{"seeds": 1, "seeds": 2}', r"gives \['seeds'\] more than once: keep one"),
    ],
)
def test_recipes_that_are_none(tmp_path: Path, name: str, content: str, told: str):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=rf"recipe.* {told}"):
        parse_arguments([str(tmp_path / name)])


def test_a_recipe_serves_another_data_set_without_what_it_says_of_its_own(tmp_path: Path, caplog):
    (tmp_path / "recipe.yaml").write_text(
        "dataset: sentihood\ndata_dir: somewhere\nmetric: sentihood\nmetric_for_best_model: audit_macro_f1\n"
        "learning_rate: 1e-3\n"
    )
    words = [str(tmp_path / "recipe.yaml"), "--dataset", "custom", "--train_file", "own.csv"]
    _, data, training = parse_arguments(words)
    assert (data.dataset, data.data_dir, data.metric, data.train_file) == ("custom", None, None, "own.csv")
    assert (training.metric_for_best_model, training.learning_rate) == (None, 1e-3)
    assert caplog.messages == [
        "dataset=custom: of the recipe, which is for sentihood, data_dir=somewhere, metric=sentihood, "
        "metric_for_best_model=audit_macro_f1 is left out"
    ]
    assert parse_arguments([*words, "--metric_for_best_model=accuracy"])[2].metric_for_best_model == "accuracy"
    caplog.clear()
    assert parse_arguments([words[0], "--dataset=sentihood"])[1].data_dir == "somewhere"
    assert not caplog.messages
