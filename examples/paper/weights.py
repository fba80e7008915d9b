"""What a QACG-BERT does with its attention, added up batch by batch: nothing here grows with the number of texts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

BINS = 600
RANGES = {  # of equation 4's quantities
    "attention": (-1.0, 2.0),
    "gate": (-1.0, 1.0),
    "self_attention": (0.0, 1.0),
    "quasi_attention": (0.0, 1.0),
}


@dataclass
class Weights:
    """Histograms of the attention A, the gate λ_A, A_self and A_quasi, and the share of negative A.

    Args:
        num_layers, num_heads: context-guided layers and heads of the model.
    """

    num_layers: int
    num_heads: int
    counts: dict[str, np.ndarray] = field(init=False)
    """Of each quantity, (BINS,)"""
    negative: np.ndarray = field(init=False)
    """(layers, heads), how many weights are below 0"""
    total: np.ndarray = field(init=False)
    """(layers, heads)"""

    def __post_init__(self):
        self.counts = {name: np.zeros(BINS, dtype=np.int64) for name in RANGES}
        self.negative, self.total = (np.zeros((self.num_layers, self.num_heads), dtype=np.int64) for _ in range(2))

    def add(self, outputs, attention_mask: torch.Tensor):
        """Adds a batch: the outputs of a model with `output_attentions`, and attention_mask (B, n)."""
        tokens = attention_mask.bool()
        is_weight = tokens[:, None, :, None] & tokens[:, None, None, :]  # (B, 1, n, n)
        layers = zip(
            outputs.attentions[-self.num_layers :],
            outputs.quasi_gates,
            outputs.self_attentions,
            outputs.quasi_attentions,
            strict=True,
        )
        for layer, (attention, gate, self_attention, quasi_attention) in enumerate(layers):
            of_weights = is_weight.expand_as(attention)
            for name, weights in (
                ("attention", attention),
                ("self_attention", self_attention),
                ("quasi_attention", quasi_attention),
            ):
                self._count(name, weights[of_weights])
            self._count("gate", gate[..., 0][tokens[:, None].expand(gate.shape[:-1])])
            negative = ((attention < 0) & of_weights).sum(dim=(0, 2, 3))
            self.negative[layer] += negative.numpy()
            self.total[layer] += of_weights.sum(dim=(0, 2, 3)).numpy()

    def _count(self, name: str, values: torch.Tensor):
        self.counts[name] += np.histogram(values.float().numpy(), BINS, RANGES[name])[0]

    def negative_share(self) -> np.ndarray:
        """(layers, heads)"""
        return self.negative / self.total

    def negative_gates(self) -> float:
        """Share of the gates below 0, the middle of their range."""
        counts = self.counts["gate"]
        return float(counts[: BINS // 2].sum() / counts.sum())


def quasi_term(outputs, attention_mask: torch.Tensor) -> torch.Tensor:
    """λ_A A_quasi that each token receives: mean over the layers, the heads and the tokens that attend, (B, n)."""
    tokens = attention_mask.float()[:, None, :, None]  # (B, 1, n, 1), of those that attend
    received = [
        (gate * quasi_attention * tokens).sum(dim=(1, 2)) / (tokens.sum(dim=(1, 2)) * gate.shape[1])
        for gate, quasi_attention in zip(outputs.quasi_gates, outputs.quasi_attentions, strict=True)
    ]
    return torch.stack(received).mean(0)


class WordMeans:
    """Means of a figure over the occurrences of each word, by group; grows with the vocabulary only."""

    def __init__(self):
        self.sums, self.counts = defaultdict(float), defaultdict(int)

    def add(self, group: str, words: Iterable[str], values: Iterable[float]):
        """Adds occurrences; case does not count."""
        for word, value in zip(words, values, strict=True):
            self.sums[group, word.lower()] += value
            self.counts[group, word.lower()] += 1

    def lowest(self, groups: Sequence[str], top: int, at_least: int) -> Mapping[str, list[dict]]:
        """Of each group the words with the lowest means, among those that occur often enough."""
        found = {group: [] for group in groups}
        for (group, word), count in self.counts.items():
            if count >= at_least and any(character.isalpha() for character in word):
                found[group].append({"word": word, "mean": self.sums[group, word] / count, "count": count})
        return {group: sorted(words, key=lambda entry: entry["mean"])[:top] for group, words in found.items()}
