"""Rows about what a text does not speak of, from data that has rows of its terms only."""

import random
import re

from absa.tasks.base import Rows
from absa.tasks.rows import PLACES

WORD = re.compile(r"\w+")
SEED = 0


def with_absent_terms(rows: Rows, number: int, none_label: str) -> Rows:
    """Rows and, behind the last one of each text, terms of other texts as targets that have no place in it.

    A term that has a word of the text is not drawn. Terms are as frequent as they are distinct (whatever their case):
    a rare one ("pad thai") is more surely absent than a frequent one, which may be meant without being named ("food").

    Args:
        rows: with targets that are words of the texts.
        number: of terms for each text.
        none_label: the label of these rows.
    """
    written = {term.lower(): term for term in reversed(rows["target"]) if WORD.search(term)}  # as it stands first
    words_of = {term: set(WORD.findall(term)) for term in written}
    terms, draw = sorted(written), random.Random(SEED)
    columns = {name: [] for name in rows}
    last_of_texts = {text: number for number, text in enumerate(rows["text"])}
    for row_number, text in enumerate(rows["text"]):
        row = {name: column[row_number] for name, column in rows.items()}
        new = [row]
        if last_of_texts[text] == row_number:
            words = set(WORD.findall(text.lower()))
            drawn = draw.sample(terms, min(len(terms), 2 * number))
            absent = [written[term] for term in drawn if words.isdisjoint(words_of[term])][:number]
            other = {**row, "aspect": "", "label": none_label, **dict.fromkeys(PLACES)}
            new += [{**other, "target": term} for term in absent]
        for name, column in columns.items():
            column += [one[name] for one in new]
    return columns
