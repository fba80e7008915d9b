"""What the study keeps: a line a run, and analyses by grid."""

import json
from pathlib import Path

import pytest
import yaml

import grids
import results

RUN = {**grids.BUDGET, "dataset": "sentihood", "model_type": "bert"}
NAME = "sentihood/bert"


def line(seed: int, **fields) -> dict:
    return {"arguments": RUN, "seed": seed, "test": {"macro_f1": 0.1}, "oracle": None, **fields}


def test_results_are_of_runs_in_the_grids():
    runs = {
        (grids.run_name(arguments), seed): arguments
        for grid in map(grids.read_grid, grids.GRIDS)
        for arguments in grid.runs.values()
        for seed in grid.seeds
    }
    lines = [json.loads(line) for line in (grids.STUDY / "results.jsonl").read_text("utf-8").splitlines()]
    assert lines
    for result in lines:
        arguments = result["arguments"]
        assert arguments == runs[grids.run_name(arguments), result["seed"]]
        assert bool(result["oracle"]) is arguments.get("oracle", False)
        assert result.keys() == lines[0].keys()


def test_a_run_has_one_line(tmp_path: Path):
    assert results.read_results(tmp_path).empty
    for seed, score in ((42, 0.1), (43, 0.30000000000000004), (42, 0.9)):  # the last was trained by two at once
        results.add_result(tmp_path / "new", line(seed, test={"macro_f1": score}))
    table = results.read_results(tmp_path / "new")
    assert table["test.macro_f1"].to_dict() == {(NAME, 42): 0.1, (NAME, 43): 0.30000000000000004}
    file = tmp_path / "new" / "results.jsonl"
    file.write_text(file.read_text() * 2)
    with pytest.raises(ValueError, match="duplicate"):
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
    results.look_at_trained("apart", arguments, lambda checkpoint: checkpoint.name, str.upper)
    assert capsys.readouterr().out == "a, seed 42: SEED-42\n"
    assert results.read_analysis(tmp_path, "apart", grid) == {"a": {"42": "seed-42", "43": "old"}}
    assert results.read_analysis(tmp_path, "paired", grid) == {"a": {}}

    fields["runs"]["a"] = {**RUN, "dataset": "semeval2014"}
    arguments.grid.write_text(yaml.safe_dump(fields))
    with pytest.raises(ValueError, match=r"tiny\.yaml is on semeval2014: give a grid on sentihood"):
        results.look_at_trained("apart", arguments, str, str)
