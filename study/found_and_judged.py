"""Targets that a tagger or a generator finds and a classifier judges, beside the labels of the finder itself.

    python study/found_and_judged.py study/grids/tagging_laptop14.yaml --tagger BERT --classifier RUN --generator RUN \
        --data_dirs e2e_absa=DIR aspect_polarity=DIR

RUN is a folder of run_absa.py with seeds of the grid. The classifier has learned the terms of aspect_polarity.

All models get the texts of E2E-ABSA's test split, as they were written, through `absa.load`. An opinion is right if it
has the place and the label of a term. The terms are those of aspect_polarity, since E2E-ABSA has its own as tokens, in
which brackets and dashes are lost and some words are others. It is printed how many terms differ.

A generator of the grid aesc learns from the same sentences as the tagger. ASTE-Data-V2 has fewer, and of these only
the terms that have an opinion term.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datasets import Dataset

from absa.commands import parse, user_errors
from absa.metrics.ratios import ratio
from absa.metrics.tuple_f1 import tuple_f1_scores
from absa.predict import Predictor, load
from datasets_scripts import load_absa_dataset
from grids import read_grid, run_name
from modeling_global_context import scheme_of, spans_of
from results import GridArguments, add_found

GENERATOR = "generator"
TERMS = {"laptop14": "laptops_terms", "rest14": "restaurants_terms"}  # of aspect_polarity
LABEL_OF = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
Gold = list[list[dict]]
"""of each text its terms: target, [start, end) in characters, and label"""


@dataclass(kw_only=True)
class FoundArguments(GridArguments):
    """Which models, and the files of both data sets."""

    tagger: str = field(metadata={"help": "A run of the grid, by its label."})
    classifier: Path = field(metadata={"help": "Folder of a run, with a seed-N for each seed."})
    generator: Path | None = field(default=None, metadata={"help": "The same of a generator (default: none)."})
    data_dirs: list[str] = field(metadata={"help": "Folders with their files: e2e_absa=DIR aspect_polarity=DIR."})


def terms_of(tagged: Dataset, rows: Dataset) -> Gold:
    """The terms of each tagged sentence, from rows about terms.

    Raises:
        ValueError: if a row is about another text.
    """
    by_text = {text: [] for text in tagged["text"]}
    labels = rows.features["label"]
    for row in rows:
        if row["text"] not in by_text:
            raise ValueError(
                f"aspect_polarity has {row['text']!r}, and e2e_absa has not: give files of the same split"
            )
        place = row["target_start"], row["target_end"]
        by_text[row["text"]].append({"target": place, "label": labels.int2str(row["label"])})
    return [by_text[text] for text in tagged["text"]]


def differing_terms(tagged: Dataset, gold: Gold) -> dict[str, int]:
    """How many terms the tags and the rows have in common, and how many either has alone: by letters and label."""
    found, tag_names = Counter(), tagged.features["tags"].feature.names
    for sentence, terms in zip(tagged, gold, strict=True):
        spans = spans_of([tag_names[tag] for tag in sentence["tags"]], scheme_of(tag_names))
        of_tags = Counter((letters("".join(sentence["tokens"][a:b])), LABEL_OF[type_]) for a, b, type_ in spans)
        of_rows = Counter((letters(sentence["text"][slice(*one["target"])]), one["label"]) for one in terms)
        found["in both"] += (of_tags & of_rows).total()
        found["in aspect_polarity alone"] += (of_rows - of_tags).total()
        found["in e2e_absa alone"] += (of_tags - of_rows).total()
    return dict(found)


def letters(term: str) -> str:
    """A term without what either data set may have left out."""
    return re.sub(r"\W", "", term).lower()


def scores(read: Predictor, texts: Sequence[str], gold: Gold) -> dict[str, float]:
    """Precision, recall and F1 of place and label, F1 of the place alone (`ate_f1`), and the share of right labels at
    right places (`label_accuracy`)."""
    found = [
        [{"target": (one.target_start, one.target_end), "label": one.label} for one in of_text if one.label]
        for of_text in read(texts)
    ]
    of_both = tuple_f1_scores(gold, found, fields=("target", "label"))
    right = of_both["count_right"], tuple_f1_scores(gold, found, fields=("target",))["count_right"]
    kept = {name: of_both[name] for name in ("f1", "precision", "recall", "ate_f1")}
    return {**kept, "label_accuracy": ratio("label_accuracy", *right, "no place is right")}


def main(arguments: FoundArguments):
    grid, folders = read_grid(arguments.grid), dict(folder.split("=", 1) for folder in arguments.data_dirs)
    if arguments.tagger not in grid.runs:
        raise ValueError(f"tagger={arguments.tagger} is not in {grid.name}, which has {', '.join(grid.runs)}")
    run = grid.runs[arguments.tagger]
    tagged = load_absa_dataset("e2e_absa", run["data_config"], data_dir=folders.get("e2e_absa"))["test"]
    options = {"data_dir": folders.get("aspect_polarity"), "dev_split": "none"}
    rows = load_absa_dataset("aspect_polarity", TERMS[run["data_config"]], **options)["test"]
    texts, gold = list(tagged["text"]), terms_of(tagged, rows)
    told = ", ".join(f"{count} {where}" for where, count in differing_terms(tagged, gold).items())
    print(f"{len(texts)} texts, {len(rows)} terms: {told}")

    runs = {arguments.tagger: arguments.output_dir / run_name(run)}
    if arguments.generator is not None:
        runs[GENERATOR] = arguments.generator
    for label, folder in runs.items():
        pairs = {seed: [one / f"seed-{seed}" for one in (folder, arguments.classifier)] for seed in grid.seeds}
        pairs = {seed: pair for seed, pair in pairs.items() if all((one / "results.json").is_file() for one in pair)}
        if not pairs:
            raise FileNotFoundError(f"{folder} and {arguments.classifier} have no seed of {grid.seeds} in common")
        for seed, pair in pairs.items():
            readers = {"alone": load(str(pair[0])), "judged": load(*map(str, pair))}
            looked = {way: scores(read, texts, gold) for way, read in readers.items()}
            print(f"{label}, seed {seed}: {looked}", flush=True)
            add_found(arguments.results_dir, "found_and_judged", grid, label, str(seed), looked)


if __name__ == "__main__":
    with user_errors():
        main(parse(FoundArguments, "grid"))
