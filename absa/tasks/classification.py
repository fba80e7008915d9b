"""What a data set asks for: its rows as strings, its contexts and labels, and how its predictions are scored."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from datasets import ClassLabel, Dataset, DatasetDict

from absa.metrics.custom_absa import absa_scores
from absa.metrics.semeval2014 import LABELS as SEMEVAL2014_LABELS
from absa.metrics.semeval2014 import semeval2014_scores
from absa.metrics.sentihood import LABELS as SENTIHOOD_LABELS
from absa.metrics.sentihood import sentihood_scores
from datasets_scripts.source_files import shorten
from modeling_qacg_bert import Contexts

MOST_LABELS, MOST_NAMES = 24, 400  # lines, and characters of names, that are shown of a data set
COLUMNS = ("id", "text", "target", "aspect", "label")
Rows = Mapping[str, list[str]]


@dataclass(frozen=True)
class Task:
    """A data set ready for training.

    Args:
        splits: for "train", "validation" and "test" (where there are such) the five columns as strings.
        contexts: of the training split.
        label_names: in the order of the label ids.
        none_label: the one of a text that does not speak of the aspect; None where every row has a sentiment.
        score: (ids, targets, aspects, labels, probabilities (rows, labels)) -> scores by name.
        main_scores: names of the scores that tables show, the literature's.
        select_by: name of the score that chooses the checkpoint on the validation split.
    """

    splits: Mapping[str, Rows]
    contexts: Contexts
    label_names: list[str]
    none_label: str | None
    score: Callable[..., dict[str, float]]
    main_scores: list[str]
    select_by: str

    def score_rows(self, rows: Rows, probabilities: np.ndarray, bootstrap: int = 0) -> dict[str, float]:
        """Scores of the probabilities (rows, labels) of these rows, with intervals from so many resamples."""
        columns = (rows["id"], rows["target"], rows["aspect"], rows["label"])
        return self.score(*columns, probabilities, bootstrap=bootstrap)


def make_task(
    data: DatasetDict, metric: str, validation_fraction: float, validation_seed: int, none_label: str = "none"
) -> Task:
    """A task from a data set with the columns of `COLUMNS`.

    Args:
        data: its splits; without one named validation, a part of the training texts is held out.
        metric: "sentihood", "semeval2014" or "absa".
        validation_fraction, validation_seed: which part that is.
        none_label: the label of a text that does not speak of the aspect, if the data has it.
    Raises:
        ValueError: if there is no training split, nothing can be held out or the labels are not the metric's.
    """
    if "train" not in data:
        raise ValueError(f"the data has the splits {list(data)}: training needs a split named train")
    splits = {name: as_strings(split) for name, split in data.items()}
    if "validation" not in splits:
        splits["train"], splits["validation"] = hold_out_texts(splits["train"], validation_fraction, validation_seed)
    label_names = names_of(data["train"], "label")
    aspects = names_of(data["train"], "aspect")
    targets = [name for name in names_of(data["train"], "target") if name]
    contexts = Contexts(tuple(targets), tuple(aspects))
    if len(label_names) < 2:
        raise ValueError(f"the training data has the labels {label_names}: a classifier needs two or more")
    if metric == "absa":
        none_label = none_label if none_label in label_names else None
        scorer = partial(absa_scores, label_names=label_names, none_label=none_label)
        main_scores = ["strict_accuracy", "accuracy", "macro_f1"]
        return Task(splits, contexts, label_names, none_label, scorer, main_scores, "macro_f1")

    expected = list(SENTIHOOD_LABELS if metric == "sentihood" else SEMEVAL2014_LABELS)
    if label_names != expected:
        raise ValueError(f"metric={metric} scores the labels {expected}, the data has {label_names}: use metric=absa")
    if metric == "sentihood":
        main_scores = ["strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc"]
        return Task(splits, contexts, label_names, none_label, sentihood_scores, main_scores, "strict_accuracy")
    main_scores = ["precision", "recall", "f1", "accuracy_binary", "accuracy_3way", "accuracy_4way"]
    return Task(splits, contexts, label_names, none_label, semeval2014_scores, main_scores, "f1")


def table_of_labels(task: Task) -> str:
    """How often each label stands in each split, how many rows and texts that are, and the targets and aspects.

    Of many labels those in the middle are left out: misspelt ones are rare, and stand last.
    """
    counts = pd.DataFrame(
        {name: Counter(rows["label"]) for name, rows in task.splits.items()}, index=task.label_names
    ).fillna(0)
    totals = pd.DataFrame(
        {name: {"rows": len(rows["text"]), "texts": len(set(rows["text"]))} for name, rows in task.splits.items()}
    )
    table = pd.concat([counts.sort_values("train", ascending=False, kind="stable"), totals]).astype(int)
    targets = shorten(", ".join(task.contexts.targets) or "none", MOST_NAMES)
    aspects = shorten(", ".join(task.contexts.aspects), MOST_NAMES)
    pairs = f"{len(task.contexts)} pairs of target and aspect; targets: {targets}; aspects: {aspects}"
    return f"{table.to_string(max_rows=MOST_LABELS)}\n{pairs}"


def hold_out_texts(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Rows of the texts that are kept and of those held out, the ones with the smallest SHA-256 of "seed:text".

    Raises:
        ValueError: if no text would be held out, or none kept.
    """
    texts = sorted(set(rows["text"]), key=lambda text: hashlib.sha256(f"{seed}:{text}".encode()).digest())
    count = round(fraction * len(texts))
    if not 0 < count < len(texts):
        raise ValueError(
            f"validation_fraction={fraction} of {len(texts)} training texts is {count}: choose one that leaves a text "
            "in train and in validation, or give validation_file"
        )
    held_out = set(texts[:count])
    numbers = range(len(rows["text"]))
    return (
        choose(rows, [number for number in numbers if rows["text"][number] not in held_out]),
        choose(rows, [number for number in numbers if rows["text"][number] in held_out]),
    )


def names_of(split: Dataset, column: str) -> list[str]:
    """The names of a ClassLabel in the order of its ids, or the distinct strings of a column as they first occur."""
    feature = split.features[column]
    return list(feature.names) if isinstance(feature, ClassLabel) else list(dict.fromkeys(split[column]))


def as_strings(split: Dataset) -> Rows:
    """The five columns with names instead of class numbers; no target is the empty string."""
    rows = {}
    for column in COLUMNS:
        feature = split.features[column]
        values = split[column][:]
        if isinstance(feature, ClassLabel):
            rows[column] = [feature.names[value] for value in values]
        else:
            rows[column] = ["" if value is None else str(value) for value in values]
    return rows


def choose(rows: Rows, numbers: Sequence[int]) -> Rows:
    """The rows with these numbers."""
    return {name: [column[number] for number in numbers] for name, column in rows.items()}
