"""E2E-ABSA: aspect terms and their polarity as tags, in the files of BERT-E2E-ABSA (Li et al. 2019)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..builder import RowsConfig
from ..source_files import checked_text, choose, read_lines, value_error
from ..tag_schemes import PREFIXES, bio_to_bieos, label_names, ot_to_bio
from ..tagged import Source, TaggedBuilder

PAGE = "https://github.com/lixin4ever/BERT-E2E-ABSA/tree/master/data"
DOMAINS = ("laptop14", "rest14", "rest15", "rest16")
POLARITIES = ("POS", "NEG", "NEU")
OT_TAGS = ("O", *(f"T-{polarity}" for polarity in POLARITIES))
CONVERSIONS = ("cut", "reference")


@dataclass
class E2EABSAConfig(RowsConfig):
    scheme: str = "BIEOS"
    conversion: str = "cut"


class E2EABSA(TaggedBuilder):
    """Rows of (id, text, tokens, tags) from reviews of laptops or restaurants; splits train, validation and test.

    Args:
        config_name: "laptop14", "rest14", "rest15" or "rest16". Of the test sentences of rest15, 684 of 685 stand in
            train or validation of rest16: never train on one and test on the other.
        data_dir: folder with laptop14/train.txt, dev.txt, test.txt and so on.
        scheme: "BIEOS" or "BIO".
        conversion: what becomes of neighbours of different polarity, see `ot_to_bio`. "cut" makes them two aspects;
            "reference" does as BERT-E2E-ABSA, whose metric then drops both. Neighbours of one polarity are one aspect
            in the files already.
        **kwargs: those of `TaggedBuilder`.
    """

    BUILDER_CONFIG_CLASS = E2EABSAConfig
    SOURCES: ClassVar = {
        domain: Source(
            PAGE,
            {"train": [f"{domain}/train.txt"], "validation": [f"{domain}/dev.txt"], "test": [f"{domain}/test.txt"]},
        )
        for domain in DOMAINS
    }
    FEATURES: ClassVar = dict.fromkeys(SOURCES)

    def __init__(self, *, scheme: str = "BIEOS", conversion: str = "cut", **kwargs):
        choose("scheme", scheme, PREFIXES)
        choose("conversion", conversion, CONVERSIONS)
        super().__init__(scheme=scheme, conversion=conversion, **kwargs)

    @staticmethod
    def read(file: Path) -> list[dict]:
        """Sentences of one file, with tags in the scheme OT; a sentence's id is the number of its line."""
        return [_read_sentence(file, line, content.removesuffix("\r")) for line, content in read_lines(file)]

    def classes_of(self, splits: dict[str, list[dict]]) -> list[str]:
        for sentences in splits.values():
            for sentence in sentences:
                tags = ot_to_bio(sentence["tags"], self.config.conversion)
                sentence["tags"] = tags if self.config.scheme == "BIO" else bio_to_bieos(tags)
        return label_names(POLARITIES, self.config.scheme)


def _read_sentence(file: Path, line: int, content: str) -> dict:
    place = f"{file}, line {line}"
    # Texts may hold #### and tokens may hold =, so the last of each counts.
    text, hashes, tagged = content.rpartition("####")
    if not hashes:
        raise value_error(place, content, "has no ####; write text####token=TAG token=TAG")
    pairs = [pair.rpartition("=") for pair in tagged.split(" ") if pair]
    if not pairs:
        raise value_error(place, content, "has no tokens behind ####; write text####token=TAG token=TAG")
    for token, equals, tag in pairs:
        if not token or tag not in OT_TAGS:
            remedy = f"is no token=TAG with a tag of {', '.join(OT_TAGS)}; correct it"
            raise value_error(place, token + equals + tag, remedy)
    return {
        "id": str(line),
        "text": checked_text(text, f"{place}, text"),
        "tokens": [token for token, _, _ in pairs],
        "tags": [tag for _, _, tag in pairs],
        "file": file,
        "lines": [line] * len(pairs),
    }
