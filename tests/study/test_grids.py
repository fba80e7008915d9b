"""The grids as data: every run is one that run_absa.py would take, and has a name of its own."""

from pathlib import Path

import pytest
import yaml

import grids
import results
import run
from absa.tasks.registry import load_task
from absa.training import arguments as arguments_of
from absa.training.noisy_rows import DenoisingArguments
from datasets_scripts.documents import are_like

SENTIHOOD = {"dataset": "sentihood", "model_type": "qacg_bert"}


def test_every_run_of_every_grid_can_be_started():
    folders = {}
    for grid in map(grids.read_grid, grids.GRIDS):
        assert len(set(grid.seeds)) == len(grid.seeds) >= 1
        assert {label for pair in grid.pairs for label in pair} <= set(grid.runs)
        assert len(set(grid.pairs)) == len(grid.pairs)
        for label, arguments in grid.runs.items():
            name = grids.run_name(arguments)
            if name in folders:  # a run that two grids share is one run, oracle and all
                assert folders[name] == arguments, f"{label}: {name} is another run's too"
                continue
            assert max(len(part.encode()) for part in name.split("/")) <= 255, "a file system takes no more"
            folders[name], started = arguments, dict(arguments)
            for name in ("control", "members"):
                started.pop(name, None)
            for start in run.starts_of(started):
                start.pop("first", None)
                arguments_of.parse_arguments(arguments_of.recipe_words(run.without_one_dataset(start)))
            started.pop("first", None)
            denoised = {**started, **started.pop("denoising", {})}
            denoised.pop("denoising", None)
            arguments_of.parse_all(arguments_of.recipe_words(run.without_one_dataset(denoised)), DenoisingArguments)
            arguments_of.parse_arguments(arguments_of.recipe_words(run.without_one_dataset(started)))
    assert len(folders) > 20


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["alsc", "aste_14lap", "aste_14res", "levers_sentihood"])
def test_no_training_before_has_seen_what_a_run_is_measured_on(grid: str, shared_dir: Path):
    folders = {folder.name: str(folder) for folder in (shared_dir / "data").iterdir()}
    folders |= {"restaurants": folders["semeval2014"], "categories": folders["mams"], "terms": folders["mams"]}

    def data_of(words: dict):
        return arguments_of.parse_arguments(
            arguments_of.recipe_words({**words, **run.folders_of(words, folders)})
        ).data

    pairs = {}  # the data of a run and that of a training before, of which several runs have the same
    for arguments in grids.read_grid(grids.STUDY / f"grids/{grid}.yaml").runs.values():
        for step in run.starts_of(arguments):
            step.pop("first", None)
            own = data_of({name: value for name, value in arguments.items() if name not in ("first", "members")})
            pair = own, data_of(step)
            pairs[repr(pair)] = pair
    assert pairs
    for own, before in pairs.values():
        splits, before = load_task(own).splits, load_task(before)
        measured = [text for split in ("validation", "test") for text in splits[split]["text"]]
        for task in getattr(before, "tasks", {"": before}).values():
            assert not any(are_like(list(dict.fromkeys(task.splits["train"]["text"])), measured)), before


def test_names_say_what_is_not_as_in_the_budget():
    budget = {**grids.BUDGET, **SENTIHOOD}
    single = {"model_type": "bert", "auxiliary_sentence": False}
    for changes, name in (
        ({}, "qacg_bert"),
        ({"oracle": True}, "qacg_bert"),
        ({"learning_rate": 2e-4}, "qacg_bert,learning_rate=0.0002"),
        (single, "bert,auxiliary_sentence=false"),
        # Whichever order the overrides come in, the run is the same.
        ({"config_overrides": "b=2,a=1"}, "qacg_bert,a=1,b=2"),
        ({"config_overrides": "a=1,b=2"}, "qacg_bert,a=1,b=2"),
        ({"learning_rates": {"b": 0.1, "a": 0}}, "qacg_bert,learning_rates.a=0,learning_rates.b=0.1"),
        ({"word_vectors": None}, "qacg_bert"),
        ({"symmetric_targets": False}, "qacg_bert"),
        ({"symmetric_targets": True}, "qacg_bert,symmetric_targets=true"),
        ({"model_name_or_path": "some/bert"}, "qacg_bert,model_name_or_path=some--bert"),
        (
            {"first": {"mixture": [{"dataset": "a", "weight": 0.5}, {"dataset": "b"}], "r_drop": True}},
            "qacg_bert,first.mixture=a:0.5+b,first.r_drop=true",
        ),
    ):
        assert grids.run_name({**budget, **changes}) == f"sentihood/{name}"


def test_an_unknown_field_of_a_grid_is_named(tmp_path: Path):
    file = tmp_path / "grid.yaml"
    file.write_text(yaml.safe_dump({"title": "t", "split": "test", "sead": [1], "runs": {"a": SENTIHOOD}}))
    with pytest.raises(TypeError, match="'sead'"):
        grids.read_grid(file)


def test_a_run_that_another_teaches(tmp_path: Path):
    file, runs = tmp_path / "grid.yaml", {"a": SENTIHOOD, "b": {**SENTIHOOD, "teachers": "a"}}
    fields = {"title": "t", "split": "test", "seeds": [1, 2]}
    file.write_text(yaml.safe_dump({**fields, "runs": runs}))
    grid = grids.read_grid(file)
    assert grid.runs["b"]["teachers"] == ["sentihood/qacg_bert/seed-1", "sentihood/qacg_bert/seed-2"]
    arguments = run.StudyArguments([file], output_dir=Path("out"))
    stages = run.stages_of(grids.run_name(grid.runs["b"]), 2, grid.runs["b"], arguments)
    words, asked = (step.words for (step,) in stages)
    place = words.index("--teachers")
    assert asked[1:] == [str(grids.STUDY / "contrast.py"), f"out/{grids.run_name(grid.runs['b'])}/seed-2"]
    assert words[place + 1 : place + 3] == [f"out/sentihood/qacg_bert/seed-{seed}" for seed in (1, 2)]
    file.write_text(yaml.safe_dump({**fields, "runs": {"b": {**SENTIHOOD, "teachers": "a"}}}))
    with pytest.raises(KeyError, match="'a'"):
        grids.read_grid(file)


def test_the_recipe_with_r_drop_is_one_of_the_study(repo_root: Path):
    recipe = yaml.safe_load((repo_root / "configuration" / "recipes" / "sentihood_minilm.yaml").read_text())
    run = grids.read_grid(grids.STUDY / "grids" / "recipe_sentihood.yaml").runs["QACG-BERT, auxiliary sentences"]
    assert recipe.pop("auxiliary_sentence")
    assert run == {name: value for name, value in recipe.items() if name not in ("output_dir", "seeds")}
    assert (grids.run_name(run), 42) in results.read_results(grids.STUDY)


@pytest.mark.parametrize(
    ("grid", "label", "prefix"),
    [
        ("chosen_sentihood", "QACG-BERT, corpus first, six epochs, R-Drop, mean of three", "sentihood_small"),
        ("base_sentihood", "QACG, corpus first and a quarter of it with contexts of its own", "sentihood"),
    ],
)
def test_the_recipes_of_what_was_chosen_are_the_study_s(repo_root: Path, grid: str, label: str, prefix: str):
    asked = dict(grids.read_grid(grids.STUDY / "grids" / f"{grid}.yaml").runs[label])
    assert (grids.run_name(asked), 42) in results.read_results(grids.STUDY)
    first, members = asked.pop("first"), asked.pop("members", [42])
    # Places are the user's, and so are the files that `held_out` names.
    own = ("bf16", "seeds", "output_dir", "model_name_or_path", "held_out")
    usual = {"r_drop": False, "reset_pooler": False, "metric_for_best_model": None}
    for name, run_ in ((f"{prefix}_corpus", asked | first), (f"{prefix}_after_corpus", asked)):
        recipe = yaml.safe_load((repo_root / "configuration" / "recipes" / f"{name}.yaml").read_text(encoding="utf-8"))
        told, wanted = ({**usual, **words} for words in (recipe, run.without_one_dataset(run_)))
        assert {key: told[key] for key in told if key not in own} == {
            key: wanted[key] for key in wanted if key not in own
        }
    assert recipe["seeds"] == members
