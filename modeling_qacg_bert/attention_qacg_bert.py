"""The attention arithmetic of CG-BERT and QACG-BERT as free functions; equation numbers are those of Wu & Ong (2021).

Shapes: B batch, n tokens, h heads, d head size. All backends take the same arguments and return the same output;
`eager` returns the attention weights too.
"""

from typing import NamedTuple

import torch
from torch import nn

from .triton_qacg_bert import quasi_attention_triton


class QuasiAttentionWeights(NamedTuple):
    """What one layer of QACG-BERT attends to: the four quantities of the paper's figures 4 and 5."""

    attention: torch.Tensor  # (B, h, n, n), in [-1, 2]
    self_attention: torch.Tensor  # (B, h, n, n), rows sum to 1
    quasi_attention: torch.Tensor  # (B, h, n, n), in [0, 1], centred in [-1/2, 1/2]; 0 at padded keys
    quasi_gate: torch.Tensor  # (B, h, n, 1), in [-1, 1]


def context_guided_query_or_key(
    projected: torch.Tensor, context: torch.Tensor, gate_logits: torch.Tensor
) -> torch.Tensor:
    """Mixes a query (or key) of CG-BERT with the query (or key) of its context.

    Args:
        projected: BERT's query or key, (B, h, n, d).
        context: the context's query or key, (B, h, n, d).
        gate_logits: argument of the gate's tanh, (B, h, n, 1).
    Returns:
        (B, h, n, d)
    """
    lam = torch.tanh(gate_logits)  # eq. 3
    return torch.lerp(projected, context, lam)  # eq. 2: (1 - λ) Q + λ C U_Q


def quasi_gate(
    query_gate_logits: torch.Tensor, key_gate_logits: torch.Tensor, query_gate_scale: float, key_gate_scale: float
) -> torch.Tensor:
    """The gate that lets the quasi-attention of a query position add (1), vanish (0) or subtract (-1).

    Both gates are indexed by the row, so there is one number for each query position.

    Args:
        query_gate_logits, key_gate_logits: arguments of the two sigmoids, (B, h, n, 1).
        query_gate_scale, key_gate_scale: β and γ.
    Returns:
        (B, h, n, 1)
    """
    lam_q = torch.sigmoid(query_gate_logits)  # eq. 7
    lam_k = torch.sigmoid(key_gate_logits)  # eq. 7
    return 1 - (query_gate_scale * lam_q + key_gate_scale * lam_k)  # eq. 8


def quasi_weights(scores: torch.Tensor, form: str, key_mask: torch.Tensor | None) -> torch.Tensor:
    """What a query position takes from each key by its context, before α and the gate.

    Args:
        scores: C_Q C_Kᵀ/√d, (B, h, n, n); they may be overwritten.
        form: "sigmoid", the paper's (eq. 6); "centred", the same less 1/2, so that a row may be of both signs;
            "normalised", the same over its sum over the keys; or "softmax" over the keys.
        key_mask: True at the keys to attend to, (B, 1, 1 or n, n); None for all of them.
    Returns:
        (B, h, n, n), 0 at padded keys.
    """
    if form == "softmax":
        return _masked_softmax(scores, key_mask)
    weights = scores.sigmoid_() if form == "sigmoid" else scores.sigmoid()
    if form == "centred":
        weights = weights - 0.5
    if key_mask is not None:
        weights = weights.masked_fill(~key_mask, 0.0)
    if form == "normalised":
        # Of a text that is padding only the sum is 0, and so are its weights.
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    return weights


def softmax_attention_eager(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_mask: torch.Tensor | None,
    dropout: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax attention that returns its weights.

    Args:
        query, key, value: (B, h, n, d).
        key_mask: True at the keys to attend to, (B, 1, 1, n); None where there is no padding.
        dropout: probability of dropping a weight.
    Returns:
        The output (B, h, n, d) and the weights before dropout (B, h, n, n).
    """
    weights = _softmax_weights(query, key, key_mask)
    return nn.functional.dropout(weights, dropout) @ value, weights


def softmax_attention_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_mask: torch.Tensor | None,
    dropout: float = 0.0,
) -> tuple[torch.Tensor, None]:
    """`softmax_attention_eager` on PyTorch's fused kernels, without the weights."""
    output = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=key_mask, dropout_p=dropout)
    return output, None


def quasi_attention_eager(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    gate: torch.Tensor,
    key_mask: torch.Tensor | None,
    quasi_attention_scale: float = 1.0,
    dropout: float = 0.0,
    form: str = "sigmoid",
) -> tuple[torch.Tensor, QuasiAttentionWeights]:
    """Softmax attention plus gated quasi-attention, with all four quantities.

    Args:
        query, key, value, context_query, context_key: (B, h, n, d).
        gate: `quasi_gate`, (B, h, n, 1).
        key_mask: True at the keys to attend to, (B, 1, 1, n); None where there is no padding.
        quasi_attention_scale: α.
        dropout: probability of dropping a weight of the composed attention.
        form: of the quasi-attention, see `quasi_weights`.
    Returns:
        The output (B, h, n, d) and the weights before dropout.
    """
    self_attention = _softmax_weights(query, key, key_mask)
    quasi_attention = quasi_weights(scaled_scores(context_query, context_key), form, key_mask)
    quasi_attention = quasi_attention_scale * quasi_attention  # eq. 6
    attention = self_attention + gate * quasi_attention  # eq. 4
    output = nn.functional.dropout(attention, dropout) @ value
    return output, QuasiAttentionWeights(attention, self_attention, quasi_attention, gate)


def quasi_attention_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    gate: torch.Tensor,
    key_mask: torch.Tensor | None,
    quasi_attention_scale: float = 1.0,
    dropout: float = 0.0,
    form: str = "sigmoid",
) -> tuple[torch.Tensor, None]:
    """`quasi_attention_eager` without the weights: the softmax half runs on PyTorch's fused kernels.

    Those for CPUs do not drop weights. With dropout the halves are added there before it, which takes one product with
    the values instead of two; elsewhere each half draws its own, to the same expectation.
    """
    gate = quasi_attention_scale * gate
    if dropout and value.device.type == "cpu":
        value, quasi_mask = _without_padding(value, form, key_mask)
        quasi = quasi_weights(scaled_scores(context_query, context_key), form, quasi_mask)  # eq. 6 without α
        weights = torch.addcmul(_softmax_weights(query, key, key_mask), gate, quasi)  # eq. 4
        return nn.functional.dropout(weights, dropout) @ value, None
    softmax_half, _ = softmax_attention_sdpa(query, key, value, key_mask, dropout)  # eq. 1, times V
    quasi_half = quasi_attended(context_query, context_key, value, form, key_mask, dropout)
    # α and λ_A are one number a row, so they may act on (n, d) outputs instead of (n, n) weights.
    return torch.addcmul(softmax_half, gate, quasi_half), None  # eq. 4, times V


def quasi_attended(
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    value: torch.Tensor,
    form: str,
    key_mask: torch.Tensor | None,
    dropout: float = 0.0,
) -> torch.Tensor:
    """The quasi weights without α, times V.

    Args:
        context_query, context_key, value: (B, h, n, d).
        form, key_mask: see `quasi_weights`.
        dropout: probability of dropping a weight.
    Returns:
        (B, h, n, d)
    """
    if form == "softmax":
        return softmax_attention_sdpa(context_query, context_key, value, key_mask, dropout)[0]
    value, key_mask = _without_padding(value, form, key_mask)
    is_mask_of_keys = key_mask is None or key_mask.shape[-2] == 1
    if is_mask_of_keys and _overflows_the_cache(context_query, context_key):
        return _quasi_half_in_blocks(context_query, context_key, value, form, key_mask)
    quasi = quasi_weights(scaled_scores(context_query, context_key), form, key_mask)  # eq. 6 without α
    return nn.functional.dropout(quasi, dropout) @ value


def _without_padding(
    value: torch.Tensor, form: str, key_mask: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Values, and what is left to mask in quasi weights of this form that are to meet them.

    A padded key counts for nothing if its value is zero, which is cheaper than masking (n, n) scores.
    """
    if key_mask is None or key_mask.shape[-2] != 1 or form not in ("sigmoid", "centred"):
        return value, key_mask
    return value.masked_fill(~key_mask.transpose(-1, -2), 0.0), None


CACHED_SCORES = 2**17  # of a text, which a core's cache holds beside keys and values
BLOCK_ROWS = 64


def _overflows_the_cache(context_query: torch.Tensor, context_key: torch.Tensor) -> bool:
    """Whether the scores of a text are best computed in parts: in inference on a CPU, where nothing keeps them."""
    if torch.compiler.is_compiling() or torch.is_grad_enabled() or context_query.device.type != "cpu":
        return False
    return context_query.shape[1] * context_query.shape[2] * context_key.shape[2] > CACHED_SCORES


def _quasi_half_in_blocks(
    context_query: torch.Tensor,
    context_key: torch.Tensor,
    value: torch.Tensor,
    form: str,
    key_mask: torch.Tensor | None,
) -> torch.Tensor:
    """The quasi weights times V, (B, h, n, d), by some rows of one text at a time."""
    output = value.new_empty(context_query.shape)
    for text in range(len(value)):
        mask = None if key_mask is None else key_mask[text]
        for start in range(0, context_query.shape[2], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            scores = scaled_scores(context_query[text, :, rows], context_key[text])
            output[text, :, rows] = quasi_weights(scores, form, mask) @ value[text]
    return output


def scaled_scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    """Dot products over the square root of the head size, (B, h, n, n)."""
    return (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)


def _softmax_weights(query: torch.Tensor, key: torch.Tensor, key_mask: torch.Tensor | None) -> torch.Tensor:
    return _masked_softmax(scaled_scores(query, key), key_mask)  # eq. 1


def _masked_softmax(scores: torch.Tensor, key_mask: torch.Tensor | None) -> torch.Tensor:
    if key_mask is not None:
        # A sum, unlike `masked_fill`, needs no pass over (n, n) gradients. Half of the least number is far below all
        # scores, and adding a score to it does not overflow.
        scores += (~key_mask).to(scores.dtype) * (torch.finfo(scores.dtype).min / 2)
    return torch.softmax(scores, dim=-1)


SOFTMAX_ATTENTION = {
    "eager": softmax_attention_eager,
    "sdpa": softmax_attention_sdpa,
    "triton": softmax_attention_sdpa,  # which is one kernel already
}
QUASI_ATTENTION = {"eager": quasi_attention_eager, "sdpa": quasi_attention_sdpa, "triton": quasi_attention_triton}
