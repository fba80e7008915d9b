"""The XML of SemEval-2015 Task 12 and 2016 Task 5: reviews, with opinions of a category and perhaps of a target.

    <Opinion target="food" category="FOOD#QUALITY" polarity="positive" from="4" to="8"/>

An opinion without target has the target "NULL", or no such attribute where no opinion of the file has one, as in the
files of laptops. The ids of the sentences of a review differ in the number behind the last : or # only.
"""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from lxml import etree

from ..semeval_xml import CATEGORY, POLARITIES, read_opinions, xml_text
from .pivot import (
    TARGET,
    NotHeldError,
    Sentence,
    check_ids,
    check_label,
    check_place,
    for_xml,
    hold,
    known,
    note_sentences,
    with_places,
    write_text,
)


def read(file: Path) -> list[Sentence]:
    sentences = []
    for sentence in read_opinions(file):
        opinions = [
            known(
                target=opinion["target"],
                target_start=opinion["from"],
                target_end=opinion["to"],
                aspect=opinion["category"],
                label=opinion["polarity"],
            )
            for opinion in sentence["opinions"]
        ]
        is_out_of_scope = sentence["is_out_of_scope"]
        sentences.append(Sentence(sentence["id"], sentence["text"], opinions, is_out_of_scope=is_out_of_scope))
    return sentences


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = hold(for_xml(with_places(sentences, notes), notes), _fields, notes)
    has_targets = any("target" in opinion for sentence in held for opinion in sentence.opinions)
    root = etree.Element("Reviews")
    for review_id, of_review in groupby(held, key=_review_id):
        review = etree.SubElement(etree.SubElement(root, "Review", rid=review_id), "sentences")
        for sentence in of_review:
            _add_sentence(review, sentence, has_targets)
    check_ids(held)
    note_sentences(held, ("id", "is_out_of_scope"), notes)
    write_text(file, xml_text(root))
    return notes


def _review_id(sentence: Sentence) -> str:
    return re.sub(r"[:#]\d+$", "", sentence.id)


def _add_sentence(review: etree._Element, sentence: Sentence, has_targets: bool) -> None:
    element = etree.SubElement(review, "sentence", id=sentence.id)
    if sentence.is_out_of_scope:
        element.set("OutOfScope", "TRUE")
    etree.SubElement(element, "text").text = sentence.text
    opinions = etree.SubElement(element, "Opinions") if sentence.opinions else None
    for opinion in sentence.opinions:
        added = etree.SubElement(opinions, "Opinion")
        if has_targets:
            added.set("target", opinion.get("target", "NULL"))
        added.set("category", opinion["aspect"])
        added.set("polarity", opinion["label"])
        if has_targets:
            added.set("from", str(opinion.get("target_start", 0)))
            added.set("to", str(opinion.get("target_end", 0)))


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    if sentence.is_out_of_scope:
        raise NotHeldError("stand in a sentence that is out of scope")
    if not CATEGORY.fullmatch(opinion.get("aspect", "")):
        raise NotHeldError("have no aspect of the form ENTITY#ATTRIBUTE")
    check_label(opinion, POLARITIES[:3])
    if "target" in opinion:
        check_place(opinion, "target")
        if opinion["target"] == "NULL":
            raise NotHeldError("have the target NULL, which stands for none")
    return (*TARGET, "aspect", "label")
