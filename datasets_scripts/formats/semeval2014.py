"""The XML of SemEval-2014 Task 4, and of MAMS: aspect terms with their places, and categories of whole sentences.

An opinion that has a target is a term, one that has none is a category. Sentences of a file without ids, such as those
of MAMS, are numbered from 0.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from lxml import etree

from ..semeval_xml import POLARITIES, read_sentences, xml_text
from .pivot import (
    TARGET,
    NotHeldError,
    Sentence,
    check_ids,
    check_label,
    check_place,
    for_xml,
    hold,
    note_sentences,
    with_places,
    write_text,
)


def read(file: Path) -> list[Sentence]:
    sentences = []
    for sentence in read_sentences(file, own_ids=None):
        opinions = [
            {"target": term["term"], "target_start": term["from"], "target_end": term["to"], "label": term["polarity"]}
            for term in sentence["terms"]
        ]
        opinions += [{"aspect": one["category"], "label": one["polarity"]} for one in sentence["categories"]]
        sentences.append(Sentence(sentence["id"], sentence["text"], opinions))
    return sentences


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = hold(for_xml(with_places(sentences, notes), notes), _fields, notes)
    root = etree.Element("sentences")
    for sentence in held:
        element = etree.SubElement(root, "sentence", id=sentence.id)
        etree.SubElement(element, "text").text = sentence.text
        _add_terms(element, [opinion for opinion in sentence.opinions if "target" in opinion])
        _add_categories(element, [opinion for opinion in sentence.opinions if "target" not in opinion], notes)
    check_ids(held)
    note_sentences(held, ("id",), notes)
    write_text(file, xml_text(root))
    return notes


def _add_terms(sentence: etree._Element, opinions: list[dict]) -> None:
    terms = etree.SubElement(sentence, "aspectTerms") if opinions else None
    for opinion in opinions:
        place = {"from": str(opinion["target_start"]), "to": str(opinion["target_end"])}
        etree.SubElement(terms, "aspectTerm", term=opinion["target"], polarity=opinion["label"], **place)


def _add_categories(sentence: etree._Element, opinions: list[dict], notes: Counter) -> None:
    categories, label_of = etree.SubElement(sentence, "aspectCategories") if opinions else None, {}
    for opinion in opinions:
        aspect, label = opinion["aspect"], opinion["label"]
        if label_of.setdefault(aspect, label) == label:
            etree.SubElement(categories, "aspectCategory", category=aspect, polarity=label)
        else:
            notes["opinions contradict an earlier one of the same sentence and category: left out"] += 1


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_label(opinion, POLARITIES)
    if "target" in opinion:
        check_place(opinion, "target")
        return (*TARGET, "label")
    if "aspect" not in opinion:
        raise NotHeldError("have neither a target nor an aspect")
    return ("aspect", "label")
