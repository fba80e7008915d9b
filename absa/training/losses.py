"""R-Drop: each row of training is shown twice, and the two answers are held together (Liang et al., NeurIPS 2021).

The loss is the mean of both cross-entropies and the mean of the two Kullback-Leibler divergences between the answers:
half the paper's, which sums the cross-entropies, with its α = 2.
"""

from collections.abc import Mapping

import torch
from torch import nn


def twice(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A batch whose rows stand there twice, (2B, ...), for two answers with different dropout."""
    return {name: torch.cat([value, value]) for name, value in inputs.items()}


def divergence(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean of both Kullback-Leibler divergences between the two answers to each row.

    Args:
        logits: of a batch that is shown twice, (2B, labels) or (2B, K, labels).
        labels: of the batch once, (B,) or (B, K), negative where there is none.
    """
    first, second = logits.float().log_softmax(-1).chunk(2)
    asked = labels >= 0
    first, second = first[asked], second[asked]  # (rows, labels)
    there = nn.functional.kl_div(first, second, reduction="batchmean", log_target=True)
    back = nn.functional.kl_div(second, first, reduction="batchmean", log_target=True)
    return (there + back) / 2
