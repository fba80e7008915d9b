"""MAMS (Jiang et al. 2019): sentences of restaurant reviews, each with aspects of two or more polarities."""

import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple

from datasets import ClassLabel, Features

from ..builder import PLACES, row_features
from ..semeval_xml import category_rows, given_category_rows, read_sentences, term_rows
from ..source_files import value_error
from ..tuples import LABELS, SPAN, Span, TuplesBuilder, tuple_features
from ..words import span_of_words, word_offsets

COMMIT = "c319889e556a61a484f450c425f1821baf946253"
CATEGORIES = ("food", "service", "staff", "price", "ambience", "menu", "place", "miscellaneous")
FOLDER_OF = {
    "terms": "MAMS-ATSA",
    "categories": "MAMS-ACSA",
    "term_rows": "MAMS-ATSA",
    "category_rows": "MAMS-ACSA",
    "given_categories": "MAMS-ACSA",
}
LABEL = ClassLabel(names=LABELS)
LABELS_OF_ROWS = ["positive", "neutral", "negative"]


def _category_rows(sentence: dict) -> Iterator[dict]:
    labels = {category["category"]: category["polarity"] for category in sentence["categories"]}
    return category_rows(sentence, labels, CATEGORIES)


ROWS = {"term_rows": term_rows, "category_rows": _category_rows, "given_categories": given_category_rows}


class MAMS(TuplesBuilder):
    """Sentences with aspect terms or categories and their label; splits train, validation and test.

    Texts are as they were written. Configurations:
        terms, categories: one row per sentence, columns as of `TuplesBuilder`, with tuples of target and label (ATSA)
            or of aspect and label (ACSA). The source has terms as characters, and so does
            `text[offsets[start][0] : offsets[end - 1][1]]` of the words [start, end) of a target. A term that begins
            or ends inside a word stands for the whole word, or is dropped where that is another term; a warning says
            how many.
        term_rows: one row per term (ATSA) with id, text, target, target_start, target_end, aspect (always "") and
            label; the target is `text[target_start:target_end]`.
        category_rows: one row per sentence and category (ACSA) with id, text, target (always ""), aspect and label;
            label is "none" where the sentence is not annotated with the category.
        given_categories: the rows of category_rows whose label is not "none".

    Args:
        config_name: one of these.
        data_dir: folder with MAMS-ATSA/raw/train.xml, val.xml, test.xml, and MAMS-ACSA alike; without it they are
            downloaded and verified.
        **kwargs: those of `TuplesBuilder`.
    """

    BASE_URL = f"https://raw.githubusercontent.com/siat-nlp/MAMS-for-ABSA/{COMMIT}/data"
    SOURCES: ClassVar = {
        name: {
            "train": f"{folder}/raw/train.xml",
            "validation": f"{folder}/raw/val.xml",
            "test": f"{folder}/raw/test.xml",
        }
        for name, folder in FOLDER_OF.items()
    }
    SHA256_OF: ClassVar = {
        "MAMS-ATSA/raw/train.xml": "26ba39142b28169ebc80408294f4e27493bd1e127c6aa2e85ab4bc750bf8017a",
        "MAMS-ATSA/raw/val.xml": "5b7d225e2f9482a3814f15aed04ff8323105171a47d22d9899d871c4e0ba86ca",
        "MAMS-ATSA/raw/test.xml": "f1a5f53b785335e9c57a1f82b1415026f821040b9e9662a2e467d47a54f20aa9",
        "MAMS-ACSA/raw/train.xml": "24c6a1a9f769ec5a9a1fc9a63077001339cec65317e3e72cf053d8055ec5f1ac",
        "MAMS-ACSA/raw/val.xml": "d4536b0ced8e77f53f88ff1835fcf561e0de02e41a509982f76eb9b8a375b2ed",
        "MAMS-ACSA/raw/test.xml": "cc0dc3c5b711653daa9ac886c6517d3ebf8752954b73715692d7765fec4a57f5",
    }
    FEATURES: ClassVar = {
        "terms": tuple_features(target=SPAN, label=LABEL),
        "categories": tuple_features(aspect=ClassLabel(names=list(CATEGORIES)), label=LABEL),
        "term_rows": Features({**row_features([""], LABELS_OF_ROWS), **PLACES}),
        "category_rows": row_features(list(CATEGORIES), ["none", *LABELS_OF_ROWS]),
        "given_categories": row_features(list(CATEGORIES), LABELS_OF_ROWS),
    }

    def read_splits(self, files: Mapping[str, Path]) -> dict[str, list[dict]]:
        """Rows of the configurations that have them, sentences of the others."""
        rows = ROWS.get(self.config.name)
        if rows is None:
            return super().read_splits(files)
        return {
            split: list(chain.from_iterable(map(rows, read_sentences(file, CATEGORIES, own_ids=False))))
            for split, file in files.items()
        }

    @staticmethod
    def read(file: Path) -> list[dict]:
        """Sentences of one file; a sentence's id is its number, from 0."""
        sentences, num_cut, num_dropped = [], 0, 0
        for sentence in read_sentences(file, CATEGORIES, own_ids=False):
            text, offsets = sentence["text"], word_offsets(sentence["text"])
            terms = [_read_term(term, offsets, f"{file}, sentence {sentence['id']}") for term in sentence["terms"]]
            whole = {term.span for term in terms if not term.is_cut}
            kept = [term for term in terms if not (term.is_cut and term.span in whole)]
            num_cut += sum(term.is_cut for term in terms)
            num_dropped += len(terms) - len(kept)
            sentences.append(
                {
                    "id": sentence["id"],
                    "text": text,
                    "words": [text[start:end] for start, end in offsets],
                    "offsets": offsets,
                    "tuples": [
                        *({"target": term.span, "label": term.label} for term in kept),
                        *({"aspect": one["category"], "label": one["polarity"]} for one in sentence["categories"]),
                    ],
                }
            )
        if num_cut:
            warnings.warn(
                f"{file}: terms that begin or end inside a word: {num_cut}; {num_dropped} of them dropped, because "
                "their words are another term, the others stand for their whole words",
                stacklevel=2,
            )
        return sentences


class Term(NamedTuple):
    """Words [start, end), whether the source's characters are fewer than theirs, and what is said."""

    span: Span
    is_cut: bool
    label: str


def _read_term(term: dict, offsets: list[tuple[int, int]], place: str) -> Term:
    if not term["term"].strip():
        raise value_error(place, term["term"], "has no word; correct the term")
    start, end = span_of_words(offsets, term["from"], term["to"])
    characters = offsets[start][0], offsets[end - 1][1]
    return Term((start, end), characters != (term["from"], term["to"]), term["polarity"])
