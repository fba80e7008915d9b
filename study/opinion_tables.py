"""Tables in Markdown, for `report.py`, of how well models tell the opinions of one text apart."""

import pandas as pd

from absa.comparison.scores import table
from absa.training.results import percent
from grids import Grid, run_name
from score_tables import MAIN_SCORES, Results, by_seed, scores_of

MIXED = "mixed texts"  # those of a split whose opinions differ
CONTRAST = ("opinions right", "opinions right, two places", "whole sentences right", "false mentions")


def opinions_of(grid: Grid, label: str, results: Results) -> pd.DataFrame:
    """How well a run tells opinions apart: a row for each seed, a column for the accuracy on the mixed texts of the
    grid's split and each share that `contrast.py` has found. Seeds that were not asked have none of these."""
    name = run_name(grid.runs[label])
    of_seeds = {seed: results[name, seed] for seed in grid.seeds if (name, seed) in results}
    found = {
        seed: {MIXED: result[grid.split].get("mixed_accuracy"), **(result.get("contrast") or {})}
        for seed, result in of_seeds.items()
    }
    return pd.DataFrame.from_dict(found, orient="index", columns=[MIXED, *CONTRAST], dtype=float)


def contrast_table(grid: Grid, results: Results) -> str:
    """`opinions_of` each run; of the contrast set the mean of the seeds that were asked."""
    rows = []
    for label in grid.runs:
        if len(found := opinions_of(grid, label, results)):
            cells = [percent(found[name].dropna().tolist()) if found[name].notna().any() else "" for name in found]
            asked = str(int(found[CONTRAST[0]].notna().sum()))
            row = {f"{grid.title}, %": label, "seeds": str(len(found)), found.columns[0]: cells[0]}
            rows.append(row | {"seeds asked": asked, **dict(zip(CONTRAST, cells[1:], strict=True))})
    return table(rows)


def pairs_table(grid: Grid, results: Results) -> str:
    """The differences of the grid's pairs on its split, and of `opinions_of` them, over the seeds that both have."""
    rows, names = [], MAIN_SCORES[grid.scored_as]
    for label, other in grid.pairs:
        one, two = (
            scores_of(grid, name, results, grid.split).join(opinions_of(grid, name, results))
            for name in (label, other)
        )
        if both := [seed for seed in one.index if seed in two.index]:
            differences = (one.loc[both] - two.loc[both]).rename(columns=names)
            row = {f"{grid.title}, points": f"{label} minus {other}", "seeds": str(len(both))}
            complete = {name: values.tolist() for name, values in differences.items() if values.notna().all()}
            rows.append(row | {name: by_seed(complete[name]) if name in complete else "" for name in differences})
    asked = {name for row in rows for name, cell in row.items() if cell}  # no contrast set of other data sets
    return table([{name: cell for name, cell in row.items() if name in asked} for row in rows])
