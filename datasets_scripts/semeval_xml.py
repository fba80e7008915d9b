"""Sentences in the XML formats of SemEval: with aspect terms and categories, as in 2014 Task 4 and in MAMS, or in
reviews with opinions, as in 2015 Task 12 and 2016 Task 5.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lxml import etree

from .source_files import checked_text, quoted, read_utf8, shorten, value_error, with_own_ids

CHILDREN = {
    "sentences": ("sentence",),
    "sentence": ("text", "aspectTerms", "aspectCategories"),
    "aspectTerms": ("aspectTerm",),
    "aspectCategories": ("aspectCategory",),
}
CHILDREN_OF_REVIEWS = {
    "Reviews": ("Review",),
    "Review": ("sentences",),
    "sentences": ("sentence",),
    "sentence": ("text", "Opinions"),
    "Opinions": ("Opinion",),
}
POLARITIES = ("positive", "neutral", "negative", "conflict")
CATEGORY = re.compile("[A-Z_]+#[A-Z_]+")  # entity and attribute
NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
OUT_OF_SCOPE = ("TRUE", "NULL")  # NULL stands once, in 2015, and the same sentence has TRUE in 2016


def read_sentences(file: Path, categories: Sequence[str] | None = None, own_ids: bool | None = True) -> list[dict]:
    """Sentences of one file: dicts with id, text, terms and categories.

    terms are dicts with term, polarity, from, to (character offsets into text, `to` excluded), categories dicts with
    category, polarity; both as annotated, in the order of the file. Without own ids, as in MAMS, an id is the number
    of its sentence, from 0.

    Args:
        categories: those that the file may have; None for any.
        own_ids: whether sentences have ids; None where the file decides.
    Raises:
        ValueError: the file is not in the format, or has another category. Names the file, line, field and value.
    """
    name, root = str(file), read_root(file, "sentences", "sentence")
    _check_children(name, root, CHILDREN)
    if own_ids is None:
        own_ids = any("id" in element.attrib for element in root)
    if not own_ids:
        for number, element in enumerate(root):
            element.set("id", str(number))
    return with_own_ids((_place(name, element), _read_sentence(name, element, categories)) for element in root)


def read_opinions(file: Path) -> list[dict]:
    """Sentences of a file of reviews: dicts with id, text, is_out_of_scope and opinions.

    opinions are dicts with category, polarity, target, from and to, in the order of the file; a category may have
    several. target is None where it is "NULL", whatever its offsets, or where the file names no targets; else it
    stands at text[from:to]. A sentence that is out of scope has no opinions.

    Raises:
        ValueError: the file is not in the format. Names the file, line, field and value.
    """
    name, root = str(file), read_root(file, "Reviews", "Review")
    _check_children(name, root, CHILDREN_OF_REVIEWS)
    elements = root.iterfind("Review/sentences/sentence")
    return with_own_ids((_place(name, element), _read_opinions(name, element)) for element in elements)


def category_rows(sentence: Mapping, label_of: Mapping[str, str], aspects: Iterable[str]) -> Iterator[dict]:
    """A row without target for each aspect; its label is "none" where `label_of` has none."""
    for aspect in aspects:
        about = {"target": "", "aspect": aspect, "label": label_of.get(aspect, "none")}
        yield {"id": sentence["id"], "text": sentence["text"], **about}


def given_category_rows(sentence: Mapping) -> Iterator[dict]:
    """A row without target for each category that a sentence of `read_sentences` judges."""
    for category in sentence["categories"]:
        about = {"target": "", "aspect": category["category"], "label": category["polarity"]}
        yield {"id": sentence["id"], "text": sentence["text"], **about}


def term_rows(sentence: Mapping) -> Iterator[dict]:
    """A row without aspect for each term of a sentence of `read_sentences`, with its place and polarity."""
    for term in sentence["terms"]:
        place = {"target": term["term"], "target_start": term["from"], "target_end": term["to"]}
        yield {"id": sentence["id"], "text": sentence["text"], **place, "aspect": "", "label": term["polarity"]}


def read_root(file: Path, tag: str, child: str) -> etree._Element:
    """The root element of an XML file.

    Raises:
        ValueError: the file is no XML, has another root or an empty one, or has a document type declaration (none of
            the tasks' files has; it is what entity attacks need).
    """
    text, name = read_utf8(file), str(file)
    if "<!DOCTYPE" in text:
        raise ValueError(f"{name}: has a document type declaration, which is refused; remove it if you trust the file")
    # Whatever encoding the file declares, it is read as the text in which the declaration was looked for.
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(
            f"{name}, line {error.lineno}: malformed XML ({shorten(error.msg)}); get the file anew"
        ) from error
    if root.tag != tag or len(root) == 0:
        got = f"got <{shorten(root.tag)}>; give a file of this kind"
        raise ValueError(f"{name}: expected <{tag}> with at least one <{child}>, {got}")
    return root


def xml_text(root: etree._Element) -> str:
    """An element as the text of a file."""
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True).decode()


def _check_children(name: str, root: etree._Element, children: Mapping[str, Sequence[str]]) -> None:
    """What is misspelt would count as not annotated."""
    for parent in root.iter():
        known = children.get(parent.tag, ())
        for child in parent:
            if child.tag not in known:
                remedy = (
                    f"is no element of <{parent.tag}>, which has {', '.join(known) or 'none'}; correct or remove it"
                )
                raise value_error(_place(name, child), child.tag, remedy)


def _read_text(name: str, element: etree._Element) -> dict:
    texts = [text.text for text in element.iterfind("text")]
    if len(texts) != 1:
        raise value_error(_place(name, element, "text"), texts, "is to be there once in each sentence")
    return {
        "id": checked_text(element.get("id"), _place(name, element, "id")),
        "text": checked_text(texts[0], _place(name, element, "text")),
    }


def _read_sentence(name: str, element: etree._Element, categories: Sequence[str] | None) -> dict:
    sentence = _read_text(name, element)
    return sentence | {
        "terms": [_read_term(name, term, sentence["text"]) for term in element.iterfind("aspectTerms/aspectTerm")],
        "categories": list(_read_categories(name, element, categories)),
    }


def _read_opinions(name: str, element: etree._Element) -> dict:
    sentence, opinions = _read_text(name, element), []
    is_out_of_scope = element.get("OutOfScope") is not None
    if is_out_of_scope:
        _one_of(OUT_OF_SCOPE, name, element, "OutOfScope")
    for opinion in element.iterfind("Opinions/Opinion"):
        category = opinion.get("category")
        if category is None or not CATEGORY.fullmatch(category):
            raise value_error(_place(name, opinion, "category"), category, "is no ENTITY#ATTRIBUTE; correct it")
        if is_out_of_scope:
            remedy = "stands in a sentence that is OutOfScope, which has no rows; remove the one or the other"
            raise value_error(_place(name, opinion, "category"), category, remedy)
        place = {"target": None, "from": None, "to": None}
        if opinion.get("target", "NULL") != "NULL":
            place = _read_place(name, opinion, "target", sentence["text"])
        polarity = _one_of(POLARITIES[:3], name, opinion, "polarity")
        opinions.append({"category": category, "polarity": polarity, **place})
    return sentence | {"is_out_of_scope": is_out_of_scope, "opinions": opinions}


def _read_term(name: str, element: etree._Element, text: str) -> dict:
    polarity = _one_of(POLARITIES, name, element, "polarity")
    return {"polarity": polarity, **_read_place(name, element, "term", text)}


def _read_place(name: str, element: etree._Element, field: str, text: str) -> dict:
    """Words of the text, and where they stand."""
    words, start, end = element.get(field), _offset(name, element, "from"), _offset(name, element, "to")
    if not words or start + len(words) != end or not text.startswith(words, start):
        remedy = f"is not what text has from {start} to {end}, {quoted(text[start:end])}; correct {field} or offsets"
        raise value_error(_place(name, element, field), words, remedy)
    return {field: words, "from": start, "to": end}


def _read_categories(name: str, sentence: etree._Element, categories: Sequence[str] | None) -> Iterator[dict]:
    polarity_of = {}
    for element in sentence.iterfind("aspectCategories/aspectCategory"):
        if categories is None:
            category = checked_text(element.get("category"), _place(name, element, "category"))
        else:
            category = _one_of(categories, name, element, "category")
        polarity = _one_of(POLARITIES, name, element, "polarity")
        first = polarity_of.setdefault(category, polarity)
        if first != polarity:
            remedy = f"contradicts {first!r} for the same category {category!r}; keep one, or 'conflict'"
            raise value_error(_place(name, element, "polarity"), polarity, remedy)
        yield {"category": category, "polarity": polarity}


def _one_of(allowed: Sequence[str], name: str, element: etree._Element, field: str) -> str:
    value = element.get(field)
    if value not in allowed:
        raise value_error(_place(name, element, field), value, f"is unknown; write one of {', '.join(allowed)}")
    return value


def _offset(name: str, element: etree._Element, field: str) -> int:
    value = element.get(field, "")
    if not value.isdecimal() or len(value) > 9:
        raise value_error(_place(name, element, field), value, "is not a character offset; write a whole number")
    return int(value)


def _place(name: str, element: etree._Element, field: str | None = None) -> str:
    return f"{name}, line {element.sourceline}" + (f", field {field!r}" if field else "")
