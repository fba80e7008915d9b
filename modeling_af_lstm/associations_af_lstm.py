"""Associations of words with an aspect: elementwise product, circular correlation and circular convolution.

Shapes: n words, d width. All functions take states h (..., n, d) and an aspect s (..., d), and give (..., n, d).
"""

import torch
from torch import nn
from torch.fft import irfft, rfft
from torch.nn.functional import normalize


def hadamard(h: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """Elementwise product."""
    return h * s[..., None, :]


def correlation_by_fft(h: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """[h ⋆ s]_k = Σ_i h_i s_{(k+i) mod d} (eq. 2)."""
    h, s, dtype = with_fft(h, s)
    return irfft(rfft(h).conj() * rfft(s), n=h.shape[-1]).to(dtype)  # eq. 3


def convolution_by_fft(h: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """[h * s]_k = Σ_i h_i s_{(k-i) mod d} (eq. 4)."""
    h, s, dtype = with_fft(h, s)
    return irfft(rfft(h) * rfft(s), n=h.shape[-1]).to(dtype)


def correlation(h: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """Eq. 2 as a product with a circulant matrix."""
    k = torch.arange(s.shape[-1], device=s.device)
    return h @ s[..., (k + k[:, None]) % len(k)]


def convolution(h: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    """Eq. 4 as a product with a circulant matrix."""
    k = torch.arange(s.shape[-1], device=s.device)
    return h @ s[..., (k - k[:, None]) % len(k)]


ASSOCIATIONS = {
    "fft": {"mul": hadamard, "corr": correlation_by_fft, "conv": convolution_by_fft},
    "direct": {"mul": hadamard, "corr": correlation, "conv": convolution},
}


def with_fft(h: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.dtype]:
    """States h and aspect s, now (..., 1, d), in a dtype that has an FFT, as half precision has none; and h's."""
    dtype = torch.promote_types(h.dtype, torch.float32)
    return h.to(dtype), s[..., None, :].to(dtype), h.dtype


class Normalization(nn.Module):
    """Of states and aspect before they are associated.

    Args:
        kind: "none"; "unit_ball", to norms of at most 1; "unit", to norms of 1; or "batch", batch normalisation.
        size: d
    """

    def __init__(self, kind: str, size: int):
        super().__init__()
        self.kind = kind
        if kind == "batch":
            self.states = nn.BatchNorm1d(size)
            self.aspect = nn.BatchNorm1d(size)

    def forward(
        self, states: torch.Tensor, aspect: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """
        Args:
            states: (B, n, d)
            aspect: (B, d)
            mask: True at the words of the text, (B, n); the statistics of a batch are over these.
        """
        if self.kind == "unit":
            return normalize(states, dim=-1), normalize(aspect, dim=-1)
        if self.kind == "unit_ball":
            return into_unit_ball(states), into_unit_ball(aspect)
        if self.kind == "batch":
            normalised = torch.zeros_like(states)
            normalised[mask] = self.states(states[mask]).to(states.dtype)
            return normalised, self.aspect(aspect)
        return states, aspect


def into_unit_ball(vectors: torch.Tensor) -> torch.Tensor:
    return vectors / torch.linalg.vector_norm(vectors, dim=-1, keepdim=True).clamp(min=1)


__all__ = ["ASSOCIATIONS", "Normalization"]
