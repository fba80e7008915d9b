"""Lines of ASTE-Data-V2: a text of words with a blank between each two, ####, and its triplets.

    Great food but the service was dreadful !####[([1], [0], 'POS'), ([4], [6], 'NEG')]

A triplet has the numbers of the words of the target, those of the opinion term, and POS, NEG or NEU.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..aste_v2.aste_v2 import ASTEV2, POLARITIES
from ..tuples import LABEL_OF
from .pivot import (
    OPINION,
    TARGET,
    Sentence,
    check_label,
    check_place,
    hold,
    note_sentences,
    span_in_words,
    tokenised,
    with_places,
    write_text,
)

CODE_OF = {LABEL_OF[code]: code for code in POLARITIES}


def read(file: Path) -> list[Sentence]:
    sentences = []
    for number, row in enumerate(ASTEV2.read(file), start=1):
        opinions = []
        for triplet in row["tuples"]:
            opinion = {}
            for name in ("target", "opinion"):
                first, behind = triplet[name]
                start, end = row["offsets"][first][0], row["offsets"][behind - 1][1]
                opinion |= {name: row["text"][start:end], f"{name}_start": start, f"{name}_end": end}
            opinions.append(opinion | {"label": triplet["label"]})
        sentences.append(Sentence(str(number), row["text"], opinions, row["offsets"]))
    if not sentences:
        raise ValueError(f"{file}: has no lines; write a sentence with its triplets on each")
    return sentences


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = tokenised(hold(with_places(sentences, notes), _fields, notes), notes)
    lines = []
    for sentence in held:
        triplets = []
        for opinion in sentence.opinions:
            target, term = (list(range(*span_in_words(sentence, opinion, name))) for name in ("target", "opinion"))
            triplets.append((target, term, CODE_OF[opinion["label"]]))
        lines.append(f"{sentence.text}####{triplets}\n")
    note_sentences(held, ("words",), notes)
    write_text(file, "".join(lines))
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    check_place(opinion, "target")
    check_place(opinion, "opinion")
    check_label(opinion, CODE_OF)
    return (*TARGET, *OPINION, "label")
