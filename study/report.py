"""Writes the tables of pages of `docs` and of the README, from what the study has found.

    python study/report.py

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, where NAME is a grid's, or a grid's with `_paired`,
`_differences`, `_oracle`, `_trade_off`, `_decoding`, `_denoising`, `_before`, `_gradients`, `_after`, `_apart`,
`_unseen` or `_contrast` behind it, or a data set's and a score's for all grids of that data set side by side; what
stands outside is left as it is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

from absa.commands import parse
from absa.training.results import mean_and_std, percent
from grids import GRIDS, STUDY, Grid, read_grid, run_name
from results import read_analysis, read_results

ROOT = STUDY.parent
Results = Mapping[tuple[str, int], Mapping]  # as `read_results` gives them
TABLE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
PAGES = ("accuracy", "attention", "tagging", "af_lstm", "scalar_mix", "generative")
MAIN_SCORES = {  # by `Grid.scored_as`
    "sentihood": {
        "strict_accuracy": "strict accuracy",
        "macro_f1": "macro-F1",
        "aspect_auc": "aspect AUC",
        "sentiment_accuracy": "sentiment accuracy",
        "sentiment_auc": "sentiment AUC",
    },
    "semeval2014": {
        "precision": "precision",
        "recall": "recall",
        "f1": "F1",
        "accuracy_binary": "binary",
        "accuracy_3way": "3-way",
        "accuracy_4way": "4-way",
    },
    "absa": {"strict_accuracy": "strict accuracy", "accuracy": "accuracy", "macro_f1": "macro-F1"},
    "e2e_absa": {
        "micro_f1": "F1",
        "strict_micro_f1": "strict F1",
        "aspect_f1": "borders",
        "sentiment_accuracy": "polarity of these",
    },
    "conll": {"f1": "F1", "precision": "precision", "recall": "recall", "strict_f1": "strict F1"},
    "conllu": {"accuracy": "accuracy"},
    "aste": {
        "f1": "F1",
        "precision": "precision",
        "recall": "recall",
        "aope_f1": "AOPE F1",
        "aesc_f1": "AESC F1",
        "ate_f1": "ATE F1",
        "ote_f1": "OTE F1",
    },
    "aoe": {"f1": "F1", "precision": "precision", "recall": "recall"},
    "alsc": {"accuracy": "accuracy", "macro_f1": "macro-F1", "floor_majority_accuracy": "the commonest label"},
    "aspect_polarity": {"accuracy": "accuracy", "macro_f1": "macro-F1", "mixed_accuracy": "mixed sentences"},
}
CONTRAST = ("opinions right", "opinions right, two places", "whole sentences right", "false mentions")


@dataclass
class ReportArguments:
    """From where, and into what."""

    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with results.jsonl and analyses.json."})
    documents: list[Path] = field(
        default_factory=lambda: [*(ROOT / "docs" / f"{page}.md" for page in PAGES), ROOT / "README.md"],
        metadata={"help": "The documents with the tables."},
    )


def scores_of(grid: Grid, label: str, results: Results, split: str) -> pd.DataFrame:
    """The main scores of a run on a split, or of its `oracle`: a row for each seed that has them, a column a score."""
    name, names = run_name(grid.runs[label]), list(MAIN_SCORES[grid.scored_as])
    by_seed = {seed: results[name, seed][split] for seed in grid.seeds if (name, seed) in results}
    scored = {seed: scores for seed, scores in by_seed.items() if scores}
    return pd.DataFrame.from_dict(scored, orient="index", columns=names, dtype=float)


def row_of(grid: Grid, heading: str, label: str, seeds: int | str, cells: Iterable[str]) -> dict[str, str]:
    """A row of a table of scores: heading -> cell."""
    return {heading: label, "seeds": str(seeds), **dict(zip(MAIN_SCORES[grid.scored_as].values(), cells, strict=True))}


def percents(scores: pd.DataFrame) -> list[str]:
    """A cell for each score: mean (standard deviation) over the seeds."""
    return [percent(scores[name].tolist()) for name in scores]


def differences(minuend: pd.DataFrame, subtrahend: pd.DataFrame, bounds: Mapping[str, float] | None) -> list[str]:
    """A cell for each score of one run minus that of another, in points, means over as many seeds.

    [interval] over sentences, if that was found, and ± the standard error over trainings, √(s₁²/seeds + s₂²/seeds); in
    bold beyond the 95% of Student's t for trainings that differ by chance alone (equal variances).
    """
    seeds, cells = len(minuend), []
    for name in minuend:
        points = minuend[name].mean(skipna=False) - subtrahend[name].mean(skipna=False)
        if np.isnan(points):
            cells.append("undefined")
            continue
        cell = f"{100 * points:+.1f}"
        if bounds is not None:
            cell += f" [{100 * bounds[f'{name}_low']:+.1f}, {100 * bounds[f'{name}_high']:+.1f}]"
        if seeds > 1:
            error = np.sqrt((minuend[name].var() + subtrahend[name].var()) / seeds)
            cell += f" ± {100 * error:.1f}"
            cell = f"**{cell}**" if abs(points) > error * t.ppf(0.975, 2 * seeds - 2) else cell
        cells.append(cell)
    return cells


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown from rows of heading -> cell."""
    lines = [rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows)] if rows else []
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def scores_table(grid: Grid, results: Results) -> str:
    """A line for each run: its scores, and how many seeds have been trained; below, which were not, or in bfloat16."""
    heading, num_scores = f"{grid.title}, %", len(MAIN_SCORES[grid.scored_as])
    rows = [row_of(grid, heading, *row, "", cells or [""] * num_scores) for *row, cells in grid.reported.items()]
    trained, not_run, in_bfloat16 = [], [], []
    for label, run in grid.runs.items():
        of_run = [results[key] for seed in grid.seeds if (key := (run_name(run), seed)) in results]
        scores = scores_of(grid, label, results, grid.split)
        if len(scores):
            rows.append(row_of(grid, heading, label, len(scores), percents(scores)))
            trained.append(label)
        if any(result["score_precision"] == "bfloat16" for result in of_run):
            in_bfloat16.append(label)
        if seeds := [str(seed) for seed in grid.seeds if seed not in scores.index]:
            not_run.append(f"{label} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})")
    text = table(rows)
    if in_bfloat16:
        which = "all runs" if in_bfloat16 == trained else "; ".join(in_bfloat16)
        text += f"\nScored in bfloat16, as trained, where the pipeline answers in float32: {which}.\n"
    return text + (f"\nNot run: {'; '.join(not_run)}.\n" if not_run else "")


def side_by_side(grids: Sequence[Grid], results: Results, number: int) -> str:
    """One of the main scores, by its number, of the same runs on several data: a line a run, a column a grid; below,
    how many of the runs are done."""
    rows, trained = [], 0
    for label in max((grid.runs for grid in grids), key=len):
        row, reported = {"%": label}, {"%": f"{label}, as reported"}
        for grid in grids:
            name = list(MAIN_SCORES[grid.scored_as])[number]
            scores = scores_of(grid, label, results, grid.split)[name].tolist() if label in grid.runs else []
            trained += len(scores)
            row[grid.title] = percent(scores) if scores else ""
            reported[grid.title] = grid.reported[label][number] if label in grid.reported else ""
        rows.append(row)
        if any(list(reported.values())[1:]):
            rows.append(reported)
    wanted = sum(len(grid.runs) * len(grid.seeds) for grid in grids)
    return table(rows) + (f"\n{trained} of {wanted} runs are done.\n" if trained < wanted else "")


def oracle_table(grid: Grid, results: Results) -> str:
    """For the runs that kept both: the scores of the checkpoint chosen on validation, and of the one best on test."""
    rows = []
    for label in grid.runs:
        best = scores_of(grid, label, results, "oracle")
        chosen = scores_of(grid, label, results, "test").loc[best.index]
        for which, scores in (("chosen on validation", chosen), ("best on test", best)):
            if len(best):
                rows.append(row_of(grid, f"{grid.title}, %", f"{label}, {which}", len(best), percents(scores)))
    return table(rows)


def paired_table(grid: Grid, results: Results, analysis: Mapping[str, Mapping]) -> str:
    """The differences of the pairs that `compare.py` has compared.

    Raises:
        KeyError: if a seed that was compared has no results.
    """
    rows = []
    for label, compared in analysis.items():
        pair = [scores_of(grid, name, results, "test").loc[compared["seeds"]] for name in (label, compared["minus"])]
        cells = differences(*pair, compared["scores"])
        label = f"{label} minus {compared['minus']}"
        rows.append(row_of(grid, f"{grid.title}, points", label, len(pair[0]), cells))
    return table(rows)


def differences_table(grid: Grid, results: Results) -> str:
    """Each run minus the grid's first, over the seeds that both have: on the validation split and, where the grid's
    table shows it, the test split.
    """
    first, *others = grid.runs
    rows = []
    for label in others:
        for split in ["validation", "test"] if grid.split == "test" else ["validation"]:
            pair = [scores_of(grid, name, results, split) for name in (label, first)]
            both = pair[0].index.intersection(pair[1].index)
            if len(both):
                cells = differences(pair[0].loc[both], pair[1].loc[both], None)
                rows.append(row_of(grid, f"minus {first}, points", f"{label}, {split}", len(both), cells))
    return table(rows)


def trade_off_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `trade_off.py` has found: strict accuracy and macro-F1 at each factor for none, means over seeds."""
    rows = []
    for label, seeds in analysis.items():
        row = {f"{grid.title}, %: strict accuracy, macro-F1": label, "seeds": str(len(seeds))}
        for factor in next(iter(seeds.values())):
            scores = pd.DataFrame([looked[factor] for looked in seeds.values()])
            row[f"none times {factor}"] = ", ".join(percents(scores))
        rows.append(row)
    return table(rows)


def decoding_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `decoding.py` has found: scores of each way of decoding, and how many sentences have what is no tuple."""
    rows, names = [], {**MAIN_SCORES[grid.scored_as], "invalid_share": "invalid sentences"}
    for label, seeds in analysis.items():
        for decoding in next(iter(seeds.values())):
            scores = pd.DataFrame([looked[decoding] for looked in seeds.values()])[list(names)]
            row = {f"{grid.title}, %": f"{label}, {decoding}", "seeds": str(len(seeds))}
            rows.append(row | dict(zip(names.values(), percents(scores), strict=True)))
    return table(rows)


def denoising_table(grid: Grid, results: Results) -> str:
    """How well the denoising before each run that has it restores validation texts, before and after."""
    rows = []
    for label, run in grid.runs.items():
        keys = [(run_name(run), seed) for seed in grid.seeds]
        held_out = [results[key]["denoising"]["held_out"] for key in keys if key in results and "denoising" in run]
        if held_out:
            row = {"validation texts": label, "seeds": str(len(held_out))}
            for when in ("before", "after"):
                of_loss = mean_and_std([one[when]["loss_per_token"] for one in held_out])
                spread = "" if of_loss["std"] is None else f" ({of_loss['std']:.2f})"
                row[f"loss a token {when}"] = f"{of_loss['mean']:.2f}{spread}"
            for when in ("before", "after"):
                row[f"recovered {when}, %"] = percent([one[when]["recovered"] for one in held_out])
            rows.append(row)
    return table(rows) or "Not run.\n"


def terms_table(analysis: Mapping[str, Mapping], when: str) -> str:
    """What `terms.py` has found: gate, quasi term and spread of A_quasi by layer, and the quasi term by length."""
    rows = []
    for label, found in analysis.items():
        if sizes := found.get(when):
            layers = enumerate(zip(sizes["gate"], sizes["ratio"], sizes["spread"], strict=True), start=1)
            row = {f"{when} training: gate, quasi / softmax, spread of A_quasi": label}
            row |= {f"guided layer {n}": "{:.3f}, {:.2f}, {:.3f}".format(*figures) for n, figures in layers}
            rows.append(row | {length: f"{ratio:.2f}" for length, ratio in sizes["ratio_by_length"].items()})
    return table(rows)


def gradients_table(analysis: Mapping[str, Mapping]) -> str:
    """What `terms.py` has found in untrained models: the gradients of the new weights."""
    rows = []
    for label, found in analysis.items():
        gradients = found["before"]["gradient"].items()
        cells = {kind.replace("_", " "): f"{gradient:.0e}" for kind, gradient in gradients}
        rows.append({"gradient before training": label, **cells})
    return table(rows)


def apart_table(analysis: Mapping[str, Mapping]) -> str:
    """What `apart.py` has found of each pair of aspects: distance, and how often the right and the other is found."""
    rows = []
    for label, seeds in analysis.items():
        for seed, looked in seeds.items():
            cells = (f"{v['distance']:.2f}: {100 * v['right']:.0f}, {100 * v['other']:.0f}" for v in looked.values())
            first = {"distance: right, other in %": f"{label}, seed {seed}"}
            rows.append(first | dict(zip(looked, cells, strict=True)))
    return table(rows)


def unseen_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `unseen.py` has found: aspect AUC and sentiment accuracy by aspect; in brackets of those in training."""
    rows = []
    for label, seeds in analysis.items():
        left_out = grid.runs.get(label, {}).get("unseen_aspects")
        is_trained = label in grid.runs
        row = {
            f"{grid.title}, %: aspect AUC, sentiment accuracy": label,
            "seeds": str(len(seeds) if is_trained else ""),
        }
        for aspect in next(iter(seeds.values())):
            names = ("aspect_auc", "sentiment_accuracy")
            cell = ", ".join(percent([found[aspect][name] for found in seeds.values()]) for name in names)
            row[aspect] = f"[{cell}]" if is_trained and aspect != left_out else cell
        rows.append(row)
    not_run = [label for label in grid.runs if label not in analysis]
    return table(rows) + (f"\nNot run: {', '.join(not_run)}.\n" if not_run else "")


def contrast_table(grid: Grid, results: Results, analysis: Mapping[str, Mapping]) -> str:
    """What `contrast.py` has found of each run, if anything, and the accuracy on the mixed texts of the test split."""
    rows, mixed = [], "mixed test texts"
    for label, run in grid.runs.items():
        looked = analysis.get(label, {})
        by_seed = [
            {**looked.get(str(seed), {}), mixed: results[key]["test"].get("mixed_accuracy")}
            for seed in grid.seeds
            if (key := (run_name(run), seed)) in results and (str(seed) in looked or not analysis)
        ]
        if by_seed:
            names = (*(CONTRAST if analysis else ()), mixed)
            cells = {name: percent([one[name] for one in by_seed]) for name in names}
            rows.append({f"{grid.title}, %": label, "seeds": str(len(by_seed)), **cells})
    return table(rows) or "Not run.\n"


def tables_of(grid: Grid, results: Results, results_dir: Path) -> dict[str, str]:
    """The tables of a grid, by name."""
    kinds = ("paired", "trade_off", "decoding", "terms", "apart", "unseen", "contrast")
    found = (read_analysis(results_dir, kind, grid) for kind in kinds)
    paired, trade_off, decoding, terms, apart, unseen, contrast = found
    return {
        grid.name: scores_table(grid, results),
        f"{grid.name}_oracle": oracle_table(grid, results),
        f"{grid.name}_paired": paired_table(grid, results, paired),
        f"{grid.name}_differences": differences_table(grid, results),
        f"{grid.name}_trade_off": trade_off_table(grid, trade_off),
        f"{grid.name}_decoding": decoding_table(grid, decoding),
        f"{grid.name}_denoising": denoising_table(grid, results),
        f"{grid.name}_before": terms_table(terms, "before"),
        f"{grid.name}_after": terms_table(terms, "after"),
        f"{grid.name}_gradients": gradients_table(terms),
        f"{grid.name}_apart": apart_table(apart),
        f"{grid.name}_unseen": unseen_table(grid, unseen),
        f"{grid.name}_contrast": contrast_table(grid, results, contrast),
    }


def fill(document: str, results_dir: Path) -> str:
    """The document with its tables made anew.

    Raises:
        KeyError: if it has a place for a table that there is none of.
    """
    results, tables, grids = read_results(results_dir), {}, list(map(read_grid, GRIDS))
    for grid in grids:
        tables |= tables_of(grid, results, results_dir)
    if together := [grid for grid in grids if grid.dataset == "aspect_polarity"]:
        for number, score in enumerate(MAIN_SCORES["aspect_polarity"]):
            tables[f"aspect_polarity_{score}"] = side_by_side(together, results, number)
    return TABLE.sub(lambda match: f"{match[1]}\n{tables[match[2]]}\n{match[3]}", document)


def main(arguments: ReportArguments):
    for document in arguments.documents:
        filled = fill(document.read_text(encoding="utf-8"), arguments.results_dir)
        document.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main(parse(ReportArguments))
