"""The paired bootstrap, against a copy of its definition that scores resampled rows one resample at a time."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import compare
from absa.metrics.aspect_polarity import aspect_polarity_scores
from absa.metrics.custom_absa import absa_scores
from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.sentihood import ASPECTS, LABELS, sentihood_scores
from absa.metrics.tagging import tagging_scores
from absa.metrics.tuple_f1 import tuple_f1_scores
from absa.tasks.generation import Generation, GenerationAnswers
from grids import STUDY, read_grid
from report import MAIN_SCORES, paired_table
from results import read_analysis, read_results

pytestmark = pytest.mark.filterwarnings("ignore:audit_")  # undefined in small resamples
SCORES = {
    "sentihood": (sentihood_scores, [*MAIN_SCORES["sentihood"], "mixed_accuracy"]),
    "aspect_polarity": (partial(aspect_polarity_scores, label_names=LABELS), list(MAIN_SCORES["aspect_polarity"])),
    "absa": (partial(absa_scores, label_names=LABELS), [*MAIN_SCORES["absa"], "mixed_accuracy"]),
}
NUM_SENTENCES = 40
ANSWERS = "test_probabilities.parquet"


def write_run(folder: Path, seed: int, right: float) -> Path:
    """Answers to forty sentences, every third with two targets; the gold labels are the same for all runs."""
    gold = np.random.default_rng(0)
    answers = np.random.default_rng(seed)
    rows = []
    for number in range(NUM_SENTENCES):
        for target in ("LOCATION1", "LOCATION2")[: 1 + (number % 3 == 0)]:
            for aspect in ASPECTS:
                label = gold.choice(3, p=[0.4, 0.3, 0.3])
                p = answers.dirichlet([1, 1, 1])
                p[label] += right * answers.random()
                rows.append((str(number), target, aspect, LABELS[label], *(p / p.sum())))
    columns = ["id", "target", "aspect", "label", *(f"p_{label}" for label in LABELS)]
    folder.mkdir()
    pd.DataFrame(rows, columns=columns).to_parquet(folder / ANSWERS)
    return folder


def scores_of(dataset: str, folder: Path, sentences: list[int]) -> np.ndarray:
    """The main scores of the rows of these sentences, each drawn one under a name of its own."""
    score, names = SCORES[dataset]
    table = pd.read_parquet(folder / ANSWERS)
    drawn = [table[table["id"] == str(sentence)].assign(id=str(n)) for n, sentence in enumerate(sentences)]
    rows = pd.concat(drawn)
    columns = {f"{name}s": rows[name].tolist() for name in ("id", "target", "aspect", "label")}
    scores = score(**columns, probabilities=rows[[f"p_{label}" for label in LABELS]].to_numpy())
    return np.array([scores[name] for name in names])


@pytest.mark.parametrize("dataset", SCORES)
def test_against_its_definition(tmp_path: Path, dataset: str):
    first, second = (
        [write_run(tmp_path / f"{name}{seed}", seed, right) for seed in seeds]
        for name, seeds, right in (("a", (1, 2), 1.0), ("b", (3, 4), 0.5))
    )
    found = compare.paired_difference("classification", dataset, (first, second), 20)

    def difference(sentences):
        pairs = zip(first, second, strict=True)
        return np.mean([scores_of(dataset, a, sentences) - scores_of(dataset, b, sentences) for a, b in pairs], axis=0)

    order = sorted(map(str, range(NUM_SENTENCES)))  # as the bootstrap numbers the sentences
    generator = np.random.default_rng(0)
    draws = [generator.integers(NUM_SENTENCES, size=NUM_SENTENCES) for _ in range(20)]
    resampled = [difference([int(order[n]) for n in draw]) for draw in draws]
    low, high = np.percentile(resampled, [2.5, 97.5], axis=0)
    expected = difference(range(NUM_SENTENCES))
    _, names = SCORES[dataset]
    for position, name in enumerate(names):
        got = [found[name], found[f"{name}_low"], found[f"{name}_high"]]
        assert got == pytest.approx([expected[position], low[position], high[position]], abs=1e-12), name
    assert found[names[0]] > 0
    assert found[f"{names[0]}_low"] < found[names[0]] < found[f"{names[0]}_high"]


def write_tags(folder: Path, seed: int, right: float) -> Path:
    """A tagger's answers to forty sentences of six words; the gold tags are the same for all runs."""
    gold, answers = np.random.default_rng(0), np.random.default_rng(seed)
    tags = [gold.choice(["O", "S-POS", "S-NEG"], 6).tolist() for _ in range(NUM_SENTENCES)]
    predicted = [[tag if answers.random() < right else "O" for tag in sentence] for sentence in tags]
    folder.mkdir()
    rows = {"id": [str(number) for number in range(NUM_SENTENCES)], "tags": tags, "predicted": predicted}
    pd.DataFrame(rows).to_parquet(folder / "test_tags.parquet")
    return folder


@pytest.mark.parametrize(
    ("dataset", "scores", "name"),
    [("e2e_absa", e2e_absa_scores, "micro_f1"), ("conll", partial(tagging_scores, scheme="BIEOS"), "f1")],
)
def test_of_taggers(tmp_path: Path, dataset: str, scores: Callable, name: str):
    runs = [write_tags(tmp_path / "a", 1, 0.9)], [write_tags(tmp_path / "b", 2, 0.6)]
    found = compare.paired_difference("tagging", dataset, runs, 20)
    tables = [pd.read_parquet(run / "test_tags.parquet") for (run,) in runs]

    def difference(sentences):
        drawn = [table.iloc[sentences] for table in tables]
        minuend, subtrahend = (scores(list(table["tags"]), list(table["predicted"]))[name] for table in drawn)
        return minuend - subtrahend

    order = sorted(map(str, range(NUM_SENTENCES)))
    generator = np.random.default_rng(0)
    draws = [generator.integers(NUM_SENTENCES, size=NUM_SENTENCES) for _ in range(20)]
    low, high = np.percentile([difference([int(order[n]) for n in draw]) for draw in draws], [2.5, 97.5])
    got = [found[name], found[f"{name}_low"], found[f"{name}_high"]]
    assert got == pytest.approx([difference(range(NUM_SENTENCES)), low, high], abs=1e-12)
    assert found[name] > 0


def write_tuples(folder: Path, seed: int, right: float) -> Path:
    """A generator's answers to forty sentences of up to two tuples; the gold ones are the same for all runs."""
    gold, answers = np.random.default_rng(0), np.random.default_rng(seed)
    rows = {"id": [], "words": [], "tuples": [], "predicted": []}
    for number in range(NUM_SENTENCES):
        tuples = [
            {"target": (n, n + 1), "opinion": (2, 3), "label": str(gold.choice(LABELS))}
            for n in range(gold.integers(1, 3))
        ]
        rows["id"].append(str(number))
        rows["words"].append(["a", "b", "c"])
        rows["tuples"].append(tuples)
        rows["predicted"].append([one if answers.random() < right else {**one, "label": "none"} for one in tuples])
    size = len(rows["id"])
    nothing = {"subtask": ["aste"] * size, "target": [None] * size}
    task = Generation({"test": {**rows, **nothing}}, ("aste",), list(LABELS))
    folder.mkdir()
    answers = GenerationAnswers(rows["predicted"], [False] * size, *([np.empty(0)] * 3))
    task.write_answers(folder, "test", answers)
    return folder


def test_of_generators(tmp_path: Path):
    runs = [write_tuples(tmp_path / "a", 1, 0.9)], [write_tuples(tmp_path / "b", 2, 0.6)]
    found = compare.paired_difference("generation", "aste_v2", runs, 20)
    tables = [pq.read_table(run / "test_tuples.parquet").to_pydict() for (run,) in runs]

    def difference(sentences):
        scores = [
            tuple_f1_scores(*([table[name][n] for n in sentences] for name in ("tuples", "predicted")))["f1"]
            for table in tables
        ]
        return scores[0] - scores[1]

    order = sorted(map(str, range(NUM_SENTENCES)))
    generator = np.random.default_rng(0)
    draws = [generator.integers(NUM_SENTENCES, size=NUM_SENTENCES) for _ in range(20)]
    low, high = np.percentile([difference([int(order[n]) for n in draw]) for draw in draws], [2.5, 97.5])
    got = [found["f1"], found["f1_low"], found["f1_high"]]
    assert got == pytest.approx([difference(range(NUM_SENTENCES)), low, high], abs=1e-12)
    assert found["f1"] > 0


@pytest.mark.parametrize("column", ["id", "label"])
def test_runs_on_different_data(tmp_path: Path, column: str):
    run, other = (write_run(tmp_path / name, 1, 1.0) for name in ("run", "other"))
    table = pd.read_parquet(other / ANSWERS)
    values = {"id": "seven", "label": "none" if table.loc[0, "label"] != "none" else "positive"}
    first = table["id"] == "0" if column == "id" else table.index == 0
    table.loc[first, column] = values[column]
    table.to_parquet(other / ANSWERS)
    with pytest.raises(ValueError, match=r"other is about other sentences or labels than .*run: compare runs on one"):
        compare.paired_difference("classification", "sentihood", ([run], [other]), 20)


def test_what_is_not_there(tmp_path: Path):
    arguments = compare.CompareArguments(STUDY / "grids" / "comparison_sentihood.yaml", tmp_path, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"qacg_bert and .*bert have no seed in common: train them with run"):
        compare.main(arguments)


def test_without_the_answers_there_is_no_interval(tmp_path: Path, capsys):
    grid = read_grid(STUDY / "grids" / "comparison_sentihood.yaml")
    shutil.copy(STUDY / "results.jsonl", tmp_path)
    arguments = compare.CompareArguments(STUDY / "grids" / "comparison_sentihood.yaml", tmp_path, tmp_path)
    compare.main(arguments)
    found = read_analysis(tmp_path, "paired", grid)
    assert found.keys() == grid.paired.keys()
    assert all(one["scores"] is None and len(one["seeds"]) > 1 for one in found.values())
    assert "no interval over sentences, since the answers in" in capsys.readouterr().out
    table = paired_table(grid, read_results(tmp_path), found)
    assert "±" in table
    assert "[" not in table
