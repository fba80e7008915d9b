"""SemEval-2016 Task 5 and SemEval-2015 Task 12 (Pontiki et al. 2016, 2015), subtask 1, slots 1 and 3: the aspect
categories of each sentence of a review, and their polarity.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from ..builder import RowsBuilder, row_features
from ..semeval_xml import category_rows, read_opinions
from ..source_files import choose, shorten

LABELS = ["none", "positive", "neutral", "negative", "conflict"]


class SemEval2016(RowsBuilder):
    """One row per sentence and category, of reviews of restaurants or laptops; splits train and test.

    Rows have id, text, target (always ""), aspect and label. The aspects are the categories that occur in train, as
    the source writes them (FOOD#QUALITY), in the order of the alphabet. The label is "none" where the sentence has no
    opinion of the category, and "conflict" where it has several that differ in polarity.

    A sentence in scope that has no opinion has the label "none" in all its rows: slot 1 asks about it too. A sentence
    that the source marks as OutOfScope has no rows. It is not annotated, and may well judge: another restaurant, other
    guests, or the reviewed one by comparison. A category that occurs in test alone has no rows, since nothing can be
    learnt of it; a warning says how many opinions that leaves out.

    Args:
        config_name: "restaurants" (default) or "laptops".
        data_dir: folder of the organisers' files. There is no download.
        **kwargs: those of `RowsBuilder`.

    Raises:
        ValueError: the configuration is unknown; errors of `RowsBuilder`.
        FileNotFoundError: `data_dir` lacks a file.
    """

    BASE_URL = "https://alt.qcri.org/semeval2016/task5"
    SOURCES: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "restaurants": {"train": "ABSA16_Restaurants_Train_SB1_v2.xml", "test": "EN_REST_SB1_TEST.xml.gold"},
        "laptops": {"train": "ABSA16_Laptops_Train_SB1_v2.xml", "test": "EN_LAPT_SB1_TEST_.xml.gold"},
    }
    SHA256_OF: ClassVar = {}
    FEATURES: ClassVar = dict.fromkeys(SOURCES)

    def __init__(self, *, config_name: str = "restaurants", **kwargs):
        choose("config_name", config_name, self.SOURCES)
        self.FILES = self.SOURCES[config_name]
        super().__init__(config_name=config_name, **kwargs)

    @staticmethod
    def read(file: Path) -> list[dict]:
        return read_opinions(file)

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        """Rows, where other builders have sentences."""
        splits = super().read_splits(files)
        of_split = {
            split: [opinion["category"] for sentence in sentences for opinion in sentence["opinions"]]
            for split, sentences in splits.items()
        }
        aspects = sorted(set(of_split["train"]))
        if unknown := [category for category in of_split["test"] if category not in aspects]:
            warnings.warn(
                f"{files['test']}: {len(unknown)} of {len(of_split['test'])} opinions have no row, because their "
                f"categories do not occur in train: {shorten(', '.join(sorted(set(unknown))), 400)}",
                stacklevel=2,
            )
        self.info.features = row_features(aspects, LABELS)
        return {
            split: [
                row
                for sentence in sentences
                if not sentence["is_out_of_scope"]
                for row in category_rows(sentence, _labels(sentence["opinions"]), aspects)
            ]
            for split, sentences in splits.items()
        }


class SemEval2015(SemEval2016):
    """The same of SemEval-2015.

    Its third domain, hotels, is not here: it has a test file only, and the aspects of the rows are those of train.
    """

    BASE_URL = "https://alt.qcri.org/semeval2015/task12"
    SOURCES: ClassVar = {
        "restaurants": {"train": "ABSA-15_Restaurants_Train_Final.xml", "test": "ABSA15_Restaurants_Test.xml"},
        "laptops": {"train": "ABSA-15_Laptops_Train_Data.xml", "test": "ABSA15_Laptops_Test.xml"},
    }


def _labels(opinions: list[dict]) -> dict[str, str]:
    """The label of each category that a sentence has opinions of."""
    labels = {}
    for opinion in opinions:
        category, polarity = opinion["category"], opinion["polarity"]
        labels[category] = polarity if labels.get(category, polarity) == polarity else "conflict"
    return labels
