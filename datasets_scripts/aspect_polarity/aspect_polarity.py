"""SemEval-2014 Task 4 (Pontiki et al. 2014), subtasks 2 and 4: the polarity of given terms, and of given categories.

In the splits of AF-LSTM (Tay et al. 2018): rows without the label conflict, 500 of those of train held out.
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple

from datasets import DatasetInfo, Features

from ..builder import PLACES, RowsBuilder, RowsConfig, row_features
from ..semeval2014.semeval2014 import ASPECT_OF
from ..semeval_xml import given_category_rows, read_sentences, term_rows
from ..source_files import choose, quoted
from ..splits import held_out_rows, part_train
from .paper_splits import LAPTOPS_TERMS, RESTAURANTS_CATEGORIES, RESTAURANTS_TERMS

SHA256 = {
    "Laptop_Train_v2.xml": "efec2ed73b4efb83b47c697114d800149c558118884afa80362a6e975ba7248c",
    "Laptops_Test_Gold.xml": "aa3a30c9dd7e0eacf9b69e898eb4118a36c1b4f391a30a08dfc41a38d8b8745b",
    "Restaurants_Train_v2.xml": "223601da1bded6caa4ef9cf91a7007578141ca6d8ed50d5a5c217565f89d2fc5",
    "Restaurants_Test_Gold.xml": "f21509cfa37e16534cd5b2da043be487355b64ef48fe8d6aaacaeca6b49cc0fb",
}
LABELS = {3: ["positive", "neutral", "negative"], 2: ["positive", "negative"]}
DEV_SPLITS = ("paper", "rows", "sentences", "none")
SEEDED = ("rows", "sentences")
DEV_ROWS = 500


def _category_rows(sentence: dict) -> Iterator[dict]:
    for row in given_category_rows(sentence):
        yield {**row, "target_start": None, "target_end": None}


class Source(NamedTuple):
    """What a configuration reads, the rows of a sentence, their aspects, and which the paper holds out of train."""

    files: Mapping[str, str]
    rows: Callable[[dict], Iterator[dict]]
    aspects: list[str]
    held_out: Collection[str]


LAPTOPS = {"train": "Laptop_Train_v2.xml", "test": "Laptops_Test_Gold.xml"}
RESTAURANTS = {"train": "Restaurants_Train_v2.xml", "test": "Restaurants_Test_Gold.xml"}
SOURCES = {
    "laptops_terms": Source(LAPTOPS, term_rows, [""], LAPTOPS_TERMS.split()),
    "restaurants_terms": Source(RESTAURANTS, term_rows, [""], RESTAURANTS_TERMS.split()),
    "restaurants_categories": Source(
        RESTAURANTS,
        _category_rows,
        list(ASPECT_OF),
        [f"{id_}:{category}" for category, ids in RESTAURANTS_CATEGORIES.items() for id_ in ids.split()],
    ),
}


@dataclass
class AspectPolarityConfig(RowsConfig):
    dev_split: str = "paper"
    dev_seed: int = 0
    labels: int = 3


class AspectPolarity(RowsBuilder):
    """One row per annotated term or category; splits train, validation and test.

    Rows have id (of the sentence), text, target, target_start, target_end, aspect and label. A term is the target, and
    stands at `text[target_start:target_end]`; its aspect is "". A category is the aspect; its target is "", without a
    place.

    Args:
        config_name: "laptops_terms", "restaurants_terms" or "restaurants_categories".
        data_dir: folder of the organisers' files, version 2 of those of train. There is no download.
        dev_split: which rows of train are the validation split. "paper": the 500 that Tay et al. held out. "rows": 500
            others. "sentences": whole sentences with 500 rows or a few more. "none": there is no validation split.
            "paper" and "rows" part the rows of a sentence, which makes validation easier than test; a warning says
            how many.
        dev_seed: of the choice of "rows" or "sentences", see `held_out_rows`.
        labels: 3, or 2 without the neutral rows of all splits. The choice of validation rows is the same for both.
        **kwargs: those of `RowsBuilder`; `deduplicate` drops from train the sentences that have validation rows, too.

    Raises:
        FileNotFoundError: `data_dir` lacks a file.
        ValueError: an argument is unknown, or `dev_seed` has nothing to choose; on `download_and_prepare`, where a
            file is not in its format, has too few rows, or is not the one that was split for "paper".
    """

    BUILDER_CONFIG_CLASS = AspectPolarityConfig
    BASE_URL = "https://alt.qcri.org/semeval2014/task4"
    SHA256_OF: ClassVar = {}
    FEATURES: ClassVar = dict.fromkeys(SOURCES)

    def __init__(
        self,
        *,
        config_name: str | None = None,
        dev_split: str = "paper",
        dev_seed: int = 0,
        labels: int = 3,
        **kwargs,
    ):
        choose("config_name", config_name, SOURCES)
        choose("dev_split", dev_split, DEV_SPLITS)
        if dev_seed != 0 and dev_split not in SEEDED:
            raise ValueError(
                f"dev_seed={quoted(dev_seed)} with dev_split={dev_split!r}, which draws nothing: leave it out, or "
                f"choose one of {', '.join(SEEDED)}"
            )
        if labels not in tuple(LABELS):
            raise ValueError(f"labels={quoted(labels)}: give 3, or 2 to leave out neutral")
        self.FILES = SOURCES[config_name].files
        super().__init__(config_name=config_name, dev_split=dev_split, dev_seed=dev_seed, labels=labels, **kwargs)

    def _info(self) -> DatasetInfo:
        features = row_features(SOURCES[self.config.name].aspects, LABELS[self.config.labels])
        return DatasetInfo(features=Features({**features, **PLACES}))

    @staticmethod
    def read(file: Path) -> list[dict]:
        return read_sentences(file, tuple(ASPECT_OF))

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        """Rows, where other builders have sentences."""
        if self.config.dev_split == "paper":
            self._check_bytes(files)
        splits = {
            split: [
                row
                for row in chain.from_iterable(map(SOURCES[self.config.name].rows, sentences))
                if row["label"] != "conflict"
            ]
            for split, sentences in super().read_splits(files).items()
        }
        if self.config.dev_split != "none":
            splits = self._with_validation(splits)
        names = LABELS[self.config.labels]
        splits = {split: [row for row in rows if row["label"] in names] for split, rows in splits.items()}
        for split, rows in splits.items():
            if not rows:
                raise ValueError(
                    f"{split} has no rows labelled {' or '.join(names)}; give files with more annotations"
                )
        if "validation" in splits and not self.config.deduplicate:
            _warn_of_parted_sentences(splits["train"], splits["validation"])
        return splits

    def _check_bytes(self, files: Mapping[str, Path]):
        for split, file in files.items():
            expected = SHA256[self.FILES[split]]
            actual = hashlib.sha256(file.read_bytes()).hexdigest()
            if actual != expected:
                raise ValueError(
                    f"{file} has SHA-256 {actual}, and the paper's split is one of the file with {expected}: get that "
                    "file, or choose another dev_split than 'paper'"
                )

    def _with_validation(self, splits: dict[str, list[dict]]) -> dict[str, list[dict]]:
        keys = list(_row_keys(splits["train"]))
        if self.config.dev_split == "sentences":
            keys = [row["id"] for row in splits["train"]]
        if self.config.dev_split == "paper":
            chosen = set(SOURCES[self.config.name].held_out)
        else:
            chosen = held_out_rows(keys, DEV_ROWS, self.config.dev_seed)
        return part_train(splits, keys, chosen)


def _warn_of_parted_sentences(train: list[dict], validation: list[dict]):
    trained_on = {row["id"] for row in train}
    if num_shared := sum(row["id"] in trained_on for row in validation):
        warnings.warn(
            f"{num_shared} of {len(validation)} validation rows are of sentences that have rows in train too, so that "
            "validation is easier than test; dev_split='sentences' keeps sentences whole",
            stacklevel=2,
        )


def _row_keys(rows: list[dict]) -> Iterator[str]:
    """A key for each row: "id:from-to" or "id:category", with "id#2" where a sentence holds a category again."""
    times = Counter()
    for row in rows:
        place = row["aspect"] or f"{row['target_start']}-{row['target_end']}"
        times[row["id"], place] += 1
        repeated = times[row["id"], place]
        yield f"{row['id']}{f'#{repeated}' if repeated > 1 else ''}:{place}"
