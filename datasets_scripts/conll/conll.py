"""Files with a token and its tag on each line, as in the CoNLL shared tasks: WNUT-17, CoNLL-2003, Weibo NER."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..builder import RowsConfig
from ..source_files import choose, read_utf8, shorten, value_error
from ..tag_schemes import PREFIXES, bieos_to_bio, bio_to_bieos, first_fault, iob1_to_bio, label_names, split_tag
from ..tagged import Source, TaggedBuilder, tag_error

SEPARATORS = ("tab", "blanks")
SCHEMES_IN = ("auto", "BIO", "BIEOS", "IOB1", "plain")
DOCUMENT = "-DOCSTART-"
FORMATS = {
    "wnut17": {"columns": 2, "separator": "tab", "tag_column": 2},
    "conll2003": {"columns": 4, "separator": "blanks", "tag_column": 4},
    "weibo": {"columns": 2, "separator": "tab", "tag_column": 2},
    "columns": {"columns": 2, "separator": "tab", "tag_column": 2},
}


@dataclass
class CoNLLConfig(RowsConfig):
    columns: int = 2
    separator: str = "tab"
    tag_column: int = 2
    scheme_in: str = "auto"
    scheme_out: str = "BIO"


class CoNLL(TaggedBuilder):
    """Rows of (id, text, tokens, tags) from column files; splits are those that have a file.

    The text is the tokens with blanks between them, of weibo without. The classes are O and the tags of all types of
    the training file, in alphabetical order of the types; of plain tags, those of the training file.

    Args:
        config_name: the format, and the names of the files in `data_dir`:
            "wnut17": wnut17train.conll, emerging.dev.conll and emerging.test.annotated.
            "conll2003": train.txt, valid.txt and test.txt, or eng.train, eng.testa and eng.testb. Lines of
                -DOCSTART- are left out. `tag_column=2` gives parts of speech.
            "weibo": weiboNER_2nd_conll.train, .dev and .test, a character on each line. The digit behind each, its
                place in its word, is left out.
            "columns": train, validation (or dev) and test, with the ending .conll or .txt; train is needed.
        columns: how many columns a line has; the first is the token.
        separator: "tab", or "blanks" for one or more blanks or tabs.
        tag_column: the column of the tag, from 1.
        scheme_in: "BIO", "BIEOS", "IOB1", "plain" for tags that mark no spans, or "auto", see `detected_scheme`.
        scheme_out: "BIO" or "BIEOS"; plain tags stay as they are.
        **kwargs: those of `TaggedBuilder`. By default `columns`, `separator` and `tag_column` are those of the format.
    """

    BUILDER_CONFIG_CLASS = CoNLLConfig
    SOURCES: ClassVar = {
        "wnut17": Source(
            "https://github.com/leondz/emerging_entities_17",
            # emerging.test.conll has the annotations before they were adjudicated.
            {
                "train": ["wnut17train.conll"],
                "validation": ["emerging.dev.conll"],
                "test": ["emerging.test.annotated"],
            },
        ),
        "conll2003": Source(
            "https://www.clips.uantwerpen.be/conll2003/ner/",
            {
                "train": ["train.txt", "eng.train"],
                "validation": ["valid.txt", "eng.testa"],
                "test": ["test.txt", "eng.testb"],
            },
        ),
        "weibo": Source(
            "https://github.com/OYE93/Chinese-NLP-Corpus/tree/master/NER/Weibo",
            {
                "train": ["weiboNER_2nd_conll.train"],
                "validation": ["weiboNER_2nd_conll.dev"],
                "test": ["weiboNER_2nd_conll.test"],
            },
        ),
        "columns": Source(
            "another place",
            {
                "train": ["train.conll", "train.txt"],
                "validation": ["validation.conll", "validation.txt", "dev.conll", "dev.txt"],
                "test": ["test.conll", "test.txt"],
            },
            needed=("train",),
        ),
    }
    FEATURES: ClassVar = dict.fromkeys(SOURCES)

    def __init__(self, *, config_name: str | None = None, **kwargs):
        choose("config_name", config_name, FORMATS)
        fields = {"scheme_in": "auto", "scheme_out": "BIO", **FORMATS[config_name], **kwargs}
        choose("separator", fields["separator"], SEPARATORS)
        choose("scheme_in", fields["scheme_in"], SCHEMES_IN)
        choose("scheme_out", fields["scheme_out"], PREFIXES)
        columns, tag_column = fields["columns"], fields["tag_column"]
        if type(columns) is not int or type(tag_column) is not int or not 2 <= tag_column <= columns:
            raise ValueError(
                f"{columns=} and {tag_column=}: give whole numbers, the tag's column from 2 (the token is in the "
                "first) to the number of columns"
            )
        super().__init__(config_name=config_name, **fields)

    def read(self, file: Path) -> list[dict]:
        config = self.config
        sentences = list(read_columns(file, config.columns, config.separator, config.tag_column))
        if config.name == "weibo":
            _drop_places(sentences)
        for sentence in sentences:
            sentence["text"] = ("" if config.name == "weibo" else " ").join(sentence["tokens"])
        return sentences

    def classes_of(self, splits: dict[str, list[dict]]) -> list[str]:
        sentences = [sentence for of_split in splits.values() for sentence in of_split]
        scheme_in, scheme_out = self.config.scheme_in, self.config.scheme_out
        if scheme_in == "auto":
            scheme_in = detected_scheme(sentences)
        if scheme_in == "plain":
            classes = {tag for sentence in splits["train"] for tag in sentence["tags"]}
            _check_known(sentences, classes, str)
            return sorted(classes)
        for sentence in sentences:
            _check_spans(sentence, scheme_in)
            sentence["tags"] = _converted(sentence["tags"], scheme_in, scheme_out)
        types = {split_tag(tag)[1] for sentence in splits["train"] for tag in sentence["tags"]}
        _check_known(sentences, types | {""}, lambda tag: split_tag(tag)[1])
        return label_names(sorted(types - {""}), scheme_out)


def read_columns(file: Path, columns: int, separator: str, tag_column: int) -> Iterator[dict]:
    """Sentences of one file, with the tags that it has: dicts with id (the number of the first line), tokens, tags,
    file and lines. Lines of nothing but whitespace end a sentence, as -DOCSTART- does, and # begins no comment.

    Raises:
        ValueError: a line has another number of columns, or an empty token or tag. Names the file and the line.
    """
    rows = []
    for line, content in enumerate([*read_utf8(file).split("\n"), ""], start=1):
        content = content.removesuffix("\r")
        cells = content.split("\t") if separator == "tab" else re.findall(r"[^ \t]+", content)
        if content.strip() and cells[0] != DOCUMENT:
            place = f"{file}, line {line}"
            if len(cells) != columns:
                remedy = (
                    f"has {len(cells)} columns separated by {separator}; correct the line, or give another number of "
                    f"columns than {columns} or another separator"
                )
                raise value_error(place, content, remedy)
            if not cells[0] or not cells[tag_column - 1].strip():
                raise value_error(place, content, "lacks the token or the tag; write both")
            rows.append((cells[0], cells[tag_column - 1].strip(), line))
        elif rows:
            tokens, tags, lines = map(list, zip(*rows, strict=True))
            yield {"id": str(lines[0]), "tokens": tokens, "tags": tags, "file": file, "lines": lines}
            rows = []


def detected_scheme(sentences: list[dict]) -> str:
    """The scheme of the tags of all splits: BIEOS where one has E or S, else IOB1 where an I begins a span, else BIO.

    Tags are plain where none has one of the prefixes B, I, E, S.

    Raises:
        ValueError: some tags have a prefix and others not, or spans begin with I here and with B there, which is
            neither IOB1 nor BIO.
    """
    tags = {tag for sentence in sentences for tag in sentence["tags"]} - {"O"}
    in_spans = {tag for tag in tags if _is_of(tag, PREFIXES["BIEOS"])}
    if not in_spans:
        return "plain"
    for sentence in sentences if in_spans != tags else []:
        for position, tag in enumerate(sentence["tags"]):
            if tag != "O" and tag not in in_spans:
                remedy = f"has no prefix and type, unlike {min(in_spans)!r}; correct it, or give scheme_in='plain'"
                raise tag_error(sentence, position, remedy)
    if {split_tag(tag)[0] for tag in tags} & {"E", "S"}:
        return "BIEOS"
    begins_with_i = [sentence for sentence in sentences if first_fault(sentence["tags"], "BIO") is not None]
    if not begins_with_i:
        return "BIO"
    if any(_has_needless_b(sentence["tags"]) for sentence in sentences):
        remedy = (
            "begins a span, as in IOB1, where other spans begin with B, as in BIO; correct it, or give "
            "scheme_in='IOB1' to begin a span there"
        )
        raise tag_error(begins_with_i[0], first_fault(begins_with_i[0]["tags"], "BIO"), remedy)
    return "IOB1"


def _is_of(tag: str, prefixes: tuple[str, ...]) -> bool:
    prefix, type_ = split_tag(tag)
    return prefix in prefixes and type_ != ""


def _has_needless_b(tags: list[str]) -> bool:
    """Whether a B begins a span that is not right behind one of its type, where IOB1 has I."""
    before = ["O", *tags]
    return any(
        tag.startswith("B-") and split_tag(previous)[1] != split_tag(tag)[1]
        for previous, tag in zip(before, tags, strict=False)
    )


def _check_spans(sentence: dict, scheme: str) -> None:
    prefixes = PREFIXES["BIEOS" if scheme == "BIEOS" else "BIO"]
    for position, tag in enumerate(sentence["tags"]):
        if tag != "O" and not _is_of(tag, prefixes):
            remedy = f"is no tag of {scheme}, which has O and, with a type, {', '.join(prefixes)}; correct it"
            raise tag_error(sentence, position, remedy)
    fault = None if scheme == "IOB1" else first_fault(sentence["tags"], scheme)
    if fault is not None:
        raise tag_error(sentence, fault, f"may not stand there in {scheme}; correct it, or give another scheme_in")


def _converted(tags: list[str], scheme_in: str, scheme_out: str) -> list[str]:
    if scheme_in == scheme_out:
        return tags
    if scheme_in == "BIEOS":
        return bieos_to_bio(tags)
    bio = iob1_to_bio(tags) if scheme_in == "IOB1" else tags
    return bio if scheme_out == "BIO" else bio_to_bieos(bio)


def _check_known(sentences: list[dict], known: set[str], of_tag: Callable[[str], str]) -> None:
    for sentence in sentences:
        for position, tag in enumerate(sentence["tags"]):
            if of_tag(tag) not in known:
                told = shorten(", ".join(sorted(known - {""})))
                remedy = f"does not occur in the training file, which has {told}; correct it or add it there"
                raise tag_error(sentence, position, remedy)


def _drop_places(sentences: list[dict]) -> None:
    """Leave out the digit behind each character, if all have one: the file may have been freed of them already."""
    if not all(token[-1] in "0123456789" for sentence in sentences for token in sentence["tokens"]):
        return
    for sentence in sentences:
        for position, token in enumerate(sentence["tokens"]):
            if len(token) == 1:
                remedy = "lacks the character before the digit, which all tokens of the file have; write it"
                raise value_error(f"{sentence['file']}, line {sentence['lines'][position]}", token, remedy)
            sentence["tokens"][position] = token[:-1]
