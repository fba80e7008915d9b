"""R-Drop: each row of training is shown twice, and the two answers are held together (Liang et al., NeurIPS 2021)."""

import functools

import torch
from torch import nn
from transformers import PreTrainedModel


def show_rows_twice(model: PreTrainedModel):
    """Makes the model answer each row twice while it trains, with other dropout.

    The loss is the mean of both cross-entropies and the mean of the two Kullback-Leibler divergences between the
    answers: half the paper's, which sums the cross-entropies, with its α = 2.
    """
    forward = model.forward

    @functools.wraps(forward)
    def twice(**inputs):
        if not model.training:
            return forward(**inputs)
        inputs.pop("num_items_in_batch", None)  # BERT is given it by the Trainer, and does not use it
        outputs = forward(**{name: torch.cat([value, value]) for name, value in inputs.items()})
        first, second = outputs.logits.float().log_softmax(-1).chunk(2)  # (B, labels) or (B, K, labels), each
        asked = inputs["labels"] >= 0
        outputs.loss = outputs.loss + divergence(first[asked], second[asked])
        return outputs

    model.forward = twice


def divergence(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Mean of both Kullback-Leibler divergences of two log probabilities (rows, labels)."""
    there = nn.functional.kl_div(first, second, reduction="batchmean", log_target=True)
    back = nn.functional.kl_div(second, first, reduction="batchmean", log_target=True)
    return (there + back) / 2
