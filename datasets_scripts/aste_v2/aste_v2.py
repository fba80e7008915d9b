"""ASTE-Data-V2 (Xu et al. 2020): triplets of aspect term, opinion term and polarity; and own files in its format."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from datasets import ClassLabel

from ..source_files import named_files, quoted, read_lines, value_error
from ..tuples import (
    LABELS,
    SPAN,
    Span,
    TuplesBuilder,
    checked_label,
    checked_span,
    checked_words,
    sentence_of,
    tuple_features,
)

DOMAINS = ("14lap", "14res", "15res", "16res")
POLARITIES = ("POS", "NEG", "NEU")
FORMAT = "text####[([words of the target], [words of the opinion], 'POS'), ...], with NEG, NEU or [] as they apply"
NOT_PYTHON = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)  # what ast.literal_eval raises


class ASTEV2(TuplesBuilder):
    """Sentences of reviews with triplets of target, opinion and label; splits train, validation and test.

    Columns: see `TuplesBuilder`. Labels are positive, negative and neutral.

    Args:
        config_name: "14lap", "14res", "15res" or "16res"; or "own" for one's own files in this format. All texts of
            the test split of 15res stand in train or validation of 16res: never train on one and test on the other.
        data_dir: folder with 14lap/train_triplets.txt, dev_triplets.txt, test_triplets.txt and so on.
        data_files: {"train": path, "validation": path, "test": path} with "own"; train is needed.
        **kwargs: those of `TuplesBuilder`.
    """

    BASE_URL = "https://github.com/xuuuluuu/SemEval-Triplet-data/tree/master/ASTE-Data-V2-EMNLP2020"
    SOURCES: ClassVar = {
        domain: {
            "train": f"{domain}/train_triplets.txt",
            "validation": f"{domain}/dev_triplets.txt",
            "test": f"{domain}/test_triplets.txt",
        }
        for domain in DOMAINS
    } | {"own": {}}
    FEATURES: ClassVar = dict.fromkeys(
        SOURCES, tuple_features(target=SPAN, opinion=SPAN, label=ClassLabel(names=LABELS))
    )

    def __init__(
        self,
        *,
        config_name: str | None = None,
        data_files: Mapping[str, str | Path] | None = None,
        **kwargs,
    ):
        if (config_name == "own") != (data_files is not None):
            raise ValueError(
                f"config_name={quoted(config_name)} with data_files={quoted(data_files)}: 'own' takes data_files, and "
                f"the others ({', '.join(DOMAINS)}) take data_dir"
            )
        files = None if data_files is None else named_files(data_files)
        super().__init__(config_name=config_name, data_files=files, **kwargs)

    @staticmethod
    def read(file: Path) -> list[dict]:
        """Sentences of one file; a sentence's id is the number of its line."""
        return [_read_sentence(file, line, content.removesuffix("\r")) for line, content in read_lines(file)]


def _read_sentence(file: Path, line: int, content: str) -> dict:
    place = f"{file}, line {line}"
    text, hashes, annotated = content.rpartition("####")  # the last: texts may hold it too
    if not hashes:
        raise value_error(place, content, f"has no ####; write {FORMAT}")
    words = checked_words(text.split(" "), f"{place}, text")
    try:
        triplets = ast.literal_eval(annotated)
    except NOT_PYTHON as error:
        raise value_error(f"{place}, triplets", annotated, f"cannot be read; write {FORMAT}") from error
    if not isinstance(triplets, list):
        raise value_error(f"{place}, triplets", annotated, f"is no list; write {FORMAT}")
    return sentence_of(str(line), words, [_read_triplet(triplet, words, place) for triplet in triplets])


def _read_triplet(triplet: object, words: list[str], place: str) -> dict:
    if not isinstance(triplet, tuple) or len(triplet) != 3:
        raise value_error(f"{place}, triplets", triplet, f"is no triplet; write {FORMAT}")
    target, opinion, polarity = triplet
    return {
        "target": _span_of(target, words, f"{place}, target"),
        "opinion": _span_of(opinion, words, f"{place}, opinion"),
        "label": checked_label(polarity, f"{place}, polarity", POLARITIES),
    }


def _span_of(numbers: object, words: list[str], place: str) -> Span:
    """From the numbers of all words of a span."""
    if not isinstance(numbers, list) or not numbers or not all(type(number) is int for number in numbers):
        raise value_error(place, numbers, "is no list of numbers of words; write at least one")
    span = checked_span(numbers[0], numbers[-1] + 1, words, place)
    if numbers != list(range(*span)):
        raise value_error(place, numbers, "has a gap; write the numbers of words that stand side by side")
    return span
