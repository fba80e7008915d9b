"""Rows keyed by (id, target, aspect): checked, joined by key, never by position, and put in one order."""

import reprlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

KEY_FIELDS = ("id", "target", "aspect")
FIELDS = {"predictions": (*KEY_FIELDS, "probabilities"), "references": (*KEY_FIELDS, "label")}
"""Of the rows of each side; other fields are ignored."""
SUM_TOLERANCE = 1e-3

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 80
SHORT.maxlist = SHORT.maxtuple = SHORT.maxdict = 10

Key = tuple[str, str, str]


class Rows(NamedTuple):
    """Checked rows."""

    keys: list[Key]
    labels: np.ndarray  # (rows,) int64, index into the label names
    probabilities: np.ndarray  # (rows, labels) float64


def shorten(value: Any) -> str:
    """A value as messages quote it: its repr, shortened where it is long."""
    return SHORT.repr(value)


def numbered(values: Iterable[Hashable]) -> tuple[list, np.ndarray]:
    """The distinct values in order, and of each value its number among them.

    numpy does not tell strings apart that differ in NUL characters at their end.
    """
    values = list(values)
    distinct = sorted(set(values))
    number_of = {value: number for number, value in enumerate(distinct)}
    return distinct, np.array([number_of[value] for value in values], dtype=np.int64)


def is_text(value: Any) -> bool:
    """Whether a value is a string that UTF-8 can hold. Half surrogate pairs, which JSON can hold, are not."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def is_sequence(value: Any) -> bool:
    """Lists, arrays, columns, values of a dict.

    Not strings, nor sets, which have no order, nor generators, which are read only once.
    """
    return (
        hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, str | bytes | Mapping | Set)
    )


def with_places(ids, targets, aspects, starts) -> list[str]:
    """Targets, those that a text names twice with their place behind them, so that every row has a key of its own.

    Rows in the order of id, target and place are in the order of their keys.

    Args:
        ids, targets, aspects: (rows,) strings.
        starts: (rows,) where in the text each target begins; None where it is no part of it.
    """
    keys = list(zip(ids, targets, aspects, strict=True))
    times = Counter(keys)
    # NUL stands before all that a longer name could go on with.
    return [
        f"{key[1]}\0{start:09}" if times[key] > 1 and start is not None else key[1]
        for key, start in zip(keys, starts, strict=True)
    ]


def join_rows(predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Pair each reference with the prediction of the same (id, target, aspect), wherever it stands.

    Args:
        predictions: dicts with "id", "target", "aspect" and "probabilities"; other fields are ignored.
        references: dicts with "id", "target", "aspect" and "label"; other fields are ignored.

    Returns:
        `ids`, `targets`, `aspects`, `labels` and `probabilities`, parallel lists, sorted by key.

    Raises:
        ValueError: no lists of dicts, a field is missing, a key is not three strings or is given twice, or a key is
            on one side only.
    """
    predicted, gold = _by_key("predictions", predictions), _by_key("references", references)
    _require_all("predictions", predicted, "references", gold, "give one prediction for each reference")
    _require_all("references", gold, "predictions", predicted, "drop the predictions that have no gold label")
    keys = sorted(gold)
    columns = {f"{field}s": [key[place] for key in keys] for place, field in enumerate(KEY_FIELDS)}
    return columns | {"labels": [gold[key] for key in keys], "probabilities": [predicted[key] for key in keys]}


def plain_rows(side: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `evaluate` stores them: their fields and no others, probabilities as lists of floats.

    Raises:
        ValueError: as `join_rows` of one side; also probabilities that are no numbers.
    """
    by_key = _by_key(side, rows)
    if side == "predictions":
        by_key = {key: _as_numbers(key, row).tolist() for key, row in by_key.items()}
    return [dict(zip(FIELDS[side], (*key, value), strict=True)) for key, value in by_key.items()]


def sorted_rows(ids, targets, aspects, labels, probabilities, label_names: Sequence[str]) -> Rows:
    """Check parallel sequences of rows and sort them by (id, target, aspect), so that sums do not depend on the order.

    Args:
        ids, targets, aspects, labels, probabilities, label_names: see `checked_rows`.

    Raises:
        ValueError: as `checked_rows`; also a key that is given twice.
    """
    keys, label_ids, distributions = checked_rows(ids, targets, aspects, labels, probabilities, label_names)
    _check_unique("rows", keys)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return Rows([keys[row] for row in order], label_ids[order], distributions[order])


def join_by_id(
    predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]], field: str
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pairs of the prediction and the reference of one id, wherever they stand; sorted by id.

    Args:
        predictions, references: dicts with "id" and a field.

    Raises:
        ValueError: as `rows_by_id`, or an id is on one side only.
    """
    predicted, gold = rows_by_id("predictions", predictions, field), rows_by_id("references", references, field)
    for side, given, other, needed in (
        ("predictions", predicted, "references", gold),
        ("references", gold, "predictions", predicted),
    ):
        if missing := needed.keys() - given.keys():
            raise ValueError(
                f"{side} lack {len(missing)} of the {len(needed)} ids of {other}, first {shorten(min(missing))}: give "
                "one prediction for each reference, and none without."
            )
    return [(predicted[id_], gold[id_]) for id_ in sorted(gold)]


def rows_by_id(side: str, rows: Sequence[Mapping[str, Any]], field: str) -> dict[str, Mapping[str, Any]]:
    """Rows by their id.

    Raises:
        ValueError: no list of dicts, the id or the field is missing, or an id is no string or is given twice.
    """
    if not is_sequence(rows):
        raise ValueError(f"{side}={shorten(rows)} ({type(rows).__name__}): give a list of dicts with id and {field}.")
    by_id = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or "id" not in row or field not in row:
            raise ValueError(
                f"{side}[{number}]={shorten(row)} ({type(row).__name__}): give a dict with 'id' and {field!r}."
            )
        if not is_text(row["id"]) or row["id"] in by_id:
            raise ValueError(f"{side}[{number}]: the id {shorten(row['id'])} is no string, or is given twice.")
        by_id[row["id"]] = row
    return by_id


def checked_rows(ids, targets, aspects, labels, probabilities, label_names: Sequence[str]) -> Rows:
    """Check parallel sequences of rows; they keep their order, and may share a key.

    Args:
        ids, targets, aspects, labels: (rows,) strings.
        probabilities: (rows, labels), in the order of `label_names`, each row summing to 1; lists, arrays or tensors
            that numpy reads.
        label_names: (labels,) the labels that may occur.

    Raises:
        ValueError: no rows, no sequences, unequal lengths, a key that is not three strings, an unknown label, or
            probabilities that are not a distribution over `label_names`.
    """
    columns = {"ids": ids, "targets": targets, "aspects": aspects, "labels": labels, "probabilities": probabilities}
    for name, column in columns.items():
        if not is_sequence(column):
            raise ValueError(f"{name}={shorten(column)} ({type(column).__name__}): give a list, one entry per row.")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the sequences have unequal lengths {lengths}: give one entry per row in each.")
    if not lengths["ids"]:
        raise ValueError("there are no rows: a score needs at least one prediction and one reference.")
    keys = list(zip(ids, targets, aspects, strict=True))
    _check_texts("rows", keys)
    number_of = {name: number for number, name in enumerate(label_names)}
    for key, label in zip(keys, labels, strict=True):
        if not isinstance(label, str) or label not in number_of:
            raise ValueError(
                f"unknown label {shorten(label)} for {shorten(key)}: use one of {shorten(list(label_names))}."
            )
    label_ids = np.array([number_of[label] for label in labels])
    return Rows(keys, label_ids, _distributions(keys, probabilities, label_names))


def check_label_names(label_names: Sequence[str] | None) -> None:
    """Raise ValueError unless `label_names` are two or more labels without repeats."""
    names = list(label_names) if is_sequence(label_names) else []
    if len(names) < 2 or not all(map(is_text, names)) or len(set(names)) < len(names):
        raise ValueError(
            f"labels={shorten(label_names)}: name two or more labels, each once, strings in the order of the "
            "probabilities, for example ['none', 'positive', 'negative']."
        )


def _by_key(side: str, rows: Sequence[Mapping[str, Any]]) -> dict[Key, Any]:
    """The probabilities or the label of each row by its checked key."""
    fields = FIELDS[side]
    if not is_sequence(rows):
        raise ValueError(f"{side}={shorten(rows)} ({type(rows).__name__}): give a list of dicts with {[*fields]}.")
    for number, row in enumerate(rows):
        missing = [name for name in fields if not isinstance(row, Mapping) or name not in row]
        if missing:
            raise ValueError(
                f"{side}[{number}]={shorten(row)} ({type(row).__name__}) has no {missing[0]!r}: "
                f"give a dict with {[*fields]}."
            )
    keys = [tuple(row[name] for name in KEY_FIELDS) for row in rows]
    _check_texts(side, keys)
    _check_unique(side, keys)
    return dict(zip(keys, (row[fields[-1]] for row in rows), strict=True))


def _check_texts(side: str, keys: Iterable[tuple]) -> None:
    for number, key in enumerate(keys):
        if not all(map(is_text, key)):
            raise ValueError(
                f"{side}[{number}]: the key {shorten(key)} must be three strings {KEY_FIELDS} without half surrogate "
                "pairs; use '' for no target."
            )


def _check_unique(side: str, keys: Iterable[Key]) -> None:
    seen = set()
    for number, key in enumerate(keys):
        if key in seen:
            raise ValueError(
                f"{side}[{number}]: the key {shorten(key)} {KEY_FIELDS} is given twice: keep one row for each key; "
                "behind a target that a text names twice, write its place."
            )
        seen.add(key)


def _require_all(side: str, given: Mapping[Key, Any], other: str, needed: Mapping[Key, Any], remedy: str) -> None:
    missing = needed.keys() - given.keys()
    if missing:
        raise ValueError(
            f"{side} lack {len(missing)} of the {len(needed)} keys {KEY_FIELDS} of {other}, "
            f"first {shorten(min(missing))}: {remedy}."
        )


def _distributions(keys: list[Key], probabilities, label_names: Sequence[str]) -> np.ndarray:
    rows = [_as_numbers(key, given) for key, given in zip(keys, probabilities, strict=True)]
    valid = np.array([row.shape == (len(label_names),) for row in rows])
    if valid.all():
        values = np.stack(rows).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the error below names what is not finite
            valid = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if not valid.all():
        row = int(valid.argmin())
        raise ValueError(
            f"the probabilities {shorten(rows[row].tolist())} for {shorten(keys[row])} are not {len(label_names)} "
            f"numbers of at least 0 with a sum of 1 within {SUM_TOLERANCE}: give the softmax of the logits, computed "
            f"in float32, in the order {shorten(list(label_names))}."
        )
    return values


def _as_numbers(key: Key, probabilities: Any) -> np.ndarray:
    """(labels,) of any integer or float type. Not of strings or booleans, which numpy would also turn into floats."""
    try:
        values = np.asarray(probabilities)
    except (TypeError, ValueError, RuntimeError):  # ragged; a tensor on a GPU, in bfloat16 or with a gradient
        values = None
    if values is None or values.dtype.kind not in "iuf" or values.ndim != 1:
        raise ValueError(
            f"the probabilities {shorten(probabilities)} for {shorten(key)} are no row of numbers: give a list or an "
            "array of floats; of a tensor, its .detach().cpu().float()."
        )
    return values
