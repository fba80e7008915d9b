"""The seven subtasks of Yan et al. (2021) as rows: what is given of a sentence, and which tuples are to be found."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .tuples import distinct


class Subtask(NamedTuple):
    """The fields that a row is given, and those of its tuples."""

    given: tuple[str, ...]
    found: tuple[str, ...]


SUBTASKS = {
    "ate": Subtask((), ("target",)),
    "ote": Subtask((), ("opinion",)),
    "alsc": Subtask(("target",), ("label",)),
    "aoe": Subtask(("target",), ("opinion",)),
    "aesc": Subtask((), ("target", "label")),
    "aope": Subtask((), ("target", "opinion")),
    "aste": Subtask((), ("target", "opinion", "label")),
}
SPANS = ("target", "opinion")
COLUMNS = ("id", "text", "words", "offsets")  # which a row has of its sentence


def sentences_of(split) -> list[dict[str, Any]]:
    """Rows of a split of a `TuplesBuilder`, a `datasets.Dataset`, with names of classes and spans as tuples."""
    features = split.features["tuples"].feature
    names = {field: feature.names for field, feature in features.items() if hasattr(feature, "names")}

    def named(fields: dict) -> dict:
        return {
            field: value if value is None else tuple(value) if field in SPANS else names[field][value]
            for field, value in fields.items()
        }

    return [{**row, "tuples": [named(fields) for fields in row["tuples"]]} for row in split]


def subtask_rows(sentences: Iterable[Mapping[str, Any]], subtask: str) -> list[dict[str, Any]]:
    """Rows of a subtask.

    One row for each sentence; of alsc and aoe one for each distinct target, which is given, and none for a sentence
    without. A row has the tuples that state all fields of the subtask, reduced to these and each once, in the order of
    the source; the list may be empty. alsc has no rows of targets without a label, nor of the label conflict, which a
    warning counts.

    Args:
        sentences: dicts with id, text, words, offsets and tuples, see `sentences_of`.
        subtask: one of SUBTASKS.

    Returns:
        dicts with id (of the sentence), text, words, offsets, tuples, and target where it is given.

    Raises:
        ValueError: the subtask is unknown, or the sentences have tuples and none of them states its fields: their
            source is not annotated with these.
    """
    if subtask not in SUBTASKS:
        raise ValueError(f"subtask={subtask!r}: choose one of {', '.join(SUBTASKS)}")
    given, found = SUBTASKS[subtask]
    rows, num_tuples, num_usable, num_conflicts = [], 0, 0, 0
    for sentence in sentences:
        usable = [fields for fields in sentence["tuples"] if all(fields.get(name) for name in (*given, *found))]
        num_tuples += len(sentence["tuples"])
        num_usable += len(usable)
        if subtask == "alsc":
            without_conflict = [fields for fields in usable if fields["label"] != "conflict"]
            num_conflicts += len(usable) - len(without_conflict)
            usable = without_conflict
        tuples_of: dict[Any, list[dict]] = {} if given else {None: []}
        for fields in usable:
            target = fields["target"] if given else None
            tuples_of.setdefault(target, []).append({name: fields[name] for name in found})
        for target, tuples in tuples_of.items():
            row = {name: sentence[name] for name in COLUMNS} | {"tuples": distinct(tuples)}
            rows.append(row | {"target": target} if given else row)
    if num_tuples and not num_usable:
        fields = " with ".join((*given, *found))
        raise ValueError(
            f"subtask={subtask!r}: none of {num_tuples} tuples states {fields}; choose a subtask that the data is "
            "annotated for"
        )
    if num_conflicts:
        warnings.warn(
            f"alsc: {num_conflicts} of {num_usable} targets have the label conflict and are left out", stacklevel=2
        )
    return rows
