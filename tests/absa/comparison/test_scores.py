"""The paired bootstrap, against a copy of its definition that scores resampled sentences one resample at a time."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from absa.comparison.answers import WAYS
from absa.comparison.runs import answers_of, read_run, way_of
from absa.comparison.scores import difference_cells, paired_difference, score_cells, scores_of, table
from absa.metrics.alsc import alsc_scores
from absa.metrics.aspect_polarity import aspect_polarity_scores
from absa.metrics.custom_absa import absa_scores
from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.sentihood import LABELS, sentihood_scores
from absa.metrics.tagging import tagging_scores
from absa.metrics.tuple_f1 import tuple_f1_scores
from absa.tasks.generation import of_targets

pytestmark = pytest.mark.filterwarnings("ignore::absa.metrics.ratios.DegenerateScoreWarning")  # in small resamples
ROWS = {
    "sentihood": sentihood_scores,
    "aspect_polarity": partial(aspect_polarity_scores, label_names=LABELS),
    "absa": partial(absa_scores, label_names=LABELS),
}


read = cache(pd.read_parquet)


def of_rows(score: Callable, folder: Path, sentences: list[int]) -> dict[str, float]:
    rows_of_sentence = dict(list(read(folder / "test_probabilities.parquet").groupby("id")))
    rows = pd.concat([rows_of_sentence[str(one)].assign(id=str(n)) for n, one in enumerate(sentences)])
    columns = {f"{name}s": rows[name].tolist() for name in ("id", "target", "aspect", "label")}
    return score(**columns, probabilities=rows[[f"p_{label}" for label in LABELS]].to_numpy())


def of_tags(score: Callable, folder: Path, sentences: list[int]) -> dict[str, float]:
    rows = read(folder / "test_tags.parquet").iloc[sentences]
    return score(list(rows["tags"]), list(rows["predicted"]))


def of_tuples(score: Callable, folder: Path, sentences: list[int]) -> dict[str, float]:
    rows = pq.read_table(folder / "test_tuples.parquet").to_pydict()
    return score(*([rows[name][n] for n in sentences] for name in ("tuples", "predicted")))


def of_given(score: Callable, folder: Path, sentences: list[int]) -> dict[str, float]:
    rows = pq.read_table(folder / "test_tuples.parquet").to_pydict()
    asked = [(id_, tuple(target)) for id_, target in zip(rows["id"], rows["target"], strict=True)]
    sides = (of_targets(asked, rows[name]) for name in ("tuples", "predicted"))
    return score(*([side[n] for n in sentences] for side in sides), label_names=LABELS)


def assert_bounds(found: dict[str, float], names: list[str], difference: Callable, resamples: int):
    """What was found of each score is the difference, and its interval that of the resampled sentences."""
    order = sorted(map(str, range(40)))  # as the bootstrap numbers the sentences
    generator = np.random.default_rng(0)
    draws = [[int(order[n]) for n in generator.integers(40, size=40)] for _ in range(resamples)]
    resampled = pd.DataFrame(map(difference, draws))[names]
    low, high = np.percentile(resampled, [2.5, 97.5], axis=0)
    whole = difference(list(range(40)))
    for position, name in enumerate(names):
        expected = [whole[name], low[position], high[position]]
        assert [found[name], found[f"{name}_low"], found[f"{name}_high"]] == pytest.approx(expected, abs=1e-12), name


CASES = [
    *(("classification", name, {}, partial(of_rows, score)) for name, score in ROWS.items()),
    ("tagging", "e2e_absa", {}, partial(of_tags, e2e_absa_scores)),
    ("tagging", "conll", {}, partial(of_tags, partial(tagging_scores, scheme="BIEOS"))),
    ("generation", "aste", {}, partial(of_tuples, tuple_f1_scores)),
    ("generation", "alsc", {"subtask": "alsc"}, partial(of_given, alsc_scores)),
]


@pytest.mark.parametrize(("task", "scored_as", "options", "score"), CASES, ids=[case[1] for case in CASES])
def test_difference_against_its_definition(write_run, task: str, scored_as: str, options: dict, score: Callable):
    runs = [
        write_run("first", task, {1: 0.9, 2: 1.0}, **options),
        write_run("other", task, {1: 0.4, 2: 0.5}, **options),
    ]
    way = WAYS[task](scored_as)
    first, other = ([way.answers(folder) for folder in sorted(run.glob("seed-*"))] for run in runs)
    found = paired_difference(first, other, 8)
    names = [name for name in way.main_scores if name in found]
    assert len(names) >= 2

    def difference(sentences: list[int]) -> dict[str, float]:
        of_runs = [[score(folder, sentences) for folder in sorted(run.glob("seed-*"))] for run in runs]
        means = ({name: np.mean([of_seed[name] for of_seed in of_run]) for name in names} for of_run in of_runs)
        minuend, subtrahend = means
        return {name: minuend[name] - subtrahend[name] for name in names}

    assert_bounds(found, names, difference, 8)
    assert found[names[0]] > 0
    assert found[f"{names[0]}_low"] < found[names[0]] < found[f"{names[0]}_high"]


def test_scores_of_runs_and_their_differences(write_run):
    """A run has the intervals of its own mean; differences are over the seeds that both have."""
    folders = [write_run("a", "tagging", {1: 0.9, 2: 0.8}), write_run("bb", "tagging", {2: 0.4, 3: 0.5})]
    folders.append(write_run("ccc", "tagging", {4: 0.6}))
    runs = [read_run(folder, folder.name) for folder in folders]
    way = way_of(runs)
    scored = scores_of(answers_of(runs, way), way.main_scores, 12)
    f1 = [
        partial(of_tags, partial(tagging_scores, scheme="BIEOS"), folder / f"seed-{seed}")
        for folder, seed in ((folders[0], 1), (folders[0], 2), (folders[1], 2))
    ]
    assert_bounds(scored[0].bounds, ["f1"], lambda n: {"f1": (f1[0](n)["f1"] + f1[1](n)["f1"]) / 2}, 12)
    assert_bounds(scored[1].differences, ["f1"], lambda n: {"f1": f1[2](n)["f1"] - f1[1](n)["f1"]}, 12)
    assert [scores.shared for scores in scored] == [[1, 2], [2], []]
    assert set(difference_cells(scored[2], scored[0]).values()) == {"no seed in common"}
    whole = list(range(40))
    mean, low, high = (100 * scored[0].bounds[f"f1{end}"] for end in ("", "_low", "_high"))
    spread = 100 * np.std([one(whole)["f1"] for one in f1[:2]], ddof=1)
    assert score_cells(scored[0])["f1"] == f"{mean:.1f} ({spread:.1f}) [{low:.1f}, {high:.1f}]"
    assert difference_cells(scored[1], scored[0])["f1"].startswith(f"{100 * scored[1].differences['f1']:+.1f} [-")


def test_tables_in_table():
    assert table([{"%": "a", "f1": "1"}, {"%": "b", "f1": "2"}]) == "| % | f1 |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n"
    assert table([{"%": "a|b"}]) == "| % |\n| --- |\n| a\\|b |\n"
    assert table([]) == ""
