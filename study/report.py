"""Writes the tables of `docs/accuracy.md`, and of the README, from what the study has found.

    python study/report.py

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, where NAME is a grid's, or a grid's with `_paired`,
`_differences`, `_oracle`, `_trade_off`, `_before`, `_gradients`, `_after` or `_apart` behind it; what stands outside
is left as it is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t

from absa.commands import parse
from absa.training.results import percent
from grids import GRIDS, STUDY, Grid, read_grid, run_name
from results import read_analysis, read_results

ROOT = STUDY.parent
Results = Mapping[tuple[str, int], Mapping]  # as `read_results` gives them
TABLE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
MAIN_SCORES = {
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
}


@dataclass
class ReportArguments:
    """From where, and into what."""

    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with results.jsonl and analyses.json."})
    documents: list[Path] = field(
        default_factory=lambda: [ROOT / "docs" / "accuracy.md", ROOT / "README.md"],
        metadata={"help": "The documents with the tables."},
    )


def results_of(grid: Grid, label: str, results: Results) -> dict[int, dict]:
    """The results of a run with each of its seeds that have been trained."""
    name = run_name(grid.runs[label])
    return {seed: results[name, seed] for seed in grid.seeds if (name, seed) in results}


def scores_of(grid: Grid, label: str, results: Results, split: str) -> pd.DataFrame:
    """The main scores of a run on a split, or of its `oracle`: a row for each seed that has them, a column a score."""
    names = list(MAIN_SCORES[grid.dataset])
    scored = {seed: result[split] for seed, result in results_of(grid, label, results).items() if result[split]}
    by_seed = {seed: [scores[name] for name in names] for seed, scores in scored.items()}
    return pd.DataFrame.from_dict(by_seed, orient="index", columns=names, dtype=float)


def row_of(grid: Grid, heading: str, label: str, scores: pd.DataFrame, cells: Iterable[str]) -> dict[str, str]:
    """A row of a table of scores: heading -> cell."""
    names = MAIN_SCORES[grid.dataset].values()
    return {heading: label, "seeds": str(len(scores)), **dict(zip(names, cells, strict=True))}


def percents(scores: pd.DataFrame) -> list[str]:
    """A cell for each score: mean (standard deviation) over the seeds."""
    return [percent(scores[name].tolist()) for name in scores]


def difference(
    name: str, minuend: pd.DataFrame, subtrahend: pd.DataFrame, intervals: Mapping[str, float] | None
) -> str:
    """A score of one run minus that of another, in points, means over as many seeds, with its interval if that was
    found; in bold beyond the 95% of Student's t for trainings that differ by chance alone (equal variances).
    """
    seeds, points = len(minuend), minuend[name].mean(skipna=False) - subtrahend[name].mean(skipna=False)
    if np.isnan(points):
        return "undefined"
    cell = f"{100 * points:+.1f}"
    if intervals is not None:
        cell += " [{}, {}]".format(*(f"{100 * intervals[f'{name}_{end}']:+.1f}" for end in ("low", "high")))
    if seeds == 1:
        return cell
    error = np.sqrt((minuend[name].var() + subtrahend[name].var()) / seeds)
    cell += f" ± {100 * error:.1f}"
    return f"**{cell}**" if abs(points) > error * t.ppf(0.975, 2 * seeds - 2) else cell


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """A table in Markdown from rows of heading -> cell; without rows it says so."""
    if not rows:
        return "Not run.\n"
    headings = list(rows[0])
    lines = [headings, ["---"] * len(headings), *([row[heading] for heading in headings] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def scores_table(grid: Grid, results: Results) -> str:
    """A line for each run: its scores, and how many seeds have been trained; below, which were not, or in bfloat16."""
    heading, names = f"{grid.title}, %", MAIN_SCORES[grid.dataset].values()
    rows = [
        {heading: label, "seeds": "", **dict(zip(names, figures or [""] * len(names), strict=True))}
        for label, figures in grid.reported.items()
    ]
    trained, not_run, in_bfloat16 = [], [], []
    for label in grid.runs:
        of_run = results_of(grid, label, results)
        if of_run:
            scores = scores_of(grid, label, results, grid.split)
            rows.append(row_of(grid, heading, label, scores, percents(scores)))
            trained.append(label)
            if any(result["score_precision"] == "bfloat16" for result in of_run.values()):
                in_bfloat16.append(label)
        if seeds := [str(seed) for seed in grid.seeds if seed not in of_run]:
            not_run.append(f"{label} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})")
    text = table(rows) if rows else ""
    if in_bfloat16:
        which = "all runs" if in_bfloat16 == trained else "; ".join(in_bfloat16)
        text += f"\nScored in bfloat16, as trained, where the pipeline answers in float32: {which}.\n"
    return text + (f"\nNot run: {'; '.join(not_run)}.\n" if not_run else "")


def oracle_table(grid: Grid, results: Results) -> str:
    """For the runs that kept both: the scores of the checkpoint chosen on validation, and of the one best on test."""
    rows = []
    for label in grid.runs:
        best = scores_of(grid, label, results, "oracle")
        chosen = scores_of(grid, label, results, "test").loc[best.index]
        for which, scores in (("chosen on validation", chosen), ("best on test", best)):
            if len(best):
                rows.append(row_of(grid, f"{grid.title}, %", f"{label}, {which}", scores, percents(scores)))
    return table(rows)


def paired_table(grid: Grid, results: Results, analysis: Mapping[str, Mapping]) -> str:
    """The differences of the pairs that `compare.py` has compared, in points: [interval] over sentences for these
    trainings, and ± the standard error over trainings, √(s₁²/seeds + s₂²/seeds).

    Raises:
        KeyError: if a seed that was compared has no results.
    """
    rows = []
    for label, compared in analysis.items():
        pair = [scores_of(grid, name, results, "test").loc[compared["seeds"]] for name in (label, compared["minus"])]
        cells = (difference(name, *pair, compared["scores"]) for name in MAIN_SCORES[grid.dataset])
        rows.append(row_of(grid, f"{grid.title}, points", f"{label} minus {compared['minus']}", pair[0], cells))
    return table(rows)


def differences_table(grid: Grid, results: Results) -> str:
    """Each run minus the grid's first, in points, over the seeds that both have: on the validation split and, where
    the grid's table shows it, the test split. ± is the standard error over trainings, as in `paired_table`.
    """
    first, *others = grid.runs
    rows = []
    for label in others:
        for split in ["validation", "test"] if grid.split == "test" else ["validation"]:
            pair = [scores_of(grid, name, results, split) for name in (label, first)]
            both = pair[0].index.intersection(pair[1].index)
            pair = [scores.loc[both] for scores in pair]
            if len(both):
                cells = (difference(name, *pair, None) for name in MAIN_SCORES[grid.dataset])
                rows.append(row_of(grid, f"minus {first}, points", f"{label}, {split}", pair[0], cells))
    return table(rows)


def trade_off_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `trade_off.py` has found: strict accuracy and macro-F1 at each factor for none, means over seeds."""
    rows = []
    for label, seeds in analysis.items():
        row = {f"{grid.title}, %: strict accuracy, macro-F1": label, "seeds": str(len(seeds))}
        for factor, scores in next(iter(seeds.values())).items():
            means = (percent([looked[factor][name] for looked in seeds.values()]) for name in scores)
            row[f"none times {factor}"] = ", ".join(means)
        rows.append(row)
    return table(rows)


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


def tables_of(grid: Grid, results: Results, results_dir: Path) -> dict[str, str]:
    """The tables of a grid, by name."""
    kinds = ("paired", "trade_off", "terms", "apart")
    paired, trade_off, terms, apart = (read_analysis(results_dir, kind, grid) for kind in kinds)
    tables = {
        "": scores_table(grid, results),
        "_oracle": oracle_table(grid, results),
        "_paired": paired_table(grid, results, paired),
        "_differences": differences_table(grid, results),
        "_trade_off": trade_off_table(grid, trade_off),
        "_before": terms_table(terms, "before"),
        "_after": terms_table(terms, "after"),
        "_gradients": gradients_table(terms),
        "_apart": apart_table(apart),
    }
    return {grid.name + end: text for end, text in tables.items()}


def fill(document: str, results_dir: Path) -> str:
    """The document with its tables made anew.

    Raises:
        ValueError: if it has a place for a table that there is none of.
    """
    results, tables = read_results(results_dir), {}
    for file in GRIDS:
        if file.stem in document:
            tables |= tables_of(read_grid(file), results, results_dir)

    def replaced(match: re.Match) -> str:
        if match[2] not in tables:
            raise ValueError(f"there is no table {match[2]}: name a grid's, as described in study/report.py")
        return f"{match[1]}\n{tables[match[2]]}\n{match[3]}"

    return TABLE.sub(replaced, document)


def main(arguments: ReportArguments):
    for document in arguments.documents:
        filled = fill(document.read_text(encoding="utf-8"), arguments.results_dir)
        document.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main(parse(ReportArguments))
