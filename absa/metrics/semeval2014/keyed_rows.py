"""Rows keyed by (id, target, aspect): joined, checked and put in one order.

The same file stands in each metric folder, because each folder is published on its own.
"""

import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
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
    """Checked rows, sorted by key, so that sums do not depend on the order in which rows were given."""

    keys: list[Key]
    labels: np.ndarray
    """(rows,) int64, index into the label names."""
    probabilities: np.ndarray
    """(rows, labels) float64."""


def shown(value: Any) -> str:
    """A value as messages quote it: its repr, shortened where it is long."""
    return SHORT.repr(value)


def is_text(value: Any) -> bool:
    """Whether a value is a string that UTF-8 can hold; JSON can hold half surrogate pairs, which it can not."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def is_sequence(value: Any) -> bool:
    """Lists, arrays, columns, values of a dict. Not strings, nor sets, which have no order, nor generators, which are
    read only once."""
    try:
        return (
            not isinstance(value, str | bytes | Mapping | set | frozenset)
            and len(value) >= 0
            and iter(value) is not None
        )
    except TypeError:  # arrays without dimensions, sparse matrices
        return False


class KeyedRowsMixin:
    """`add` and `add_batch` for an `evaluate.Metric`, with rows checked first: its own errors name no field."""

    def add_batch(self, *, predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]):
        """Collect as many predictions as references for `compute`; the keys of a batch need not be the same.

        Raises:
            ValueError: a field is missing or of another type, a key is given twice, or the lengths differ.
        """
        predictions, references = _plain_rows("predictions", predictions), _plain_rows("references", references)
        if len(predictions) != len(references):
            raise ValueError(
                f"{len(predictions)} predictions, {len(references)} references: give as many of each in a batch."
            )
        super().add_batch(predictions=predictions, references=references)

    def add(self, *, prediction: Mapping[str, Any], reference: Mapping[str, Any]):
        """Collect one of each, as `add_batch`."""
        (prediction,), (reference,) = _plain_rows("predictions", [prediction]), _plain_rows("references", [reference])
        super().add(prediction=prediction, reference=reference)


def join_rows(predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Pair each reference with the prediction of the same (id, target, aspect), wherever it stands.

    Args:
        predictions: dicts with "id", "target", "aspect" and "probabilities"; other fields are ignored.
        references: dicts with "id", "target", "aspect" and "label"; other fields are ignored.

    Returns:
        `ids`, `targets`, `aspects`, `labels` and `probabilities`, parallel lists in the order of the references.

    Raises:
        ValueError: no lists of dicts, a field is missing, a key is not three strings or is given twice, or a key is
            on one side only.
    """
    probabilities, labels = _by_key("predictions", predictions), _by_key("references", references)
    _require_all("predictions", probabilities, "references", labels, "give one prediction for each reference")
    _require_all("references", labels, "predictions", probabilities, "drop the predictions that have no gold label")
    ids, targets, aspects = ([key[field] for key in labels] for field in range(3))
    return {
        "ids": ids,
        "targets": targets,
        "aspects": aspects,
        "labels": list(labels.values()),
        "probabilities": [probabilities[key] for key in labels],
    }


def sorted_rows(
    ids: Sequence[str],
    targets: Sequence[str],
    aspects: Sequence[str],
    labels: Sequence[str],
    probabilities: Sequence[Sequence[float]] | np.ndarray,
    label_names: Sequence[str],
) -> Rows:
    """Check parallel sequences of rows and sort them by (id, target, aspect).

    Args:
        ids, targets, aspects, labels: (rows,) strings.
        probabilities: (rows, labels), in the order of `label_names`, each row summing to 1; lists, arrays or tensors
            that numpy reads.
        label_names: (labels,) the labels that may occur.

    Raises:
        ValueError: no rows, no sequences, unequal lengths, a key that is not three strings or is given twice, an
            unknown label, or probabilities that are not a distribution over `label_names`.
    """
    columns = {
        "ids": ids,
        "targets": targets,
        "aspects": aspects,
        "labels": labels,
        "probabilities": probabilities,
    }
    for name, column in columns.items():
        if not is_sequence(column):
            raise ValueError(f"{name}={shown(column)} ({type(column).__name__}): give a list, one entry per row.")
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"the sequences have unequal lengths {lengths}: give one entry per row in each.")
    if not lengths["ids"]:
        raise ValueError("there are no rows: a score needs at least one prediction and one reference.")
    keys = _checked_keys("rows", zip(ids, targets, aspects, strict=True))
    index = _label_index(keys, labels, label_names)
    checked = _checked_probabilities(keys, probabilities, label_names)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return Rows([keys[row] for row in order], index[order], checked[order])


def _by_key(side: str, rows: Sequence[Mapping[str, Any]]) -> dict[Key, Any]:
    fields = FIELDS[side]
    if not is_sequence(rows):
        raise ValueError(f"{side}={shown(rows)} ({type(rows).__name__}): give a list of dicts with {[*fields]}.")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"{side}[{number}]={shown(row)} ({type(row).__name__}): give a dict with {[*fields]}.")
        missing = [name for name in fields if name not in row]
        if missing:
            raise ValueError(f"{side}[{number}] has no {missing[0]!r}: each row needs {[*fields]}.")
    keys = _checked_keys(side, (tuple(row[name] for name in KEY_FIELDS) for row in rows))
    return dict(zip(keys, (row[fields[-1]] for row in rows), strict=True))


def _plain_rows(side: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `evaluate` stores them: their fields and no others, probabilities as lists of floats."""
    plain = []
    for key, value in _by_key(side, rows).items():
        if side == "predictions":
            value = _as_numbers(key, value).tolist()
        elif not is_text(value):
            raise ValueError(
                f"{side}: the label {shown(value)} for {shown(key)} must be a string without half surrogate pairs."
            )
        plain.append(dict(zip(FIELDS[side], (*key, value), strict=True)))
    return plain


def _checked_keys(side, keys) -> list[Key]:
    keys = list(keys)
    for number, key in enumerate(keys):
        if not all(map(is_text, key)):
            raise ValueError(
                f"{side}[{number}]: the key {shown(key)} must be three strings {KEY_FIELDS} without half surrogate "
                "pairs; use '' for no target."
            )
    key, times = Counter(keys).most_common(1)[0] if keys else (None, 0)
    if times > 1:
        raise ValueError(
            f"{side}: the key {shown(key)} {KEY_FIELDS} is given {times} times: keep one row for each key."
        )
    return keys


def _require_all(side: str, keys: Mapping[Key, Any], other: str, wanted: Mapping[Key, Any], remedy: str) -> None:
    missing = [key for key in wanted if key not in keys]
    if missing:
        raise ValueError(
            f"{side} lack {len(missing)} of the {len(wanted)} keys {KEY_FIELDS} of {other}, "
            f"first {shown(missing[0])}: {remedy}."
        )


def _label_index(keys: list[Key], labels: Sequence[str], label_names: Sequence[str]) -> np.ndarray:
    position = {name: index for index, name in enumerate(label_names)}
    for key, label in zip(keys, labels, strict=True):
        if not isinstance(label, str) or label not in position:
            raise ValueError(f"unknown label {shown(label)} for {shown(key)}: use one of {shown(list(label_names))}.")
    return np.array([position[label] for label in labels])


def _checked_probabilities(keys: list[Key], probabilities, label_names: Sequence[str]) -> np.ndarray:
    values = np.empty((len(keys), len(label_names)))
    for number, (key, given) in enumerate(zip(keys, probabilities, strict=True)):
        row = _as_numbers(key, given)
        if row.shape != (len(label_names),):
            raise ValueError(
                f"the probabilities for {shown(key)} have the shape {row.shape}: "
                f"give {len(label_names)} numbers, in the order {shown(list(label_names))}."
            )
        values[number] = row
    with np.errstate(over="ignore", invalid="ignore"):  # of what the faults below name
        sums = values.sum(axis=1)
    faults = {
        "are not all finite": ~np.isfinite(values).all(axis=1),
        "are not all at least 0": (values < 0).any(axis=1),
        f"do not sum to 1 within {SUM_TOLERANCE}": np.abs(sums - 1) > SUM_TOLERANCE,
    }
    for fault, rows in faults.items():
        if rows.any():
            row = int(rows.argmax())
            raise ValueError(
                f"the probabilities {shown(values[row].tolist())} for {shown(keys[row])} {fault}: "
                f"give the softmax of the logits, computed in float32, in the order {shown(list(label_names))}."
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
            f"the probabilities {shown(probabilities)} for {shown(key)} are no row of numbers: give a list or an "
            "array of floats; of a tensor, its .detach().cpu().float()."
        )
    return values
