"""The json of SentiHood: opinions of the targets LOCATION1 and LOCATION2, which the texts name, and twelve aspects."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..sentihood.sentihood import OPINION_VALUES, SentiHood, occurs
from .pivot import NotHeldError, Sentence, check_ids, check_label, hold, note_sentences, write_text


def read(file: Path) -> list[Sentence]:
    return [
        Sentence(
            sentence["id"],
            sentence["text"],
            [
                {"target": one["target_entity"], "aspect": one["aspect"], "label": one["sentiment"].lower()}
                for one in sentence["opinions"]
            ],
        )
        for sentence in SentiHood.read(file)
    ]


def write(sentences: Iterable[Sentence], file: Path) -> Counter:
    notes = Counter()
    held = hold(sentences, _fields, notes)
    records = []
    for sentence in held:
        opinions = [
            {"sentiment": one["label"].capitalize(), "aspect": one["aspect"], "target_entity": one["target"]}
            for one in sentence.opinions
        ]
        is_number = sentence.id.isdecimal() and str(int(sentence.id)) == sentence.id
        id_ = int(sentence.id) if is_number else sentence.id
        records.append({"opinions": opinions, "id": id_, "text": sentence.text})
    check_ids(held)
    note_sentences(held, ("id",), notes)
    write_text(file, json.dumps(records, ensure_ascii=False, indent=1) + "\n")
    return notes


def _fields(sentence: Sentence, opinion: dict) -> tuple[str, ...]:
    target, aspect = opinion.get("target"), opinion.get("aspect")
    if target not in OPINION_VALUES["target_entity"] or not occurs(target, sentence.text):
        raise NotHeldError("have another target than LOCATION1 and LOCATION2")
    if aspect not in OPINION_VALUES["aspect"]:
        raise NotHeldError("have no aspect of SentiHood")
    check_label(opinion, ("positive", "negative"))
    return ("target", "aspect", "label")
