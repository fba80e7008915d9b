"""SentiHood (Saeidi et al. 2016): what people write about neighbourhoods, by place and aspect."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from datasets import Features, List

from ..builder import TEXT, RowsBuilder, row_features
from ..source_files import checked_text, parse_json, quoted, read_utf8, value_error, with_own_ids

TARGETS = ("LOCATION1", "LOCATION2")
ASPECTS = ("general", "price", "transit-location", "safety")
# Annotated too; dropped from the rows, as in the work to compare with.
OTHER_ASPECTS = ("dining", "green-nature", "live", "multicultural", "nightlife", "quiet", "shopping", "touristy")
LABELS = ("none", "positive", "negative")
OPINION_VALUES = {
    "target_entity": TARGETS,
    "aspect": ASPECTS + OTHER_ASPECTS,
    "sentiment": ("Positive", "Negative"),
}


class SentiHood(RowsBuilder):
    """SentiHood, as distributed with ABSA-BERT-pair; splits train, validation and test.

    Configurations:
        rows: one row per (sentence, target that occurs in it, aspect) with id, text, target, aspect, label; label is
            "none" where nothing is annotated. Of a pair annotated twice the last annotation counts. Default.
        raw: one row per sentence with id, text and the opinions as annotated, all twelve aspects included.

    Ids are the source's: unique within a split, used again for other sentences in other splits.

    Arguments and errors are those of `RowsBuilder`.
    """

    BASE_URL = (
        "https://raw.githubusercontent.com/HSLCY/ABSA-BERT-pair/f61018a0a28e0d3b863ebca173999f5103c6035e"
        "/data/sentihood"
    )
    FILES: ClassVar = {
        "train": "sentihood-train.json",
        "validation": "sentihood-dev.json",
        "test": "sentihood-test.json",
    }
    SHA256_OF: ClassVar = {
        "sentihood-train.json": "46bb48d007dc35e07e93bd44e007579396336a17ba7d5d2cf1343e4d6a27d376",
        "sentihood-dev.json": "f0262cbe2ef6db66b0573945c3b9d68c17103331a64e9809604c0dabf2495c97",
        "sentihood-test.json": "61cc5188e6ab0147214af68554877622f15b6e459f5e187bc6607108674d5cc8",
    }
    FEATURES: ClassVar = {
        "rows": row_features(list(ASPECTS), list(LABELS), list(TARGETS)),
        "raw": Features({"id": TEXT, "text": TEXT, "opinions": List(dict.fromkeys(OPINION_VALUES, TEXT))}),
    }

    @staticmethod
    def read(file: Path) -> list[dict]:
        """Sentences of a file: dicts with id, text and opinions (dicts with target_entity, aspect, sentiment).

        Raises:
            ValueError: the file is not in SentiHood's format; names the file, sentence id, field and value.
        """
        records = parse_json(read_utf8(file), file)
        if not isinstance(records, list) or not records:
            raise value_error(str(file), records, "is not a list of sentences; get the file anew")
        return with_own_ids(_read_sentence(file, position, record) for position, record in enumerate(records))

    @staticmethod
    def rows(sentence: dict) -> Iterator[dict]:
        """The rows of one sentence: each target that occurs in the text, each of the four aspects, in that order."""
        # A later opinion on the same pair overwrites an earlier one: it matters for dev sentence 306 only.
        labels = {
            (opinion["target_entity"], opinion["aspect"]): opinion["sentiment"].lower()
            for opinion in sentence["opinions"]
        }
        for target in TARGETS:
            if not occurs(target, sentence["text"]):
                continue
            for aspect in ASPECTS:
                yield {
                    "id": sentence["id"],
                    "text": sentence["text"],
                    "target": target,
                    "aspect": aspect,
                    "label": labels.get((target, aspect), "none"),
                }


def _read_sentence(file: Path, position: int, record: object) -> tuple[str, dict]:
    place = f"{file}, sentence at position {position}"
    if not isinstance(record, dict) or not {"id", "text", "opinions"} <= record.keys():
        raise value_error(place, record, "is not an object with id, text and opinions; see the other sentences")
    id_ = str(record["id"]) if type(record["id"]) is int else checked_text(record["id"], f"{place}, field 'id'")
    place = f"{file}, sentence {quoted(record['id'])}"
    text = checked_text(record["text"], f"{place}, field 'text'")
    if not isinstance(record["opinions"], list):
        raise value_error(f"{place}, field 'opinions'", record["opinions"], "is not a list; write [] for no opinion")
    opinions = []
    for opinion in record["opinions"]:
        if not isinstance(opinion, dict):
            raise value_error(f"{place}, field 'opinions'", opinion, "is not an object; see the other sentences")
        for field, allowed in OPINION_VALUES.items():
            if opinion.get(field) not in allowed:
                remedy = f"is unknown; write one of {', '.join(allowed)}"
                raise value_error(f"{place}, field {field!r}", opinion.get(field), remedy)
        if not occurs(opinion["target_entity"], text):
            remedy = f"does not occur in {quoted(text)}; write it in the text or remove the opinion"
            raise value_error(f"{place}, field 'target_entity'", opinion["target_entity"], remedy)
        opinions.append({field: opinion[field] for field in OPINION_VALUES})
    return place, {"id": id_, "text": text, "opinions": opinions}


def occurs(target: str, text: str) -> bool:
    """Whether a target stands in a text, be it within a word; LOCATION10 is no LOCATION1."""
    return re.search(rf"{target}(?!\d)", text) is not None
