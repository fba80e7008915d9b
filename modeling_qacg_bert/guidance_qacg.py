"""What context guidance (Wu & Ong, AAAI 2021) adds to a layer of any encoder.

Shapes: B rows, each a text with one context, n tokens, H hidden size, h heads, d = H/h.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from .attention_qacg_bert import (
    QuasiAttentionWeights,
    context_guided_query_or_key,
    quasi_attended,
    quasi_attention_sdpa,
    quasi_gate,
    quasi_weights,
    scaled_scores,
    softmax_attention_sdpa,
)
from .configuration_qacg import ContextGuidedConfig
from .layers_qacg_bert import ContextGate, ContextLinear, ContextMatrix

Rotary = tuple[torch.Tensor, torch.Tensor]
"""Cosines and sines of the positions, (1 or B, n, d)."""
Attended = tuple[torch.Tensor, torch.Tensor | None]
"""What attention gives, (B, h, n, d), and its weights, (B, h, n, n), if it has them to show."""
Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Attended]
"""An encoder's own attention, of query, key and value, (B, h, n, d) each."""


class Context(NamedTuple):
    """What all guided layers are told."""

    embedding: torch.Tensor
    """of each row's context, (B, 1, H)"""
    key_mask: torch.Tensor | None
    """True at tokens, (B, 1, 1, n); None where there is no padding"""
    weights: list[tuple[torch.Tensor, ...]] | None = None
    """collects what each guided layer gives beside its output, where it is to be shown"""


class Guidance(nn.Module):
    """The projections of the context in a layer, and how attention is guided by them, which is the subclasses'."""

    def __init__(self, config: ContextGuidedConfig):
        super().__init__()
        self.config = config
        self.num_heads = config.num_attention_heads
        head_size = config.hidden_size // self.num_heads
        size = head_size if config.context_projection == "head" else config.hidden_size
        self.context_matrix = ContextMatrix(config.hidden_size)
        self.context_query = ContextLinear(size, size)
        self.context_key = ContextLinear(size, size)
        self.query_gate = ContextGate(head_size, config.gate_bias)
        self.key_gate = ContextGate(head_size, config.gate_bias)

    def project(self, hidden_states: torch.Tensor, context: Context) -> tuple[torch.Tensor, torch.Tensor]:
        """The context's queries and keys, (B, h, n, d) each, from what the layer's attention reads, (B, n, H)."""
        matrix = self.context_matrix(hidden_states, context.embedding)
        if self.config.context_projection == "head":
            return self.context_query(self._heads(matrix)), self.context_key(self._heads(matrix))
        return self._heads(self.context_query(matrix)), self._heads(self.context_key(matrix))

    def _heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, n, H) -> (B, h, n, d)


class QuasiGuidance(Guidance):
    """Adds gated quasi-attention to an encoder's own (section 3.4)."""

    def forward(
        self,
        attention: Attention | None,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        of_context: tuple[torch.Tensor, torch.Tensor],
        key_mask: torch.Tensor | None,
        rotary: Rotary | None = None,
        dropout: float = 0.0,
    ) -> tuple[torch.Tensor, QuasiAttentionWeights | None]:
        """
        Args:
            attention: the encoder's own; None for softmax attention with this mask and dropout, and nothing else.
            query, key, value: (B, h, n, d), as the encoder's attention takes them.
            of_context: as `project` gives them.
            key_mask: True at the keys to attend to, (B, 1, 1 or n, n).
            rotary: what query and key were turned by.
            dropout: probability of dropping a weight; the encoder's own attention has its own.
        Returns:
            The output (B, h, n, d), and the weights before dropout where the encoder's own attention has its weights.
        """
        context_query, context_key = of_context
        config = self.config
        gate = quasi_gate(
            self.query_gate(turned_back(query, rotary), context_query),
            self.key_gate(turned_back(key, rotary), context_key),
            config.query_gate_scale,
            config.key_gate_scale,
        )
        scale, form = config.quasi_attention_scale, config.quasi_form
        if attention is None:
            return quasi_attention_sdpa(
                query, key, value, context_query, context_key, gate, key_mask, scale, dropout, form
            )
        own, own_weights = attention(query, key, value)  # eq. 1, times V
        if own_weights is None:
            quasi = quasi_attended(context_query, context_key, value, form, key_mask, dropout)
            return torch.addcmul(own, scale * gate, quasi), None  # eq. 4, times V
        quasi = scale * quasi_weights(scaled_scores(context_query, context_key), form, key_mask)  # eq. 6
        output = torch.addcmul(own, gate, nn.functional.dropout(quasi, dropout) @ value)  # eq. 4, times V
        return output, QuasiAttentionWeights(own_weights + gate * quasi, own_weights, quasi, gate)


class MixedGuidance(Guidance):
    """Mixes an encoder's queries and keys with the context's (section 3.3)."""

    def forward(
        self, attention, query, key, value, of_context, key_mask, rotary=None, dropout=0.0
    ) -> tuple[torch.Tensor, tuple[torch.Tensor] | None]:
        """As `QuasiGuidance.forward`."""
        context_query, context_key = of_context
        query_gate = self.query_gate(turned_back(query, rotary), context_query)
        key_gate = self.key_gate(turned_back(key, rotary), context_key)
        query = context_guided_query_or_key(query, turned(context_query, rotary), query_gate)
        key = context_guided_query_or_key(key, turned(context_key, rotary), key_gate)
        if attention is None:
            return softmax_attention_sdpa(query, key, value, key_mask, dropout)
        output, weights = attention(query, key, value)
        return output, None if weights is None else (weights,)


GUIDANCE = {"qacg": QuasiGuidance, "cg": MixedGuidance}


def turned(states: torch.Tensor, rotary: Rotary | None) -> torch.Tensor:
    """Queries or keys with their positions, (B, h, n, d); the same where the encoder turns none.

    The mix of two is turned where both are, since turning is linear.
    """
    if rotary is None:
        return states
    cosines, sines = (angle[:, None].float() for angle in rotary)
    first, second = states.float().chunk(2, dim=-1)
    return (states.float() * cosines + torch.cat([-second, first], dim=-1) * sines).to(states.dtype)


def turned_back(states: torch.Tensor, rotary: Rotary | None) -> torch.Tensor:
    """Queries or keys as they were before `turned`: gates depend on what stands at a position, not on where it is."""
    return states if rotary is None else turned(states, (rotary[0], -rotary[1]))
