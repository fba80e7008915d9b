"""Words of a text as it was written, cut much as the tokenised data sets cut theirs."""

import regex

LETTERS = r"[\w\p{M}\u200c\u200d]"  # with the marks and joiners of a script, as of Hindi and Thai
CLITIC = rf"['\u2019](?:s|re|ve|ll|d|m)(?!{LETTERS})"  # it 's
NOT = rf"n['\u2019]t(?!{LETTERS})"  # do n't
INNER = rf"{LETTERS}+(?:[-.&]{LETTERS}+)*"  # mid-2010, 15.6, R&B
SEEN = r"(?:\p{RI}{2}|\S(?:[\p{M}\p{Emoji_Modifier}]|\u200d\p{So})*)"  # as one sign: a flag, a family of emoji
# As the pipeline of generators cuts texts; a test holds the two equal.
WORD = regex.compile(rf"{INNER}(?={NOT})|{NOT}|{CLITIC}|{INNER}|\.\.\.|--|{SEEN}", regex.IGNORECASE)


def word_offsets(text: str) -> list[tuple[int, int]]:
    """Where each word stands: `text[start:end]`. Contractions are cut as in the Penn Treebank, signs stand apart.

    Of the texts of SemEval-2014 that ASTE-Data-V2 has, 96.3% (laptops) and 97.5% (restaurants) are cut into its words,
    and 99.9% of its spans begin and end with words.
    """
    return [match.span() for match in WORD.finditer(text)]


def joined_offsets(words: list[str]) -> list[tuple[int, int]]:
    """The same for words that one blank each keeps apart: of `" ".join(words)`."""
    offsets, start = [], 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return offsets


def span_of_words(offsets: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The words [first, last) that have characters of `text[start:end]`, which has at least one of a word."""
    inside = [number for number, (begin, stop) in enumerate(offsets) if begin < end and start < stop]
    return inside[0], inside[-1] + 1
