"""Writes the tables of pages of `docs` and of the README, from what the study has found.

    python study/report.py

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, where NAME is a grid's, or a grid's with `_paired`,
`_differences`, `_oracle`, `_trade_off`, `_decoding`, `_denoising`, `_before`, `_gradients`, `_after`, `_ablation`,
`_apart`, `_unseen`, `_contrast`, `_pairs`, `_exchanged`, `_soup`, `_others` or `_found_and_judged` behind it, or
`af_lstm_` and a score's for these grids side by side, or `families` for all models on two of them, or `overlap` or
`by_number` for all grids of generators; the rest is left as it is.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse
from family_tables import families_table, others_table
from grids import GRIDS, STUDY, Grid, read_grid
from opinion_tables import MIXED, contrast_table, pairs_table
from results import analyses_in, read_results
from score_tables import (
    FOUND_SCORES,
    MAIN_SCORES,
    Results,
    ablation_table,
    apart_table,
    by_number_table,
    denoising_table,
    differences_table,
    gradients_table,
    oracle_table,
    overlap_table,
    paired_table,
    scores_table,
    side_by_side,
    terms_table,
    trade_off_table,
    unseen_table,
    ways_table,
)

ROOT = STUDY.parent
TABLE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
NOT_RUN = "Not run.\n"
PAGES = ("accuracy", "study", "attention", "tagging", "af_lstm", "scalar_mix", "generative")


@dataclass
class ReportArguments:
    """From where, and into what."""

    results_dir: Path = field(default=STUDY, metadata={"help": "Folder with results.jsonl and analyses.json."})
    documents: list[Path] = field(
        default_factory=lambda: [*(ROOT / "docs" / f"{page}.md" for page in PAGES), ROOT / "README.md"],
        metadata={"help": "The documents with the tables."},
    )


def found_of(grid: Grid, analyses: Mapping[str, Mapping[str, Mapping]]) -> Mapping[str, Mapping]:
    """What each analysis has found of a grid; of one that has not looked at it, nothing."""
    return defaultdict(dict, {kind: of_grids.get(grid.name, {}) for kind, of_grids in analyses.items()})


def tables_of(grid: Grid, results: Results, analyses: Mapping[str, Mapping[str, Mapping]]) -> dict[str, str]:
    """The tables of a grid, by name, with what `analyses` have found of each grid."""
    found = found_of(grid, analyses)
    with_mixed = {**MAIN_SCORES[grid.scored_as], "mixed_accuracy": MIXED}
    of_decoding = {**MAIN_SCORES[grid.scored_as], "invalid_share": "invalid sentences"}
    return {
        grid.name: scores_table(grid, results),
        f"{grid.name}_oracle": oracle_table(grid, results),
        f"{grid.name}_paired": paired_table(grid, results, found["paired"]),
        f"{grid.name}_differences": differences_table(grid, results),
        f"{grid.name}_trade_off": trade_off_table(grid, found["trade_off"]),
        f"{grid.name}_decoding": ways_table(grid, found["decoding"], of_decoding),
        f"{grid.name}_denoising": denoising_table(grid, results),
        f"{grid.name}_before": terms_table(found["terms"], "before"),
        f"{grid.name}_after": terms_table(found["terms"], "after"),
        f"{grid.name}_gradients": gradients_table(found["terms"]),
        f"{grid.name}_ablation": ablation_table(grid, found["ablation"]),
        f"{grid.name}_apart": apart_table(found["apart"]),
        f"{grid.name}_unseen": unseen_table(grid, found["unseen"]),
        f"{grid.name}_contrast": contrast_table(grid, results),
        f"{grid.name}_pairs": pairs_table(grid, results),
        f"{grid.name}_exchanged": ways_table(grid, found["exchanged"], with_mixed),
        f"{grid.name}_soup": ways_table(grid, found["soup"], with_mixed),
        f"{grid.name}_found_and_judged": ways_table(grid, found["found_and_judged"], FOUND_SCORES),
        f"{grid.name}_others": others_table(grid, found["families"]),
    }


def all_tables(results_dir: Path) -> dict[str, str]:
    """Every table that a document can have, by name; empty where nothing of it was run."""
    results, tables, grids = read_results(results_dir), {}, list(map(read_grid, GRIDS))
    analyses = analyses_in(results_dir)
    for grid in grids:
        tables |= tables_of(grid, results, analyses)
    if together := [grid for grid in grids if grid.name.startswith("af_lstm_")]:
        for number, score in enumerate(MAIN_SCORES["aspect_polarity"]):
            tables[f"af_lstm_{score}"] = side_by_side(together, results, number)
    if families := {grid.name.removeprefix("families_"): grid for grid in grids if grid.name.startswith("families_")}:
        found = {data: found_of(grid, analyses)["families"] for data, grid in families.items()}
        tables["families"] = families_table(families, results, found)
    generators = [grid for grid in grids if grid.task == "generation"]
    tables |= {"overlap": overlap_table(generators, results), "by_number": by_number_table(generators, results_dir)}
    return tables


def fill(document: str, tables: Mapping[str, str]) -> str:
    """The document with its tables made anew.

    Raises:
        KeyError: if it has a place for a table that there is none of.
    """
    return TABLE.sub(lambda match: f"{match[1]}\n{tables[match[2]] or NOT_RUN}\n{match[3]}", document)


def main(arguments: ReportArguments):
    tables = all_tables(arguments.results_dir)
    for document in arguments.documents:
        document.write_text(fill(document.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main(parse(ReportArguments))
