"""The tables of docs/accuracy.md and of the README."""

import json
from pathlib import Path

import pytest

import grids
import report


@pytest.mark.parametrize("name", ["docs/accuracy.md", "README.md"])
def test_documents_have_the_figures_of_the_results_files(repo_root: Path, name: str):
    document = (repo_root / name).read_text(encoding="utf-8")
    assert report.TABLE.search(document)
    assert report.fill(document, repo_root / "study" / "results") == document


def test_means_deviations_and_what_was_not_run(tmp_path: Path):
    run = {**grids.BUDGET, "dataset": "sentihood", "model_type": "bert"}
    other = {**run, "model_type": "cg_bert"}
    grid = grids.Grid(
        "g", "title", "validation", [1, 2, 3], {"B": run, "C": other}, {"R": ["1", "2", "3", "4", "5"]}, {}
    )
    for seed, score in ((1, 0.70), (2, 0.72)):
        file = tmp_path / grids.run_name(run) / f"seed-{seed}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        scores = dict.fromkeys(report.MAIN_SCORES["sentihood"], score) | {"sentiment_auc": None}
        result = {"score_precision": "bfloat16" if seed == 2 else "float32", "seed": seed, "validation": scores}
        file.write_text(json.dumps(result))
    lines = report.scores_table(grid, tmp_path).splitlines()
    assert lines[2] == "| R |  | 1 | 2 | 3 | 4 | 5 |"
    # The mean of 70 and 72 and their sample deviation, 2 / sqrt(2).
    assert lines[3] == "| B | 2 | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | undefined |"
    assert lines[5] == "Scored in bfloat16, as trained, where the pipeline answers in float32: all runs."
    assert lines[-1] == "Not run: B (seed 3); C (seeds 1, 2, 3)."


def test_paired_differences(tmp_path: Path):
    runs = {label: {**grids.BUDGET, "dataset": "sentihood", "model_type": label} for label in ("cg_bert", "bert")}
    grid = grids.Grid("g", "title", "test", [1, 2, 3], runs, {}, {"cg_bert": "bert"})
    assert report.paired_table(grid, tmp_path) == "Not run.\n"
    for label, figures in (("cg_bert", (0.70, 0.74, 0.5)), ("bert", (0.70, 0.70, 0.5))):
        for seed, figure in enumerate(figures, start=1):
            file = tmp_path / grids.run_name(runs[label]) / f"seed-{seed}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            scores = dict.fromkeys(report.MAIN_SCORES["sentihood"], figure) | {"sentiment_auc": None}
            file.write_text(json.dumps({"seed": seed, "test": scores}))
    found = {f"{name}{end}": bound for name in scores for end, bound in (("_low", -0.01), ("_high", 0.03))}
    (tmp_path / "paired").mkdir()
    # 70 and 74 vary by 2.83, the others by 0: √(8 / 2) = 2. With 50 they vary by 12.86 and 11.55.
    for seeds, cell in (
        ([1, 2, 3], "+1.3 [-1.0, +3.0] ± 10.0"),
        ([1, 2], "+2.0 [-1.0, +3.0] ± 2.0"),
        ([1], "+0.0 [-1.0, +3.0]"),
    ):
        compared = {"cg_bert": {"minus": "bert", "seeds": seeds, "scores": found}}
        (tmp_path / "paired" / "g.json").write_text(json.dumps(compared))
        lines = report.paired_table(grid, tmp_path).splitlines()[2:]
        row = f"| cg_bert minus bert | {len(seeds)} | {' | '.join([cell] * 4)} | undefined |"
        assert lines == [row], seeds
    file.unlink()  # of seed 3
    compared = {"cg_bert": {"minus": "bert", "seeds": [1, 2, 3], "scores": found}}
    (tmp_path / "paired" / "g.json").write_text(json.dumps(compared))
    with pytest.raises(ValueError, match=r"g.json compares seeds of cg_bert minus bert without results files, \[3\]"):
        report.paired_table(grid, tmp_path)


def test_differences_from_the_first_run(tmp_path: Path):
    runs = {label: {**grids.BUDGET, "dataset": "sentihood", "model_type": label} for label in ("bert", "cg_bert", "c")}
    # Seed 3 has been trained of the first run only, the last run not at all.
    for label, figures, shift in (("bert", (0.70, 0.70, 0.1), 0.0), ("cg_bert", (0.70, 0.74), 0.1)):
        for seed, figure in enumerate(figures, start=1):
            file = tmp_path / grids.run_name(runs[label]) / f"seed-{seed}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            test, validation = (dict.fromkeys(report.MAIN_SCORES["sentihood"], f) for f in (figure, figure + shift))
            file.write_text(json.dumps({"seed": seed, "test": test, "validation": validation}))
    # 70 and 74 vary by 2.83, √(8 / 2) = 2, and Student's t of two degrees of freedom is 4.30: bold from 8.6 on.
    on_validation = f"| cg_bert, validation | 2 | {' | '.join(['**+12.0 ± 2.0**'] * 5)} |"
    on_test = f"| cg_bert, test | 2 | {' | '.join(['+2.0 ± 2.0'] * 5)} |"
    for split, expected in (("test", [on_validation, on_test]), ("validation", [on_validation])):
        grid = grids.Grid("g", "title", split, [1, 2, 3], runs, {}, {})
        heading, _, *lines = report.differences_table(grid, tmp_path).splitlines()
        assert heading.startswith("| minus bert, points | seeds | strict accuracy |")
        assert lines == expected, split


def test_all_that_was_measured_is_shown_and_belongs_together(repo_root: Path):
    results = repo_root / "study" / "results"
    places = {name for _, name, _ in report.TABLE.findall((repo_root / "docs" / "accuracy.md").read_text("utf-8"))}
    by_name = {grid.name: grid for grid in map(grids.read_grid, grids.GRIDS)}
    assert places >= set(by_name)
    for file in results.glob("terms/*.json"):
        assert places & {f"{file.stem}_before", f"{file.stem}_gradients", f"{file.stem}_after"}
        assert set(json.loads(file.read_text("utf-8"))) <= set(by_name[file.stem].runs), file
    for file in [*results.glob("apart/*.json"), *results.glob("trade_off/*.json")]:
        assert f"{file.stem}_{file.parent.name}" in places
        grid = by_name[file.stem]
        for label, seeds in json.loads(file.read_text("utf-8")).items():
            trained = {str(result["seed"]) for result in report.results_of(grid, label, results)}
            assert set(seeds) <= trained, (file, label)
    for file in results.glob("paired/*.json"):
        assert f"{file.stem}_paired" in places
        grid = by_name[file.stem]
        for label, compared in json.loads(file.read_text("utf-8")).items():
            assert grid.paired[label] == compared["minus"]
            for name in report.scores_of(grid):
                mean, other = (
                    sum(
                        result["test"][name]
                        for result in report.results_of(grid, of, results)
                        if result["seed"] in compared["seeds"]
                    )
                    / len(compared["seeds"])
                    for of in (label, compared["minus"])
                )
                assert compared["scores"][name] == pytest.approx(mean - other, abs=1e-12), (file, name)


def test_a_place_for_no_table(tmp_path: Path):
    with pytest.raises(ValueError, match="there is no table comparision"):
        report.fill("<!-- comparision -->\n<!-- /comparision -->", tmp_path)


def test_sizes_of_terms(tmp_path: Path):
    grid = grids.Grid("g", "title", "validation", [1], {}, {}, {})
    assert report.stored("terms", grid, tmp_path) == {}
    sizes = {"gate": [0.1, 0.3], "ratio": [0.5, 1.5], "spread": [0.01, 0.0], "ratio_by_length": {"n <= 20": 0.25}}
    found = {
        "a": {"before": {**sizes, "gradient": {"query_gate": 0.0123}}, "after": sizes},
        "b": {"before": {**sizes, "gradient": {"query_gate": 1e-8}}},
    }
    (tmp_path / "terms").mkdir()
    (tmp_path / "terms" / "g.json").write_text(json.dumps(found))
    by_layer = "| a | 0.100, 0.50, 0.010 | 0.300, 1.50, 0.000 | 0.25 |"
    headings = "gate, quasi / softmax, spread of A_quasi | guided layer 1 | guided layer 2 | n <= 20 |"
    before = report.terms_table(grid, tmp_path, "before").splitlines()
    assert before[0] == f"| before training: {headings}"
    assert before[2:] == [by_layer, by_layer.replace("a", "b", 1)]
    after = report.terms_table(grid, tmp_path, "after").splitlines()
    assert after[0] == f"| after training: {headings}"
    assert after[2:] == [by_layer]
    gradients = report.gradients_table(grid, tmp_path).splitlines()
    assert gradients[0] == "| gradient before training | query gate |"
    assert gradients[2:] == ["| a | 1e-02 |", "| b | 1e-08 |"]


def test_what_is_taken_for_another(tmp_path: Path):
    grid = grids.Grid("g", "title", "validation", [1], {}, {}, {})
    assert report.apart_table(grid, tmp_path) == "Not run.\n"
    (tmp_path / "apart").mkdir()
    looked = {"x, y": {"distance": 0.254, "right": 0.468, "other": 0.004}}
    (tmp_path / "apart" / "g.json").write_text(json.dumps({"a": {"42": looked, "44": looked}}))
    table = report.apart_table(grid, tmp_path).splitlines()
    assert table[0] == "| distance: right, other in % | x, y |"
    assert table[2:] == ["| a, seed 42 | 0.25: 47, 0 |", "| a, seed 44 | 0.25: 47, 0 |"]


def test_trade_off(tmp_path: Path):
    grid = grids.Grid("g", "title", "test", [1, 2], {}, {}, {})
    (tmp_path / "trade_off").mkdir()
    seeds = {
        seed: {factor: {"strict_accuracy": strict, "macro_f1": 0.8} for factor in ("1", "1/2")}
        for seed, strict in (("1", 0.7), ("2", 0.74))
    }
    (tmp_path / "trade_off" / "g.json").write_text(json.dumps({"a": seeds}))
    heading, _, line = report.trade_off_table(grid, tmp_path).splitlines()
    assert heading == "| title, %: strict accuracy, macro-F1 | seeds | none times 1 | none times 1/2 |"
    assert line == "| a | 2 | 72.0 (2.8), 80.0 (0.0) | 72.0 (2.8), 80.0 (0.0) |"
