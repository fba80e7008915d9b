"""What the study keeps: a line a run, and analyses by grid."""

from pathlib import Path

import pytest
import yaml

import grids
import results

RUN = {**grids.BUDGET, "dataset": "sentihood", "model_type": "bert"}
NAME = "sentihood/bert"


def test_results_are_of_runs_in_the_grids():
    runs = {
        (grids.run_name(arguments), seed): arguments
        for grid in map(grids.read_grid, grids.GRIDS)
        for arguments in grid.runs.values()
        for seed in grid.seeds
    }
    found = results.read_results(grids.STUDY)
    assert found
    for key, result in found.items():
        assert result["arguments"] == runs[key]
        assert bool(result["oracle"]) is runs[key].get("oracle", False)
        assert ("denoising" in result) is ("denoising" in runs[key])
        optional = {"denoising", "first", "contrast"}  # trained before, and what is asked of classifiers of SentiHood
        assert result.keys() - optional == next(iter(found.values())).keys() - optional


def test_a_run_has_one_line(tmp_path: Path):
    assert results.read_results(tmp_path) == {}
    run = {"arguments": RUN, "seed": 42, "test": {"macro_f1": 0.30000000000000004, "f1": None}}
    for seed, score in ((42, 0.30000000000000004), (43, 0.1), (42, 0.9)):  # the last was trained by two at once
        results.add_result(tmp_path / "new", {**run, "seed": seed, "test": {"macro_f1": score, "f1": None}})
    found = results.read_results(tmp_path / "new")
    assert list(found) == [(NAME, 42), (NAME, 43)]
    assert found[NAME, 42] == run
    file = tmp_path / "new" / "results.jsonl"
    file.write_text(file.read_text() * 2)
    with pytest.raises(ValueError, match=r"results\.jsonl has 4 lines of 2 runs"):
        results.read_results(tmp_path / "new")


def test_what_was_found_in_models_that_are_not_there_is_kept(tmp_path: Path, capsys):
    fields = {"title": "tiny", "split": "test", "seeds": [42, 43], "runs": {"a": RUN}}
    arguments = results.GridArguments(tmp_path / "tiny.yaml", tmp_path / "runs", tmp_path)
    arguments.grid.write_text(yaml.safe_dump(fields))
    grid = grids.read_grid(arguments.grid)
    results.write_analysis(tmp_path, "apart", grid, {"a": {"42": "old", "43": "old"}})
    results.write_analysis(tmp_path, "paired", grid, {"a": {}})
    folder = arguments.output_dir / NAME / "seed-42"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text("{}")
    results.look_at_trained("apart", arguments, lambda checkpoint: {"of": checkpoint.name})
    assert capsys.readouterr().out == "a, seed 42: {'of': 'seed-42'}\n"
    assert results.read_analysis(tmp_path, "apart", grid) == {"a": {"42": {"of": "seed-42"}, "43": "old"}}
    assert results.read_analysis(tmp_path, "paired", grid) == {"a": {}}


@pytest.mark.parametrize(
    ("changes", "files"), [({"control": "context_in_input"}, ["config.json"]), ({"auxiliary_sentence": False}, [])]
)
def test_a_folder_that_is_not_the_model_is_not_asked(tmp_path: Path, capsys, changes: dict, files: list[str]):
    fields = {"title": "tiny", "split": "test", "seeds": [42], "runs": {"a": {**RUN, **changes}}}
    arguments = results.GridArguments(tmp_path / "tiny.yaml", tmp_path / "runs", tmp_path)
    arguments.grid.write_text(yaml.safe_dump(fields))
    grid = grids.read_grid(arguments.grid)
    folder = arguments.output_dir / grids.run_name(grid.runs["a"]) / "seed-42"
    folder.mkdir(parents=True)
    for name in ("results.json", *files):
        (folder / name).write_text("{}")
    results.look_at_trained("contrast", arguments, lambda checkpoint: {"of": 1}, asks_model=True)
    assert capsys.readouterr().out.startswith("a, seed 42: left out")
    assert results.read_analysis(tmp_path, "contrast", grid) == {}
    results.look_at_trained("trade_off", arguments, lambda checkpoint: {"of": 1})  # its answers are kept beside it
    assert results.read_analysis(tmp_path, "trade_off", grid) == {"a": {"42": {"of": 1}}}
