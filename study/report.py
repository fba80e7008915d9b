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
from results import read_analyses, read_results

ROOT = STUDY.parent
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


def results_of(grid: Grid, label: str, results: pd.DataFrame) -> pd.DataFrame:
    """The results of a run, a row for each of its seeds that has been trained."""
    keys = [(run_name(grid.runs[label]), seed) for seed in grid.seeds]
    return results[results.index.isin(keys)].droplevel("run")


def scores_of(grid: Grid, label: str, results: pd.DataFrame, split: str) -> pd.DataFrame:
    """The main scores of a run on a split, or of its `oracle`, a row for each of its seeds that has them."""
    names = list(MAIN_SCORES[grid.dataset])
    scores = results_of(grid, label, results).reindex(columns=[f"{split}.{name}" for name in names])
    return scores.set_axis(names, axis="columns").astype(float).dropna(how="all")


def percents(scores: pd.DataFrame) -> list[str]:
    """A cell for each score: mean (standard deviation) over the seeds."""
    return [percent(scores[name].tolist()) for name in scores]


def headings(grid: Grid, first: str) -> list[str]:
    """Of a table of the main scores."""
    return [first, "seeds", *MAIN_SCORES[grid.dataset].values()]


def lines_of_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; without rows it says so."""
    if not rows:
        return "Not run.\n"
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def scores_table(grid: Grid, results: pd.DataFrame) -> str:
    """A line for each run: its scores, and how many seeds have been trained; below, which were not, or in bfloat16."""
    rows = [[label, "", *(figures or [""] * len(MAIN_SCORES[grid.dataset]))] for label, figures in grid.reported.items()]
    not_run, in_bfloat16, with_results = [], [], 0
    for label in grid.runs:
        of_run = results_of(grid, label, results)
        if len(of_run):
            with_results += 1
            if (of_run["score_precision"] == "bfloat16").any():
                in_bfloat16.append(label)
            rows.append([label, str(len(of_run)), *percents(scores_of(grid, label, results, grid.split))])
        if seeds := [str(seed) for seed in grid.seeds if seed not in of_run.index]:
            not_run.append(f"{label} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})")
    table = lines_of_table(headings(grid, f"{grid.title}, %"), rows) if rows else ""
    if in_bfloat16:
        which = "all runs" if len(in_bfloat16) == with_results else "; ".join(in_bfloat16)
        table += f"\nScored in bfloat16, as trained, where the pipeline answers in float32: {which}.\n"
    return table + (f"\nNot run: {'; '.join(not_run)}.\n" if not_run else "")


def oracle_table(grid: Grid, results: pd.DataFrame) -> str:
    """For the runs that kept both: the scores of the checkpoint chosen on validation, and of the one best on test."""
    rows = []
    for label in grid.runs:
        best = scores_of(grid, label, results, "oracle")
        if len(best):
            chosen = scores_of(grid, label, results, "test").loc[best.index]
            rows.append([f"{label}, chosen on validation", str(len(chosen)), *percents(chosen)])
            rows.append([f"{label}, best on test", str(len(best)), *percents(best)])
    return lines_of_table(headings(grid, f"{grid.title}, %"), rows)


def paired_table(grid: Grid, results: pd.DataFrame, analysis: Mapping[str, Mapping]) -> str:
    """The differences of the pairs that `compare.py` has compared, in points: [interval] over sentences for these
    trainings, and ± the standard error over trainings, √(s₁²/seeds + s₂²/seeds).

    Raises:
        KeyError: if a seed that was compared has no results.
    """
    rows = []
    for label, compared in analysis.items():
        pair = (scores_of(grid, name, results, "test").loc[compared["seeds"]] for name in (label, compared["minus"]))
        cells = differences(*pair, compared["scores"])
        rows.append([f"{label} minus {compared['minus']}", str(len(compared["seeds"])), *cells])
    return lines_of_table(headings(grid, f"{grid.title}, points"), rows)


def differences_table(grid: Grid, results: pd.DataFrame) -> str:
    """Each run minus the grid's first, in points, over the seeds that both have: on the validation split and, where
    the grid's table shows it, the test split. ± is the standard error over trainings, as in `paired_table`.
    """
    splits = ["validation", "test"] if grid.split == "test" else ["validation"]
    first, *others = grid.runs
    rows = []
    for label in others:
        for split in splits:
            pair = [scores_of(grid, name, results, split) for name in (label, first)]
            if len(both := pair[0].index.intersection(pair[1].index)):
                cells = differences(*(scores.loc[both] for scores in pair))
                rows.append([f"{label}, {split}", str(len(both)), *cells])
    return lines_of_table(headings(grid, f"minus {first}, points"), rows)


def differences(
    minuend: pd.DataFrame, subtrahend: pd.DataFrame, intervals: Mapping[str, float] | None = None
) -> list[str]:
    """A cell for each score: the mean of one run over its seeds minus that of another, in points, with its interval if
    that was found; in bold where it is beyond the 95% of Student's t for trainings that differ by chance alone (equal
    variances).
    """
    seeds, cells = len(minuend), []
    for name in minuend:
        samples = [scores[name].to_numpy() for scores in (minuend, subtrahend)]
        if np.isnan(samples).any():
            cells.append("undefined")
            continue
        difference = samples[0].mean() - samples[1].mean()
        cell = f"{100 * difference:+.1f}"
        if intervals is not None:
            cell += " [{}, {}]".format(*(f"{100 * intervals[f'{name}_{end}']:+.1f}" for end in ("low", "high")))
        if seeds > 1:
            error = np.sqrt(sum(sample.var(ddof=1) / seeds for sample in samples))
            cell += f" ± {100 * error:.1f}"
            if abs(difference) > error * t.ppf(0.975, 2 * seeds - 2):
                cell = f"**{cell}**"
        cells.append(cell)
    return cells


def trade_off_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `trade_off.py` has found: strict accuracy and macro-F1 at each factor for none, means over seeds."""
    rows, factors = [], []
    for label, seeds in analysis.items():
        factors = list(next(iter(seeds.values())))
        cells = [
            ", ".join(percent([looked[factor][name] for looked in seeds.values()]) for name in scores)
            for factor, scores in next(iter(seeds.values())).items()
        ]
        rows.append([label, str(len(seeds)), *cells])
    first = f"{grid.title}, %: strict accuracy, macro-F1"
    return lines_of_table([first, "seeds", *(f"none times {factor}" for factor in factors)], rows)


def terms_table(analysis: Mapping[str, Mapping], when: str) -> str:
    """What `terms.py` has found: gate, quasi term and spread of A_quasi by layer, and the quasi term by length."""
    rows, layers, bins = [], [], []
    for label, found in analysis.items():
        if when in found:
            sizes = found[when]
            figures = zip(sizes["gate"], sizes["ratio"], sizes["spread"], strict=True)
            by_layer = [f"{gate:.3f}, {ratio:.2f}, {spread:.3f}" for gate, ratio, spread in figures]
            rows.append([label, *by_layer, *(f"{ratio:.2f}" for ratio in sizes["ratio_by_length"].values())])
            layers = [f"guided layer {number}" for number in range(1, len(by_layer) + 1)]
            bins = list(sizes["ratio_by_length"])
    return lines_of_table([f"{when} training: gate, quasi / softmax, spread of A_quasi", *layers, *bins], rows)


def gradients_table(analysis: Mapping[str, Mapping]) -> str:
    """What `terms.py` has found in untrained models: the gradients of the new weights."""
    rows, kinds = [], []
    for label, found in analysis.items():
        kinds = [kind.replace("_", " ") for kind in found["before"]["gradient"]]
        rows.append([label, *(f"{gradient:.0e}" for gradient in found["before"]["gradient"].values())])
    return lines_of_table(["gradient before training", *kinds], rows)


def apart_table(analysis: Mapping[str, Mapping]) -> str:
    """What `apart.py` has found of each pair of aspects: distance, and how often the right and the other is found."""
    rows, pairs = [], []
    for label, seeds in analysis.items():
        for seed, looked in seeds.items():
            pairs = list(looked)
            cells = [f"{v['distance']:.2f}: {100 * v['right']:.0f}, {100 * v['other']:.0f}" for v in looked.values()]
            rows.append([f"{label}, seed {seed}", *cells])
    return lines_of_table(["distance: right, other in %", *pairs], rows)


def tables_of(grid: Grid, results: pd.DataFrame, analyses: Mapping[str, Mapping]) -> Iterable[tuple[str, str]]:
    """Name and text of each table of a grid."""
    paired, trade_off, terms, apart = (
        analyses.get(name, {}).get(grid.name, {}) for name in ("paired", "trade_off", "terms", "apart")
    )
    yield grid.name, scores_table(grid, results)
    yield f"{grid.name}_oracle", oracle_table(grid, results)
    yield f"{grid.name}_paired", paired_table(grid, results, paired)
    yield f"{grid.name}_differences", differences_table(grid, results)
    yield f"{grid.name}_trade_off", trade_off_table(grid, trade_off)
    yield f"{grid.name}_before", terms_table(terms, "before")
    yield f"{grid.name}_after", terms_table(terms, "after")
    yield f"{grid.name}_gradients", gradients_table(terms)
    yield f"{grid.name}_apart", apart_table(apart)


def fill(document: str, results_dir: Path) -> str:
    """The document with its tables made anew.

    Raises:
        ValueError: if it has a place for a table that there is none of.
    """
    results, analyses = read_results(results_dir), read_analyses(results_dir)
    tables = dict(table for file in GRIDS for table in tables_of(read_grid(file), results, analyses))

    def table(match: re.Match) -> str:
        if match[2] not in tables:
            raise ValueError(f"there is no table {match[2]}: name one of {', '.join(tables)}")
        return f"{match[1]}\n{tables[match[2]]}\n{match[3]}"

    return TABLE.sub(table, document)


def main(arguments: ReportArguments):
    for document in arguments.documents:
        filled = fill(document.read_text(encoding="utf-8"), arguments.results_dir)
        document.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main(parse(ReportArguments))
