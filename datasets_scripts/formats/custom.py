"""Rows of this project's own files, csv or jsonl: id, text, target, aspect and label, as `load_absa_dataset("custom")`
reads them. A row has an aspect, and may have a target; where that stands in the text, the rows do not say.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..custom_absa.reading import read_rows
from ..records import rows_as_text
from ..source_files import is_readable
from .pivot import NotHeldError, Sentence, check_ids, hold, note_sentences, with_opinions, write_text


def read(file: Path) -> list[Sentence]:
    sentences = {}
    for row in read_rows(file):
        sentence = sentences.setdefault(row["id"], Sentence(row["id"], row["text"], []))
        target = {"target": row["target"]} if row["target"] else {}
        sentence.opinions.append({**target, "aspect": row["aspect"], "label": row["label"]})
    return list(sentences.values())


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = with_opinions(hold(sentences, _fields, notes), notes)
    rows = {}
    for sentence in held:
        for opinion in sentence.opinions:
            given = [opinion.get(name, "") for name in ("target", "aspect", "label")]
            target, aspect, label = (one.strip() for one in given)
            if given != [target, aspect, label]:
                notes["opinions have blanks around a target, an aspect or a label: left out"] += 1
            row = {"id": sentence.id, "text": sentence.text, "target": target, "aspect": aspect, "label": label}
            first = rows.setdefault((sentence.id, target, aspect), row)
            if first is not row:
                does = "repeat" if first["label"] == label else "contradict"
                notes[f"opinions {does} an earlier one of the same sentence, target and aspect: left out"] += 1
    check_ids(held)
    note_sentences(held, ("id",), notes)
    write_text(file, rows_as_text(list(rows.values()), file))
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    for name in ("aspect", "label"):
        if name not in opinion:
            raise NotHeldError(f"have no {name}")
    for name in ("target", "aspect", "label"):
        if name in opinion and not is_readable(opinion[name]):
            raise NotHeldError(f"have nothing to see in their {name}")
    return ("target", "aspect", "label")
