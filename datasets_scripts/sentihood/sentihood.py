"""SentiHood (Saeidi et al. 2016): what people write about neighbourhoods, by place and aspect."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import datasets

from ..retrieval import download_pinned, local_files
from ..source_files import cache_key, is_readable, quoted, read_utf8
from ..splits import drop_shared_texts

BASE_URL = (
    "https://raw.githubusercontent.com/HSLCY/ABSA-BERT-pair/f61018a0a28e0d3b863ebca173999f5103c6035e/data/sentihood"
)
SHA256_OF = {
    "sentihood-train.json": "46bb48d007dc35e07e93bd44e007579396336a17ba7d5d2cf1343e4d6a27d376",
    "sentihood-dev.json": "f0262cbe2ef6db66b0573945c3b9d68c17103331a64e9809604c0dabf2495c97",
    "sentihood-test.json": "61cc5188e6ab0147214af68554877622f15b6e459f5e187bc6607108674d5cc8",
}
SPLITS = ("train", "validation", "test")

TARGETS = ("LOCATION1", "LOCATION2")
ASPECTS = ("general", "price", "transit-location", "safety")
# Annotated too; dropped from the rows, as in the work to compare with.
OTHER_ASPECTS = ("dining", "green-nature", "live", "multicultural", "nightlife", "quiet", "shopping", "touristy")
SENTIMENTS = ("Positive", "Negative")
LABELS = ("none", "positive", "negative")
OPINION_VALUES = {"target_entity": TARGETS, "aspect": ASPECTS + OTHER_ASPECTS, "sentiment": SENTIMENTS}

CITATION = """\
@inproceedings{saeidi-etal-2016-sentihood,
  title = {{S}enti{H}ood: Targeted Aspect Based Sentiment Analysis Dataset for Urban Neighbourhoods},
  author = {Saeidi, Marzieh and Bouchard, Guillaume and Liakata, Maria and Riedel, Sebastian},
  booktitle = {Proceedings of COLING 2016},
  pages = {1546--1556},
  year = {2016}
}"""


@dataclass
class SentiHoodConfig(datasets.BuilderConfig):
    deduplicate: bool = False


class SentiHood(datasets.GeneratorBasedBuilder):
    """SentiHood, as distributed with ABSA-BERT-pair; splits train, validation and test.

    Configurations:
        rows: one row per (sentence, target that occurs in it, aspect) with id, text, target, aspect, label; label is
            "none" where nothing is annotated. Of a pair annotated twice the last annotation counts. Default.
        raw: one row per sentence with id, text and the opinions as annotated, all twelve aspects included.

    Ids are the source's: unique within a split, used again for other sentences in other splits.

    Args:
        data_dir: folder with sentihood-train.json, sentihood-dev.json and sentihood-test.json; downloaded from a
            public source, and verified, where not given.
        deduplicate: drop sentences whose text stands in a later split too, see `drop_shared_texts`.
        **kwargs: those of `datasets.DatasetBuilder` (`config_name`, `cache_dir`, ...).

    Raises:
        FileNotFoundError: `data_dir` lacks one of the files.
        ConnectionError, ValueError: on `download_and_prepare`, where a file cannot be fetched, is not the pinned one,
            or holds something that the format does not have.
    """

    BUILDER_CONFIG_CLASS = SentiHoodConfig
    BUILDER_CONFIGS = (
        SentiHoodConfig(name="rows", version=datasets.Version("1.0.0")),
        SentiHoodConfig(name="raw", version=datasets.Version("1.0.0")),
    )
    DEFAULT_CONFIG_NAME = "rows"

    def __init__(self, *, data_dir: str | Path | None = None, deduplicate: bool = False, **kwargs):
        if not isinstance(deduplicate, bool):
            raise ValueError(f"deduplicate={quoted(deduplicate)}: give True or False")
        self.local_files = []
        if data_dir is not None:
            self.local_files = local_files(data_dir, SHA256_OF, BASE_URL)
            kwargs["data_dir"] = str(data_dir)
        super().__init__(hash=cache_key(self.local_files), deduplicate=deduplicate, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        text = datasets.Value("string")
        features = {"id": text, "text": text}
        if self.config.name == "rows":
            features["target"] = datasets.ClassLabel(names=list(TARGETS))
            features["aspect"] = datasets.ClassLabel(names=list(ASPECTS))
            features["label"] = datasets.ClassLabel(names=list(LABELS))
        else:
            features["opinions"] = datasets.List(dict.fromkeys(OPINION_VALUES, text))
        return datasets.DatasetInfo(features=datasets.Features(features), citation=CITATION)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        files = self.local_files or download_pinned(dl_manager, BASE_URL, SHA256_OF)
        # Read here: what is raised in _generate_examples reaches the caller wrapped in a DatasetGenerationError.
        splits = {
            split: read_sentences(file, name) for split, file, name in zip(SPLITS, files, SHA256_OF, strict=True)
        }
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


def read_sentences(file: Path, name: str) -> list[dict]:
    """Sentences of a SentiHood file: dicts with id, text and opinions (dicts with target_entity, aspect, sentiment).

    Raises:
        ValueError: the file is not in SentiHood's format; names the file (by `name`), sentence id, field and value.
    """
    text = read_utf8(file)
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}, line {error.lineno}: invalid JSON ({error.msg}); get the file anew") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise ValueError(f"{name}: JSON that cannot be read ({error}); get the file anew") from error
    if not isinstance(records, list) or not records:
        raise ValueError(f"{name}: expected a JSON list of sentences, got {quoted(records)}")
    sentences = [_read_sentence(name, position, record) for position, record in enumerate(records)]
    if not any(_occurs(target, sentence["text"]) for sentence in sentences for target in TARGETS):
        raise ValueError(f"{name}: none of its texts has {' or '.join(TARGETS)}; get the file anew")
    seen = set()
    for record, sentence in zip(records, sentences, strict=True):
        if sentence["id"] in seen:
            raise ValueError(
                f"{name}, sentence {quoted(record['id'])}: the id occurs twice; give each sentence its own"
            )
        seen.add(sentence["id"])
    return sentences


def _read_sentence(name: str, position: int, record: dict) -> dict:
    where = f"{name}, sentence at position {position}"
    if not isinstance(record, dict) or not {"id", "text", "opinions"} <= record.keys():
        raise ValueError(f"{where}: expected an object with id, text and opinions, got {quoted(record)}")
    is_id = isinstance(record["id"], int | str) and not isinstance(record["id"], bool)
    if not is_id or not str(record["id"]).strip():
        raise ValueError(
            f"{where}, field 'id': {quoted(record['id'])} is neither a number nor a string; give it an id"
        )
    where = f"{name}, sentence {quoted(record['id'])}"
    if not isinstance(record["text"], str) or not is_readable(record["text"]):
        raise ValueError(
            f"{where}, field 'text': {quoted(record['text'])} is not a text; write or remove the sentence"
        )
    for field in ("id", "text"):
        if any("\ud800" <= character <= "\udfff" for character in str(record[field])):
            raise ValueError(
                f"{where}, field {field!r}: {quoted(record[field])} holds half a surrogate pair; write the whole "
                "character"
            )
    if not isinstance(record["opinions"], list):
        raise ValueError(
            f"{where}, field 'opinions': {quoted(record['opinions'])} is not a list; write [] for no opinion"
        )
    opinions = []
    for opinion in record["opinions"]:
        if not isinstance(opinion, dict):
            raise ValueError(f"{where}, field 'opinions': {quoted(opinion)} is not an object; see the other sentences")
        for field, allowed in OPINION_VALUES.items():
            if opinion.get(field) not in allowed:
                raise ValueError(
                    f"{where}, field {field!r}: {quoted(opinion.get(field))} is unknown; write one of "
                    f"{', '.join(allowed)}"
                )
        if not _occurs(opinion["target_entity"], record["text"]):
            raise ValueError(
                f"{where}, field 'target_entity': {opinion['target_entity']} does not occur in "
                f"{quoted(record['text'])}; write it in the text or remove the opinion"
            )
        opinions.append({field: opinion[field] for field in OPINION_VALUES})
    return {"id": str(record["id"]), "text": record["text"], "opinions": opinions}


def _occurs(target: str, text: str) -> bool:
    """Whether a target stands in a text, be it within a word; LOCATION10 is no LOCATION1."""
    return re.search(rf"{target}(?!\d)", text) is not None


def label_rows(sentence: dict) -> Iterator[dict]:
    """The rows of one sentence: each target that occurs in the text, each of the four aspects, in that order."""
    # A later opinion on the same pair overwrites an earlier one: dev sentence 306 is the one case where it matters.
    labels = {
        (opinion["target_entity"], opinion["aspect"]): opinion["sentiment"].lower() for opinion in sentence["opinions"]
    }
    for target in TARGETS:
        if not _occurs(target, sentence["text"]):
            continue
        for aspect in ASPECTS:
            yield {
                "id": sentence["id"],
                "text": sentence["text"],
                "target": target,
                "aspect": aspect,
                "label": labels.get((target, aspect), "none"),
            }
