"""Tables in Markdown of all families on one data set, for `report.py`; see `families.py`."""

from collections.abc import Mapping

import pandas as pd

from absa.comparison.scores import differences, table
from absa.comparison.speed import SIZES
from grids import Grid
from score_tables import MAIN_SCORES, Results, percents, row_of, scores_of


def found_scores(grid: Grid, found: Mapping[str, Mapping]) -> pd.DataFrame:
    """The main scores that `families.py` has kept of a run: a row a seed, a column a score."""
    return pd.DataFrame.from_dict(found["scores"], orient="index", columns=list(MAIN_SCORES[grid.scored_as]))


def others_table(grid: Grid, analysis: Mapping[str, Mapping]) -> str:
    """What `families.py` has found of runs that are not the grid's, and of the run that they are compared with."""
    rows, first, heading = [], None, f"{grid.title}, %; differences in points"
    for label, found in analysis.items():
        if "scores" not in found:
            continue
        scores = found_scores(grid, found)
        rows.append(row_of(grid, heading, label, len(scores), percents(scores)))
        if first is None:
            first = label, scores
            continue
        both = scores.index.intersection(first[1].index)
        cells = differences(scores.loc[both], first[1].loc[both], found["differences"])
        rows.append(row_of(grid, heading, f"{label} minus {first[0]}", len(both), cells))
    return table(rows)


def families_table(grids: Mapping[str, Grid], results: Results, analyses: Mapping[str, Mapping]) -> str:
    """The scores of all runs of some grids side by side, and of what `families.py` has compared with them; and their
    sizes and speeds, of the first grid that has these.

    Args:
        grids: what the data of each are called -> the grid.
        analyses: what `families.py` has found of each, by the same names.
    """
    labels = dict.fromkeys(label for grid in grids.values() for label in grid.runs)
    labels |= dict.fromkeys(label for found in analyses.values() for label in found)
    rows = [family_row(label, grids, results, analyses) for label in labels]
    of_runs = [found for analysis in analyses.values() for found in analysis.values()]
    places = {found["where"] for found in of_runs if found["size"]["texts/s"]}
    return table(rows) + "".join(f"\ntexts/s: {place}.\n" for place in sorted(places))


def family_row(
    label: str, grids: Mapping[str, Grid], results: Results, analyses: Mapping[str, Mapping]
) -> dict[str, str]:
    """A row of `families_table`; a cell is empty where nothing is known."""
    cells, seeds, sizes = {}, [], dict.fromkeys(SIZES, "")
    for data, grid in grids.items():
        found, names = analyses[data].get(label, {}), MAIN_SCORES[grid.scored_as]
        if label in grid.runs:
            scores = scores_of(grid, label, results, grid.split)
        else:
            scores = found_scores(grid, found) if "scores" in found else ()
        if len(scores):
            seeds.append(str(len(scores)))
        of_scores = percents(scores) if len(scores) else [""] * len(names)
        cells |= {f"{data}: {name}": cell for name, cell in zip(names.values(), of_scores, strict=True)}
        sizes = {name: cell or found.get("size", {}).get(name, "") for name, cell in sizes.items()}
    return {"%": label, "seeds": ", ".join(dict.fromkeys(seeds)), **cells, **sizes}
