"""absa/training/sampling.py: the order of training rows."""

from collections import Counter
from itertools import pairwise

import pytest
import torch

from absa.training.sampling import TrainingOrder

LENGTHS = torch.randint(5, 60, (1003,), generator=torch.Generator().manual_seed(0)).tolist()


@pytest.mark.parametrize("group_by_length", [True, False], ids=["grouped", "random"])
def test_every_row_once_in_an_order_of_seed_and_epoch(group_by_length: bool):
    def rows(seed: int, epoch: int) -> list[int]:
        sampler = TrainingOrder(LENGTHS, None, 16, group_by_length, seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert sorted(rows(1, 0)) == list(range(1003))
    assert rows(1, 0) == rows(1, 0)
    assert rows(1, 0) != rows(1, 1)
    assert rows(1, 0) != rows(2, 0)


def test_grouped_batches_have_little_padding():
    def padding(group_by_length: bool) -> int:
        rows = list(TrainingOrder(LENGTHS, None, 16, group_by_length, 0))
        batches = [[LENGTHS[row] for row in rows[start : start + 16]] for start in range(0, len(rows), 16)]
        assert len(batches[-1]) == 1003 % 16
        return sum(max(batch) * len(batch) - sum(batch) for batch in batches)

    assert padding(True) < padding(False) / 5


def test_grouped_batches_are_not_sorted():
    rows = list(TrainingOrder(LENGTHS, None, 16, True, 0))
    longest = [max(LENGTHS[row] for row in rows[start : start + 16]) for start in range(0, 800, 16)]
    rising = sum(a <= b for a, b in pairwise(longest))
    assert 10 < rising < 40  # 49 if sorted; about half if shuffled


@pytest.mark.parametrize("group_by_length", [True, False], ids=["grouped", "random"])
def test_balanced_labels_are_equally_frequent(group_by_length: bool):
    labels = [0] * 900 + [1] * 90 + [2] * 13
    sampler = TrainingOrder(LENGTHS, labels, 16, group_by_length, 0)
    drawn = Counter(labels[row] for row in sampler)
    assert sum(drawn.values()) == 1003
    for label in range(3):  # 334 expected, standard deviation sqrt(1003 * 1/3 * 2/3) = 15
        assert 260 < drawn[label] < 410
