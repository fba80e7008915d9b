"""What runs have answered to a test split, in one order whatever the family, and the function that scores it."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from absa.metrics import alsc, aspect_polarity, custom_absa, e2e_absa, tagging
from absa.metrics.aspect_groups import Groups, aspect_groups
from absa.metrics.rows import KEY_FIELDS, with_places
from absa.metrics.tuple_f1 import figures_of_sentences
from absa.tasks.generation import MAIN_SCORES as TUPLE_SCORES
from absa.tasks.generation import of_targets
from absa.tasks.rows import PLACES
from absa.tasks.scoring import MAIN_SCORES as ROW_SCORES
from absa.tasks.tagging import MAIN_SCORES as TAG_SCORES
from datasets_scripts.source_files import shorten
from datasets_scripts.subtasks import SPANS, SUBTASKS
from datasets_scripts.tuples import LABEL_OF
from modeling_global_context import scheme_of, spans_of

PROBABILITIES, TAGS, TUPLES = (f"test_{kind}.parquet" for kind in ("probabilities", "tags", "tuples"))
"""What a seed's folder holds, by the kind of its model: a classifier, a tagger, a generator."""
ROW_KEY = ("id", "target", *PLACES, "aspect")


class Answers(NamedTuple):
    """What one seed of a run has answered to the test split."""

    keys: list[tuple]
    """what was asked: the keys of rows, or ids and words of sentences"""
    gold: list
    """the right answer to each"""
    ids: Sequence[str]
    """(groups,) of the sentences; the groups of a sentence are drawn together"""
    figures_of: Callable[[np.ndarray], dict[str, float]]
    """scores of the groups at some numbers, which may repeat"""


def check_same(name: str, answers: Answers, first_name: str, first: Answers):
    """Two runs were asked the same, and the same is right.

    Raises:
        ValueError: if not; names both and what differs first.
    """
    if answers.keys != first.keys:
        for one, other, lacking in ((answers, first, first_name), (first, answers, name)):
            known = set(other.keys)
            if extra := [key for key in one.keys if key not in known]:
                raise ValueError(
                    f"{name} and {first_name} are about other test rows: {lacking} lacks {len(extra)} of "
                    f"{len(one.keys)}, first {shorten(str(extra[0]))}; compare runs on one data set"
                )
    for key, right, right_of_first in zip(answers.keys, answers.gold, first.gold, strict=True):
        if right != right_of_first:
            raise ValueError(
                f"{name} and {first_name} have other gold labels: of {shorten(str(key))} {shorten(str(right))} and "
                f"{shorten(str(right_of_first))}; compare runs on one version of the data"
            )


class Way(ABC):
    """How answers are read and scored, for all of the runs that are compared.

    Args:
        scored_as: the metric of rows or tags, or the subtask of tuples.
    """

    def __init__(self, scored_as: str):
        self.scored_as = scored_as

    fields: Sequence[str] = ()
    """Of the tuples that the answers are shown as; none of rows."""
    main_scores: list[str]
    """Names of those of the figures that tables show; some data have only some of them."""

    @abstractmethod
    def answers(self, folder: Path) -> Answers:
        """What a seed's folder holds.

        Raises:
            FileNotFoundError, ValueError: if it holds no such answers.
        """


def read_rows(folder: Path, split: str = "test") -> pd.DataFrame:
    """The rows of a classifier in the order of their keys, with all columns of `ROW_KEY`.

    Raises:
        ValueError: if a column is missing.
    """
    file = folder / f"{split}_probabilities.parquet"
    rows = pd.read_parquet(file)
    if missing := [name for name in (*KEY_FIELDS, "label") if name not in rows]:
        raise ValueError(f"{file} has no column {missing[0]!r}: give {', '.join(KEY_FIELDS)}, label and p_<label>")
    for name in KEY_FIELDS:  # other tools write numbers, and null for no target
        rows[name] = rows[name].astype(object).where(rows[name].notna(), "").astype(str)
    for place in PLACES:
        places = rows[place] if place in rows else [None] * len(rows)
        rows[place] = pd.array(places, dtype="Int64")
    return rows.sort_values(list(ROW_KEY), kind="stable", ignore_index=True)


def row_keys(rows: pd.DataFrame) -> list[tuple]:
    """The key of each row; of rows with one key, such as a category given twice, with their number behind it."""
    columns = [[None if pd.isna(value) else value for value in rows[name]] for name in ROW_KEY]
    times = rows.groupby(list(ROW_KEY), dropna=False).cumcount()
    return [(*key, *([number] if number else [])) for *key, number in zip(*columns, times.tolist(), strict=True)]


def labels_of(rows: pd.DataFrame) -> list[str]:
    """The labels that have a probability."""
    return [name.removeprefix("p_") for name in rows if name.startswith("p_")]


def probabilities_of(rows: pd.DataFrame, labels: Iterable[str]) -> np.ndarray:
    """(rows, labels)."""
    return rows[[f"p_{label}" for label in labels]].to_numpy()


def groups_of(rows: pd.DataFrame, aspects: Sequence[str], labels: Sequence[str]) -> Groups:
    """The rows as the metric of a data set with fixed aspects takes them."""
    columns = {f"{name}s": rows[name].tolist() for name in ("id", "target", "aspect", "label")}
    return aspect_groups({**columns, "probabilities": probabilities_of(rows, labels)}, aspects, labels)


class AsRows(Way):
    """Classifiers: rows of (id, target, its place, aspect), by a metric of `absa.tasks.scoring.MAIN_SCORES`.

    Args:
        none_label: of the metric "absa": of a text that does not speak of the aspect, if the data has it.
    """

    def __init__(self, scored_as: str, none_label: str = "none"):
        super().__init__(scored_as)
        self.none_label, self.main_scores = none_label, ROW_SCORES[scored_as]

    def answers(self, folder: Path) -> Answers:
        rows = read_rows(folder)
        ids, gold, labels = rows["id"].tolist(), rows["label"].tolist(), labels_of(rows)
        if self.scored_as in ("aspect_polarity", "absa"):
            keys = [rows[name].tolist() for name in KEY_FIELDS]
            starts = [None if pd.isna(start) else start for start in rows["target_start"]]
            columns = [keys[0], with_places(*keys, starts), keys[2], gold]
            metric, options = aspect_polarity, {"label_names": labels}
            if self.scored_as == "absa":
                none_label = self.none_label if self.none_label in labels else None
                metric, options = custom_absa, {**options, "none_label": none_label}
            figures_of = metric.figures_of_rows(*columns, probabilities_of(rows, labels), **options)
        else:
            metric = importlib.import_module(f"absa.metrics.{self.scored_as}")
            ids, *arrays = groups_of(rows, metric.ASPECTS, metric.LABELS)

            def figures_of(index: np.ndarray) -> dict[str, float]:
                return metric.figures_of_groups(*(array[index] for array in arrays))

        return Answers(row_keys(rows), gold, ids, figures_of)


class AsTags(Way):
    """Taggers: the tags of each sentence, by the metric "e2e_absa" or, with any other name, that of spans or tags."""

    fields = ("target", "label")

    def __init__(self, scored_as: str):
        super().__init__(scored_as)
        is_e2e = scored_as == "e2e_absa"
        self.metric = e2e_absa if is_e2e else tagging
        self.main_scores = TAG_SCORES["e2e_absa"] if is_e2e else [*TAG_SCORES["spans"], *TAG_SCORES["plain"]]

    def answers(self, folder: Path) -> Answers:
        rows = read_tags(folder)
        figures_of = self.metric.figures_of_sentences(rows["tags"], rows["predicted"], scheme=scheme_in(rows))
        return Answers(sentence_keys(rows["id"], rows["tokens"]), rows["tags"], rows["id"], figures_of)


def read_tags(folder: Path) -> dict[str, list]:
    """The columns of a tagger's answers, by id."""
    rows = pq.read_table(folder / TAGS).to_pydict()
    order = sorted(range(len(rows["id"])), key=rows["id"].__getitem__)
    return {name: [column[number] for number in order] for name, column in rows.items()}


def scheme_in(rows: Mapping[str, list]) -> str:
    """The scheme of the gold tags."""
    return scheme_of(sorted({tag for tags in rows["tags"] for tag in tags}))


def sentence_keys(ids: Iterable[str], words: Iterable[Sequence[str]], *more: Iterable) -> list[tuple]:
    return [(id_, " ".join(of_one), *rest) for id_, of_one, *rest in zip(ids, words, *more, strict=True)]


class TupleRows(NamedTuple):
    """Columns of sentences with tuples, or of their given targets, in the order of ids and targets."""

    ids: list[str]
    words: list[list[str]]
    given: list[tuple[int, int] | None]
    gold: list[list[dict[str, Any]]]
    predicted: list[list[dict[str, Any]]]
    scores: list[list[float | None]]
    """of each predicted tuple; None where an earlier release wrote the file"""
    invalid: list[bool]


class AsTuples(Way):
    """Generators, taggers, and whatever else writes `TUPLES`: the tuples of each sentence with the fields of a
    subtask, or of alsc and aoe those of each given target."""

    def __init__(self, scored_as: str):
        super().__init__(scored_as)
        self.fields, self.main_scores = SUBTASKS[scored_as].found, TUPLE_SCORES[scored_as]

    def answers(self, folder: Path) -> Answers:
        rows = tuples_in(folder, self.fields)
        keys = sentence_keys(rows.ids, rows.words, rows.given)
        gold = [sorted(map(str, tuples)) for tuples in rows.gold]
        if self.scored_as == "alsc":
            asked = list(zip(rows.ids, rows.given, strict=True))
            sides = [of_targets(asked, side) for side in (rows.gold, rows.predicted)]
            known = {one["label"] for side in sides for targets in side for one in targets} - {None}
            figures_of = alsc.figures_of_targets(*sides, label_names=sorted({*alsc.LABELS, *known}))
        else:
            figures_of = figures_of_sentences(rows.gold, rows.predicted, fields=self.fields, invalid=rows.invalid)
        return Answers(keys, gold, rows.ids, figures_of)


def tuples_in(folder: Path, fields: Sequence[str]) -> TupleRows:
    """What a generator or tagger has answered, its tuples reduced to some fields, each once."""
    columns = read_tuples(folder) if (folder / TUPLES).is_file() else tuples_of_tags(read_tags(folder))

    def reduced(one: Mapping[str, Any]) -> tuple:
        return tuple(tuple(one[field]) if field in SPANS else one[field] for field in fields)

    rows = []
    for id_, words, given, gold, predicted, scores, invalid in zip(*columns, strict=True):
        highest: dict[tuple, float | None] = {}
        for one, score in sorted(zip(predicted, scores, strict=True), key=lambda pair: pair[1] or 0):
            highest[reduced(one)] = score
        sides = (dict.fromkeys(map(reduced, gold)), highest)
        tuples = ([dict(zip(fields, one, strict=True)) for one in side] for side in sides)
        rows.append((id_, words, given, *tuples, list(highest.values()), invalid))
    rows.sort(key=lambda row: (row[0], row[2] or ()))
    return TupleRows(*map(list, zip(*rows, strict=True)))


def first_subtask(folder: Path) -> str:
    """Of a generator's answers."""
    return pq.read_table(folder / TUPLES, columns=["subtask"])["subtask"][0].as_py()


def read_tuples(folder: Path) -> TupleRows:
    """A generator's answers of the first subtask."""
    subtask, rows = first_subtask(folder), pq.read_table(folder / TUPLES).to_pydict()
    own = [number for number, one in enumerate(rows["subtask"]) if one == subtask]
    rows.setdefault("scores", [[None] * len(predicted) for predicted in rows["predicted"]])
    rows["target"] = [None if span is None else tuple(span) for span in rows["target"]]
    names = ("id", "words", "target", "tuples", "predicted", "scores", "invalid")
    return TupleRows(*([rows[name][number] for number in own] for name in names))


def tuples_of_tags(rows: Mapping[str, list]) -> TupleRows:
    """A tagger's answers: of each well-formed span its words and its type; its score is the product of the
    probabilities of its words' tags. Of tags without spans each word."""
    scheme, num_rows = scheme_in(rows), len(rows["id"])
    probabilities = rows.get("probabilities", [None] * num_rows)

    def spans(tags: list[str]) -> list[tuple[int, int, str]]:
        if scheme == "plain":
            return [(number, number + 1, tag) for number, tag in enumerate(tags)]
        return spans_of(tags, scheme)

    def tuples(tags: list[str]) -> list[dict[str, Any]]:
        return [{"target": (start, end), "label": LABEL_OF.get(type_, type_)} for start, end, type_ in spans(tags)]

    gold, predicted = ([tuples(tags) for tags in rows[name]] for name in ("tags", "predicted"))
    scores = [
        [None if of_words is None else float(np.prod(of_words[slice(*one["target"])])) for one in of_sentence]
        for of_words, of_sentence in zip(probabilities, predicted, strict=True)
    ]
    return TupleRows(rows["id"], rows["tokens"], [None] * num_rows, gold, predicted, scores, [False] * num_rows)


WAYS: dict[str, type[Way]] = {"classification": AsRows, "tagging": AsTags, "generation": AsTuples}
"""By the task of the runs, where it is one."""
