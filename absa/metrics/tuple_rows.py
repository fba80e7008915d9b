"""Sentences of tuples: checked, joined by id, and reduced to the fields that a figure is about.

A tuple is a dict with some of these fields: target and opinion are spans [start, end), of words or of characters, the
same on both sides; aspect and label are strings.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from absa.metrics.rows import is_sequence, is_text, join_by_id, rows_by_id, shorten

SPANS = ("target", "opinion")
FIELDS = (*SPANS, "aspect", "label")
LONGEST = 2**31  # of a text; spans beyond are no spans

Value = tuple[int, int] | str


def checked_tuples(
    side: str, sentences: Sequence[Sequence[Mapping[str, Any]]], fields: Sequence[str], optional: Sequence[str] = ()
) -> list[list[tuple[Value | None, ...]]]:
    """Of each sentence the values of the fields of each tuple; repeated tuples are kept.

    Args:
        side: what the sentences are called in an error.
        optional: fields that may be missing or None, and are None then.

    Raises:
        ValueError: these are no lists of dicts, a field is missing, or its value is no span or no string; names the
            side and the sentence, from 0.
    """
    if not is_sequence(sentences):
        raise ValueError(f"{side}={shorten(sentences)} ({type(sentences).__name__}): give a list of lists of tuples.")
    checked = []
    for number, tuples in enumerate(sentences):
        place = f"{side}[{number}]"
        if not is_sequence(tuples) or not all(isinstance(one, Mapping) for one in tuples):
            raise ValueError(
                f"{place}={shorten(tuples)} ({type(tuples).__name__}): give a list of dicts with {', '.join(fields)}; "
                "an empty one where there is nothing."
            )
        checked.append(
            [tuple(_checked_value(place, one, field, field in optional) for field in fields) for one in tuples]
        )
    return checked


def _checked_value(place: str, one: Mapping[str, Any], field: str, is_optional: bool) -> Value | None:
    value = one.get(field)
    if value is None and is_optional:
        return None
    if field not in SPANS:
        if not is_text(value) or not value:
            raise ValueError(f"{place} has {field}={shorten(value)}: give a string.")
        return value
    is_pair = is_sequence(value) and len(value) == 2 and all(map(_is_whole, value))
    if not is_pair or not 0 <= value[0] < value[1] < LONGEST:
        raise ValueError(
            f"{place} has {field}={shorten(value)}: give a span [start, end), two whole numbers with 0 <= start < end."
        )
    return int(value[0]), int(value[1])


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_sides(gold: Sequence, predicted: Sequence) -> None:
    """Raise ValueError unless there are as many sentences on both sides, and at least one."""
    if len(gold) != len(predicted) or not len(gold):
        raise ValueError(f"gold has {len(gold)} sentences and predicted {len(predicted)}: give as many, at least one.")


def check_fields(fields: Sequence[str], known: Sequence[str]) -> None:
    """Raise ValueError unless fields are one or more of those that are known, each once."""
    names = list(fields) if is_sequence(fields) else []
    if not names or not all(isinstance(name, str) and name in known for name in names) or len(set(names)) < len(names):
        raise ValueError(f"fields={shorten(fields)}: name one or more of {', '.join(known)}, each once.")


def join_tuples(predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Pair each reference with the prediction of the same id, wherever it stands.

    Args:
        predictions, references: dicts with "id" and "tuples", predictions also with "invalid" or without; other fields
            are ignored.

    Returns:
        `gold`, `predicted` and `invalid`, parallel lists, sorted by id.

    Raises:
        ValueError: no lists of dicts, a field is missing, an id is no string, is given twice or is on one side only.
    """
    pairs = join_by_id(predictions, references, "tuples")
    return {
        "gold": [gold["tuples"] for _, gold in pairs],
        "predicted": [predicted["tuples"] for predicted, _ in pairs],
        "invalid": [predicted.get("invalid", False) for predicted, _ in pairs],
    }


def plain_tuples(side: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `evaluate` stores them: id, tuples with all fields, and invalid.

    Raises:
        ValueError: as `join_tuples` and `checked_tuples` of one side.
    """
    by_id = rows_by_id(side, rows, "tuples")
    plain = checked_tuples(side, [row["tuples"] for row in by_id.values()], FIELDS, optional=FIELDS)
    return [
        {
            "id": id_,
            "tuples": [dict(zip(FIELDS, values, strict=True)) for values in tuples],
            "invalid": bool(row.get("invalid", False)),
        }
        for (id_, row), tuples in zip(by_id.items(), plain, strict=True)
    ]
