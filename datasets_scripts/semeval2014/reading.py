"""Sentences of a SemEval-2014 Task 4 XML file."""

from pathlib import Path

from lxml import etree

from ..source_files import is_readable, quoted, read_utf8, shorten

CATEGORIES = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")
CHILDREN = {
    "sentence": ("text", "aspectTerms", "aspectCategories"),
    "aspectTerms": ("aspectTerm",),
    "aspectCategories": ("aspectCategory",),
}
MAX_DIGITS = 9  # of an offset, which is stored in 32 bits
POLARITIES = ("positive", "neutral", "negative", "conflict")


def read_sentences(file: Path, name: str) -> list[dict]:
    """Sentences of one file: dicts with id, text, terms and categories.

    terms are dicts with term, polarity, from, to (character offsets into text, `to` excluded), categories dicts with
    category, polarity; both as annotated, in the order of the file.

    Raises:
        ValueError: the file is not in the task's format, or has a document type declaration (none of the task's
            files has; it is what entity attacks need). Names the file (by `name`), line, field and value.
    """
    text = read_utf8(file)
    if "<!DOCTYPE" in text:
        raise ValueError(f"{name}: has a document type declaration, which is refused; remove it if you trust the file")
    parser = etree.XMLParser(
        encoding="utf-8",  # whatever the file declares: the check above holds for this reading of the bytes only
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(
            f"{name}, line {error.lineno}: malformed XML ({shorten(error.msg)}); get the file anew"
        ) from error
    if root.tag != "sentences" or len(root) == 0:
        raise ValueError(f"{name}: expected <sentences> with at least one <sentence>, got <{shorten(root.tag)}>")
    sentences = [_read_sentence(name, element) for element in root]
    seen = set()
    for element, sentence in zip(root, sentences, strict=True):
        if sentence["id"] in seen:
            raise _error(name, element, "id", sentence["id"], "occurs twice; give each sentence its own")
        seen.add(sentence["id"])
    return sentences


def _read_sentence(name: str, element: etree._Element) -> dict:
    if element.tag != "sentence" or not is_readable(element.get("id")):
        raise _error(
            name, element, "id", element.get("id"), f"expected <sentence id=...>, got <{shorten(element.tag)}>"
        )
    for child in element.iter():
        _check_element(name, child)
    if len(element.findall("text")) != 1:
        raise _error(name, element, "text", element.findtext("text"), "is to be there once in each sentence")
    text = element.findtext("text")
    if not is_readable(text):
        raise _error(name, element, "text", text, "is empty; write or remove the sentence")
    terms = [_read_term(name, term, text) for term in element.iterfind("aspectTerms/aspectTerm")]
    categories = [
        {
            "category": _one_of(CATEGORIES, name, category, "category"),
            "polarity": _one_of(POLARITIES, name, category, "polarity"),
        }
        for category in element.iterfind("aspectCategories/aspectCategory")
    ]
    polarity_of = {}
    for category in categories:
        first = polarity_of.setdefault(category["category"], category["polarity"])
        if first != category["polarity"]:
            remedy = f"contradicts {first!r} for the same category {category['category']!r}; keep one, or 'conflict'"
            raise _error(name, element, "polarity", category["polarity"], remedy)
    return {"id": element.get("id"), "text": text, "terms": terms, "categories": categories}


def _read_term(name: str, element: etree._Element, text: str) -> dict:
    term = element.get("term")
    read = {
        "term": term,
        "polarity": _one_of(POLARITIES, name, element, "polarity"),
        "from": _offset(name, element, "from"),
        "to": _offset(name, element, "to"),
    }
    if not term:
        raise _error(name, element, "term", term, "is empty; write the words from the text")
    if read["from"] + len(term) != read["to"] or not text.startswith(term, read["from"]):
        remedy = f"is not what text has from {read['from']} to {read['to']}, {quoted(text[read['from'] : read['to']])}"
        raise _error(name, element, "term", term, f"{remedy}; correct the term or its offsets")
    return read


def _check_element(name: str, element: etree._Element):
    """Each element is one that the format has, where it has it: what is misspelt would count as not annotated."""
    allowed = CHILDREN.get(element.tag, ())
    for child in element:
        if child.tag not in allowed:
            known = ", ".join(allowed) or "none"
            remedy = f"is no element of <{shorten(element.tag)}>, which has {known}; correct or remove it"
            raise _error(name, child, shorten(child.tag), child.text, remedy)


def _one_of(allowed: tuple[str, ...], name: str, element: etree._Element, field: str) -> str:
    value = element.get(field)
    if value not in allowed:
        raise _error(name, element, field, value, f"is unknown; write one of {', '.join(allowed)}")
    return value


def _offset(name: str, element: etree._Element, field: str) -> int:
    value = element.get(field)
    if value is None or not (value.isascii() and value.isdecimal()) or len(value) > MAX_DIGITS:
        raise _error(name, element, field, value, "is not a character offset; write a whole number")
    return int(value)


def _error(name: str, element: etree._Element, field: str, value: str | None, remedy: str) -> ValueError:
    return ValueError(f"{name}, line {element.sourceline}, field {field!r}: {quoted(value)} {remedy}")
