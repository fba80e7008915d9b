"""What stands between the encoder and the classifier: BiLSTM, global context, self-attention.

Shapes: B sentences, n positions, h width of the encoder, d width of the states (both directions together).
"""

import torch
from torch import nn
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .configuration_global_context import GlobalContextConfig


class BiLSTM(nn.LSTM):
    """A bidirectional LSTM that reads the real positions of each row and nothing else."""

    def __init__(self, config: GlobalContextConfig):
        super().__init__(
            config.input_size, config.lstm_size // 2, config.num_lstm_layers, batch_first=True, bidirectional=True
        )

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """
        Args:
            states: (B, n, h)
            mask: True at real positions, (B, n), on whichever side the padding is; None where all are real.
        Returns:
            (B, n, d), the forward states first; zeros at padding.
        """
        if mask is None:
            return super().forward(states)[0]
        order = mask.int().argsort(dim=1, descending=True, stable=True)[..., None]  # (B, n, 1), real positions first
        packed = pack_padded_sequence(
            states.gather(1, order.expand_as(states)),
            mask.sum(dim=1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        read, _ = pad_packed_sequence(super().forward(packed)[0], batch_first=True, total_length=states.shape[1])
        return torch.zeros_like(read).scatter(1, order.expand_as(read), read)


def states_at_ends(states: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """The states at the first and the last real position of each row, (B, n, d) -> two of (B, d)."""
    if mask is None:
        return states[:, 0], states[:, -1]
    rows = torch.arange(len(states), device=states.device)
    first = mask.int().argmax(dim=1)
    last = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
    return states[rows, first], states[rows, last]


def global_state_of(states: torch.Tensor, mask: torch.Tensor | None, config: GlobalContextConfig) -> torch.Tensor:
    """What both directions know at the end of their way through the sentence, (B, n, d) -> (B, d)."""
    first, last = states_at_ends(states, mask)
    if config.context_source == "first":
        return first
    half = states.shape[-1] // 2
    forward, backward = last[:, :half], first[:, half:]
    # Crossed, so that the gates fuse a forward state with what the backward direction knows.
    return torch.cat([backward, forward] if config.context_direction == "cross" else [forward, backward], dim=-1)


class GlobalContext(nn.Module):
    """The global context mechanism: two independent gates for each component of a state and of the global state."""

    def __init__(self, config: GlobalContextConfig):
        super().__init__()
        size = config.state_size
        self.fusion = config.context_fusion
        self.is_gated = config.context_gates
        if self.is_gated:
            self.gate_hidden = nn.Linear(2 * size, size)
            self.gate_global = nn.Linear(2 * size, size)
            self.gate_dropout = nn.Dropout(config.gate_dropout)
        self.context_dropout = nn.Dropout(config.context_dropout)

    def forward(
        self, states: torch.Tensor, global_state: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor] | None]:
        """
        Args:
            states: (B, n, d)
            global_state: (B, d)
        Returns:
            the joined states, (B, n, d), or (B, n, 2d) with `context_fusion="concat"`; and the gates of
            the states and of the global state, (B, n, d) each, None without gates.
        """
        h, g, gates = states, global_state[:, None], None  # (B, n, d), (B, 1, d)
        if self.is_gated:
            gates = self.gates(h, g)
        g = self.context_dropout(g.expand_as(h))
        if gates is not None:
            i_h, i_g = gates
            h, g = i_h * h, i_g * g
        return (h + g if self.fusion == "sum" else torch.cat([h, g], dim=-1)), gates  # eq. 9

    def gates(self, h: torch.Tensor, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """i_H = σ(W_H O + b_H) and i_G = σ(W_G O + b_G) of O_t = G ‖ H_t; from H (B, n, d) and G (B, 1, d)."""
        if self.training and self.gate_dropout.p:
            o = self.gate_dropout(torch.cat([g.expand_as(h), h], dim=-1))  # (B, n, 2d)
            return torch.sigmoid(self.gate_hidden(o)), torch.sigmoid(self.gate_global(o))  # eq. 5-8
        # The same from half of the products, since those with G are the same for all positions.
        gates = []
        for gate in (self.gate_hidden, self.gate_global):
            of_global, of_hidden = gate.weight.chunk(2, dim=1)  # (d, d) each
            gates.append(torch.sigmoid(linear(h, of_hidden, gate.bias) + linear(g, of_global)))  # eq. 5-8
        return tuple(gates)


class SelfAttention(nn.Module):
    """Multi-head self-attention over the real positions, and a norm behind the residual."""

    def __init__(self, config: GlobalContextConfig):
        super().__init__()
        size = config.state_size
        self.num_heads = config.num_attention_heads
        self.dropout = config.attention_dropout
        self.in_proj = nn.Linear(size, 3 * size)
        self.out_proj = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size) if config.attention_norm else nn.Identity()

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """
        Args:
            states: (B, n, d)
            mask: True at real positions, (B, n); None where all are real.
        Returns:
            (B, n, d)
        """
        query, key, value = (
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, heads, n, d/heads)
            for part in self.in_proj(states).chunk(3, dim=-1)
        )
        key_mask = None if mask is None else mask[:, None, None]  # (B, 1, 1, n)
        dropout = self.dropout if self.training else 0.0
        attended = scaled_dot_product_attention(query, key, value, key_mask, dropout)  # eq. 11
        attended = attended.transpose(1, 2).flatten(2)  # (B, n, d)
        return self.norm(states + self.out_proj(attended))  # eq. 12


__all__ = ["BiLSTM", "GlobalContext", "SelfAttention", "global_state_of"]
