"""configuration/: every recipe parses, every launch file is known, and the README lists them."""

from pathlib import Path

import pytest
import yaml
from accelerate.commands.config.config_args import load_config_from_file

from absa.training.arguments import parse_arguments

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "configuration"
RECIPES = sorted((CONFIGURATION / "recipes").iterdir())
LAUNCH_FILES = sorted((CONFIGURATION / "accelerate").iterdir())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_recipe_parses_and_the_command_line_wins(recipe: Path):
    values = yaml.safe_load(recipe.read_text())
    model, data, training = parse_arguments([str(recipe), "--output_dir", "elsewhere"])
    merged = {**vars(model), **vars(data), **vars(training)}
    assert merged.pop("output_dir") == "elsewhere"
    assert values.pop("output_dir").startswith("outputs/")
    assert values.pop("bf16") == "auto"
    for entry, read in zip(values.pop("mixture", []), merged.get("mixture") or [], strict=True):
        assert entry.pop("data_dir", None) == (merged["data_dirs"] or {}).get(read["name"])
        assert entry.items() <= read.items()
    assert {name: merged[name] for name in values} == values


@pytest.mark.parametrize("name", ["sentihood", "semeval2014"])
def test_paper_recipes_are_the_papers(name: str):
    model, _, training = parse_arguments([f"configuration/recipes/{name}.yaml"])
    assert model.model_name_or_path == "google-bert/bert-base-uncased"
    assert training.num_train_epochs == 25
    assert training.per_device_train_batch_size == 24
    assert training.learning_rate == 2e-5


@pytest.mark.parametrize("file", LAUNCH_FILES, ids=lambda path: path.stem)
def test_launch_file_is_known_to_accelerate(file: Path):
    config = load_config_from_file(str(file))
    assert config.num_machines == 1
    assert config.use_cpu is file.stem.startswith("cpu")


def test_readme_lists_every_file():
    text = (CONFIGURATION / "README.md").read_text()
    for file in RECIPES:
        assert f"`{file.name}`" in text
