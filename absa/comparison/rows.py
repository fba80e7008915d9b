"""Test rows with what each run answers, for a page to look at, and as questions to models."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from absa.comparison.answers import (
    AsRows,
    TupleRows,
    Way,
    labels_of,
    probabilities_of,
    read_rows,
    row_keys,
    tuples_in,
)
from datasets_scripts.subtasks import SPANS
from datasets_scripts.words import joined_offsets
from modeling_qacg_bert.processing_qacg_bert import occurrence

FOUND, NOTHING = "found", "nothing"
"""Answers about words: that they are such a tuple, where a task has no labels, and that they are none."""

Mark = tuple[int, int, str]
"""[start, end) in a text, and what stands there: "target" or "opinion"."""


class Answer(NamedTuple):
    """Of one seed of a run to a row."""

    label: str
    score: float | None
    """the probability of the label; None where there is none, as of what is not found"""
    is_right: bool
    for_gold: float
    """how much the run holds the right answer to be right; 1 or 0 where only the answer is known"""


class Row(NamedTuple):
    """What is asked, or could be found."""

    text: str
    marks: list[Mark]
    asked: str
    gold: str
    answers: list[Answer]
    """of each run"""

    @property
    def spread(self) -> float:
        """How much the runs differ."""
        sides = [answer.for_gold for answer in self.answers]
        return max(sides) - min(sides)


def rows_of(way: Way, folders: Sequence[Path]) -> list[Row]:
    """The rows of the test split with the answers in the folder of one seed of each run.

    Of sentences there is a row for each place that has a label in gold, or by a run.

    Raises:
        ValueError: if none of the folders has the texts.
    """
    if isinstance(way, AsRows):
        return list(rows_of_classifiers(folders))
    return list(rows_of_tuples([tuples_in(folder, way.fields) for folder in folders]))


def questions_of(way: Way, folders: Sequence[Path]) -> dict[str, list[dict[str, Any]]]:
    """The questions about each text: text, target, target_start, target_end and, of classifiers, aspect.

    Raises:
        ValueError: if none of the folders has the texts.
    """
    questions = {}
    if isinstance(way, AsRows):
        for text, key in zip(*texts_and_keys([read_rows(folder) for folder in folders], folders[0]), strict=True):
            names = ("target", "target_start", "target_end", "aspect")
            questions.setdefault(text, []).append({"text": text, **dict(zip(names, key[1:5], strict=True))})
        return questions
    rows = tuples_in(folders[0], way.fields)
    for words, given in zip(rows.words, rows.given, strict=True):
        text, question = " ".join(words), {}
        if given is not None:
            ((start, end, _),) = marks_of(words, [given], ["target"])
            question = {"target": text[start:end], "target_start": start, "target_end": end}
        questions.setdefault(text, []).append({"text": text, **question})
    return questions


def texts_and_keys(tables: Sequence[pd.DataFrame], folder: Path) -> tuple[list[str], list[tuple]]:
    """The text and the key of each row of several files about the same rows.

    Args:
        folder: of the first file, for the error.
    """
    with_texts = next((table for table in tables if "text" in table), None)
    if with_texts is None:
        raise ValueError(
            f"{folder} has no texts beside its answers, since an earlier release wrote them: have them written anew, "
            f"python examples/evaluate_checkpoint.py {folder} --output_dir {folder} with the arguments of its data"
        )
    return with_texts["text"].tolist(), row_keys(with_texts)


def rows_of_classifiers(folders: Sequence[Path]) -> Iterator[Row]:
    tables = [read_rows(folder) for folder in folders]
    answers = zip(*map(answers_of_table, tables), strict=True)
    columns = (*texts_and_keys(tables, folders[0]), tables[0]["label"], answers)
    for text, (_, target, start, end, aspect, *_), gold, of_row in zip(*columns, strict=True):
        places = [(start, end)]
        if start is None:
            places = [match.span() for match in occurrence(target).finditer(text)] if target else []
        asked = " · ".join(filter(None, (target, aspect)))
        yield Row(text, [(*place, "target") for place in places], asked, gold, list(of_row))


def answers_of_table(table: pd.DataFrame) -> Iterator[Answer]:
    labels = labels_of(table)
    for gold, probabilities in zip(table["label"], probabilities_of(table, labels).tolist(), strict=True):
        score = max(probabilities)
        best = labels[probabilities.index(score)]
        yield Answer(best, score, best == gold, probabilities[labels.index(gold)])


def rows_of_tuples(runs: Sequence[TupleRows]) -> Iterator[Row]:
    first = runs[0]
    for number, (words, given) in enumerate(zip(first.words, first.given, strict=True)):
        gold = by_place(first.gold[number], [None] * len(first.gold[number]))
        found = [by_place(run.predicted[number], run.scores[number]) for run in runs]
        text = " ".join(words)
        for place in sorted({*gold, *(place for of_run in found for place in of_run)}):
            right = " + ".join(sorted(gold.get(place, [NOTHING])))
            answers = []
            for labels in (of_run.get(place, {NOTHING: None}) for of_run in found):
                label, score = " + ".join(sorted(labels)), max(labels.values(), key=lambda score: score or 0)
                held = score if label == right else labels.get(right, 0.0)
                answers.append(Answer(label, score, label == right, 1.0 if held is None else held))
            spans = dict(place) if given is None else {"target": given, **dict(place)}
            marks = marks_of(words, spans.values(), spans)
            yield Row(text, marks, " · ".join(text[start:end] for start, end, _ in marks), right, answers)


Place = tuple[tuple[str, tuple[int, int]], ...]
"""The spans of a tuple by the names of their fields."""


def by_place(
    tuples: Sequence[Mapping[str, Any]], scores: Sequence[float | None]
) -> dict[Place, dict[str, float | None]]:
    """The labels of each place, most often one, with their scores."""
    places = {}
    for one, score in zip(tuples, scores, strict=True):
        place = tuple((field, one[field]) for field in SPANS if field in one)
        places.setdefault(place, {})[one.get("label", FOUND)] = score
    return places


def marks_of(words: Sequence[str], spans: Sequence[tuple[int, int]], names: Sequence[str]) -> list[Mark]:
    """Spans of words as places in `" ".join(words)`."""
    offsets = joined_offsets(words)
    return [(offsets[first][0], offsets[last - 1][1], name) for (first, last), name in zip(spans, names, strict=True)]
