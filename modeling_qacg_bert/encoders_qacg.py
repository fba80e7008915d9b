"""Encoders of Transformers whose upper layers are guided by a context.

Most encoders look their attention up by name (`ALL_ATTENTION_FUNCTIONS`): there a function of ours takes the place of
the backend's, which it calls for the softmax attention. MPNet and DeBERTa-v2 do not: their layers are run from here.
Shapes: B texts, K contexts of each, n tokens, H hidden size, h heads, d = H/h.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention.flex_attention import BlockMask
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, create_bidirectional_mask
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.deberta_v2.modeling_deberta_v2 import scaled_size_sqrt

from .guidance_qacg import Attended, Attention, Context, Guidance, Rotary
from .layers_qacg_bert import for_each_context

PREFIX = "guided_"


class Guided(NamedTuple):
    """What a guided layer's attention is told."""

    guidance: Guidance
    context: Context
    of_context: tuple[torch.Tensor, torch.Tensor]
    rotary: Rotary | None

    def attend(
        self, attention: Attention | None, query, key, value, key_mask: torch.Tensor | None, dropout: float
    ) -> Attended:
        """The output of the layer's attention and the weights that act on the values; all weights are collected."""
        output, weights = self.guidance(attention, query, key, value, self.of_context, key_mask, self.rotary, dropout)
        if weights is None:
            return output, None
        if self.context.weights is not None:
            self.context.weights.append(weights)
        return output, weights[0]


def eager_attention(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    """As those of the encoders: (B, h, n, d) each to (B, n, h, d), and the weights."""
    scores = query @ key.transpose(-1, -2) * scaling
    weights = (scores if attention_mask is None else scores + attention_mask).softmax(dim=-1)
    return (nn.functional.dropout(weights, dropout) @ value).transpose(1, 2), weights


def guided_attention(
    backend: str, module: nn.Module, query, key, value, attention_mask, guided: Guided | None = None, **kwargs
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """An attention function of Transformers: a backend's own, or with what it is `guided` by around it."""
    kwargs.pop("context", None)
    own = eager_attention if backend == "eager" else ALL_ATTENTION_FUNCTIONS[backend]
    if "flash" in backend:
        own = partial(with_name, own, backend)
    if guided is None:
        return own(module, query, key, value, attention_mask, **kwargs)

    def attention(*states: torch.Tensor) -> Attended:
        output, weights = own(module, *states, attention_mask, **kwargs)
        return output.transpose(1, 2), weights

    mask = within_window(guided.context.key_mask, query, kwargs.get("sliding_window"))
    is_softmax = (
        backend == "sdpa"
        and kwargs.get("scaling") == query.shape[-1] ** -0.5
        and all(kwargs.get(name) is None for name in ("position_bias", "softcap"))
    )
    output, weights = guided.attend(
        None if is_softmax else attention, query, key, value, mask, kwargs.get("dropout", 0.0)
    )
    return output.transpose(1, 2), weights


def with_name(own: Callable, backend: str, module: nn.Module, *args, **kwargs):
    """Calls a flash attention as one that its configuration names, by which it finds its kernel."""
    guided, module.config._attn_implementation_internal = module.config._attn_implementation, backend
    try:
        return own(module, *args, **kwargs)
    finally:
        module.config._attn_implementation_internal = guided


def within_window(key_mask: torch.Tensor | None, query: torch.Tensor, window: int | None) -> torch.Tensor | None:
    """The keys that each query may attend to, (B, 1, 1 or n, n), where a layer looks so far and no further."""
    num_tokens = query.shape[2]
    if window is None or num_tokens <= window:
        return key_mask
    positions = torch.arange(num_tokens, device=query.device)
    near = ((positions[:, None] - positions).abs() < window)[None, None]
    return near if key_mask is None else near & key_mask


class Guide:
    """Before an attention module is called: adds what guides it to its keyword arguments, if there is a context."""

    def __init__(self, guidance: Guidance):
        self.guidance = guidance

    def __call__(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        if (context := kwargs.get("context")) is None:
            return args, kwargs
        hidden_states = args[0] if args else kwargs["hidden_states"]
        of_context = self.guidance.project(hidden_states, context)
        rotary = kwargs.get("position_embeddings")
        return args, {**kwargs, "guided": Guided(self.guidance, context, of_context, rotary)}


class ForEachContext:
    """Before a guided layer is called: a text becomes K rows, and so do its mask and positions."""

    def __call__(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        if (context := kwargs.get("context")) is None:
            return args, kwargs
        num_rows = context.embedding.shape[0]
        told = {name: for_each_row(mask, num_rows) for name, mask in kwargs.items() if name == "attention_mask"}
        if (rotations := kwargs.get("position_embeddings")) is not None and len(rotations[0]) > 1:  # of each text
            told["position_embeddings"] = tuple(for_each_row(one, num_rows) for one in rotations)
        return tuple(for_each_row(value, num_rows) for value in args), {**kwargs, **told}


def for_each_row(states: torch.Tensor | BlockMask | None, num_rows: int) -> torch.Tensor | BlockMask | None:
    """(B, ...) -> (B·K, ...): each K times in a row; what has so many rows stays as it is."""
    if states is None:
        return None
    num_contexts = num_rows // states.shape[0]
    if not isinstance(states, BlockMask):
        return for_each_context(states, num_contexts)
    if num_contexts == 1:
        return states
    of_texts = states.mask_mod
    mask = states[torch.arange(num_rows, device=states.kv_indices.device) // num_contexts]
    mask.mask_mod = lambda row, head, query, key: of_texts(row // num_contexts, head, query, key)  # which counts B
    return mask


def layers_of(encoder: PreTrainedModel) -> nn.ModuleList:
    """The layers of an encoder.

    Raises:
        ValueError: if it has no list of as many modules as it has layers.
    """
    number = encoder.config.num_hidden_layers
    for module in encoder.modules():
        if isinstance(module, nn.ModuleList) and len(module) == number:
            return module
    raise ValueError(f"a {type(encoder).__name__} has no list of {number} layers: give another encoder")


def look_up_guided(encoder: PreTrainedModel):
    """Has an encoder look up the guided form of the attention that it is set to."""
    if not encoder.config._attn_implementation.startswith(PREFIX):
        encoder.set_attn_implementation(guided_name(encoder.config._attn_implementation))


def attach(encoder: PreTrainedModel, guidance: nn.ModuleDict):
    """Has layers of an encoder guided, each by the module of its number.

    Raises:
        ValueError: if the encoder's attention is neither looked up by name nor known here.
    """
    if is_run_here(encoder):
        return
    look_up_guided(encoder)
    layers = layers_of(encoder)
    for number, of_layer in guidance.items():
        layer = layers[int(number)]
        found = [module for module in layer.modules() if hasattr(module, "is_causal")]  # as such functions ask for it
        if len(found) != 1:
            raise ValueError(
                f"a {type(encoder).__name__} has {len(found)} attention modules in a layer that look their function "
                "up by name, and needs one: give another encoder"
            )
        widths = {module.in_features for module in found[0].modules() if isinstance(module, nn.Linear)}
        if widths - {encoder.config.hidden_size}:  # as MobileBERT's, between bottlenecks
            raise ValueError(
                f"the attention of a {type(encoder).__name__} reads states of {min(widths)} numbers, its layers give "
                f"{encoder.config.hidden_size}: give another encoder"
            )
        if found[0].is_causal:
            raise ValueError(f"a {type(encoder).__name__} reads from left to right: give an encoder")
        if getattr(found[0], "num_key_value_groups", 1) > 1:
            raise ValueError(f"a {type(encoder).__name__} shares keys among its heads: give an encoder that does not")
        found[0].register_forward_pre_hook(Guide(of_layer), with_kwargs=True)
        layer.register_forward_pre_hook(ForEachContext(), with_kwargs=True)


def run(
    encoder: PreTrainedModel,
    guidance: nn.ModuleDict,
    context: Context,
    inputs: Mapping[str, torch.Tensor | None],
    output_hidden_states: bool,
) -> BaseModelOutputWithPooling:
    """An encoder whose layers `attach` has guided.

    Args:
        context: of each text and context, B·K rows.
        inputs: of the encoder, of B texts.
    """
    if is_run_here(encoder):
        return RUNNERS[type(encoder).__name__](encoder, guidance, context, inputs, output_hidden_states)
    look_up_guided(encoder)  # `set_attn_implementation` may have been called since
    backend, show = encoder.config._attn_implementation, context.weights is not None
    if show:  # only eager has the weights to show; the output is the same
        encoder.set_attn_implementation(guided_name("eager"))
    try:
        return encoder(
            **inputs,
            context=context,
            output_attentions=show,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
    finally:
        if show:
            encoder.set_attn_implementation(backend)


def heads(states: torch.Tensor, num_heads: int) -> torch.Tensor:
    """(B, n, H) -> (B, h, n, d)"""
    return states.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def run_mpnet(
    encoder, guidance: nn.ModuleDict, context: Context, inputs, output_hidden_states: bool
) -> BaseModelOutputWithPooling:
    """MPNet: its relative positions belong to the softmax attention alone."""
    mask = inputs["attention_mask"]
    states = encoder.embeddings(
        input_ids=inputs["input_ids"], position_ids=inputs["position_ids"], inputs_embeds=inputs["inputs_embeds"]
    )
    bias = encoder.encoder.compute_position_bias(states)
    mask = create_bidirectional_mask(config=encoder.config, inputs_embeds=states, attention_mask=mask)
    bias = bias if mask is None else bias + mask  # (B, h, n, n)
    all_states, all_weights, show = [states], [], context.weights is not None
    for number, layer in enumerate(encoder.encoder.layer):
        if str(number) not in guidance:
            states, *weights = layer(states, None, bias, output_attentions=show)
        else:
            states, bias = (for_each_row(one, context.embedding.shape[0]) for one in (states, bias))
            attention = layer.attention
            attended, *weights = mpnet_attention(attention.attn, guidance[str(number)], states, bias, context)
            states = attention.LayerNorm(attention.dropout(attended) + states)
            states = layer.output(layer.intermediate(states), states)
        all_states.append(states)
        all_weights += weights
    return output_of(encoder, states, all_states if output_hidden_states else None, all_weights if show else None)


def mpnet_attention(
    module, guidance: Guidance, states: torch.Tensor, bias: torch.Tensor, context: Context
) -> Attended:
    """MPNet's attention, guided: (B, n, H) -> (B, n, H), and the weights if they are to be shown"""
    dropout = module.dropout.p if module.training else 0.0

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Attended:
        if context.weights is None:
            attended = nn.functional.scaled_dot_product_attention
            return attended(query, key, value, attn_mask=bias, dropout_p=dropout), None
        output, weights = eager_attention(module, query, key, value, bias, query.shape[-1] ** -0.5, dropout)
        return output.transpose(1, 2), weights

    projected = [heads(project(states), module.num_attention_heads) for project in (module.q, module.k, module.v)]
    guided = Guided(guidance, context, guidance.project(states, context), rotary=None)
    output, weights = guided.attend(attention, *projected, context.key_mask, dropout)
    return module.o(output.transpose(1, 2).flatten(2)), weights


def run_deberta(
    encoder, guidance: nn.ModuleDict, context: Context, inputs, output_hidden_states: bool
) -> BaseModelOutputWithPooling:
    """DeBERTa-v2: its disentangled positions belong to the softmax attention alone."""
    of_tokens = inputs["input_ids"] if inputs["inputs_embeds"] is None else inputs["inputs_embeds"]
    mask = inputs["attention_mask"]
    mask = torch.ones(of_tokens.shape[:2], device=of_tokens.device) if mask is None else mask
    states = encoder.embeddings(
        input_ids=inputs["input_ids"],
        token_type_ids=inputs["token_type_ids"],
        position_ids=inputs["position_ids"],
        mask=mask,
        inputs_embeds=inputs["inputs_embeds"],
    )
    stack, embedded, token_mask = encoder.encoder, states, mask
    mask = stack.get_attention_mask(mask).bool()  # (B, 1, n, n)
    relative = {"relative_pos": stack.get_rel_pos(states), "rel_embeddings": stack.get_rel_embedding()}
    all_states, all_weights, show = [states], [], context.weights is not None
    for number, layer in enumerate(stack.layer):
        if str(number) not in guidance:
            states, weights = layer(states, mask, **relative, output_attentions=show)
        else:
            states, mask = (for_each_row(one, context.embedding.shape[0]) for one in (states, mask))
            guided = partial(deberta_layer, layer, guidance[str(number)], context, **relative)
            if layer.gradient_checkpointing and layer.training:  # as the layer does it when it is called itself
                guided = partial(layer._gradient_checkpointing_func, guided)
            states, weights = guided(states, mask)
        if number == 0 and stack.conv is not None:
            states = stack.conv(*(for_each_row(one, states.shape[0]) for one in (embedded, states, token_mask)))
        all_states.append(states)
        all_weights.append(weights)
    return output_of(encoder, states, all_states if output_hidden_states else None, all_weights if show else None)


def deberta_layer(
    layer,
    guidance: Guidance,
    context: Context,
    states: torch.Tensor,
    mask: torch.Tensor,
    relative_pos: torch.Tensor | None,
    rel_embeddings: torch.Tensor | None,
) -> Attended:
    """A layer of DeBERTa, its attention guided: (B, n, H) -> (B, n, H), and the weights if they are to be shown"""
    module = layer.attention.self
    num_terms = 1 + sum(kind in module.pos_att_type for kind in ("c2p", "p2c"))

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Attended:
        query_rows, key_rows = query.flatten(0, 1), key.flatten(0, 1)  # (B·h, n, d)
        scale = scaled_size_sqrt(query_rows, num_terms)
        scores = query_rows @ (key_rows.transpose(-1, -2) / scale.to(query.dtype))
        if module.relative_attention:
            embeddings = module.pos_dropout(rel_embeddings)
            scores = scores + module.disentangled_attention_bias(
                query_rows, key_rows, relative_pos, embeddings, num_terms
            )
        scores = scores.view(*query.shape[:3], -1).masked_fill(~mask, torch.finfo(query.dtype).min)
        weights = scores.softmax(dim=-1)
        return module.dropout(weights) @ value, None if context.weights is None else weights

    projections = (module.query_proj, module.key_proj, module.value_proj)
    projected = [heads(project(states), module.num_attention_heads) for project in projections]
    dropout = module.dropout.p if module.training else 0.0
    guided = Guided(guidance, context, guidance.project(states, context), rotary=None)
    output, weights = guided.attend(attention, *projected, context.key_mask, dropout)
    attended = layer.attention.output(output.transpose(1, 2).flatten(2), states)
    return layer.output(layer.intermediate(attended), attended), weights


def output_of(
    encoder: PreTrainedModel,
    states: torch.Tensor,
    all_states: Sequence[torch.Tensor] | None,
    all_weights: Sequence[torch.Tensor] | None,
) -> BaseModelOutputWithPooling:
    """As the encoders give it."""
    pooler = getattr(encoder, "pooler", None)
    return BaseModelOutputWithPooling(
        last_hidden_state=states,
        pooler_output=None if pooler is None else pooler(states),
        hidden_states=None if all_states is None else tuple(all_states),
        attentions=None if all_weights is None else tuple(all_weights),
    )


RUNNERS: Mapping[str, Callable] = {"MPNetModel": run_mpnet, "DebertaV2Model": run_deberta}


def guided_name(backend: str) -> str:
    """What an encoder is to look its attention up by, so that its layers can be guided; registers it."""
    if backend.startswith(PREFIX):
        return backend
    name = PREFIX + backend.replace("flash", "FLASH")  # Transformers takes all else with "flash" for a kernel's name
    if name not in ALL_ATTENTION_FUNCTIONS:
        AttentionInterface.register(name, partial(guided_attention, backend))
        AttentionMaskInterface.register(name, ALL_MASK_ATTENTION_FUNCTIONS[backend])
    return name


def is_run_here(encoder: PreTrainedModel) -> bool:
    """Whether the layers of an encoder, which looks no attention up by name, are run from here."""
    return type(encoder).__name__ in RUNNERS
