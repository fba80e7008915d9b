"""Rows about what a text does not speak of, from data that has rows of its terms only."""

import random
import re

from absa.tasks.base import Rows
from absa.tasks.rows import PLACES

WORD = re.compile(r"\w+")
SEED = 0


def with_absent_terms(rows: Rows, number: int, none_label: str) -> Rows:
    """Rows and behind them, for each distinct text, terms of other texts as aspects with the label `none_label`.

    A term that has a word of the text is not drawn. Terms are as frequent as they are distinct (whatever their case):
    a rare one ("pad thai") is more surely absent than a frequent one, which may be meant without being named ("food").

    Args:
        rows: with targets that are words of the texts.
        number: of terms for each text.
        none_label: of a text that does not speak of the aspect.
    """
    terms = {term.lower(): set(WORD.findall(term.lower())) for term in rows["target"]}
    names, draw = sorted(terms), random.Random(SEED)
    columns = {name: list(column) for name, column in rows.items()}
    for text, id_ in dict(zip(rows["text"], rows["id"], strict=True)).items():
        words = set(WORD.findall(text.lower()))
        drawn = [name for name in draw.sample(names, min(len(names), 2 * number)) if words.isdisjoint(terms[name])]
        for name in drawn[:number]:
            row = {"id": id_, "text": text, "target": "", "aspect": name, "label": none_label, **dict.fromkeys(PLACES)}
            for column, values in columns.items():
                values.append(row[column])
    return columns
