"""Sentences with aspect terms and categories in the XML format of SemEval-2014 Task 4, which others use too."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from lxml import etree

from .source_files import checked_text, quoted, read_utf8, shorten, value_error, with_own_ids

CHILDREN = {
    "sentences": ("sentence",),
    "sentence": ("text", "aspectTerms", "aspectCategories"),
    "aspectTerms": ("aspectTerm",),
    "aspectCategories": ("aspectCategory",),
}
POLARITIES = ("positive", "neutral", "negative", "conflict")


def read_sentences(file: Path, categories: Sequence[str], own_ids: bool = True) -> list[dict]:
    """Sentences of one file: dicts with id, text, terms and categories.

    terms are dicts with term, polarity, from, to (character offsets into text, `to` excluded), categories dicts with
    category, polarity; both as annotated, in the order of the file. Without own ids, as in MAMS, an id is the number
    of its sentence, from 0.

    Raises:
        ValueError: the file is not in the format, or has another category. Names the file, line, field and value.
    """
    name, root = str(file), read_root(file, "sentences", "sentence")
    # What is misspelt would count as not annotated.
    for parent in root.iter():
        known = CHILDREN.get(parent.tag, ())
        for child in parent:
            if child.tag not in known:
                remedy = (
                    f"is no element of <{parent.tag}>, which has {', '.join(known) or 'none'}; correct or remove it"
                )
                raise value_error(_place(name, child), child.tag, remedy)
    if not own_ids:
        for number, element in enumerate(root):
            element.set("id", str(number))
    return with_own_ids((_place(name, element), _read_sentence(name, element, categories)) for element in root)


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
        raise ValueError(f"{name}: expected <{tag}> with at least one <{child}>, got <{shorten(root.tag)}>")
    return root


def _read_sentence(name: str, element: etree._Element, categories: Sequence[str]) -> dict:
    texts = [text.text for text in element.iterfind("text")]
    if len(texts) != 1:
        raise value_error(_place(name, element, "text"), texts, "is to be there once in each sentence")
    sentence = {
        "id": checked_text(element.get("id"), _place(name, element, "id")),
        "text": checked_text(texts[0], _place(name, element, "text")),
    }
    return sentence | {
        "terms": [_read_term(name, term, sentence["text"]) for term in element.iterfind("aspectTerms/aspectTerm")],
        "categories": list(_read_categories(name, element, categories)),
    }


def _read_term(name: str, element: etree._Element, text: str) -> dict:
    term, start, end = element.get("term"), _offset(name, element, "from"), _offset(name, element, "to")
    if not term or start + len(term) != end or not text.startswith(term, start):
        remedy = f"is not what text has from {start} to {end}, {quoted(text[start:end])}; correct term or offsets"
        raise value_error(_place(name, element, "term"), term, remedy)
    return {"term": term, "polarity": _one_of(POLARITIES, name, element, "polarity"), "from": start, "to": end}


def _read_categories(name: str, sentence: etree._Element, categories: Sequence[str]) -> Iterator[dict]:
    polarity_of = {}
    for element in sentence.iterfind("aspectCategories/aspectCategory"):
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
