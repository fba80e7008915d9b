"""A linear-chain conditional random field: log-partition, marginals and the best tags, in float32 or float64.

Shapes: B sentences, m positions, u labels. The real positions of a row stand first, `lengths` (B,) of them; what
stands behind them has no effect.
"""

from typing import NamedTuple

import torch
from torch import nn

from .tags_global_context import Transitions

IGNORED = -100  # a label that is none, as in torch.nn.functional.cross_entropy
# Of what is forbidden. -inf gives nan gradients where all ways into a label are forbidden, and large scores outweigh
# the -1e4 of other implementations.
FORBIDDEN = -1e30


class Chain(NamedTuple):
    """Scores of tags that stand side by side."""

    start: torch.Tensor
    """(u,)"""
    transitions: torch.Tensor
    """(u, u): from a row's to a column's label"""
    end: torch.Tensor
    """(u,)"""

    @classmethod
    def without_scores(cls, like: torch.Tensor) -> "Chain":
        """The chain of a softmax over each position: zeros of the device and precision of `like`, (..., u)."""
        labels = like.shape[-1]
        return cls(like.new_zeros(labels), like.new_zeros(labels, labels), like.new_zeros(labels))

    def constrained(self, allowed: Transitions) -> "Chain":
        """With scores so low, where something is forbidden, that it has no probability."""
        is_forbidden = (~torch.tensor(part, device=self.start.device) for part in allowed)
        return Chain(*(scores.masked_fill(mask, FORBIDDEN) for scores, mask in zip(self, is_forbidden, strict=True)))

    def scaled(self, factor: float) -> "Chain":
        """With all scores times a factor."""
        return Chain(*(scores * factor for scores in self))


class Positions:
    """The positions of each row that count, brought to the front, and back to where they were.

    Args:
        mask: (B, n), True or 1 at the positions of a row that count, of which there may be none.
    """

    def __init__(self, mask: torch.Tensor):
        mask = mask.bool()
        self.lengths = mask.sum(dim=1)  # (B,)
        self.longest = max(1, int(self.lengths.max()))
        order = mask.int().argsort(dim=1, descending=True, stable=True)
        self.order = order[:, : self.longest]  # (B, m)
        self.is_real = torch.arange(self.longest, device=mask.device) < self.lengths[:, None]  # (B, m)

    @classmethod
    def of(cls, mask: torch.Tensor | None, values: torch.Tensor) -> "Positions":
        """Those of a mask, or without one all of the values (B, n, u)."""
        return cls(torch.ones(values.shape[:2], device=values.device) if mask is None else mask)

    def front(self, values: torch.Tensor) -> torch.Tensor:
        """(B, n) -> (B, m), (B, n, u) -> (B, m, u)."""
        return values.gather(1, self._index(values))

    def back(self, values: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """`others` (B, n) or (B, n, u), with `values` (B, m) or (B, m, u) at the positions that count."""
        is_real = self.is_real if values.dim() == 2 else self.is_real[..., None]
        values = torch.where(is_real, values, self.front(others))
        return others.scatter(1, self._index(values), values)

    def _index(self, values: torch.Tensor) -> torch.Tensor:
        return self.order if values.dim() == 2 else self.order[..., None].expand(-1, -1, values.shape[-1])


def log_forward(emissions: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Log of the sum over all ways to each label of each position, (B, m, u); behind a row's end its last ones."""
    log_sums = [chain.start + emissions[:, 0]]  # (B, u)
    for position in range(1, emissions.shape[1]):
        ways = log_sums[-1][:, :, None] + chain.transitions  # (B, u, u)
        is_real = (position < lengths)[:, None]
        log_sums.append(torch.where(is_real, ways.logsumexp(1) + emissions[:, position], log_sums[-1]))
    return torch.stack(log_sums, dim=1)


def log_backward(emissions: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Log of the sum over all ways from each label of each position to the end, (B, m, u)."""
    log_sums = [chain.end.expand(len(emissions), -1)]
    for position in range(emissions.shape[1] - 1, 0, -1):
        ways = chain.transitions + (emissions[:, position] + log_sums[-1])[:, None, :]  # (B, u, u)
        is_real = (position < lengths)[:, None]
        log_sums.append(torch.where(is_real, ways.logsumexp(2), log_sums[-1]))
    return torch.stack(log_sums[::-1], dim=1)


def log_partition(emissions: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Log of the sum over all sequences of labels, (B,); 0 for a row without positions."""
    log_sums = (log_forward(emissions, lengths, chain)[:, -1] + chain.end).logsumexp(-1)
    return log_sums.where(lengths > 0, 0)


def log_marginals(emissions: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """Log of the probability of each label at each position, over all sequences, (B, m, u)."""
    sums = log_forward(emissions, lengths, chain) + log_backward(emissions, lengths, chain)
    return sums - sums.logsumexp(-1, keepdim=True)


def log_score(emissions: torch.Tensor, labels: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """The score of one sequence of labels a row, (B, m) -> (B,); 0 for a row without positions."""
    is_real = torch.arange(labels.shape[1], device=labels.device) < lengths[:, None]
    labels = labels.where(is_real, 0)
    of_positions = emissions.gather(2, labels[..., None])[..., 0].where(is_real, 0).sum(1)
    of_transitions = chain.transitions[labels[:, :-1], labels[:, 1:]].where(is_real[:, 1:], 0).sum(1)
    last = labels.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
    of_ends = (chain.start[labels[:, 0]] + chain.end[last]).where(lengths > 0, 0)
    return of_positions + of_transitions + of_ends


def viterbi(emissions: torch.Tensor, lengths: torch.Tensor, chain: Chain) -> torch.Tensor:
    """The most probable sequence of labels of each row, (B, m), -100 behind its end; of equals the first."""
    scores, best_before = chain.start + emissions[:, 0], []
    stay = torch.arange(emissions.shape[2], device=emissions.device).expand_as(scores)
    for position in range(1, emissions.shape[1]):
        ways = scores[:, :, None] + chain.transitions  # (B, u, u)
        best = ways.argmax(1)  # (B, u)
        is_real = (position < lengths)[:, None]
        best_before.append(torch.where(is_real, best, stay))
        scores = torch.where(is_real, ways.gather(1, best[:, None])[:, 0] + emissions[:, position], scores)
    path = [(scores + chain.end).argmax(-1)]  # (B,)
    for best in reversed(best_before):
        path.append(best.gather(1, path[-1][:, None])[:, 0])
    labels = torch.stack(path[::-1], dim=1)
    is_real = torch.arange(labels.shape[1], device=labels.device) < lengths[:, None]
    return labels.masked_fill(~is_real, IGNORED)


def negative_log_likelihood(emissions: torch.Tensor, labels: torch.Tensor, chain: Chain) -> torch.Tensor:
    """The mean over the sentences that have labels, from emissions (B, n, u) and labels (B, n), -100 where is none."""
    labelled = Positions(labels != IGNORED)
    emissions, labels = labelled.front(emissions), labelled.front(labels)
    of_sentences = log_partition(emissions, labelled.lengths, chain) - log_score(
        emissions, labels, labelled.lengths, chain
    )
    return of_sentences.sum() / (labelled.lengths > 0).sum().clamp(min=1)


def log_probability(
    emissions: torch.Tensor, allowed: torch.Tensor, lengths: torch.Tensor, chain: Chain
) -> torch.Tensor:
    """Log of the probability that every label of a row is one of those allowed at its position, (B,).

    Args:
        emissions: (B, m, u)
        allowed: (B, m, u) bool
    """
    of_allowed = log_partition(emissions.masked_fill(~allowed, FORBIDDEN), lengths, chain)
    return of_allowed - log_partition(emissions, lengths, chain)


class ConditionalRandomField(nn.Module):
    """Learnt scores of neighbouring labels.

    Args:
        num_labels: u.
    """

    def __init__(self, num_labels: int):
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(num_labels, num_labels))
        self.start_transitions = nn.Parameter(torch.empty(num_labels))
        self.end_transitions = nn.Parameter(torch.empty(num_labels))
        self.reset_parameters()

    def reset_parameters(self):
        """U(-0.1, 0.1)."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def chain(self, like: torch.Tensor) -> Chain:
        """The scores, in the precision and on the device of `like`."""
        return Chain(self.start_transitions.to(like), self.transitions.to(like), self.end_transitions.to(like))


__all__ = ["Chain", "ConditionalRandomField"]
