"""The order of training rows: balanced over the labels or not, in batches of like length or not."""

from collections import Counter
from collections.abc import Iterator, Sequence

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
    """

    batches_in_a_pool = 50

    def __init__(
        self,
        lengths: Sequence[int],
        labels: Sequence[int] | None,
        batch_size: int,
        group_by_length: bool,
        seed: int,
    ):
        self.lengths = torch.as_tensor(lengths)
        self.weights = None
        if labels is not None:
            counts = Counter(labels)
            self.weights = torch.tensor([1.0 / counts[label] for label in labels], dtype=torch.float64)
        self.batch_size = batch_size
        self.group_by_length = group_by_length
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int):
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        random = torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        if self.weights is not None:
            rows = torch.multinomial(self.weights, len(self), replacement=True, generator=random)
        else:
            rows = torch.randperm(len(self), generator=random)
        if self.group_by_length:
            rows = self._grouped(rows, random)
        return iter(rows.tolist())

    def _grouped(self, rows: torch.Tensor, random: torch.Generator) -> torch.Tensor:
        """Sorts pools of random rows by length, cuts them into batches and shuffles those; a short one is last."""
        pools = rows.split(self.batch_size * self.batches_in_a_pool)
        by_length = torch.cat([pool[self.lengths[pool].argsort(stable=True)] for pool in pools])
        whole = len(rows) // self.batch_size * self.batch_size
        batches = by_length[:whole].view(-1, self.batch_size)
        batches = batches[torch.randperm(len(batches), generator=random)]
        return torch.cat([batches.flatten(), by_length[whole:]])
