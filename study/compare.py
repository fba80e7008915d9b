"""How certain the difference of two models is: paired bootstrap over the sentences of the test split.

    python study/compare.py study/grids/comparison_sentihood.yaml

For the pairs of a grid. Each resample draws sentences with replacement, the same for both models and all seeds, and
takes the difference of their mean scores over the seeds (Efron & Tibshirani 1993, ch. 8 and 13). The interval is for
other sentences and the same trainings; how much trainings differ is what standard deviations over seeds show. There is
none where the answers of a seed, which a run leaves beside its checkpoint, are gone and only its scores are kept.
"""

import importlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from absa.commands import parse
from absa.metrics import aspect_polarity, custom_absa, e2e_absa, tagging
from absa.metrics.aspect_groups import Groups, aspect_groups
from absa.metrics.bootstrap import with_bounds
from absa.metrics.ratios import DegenerateScoreWarning
from absa.metrics.tuple_f1 import figures_of_sentences
from datasets_scripts.subtasks import SUBTASKS
from grids import read_grid, run_name
from modeling_global_context import scheme_of
from results import GridArguments, read_results, write_analysis
from run import own_scores


@dataclass
class CompareArguments(GridArguments):
    """Which pairs, and where their runs are."""

    resamples: int = field(default=10_000, metadata={"help": "Of the test sentences."})


class Answers(NamedTuple):
    """What a run answered to the test split."""

    ids: Sequence[str]
    """(groups,) of the sentences; the groups of a sentence are drawn together"""
    gold: Any
    """the same for all runs on one data"""
    figures_of: Callable[[np.ndarray], dict[str, float]]
    """scores of the groups at some numbers, which may repeat"""


def read_groups(file: Path, aspects: Sequence[str], labels: Sequence[str]) -> Groups:
    """What a classifier answered, in groups as the metric takes them."""
    rows = pd.read_parquet(file)
    columns = {f"{name}s": rows[name].tolist() for name in ("id", "target", "aspect", "label")}
    probabilities = rows[[f"p_{label}" for label in labels]].to_numpy()
    return aspect_groups({**columns, "probabilities": probabilities}, aspects, labels)


def of_classifier(scored_as: str, folder: Path) -> Answers:
    """Answers scored as "sentihood", "semeval2014", "aspect_polarity" or "absa"; of a mixture on the data set of that
    name."""
    of_mixture = folder / scored_as
    file = (of_mixture if of_mixture.is_dir() else folder) / "test_probabilities.parquet"
    if scored_as in ("aspect_polarity", "absa"):
        rows = pd.read_parquet(file).sort_values(["id", "target", "aspect"], kind="stable")
        probabilities = rows.filter(like="p_").rename(columns=lambda name: name.removeprefix("p_"))
        columns = [rows[name].tolist() for name in ("id", "target", "aspect", "label")]
        options = {"label_names": list(probabilities)}
        if scored_as == "aspect_polarity":
            figures_of = aspect_polarity.figures_of_rows(*columns, probabilities.to_numpy(), **options)
        else:
            options["none_label"] = "none" if "none" in probabilities else None
            figures_of = custom_absa.figures_of_rows(*columns, probabilities.to_numpy(), **options)
        return Answers(columns[0], columns[-1], figures_of)
    metric = importlib.import_module(f"absa.metrics.{scored_as}")
    ids, *arrays = read_groups(file, metric.ASPECTS, metric.LABELS)
    gold = arrays[0].tolist()
    return Answers(ids, gold, lambda index: metric.figures_of_groups(*(array[index] for array in arrays)))


def of_tagger(scored_as: str, folder: Path) -> Answers:
    """The tags of each sentence."""
    rows = pd.read_parquet(folder / "test_tags.parquet")
    gold, predicted = ([list(tags) for tags in rows[name]] for name in ("tags", "predicted"))
    scheme = scheme_of(sorted({tag for tags in gold for tag in tags}))
    metric = e2e_absa if scored_as == "e2e_absa" else tagging
    return Answers(rows["id"].tolist(), gold, metric.figures_of_sentences(gold, predicted, scheme=scheme))


def of_generator(scored_as: str, folder: Path) -> Answers:
    """The tuples of each sentence, of a model of one subtask that finds targets itself."""
    rows = pq.read_table(folder / "test_tuples.parquet").to_pydict()
    gold, predicted = rows["tuples"], rows["predicted"]
    (subtask,) = set(rows["subtask"])
    figures_of = figures_of_sentences(gold, predicted, fields=SUBTASKS[subtask].found, invalid=rows["invalid"])
    return Answers(rows["id"], gold, figures_of)


ANSWERS = {"classification": of_classifier, "tagging": of_tagger, "generation": of_generator}


def paired_difference(task: str, scored_as: str, runs: Sequence[Sequence[Path]], resamples: int) -> dict[str, float]:
    """Mean score of the first run over its seeds minus that of the second, with 95% intervals.

    Args:
        task: "classification" or "tagging".
        scored_as: how, see `Grid.scored_as`.
        runs: of both, the folder of each seed.
        resamples: of the sentences.
    Returns:
        `<score>`, `<score>_low` and `<score>_high`, as fractions.
    Raises:
        ValueError: if the answers are about different sentences.
    """
    first, second = ([ANSWERS[task](scored_as, folder) for folder in folders] for folders in runs)
    for answers, folder in zip([*first, *second], [*runs[0], *runs[1]], strict=True):
        if answers.ids != first[0].ids or answers.gold != first[0].gold:
            raise ValueError(
                f"{folder} is about other sentences or labels than {runs[0][0]}: compare runs on one data"
            )

    def mean_figures(seeds: Sequence[Answers], index: np.ndarray) -> dict[str, float]:
        figures = [answers.figures_of(index) for answers in seeds]
        shared = [name for name in figures[0] if all(name in of_seed for of_seed in figures)]
        return {name: np.mean([of_seed[name] for of_seed in figures]) for name in shared}

    def difference(index: np.ndarray) -> dict[str, float]:
        minuend, subtrahend = mean_figures(first, index), mean_figures(second, index)
        names = [name for name in minuend if name in subtrahend and not name.startswith("audit_")]
        return {name: float(minuend[name] - subtrahend[name]) for name in names}

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "audit_", DegenerateScoreWarning)  # not shown here
        return with_bounds(difference, first[0].ids, resamples, seed=0)


def main(arguments: CompareArguments):
    grid, compared = read_grid(arguments.grid), {}
    results = read_results(arguments.results_dir)
    for label, other in grid.paired.items():
        names = [run_name(grid.runs[name]) for name in (label, other)]
        seeds = [seed for seed in grid.seeds if all((name, seed) in results for name in names)]
        if not seeds:
            raise FileNotFoundError(f"{names[0]} and {names[1]} have no seed in common: train them with run.py")
        compared[label] = {"minus": other, "seeds": seeds, "scores": None}
        runs = [[arguments.output_dir / name / f"seed-{seed}" for seed in seeds] for name in names]
        if missing := [folder for folder in chain(*runs) if not (folder / "results.json").is_file()]:
            print(f"{label} minus {other}: no interval over sentences, since the answers in {missing[0]} are gone")
            continue
        for folder, (name, seed) in zip(chain(*runs), product(names, seeds), strict=True):
            told = json.loads((folder / "results.json").read_text(encoding="utf-8"))["test"]
            told = own_scores(results[name, seed]["arguments"], told)
            if any(told[score] != kept for score, kept in results[name, seed]["test"].items()):
                raise ValueError(f"{folder} is of another training than its line in results.jsonl: remove either")
        scores = paired_difference(grid.task, grid.scored_as, runs, arguments.resamples)
        compared[label] |= {"resamples": arguments.resamples, "scores": scores}
        for name in scores:
            if not name.endswith(("_low", "_high")):
                value, low, high = (f"{100 * scores[name + end]:+.1f}" for end in ("", "_low", "_high"))
                print(f"{label} minus {other}: {name} {value} [{low}, {high}]")
    write_analysis(arguments.results_dir, "paired", grid, compared)


if __name__ == "__main__":
    main(parse(CompareArguments, "grid"))
