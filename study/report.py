"""Writes the tables of `docs/accuracy.md`, and of the README, from the results files of the study.

    python study/report.py

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, where NAME is a grid's, or a grid's with `_paired`,
`_differences`, `_oracle`, `_trade_off`, `_before`, `_gradients`, `_after` or `_apart` behind it; what stands outside
is left as it is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import t

from absa.commands import parse
from absa.training.results import percent
from grids import GRIDS, STUDY, Grid, read_grid, run_name

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

    results_dir: Path = field(default=STUDY / "results", metadata={"help": "Where run.py has put the results files."})
    documents: list[Path] = field(
        default_factory=lambda: [ROOT / "docs" / "accuracy.md", ROOT / "README.md"],
        metadata={"help": "The documents with the tables."},
    )


def results_of(grid: Grid, label: str, results_dir: Path) -> list[dict]:
    """The results of a run with each of its seeds that have been trained."""
    folder = results_dir / run_name(grid.runs[label])
    files = [folder / f"seed-{seed}.json" for seed in grid.seeds]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def scores_of(grid: Grid) -> Mapping[str, str]:
    """The main scores of a grid's data and their headings."""
    return MAIN_SCORES[next(iter(grid.runs.values()))["dataset"]]


def lines_of_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; without rows it says so."""
    if not rows:
        return "Not run.\n"
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def scores_table(grid: Grid, results_dir: Path) -> str:
    """A line for each run: its scores, and how many seeds have been trained; below, which were not, or in bfloat16."""
    scores = scores_of(grid)
    rows = [[label, "", *(figures or [""] * len(scores))] for label, figures in grid.reported.items()]
    not_run, in_bfloat16, with_results = [], [], 0
    for label in grid.runs:
        results = results_of(grid, label, results_dir)
        if results:
            with_results += 1
            if any(result["score_precision"] == "bfloat16" for result in results):
                in_bfloat16.append(label)
            rows.append(
                [label, str(len(results)), *(percent([r[grid.split][name] for r in results]) for name in scores)]
            )
        if len(results) < len(grid.seeds):
            seeds = [str(seed) for seed in grid.seeds if seed not in [result["seed"] for result in results]]
            not_run.append(f"{label} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)})")
    table = lines_of_table([f"{grid.title}, %", "seeds", *scores.values()], rows) if rows else ""
    if in_bfloat16:
        which = "all runs" if len(in_bfloat16) == with_results else "; ".join(in_bfloat16)
        table += f"\nScored in bfloat16, as trained, where the pipeline answers in float32: {which}.\n"
    return table + (f"\nNot run: {'; '.join(not_run)}.\n" if not_run else "")


def oracle_table(grid: Grid, results_dir: Path) -> str:
    """For the runs that kept both: the scores of the checkpoint chosen on validation, and of the one best on test."""
    scores = scores_of(grid)
    rows = []
    for label in grid.runs:
        results = [result for result in results_of(grid, label, results_dir) if result["oracle"]]
        for what, of_result in (
            ("chosen on validation", lambda result: result["test"]),
            ("best on test", lambda result: result["oracle"]),
        ):
            if results:
                cells = [percent([of_result(result)[name] for result in results]) for name in scores]
                rows.append([f"{label}, {what}", str(len(results)), *cells])
    return lines_of_table([f"{grid.title}, %", "seeds", *scores.values()], rows)


def paired_table(grid: Grid, results_dir: Path) -> str:
    """The differences of the pairs that `compare.py` has compared, in points: [interval] over sentences for these
    trainings, and ± the standard error over trainings, √(s₁²/seeds + s₂²/seeds).

    Raises:
        ValueError: if a seed that was compared has no results file.
    """
    scores = scores_of(grid)
    rows = []
    for label, compared in stored("paired", grid, results_dir).items():
        models = [by_seed(grid, name, results_dir, "test") for name in (label, compared["minus"])]
        row = f"{label} minus {compared['minus']}"
        absent = sorted(set(compared["seeds"]) - (models[0].keys() & models[1].keys()))
        if absent:
            raise ValueError(
                f"{results_dir}/paired/{grid.name}.json compares seeds of {row} without results files, {absent}: put "
                "them back, or run study/compare.py again"
            )
        cells = [difference_of(name, models, compared["seeds"], compared["scores"]) for name in scores]
        rows.append([row, str(len(compared["seeds"])), *cells])
    return lines_of_table([f"{grid.title}, points", "seeds", *scores.values()], rows)


def differences_table(grid: Grid, results_dir: Path) -> str:
    """Each run minus the grid's first, in points, over the seeds that both have: on the validation split and, where
    the grid's table shows it, the test split. ± is the standard error over trainings, as in `paired_table`.
    """
    scores = scores_of(grid)
    splits = ["validation", "test"] if grid.split == "test" else ["validation"]
    first, *others = grid.runs
    rows = []
    for label in others:
        for split in splits:
            models = [by_seed(grid, name, results_dir, split) for name in (label, first)]
            if both := sorted(models[0].keys() & models[1].keys()):
                cells = [difference_of(name, models, both) for name in scores]
                rows.append([f"{label}, {split}", str(len(both)), *cells])
    return lines_of_table([f"minus {first}, points", "seeds", *scores.values()], rows)


def by_seed(grid: Grid, label: str, results_dir: Path, split: str) -> dict[int, dict]:
    """The scores of a run on a split, for each of its seeds that have been trained."""
    return {result["seed"]: result[split] for result in results_of(grid, label, results_dir)}


def difference_of(
    name: str, models: Sequence[Mapping[int, Mapping]], seeds: Sequence[int], found: Mapping | None = None
) -> str:
    """A score of the first model minus that of the second, in points, with its interval if that was found; in bold
    where it is beyond the 95% of Student's t for trainings that differ by chance alone (equal variances).
    """
    samples = [[of_model[seed][name] for seed in seeds] for of_model in models]
    if any(score is None for sample in samples for score in sample):
        return "undefined"
    difference = np.mean(samples[0]) - np.mean(samples[1])
    cell = f"{100 * difference:+.1f}"
    if found is not None:
        cell += " [{}, {}]".format(*(f"{100 * found[f'{name}_{end}']:+.1f}" for end in ("low", "high")))
    error = standard_error(samples)
    if error is None:
        return cell
    cell += f" ± {100 * error:.1f}"
    return f"**{cell}**" if abs(difference) > error * t.ppf(0.975, 2 * len(seeds) - 2) else cell


def standard_error(samples: Sequence[Sequence[float]]) -> float | None:
    """Of the difference of the means of two samples; None where one is a single figure."""
    if any(len(sample) < 2 for sample in samples):
        return None
    return float(np.sqrt(sum(np.var(sample, ddof=1) / len(sample) for sample in samples)))


def trade_off_table(grid: Grid, results_dir: Path) -> str:
    """What `trade_off.py` has found: strict accuracy and macro-F1 at each factor for none, means over seeds."""
    rows, factors = [], []
    for label, seeds in stored("trade_off", grid, results_dir).items():
        factors = list(next(iter(seeds.values())))
        cells = [
            ", ".join(percent([looked[factor][name] for looked in seeds.values()]) for name in scores)
            for factor, scores in next(iter(seeds.values())).items()
        ]
        rows.append([label, str(len(seeds)), *cells])
    headings = [f"none times {factor}" for factor in factors]
    return lines_of_table([f"{grid.title}, %: strict accuracy, macro-F1", "seeds", *headings], rows)


def terms_table(grid: Grid, results_dir: Path, when: str) -> str:
    """What `terms.py` has found: gate, quasi term and spread of A_quasi by layer, and the quasi term by length."""
    rows, layers, bins = [], 0, []
    for label, found in stored("terms", grid, results_dir).items():
        if when in found:
            sizes = found[when]
            layers, bins = len(sizes["gate"]), list(sizes["ratio_by_length"])
            layer_figures = zip(sizes["gate"], sizes["ratio"], sizes["spread"], strict=True)
            by_layer = [f"{gate:.3f}, {ratio:.2f}, {spread:.3f}" for gate, ratio, spread in layer_figures]
            rows.append([label, *by_layer, *(f"{ratio:.2f}" for ratio in sizes["ratio_by_length"].values())])
    headings = [f"guided layer {number}" for number in range(1, layers + 1)]
    return lines_of_table([f"{when} training: gate, quasi / softmax, spread of A_quasi", *headings, *bins], rows)


def gradients_table(grid: Grid, results_dir: Path) -> str:
    """What `terms.py` has found in untrained models: the gradients of the new weights."""
    rows, kinds = [], []
    for label, found in stored("terms", grid, results_dir).items():
        kinds = [kind.replace("_", " ") for kind in found["before"]["gradient"]]
        rows.append([label, *(f"{gradient:.0e}" for gradient in found["before"]["gradient"].values())])
    return lines_of_table(["gradient before training", *kinds], rows)


def apart_table(grid: Grid, results_dir: Path) -> str:
    """What `apart.py` has found of each pair of aspects: distance, and how often the right and the other is found."""
    rows, pairs = [], []
    for label, seeds in stored("apart", grid, results_dir).items():
        for seed, looked in seeds.items():
            pairs = list(looked)
            cells = [f"{v['distance']:.2f}: {100 * v['right']:.0f}, {100 * v['other']:.0f}" for v in looked.values()]
            rows.append([f"{label}, seed {seed}", *cells])
    return lines_of_table(["distance: right, other in %", *pairs], rows)


def stored(kind: str, grid: Grid, results_dir: Path) -> dict[str, dict]:
    """What `compare.py`, `trade_off.py`, `terms.py` or `apart.py` has written of a grid."""
    file = results_dir / kind / f"{grid.name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def fill(document: str, results_dir: Path) -> str:
    """The document with its tables made anew.

    Raises:
        ValueError: if it has a place for a table that there is none of.
    """
    kinds = {
        "": scores_table,
        "_oracle": oracle_table,
        "_paired": paired_table,
        "_differences": differences_table,
        "_trade_off": trade_off_table,
    }
    kinds |= {f"_{when}": partial(terms_table, when=when) for when in ("before", "after")}
    kinds |= {"_gradients": gradients_table, "_apart": apart_table}
    tables = {grid.name + end: (make, grid) for grid in map(read_grid, GRIDS) for end, make in kinds.items()}

    def table(match: re.Match) -> str:
        if match[2] not in tables:
            raise ValueError(f"there is no table {match[2]}: name one of {', '.join(tables)}")
        make, grid = tables[match[2]]
        return f"{match[1]}\n{make(grid, results_dir)}\n{match[3]}"

    return TABLE.sub(table, document)


def main(arguments: ReportArguments):
    for document in arguments.documents:
        filled = fill(document.read_text(encoding="utf-8"), arguments.results_dir)
        document.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main(parse(ReportArguments))
