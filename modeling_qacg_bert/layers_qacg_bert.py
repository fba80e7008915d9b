"""The layers of CG-BERT and QACG-BERT (Wu & Ong, "Context-Guided BERT for Targeted ABSA", AAAI 2021).

Shapes: B texts, K contexts of each, n tokens, H hidden size, h heads, d = H/h. Everything BERT has is BERT's own
module under BERT's own name; what the paper adds is `ContextLinear` and `ContextEmbedding`.
"""

from typing import NamedTuple

import torch
from torch import nn
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.models.bert.modeling_bert import BertIntermediate, BertOutput, BertSelfOutput

from .attention_qacg_bert import (
    QUASI_ATTENTION,
    SOFTMAX_ATTENTION,
    context_guided_query_or_key,
    quasi_gate,
)
from .configuration_qacg_bert import ContextFields, ContextGuidedBertConfig
from .contexts_qacg_bert import ContextEmbedding


class ContextLinear(nn.Linear):
    """A linear layer that BERT does not have; its weights start at N(0, `context_initializer_range`²)."""


class GateLinear(ContextLinear):
    """A linear layer of a gate; its weights start at N(0, σ²) of `gate_initializer_range`."""


def init_of_context(module: ContextLinear | ContextEmbedding, config: ContextFields):
    """Gives what an encoder does not have its initial weights."""
    std = config.context_initializer_range
    if isinstance(module, GateLinear) and config.gate_initializer_range is not None:
        std = config.gate_initializer_range
    init.normal_(module.weight, mean=0.0, std=std)
    if getattr(module, "bias", None) is not None:
        init.zeros_(module.bias)


def is_known_to_be_full(attention_mask: torch.Tensor) -> bool:
    """Whether there is no padding, as far as can be told without making an accelerator or a compiler wait."""
    return not torch.compiler.is_compiling() and attention_mask.device.type == "cpu" and bool(attention_mask.all())


def check_texts(
    config: ContextFields,
    input_ids: torch.Tensor | None,
    inputs_embeds: torch.Tensor | None,
    attention_mask: torch.Tensor | None,
) -> int:
    """The number B of texts.

    Raises:
        ValueError: if not exactly one of `input_ids` (B, n) and `inputs_embeds` (B, n, H) is given, there are more
            tokens than the model reads, or the mask is no (B, n).
    """
    if (input_ids is None) == (inputs_embeds is None):
        raise ValueError("pass exactly one of input_ids and inputs_embeds")
    batch_size, num_tokens = (input_ids if input_ids is not None else inputs_embeds).shape[:2]
    most = config.max_position_embeddings
    if most is not None and num_tokens > most:
        raise ValueError(
            f"{num_tokens} tokens, but max_position_embeddings={most}: truncate the text (`encode` of "
            "encoding_qacg_bert does)"
        )
    if attention_mask is not None and attention_mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"attention_mask has shape {tuple(attention_mask.shape)}: pass one number for each token, shape "
            f"{(batch_size, num_tokens)}"
        )
    return batch_size


def for_each_context(states: torch.Tensor, num_contexts: int) -> torch.Tensor:
    """(B, ...) -> (B·K, ...): each row K times in a row."""
    return states if num_contexts == 1 else states[:, None].expand(-1, num_contexts, *states.shape[1:]).flatten(0, 1)


class ContextMatrix(nn.Module):
    """The context matrix of a layer (section 3.6): C = [e ; X] W_cᵀ + b_c + e.

    W_c is kept as its two halves. The half that acts on the context embedding e does so once for each context of a
    text and not once for each token, at half the cost of the concatenation.
    """

    def __init__(self, hidden_size: int):
        super().__init__()
        self.from_context = ContextLinear(hidden_size, hidden_size)
        self.from_hidden = ContextLinear(hidden_size, hidden_size, bias=False)

    def forward(self, hidden_states: torch.Tensor, context_embedding: torch.Tensor) -> torch.Tensor:
        """hidden_states (B, n, H), context_embedding (B, K, H) -> (B·K, n, H)"""
        for_all_tokens = self.from_context(context_embedding) + context_embedding
        return (self.from_hidden(hidden_states)[:, None] + for_all_tokens[:, :, None]).flatten(0, 1)


class ContextGate(nn.Module):
    """The argument of a gate's activation (eq. 3 and 7): X V + C_X Vᶜ, one number for each head and token."""

    def __init__(self, head_size: int, bias: bool):
        super().__init__()
        self.from_hidden = GateLinear(head_size, 1, bias=bias)
        self.from_context = GateLinear(head_size, 1, bias=False)

    def forward(self, projected: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Query or key (B, h, n, d) and the context's (B, h, n, d) -> (B, h, n, 1)"""
        return finite(self.from_hidden(projected)) + finite(self.from_context(context))


def finite(half_of_logits: torch.Tensor) -> torch.Tensor:
    """One of the two terms of a gate's logits, such that they may be added: infinities of both signs would give NaN.

    float16 ends at 65,504, far beyond where a gate is open or shut; of the other types no sum gets near the end.
    """
    if half_of_logits.dtype != torch.float16:
        return half_of_logits
    largest = torch.finfo(torch.float16).max / 2
    return half_of_logits.clamp(-largest, largest)


class Projected(NamedTuple):
    """What attention works on: (B, h, n, d) each, and the arguments of the gates' activations, (B, h, n, 1)."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    context_query: torch.Tensor
    context_key: torch.Tensor
    query_gate_logits: torch.Tensor
    key_gate_logits: torch.Tensor


class SharedSelfAttention(nn.Module):
    """BERT's own: the layers below the context-guided ones, which all contexts of a text share."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__()
        self.config = config
        self.num_heads = config.num_attention_heads
        self.head_size = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(
        self,
        hidden_states: torch.Tensor,
        context_embedding: None,
        key_mask: torch.Tensor | None,
        output_attentions: bool,
        first_token_only: bool,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None]:
        """hidden_states (B, n, H), key_mask (B, 1, 1, n) -> (B, n, H), the weights"""
        query, key, value = (self._heads(project(hidden_states)) for project in (self.query, self.key, self.value))
        attention = SOFTMAX_ATTENTION[self._backend(output_attentions)]
        output, weights = attention(query, key, value, key_mask, self.attention_dropout)
        return output.transpose(1, 2).flatten(2), (weights,) if output_attentions else None

    def _backend(self, output_attentions: bool) -> str:
        # Only eager has the weights to show; the output is the same.
        return "eager" if output_attentions else self.config._attn_implementation

    def _heads(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.num_heads, self.head_size)).transpose(1, 2)  # (B, n, H) -> (B, h, n, d)

    @property
    def attention_dropout(self) -> float:
        return self.config.attention_probs_dropout_prob if self.training else 0.0


class ContextGuidedSelfAttention(SharedSelfAttention):
    """The projections that CG-BERT and QACG-BERT share; how they attend is the subclasses'. BERT's without context."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__(config)
        context_size = self.head_size if config.context_projection == "head" else config.hidden_size
        self.context_matrix = ContextMatrix(config.hidden_size)
        self.context_query = ContextLinear(context_size, context_size)
        self.context_key = ContextLinear(context_size, context_size)
        self.query_gate = ContextGate(self.head_size, config.gate_bias)
        self.key_gate = ContextGate(self.head_size, config.gate_bias)

    def forward(
        self,
        hidden_states: torch.Tensor,
        context_embedding: torch.Tensor | None,
        key_mask: torch.Tensor | None,
        output_attentions: bool,
        first_token_only: bool,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None]:
        """(B, n, H), context_embedding (B, K, H), key_mask (B·K, 1, 1, n) -> (B·K, n or 1, H), the weights"""
        if context_embedding is None:
            return super().forward(hidden_states, None, key_mask, output_attentions, first_token_only)
        projected = self._project(hidden_states, context_embedding)
        if first_token_only:
            rows = {name: getattr(projected, name)[:, :, :1] for name in self.of_query_positions}
            projected = projected._replace(**rows)
        output, weights = self.attend(projected, key_mask, self._backend(output_attentions))
        output = output.transpose(1, 2).flatten(2)  # (B, h, n, d) -> (B, n, H)
        return output, weights if output_attentions else None

    def _project(self, hidden_states: torch.Tensor, context_embedding: torch.Tensor) -> Projected:
        query, key, value = (
            self._heads(for_each_context(project(hidden_states), context_embedding.shape[1]))
            for project in (self.query, self.key, self.value)
        )
        context = self.context_matrix(hidden_states, context_embedding)
        context_query = self._project_context(self.context_query, context)
        context_key = self._project_context(self.context_key, context)
        query_gate, key_gate = self.query_gate(query, context_query), self.key_gate(key, context_key)
        return Projected(query, key, value, context_query, context_key, query_gate, key_gate)

    def _project_context(self, projection: nn.Module, context: torch.Tensor) -> torch.Tensor:
        if self.config.context_projection == "head":
            return projection(self._heads(context))
        return self._heads(projection(context))


class CGBertSelfAttention(ContextGuidedSelfAttention):
    """Softmax attention with context-guided queries and keys (section 3.3)."""

    of_query_positions = ("query", "context_query", "query_gate_logits")

    def attend(self, projected: Projected, key_mask: torch.Tensor | None, backend: str):
        """Projections and a mask (B, 1, 1, n) -> (B, h, n, d), weights or None"""
        query = context_guided_query_or_key(projected.query, projected.context_query, projected.query_gate_logits)
        key = context_guided_query_or_key(projected.key, projected.context_key, projected.key_gate_logits)
        output, weights = SOFTMAX_ATTENTION[backend](query, key, projected.value, key_mask, self.attention_dropout)
        return output, (weights,)


class QACGBertSelfAttention(ContextGuidedSelfAttention):
    """Softmax attention plus gated quasi-attention (section 3.4)."""

    of_query_positions = ("query", "context_query", "query_gate_logits", "key_gate_logits")

    def attend(self, projected: Projected, key_mask: torch.Tensor | None, backend: str):
        """Projections and a mask (B, 1, 1, n) -> (B, h, n, d), weights or None"""
        gate = quasi_gate(
            projected.query_gate_logits,
            projected.key_gate_logits,
            self.config.query_gate_scale,
            self.config.key_gate_scale,
        )
        return QUASI_ATTENTION[backend](
            projected.query,
            projected.key,
            projected.value,
            projected.context_query,
            projected.context_key,
            gate,
            key_mask,
            self.config.quasi_attention_scale,
            self.attention_dropout,
            self.config.quasi_form,
        )


SELF_ATTENTION = {"cg_bert": CGBertSelfAttention, "qacg_bert": QACGBertSelfAttention}


class ContextGuidedAttention(nn.Module):
    """Self-attention and BERT's projection with its residual."""

    def __init__(self, config: ContextGuidedBertConfig, is_shared: bool):
        super().__init__()
        self.self = (SharedSelfAttention if is_shared else SELF_ATTENTION[config.model_type])(config)
        self.output = BertSelfOutput(config)

    def forward(self, hidden_states, context_embedding, key_mask, output_attentions, first_token_only):
        attended, weights = self.self(hidden_states, context_embedding, key_mask, output_attentions, first_token_only)
        residual = hidden_states[:, : attended.shape[1]]
        if context_embedding is not None:
            residual = for_each_context(residual, context_embedding.shape[1])
        return self.output(attended, residual), weights


class ContextGuidedLayer(GradientCheckpointingLayer):
    """BERT's layer around context-guided attention, or, below the context-guided layers, around its own."""

    def __init__(self, config: ContextGuidedBertConfig, is_shared: bool):
        super().__init__()
        self.attention = ContextGuidedAttention(config, is_shared)
        self.intermediate = BertIntermediate(config)
        self.output = BertOutput(config)

    def forward(self, hidden_states, context_embedding, key_mask, output_attentions, first_token_only):
        attended, weights = self.attention(
            hidden_states, context_embedding, key_mask, output_attentions, first_token_only
        )
        return self.output(self.intermediate(attended), attended), weights


class ContextGuidedEncoder(nn.Module):
    """The stack of layers, under BERT's name for it."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__()
        self.layer = nn.ModuleList(
            [
                ContextGuidedLayer(config, is_shared=number < config.num_shared_layers)
                for number in range(config.num_hidden_layers)
            ]
        )
