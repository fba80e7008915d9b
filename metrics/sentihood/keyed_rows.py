"""Rows keyed by (id, target, aspect): joined, checked and put in one order.

The same file stands in each metric folder, because each folder is published on its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

KEY_FIELDS = ("id", "target", "aspect")
SUM_TOLERANCE = 1e-3

Key = tuple[str, str, str]


class Rows(NamedTuple):
    """Checked rows, sorted by key, so that sums do not depend on the order in which rows were given."""

    keys: list[Key]
    labels: np.ndarray
    """(rows,) int64, index into the label names."""
    probabilities: np.ndarray
    """(rows, labels) float64."""


def join_rows(predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Pair each reference with the prediction of the same (id, target, aspect), wherever it stands.

    Args:
        predictions: dicts with "id", "target", "aspect" and "probabilities".
        references: dicts with "id", "target", "aspect" and "label".

    Returns:
        `ids`, `targets`, `aspects`, `labels` and `probabilities`, parallel lists in the order of the references.

    Raises:
        ValueError: a field is missing, a key is given twice, or a key is on one side only.
    """
    probabilities = _by_key("predictions", predictions, "probabilities")
    labels = _by_key("references", references, "label")
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
        probabilities: (rows, labels), in the order of `label_names`, each row summing to 1.
        label_names: (labels,) the labels that may occur.

    Raises:
        ValueError: no rows, unequal lengths, a key that is not three strings or is given twice, an unknown label, or
            probabilities that are not a distribution over `label_names`.
    """
    columns = {
        "ids": ids,
        "targets": targets,
        "aspects": aspects,
        "labels": labels,
        "probabilities": probabilities,
    }
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


def _by_key(side: str, rows: Sequence[Mapping[str, Any]], field: str) -> dict[Key, Any]:
    for number, row in enumerate(rows):
        missing = [name for name in (*KEY_FIELDS, field) if name not in row]
        if missing:
            raise ValueError(f"{side}[{number}] has no {missing[0]!r}: each row needs {[*KEY_FIELDS, field]}.")
    keys = _checked_keys(side, (tuple(row[name] for name in KEY_FIELDS) for row in rows))
    return dict(zip(keys, (row[field] for row in rows), strict=True))


def _checked_keys(side, keys) -> list[Key]:
    keys = list(keys)
    for key in keys:
        if not all(isinstance(part, str) for part in key):
            raise ValueError(f"{side}: the key {key} must be three strings {KEY_FIELDS}; use '' for no target.")
    key, times = Counter(keys).most_common(1)[0] if keys else (None, 0)
    if times > 1:
        raise ValueError(f"{side}: the key {key} {KEY_FIELDS} is given {times} times: keep one row for each key.")
    return keys


def _require_all(side: str, keys: Mapping[Key, Any], other: str, wanted: Mapping[Key, Any], remedy: str) -> None:
    missing = [key for key in wanted if key not in keys]
    if missing:
        raise ValueError(
            f"{side} lack {len(missing)} of the {len(wanted)} keys {KEY_FIELDS} of {other}, "
            f"first {missing[0]}: {remedy}."
        )


def _label_index(keys: list[Key], labels: Sequence[str], label_names: Sequence[str]) -> np.ndarray:
    position = {name: index for index, name in enumerate(label_names)}
    for key, label in zip(keys, labels, strict=True):
        if label not in position:
            raise ValueError(f"unknown label {label!r} for {key}: use one of {list(label_names)}.")
    return np.array([position[label] for label in labels])


def _checked_probabilities(keys: list[Key], probabilities, label_names: Sequence[str]) -> np.ndarray:
    for key, row in zip(keys, probabilities, strict=True):
        if np.shape(row) != (len(label_names),):
            raise ValueError(
                f"the probabilities for {key} have the shape {np.shape(row)}: "
                f"give {len(label_names)} numbers, in the order {list(label_names)}."
            )
    values = np.asarray(probabilities, dtype=np.float64)
    faults = {
        "are not all finite": ~np.isfinite(values).all(axis=1),
        "are not all at least 0": (values < 0).any(axis=1),
        f"do not sum to 1 within {SUM_TOLERANCE}": np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE,
    }
    for fault, rows in faults.items():
        if rows.any():
            row = int(rows.argmax())
            raise ValueError(
                f"the probabilities {values[row].tolist()} for {keys[row]} {fault}: "
                f"give the softmax of the logits, computed in float32, in the order {list(label_names)}."
            )
    return values
