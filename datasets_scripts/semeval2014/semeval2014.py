"""SemEval-2014 Task 4 (Pontiki et al. 2014), restaurants, subtasks 3 and 4: aspect categories and their polarity."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import datasets

from ..retrieval import download_pinned, local_files
from ..source_files import cache_key, quoted
from ..splits import drop_shared_texts, held_out
from .reading import CATEGORIES, read_sentences

BASE_URL = (
    "https://raw.githubusercontent.com/HSLCY/ABSA-BERT-pair/f61018a0a28e0d3b863ebca173999f5103c6035e/data/semeval2014"
)
SHA256_OF = {
    "Restaurants_Train.xml": "5195b73af689345b47dee950bada32f5c5268ba8a61b96e1ab2301040b4207e2",
    "Restaurants_Test_Gold.xml": "f21509cfa37e16534cd5b2da043be487355b64ef48fe8d6aaacaeca6b49cc0fb",
}
TRAIN_FILES = {"v1": "Restaurants_Train.xml", "v2": "Restaurants_Train_v2.xml"}
TEST_FILE = "Restaurants_Test_Gold.xml"

ASPECT_OF = {category: category.removesuffix("/miscellaneous") for category in CATEGORIES}
LABELS = ("none", "positive", "neutral", "negative", "conflict")

CITATION = """\
@inproceedings{pontiki-etal-2014-semeval,
  title = {{S}em{E}val-2014 Task 4: Aspect Based Sentiment Analysis},
  author = {Pontiki, Maria and Galanis, Dimitris and Pavlopoulos, John and Papageorgiou, Harris and
            Androutsopoulos, Ion and Manandhar, Suresh},
  booktitle = {Proceedings of SemEval 2014},
  pages = {27--35},
  year = {2014}
}"""


@dataclass
class SemEval2014Config(datasets.BuilderConfig):
    train_version: str = "v1"
    validation_fraction: float = 0.0
    validation_seed: int = 0
    deduplicate: bool = False


class SemEval2014(datasets.GeneratorBasedBuilder):
    """SemEval-2014 Task 4, restaurants; splits train and test, and validation where some of train is held out.

    Configurations:
        rows: one row per (sentence, aspect) with id, text, target (always ""), aspect, label; label is "none" where
            the sentence is not annotated with the aspect. Default.
        raw: one row per sentence with id, text and the terms and categories as annotated.

    Args:
        data_dir: folder with Restaurants_Test_Gold.xml and the training file; downloaded from a public source, and
            verified, where not given.
        train_version: "v1", Restaurants_Train.xml (3044 sentences, what BERT-pair and the figures to compare with
            were trained on), or "v2", Restaurants_Train_v2.xml (3041 sentences; from `data_dir` only).
        validation_fraction: share of the training sentences held out as the validation split, 0 <= share < 1.
        validation_seed: which ones, see `held_out`.
        deduplicate: drop sentences whose text stands in a later split too, see `drop_shared_texts`.
        **kwargs: those of `datasets.DatasetBuilder` (`config_name`, `cache_dir`, ...).

    Raises:
        FileNotFoundError: `data_dir` lacks one of the files.
        ValueError: an argument is out of range, or v2 is asked for without `data_dir`.
        ConnectionError, ValueError: on `download_and_prepare`, where a file cannot be fetched, is not the pinned one,
            or holds something that the format does not have.
    """

    BUILDER_CONFIG_CLASS = SemEval2014Config
    BUILDER_CONFIGS = (
        SemEval2014Config(name="rows", version=datasets.Version("1.0.0")),
        SemEval2014Config(name="raw", version=datasets.Version("1.0.0")),
    )
    DEFAULT_CONFIG_NAME = "rows"

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        train_version: str = "v1",
        validation_fraction: float = 0.0,
        validation_seed: int = 0,
        deduplicate: bool = False,
        **kwargs,
    ):
        if train_version not in tuple(TRAIN_FILES):
            raise ValueError(
                f"train_version={quoted(train_version)} is unknown; choose one of {', '.join(TRAIN_FILES)}"
            )
        if not isinstance(validation_fraction, Real) or not 0 <= validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={quoted(validation_fraction)} is out of range; choose a share in [0, 1), 0 for "
                "no validation"
            )
        if isinstance(validation_seed, bool) or not isinstance(validation_seed, Integral):
            raise ValueError(f"validation_seed={quoted(validation_seed)}: give a whole number")
        if not isinstance(deduplicate, bool):
            raise ValueError(f"deduplicate={quoted(deduplicate)}: give True or False")
        if data_dir is None and train_version == "v2":
            raise ValueError(
                "train_version='v2' has no pinned public source; get Restaurants_Train_v2.xml from the organisers and "
                "pass its folder as data_dir, or use train_version='v1'"
            )
        self.local_files = []
        if data_dir is not None:
            self.local_files = local_files(data_dir, (TRAIN_FILES[train_version], TEST_FILE), BASE_URL)
            kwargs["data_dir"] = str(data_dir)
        super().__init__(
            hash=cache_key(self.local_files),
            train_version=train_version,
            validation_fraction=validation_fraction,
            validation_seed=validation_seed,
            deduplicate=deduplicate,
            **kwargs,
        )

    def _info(self) -> datasets.DatasetInfo:
        text, number = datasets.Value("string"), datasets.Value("int32")
        features = {"id": text, "text": text}
        if self.config.name == "rows":
            features["target"] = text
            features["aspect"] = datasets.ClassLabel(names=list(ASPECT_OF.values()))
            features["label"] = datasets.ClassLabel(names=list(LABELS))
        else:
            features["terms"] = datasets.List({"term": text, "polarity": text, "from": number, "to": number})
            features["categories"] = datasets.List({"category": text, "polarity": text})
        return datasets.DatasetInfo(features=datasets.Features(features), citation=CITATION)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        train, test = self.local_files or download_pinned(dl_manager, BASE_URL, SHA256_OF)
        # Read here: what is raised in _generate_examples reaches the caller wrapped in a DatasetGenerationError.
        splits = {"train": read_sentences(train, TRAIN_FILES[self.config.train_version])}
        if self.config.validation_fraction > 0:
            ids = held_out(
                (sentence["id"] for sentence in splits["train"]),
                self.config.validation_fraction,
                self.config.validation_seed,
            )
            splits["validation"] = [sentence for sentence in splits["train"] if sentence["id"] in ids]
            splits["train"] = [sentence for sentence in splits["train"] if sentence["id"] not in ids]
        splits["test"] = read_sentences(test, TEST_FILE)
        if self.config.deduplicate:
            splits = drop_shared_texts(splits)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"sentences": tuple(sentences)})
            for split, sentences in splits.items()
        ]

    def _generate_examples(self, sentences: tuple[dict, ...]) -> Iterator[tuple[int, dict]]:
        if self.config.name == "rows":
            yield from enumerate(row for sentence in sentences for row in label_rows(sentence))
        else:
            yield from enumerate(sentences)


def label_rows(sentence: dict) -> Iterator[dict]:
    """The rows of one sentence: each of the five aspects, in their order."""
    labels = {ASPECT_OF[category["category"]]: category["polarity"] for category in sentence["categories"]}
    for aspect in ASPECT_OF.values():
        yield {
            "id": sentence["id"],
            "text": sentence["text"],
            "target": "",
            "aspect": aspect,
            "label": labels.get(aspect, "none"),
        }
