"""Sentences: where they end, their places in the text, and the passages that name something."""

import re
from itertools import pairwise

import pytest

from modeling_qacg_bert.sentences_qacg_bert import passages, sentences

# Each with | where one sentence ends and the next begins.
DIVIDED = {
    "stops": "Camden is dear.| It is safe!| Is it near? |Yes",
    "no capitals": "its dear. |but safe! |is it near?| yes",
    "blanks before stops": "it is dear . |but safe ! |near ?",
    "titles": "Dr. Jones and Mrs. Hall live in St. Albans. |They like it.",
    "latin": "It is near parks, e.g. Regent's, i.e. green. |Approx. 9 minutes.",
    "initials": "J. R. Hartley lives there. |So do I. |It is fun.",
    "afternoon": "Open until 5 p.m. on Sundays. |Until 5 p.m. |It is quiet then.",
    "seldom last": "Shops, cafes, etc. are near. |Shops, cafes, etc. |It is near.",
    "decimals and links": "It costs 1,500.50 a month, see www.rents.co.uk/camden.html. |Too dear.",
    "numbered": "It is no. 7 of ten. |No. |It is 8.",
    "a list": "1. Dear\n|2. Safe\n|a. Near",
    "a year": "I moved in 2019. |It was cheap.",
    "trailing off": "Well... it is dear\u2026 but safe. |And then... |Quiet.",
    "many marks": "So dear!!! |Really?! |Yes.",
    "quotes": '"Too dear." |She left. |"Really?" she asked. |(It is safe.) |\u201cFine!\u201d |Yes.',
    "in brackets": "It is (sadly!) dear. |It is safe (I think.) |Yes.",
    "lines": "Too dear\n|\n  LOCATION1 is dear\r\n|Safe\u2028|near",
    "signs": "Great! |:) It is safe.\n\U0001f44d\n|Near ... |Yes",
    "chinese": "\u4f4f\u5728\u6d77\u6dc0\u5f88\u8d35\u3002|\u5b89\u5168\uff01|\u8fd1\u5417\uff1f|\u8fd1\u3002",
    "quoted chinese": "\u4ed6\u8bf4\u201c\u592a\u8d35\u4e86\u3002\u201d\u6211\u4e5f\u8bf4\u3002|\u8d70\u4e86",
    "chinese with plain marks": "\u5f88\u8d35!|\u5b89\u5168?|\u8fd1",
    "japanese": "\u300c\u5b89\u3044\uff01\u300d\u3068\u8a00\u3063\u305f\u3002|\u99c5\u304c\u8fd1\u3044\u3002",
    "one word": "Dear",
    "no words": "\U0001f44d!",
}


@pytest.mark.parametrize("divided", DIVIDED.values(), ids=DIVIDED)
def test_where_sentences_end(divided: str):
    text = divided.replace("|", "")
    spans = sentences(text)
    assert [text[start:end] for start, end in spans] == [part.strip() for part in divided.split("|") if part.strip()]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_a_long_text_without_an_end_takes_no_longer():
    for unit in ("a", ".", ". ", "\n", "(", "a.", "9", " "):
        spans = sentences("Dear. " + unit * 100_000 + "dear")
        assert spans[0][0] == 0
        assert spans[-1][1] == 6 + len(unit) * 100_000 + 4


@pytest.mark.parametrize(
    ("divided", "names"),
    [
        ("I moved to Camden last year. It is far too expensive. But safe.", "Camden"),
        ("Camden is dear. |Camden is safe. And near. |Soho is not.", "Camden|Soho"),
        ("Too noisy!\nI live in Camden. No sleep. |Soho is worse.", "Camden|Soho"),
        ("I live near Yahoo! Cafe. |I like Yahoo! Cafe. It is cheap.", "Yahoo! Cafe|Cafe"),
        ("Camden or Soho? Soho is dear.", "Camden or Soho\\? Soho|Soho"),
        (
            "\u6211\u4f4f\u5728\u6d77\u6dc0\u3002\u5f88\u8d35\u3002|\u671d\u9633\u4e5f\u8d35\u3002",
            "\u6d77\u6dc0|\u671d\u9633",
        ),
    ],
)
def test_passages_begin_with_the_sentences_that_name_something(divided: str, names: str):
    text = divided.replace("|", "")
    mentions = [(found.start(), found.end()) for name in names.split("|") for found in re.finditer(name, text)]
    assert [text[start:end] for start, end in passages(text, mentions)] == list(map(str.strip, divided.split("|")))


def test_a_text_that_names_nothing_is_one_passage():
    assert passages(" It is dear. It is safe.", []) == [(1, 24)]
