"""The tables of docs/accuracy.md and of the README."""

import json
from pathlib import Path

import pytest

import grids
import report
import results

RUNS = {
    name: {**grids.BUDGET, "dataset": "sentihood", "model_type": name} for name in ("bert", "cg_bert", "qacg_bert")
}


def table_of(folder: Path, *lines: dict) -> report.Results:
    """Results of runs of which every score but one is the same figure."""
    for line in lines:
        for split in {"validation", "test"} & line.keys():
            line[split] = dict.fromkeys(report.MAIN_SCORES["sentihood"], line[split]) | {"sentiment_auc": None}
        results.add_result(folder, {**line, "arguments": RUNS[line["arguments"]]})
    return results.read_results(folder)


@pytest.mark.parametrize("name", ["docs/accuracy.md", "README.md"])
def test_documents_have_the_figures_of_the_results_files(repo_root: Path, name: str):
    document = (repo_root / name).read_text(encoding="utf-8")
    assert report.TABLE.search(document)
    assert report.fill(document, repo_root / "study") == document


def test_means_deviations_and_what_was_not_run(tmp_path: Path):
    runs, reported = {"B": RUNS["bert"], "C": RUNS["cg_bert"]}, {"B": ["1", "2", "3", "4", "5"]}
    grid = grids.Grid("g", "title", "validation", [1, 2, 3], runs, reported)
    lines = (
        {"arguments": "bert", "seed": 1, "score_precision": "float32", "validation": 0.70},
        {"arguments": "bert", "seed": 2, "score_precision": "bfloat16", "validation": 0.72},
    )
    lines = report.scores_table(grid, table_of(tmp_path, *lines)).splitlines()
    assert lines[2] == "| B |  | 1 | 2 | 3 | 4 | 5 |"
    # The mean of 70 and 72 and their sample deviation, 2 / sqrt(2).
    assert lines[3] == "| B | 2 | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | undefined |"
    assert lines[5] == "Scored in bfloat16, as trained, where the pipeline answers in float32: all runs."
    assert lines[-1] == "Not run: B (seed 3); C (seeds 1, 2, 3)."


def test_paired_differences(tmp_path: Path):
    grid = grids.Grid("g", "title", "test", [1, 2, 3], RUNS)
    figures = {"cg_bert": (0.70, 0.74, 0.5), "bert": (0.70, 0.70, 0.5)}
    lines = [
        {"arguments": name, "seed": seed, "test": figure}
        for name in figures
        for seed, figure in enumerate(figures[name], start=1)
    ]
    table = table_of(tmp_path, *lines)
    scores = report.MAIN_SCORES["sentihood"]
    found = {f"{name}{end}": bound for name in scores for end, bound in (("_low", -0.01), ("_high", 0.03))}
    # 70 and 74 vary by 2.83, the others by 0: √(8 / 2) = 2. With 50 they vary by 12.86 and 11.55.
    for seeds, cell in (
        ([1, 2, 3], "+1.3 [-1.0, +3.0] ± 10.0"),
        ([1, 2], "+2.0 [-1.0, +3.0] ± 2.0"),
        ([1], "+0.0 [-1.0, +3.0]"),
    ):
        compared = {"cg_bert": {"minus": "bert", "seeds": seeds, "scores": found}}
        line = report.paired_table(grid, table, compared).splitlines()[-1]
        assert line == f"| cg_bert minus bert | {len(seeds)} | {' | '.join([cell] * 4)} | undefined |"
    with pytest.raises(KeyError, match="4"):
        report.paired_table(grid, table, {"cg_bert": {"minus": "bert", "seeds": [3, 4], "scores": found}})


def test_differences_from_the_first_run(tmp_path: Path):
    # Seed 3 has been trained of the first run only, the last run not at all.
    figures = {"bert": ((0.70, 0.70, 0.1), 0.0), "cg_bert": ((0.70, 0.74), 0.1)}
    lines = [
        {"arguments": name, "seed": seed, "test": figure, "validation": figure + shift}
        for name, (of_seeds, shift) in figures.items()
        for seed, figure in enumerate(of_seeds, start=1)
    ]
    table = table_of(tmp_path, *lines)
    # 70 and 74 vary by 2.83, √(8 / 2) = 2, and Student's t of two degrees of freedom is 4.30: bold from 8.6 on.
    on_validation = f"| cg_bert, validation | 2 | {' | '.join(['**+12.0 ± 2.0**'] * 4)} | undefined |"
    on_test = f"| cg_bert, test | 2 | {' | '.join(['+2.0 ± 2.0'] * 4)} | undefined |"
    for split, expected in (("test", [on_validation, on_test]), ("validation", [on_validation])):
        heading, _, *lines = report.differences_table(
            grids.Grid("g", "title", split, [1, 2, 3], RUNS), table
        ).splitlines()
        assert heading.startswith("| minus bert, points | seeds | strict accuracy |")
        assert lines == expected, split


def test_all_that_was_measured_is_shown_and_belongs_together(repo_root: Path):
    table = results.read_results(grids.STUDY)
    places = {name for _, name, _ in report.TABLE.findall((repo_root / "docs" / "accuracy.md").read_text("utf-8"))}
    by_name = {file.stem: grids.read_grid(file) for file in grids.GRIDS}
    assert places >= set(by_name)
    ends = {"terms": ("before", "gradients", "after")}
    for analysis, of_grids in json.loads((grids.STUDY / "analyses.json").read_text("utf-8")).items():
        for name, found in of_grids.items():
            assert places & {f"{name}_{end}" for end in ends.get(analysis, (analysis,))}
            assert found.keys() <= by_name[name].runs.keys()
            for label, of_run in found.items():
                test = report.scores_of(by_name[name], label, table, "test")
                if analysis in ("apart", "trade_off"):
                    assert set(of_run) <= set(map(str, test.index)), (analysis, name, label)
                if analysis == "paired":
                    assert by_name[name].paired[label] == of_run["minus"]
                    other = report.scores_of(by_name[name], of_run["minus"], table, "test")
                    difference = (test.loc[of_run["seeds"]] - other.loc[of_run["seeds"]]).mean().to_dict()
                    stored = {score: of_run["scores"][score] for score in difference}
                    assert stored == pytest.approx(difference, abs=1e-12), name


def test_a_place_for_no_table(tmp_path: Path):
    with pytest.raises(ValueError, match="there is no table comparision"):
        report.fill("<!-- comparision -->\n<!-- /comparision -->", tmp_path)
