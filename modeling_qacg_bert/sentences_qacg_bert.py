"""Sentences of a text, found by rules, and the passages of it that name something."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from .processing_qacg_bert import UNSPACED

LINE_BREAKS = r"\n\r\x0b\x0c\x85\u2028\u2029"
FULL_WIDTH = "\u3002\uff01\uff1f\uff61"  # marks that end a sentence without a blank behind them
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
CLOSERS = "\"'\u201d\u2019\u00bb)\\]}*_\u300d\u300f\u3011\u300b\uff09"
OPENERS = "\"'\u201c\u2018\u00ab(\\[{*_"
END = re.compile(rf"[{LINE_BREAKS}]+|(?P<marks>[.!?{ELLIPSIS}{FULL_WIDTH}]+)(?P<closers>[{CLOSERS}]*)")
FOLLOWING = re.compile(rf"[\s{OPENERS}]*(.?)", re.DOTALL)
LAST_WORD = re.compile(rf"[^\s{OPENERS}]*$")
MOST_LETTERS = 24  # of a word before a full stop that are looked at
UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
ENUMERATOR = re.compile(rf"(?:^|[{LINE_BREAKS}])[^\S{LINE_BREAKS}]*(?:\d{{1,3}}|[^\W\d])$")
DOTTED = re.compile(r"(?:[^\W\d]\.)+[^\W\d]")  # p.m, U.S
NEVER_LAST = {
    "mr",
    "mrs",
    "ms",
    "mx",
    "dr",
    "prof",
    "rev",
    "st",
    "mt",
    "vs",
    "cf",
    "ca",
    "approx",
    "e.g",
    "i.e",
    "viz",
}
BEFORE_NUMBERS = {"no", "nos", "nr", "p", "pp", "vol", "fig", "ch", "sec", "art", "tel", "apt"}
SELDOM_LAST = {  # where what follows is neither a capital nor a quote
    *("etc", "ltd", "inc", "co", "corp", "rd", "ave", "blvd", "sq", "ft", "min", "mins", "hr", "hrs", "yr", "yrs"),
    *("jr", "sr", "dept", "est", "incl", "max", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct"),
    *("nov", "dec"),
}


def sentences(text: str) -> list[tuple[int, int]]:
    """[start, end) of each sentence, in characters, without the blanks around it.

    A sentence ends with its line, or with a full stop, exclamation or question mark and what closes behind it. Full
    stops of abbreviations, initials, numbers and of dots that trail off in mid-sentence end none. What has no letters
    or digits is no sentence of its own. Scripts without such marks (Thai) are divided at line breaks only.
    """
    found, start = [], 0
    for end in [*_ends(text), len(text)]:
        if any(map(str.isalnum, text[start:end])):
            found.append((start, end))
        elif found:
            found[-1] = (found[-1][0], end)
        else:
            continue  # it belongs to the next
        start = end
    return [_stripped(text, *span) for span in found or [(0, len(text))]]


def passages(text: str, mentions: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """[start, end) of the passages of a text, each of which begins with a sentence that names something.

    The sentences behind it that name nothing belong to it ("It is far too expensive."), and to the first passage
    those before it too. A name that looks like the end of a sentence is not cut. A text that names nothing is one
    passage.

    Args:
        mentions: [start, end) of names in the text.
    """
    spans = sentences(text)
    starts = [start for start, _ in spans]
    heads, inside = set(), set()  # numbers of sentences
    for start, end in mentions:
        heads.add(bisect_right(starts, start) - 1)
        inside.update(range(bisect_right(starts, start), bisect_left(starts, end)))
    later = sorted(heads - inside)[1:]
    firsts, lasts = [0, *later], [*(number - 1 for number in later), len(spans) - 1]
    return [(spans[first][0], spans[last][1]) for first, last in zip(firsts, lasts, strict=True)]


def _ends(text: str) -> Iterator[int]:
    return (found.end() for found in END.finditer(text) if found["marks"] is None or _is_end(text, found))


def _is_end(text: str, found: re.Match) -> bool:
    """Whether marks and what closes behind them end a sentence."""
    marks, closed = found["marks"], bool(found["closers"])
    behind = text[found.end() : found.end() + 1]
    if behind and not behind.isspace():
        is_wide = marks[-1] in FULL_WIDTH or (marks[-1] in "!?" and UNSPACED_LETTER.match(behind) is not None)
        return is_wide and not closed
    following = FOLLOWING.match(text, found.end())[1]
    if closed and following.islower():  # "Really?" she asked
        return False
    if marks == ".":
        return _is_full_stop(text[max(0, found.start() - MOST_LETTERS) : found.start()], following)
    is_trailing_off = not any(mark in marks for mark in f"!?{FULL_WIDTH}")
    return not (is_trailing_off and following.islower())


def _is_full_stop(before: str, following: str) -> bool:
    word = LAST_WORD.search(before)[0]
    if not following:
        return True
    if ENUMERATOR.search(before) or (len(word) == 1 and word.isupper() and word != "I"):
        return False
    word_begins = following.islower() or following.isdigit()
    if word.lower() in NEVER_LAST or (word.lower() in BEFORE_NUMBERS and following.isdigit()):
        return False
    return not (word_begins and (word.lower() in SELDOM_LAST or DOTTED.fullmatch(word)))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    own = text[start:end]
    return end - len(own.lstrip()), start + len(own.rstrip())
