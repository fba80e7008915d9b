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


SIZES = (101, 203, 50)
DATASET_IDS = [number for number, size in enumerate(SIZES) for _ in range(size)]


@pytest.mark.parametrize("group_by_length", [True, False], ids=["grouped", "random"])
def test_data_sets_are_drawn_by_their_weights(group_by_length: bool):
    lengths = LENGTHS[: sum(SIZES)]
    sampler = TrainingOrder(lengths, None, 16, group_by_length, 0, DATASET_IDS, [2, 1, 0.5])

    def drawn(*epochs: int) -> list[int]:
        rows = []
        for epoch in epochs:
            sampler.set_epoch(epoch)
            rows += list(sampler)
        return rows

    assert len(sampler) == len(drawn(0)) == 2 * 101 + 203 + 25
    for epoch in (0, 5):
        counts = Counter(drawn(epoch))
        assert [counts[row] for row in range(304)] == [2] * 101 + [1] * 203
        assert all(counts[row] <= 1 for row in range(304, 354))
        assert sum(counts[row] for row in range(304, 354)) == 25
    # Half of the last data set, and in the next epoch the other half.
    assert set(Counter(drawn(2, 3)).values()) == {4, 2, 1}
    assert drawn(2) == drawn(2)
    assert drawn(2) != drawn(3)
    assert sum(a > b for a, b in pairwise(drawn(0))) > 100, "the data sets are not mixed"


def test_no_row_is_drawn_again_before_all_others():
    """Three draws of two rows an epoch: over any number of epochs the counts differ by one at most."""
    sampler, counts = TrainingOrder([5] * 2, None, 4, True, 7, [0, 0], [1.5]), Counter()
    for epoch in range(9):
        sampler.set_epoch(epoch)
        counts.update(sampler)
        assert sum(counts.values()) == 3 * (epoch + 1)
        assert abs(counts[0] - counts[1]) == (epoch + 1) % 2


@pytest.mark.parametrize("weights", [(0.3, 0.3, 0.3), (0.01, 1.01, 2.7), (1.25, 0.75, 0.5)])
def test_an_epoch_is_rounded_once(weights: tuple[float, ...]):
    sampler = TrainingOrder(LENGTHS[: sum(SIZES)], None, 16, True, 0, DATASET_IDS, weights)
    assert len(list(sampler)) == len(sampler) == round(sum(map(float.__mul__, weights, map(float, SIZES))))
    drawn = Counter(DATASET_IDS[row] for row in sampler)
    assert all(abs(drawn[number] - weights[number] * size) <= 1 for number, size in enumerate(SIZES))


def test_a_weight_that_draws_nothing():
    with pytest.raises(ValueError, match=r"weight=0.001 draws none of 203 training rows: give a greater one"):
        TrainingOrder(LENGTHS[: sum(SIZES)], None, 16, True, 0, DATASET_IDS, [1, 0.001, 1])
