"""Runs that examples/run_absa.py has written, and whether they can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from absa.comparison.answers import (
    PROBABILITIES,
    TAGS,
    TUPLES,
    Answers,
    AsRows,
    AsTags,
    AsTuples,
    Way,
    check_same,
    first_subtask,
)
from absa.tasks.scoring import metric_of
from datasets_scripts.source_files import parse_json, read_utf8, shorten
from datasets_scripts.subtasks import SUBTASKS

DOES = {  # by the file of its answers, what a run does
    PROBABILITIES: "answers questions about given targets and aspects",
    TAGS: "tags words",
    TUPLES: "finds tuples",
}


@dataclass(frozen=True)
class Run:
    """A finished run.

    Args:
        name: what tables call it.
        arguments: what its arguments.json says.
        seeds: the folder with the answers of each seed that is finished.
        file: name of the file of these answers.
        part: of a run on several data sets the one whose answers these are; their folders are in the checkpoints'.
    """

    name: str
    arguments: Mapping[str, Any]
    seeds: Mapping[int, Path]
    file: str
    part: str | None = None

    @property
    def first(self) -> Path:
        """The folder with the answers of its first seed."""
        return next(iter(self.seeds.values()))

    @property
    def checkpoint(self) -> Path:
        """The folder of the model of its first seed."""
        return self.first if self.part is None else self.first.parent

    @cached_property
    def labels(self) -> set[str]:
        """Of a classifier."""
        names = pq.read_schema(self.first / PROBABILITIES).names
        return {name.removeprefix("p_") for name in names if name.startswith("p_")}


def read_run(folder: Path, name: str, part: str | None = None) -> Run:
    """The run of a folder.

    Args:
        part: of a run on several data sets (`mixture`) the name of the one whose answers are read.
    Raises:
        FileNotFoundError: if there is none, or none of its seeds is finished.
        ValueError: if it has no answers to a test split, or is on several data sets of which `part` is none.
    """
    record = folder / "arguments.json"
    folders = [file.parent for file in folder.glob("seed-*/results.json")]
    numbered = {one.name.removeprefix("seed-"): one for one in folders}
    finished = {number: one for number, one in numbered.items() if number.isdecimal()}  # no copies, seed-1-old
    if not finished or not record.is_file():
        raise FileNotFoundError(
            f"runs={folder} holds no finished run: give the output_dir of examples/run_absa.py, above its seed-N"
        )
    arguments = parse_json(read_utf8(record), record)
    if not isinstance(arguments, dict) or not isinstance(arguments.get("dataset"), str):
        raise ValueError(f"{record} has no dataset: give its name, such as sentihood")
    seeds = {int(seed): finished[seed] for seed in sorted(finished, key=int)}
    if entries := arguments.get("mixture"):
        parts = {entry.get("name") or entry["dataset"]: entry for entry in entries}
        if part not in parts:
            raise ValueError(
                f"runs={folder} is a run on several data sets: give the one to compare, --part {' or '.join(parts)}"
            )
        arguments = {**arguments, **parts[part]}
        seeds = {seed: checkpoint / part for seed, checkpoint in seeds.items()}
    for seed_folder in seeds.values():
        file = next((file for file in DOES if (seed_folder / file).is_file()), None)
        if file is None:
            raise ValueError(
                f"runs={folder}: {seed_folder.relative_to(folder)} has no answers to a test split, none of "
                f"{', '.join(DOES)}; give a run of a data set that has such a split"
            )
    return Run(name, arguments, seeds, file, part if entries else None)


def way_of(runs: Sequence[Run]) -> Way:
    """How all of these runs are scored: as the first one is, or by what all of them find.

    Raises:
        ValueError: if that is nothing; names two of the runs and why.
    """
    first, *others = runs
    files = {run.file for run in runs}
    if files == {PROBABILITIES}:
        for other in others:
            if other.labels != first.labels:
                raise ValueError(
                    f"{first.name} and {other.name} have other labels, {shorten(sorted(first.labels))} and "
                    f"{shorten(sorted(other.labels))}: compare runs on one data set"
                )
        return as_rows(first.arguments)
    if files == {TAGS}:
        return AsTags(first.arguments["dataset"])
    for other in others:
        if PROBABILITIES in (pair := {first.file, other.file}) and len(pair) > 1:
            raise ValueError(
                f"{first.name} {DOES[first.file]}, {other.name} {DOES[other.file]}: that is not one task; compare "
                "classifiers with classifiers, and taggers with what finds tuples"
            )
    return as_tuples(runs)


def as_rows(arguments: Mapping[str, Any]) -> AsRows:
    """By the metric that a run was scored by."""
    metric = metric_of(arguments["dataset"], arguments.get("metric"), arguments.get("unseen_aspects"))
    if arguments.get("absent_terms"):
        metric = "absa"
    return AsRows(metric, arguments.get("absent_label") or "none")


def as_tuples(runs: Sequence[Run]) -> AsTuples:
    """By the fields that all of these runs find.

    Raises:
        ValueError: as `way_of`.
    """
    # A tagger finds terms and their types, as a generator of aesc does.
    subtasks = [first_subtask(run.first) if run.file == TUPLES else "aesc" for run in runs]
    given, found = SUBTASKS[subtasks[0]]
    for run, subtask in zip(runs, subtasks, strict=True):
        other = SUBTASKS[subtask]
        found = tuple(field for field in found if field in other.found)
        shared = [name for name, one in SUBTASKS.items() if one == (given, found)]
        if other.given != given or not shared:
            raise ValueError(
                f"{runs[0].name} does {subtasks[0]}, {run.name} {subtask}: they find nothing that can be compared; "
                "give runs that find places of the same kind"
            )
    return AsTuples(shared[0])


def answers_of(runs: Sequence[Run], way: Way) -> list[dict[int, Answers]]:
    """The answers of each run by seed.

    Raises:
        ValueError: if some are about other rows, or other gold labels.
    """
    every = [{seed: way.answers(folder) for seed, folder in run.seeds.items()} for run in runs]
    first_seed, first = next(iter(every[0].items()))
    for run, answers in zip(runs, every, strict=True):
        for seed, of_seed in answers.items():
            same = "" if run is not runs[0] else f", seed {seed},"
            check_same(f"{run.name}{same}", of_seed, runs[0].name + (same and f", seed {first_seed},"), first)
    return every
