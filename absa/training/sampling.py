"""The order of training rows: each once, balanced over the labels, or by weights of data sets; in batches of like
length or not.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import torch
from torch.utils.data import Sampler


class TrainingOrder(Sampler):
    """Row numbers of an epoch, the same for the same seed and epoch whatever the number of processes.

    Args:
        lengths: tokens of each row.
        labels: label of each row for class-balanced sampling: as many rows as there are, drawn with replacement, each
            label as often as any other; None for every row once.
        batch_size: rows of a batch over all processes.
        group_by_length: whether the rows of a batch have about the same length, so that there is little padding.
        seed: of the random numbers.
        dataset_ids: of each row, the number of its data set, where there are several.
        weights: how many times as often as it has rows each data set's rows are drawn in an epoch. All rows of a data
            set are drawn once before one is drawn again, be it in a later epoch. None for every row once.
    Raises:
        ValueError: if a weight is so small that no row of its data set would be drawn.
    """

    batches_in_a_pool = 50

    def __init__(
        self,
        lengths: Sequence[int],
        labels: Sequence[int] | None,
        batch_size: int,
        group_by_length: bool,
        seed: int,
        dataset_ids: Sequence[int] | None = None,
        weights: Sequence[float] | None = None,
    ):
        self.lengths = torch.as_tensor(lengths)
        self.weights = self.draws = None
        if labels is not None:
            counts = Counter(labels)
            self.weights = torch.tensor([1.0 / counts[label] for label in labels], dtype=torch.float64)
        if weights is not None:
            dataset_ids = torch.as_tensor(dataset_ids)
            self.rows_of = [(dataset_ids == number).nonzero().flatten() for number in range(len(weights))]
            ends = accumulate(weight * len(rows) for weight, rows in zip(weights, self.rows_of, strict=True))
            self.draws = [end - start for start, end in pairwise([0, *map(round, ends)])]  # whose sum is rounded once
            for draws, weight, rows in zip(self.draws, weights, self.rows_of, strict=True):
                if draws < 1:
                    raise ValueError(f"weight={weight} draws none of {len(rows)} training rows: give a greater one")
        self.batch_size = batch_size
        self.group_by_length = group_by_length
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int):
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths) if self.draws is None else sum(self.draws)

    def __iter__(self) -> Iterator[int]:
        random = torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        if self.weights is not None:
            rows = torch.multinomial(self.weights, len(self), replacement=True, generator=random)
        elif self.draws is not None:
            rows = torch.cat([self._drawn(number) for number in range(len(self.draws))])
            rows = rows[torch.randperm(len(rows), generator=random)]
        else:
            rows = torch.randperm(len(self), generator=random)
        if self.group_by_length:
            rows = self._grouped(rows, random)
        return iter(rows.tolist())

    def _drawn(self, dataset_id: int) -> torch.Tensor:
        """The rows of a data set in this epoch: the next of an endless row of its random orders."""
        rows, draws = self.rows_of[dataset_id], self.draws[dataset_id]
        start, end = self.epoch * draws, (self.epoch + 1) * draws
        first, last = start // len(rows), (end - 1) // len(rows)
        orders = []
        for number in range(first, last + 1):
            random = torch.Generator().manual_seed((self.seed * 100_003 + number) * 1_009 + dataset_id)
            orders.append(rows[torch.randperm(len(rows), generator=random)])
        return torch.cat(orders)[start - first * len(rows) : end - first * len(rows)]

    def _grouped(self, rows: torch.Tensor, random: torch.Generator) -> torch.Tensor:
        """Sorts pools of random rows by length, cuts them into batches and shuffles those; a short one is last."""
        pools = rows.split(self.batch_size * self.batches_in_a_pool)
        by_length = torch.cat([pool[self.lengths[pool].argsort(stable=True)] for pool in pools])
        whole = len(rows) // self.batch_size * self.batch_size
        batches = by_length[:whole].view(-1, self.batch_size)
        batches = batches[torch.randperm(len(batches), generator=random)]
        return torch.cat([batches.flatten(), by_length[whole:]])
