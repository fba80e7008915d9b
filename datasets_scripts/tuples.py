"""What the builders of tuples share: rows of (id, text, words, offsets, tuples), and spans that are checked."""

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import ClassVar

import datasets

from .builder import TEXT, RowsBuilder
from .source_files import checked_text, choose, value_error
from .tag_schemes import bieos_to_bio, first_fault, spans_of, split_tag
from .words import joined_offsets

SPAN = datasets.List(datasets.Value("int32"))
LABELS = ["positive", "negative", "neutral"]  # in the order of BARTABSA's classes
LABEL_OF = {"POS": "positive", "NEG": "negative", "NEU": "neutral", "CON": "conflict"}

Span = tuple[int, int]


def tuple_features(**fields: datasets.Value | datasets.ClassLabel | datasets.List) -> datasets.Features:
    """Of rows whose tuples have these fields."""
    return datasets.Features(
        {"id": TEXT, "text": TEXT, "words": datasets.List(TEXT), "offsets": datasets.List(SPAN)}
        | {"tuples": datasets.List(fields)}
    )


class TuplesBuilder(RowsBuilder):
    """Sentences as words, each with the tuples that it states; empty lists where it states none.

    Columns: id; text; words; offsets, for each word [start, end) in text; tuples, each with what its source annotates:

        target, opinion: spans of words, [start, end).
        aspect: a category.
        label: what is said.

    A field is null where the source says nothing of it. A subclass has

        SOURCES: {configuration: {split: name of its file}}, in `data_dir` or under `BASE_URL`.
        FEATURES: {configuration: features, see `tuple_features`}.
        read(file): the sentences of a file with all columns, in the order of the file; tuples are dicts, spans tuples
            of two numbers, labels strings. Repeated tuples are kept.

    Tuples that repeat another one of their sentence are dropped, with a warning that says how many.

    Args:
        config_name: one of SOURCES.
        **kwargs: those of `RowsBuilder`.

    Raises:
        ValueError: the configuration is unknown; on `download_and_prepare`, where a file is not in its format.
        FileNotFoundError: `data_dir` lacks a file.
    """

    SOURCES: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    SHA256_OF: ClassVar[Mapping[str, str]] = {}

    def __init__(self, *, config_name: str | None = None, **kwargs):
        choose("config_name", config_name, self.SOURCES)
        self.FILES = self.SOURCES[config_name]
        super().__init__(config_name=config_name, **kwargs)

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        splits = super().read_splits(files)
        for split, sentences in splits.items():
            if not sentences:
                raise ValueError(f"{files[split]}: has no sentences; get the file anew")
        return without_repeats(splits, self.config.name)


def without_repeats(splits: dict[str, list[dict]], name: str) -> dict[str, list[dict]]:
    """Each tuple of a sentence once, with a warning that tells how many were dropped of each split."""
    kept, dropped = {}, {}
    for split, sentences in splits.items():
        kept[split] = [{**sentence, "tuples": distinct(sentence["tuples"])} for sentence in sentences]
        num_tuples = [sum(len(sentence["tuples"]) for sentence in of_one) for of_one in (sentences, kept[split])]
        if num_tuples[0] > num_tuples[1]:
            dropped[split] = num_tuples[0] - num_tuples[1]
    if dropped:
        told = ", ".join(f"{count} of {split}" for split, count in dropped.items())
        warnings.warn(f"{name}: tuples that repeat another of their sentence are dropped: {told}", stacklevel=2)
    return kept


def distinct(tuples: list[dict]) -> list[dict]:
    """Each tuple once, in the order in which they first stand."""
    return list({tuple(fields.items()): fields for fields in tuples}.values())


def sentence_of(id_: str, words: list[str], tuples: list[dict]) -> dict:
    """All columns of a sentence whose text is its words, with a blank between each two."""
    return {
        "id": id_,
        "text": " ".join(words),
        "words": words,
        "offsets": joined_offsets(words),
        "tuples": tuples,
    }


def tuples_from_tags(data: datasets.DatasetDict) -> datasets.DatasetDict:
    """Tagged sentences, see `TaggedBuilder`, as sentences of tuples: a span is a target, and its type the label.

    The text becomes the tokens with blanks between them.

    Raises:
        ValueError: no tag marks a span, as of parts of speech, or the tags of a sentence may not stand so.
    """
    names = next(iter(data.values())).features["tags"].feature.names
    types = [type_ for prefix, type_ in map(split_tag, names) if prefix in ("B", "S") and type_]
    label_of = {type_: LABEL_OF.get(type_, type_) for type_ in types}
    if not label_of:
        raise ValueError(f"the tags {', '.join(names)} mark no spans: give data whose tags do, such as B-POS")
    features = tuple_features(target=SPAN, label=datasets.ClassLabel(names=list(label_of.values())))
    scheme = "BIEOS" if any(split_tag(name)[0] == "S" for name in names) else "BIO"

    def with_tuples(row: dict) -> dict:
        tags = [names[tag] for tag in row["tags"]]
        if (fault := first_fault(tags, scheme)) is not None:
            raise ValueError(f"sentence {row['id']}: {tags[fault]} cannot stand at word {fault + 1}; correct the tags")
        spans = spans_of(bieos_to_bio(tags))
        tuples = [{"target": (start, end), "label": label_of[type_]} for start, end, type_ in spans]
        return sentence_of(row["id"], row["tokens"], tuples)

    return datasets.DatasetDict(
        {
            split: datasets.Dataset.from_list([with_tuples(row) for row in rows], features=features)
            for split, rows in data.items()
        }
    )


def checked_words(words: object, place: str) -> list[str]:
    """Words of a sentence.

    Raises:
        ValueError: they are no list of words without blanks; begins with the place.
    """
    if not isinstance(words, list) or not words:
        raise value_error(place, words, "is no list of words; write at least one")
    for word in words:
        if checked_text(word, place).split() != [word]:
            raise value_error(place, word, "is no word; write one without blanks")
    return words


def checked_span(start: object, end: object, words: list[str], place: str) -> Span:
    """[start, end) of words.

    Raises:
        ValueError: these are no words of the sentence; begins with the place.
    """
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(words):
        remedy = f"is no span of the {len(words)} words of the sentence; correct it"
        raise value_error(place, [start, end], remedy)
    return start, end


def checked_label(polarity: object, place: str, known: Collection[str]) -> str:
    """The label of a polarity as the sources write it.

    Raises:
        ValueError: it is unknown; begins with the place.
    """
    if not isinstance(polarity, str) or polarity not in known:
        raise value_error(place, polarity, f"is unknown; write one of {', '.join(known)}")
    return LABEL_OF[polarity]
