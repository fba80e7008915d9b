"""The tables of documents."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest

import found_and_judged
import grids
import opinion_tables
import report
import results
import score_tables
import unseen
from absa.tasks import generation

RUNS = {name: {**grids.BUDGET, "dataset": "sentihood", "model_type": name} for name in ("bert", "cg_bert")}


def test_documents_have_the_figures_of_the_results_files(repo_root: Path):
    tables = report.all_tables(repo_root / "study")
    for name in (*(f"docs/{page}.md" for page in report.PAGES), "README.md"):
        document = (repo_root / name).read_text(encoding="utf-8")
        assert report.TABLE.search(document), name
        assert report.fill(document, tables) == document, name


def test_means_deviations_and_what_was_not_run(tmp_path: Path):
    runs, reported = {"B": RUNS["bert"], "C": RUNS["cg_bert"]}, {"B": ["1", "2", "3", "4", "5"]}
    grid = grids.Grid("g", "title", "validation", [1, 2, 3], runs, reported)
    for seed, precision, score in ((1, "float32", 0.70), (2, "bfloat16", 0.72)):
        scores = dict.fromkeys(report.MAIN_SCORES["sentihood"], score) | {"sentiment_auc": None}
        run = {
            "arguments": RUNS["bert"],
            "seed": seed,
            "bf16": True,
            "score_precision": precision,
            "validation": scores,
        }
        results.add_result(tmp_path, run)
    lines = report.scores_table(grid, results.read_results(tmp_path)).splitlines()
    assert lines[2] == "| B |  | 1 | 2 | 3 | 4 | 5 |"
    # The mean of 70 and 72 and their sample deviation, 2 / sqrt(2).
    assert lines[3] == "| B | 2 | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | 71.0 (1.4) | undefined |"
    assert lines[5] == "Scored in bfloat16, as they were trained, while the pipeline answers in float32: all runs."
    assert lines[-1] == "Not run: B (seed 3); C (seeds 1, 2, 3)."


def test_generators_show_the_scores_of_their_subtask():
    shown = {}
    for grid in map(grids.read_grid, grids.GRIDS):
        if grid.task == "generation":
            assert {run.get("subtasks", "aste") for run in grid.runs.values()} == {grid.scored_as}
            shown[grid.scored_as] = list(report.MAIN_SCORES[grid.scored_as])
    assert shown.keys() == {"aste", "aesc", "aoe", "alsc"}
    for subtask, names in shown.items():
        assert names[: len(generation.MAIN_SCORES[subtask])] == generation.MAIN_SCORES[subtask]


def test_overlap_is_of_spans_that_are_found(tmp_path: Path):
    run = {**grids.BUDGET, "task": "generation", "model_type": "pointer_absa", "dataset": "aste_v2"}
    of_grids = [
        grids.Grid(subtask, "title", "test", [1, 2], {"model": {**run, "subtasks": subtask}})
        for subtask in ("aste", "aoe", "alsc")
    ]
    opinions = {"exact": 0.0, "opinion_jaccard": 0.7, "opinion_jaccard_spans": 0.6}
    targets = {"target_jaccard": 0.9, "target_jaccard_spans": 0.8}
    for grid, scores in zip(of_grids, ({**opinions, **targets}, opinions, {"accuracy": 0.9}), strict=True):
        for seed in (1, 2) if grid.name == "aste" else (1,):
            results.add_result(tmp_path, {"arguments": grid.runs["model"], "seed": seed, "test": scores})
    shown = report.overlap_table(of_grids, results.read_results(tmp_path)).splitlines()
    assert shown[2:] == [
        "| aste: model | 2 | 0.0 (0.0) | 90.0 (0.0) | 80.0 (0.0) | 70.0 (0.0) | 60.0 (0.0) |",
        "| aoe: model | 1 | 0.0 |  |  | 70.0 | 60.0 |",
    ]


def test_data_side_by_side(tmp_path: Path):
    common = {**grids.BUDGET, "dataset": "aspect_polarity", "model_type": "af_lstm"}
    runs = {label: {**common, "config_overrides": f"architecture={label}"} for label in ("lstm", "td_lstm")}
    terms = grids.Grid("t", "terms", "test", [1, 2], runs, {"lstm": ["67.94", "", ""]})
    categories = {"lstm": {**runs["lstm"], "data_config": "restaurants_categories"}}
    categories = grids.Grid("c", "categories", "test", [1], categories, {"lstm": ["73.38", "", ""]})
    for run, seed, accuracy in ((runs["lstm"], 1, 0.7), (runs["lstm"], 2, 0.72), (categories.runs["lstm"], 1, 0.8)):
        scores = {"accuracy": accuracy, "macro_f1": 0.5, "mixed_accuracy": None}
        results.add_result(tmp_path, {"arguments": run, "seed": seed, "score_precision": "float32", "test": scores})
    shown = report.side_by_side([categories, terms], results.read_results(tmp_path), 0)
    assert shown.splitlines()[0] == "| % | categories | terms |"
    assert shown.splitlines()[2:] == [
        "| lstm | 80.0 | 71.0 (1.4) |",
        "| lstm, as reported | 73.38 | 67.94 |",
        "| td_lstm |  |  |",
        "",
        "3 of 5 runs are done.",
    ]


def test_differences():
    one = pd.DataFrame(
        {"f1": [0.70, 0.74, 0.50], "binary": [0.80, 0.84, 0.60], "auc": [math.nan] * 3, "floor_f1": [0.5] * 3}
    )
    other = pd.DataFrame({"f1": [0.70, 0.70, 0.50], "binary": [0.70] * 3, "auc": [0.5] * 3, "floor_f1": [0.5] * 3})
    bounds = {f"{name}_{end}": bound for name in ("f1", "binary") for end, bound in (("low", -0.01), ("high", 0.03))}
    # 70 and 74 vary by 2.83, the others by 0: √(8 / 2) = 2. With 50 they vary by 12.86 and 11.55. Student's t of two
    # degrees of freedom is 4.30: bold from 8.6 on.
    for seeds, given, expected in (
        (3, bounds, ["+1.3 [-1.0, +3.0] ± 10.0", "+4.7 [-1.0, +3.0] ± 7.4", "undefined", "+0.0 ± 0.0"]),
        (2, None, ["+2.0 ± 2.0", "**+12.0 ± 2.0**", "undefined", "+0.0 ± 0.0"]),
        (1, None, ["+0.0", "+10.0", "undefined", "+0.0"]),
    ):
        assert score_tables.differences(one[:seeds], other[:seeds], given) == expected


def test_all_that_was_measured_is_shown_and_belongs_together(repo_root: Path):
    table = results.read_results(grids.STUDY)
    documents = [(repo_root / "docs" / name).read_text("utf-8") for name in map("{}.md".format, report.PAGES)]
    places = {name for document in documents for _, name, _ in report.TABLE.findall(document)}
    by_name = {file.stem: grids.read_grid(file) for file in grids.GRIDS}
    assert places >= {name for name in by_name if not name.startswith("af_lstm_")} | {"af_lstm_accuracy"}
    ends = {"terms": ("before", "gradients", "after"), "families": ("others",)}
    for analysis, of_grids in json.loads((grids.STUDY / "analyses.json").read_text("utf-8")).items():
        for name, found in of_grids.items():
            assert places & {analysis, *(f"{name}_{end}" for end in ends.get(analysis, (analysis,)))}
            if analysis == "families":
                no_rows = [of_run for label, of_run in found.items() if label not in by_name[name].runs]
                assert no_rows
                assert all(len(of_run["scores"]) == 3 for of_run in no_rows)
                continue
            others = (unseen.COMMONEST, unseen.SIMILARITY, found_and_judged.GENERATOR)
            trained = {label: of_run for label, of_run in found.items() if label not in others}
            runs = [(label.removesuffix(unseen.BY_LIKENESS), of_run) for label, of_run in trained.items()]
            assert {label for label, _ in runs} <= by_name[name].runs.keys()
            for label, of_run in runs:
                test = score_tables.scores_of(by_name[name], label, table, "test")
                if analysis in (
                    "ablation",
                    "apart",
                    "trade_off",
                    "decoding",
                    "unseen",
                    "found_and_judged",
                    "by_number",
                    "exchanged",
                ):
                    assert set(of_run) <= set(map(str, test.index)), (analysis, name, label)
                for minus, compared in of_run.items() if analysis == "paired" else ():
                    assert (label, minus) in by_name[name].pairs
                    other = score_tables.scores_of(by_name[name], minus, table, "test")
                    difference = (test.loc[compared["seeds"]] - other.loc[compared["seeds"]]).mean().to_dict()
                    assert len(difference) > 0
                    floors = {score: difference.pop(score) for score in [*difference] if score.startswith("floor_")}
                    assert all(floor == 0 for floor in floors.values()), "of the data alone"
                    if compared["scores"] is not None:
                        stored = {score: compared["scores"][score] for score in difference}
                        assert stored == pytest.approx(difference, abs=1e-12), name


def test_a_place_for_no_table(tmp_path: Path):
    empty = "<!-- quasi_forms_paired -->\n\n{}\n<!-- /quasi_forms_paired -->"
    assert report.fill(empty.format("| old |\n"), report.all_tables(tmp_path)) == empty.format("Not run.\n")
    with pytest.raises(KeyError, match="comparision"):
        report.fill("<!-- comparision -->\n<!-- /comparision -->", report.all_tables(tmp_path))


def test_aspects_that_were_in_no_training():
    run = {**RUNS["bert"], "metric": "absa"}
    runs = {"without price": {**run, "unseen_aspects": "price"}, "seen": run}
    grid = grids.Grid("g", "title", "test", [1, 2], runs)
    found = [
        {name: {"aspect_auc": auc, "sentiment_accuracy": 0.5} for name in ("price", "safety")} for auc in (0.7, 0.72)
    ]
    similar = {"": found[0]}
    lines = report.unseen_table(grid, {"without price": {"1": found[0], "2": found[1]}, "alike": similar}).splitlines()
    assert lines[0] == "| title, %: aspect AUC, sentiment accuracy | seeds | price | safety |"
    assert lines[2] == "| alike |  | 70.0, 50.0 | 70.0, 50.0 |"
    assert lines[3] == "| without price | 2 | 71.0 (1.4), 50.0 (0.0) | [71.0 (1.4), 50.0 (0.0)] |"
    assert lines[-1] == "Not run: seen."
    assert grid.scored_as == "absa"


def test_goals_stand_below_the_aspects_that_were_left_out():
    run = {**RUNS["bert"], "metric": "absa"}
    left_out = {**run, "unseen_aspects": "price"}
    grid = grids.Grid("g", "title", "test", [1, 2], {"closed": run, "ours": left_out, "rival": left_out})
    analysis = {
        label: {
            seed: {name: {"aspect_auc": auc, "sentiment_accuracy": auc} for name in ("price", "safety")}
            for seed, auc in zip("12", aucs, strict=True)
        }
        for label, aucs in (("closed", (0.8, 1.0)), ("ours", (0.6, 0.9)), ("rival", (0.5, 0.79)))
    }
    lines = report.unseen_table(grid, analysis).splitlines()
    # 75 and 90 % of the closed model's; 10 and 11 points more than the rival, whose error is 0.5: 21 times that.
    assert lines[-2] == "| left out / closed, % |  | 82.5 (10.6), 82.5 (10.6) |  |"
    assert lines[-1] == "| left out minus BERT-pair, points |  | **+10.5 ± 0.5**, **+10.5 ± 0.5** |  |"
    assert len(report.unseen_table(grid, {"closed": analysis["closed"]}).splitlines()) == 5  # no goal yet


def test_ablation():
    grid = grids.Grid("g", "title", "test", [1, 2], {"ours": RUNS["bert"]})
    found = {
        "1": {
            "as trained": {"strict_accuracy": 0.70, "macro_f1": 0.8, "other_answers": 0.0},
            "λ_A = 0": {"strict_accuracy": 0.71, "macro_f1": 0.8, "other_answers": 0.01},
        },
        "2": {
            "as trained": {"strict_accuracy": 0.72, "macro_f1": 0.8, "other_answers": 0.0},
            "λ_A = 0": {"strict_accuracy": 0.71, "macro_f1": 0.8, "other_answers": 0.03},
        },
    }
    heading, _, row = report.ablation_table(grid, {"ours": found}).splitlines()
    assert (
        heading == "| title, %: strict accuracy, macro-F1 | seeds | as trained | λ_A = 0: points; other answers, % |"
    )
    assert row == "| ours | 2 | 71.0 (1.4), 80.0 (0.0) | +0.0 ± 1.0, +0.0 ± 0.0; 2.0 (1.4) |"
    assert report.ablation_table(grid, {}) == "Not run.\n"


def test_terms_with_and_without_relative_spread():
    before = {"gate": [0.1], "ratio": [0.2], "spread": [0.3], "ratio_by_length": {"n <= 20": 0.4}}
    found = {"old": {"42": {"before": before}}}
    assert report.terms_table(found, "after") == "Not run.\n"
    lines = report.terms_table(found, "before").splitlines()
    assert lines[0].startswith(
        "| before training: gate, quasi / softmax, spread of A_quasi | seeds | guided layer 1 |"
    )
    assert lines[2] == "| old | 1 | 0.100, 0.20, 0.300 | 0.40 |"
    new = {"42": {"before": {**before, "relative_spread": [0.5]}}}
    lines = report.terms_table({**found, "new": new}, "before").splitlines()
    assert "spread of A_quasi [over the mean size of A_quasi] |" in lines[0]
    assert lines[2] == "| old | 1 | 0.100, 0.20, 0.300 | 0.40 |"
    assert lines[3] == "| new | 1 | 0.100, 0.20, 0.300 [0.500] | 0.40 |"
    again = {
        "gate": [0.2],
        "ratio": [0.4],
        "spread": [0.3],
        "ratio_by_length": {"n <= 20": 0.8},
        "relative_spread": [0.7],
    }
    lines = report.terms_table({"new": {**new, "43": {"before": again}}}, "before").splitlines()
    assert lines[2] == "| new | 2 | 0.150, 0.30, 0.300 [0.600 (0.141)] | 0.60 |"
    two = {"42": {"before": {**before, **{name: [0.1, 0.2] for name in ("gate", "ratio", "spread")}}}}
    lines = report.terms_table({**found, "two": two}, "before").splitlines()
    assert lines[2:] == [
        "| old | 1 | 0.100, 0.20, 0.300 |  | 0.40 |",
        "| two | 1 | 0.100, 0.10, 0.100 | 0.200, 0.20, 0.200 | 0.40 |",
    ]


def test_how_opinions_are_told_apart(tmp_path: Path):
    runs = {"B": RUNS["bert"], "C": RUNS["cg_bert"], "D": {**RUNS["bert"], "r_drop": True}}
    grid = grids.Grid("g", "title", "validation", [1, 2], runs, paired={"C": "B", "D": "B"})
    scores = dict.fromkeys(score_tables.MAIN_SCORES["sentihood"], 0.5)
    for label, seed, mixed, shift in (("B", 1, 0.8, 0.0), ("B", 2, 0.9, None), ("C", 1, 0.7, 0.05)):
        asked = shift is not None
        contrast = {name: share / 10 + shift for share, name in enumerate(opinion_tables.CONTRAST)} if asked else None
        found = {"validation": {**scores, "mixed_accuracy": mixed}, "test": {"mixed_accuracy": 0.1}}
        run = {"arguments": runs[label], "seed": seed, **found, **({"contrast": contrast} if asked else {})}
        results.add_result(tmp_path, run)
    table = results.read_results(tmp_path)
    lines = report.contrast_table(grid, table).splitlines()
    assert lines[0] == f"| title, % | seeds | mixed texts | seeds asked | {' | '.join(opinion_tables.CONTRAST)} |"
    assert lines[2:] == [
        "| B | 2 | 85.0 (7.1) | 1 | 0.0 | 10.0 | 20.0 | 30.0 |",
        "| C | 1 | 70.0 | 1 | 5.0 | 15.0 | 25.0 | 35.0 |",
    ]
    lines = report.pairs_table(grid, table).splitlines()
    assert lines[0].startswith("| title, points | seeds | strict accuracy | macro-F1 |")
    assert lines[2:] == [f"| C minus B | 1 | {' | '.join(['+0.0'] * 5)} | -10.0 | {' | '.join(['+5.0'] * 4)} |"]


def test_precisions_are_told_where_they_differ(tmp_path: Path):
    grid = grids.Grid("g", "title", "test", [1, 2], {"B": RUNS["bert"], "C": RUNS["cg_bert"]})
    scores = {"test": dict.fromkeys(score_tables.MAIN_SCORES["sentihood"], 0.5), "score_precision": "float32"}
    for label, seed, bf16 in (("bert", 1, False), ("bert", 2, False)):
        results.add_result(tmp_path, {"arguments": RUNS[label], "seed": seed, "bf16": bf16, **scores})
    assert "Trained in" not in report.scores_table(grid, results.read_results(tmp_path))
    results.add_result(tmp_path, {"arguments": RUNS["cg_bert"], "seed": 1, "bf16": True, **scores})
    told = "\nTrained in float32 are the seeds of B (1, 2); the others in bfloat16.\n"
    assert told in report.scores_table(grid, results.read_results(tmp_path))
