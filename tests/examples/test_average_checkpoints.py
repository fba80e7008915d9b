"""examples/average_checkpoints.py: the mean of checkpoints is a checkpoint, of models that differ in weights alone."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import absa
from absa.averaging import average

SCRIPT = "examples/average_checkpoints.py"


def test_the_mean_is_asked_and_scored(finished_run, tiny_sentihood: Path, tmp_path: Path, run_here, caplog):
    seeds = [finished_run[0] / f"seed-{seed}" for seed in (1, 2)]
    printed = run_here(SCRIPT, *seeds, "--output_dir", tmp_path / "soup")
    assert "not calibrated" in printed
    assert "have little in common" in caplog.text  # its seeds began with other weights
    soup, first, second = (load_file(folder / "model.safetensors") for folder in (tmp_path / "soup", *seeds))
    assert soup.keys() == first.keys() == second.keys()
    for name, weight in soup.items():
        torch.testing.assert_close(weight, (first[name].double() + second[name].double()).div(2).float())
    assert not soup["classifier.weight"].equal(first["classifier.weight"])
    config = json.loads((tmp_path / "soup" / "config.json").read_text())
    assert config["calibration_temperature"] == 1.0
    assert len(absa.load(str(tmp_path / "soup"))("LOCATION1 is safe", return_all=True)) == 4
    run_here("examples/evaluate_checkpoint.py", tmp_path / "soup", "--data_dir", tiny_sentihood)


def test_seeds_with_one_start_have_much_in_common(recipe: Path, tmp_path: Path, run_here, caplog):
    words = ("--seeds", "1", "2", "--init_seed", "0", "--max_steps", "2", "--output_dir", tmp_path / "run")
    run_here("examples/run_absa.py", recipe, *words)
    seeds = [tmp_path / "run" / f"seed-{seed}" for seed in (1, 2)]
    run_here(SCRIPT, *seeds, "--output_dir", tmp_path / "soup")
    first, second = (load_file(folder / "model.safetensors")["classifier.weight"] for folder in seeds)
    assert not first.equal(second)
    assert "have little in common" not in caplog.text


def test_likeness_is_calibrated_by_the_mean(make_checkpoint, tmp_path: Path):
    folders = []
    for seed, line in enumerate(([8.0, -3.0], [9.0, -4.0], None)):
        folders.append(Path(shutil.copytree(make_checkpoint(0.3, [0.0, 1.2, 1.0]), tmp_path / str(seed))))
        config = json.loads((folders[-1] / "config.json").read_text())
        (folders[-1] / "config.json").write_text(json.dumps(config | {"likeness_calibration": line}))
    for chosen, expected in ((folders[:2], [8.5, -3.5]), (folders, None)):
        model, _ = average([str(folder) for folder in chosen])
        assert model.config.likeness_calibration == expected


def test_what_has_no_mean(finished_run, tmp_path: Path, run_here):
    seed, other = finished_run[0] / "seed-1", Path(shutil.copytree(finished_run[0] / "seed-2", tmp_path / "other"))
    words = (SCRIPT, seed, other, "--output_dir")
    with pytest.raises(FileExistsError, match="is not an empty folder"):
        run_here(*words, tmp_path)
    with pytest.raises(ValueError, match=r"checkpoints=.*: give two or more"):
        run_here(SCRIPT, seed, "--output_dir", tmp_path / "soup")
    with pytest.raises(ValueError, match=r"checkpoints=.*: give two or more, each once"):
        run_here(SCRIPT, seed, seed, "--output_dir", tmp_path / "soup")
    told = json.loads((other / "tokenizer.json").read_text())
    vocabulary = told["model"]["vocab"]
    vocabulary["safe"], vocabulary["dear"] = vocabulary["dear"], vocabulary["safe"]
    (other / "tokenizer.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match="number tokens differently"):
        run_here(*words, tmp_path / "soup")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps({**config, "aspects": config["aspects"][::-1]}))
    with pytest.raises(ValueError, match=r"have aspects=\['general', .* and \['safety', .*give checkpoints of one"):
        run_here(*words, tmp_path / "soup")
    assert not (tmp_path / "soup").exists()
