"""What models with context guidance give.

Shapes: B texts, K contexts of each, n tokens, H hidden size, h heads.
"""

from dataclasses import dataclass

import torch
from transformers.utils import ModelOutput


@dataclass
class ContextGuidedModelOutput(ModelOutput):
    """Outputs of the models without a head; the tuples have one entry a layer.

    With several contexts of each text, `context_ids` (B, K), there is a K behind each B, but not in what shared layers
    (`num_context_layers`) give.

    Args:
        last_hidden_state: (B, n, H)
        pooler_output: of the pooler over the first token, (B, H)
        hidden_states: with `output_hidden_states`: the embeddings, then each layer's output, (B, n, H)
        attentions: with `output_attentions`: the weights that act on the values, (B, h, n, n)
        self_attentions: likewise, of QACG's context-guided layers only: the softmax weights, (B, h, n, n)
        quasi_attentions: as `self_attentions`: the ungated quasi-attention, (B, h, n, n)
        quasi_gates: as `self_attentions`: the gate of the quasi-attention, (B, h, n, 1)
        shared_states: with `output_shared_states`: what the first context-guided layer reads of each text, (B, n, H)
    """

    last_hidden_state: torch.FloatTensor | None = None
    pooler_output: torch.FloatTensor | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None
    self_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_gates: tuple[torch.FloatTensor, ...] | None = None
    shared_states: torch.FloatTensor | None = None


@dataclass
class ContextGuidedClassifierOutput(ModelOutput):
    """Outputs of the classifiers: `loss` (scalar, with labels), `logits` (B, labels) or (B, K, labels), and the
    model's as above."""

    loss: torch.FloatTensor | None = None
    logits: torch.FloatTensor | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None
    self_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_gates: tuple[torch.FloatTensor, ...] | None = None
    shared_states: torch.FloatTensor | None = None


WEIGHT_NAMES = ("attentions", "self_attentions", "quasi_attentions", "quasi_gates")
