"""Losses: R-Drop, class weights, probabilities in place of labels, and labels that some rows do not have.

R-Drop: each row of training is shown twice, and the two answers are held together (Liang et al., NeurIPS 2021).

The loss is the mean of both cross-entropies and the mean of the two Kullback-Leibler divergences between the answers:
half the paper's, which sums the cross-entropies, with its α = 2.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn


def twice(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A batch whose rows stand there twice, (2B, ...), for two answers with different dropout.

    So do contexts in words, (2C, m): the second answers are told theirs with another dropout too.
    """
    shown = {name: torch.cat([value, value]) for name, value in inputs.items()}
    if "context_input_ids" in inputs:
        ids = inputs["context_ids"]
        shown["context_ids"] = torch.cat([ids, ids + len(inputs["context_input_ids"])])
    return shown


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


def cross_entropy_to(probabilities: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of rows to probabilities in place of labels.

    Args:
        probabilities, logits: (B, labels) or (B, K, labels).
        labels: (B,) or (B, K), negative where there is none; those rows do not count.
    """
    asked = labels >= 0
    return nn.functional.cross_entropy(logits[asked].float(), probabilities[asked])


def among_own_labels(logits: torch.Tensor, label_mask: torch.Tensor) -> torch.Tensor:
    """Logits in whose softmax a row has no other labels than those of its data set.

    Args:
        logits: (B, labels) or (B, K, labels).
        label_mask: which labels the data set of each row has, (B, labels).
    Returns:
        The same shape, in float32 or better. What a row does not have is float32's least number, not -inf:
        `divergence` takes differences.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    label_mask = label_mask.view(len(label_mask), *[1] * (logits.dim() - 2), -1)
    return logits.masked_fill(~label_mask, torch.finfo(torch.float32).min)


def masked_cross_entropy(logits: torch.Tensor, labels: torch.Tensor, label_mask: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of rows, each among the labels of its data set.

    Args:
        logits, label_mask: as of `among_own_labels`.
        labels: (B,) or (B, K), -100 where there is none.
    """
    return nn.functional.cross_entropy(among_own_labels(logits, label_mask).flatten(0, -2), labels.flatten())


def balanced_loss(labels: Sequence[int], num_labels: int, label_smoothing: float) -> Callable:
    """Cross-entropy in which each label of the training rows counts as much as any other, for the Trainer.

    Args:
        labels: of all training rows.
        num_labels: classes; one that no row has weighs nothing.
        label_smoothing: ε of the target (1 - ε) onehot + ε / num_labels, whose every class has its weight.
    Returns:
        (outputs, labels, num_items_in_batch) -> loss, the mean over the rows of a step for weights of mean 1.
    """
    counts = Counter(labels)
    weights = torch.tensor([len(labels) / (len(counts) * counts[c]) if counts[c] else 0.0 for c in range(num_labels)])

    def loss(outputs, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None = None) -> torch.Tensor:
        """`outputs.logits` (B, labels) or (B, K, labels) and labels (B,) or (B, K), -100 where there is none."""
        logits = outputs.logits.float().flatten(0, -2)
        labels = labels.flatten()
        total = nn.functional.cross_entropy(
            logits, labels, weights.to(logits), reduction="sum", label_smoothing=label_smoothing
        )
        return total / ((labels >= 0).sum() if num_items_in_batch is None else num_items_in_batch)

    return loss
