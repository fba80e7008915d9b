"""configuration/: every recipe parses, every preset is a model of the stated size, every launch file is known."""

import re
from pathlib import Path

import pytest
import torch
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "configuration"
RECIPES = sorted((CONFIGURATION / "recipes").iterdir())
PRESETS = sorted((CONFIGURATION / "models").iterdir())
LAUNCH_FILES = sorted((CONFIGURATION / "accelerate").iterdir())
MODELS = {
    "qacg_bert": (QACGBertConfig, QACGBertForSequenceClassification),
    "cg_bert": (CGBertConfig, CGBertForSequenceClassification),
}


@pytest.fixture
def training_arguments(repo_root: Path, monkeypatch):
    monkeypatch.syspath_prepend(str(repo_root / "examples"))
    monkeypatch.chdir(repo_root)
    from absa.training import arguments as training_arguments

    return training_arguments


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_parses_and_the_command_line_wins(training_arguments, recipe: Path):
    values = yaml.safe_load(recipe.read_text())
    model, data, training = training_arguments.parse_arguments([str(recipe), "--output_dir", "elsewhere"])
    merged = {**vars(model), **vars(data), **vars(training)}
    assert merged.pop("output_dir") == "elsewhere"
    assert values.pop("output_dir").startswith("outputs/")
    assert values.pop("bf16") == "auto"
    assert {name: merged[name] for name in values} == values


@pytest.mark.parametrize("name", ["sentihood", "semeval2014"])
def test_paper_recipes_are_the_papers(training_arguments, name: str):
    model, _, training = training_arguments.parse_arguments([f"configuration/recipes/{name}.yaml"])
    assert model.model_name_or_path == "google-bert/bert-base-uncased"
    assert training.num_train_epochs == 25
    assert training.per_device_train_batch_size == 24
    assert training.learning_rate == 2e-5


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_preset_has_the_parameters_that_the_readme_states(preset: Path):
    model_type = yaml.safe_load(preset.read_text())["model_type"]
    config_class, model_class = MODELS[model_type]
    config = config_class.from_json_file(preset)
    config.num_labels = 3
    with torch.device("meta"):
        model = model_class(config)
    line = next(line for line in (CONFIGURATION / "README.md").read_text().splitlines() if f"`{preset.name}`" in line)
    stated = int(re.search(r"\d{2,3}(,\d{3})+", line)[0].replace(",", ""))
    assert model.num_parameters() == stated


@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda path: path.stem)
def test_launch_file_is_known_to_accelerate(file: Path):
    config = load_config_from_file(str(file))
    assert config.num_machines == 1
    assert config.use_cpu is file.stem.startswith("cpu")


def test_readme_lists_every_file():
    text = (CONFIGURATION / "README.md").read_text()
    for file in (*RECIPES, *PRESETS):
        assert f"`{file.name}`" in text
