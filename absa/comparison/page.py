"""Runs beside one another, as a table in Markdown and as a page of HTML that stands alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from jinja2 import Environment, FileSystemLoader

from absa.comparison.answers import Way
from absa.comparison.rows import Mark, Row, questions_of, rows_of
from absa.comparison.runs import Run, answers_of, read_run, way_of
from absa.comparison.scores import difference_cells, score_cells, scores_of, table
from absa.comparison.speed import ROUNDS, SIZES, size_cells
from absa.tasks.base import BOOTSTRAP
from absa.timing import where

MOST_ROWS = 500
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


@dataclass
class ComparisonArguments:
    """Which runs, and what is said of them."""

    runs: list[Path] = field(metadata={"help": "Output folders of examples/run_absa.py, on one data set."})
    names: list[str] | None = field(
        default=None, metadata={"help": "What to call the runs, in their order (default: their folders' names)."}
    )
    part: str | None = field(
        default=None, metadata={"help": "Of runs on several data sets the one that is compared, by its name."}
    )
    output: Path | None = field(default=None, metadata={"help": "HTML file for the table and for rows that differ."})
    resamples: int = field(
        default=BOOTSTRAP, metadata={"help": f"Of the test sentences, for the intervals (default: {BOOTSTRAP})."}
    )
    texts: int = field(
        default=200, metadata={"help": "Test texts that speed is measured with; 0 leaves it out (default: 200)."}
    )

    def __post_init__(self):
        folders = [folder.resolve().name for folder in self.runs]
        if self.names is None:
            self.names = folders if len(set(folders)) == len(folders) else list(map(str, self.runs))
        if len(self.names) != len(self.runs):
            raise ValueError(f"names has {len(self.names)} names for {len(self.runs)} runs: give one for each")
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"names={' '.join(self.names)}: a name stands twice; give each run one of its own")
        if self.output is not None and self.output.is_dir():
            raise ValueError(
                f"output={self.output} is a folder: give a file, such as {self.output / 'comparison.html'}"
            )
        for name, least in (("resamples", 1), ("texts", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: give at least {least}")


class Line(NamedTuple):
    """Of the table: a run, or its difference from the first one."""

    name: str
    cells: dict[str, str]
    """by heading"""
    is_difference: bool


@dataclass(frozen=True)
class Comparison:
    """Runs that were compared, and how."""

    runs: Sequence[Run]
    way: Way
    about: str
    lines: Sequence[Line]
    notes: Sequence[str]

    def __str__(self) -> str:
        rows = table([{"%": line.name, **line.cells} for line in self.lines])
        return "\n".join([self.about, "", rows, *self.notes])


def compare(arguments: ComparisonArguments) -> Comparison:
    """The scores, sizes and speeds of runs.

    Raises:
        FileNotFoundError, ValueError: naming the argument, or the runs that cannot be compared.
    """
    runs = [read_run(*run, arguments.part) for run in zip(arguments.runs, arguments.names, strict=True)]
    way = way_of(runs)
    answers = answers_of(runs, way)
    scored = scores_of(answers, way.main_scores, arguments.resamples)
    questions = questions_of(way, [run.first for run in runs]) if arguments.texts else {}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sizes, lines = size_cells(runs, questions, arguments.texts, device), []
    for run, scores, size in zip(runs, scored, sizes, strict=True):
        lines.append(Line(run.name, {"seeds": f"{len(run.seeds)}", **score_cells(scores), **size}, False))
        if run is not runs[0]:
            cells = {"seeds": f"{len(scores.shared)}", **difference_cells(scores, scored[0])}
            lines.append(Line(f"{run.name} minus {runs[0].name}", cells | dict.fromkeys(SIZES, ""), True))
    first = next(iter(answers[0].values()))
    data = " ".join(filter(None, (runs[0].arguments["dataset"], runs[0].arguments.get("data_config"))))
    about = (
        f"{data}, test split: {len(first.keys):,} rows of {len(set(first.ids)):,} sentences, scored as {way.scored_as}"
    )
    notes = [
        "Scores: mean (standard deviation) over seeds and [95 % interval] over sentences, which are resampled "
        f"{arguments.resamples:,} times, in percent.",
        "Differences: in points, over the seeds that both runs have; ± standard error over trainings, bold where "
        "trainings that differ by chance alone would differ less in 95 % of the cases.",
    ]
    if any(size["texts/s"] for size in sizes):
        asked = min(arguments.texts, len(questions))
        notes.append(
            f"texts/s: {asked:,} test texts, classifiers by the questions of their rows, the models in turn, median "
            f"of {ROUNDS} rounds; {where(device)}."
        )
    return Comparison(runs, way, about, lines, notes)


def page(comparison: Comparison) -> str:
    """A comparison as HTML without other files, with the rows that the runs answer differently."""
    runs = comparison.runs
    shared = set.intersection(*(set(run.seeds) for run in runs))
    seeds = [min(shared) if shared else min(run.seeds) for run in runs]
    rows = rows_of(comparison.way, [run.seeds[seed] for run, seed in zip(runs, seeds, strict=True)])
    differing = [row for row in rows if len({answer.label for answer in row.answers}) > 1]
    differing.sort(key=lambda row: -row.spread)
    names = [run.name for run in runs]
    of_seeds = f"seed {seeds[0]}"
    if not shared:
        of_seeds = ", ".join(f"seed {seed} of {name}" for seed, name in zip(seeds, names, strict=True))
    more = f" The first {MOST_ROWS} are shown." if len(differing) > MOST_ROWS else ""
    return TEMPLATES.get_template("page.html.jinja").render(
        title=" and ".join(filter(None, (", ".join(names[:-1]), names[-1]))),
        about=comparison.about,
        headings=["%", *comparison.lines[0].cells],
        lines=[
            {**line._asdict(), "cells": list(map(parts_of, *zip(*line.cells.items(), strict=True)))}
            for line in comparison.lines
        ],
        notes=comparison.notes,
        about_rows=f"{len(differing):,} of {len(rows):,} rows are answered differently by {of_seeds}; those whose "
        f"probabilities of the gold label are furthest apart come first.{more}",
        kinds=sorted({kind for row in differing for *_, kind in row.marks}, reverse=True),
        names=names,
        rows=[shown(row, names) for row in differing[:MOST_ROWS]],
    )


def parts_of(heading: str, cell: str) -> tuple[str, str, str, bool]:
    """Heading, value, what stands behind it (interval, error), and whether it is bold."""
    value, bracket, more = cell.strip("*" if cell.startswith("**") else "").partition(" [")
    return heading, value, bracket.strip() + more, cell.startswith("**")


def shown(row: Row, names: Sequence[str]) -> dict:
    """A row as the template has it."""
    sides = {
        side: " ".join(str(number) for number, answer in enumerate(row.answers) if answer.is_right is is_right)
        for side, is_right in (("right", True), ("wrong", False))
    }
    answers = list(zip(names, row.answers, strict=True))
    return {**row._asdict(), **sides, "pieces": pieces_of(row.text, row.marks), "answers": answers}


def pieces_of(text: str, marks: Sequence[Mark]) -> list[tuple[str, str]]:
    """A text in pieces, each with the kinds of the marks that it lies in."""
    borders = sorted({0, len(text), *(border for start, end, _ in marks for border in (start, end))})
    return [
        (text[start:end], " ".join(sorted({kind for first, last, kind in marks if first <= start and end <= last})))
        for start, end in pairwise(borders)
    ]
