"""Texts of several polarities: by hand, and how many the data sets have."""

import numpy as np
import pytest

from absa.metrics.mixed_texts import in_mixed_texts, mixed_accuracy
from datasets_scripts import load_absa_dataset

IDS = ["b", "a", "b", "c", "a", "c"]
LABELS = np.array([1, 1, 2, 2, 0, 2])


@pytest.mark.parametrize(
    ("none", "expected"),
    [
        (0, [True, False, True, False, False, False]),  # of text a one row is none, of c both rows are alike
        (None, [True, True, True, False, True, False]),
    ],
)
def test_rows_of_mixed_texts(none, expected):
    assert in_mixed_texts(IDS, LABELS, none).tolist() == expected
    # In groups of two aspects, here each with its own id: what is mixed is the same rows.
    groups = in_mixed_texts(["b", "c", "a"], np.array([[1, 2], [2, 2], [1, 0]]), none)
    assert groups.ravel().tolist() == [expected[row] for row in (0, 2, 3, 5, 1, 4)]


def test_accuracy_is_of_the_mixed_texts():
    right = np.array([True, False, False, True, False, True])
    assert mixed_accuracy(right, in_mixed_texts(IDS, LABELS, 0)) == {"mixed_accuracy": 1 / 2}


@pytest.mark.parametrize(
    ("dataset", "data_config", "rows", "texts", "of_rows"),
    [
        ("sentihood", None, 250, 95, 1216),
        ("semeval2014", None, 89, 42, 1025),
        ("mams", "category_rows", 901, 400, 901),  # by its making all
    ],
)
def test_counts_of_test_splits(shared_dir, tmp_path, dataset, data_config, rows, texts, of_rows):
    folder = shared_dir / "data" / dataset
    split = load_absa_dataset(dataset, data_config, data_dir=folder, cache_dir=tmp_path)["test"]
    ids, labels = split["id"][:], np.array(split["label"][:])
    in_mixed = in_mixed_texts(ids, labels, none := split.features["label"].names.index("none"))
    mixed_ids = {id_ for id_, is_mixed in zip(ids, in_mixed, strict=True) if is_mixed}
    assert (in_mixed.sum(), len(mixed_ids), (labels != none).sum()) == (rows, texts, of_rows)
