"""Parts of speech from CoNLL-U files, the format of Universal Dependencies, such as its English Web Treebank (EWT)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..builder import RowsConfig
from ..source_files import choose, read_utf8, value_error, with_own_ids
from ..tagged import Source, TaggedBuilder

COLUMNS = 10
TAG_COLUMNS = {"upos": 3, "xpos": 4}  # 0-based
UNITS = ("words", "tokens")
UPOS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ"),
    *("SYM", "VERB", "X"),
)


@dataclass
class CoNLLUConfig(RowsConfig):
    tags: str = "upos"
    units: str = "words"


class CoNLLU(TaggedBuilder):
    """Rows of (id, text, tokens, tags) from a treebank; splits train, validation and test.

    The classes are the tags of all splits in alphabetical order. Empty nodes (`8.1`) are left out.

    Args:
        config_name: "en_ewt", the English Web Treebank, the default. Files of another treebank go into `data_files`.
        data_dir: folder with en_ewt-ud-train.conllu, en_ewt-ud-dev.conllu and en_ewt-ud-test.conllu.
        tags: "upos", the 17 universal tags, or "xpos", the treebank's own (of EWT, those of the Penn Treebank).
        units: "words", the syntactic ones (do, n't), or "tokens" as they are written (don't). The tag of a token of
            several words joins theirs: AUX+PART.
        **kwargs: those of `TaggedBuilder`.
    """

    BUILDER_CONFIG_CLASS = CoNLLUConfig
    SOURCES: ClassVar = {
        "en_ewt": Source(
            "https://github.com/UniversalDependencies/UD_English-EWT",
            {
                "train": ["en_ewt-ud-train.conllu"],
                "validation": ["en_ewt-ud-dev.conllu"],
                "test": ["en_ewt-ud-test.conllu"],
            },
        )
    }
    FEATURES: ClassVar = dict.fromkeys(SOURCES)

    def __init__(self, *, config_name: str = "en_ewt", tags: str = "upos", units: str = "words", **kwargs):
        choose("tags", tags, TAG_COLUMNS)
        choose("units", units, UNITS)
        super().__init__(config_name=config_name, tags=tags, units=units, **kwargs)

    def read(self, file: Path) -> list[dict]:
        return read_conllu(file, self.config.tags, self.config.units)

    def classes_of(self, splits: dict[str, list[dict]]) -> list[str]:
        return sorted({tag for sentences in splits.values() for sentence in sentences for tag in sentence["tags"]})


def read_conllu(file: Path, tags: str, units: str) -> list[dict]:
    """Sentences of one file, as `TaggedBuilder` describes them; ids and texts are those of the file where it has them.

    Raises:
        ValueError: a line has not ten columns, ids of words do not count from 1, a word has no tag, a range ends
            behind the sentence, or an id of a sentence occurs twice. Names the file and the line.
    """
    return with_own_ids(
        (f"{file}, line {lines[0][0]}", _read_sentence(file, lines, tags, units)) for lines in _blocks(file)
    )


def _blocks(file: Path) -> Iterator[list[tuple[int, str]]]:
    """The numbered lines of each sentence."""
    block = []
    for number, line in enumerate([*read_utf8(file).split("\n"), ""], start=1):
        line = line.removesuffix("\r")
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []


def _read_sentence(file: Path, lines: list[tuple[int, str]], tags: str, units: str) -> dict:
    about = {"sent_id": None, "text": None}
    words, spans = [], []  # (form, tag, line) of each word; (first, last, form, line) of each token of several words
    for line, content in lines:
        if content.startswith("#"):
            key, equals, value = content[1:].partition("=")
            if equals and key.strip() in about:
                about[key.strip()] = value.strip()
            continue
        place = f"{file}, line {line}"
        columns = content.split("\t")
        if len(columns) != COLUMNS:
            raise value_error(place, content, f"has {len(columns)} columns; write {COLUMNS}, separated by tabs")
        number, form = columns[:2]
        first, is_range, last = number.partition("-")
        if "." in number:  # an empty node
            continue
        if not form:
            raise value_error(place, content, "has no form; write it in the second column")
        if is_range and first.isdecimal() and last.isdecimal() and len(number) < 20:
            spans.append((int(first), int(last), form, line))
        elif number == str(len(words) + 1):
            words.append((form, _checked_tag(place, columns[TAG_COLUMNS[tags]], tags), line))
        else:
            remedy = f"is not the id {len(words) + 1} that follows; put an empty line between sentences"
            raise value_error(place, number, remedy)
    if not words:
        raise ValueError(f"{file}, line {lines[0][0]}: no words up to the next empty line; remove these lines")
    units_read = words if units == "words" else _joined(file, words, spans)
    tokens = [form for form, _, _ in units_read]
    return {
        "id": about["sent_id"] or str(lines[0][0]),
        "text": about["text"] or " ".join(tokens),
        "tokens": tokens,
        "tags": [tag for _, tag, _ in units_read],
        "file": file,
        "lines": [line for _, _, line in units_read],
    }


def _checked_tag(place: str, tag: str, tags: str) -> str:
    if tags == "upos" and tag not in UPOS:
        raise value_error(f"{place}, column 4", tag, f"is no universal tag; write one of {', '.join(UPOS)}")
    if tag in ("", "_"):
        raise value_error(f"{place}, column 5", tag, "is no tag; a treebank without XPOS has tags='upos' only")
    return tag


def _joined(file: Path, words: list[tuple], spans: list[tuple]) -> list[tuple]:
    """Tokens as they are written: the words of each span as one, with its form."""
    tokens, after = [], 0
    for first, last, form, line in spans:
        if not after < first <= last <= len(words):
            remedy = f"is no range of the words {after + 1} to {len(words)}; correct it"
            raise value_error(f"{file}, line {line}", f"{first}-{last}", remedy)
        tokens += words[after : first - 1]
        tokens.append((form, "+".join(tag for _, tag, _ in words[first - 1 : last]), line))
        after = last
    return tokens + words[after:]
