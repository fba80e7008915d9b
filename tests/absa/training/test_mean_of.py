"""Runs whose model has the mean of the weights of trained ones."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification

import absa
from absa.averaging import average, keep_aspects
from absa.models import load_classifier
from modeling_qacg_bert import Contexts

SCRIPT = "examples/run_absa.py"


def test_the_mean_is_scored_calibrated_and_asked(
    finished_run, recipe: Path, tiny_sentihood: Path, tmp_path: Path, run_here, caplog
):
    seeds = [finished_run[0] / f"seed-{seed}" for seed in (1, 2)]
    run_here(SCRIPT, recipe, "--mean_of", *seeds, "--seeds", "7", "--output_dir", tmp_path / "soup")
    assert "have little in common" in caplog.text  # its seeds began with other weights
    folder = tmp_path / "soup" / "seed-7"
    soup, first, second = (load_file(one / "model.safetensors") for one in (folder, *seeds))
    assert soup.keys() == first.keys() == second.keys()
    for name, weight in soup.items():
        torch.testing.assert_close(weight, (first[name].double() + second[name].double()).div(2).float())
    assert not soup["classifier.weight"].equal(first["classifier.weight"])
    result = json.loads((folder / "results.json").read_text())
    assert (result["training"]["model"]["steps"], result["training"]["model"]["train_runtime_s"]) == (0, 0)
    config = json.loads((folder / "config.json").read_text())
    assert config["calibration_temperature"] == result["training"]["model"]["calibration_temperature"]
    assert len(absa.load(str(folder))("LOCATION1 is safe", return_all=True)) == 4

    asked = ("--data_dir", tiny_sentihood, "--output_dir", tmp_path / "scores")
    run_here("examples/evaluate_checkpoint.py", folder, *asked)
    told = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert result["test"] == pytest.approx(told, nan_ok=True)
    moved = Path(shutil.copytree(seeds[1], tmp_path / "moved"))
    again = (SCRIPT, recipe, "--seeds", "7", "--output_dir", tmp_path / "soup", "--mean_of", seeds[0])
    run_here(*again, moved)  # the same weights, wherever they lie
    with pytest.raises(ValueError, match=r"holds another run .*mean_of_sha256 was"):
        run_here(*again, tmp_path / "soup" / "seed-7")


def test_seeds_with_one_start_have_much_in_common(recipe: Path, tmp_path: Path, run_here, caplog):
    words = ("--seeds", "1", "2", "--init_seed", "0", "--max_steps", "2", "--output_dir", tmp_path / "run")
    run_here(SCRIPT, recipe, *words)
    seeds = [tmp_path / "run" / f"seed-{seed}" for seed in (1, 2)]
    words = ("--none_factor", "0.25", "--output_dir", tmp_path / "soup")
    run_here(SCRIPT, recipe, "--mean_of", *seeds, *words)
    first, second, soup = (load_file(folder / "model.safetensors") for folder in (*seeds, tmp_path / "soup/seed-42"))
    assert not first["classifier.weight"].equal(second["classifier.weight"])
    added = soup["classifier.bias"] - (first["classifier.bias"] + second["classifier.bias"]) / 2
    torch.testing.assert_close(added, torch.tensor([0.25, 1, 1]).log())  # of none, positive and negative
    assert "have little in common" not in caplog.text


def test_the_mean_is_not_calibrated(make_checkpoint, tmp_path: Path):
    folders = []
    for seed in range(2):
        folders.append(Path(shutil.copytree(make_checkpoint(0.3, [0.0, 1.2, 1.0]), tmp_path / str(seed))))
        config = json.loads((folders[-1] / "config.json").read_text())
        calibrated = {"likeness_calibration": [8.0, -3.0], "calibration_temperature": 1.5 + seed}
        (folders[-1] / "config.json").write_text(json.dumps(config | calibrated))
    model, _ = average(list(map(str, folders)))
    assert (model.config.likeness_calibration, model.config.calibration_temperature) == (None, 1.0)


def test_what_has_no_mean(finished_run, recipe: Path, tmp_path: Path, run_here):
    seed, other = finished_run[0] / "seed-1", Path(shutil.copytree(finished_run[0] / "seed-2", tmp_path / "other"))
    words = (SCRIPT, recipe, "--output_dir", tmp_path / "soup", "--mean_of", seed)
    with pytest.raises(ValueError, match=r"mean_of=.*: give one or more, each once"):
        run_here(*words, seed)
    with pytest.raises(ValueError, match=r"mean_of=: give one or more"):
        average([])
    with pytest.raises(ValueError, match="mean_of has models of the type qacg_bert, not model_type=cg_bert"):
        run_here(*words, other, "--model_type", "cg_bert")
    with pytest.raises(FileNotFoundError, match=r"mean_of=.*absent"):
        run_here(*words, tmp_path / "absent")
    told = json.loads((other / "tokenizer.json").read_text())
    vocabulary = told["model"]["vocab"]
    vocabulary["safe"], vocabulary["dear"] = vocabulary["dear"], vocabulary["safe"]
    (other / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match="number tokens differently"):
        run_here(*words, other)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "aspects": config["aspects"][::-1]}))
    with pytest.raises(ValueError, match=r"have aspects=\['general', .* and \['safety', .*give checkpoints of one"):
        run_here(*words, other)
    assert not list((tmp_path / "soup").glob("seed-*/*.safetensors"))


def test_aspects_that_are_kept_keep_their_rows(make_checkpoint, caplog):
    """Of each target, and the pairs are numbered anew."""
    model, _ = load_classifier("model", str(make_checkpoint()))
    assert len(model.config.targets) == 2
    before = dict(zip(Contexts.from_config(model.config), model.bert.context_embeddings.weight, strict=True))
    left, *kept = model.config.aspects
    keep_aspects(model, [*kept[::-1], "noise"])  # which the model does not know
    assert model.config.aspects == [left, *kept]
    keep_aspects(model, kept[::-1])
    assert model.config.aspects == kept
    assert f"the mean leaves {left} behind" in caplog.text
    contexts = Contexts.from_config(model.config)
    model.config.validate()
    assert len(contexts) == model.config.num_contexts == model.bert.context_embeddings.num_embeddings
    for pair, row in zip(contexts, model.bert.context_embeddings.weight, strict=True):
        assert torch.equal(row, before[pair])


def test_a_model_without_an_embedding_leaves_names_behind():
    model = BertForSequenceClassification(BertConfig(hidden_size=8, num_attention_heads=1, num_hidden_layers=1))
    keep_aspects(model, ["price"])  # it names none
    model.config.aspects = ["price", "safety"]
    keep_aspects(model, ["price"])
    assert model.config.aspects == ["price"]
