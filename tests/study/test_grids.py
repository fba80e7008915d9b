"""The grids as data: every run is one that run_absa.py would take, and has a name of its own."""

import json
from pathlib import Path

import pytest
import yaml

import grids
from absa.training import arguments as arguments_of

SENTIHOOD = {"dataset": "sentihood", "model_type": "qacg_bert"}
SEMEVAL = {**SENTIHOOD, "dataset": "semeval2014"}


def test_every_run_of_every_grid_can_be_started():
    folders = {}
    for grid in map(grids.read_grid, grids.GRIDS):
        assert len(set(grid.seeds)) == len(grid.seeds) >= 1
        for label, arguments in grid.runs.items():
            started = dict(arguments)
            started.pop("control", None)
            model, data, training = arguments_of.parse_arguments(arguments_of.recipe_words(started))
            arguments_of.check_contexts(model, data)
            arguments_of.check_balance(data)
            arguments_of.check_r_drop(data, training)
            name = grids.run_name(arguments)
            # A run that two grids share is one run, oracle and all.
            assert folders.setdefault(name, arguments) == arguments, f"{label}: {name} is another run's too"
    assert len(folders) > 20


def test_names_say_what_is_not_as_in_the_budget():
    budget = {**grids.BUDGET, **SENTIHOOD}
    assert grids.run_name(budget) == "sentihood/qacg_bert"
    assert grids.run_name({**budget, "oracle": True}) == "sentihood/qacg_bert"
    assert grids.run_name({**budget, "learning_rate": 2e-4}) == "sentihood/qacg_bert,learning_rate=0.0002"
    assert (
        grids.run_name({**budget, "model_type": "bert", "auxiliary_sentence": False})
        == "sentihood/bert,auxiliary_sentence=false"
    )
    # Whichever order the overrides come in, the run is the same.
    for overrides in ("gate_bias=true,gate_initializer_range=0.01", "gate_initializer_range=0.01,gate_bias=true"):
        named = grids.run_name({**budget, "config_overrides": overrides})
        assert named == "sentihood/qacg_bert,gate_bias=true,gate_initializer_range=0.01"
    assert "/" not in grids.run_name({**budget, "model_name_or_path": "some/bert"}).removeprefix("sentihood/")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "is no mapping"),
        ({"title": "t", "split": "test", "seeds": [1]}, "lacks ['runs']"),
        ({"title": "t", "split": "test", "seeds": [1], "runs": {}, "sead": 1}, "holds ['sead']"),
        (
            {"title": "t", "split": "test", "seeds": [1], "runs": {"a": {"dataset": "sentihod"}}},
            "'a' has dataset=sentihod: one of sentihood, semeval2014",
        ),
        (
            {"title": "t", "split": "test", "seeds": [1], "runs": {"a": {"dataset": "sentihood"}}},
            "'a' has model_type=None: one of qacg_bert, cg_bert, bert",
        ),
        (
            {"title": "t", "split": "test", "seeds": [1], "runs": {"a": SENTIHOOD, "b": SEMEVAL}},
            "has runs on both data sets",
        ),
        ({"title": "t", "split": "test", "seeds": [1], "runs": {"a": None}}, "'a' is None: a mapping is wanted"),
        ({"title": "t", "split": "test", "seeds": [1], "runs": {}, "arguments": None}, "has arguments=None"),
        ({"title": "t", "split": "dev", "seeds": [1], "runs": {}}, "has split=dev: validation or test"),
        ({"title": "t", "split": "test", "seeds": [1], "runs": {"a": {}}, "paired": {"a": "b"}}, "pairs 'b'"),
    ],
    ids=["no mapping", "no runs", "unknown", "dataset", "model", "both", "empty run", "empty", "split", "paired"],
)
def test_a_grid_that_is_wrong_is_named(tmp_path: Path, fields, message: str):
    file = tmp_path / "grid.yaml"
    file.write_text(yaml.safe_dump(fields))
    with pytest.raises(ValueError, match=r"grid\.yaml") as error:
        grids.read_grid(file)
    assert message in str(error.value)


def test_a_grid_that_is_not_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"does not exist: there are .*comparison_sentihood\.yaml"):
        grids.read_grid(tmp_path / "no.yaml")


def test_the_default_recipe_is_one_of_the_study(repo_root: Path):
    recipe = yaml.safe_load((repo_root / "configuration" / "recipes" / "sentihood_minilm.yaml").read_text())
    study = repo_root / "study"
    run = grids.read_grid(study / "grids" / "recipe_sentihood.yaml").runs["QACG-BERT, auxiliary sentences"]
    assert run == {
        name: value for name, value in recipe.items() if name not in ("output_dir", "seeds", "auxiliary_sentence")
    }
    assert recipe["auxiliary_sentence"]
    assert (study / "results" / grids.run_name(run) / "seed-42.json").is_file()


def test_results_files_are_of_runs_in_the_grids(repo_root: Path):
    results = repo_root / "study" / "results"
    runs = {
        (grids.run_name(arguments), seed): arguments
        for grid in map(grids.read_grid, grids.GRIDS)
        for arguments in grid.runs.values()
        for seed in grid.seeds
    }
    files = [file for dataset in grids.DATASETS for file in (results / dataset).glob("*/seed-*.json")]
    fields = set(json.loads(files[0].read_text(encoding="utf-8")))
    for file in files:
        result = json.loads(file.read_text(encoding="utf-8"))
        assert file.name == f"seed-{result['seed']}.json"
        run = runs[str(file.parent.relative_to(results)), result["seed"]]
        assert {**result["arguments"], "bf16": run["bf16"]} == run, file  # auto has become what the machine has
        assert bool(result["oracle"]) is result["arguments"].get("oracle", False), file
        assert set(result) == fields, file
