"""SemEval-2014 Task 4 (Pontiki et al. 2014), restaurants, subtasks 3 and 4: aspect categories and their polarity."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from datasets import Features, List, Value

from ..builder import TEXT, RowsBuilder, RowsConfig, row_features
from ..semeval_xml import category_rows, read_sentences
from ..source_files import quoted
from ..splits import hold_out

TRAIN_FILES = {"v1": "Restaurants_Train.xml", "v2": "Restaurants_Train_v2.xml"}
ASPECT_OF = {
    "price": "price",
    "anecdotes/miscellaneous": "anecdotes",
    "food": "food",
    "ambience": "ambience",
    "service": "service",
}
LABELS = ("none", "positive", "neutral", "negative", "conflict")


@dataclass
class SemEval2014Config(RowsConfig):
    train_version: str = "v1"
    validation_fraction: float = 0.0
    validation_seed: int = 0


class SemEval2014(RowsBuilder):
    """SemEval-2014 Task 4, restaurants; splits train and test, and validation where some of train is held out.

    Configurations:
        rows: one row per (sentence, aspect) with id, text, target (always ""), aspect, label; label is "none" where
            the sentence is not annotated with the aspect. Default.
        raw: one row per sentence with id, text and the terms and categories as annotated.

    Args:
        train_version: "v1", Restaurants_Train.xml (3044 sentences, what BERT-pair and the figures to compare with
            were trained on), or "v2", Restaurants_Train_v2.xml (3041 sentences; from `data_dir` only).
        **kwargs: validation_fraction and validation_seed, the share of the training sentences that is held out as the
            validation split (default 0) and which ones (see `hold_out`); those of `RowsBuilder`.

    Raises:
        ValueError: `train_version` is unknown, or `validation_fraction` leaves nothing of a split; errors of
            `RowsBuilder`.
    """

    BUILDER_CONFIG_CLASS = SemEval2014Config
    BASE_URL = (
        "https://raw.githubusercontent.com/HSLCY/ABSA-BERT-pair/f61018a0a28e0d3b863ebca173999f5103c6035e"
        "/data/semeval2014"
    )
    SHA256_OF: ClassVar = {
        "Restaurants_Train.xml": "5195b73af689345b47dee950bada32f5c5268ba8a61b96e1ab2301040b4207e2",
        "Restaurants_Test_Gold.xml": "f21509cfa37e16534cd5b2da043be487355b64ef48fe8d6aaacaeca6b49cc0fb",
    }
    FEATURES: ClassVar = {
        "rows": row_features(list(ASPECT_OF.values()), list(LABELS)),
        "raw": Features(
            {
                "id": TEXT,
                "text": TEXT,
                "terms": List({"term": TEXT, "polarity": TEXT, "from": Value("int32"), "to": Value("int32")}),
                "categories": List({"category": TEXT, "polarity": TEXT}),
            }
        ),
    }

    def __init__(self, *, train_version: str = "v1", **kwargs):
        if train_version not in tuple(TRAIN_FILES):
            raise ValueError(
                f"train_version={quoted(train_version)} is unknown; choose one of {', '.join(TRAIN_FILES)}"
            )
        self.FILES = {"train": TRAIN_FILES[train_version], "test": "Restaurants_Test_Gold.xml"}
        super().__init__(train_version=train_version, **kwargs)

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        return hold_out(super().read_splits(files), self.config.validation_fraction, self.config.validation_seed)

    @staticmethod
    def read(file: Path) -> list[dict]:
        return read_sentences(file, tuple(ASPECT_OF))

    @staticmethod
    def rows(sentence: dict) -> Iterator[dict]:
        """The rows of one sentence: each of the five aspects, in their order."""
        labels = {ASPECT_OF[category["category"]]: category["polarity"] for category in sentence["categories"]}
        return category_rows(sentence, labels, ASPECT_OF.values())
