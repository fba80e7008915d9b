"""How certain the difference of two models is: paired bootstrap over the sentences of the test split.

    python study/paired.py study/grids/comparison_sentihood.yaml

For the pairs of a grid. Each resample draws sentences with replacement, the same for both models and all seeds, and
takes the difference of their mean scores over the seeds (Efron & Tibshirani 1993, ch. 8 and 13). The interval is for
other sentences and the same trainings; how much trainings differ is what standard deviations over seeds show. There is
none where the answers of a seed, which a run leaves beside its checkpoint, are gone and only its scores are kept; an
interval that was found before, of the same seeds, stays.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path

from absa.commands import parse
from absa.comparison.answers import WAYS, check_same
from absa.comparison.scores import paired_difference
from grids import Grid, read_grid, run_name
from results import GridArguments, answers_in, read_analysis, read_results, write_analysis
from run import own_scores


@dataclass
class PairedArguments(GridArguments):
    """Which pairs, and where their runs are."""

    resamples: int = field(default=10_000, metadata={"help": "Of the test sentences."})


def difference(grid: Grid, runs: Sequence[Sequence[Path]], resamples: int) -> dict[str, float]:
    """`paired_difference` of two runs of a grid.

    Args:
        runs: of both, the folder of each seed.
        resamples: of the sentences.
    Raises:
        ValueError: if the answers are about different sentences.
    """
    way = WAYS[grid.task](grid.scored_as)
    answers = {folder: way.answers(answers_in(folder, grid.dataset)) for folder in chain(*runs)}
    for folder, of_folder in answers.items():
        check_same(str(folder), of_folder, str(runs[0][0]), answers[runs[0][0]])
    return paired_difference(*([answers[folder] for folder in folders] for folders in runs), resamples)


def main(arguments: PairedArguments):
    grid, compared = read_grid(arguments.grid), {}
    if grid.split != "test":
        raise ValueError(f"grid={arguments.grid} is judged by its validation split: report.py has its differences")
    results, before = read_results(arguments.results_dir), read_analysis(arguments.results_dir, "paired", grid)
    for label, other in grid.pairs:
        names = [run_name(grid.runs[name]) for name in (label, other)]
        seeds = [seed for seed in grid.seeds if all((name, seed) in results for name in names)]
        if not seeds:
            print(f"{label} minus {other}: no seed is trained of both, train them with run.py")
            continue
        found = compared.setdefault(label, {})[other] = {"seeds": seeds, "scores": None}
        runs = [[arguments.output_dir / name / f"seed-{seed}" for seed in seeds] for name in names]
        if missing := [folder for folder in chain(*runs) if not (folder / "results.json").is_file()]:
            print(f"{label} minus {other}: no new interval over sentences, the answers in {missing[0]} are gone")
            earlier = before.get(label, {}).get(other, found)
            if earlier["seeds"] == seeds:
                found |= earlier
            continue
        for folder, (name, seed) in zip(chain(*runs), product(names, seeds), strict=True):
            told = json.loads((folder / "results.json").read_text(encoding="utf-8"))["test"]
            told = own_scores(results[name, seed]["arguments"], told)
            if any(told[score] != kept for score, kept in results[name, seed]["test"].items()):
                raise ValueError(f"{folder} is of another training than its line in results.jsonl: remove either")
        scores = difference(grid, runs, arguments.resamples)
        found |= {"resamples": arguments.resamples, "scores": scores}
        for name in scores:
            if not name.endswith(("_low", "_high")):
                value, low, high = (f"{100 * scores[name + end]:+.1f}" for end in ("", "_low", "_high"))
                print(f"{label} minus {other}: {name} {value} [{low}, {high}]")
    write_analysis(arguments.results_dir, "paired", grid, compared)


if __name__ == "__main__":
    main(parse(PairedArguments, "grid"))
