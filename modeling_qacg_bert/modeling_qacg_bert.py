"""CG-BERT and QACG-BERT (Wu & Ong, "Context-Guided BERT for Targeted ABSA", AAAI 2021), in the order of the paper.

Shapes: B texts, K contexts of each, n tokens, H hidden size, h heads, d = H/h. Everything BERT has is BERT's own
module under BERT's own name, so that any BERT checkpoint loads into it; what the paper adds is `ContextLinear` and
`ContextEmbedding`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import nn
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_utils import PreTrainedModel
from transformers.models.bert.modeling_bert import (
    BertEmbeddings,
    BertIntermediate,
    BertOutput,
    BertPooler,
    BertSelfOutput,
)
from transformers.utils import ModelOutput
from transformers.utils.generic import can_return_tuple

from .attention_qacg_bert import (
    QUASI_ATTENTION,
    SOFTMAX_ATTENTION,
    context_guided_query_or_key,
    quasi_gate,
)
from .configuration_qacg_bert import CGBertConfig, ContextGuidedBertConfig, QACGBertConfig
from .pipeline_qacg_bert import TASK, AspectSentimentPipeline
from .triton_qacg_bert import is_available


class ContextLinear(nn.Linear):
    """A linear layer that BERT does not have; its weights start at N(0, `context_initializer_range`²)."""


class ContextEmbedding(nn.Embedding):
    """One trainable vector for each (target, aspect) context (section 3.6)."""

    def __init__(self, num_contexts: int, hidden_size: int):
        super().__init__(num_contexts, hidden_size)
        self.seen_out_of_range = None  # on the accelerator and on the host: see `_check_later`
        self.seen_out_of_range_on_host = None

    def forward(self, context_ids: torch.Tensor | None, batch_size: int) -> torch.Tensor:
        """
        Args:
            context_ids: integers in [0, num_contexts), (B,) or (B, K).
            batch_size: B of the texts.
        Returns:
            (B, H) or (B, K, H)
        Raises:
            ValueError: if the ids are missing, of another shape or type, or out of range. Off the CPU reading them
                would stop the device at every step: there an id out of range gives NaN at once and the error at a
                following call.
        """
        if context_ids is None:
            raise ValueError(f"context_ids is missing: pass a tensor of {self._allowed(batch_size)}")
        if context_ids.dim() not in (1, 2) or context_ids.shape[0] != batch_size or 0 in context_ids.shape[1:]:
            raise ValueError(f"context_ids has shape {tuple(context_ids.shape)}: pass {self._allowed(batch_size)}")
        if context_ids.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"context_ids has dtype {context_ids.dtype}: pass {self._allowed(batch_size)}")
        if torch.compiler.is_compiling() or context_ids.is_meta:
            return super().forward(context_ids)
        if context_ids.device.type != "cpu":
            return self._check_later(context_ids)
        out_of_range = (context_ids < 0) | (context_ids >= self.num_embeddings)
        if out_of_range.any():
            unknown = context_ids[out_of_range].unique().tolist()
            raise ValueError(f"context_ids holds {unknown}: pass {self._allowed(batch_size)}")
        return super().forward(context_ids)

    def _allowed(self, batch_size: int) -> str:
        # Only for an error: torch.compile would compile anew for each batch size that is written in words.
        numbers = f"integers from 0 to {self.num_embeddings - 1}"
        return (
            f"{numbers}, one for each of the {batch_size} texts, shape ({batch_size},), or K for each, shape "
            f"({batch_size}, K), dtype torch.int64"
        )

    def _check_later(self, context_ids: torch.Tensor) -> torch.Tensor:
        if self.seen_out_of_range is None or self.seen_out_of_range.device != context_ids.device:
            with torch.inference_mode(False):  # what inference mode makes, a training step could not write to
                self.seen_out_of_range = torch.zeros((), dtype=torch.bool, device=context_ids.device)
                self.seen_out_of_range_on_host = torch.zeros((), dtype=torch.bool, pin_memory=context_ids.is_cuda)
        if self.seen_out_of_range_on_host:
            self.seen_out_of_range = None
            raise ValueError(
                f"context_ids of an earlier call held a number outside 0 to {self.num_embeddings - 1}, and its "
                "outputs were NaN: check the ids where they are made"
            )
        out_of_range = (context_ids < 0) | (context_ids >= self.num_embeddings)
        self.seen_out_of_range |= out_of_range.any()
        self.seen_out_of_range_on_host.copy_(self.seen_out_of_range, non_blocking=True)
        embedded = super().forward(context_ids.clamp(0, self.num_embeddings - 1))
        return embedded.masked_fill(out_of_range[..., None], torch.nan)


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
        self.from_hidden = ContextLinear(head_size, 1, bias=bias)
        self.from_context = ContextLinear(head_size, 1, bias=False)

    def forward(self, projected: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """Query or key (B, h, n, d) and the context's (B, h, n, d) -> (B, h, n, 1)"""
        return self.from_hidden(projected) + self.from_context(context)


class Projected(NamedTuple):
    """What attention works on: (B, h, n, d) each, and the arguments of the gates' activations, (B, h, n, 1)."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    context_query: torch.Tensor
    context_key: torch.Tensor
    query_gate_logits: torch.Tensor
    key_gate_logits: torch.Tensor


class StackedWeights(NamedTuple):
    """The weights of a layer's projections and gates for one product with the hidden states, and one with the context.

    The rows of `weight` give query, key, value, the context matrix without its context, and both gates.
    """

    weight: torch.Tensor  # (4H + 2h, H)
    bias: torch.Tensor  # (4H + 2h,)
    context_weight: torch.Tensor  # (2d, d)
    context_bias: torch.Tensor  # (2d,)
    gates_on_matrix: list[torch.Tensor]  # (d,) each


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
    """The projections that CG-BERT and QACG-BERT share; how they attend is the subclasses'."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__(config)
        self.stacked = None  # see `with_stacked_weights`
        context_size = self.head_size if config.context_projection == "head" else config.hidden_size
        self.context_matrix = ContextMatrix(config.hidden_size)
        self.context_query = ContextLinear(context_size, context_size)
        self.context_key = ContextLinear(context_size, context_size)
        self.query_gate = ContextGate(self.head_size, config.gate_bias)
        self.key_gate = ContextGate(self.head_size, config.gate_bias)

    def forward(
        self,
        hidden_states: torch.Tensor,
        context_embedding: torch.Tensor,
        key_mask: torch.Tensor | None,
        output_attentions: bool,
        first_token_only: bool,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None]:
        """(B, n, H), context_embedding (B, K, H), key_mask (B·K, 1, 1, n) -> (B·K, n or 1, H), the weights"""
        # In training the gradients of many small operations cost more than stacking the weights at every step; in
        # inference it pays where they are stacked once for many steps (benchmarks/projections.py).
        stacked = self.stack() if self.training and self._is_plain() else self.stacked
        if stacked is None:
            projected = self._project(hidden_states, context_embedding)
        else:
            projected = self._project_at_once(hidden_states, context_embedding, stacked)
        if first_token_only:
            rows = {name: getattr(projected, name)[:, :, :1] for name in self.of_query_positions}
            projected = projected._replace(**rows)
        output, weights = self.attend(projected, key_mask, self._backend(output_attentions))
        output = output.transpose(1, 2).flatten(2)  # (B, h, n, d) -> (B, n, H)
        return output, weights if output_attentions else None

    def _project(self, hidden_states: torch.Tensor, context_embedding: torch.Tensor) -> Projected:
        """Module by module, as the paper has it."""
        query, key, value = (
            self._heads(for_each_context(project(hidden_states), context_embedding.shape[1]))
            for project in (self.query, self.key, self.value)
        )
        context = self.context_matrix(hidden_states, context_embedding)
        context_query = self._project_context(self.context_query, context)
        context_key = self._project_context(self.context_key, context)
        query_gate, key_gate = self.query_gate(query, context_query), self.key_gate(key, context_key)
        return Projected(query, key, value, context_query, context_key, query_gate, key_gate)

    def _is_plain(self) -> bool:
        """Whether all projections are the linear maps they were built as, so that their weights say all of them.

        Adapters, quantisation and parametrisations change a module's type, hooks its result, and what loads weights
        when they are needed replaces its forward.
        """
        return self.config.context_projection == "head" and all(
            type(module) in (nn.Linear, ContextLinear)
            and "forward" not in vars(module)
            and not (module._forward_hooks or module._forward_pre_hooks)
            and not (module._backward_hooks or module._backward_pre_hooks)
            for module in (
                *(self.query, self.key, self.value, self.context_query, self.context_key),
                *(self.context_matrix.from_context, self.context_matrix.from_hidden),
                *(self.query_gate.from_hidden, self.query_gate.from_context),
                *(self.key_gate.from_hidden, self.key_gate.from_context),
            )
        )

    def stack(self) -> StackedWeights:
        """The weights of all projections, for `_project_at_once`."""
        heads = (self.num_heads, self.head_size)
        projections, of_context = (self.query, self.key, self.value), (self.context_query, self.context_key)
        folded, constants, gates_on_matrix = [], [], []
        for projection, context_projection, gate in (
            (self.query, self.context_query, self.query_gate),
            (self.key, self.context_key, self.key_gate),
        ):
            on_hidden, on_context = gate.from_hidden.weight[0], gate.from_context.weight[0]  # (d,)
            on_matrix = on_context @ context_projection.weight  # (d,)
            folded.append(
                on_hidden @ projection.weight.unflatten(0, heads)
                + on_matrix @ self.context_matrix.from_hidden.weight.unflatten(0, heads)
            )  # (h, H)
            constant = projection.bias.view(heads) @ on_hidden + context_projection.bias @ on_context  # (h,)
            constants.append(constant if gate.from_hidden.bias is None else constant + gate.from_hidden.bias)
            gates_on_matrix.append(on_matrix)
        return StackedWeights(
            torch.cat([*(p.weight for p in projections), self.context_matrix.from_hidden.weight, *folded]),
            torch.cat([*(p.bias for p in projections), torch.zeros_like(self.query.bias), *constants]),
            torch.cat([p.weight for p in of_context]),
            torch.cat([p.bias for p in of_context]),
            gates_on_matrix,
        )

    def _project_at_once(
        self, hidden_states: torch.Tensor, context_embedding: torch.Tensor, stacked: StackedWeights
    ) -> Projected:
        """What `_project` computes, in one product with the hidden states and one with the context matrices.

        The gates are linear in both, so that their weights can be multiplied into those of the projections: they cost
        2h columns of the product, and no pass over queries and keys.
        """
        heads = (self.num_heads, self.head_size)
        num_contexts = context_embedding.shape[1]
        context_embedding = context_embedding.flatten(0, 1)  # (B·K, H)
        for_all_tokens = self.context_matrix.from_context(context_embedding) + context_embedding  # (B·K, H)
        product = nn.functional.linear(hidden_states, stacked.weight, stacked.bias)  # (B, n, 4H + 2h)
        *projected, matrix, query_gate, key_gate = for_each_context(product, num_contexts).split(
            [self.query.out_features] * 4 + [self.num_heads] * 2, dim=-1
        )
        matrix = (matrix + for_all_tokens[:, None]).unflatten(-1, heads)  # (B·K, n, h, d)
        contexts = nn.functional.linear(matrix, stacked.context_weight, stacked.context_bias)
        context_query, context_key = contexts.transpose(1, 2).chunk(2, dim=-1)  # (B·K, h, n, d) each
        gates = (
            (logits + (for_all_tokens.unflatten(-1, heads) @ on_matrix)[:, None]).transpose(1, 2)[..., None]
            for logits, on_matrix in zip((query_gate, key_gate), stacked.gates_on_matrix, strict=True)
        )  # (B·K, h, n, 1)
        return Projected(*(self._heads(states) for states in projected), context_query, context_key, *gates)

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


@dataclass
class ContextGuidedModelOutput(ModelOutput):
    """Outputs of `CGBertModel` and `QACGBertModel`; the tuples have one entry a layer.

    With several contexts of each text, `context_ids` (B, K), there is a K behind each B, but not in what shared layers
    (`num_context_layers`) give.

    Args:
        last_hidden_state: (B, n, H)
        pooler_output: BERT's pooler over the first token, (B, H)
        hidden_states: with `output_hidden_states`: the embeddings, then each layer's output, (B, n, H)
        attentions: with `output_attentions`: the weights that act on the values, (B, h, n, n)
        self_attentions: likewise, the context-guided layers of QACG-BERT only: the softmax weights, (B, h, n, n)
        quasi_attentions: as `self_attentions`: the ungated quasi-attention, (B, h, n, n)
        quasi_gates: as `self_attentions`: the gate of the quasi-attention, (B, h, n, 1)
    """

    last_hidden_state: torch.FloatTensor | None = None
    pooler_output: torch.FloatTensor | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None
    self_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_attentions: tuple[torch.FloatTensor, ...] | None = None
    quasi_gates: tuple[torch.FloatTensor, ...] | None = None


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


WEIGHT_NAMES = ("attentions", "self_attentions", "quasi_attentions", "quasi_gates")


class ContextGuidedPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config: ContextGuidedBertConfig
    custom_pipelines: ClassVar[dict] = {}  # what the configuration says of them; without a head there are none
    base_model_prefix = "bert"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ("BertEmbeddings", "ContextGuidedLayer")

    def save_pretrained(self, save_directory, *args, **kwargs):
        """As `PreTrainedModel.save_pretrained`; the configuration names all classes of the code saved beside it.

        Left to itself the base class would name the one of this head only.
        """
        family = type(self.config).__name__.removesuffix("Config")
        self.config.auto_map = {
            "AutoConfig": f"configuration_qacg_bert.{family}Config",
            "AutoModel": f"modeling_qacg_bert.{family}Model",
            "AutoModelForSequenceClassification": f"modeling_qacg_bert.{family}ForSequenceClassification",
        }
        self.config.custom_pipelines = deepcopy(self.custom_pipelines)
        super().save_pretrained(save_directory, *args, **kwargs)

    @contextmanager
    def with_stacked_weights(self) -> Iterator[None]:
        """Makes one product of the projections of each layer, for inference with weights that do not change in it.

        What is put together is no part of the model's state, and gone afterwards. Layers with wrapped modules, such
        as adapters, are left as they are.
        """
        layers = [
            module
            for module in self.modules()
            if isinstance(module, ContextGuidedSelfAttention) and module._is_plain()
        ]
        try:
            with torch.no_grad():
                for layer in layers:
                    layer.stacked = layer.stack()
                    if torch.is_autocast_enabled(self.device.type):  # which would cast them at every product
                        dtype = torch.get_autocast_dtype(self.device.type)
                        weights = (layer.stacked.weight.to(dtype), layer.stacked.context_weight.to(dtype))
                        layer.stacked = layer.stacked._replace(weight=weights[0], context_weight=weights[1])
            yield
        finally:
            for layer in layers:
                layer.stacked = None

    def get_correct_attn_implementation(self, requested_attention: str | None, is_init_check: bool = False) -> str:
        """As the base class, which knows the backends of Transformers and would refuse "triton".

        Raises:
            ImportError: if "triton" is asked for where there is no Triton or no CUDA device.
        """
        if requested_attention != "triton":
            return super().get_correct_attn_implementation(requested_attention, is_init_check)
        if not is_available():
            raise ImportError(
                'attn_implementation="triton" needs a CUDA device and Triton (pip install triton): choose "sdpa"'
            )
        return requested_attention

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        if isinstance(module, (ContextLinear, ContextEmbedding)):
            init.normal_(module.weight, mean=0.0, std=self.config.context_initializer_range)
            if getattr(module, "bias", None) is not None:
                init.zeros_(module.bias)
            return
        super()._init_weights(module)
        if isinstance(module, BertEmbeddings):
            init.copy_(module.position_ids, torch.arange(module.position_ids.shape[-1]).expand((1, -1)))
            init.zeros_(module.token_type_ids)


def is_known_to_be_full(attention_mask: torch.Tensor) -> bool:
    """Whether there is no padding, as far as can be told without making an accelerator or a compiler wait."""
    return not torch.compiler.is_compiling() and attention_mask.device.type == "cpu" and bool(attention_mask.all())


class ContextGuidedModel(ContextGuidedPreTrainedModel):
    """BERT with context-guided attention in every layer, or in the upper `num_context_layers`."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__(config)
        self.embeddings = BertEmbeddings(config)
        self.context_embeddings = ContextEmbedding(config.num_contexts, config.hidden_size)
        self.encoder = ContextGuidedEncoder(config)
        self.pooler = BertPooler(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value: nn.Embedding):
        self.embeddings.word_embeddings = value

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        context_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        first_token_only: bool = False,
    ) -> ContextGuidedModelOutput:
        r"""
        Args:
            input_ids: token ids, (B, n).
            attention_mask: 1 at tokens, 0 at padding, (B, n); None where there is no padding.
            token_type_ids: 0 for the text, 1 for the auxiliary sentence, (B, n).
            context_ids: id of the (target, aspect) context of each text, (B,), or of K contexts, (B, K): the same
                outputs as for each text K times over, at less cost.
            position_ids: (B, n) or (1, n).
            inputs_embeds: word embeddings instead of `input_ids`, (B, n, H).
            output_attentions: whether to return the weights of every layer (computed by the eager backend).
            output_hidden_states: whether to return the hidden states of every layer.
            first_token_only: whether the last layer computes what the pooler reads and no more, so that
                `last_hidden_state` is (B, 1, H). Has no effect where all states or weights are asked for.

        Raises:
            ValueError: if not exactly one of `input_ids` and `inputs_embeds` is given, or the shape of
                `attention_mask` or the `context_ids` do not fit.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass exactly one of input_ids and inputs_embeds")
        batch_size, num_tokens = (input_ids if input_ids is not None else inputs_embeds).shape[:2]
        if num_tokens > self.config.max_position_embeddings:
            raise ValueError(
                f"{num_tokens} tokens, but max_position_embeddings={self.config.max_position_embeddings}: truncate "
                "the text (`encode` of processing_qacg_bert does)"
            )
        if attention_mask is not None and attention_mask.shape != (batch_size, num_tokens):
            raise ValueError(
                f"attention_mask has shape {tuple(attention_mask.shape)}: pass one number for each token, shape "
                f"{(batch_size, num_tokens)}"
            )
        output_attentions = self.config.output_attentions if output_attentions is None else output_attentions
        output_hidden_states = (
            self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        )

        context_embedding = self.context_embeddings(context_ids, batch_size)  # (B, H) or (B, K, H)
        texts_and_contexts = context_embedding.shape[:-1]
        if len(texts_and_contexts) == 1:
            context_embedding = context_embedding[:, None]

        def by_text(states: torch.Tensor) -> torch.Tensor:  # (B·K, ...) -> (B, K, ...)
            return states.unflatten(0, texts_and_contexts) if len(texts_and_contexts) == 2 else states

        key_mask = None  # (B, 1, 1, n)
        if attention_mask is not None and not is_known_to_be_full(attention_mask):
            key_mask = attention_mask[:, None, None, :].bool()
        hidden_states = self.embeddings(
            input_ids=input_ids,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
        )
        first_token_only = first_token_only and not output_hidden_states and not output_attentions
        num_shared, last = self.config.num_shared_layers, len(self.encoder.layer) - 1
        all_hidden_states = [hidden_states] if output_hidden_states else []
        all_attentions, guided_weights = [], []
        for number, layer in enumerate(self.encoder.layer):
            is_shared = number < num_shared
            if number == num_shared and key_mask is not None:
                key_mask = for_each_context(key_mask, context_embedding.shape[1])
            if number == num_shared + 1:  # each context has become a text of its own
                context_embedding = context_embedding.flatten(0, 1)[:, None]
            hidden_states, weights = layer(
                hidden_states,
                None if is_shared else context_embedding,
                key_mask,
                output_attentions,
                first_token_only and number == last,
            )
            if output_hidden_states:
                all_hidden_states.append(hidden_states if is_shared else by_text(hidden_states))
            if output_attentions:
                weights = weights if is_shared else [by_text(quantity) for quantity in weights]
                all_attentions.append(weights[0])
                if not is_shared:
                    guided_weights.append(weights[1:])

        return ContextGuidedModelOutput(
            last_hidden_state=by_text(hidden_states),
            pooler_output=by_text(self.pooler(hidden_states)),
            hidden_states=tuple(all_hidden_states) or None,
            attentions=tuple(all_attentions) or None,
            # One tuple of quantities a layer -> one tuple of layers a quantity.
            **dict(zip(WEIGHT_NAMES[1:], zip(*guided_weights, strict=True), strict=False)),
        )


class ContextGuidedForSequenceClassification(ContextGuidedPreTrainedModel):
    """Sentiment of a text towards the context of its `context_ids`: pooled [CLS], dropout, linear (section 3.5)."""

    custom_pipelines: ClassVar[dict] = {
        TASK: {
            "impl": f"pipeline_qacg_bert.{AspectSentimentPipeline.__name__}",
            "pt": ["AutoModelForSequenceClassification"],
            "type": "text",
        }
    }

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.bert = self.model_class(config)
        dropout = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        context_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> ContextGuidedClassifierOutput:
        r"""
        Args:
            labels: class of each text in [0, num_labels), (B,), or of each of its contexts, (B, K), with -100 where
                there is none; with them `loss` is the mean cross-entropy.

        Raises:
            ValueError: if `labels` has another shape than `context_ids`.

        The other arguments and errors are those of the model without a head.
        """
        outputs = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            context_ids=context_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            first_token_only=True,
            return_dict=True,
        )
        logits = self.classifier(self.dropout(outputs.pooler_output))
        loss = None
        if labels is not None:
            if labels.shape != context_ids.shape:
                raise ValueError(
                    f"labels has shape {tuple(labels.shape)}: pass one for each of the context_ids, shape "
                    f"{tuple(context_ids.shape)}"
                )
            loss = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
        return ContextGuidedClassifierOutput(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
            **{name: outputs[name] for name in WEIGHT_NAMES if name in outputs},
        )


class QACGBertModel(ContextGuidedModel):
    """QACG-BERT without a head."""

    config_class = QACGBertConfig


class QACGBertForSequenceClassification(ContextGuidedForSequenceClassification):
    """QACG-BERT with a classifier on the pooled first token."""

    config_class = QACGBertConfig
    model_class = QACGBertModel


class CGBertModel(ContextGuidedModel):
    """CG-BERT without a head."""

    config_class = CGBertConfig


class CGBertForSequenceClassification(ContextGuidedForSequenceClassification):
    """CG-BERT with a classifier on the pooled first token."""

    config_class = CGBertConfig
    model_class = CGBertModel


__all__ = ["CGBertForSequenceClassification", "CGBertModel", "QACGBertForSequenceClassification", "QACGBertModel"]
