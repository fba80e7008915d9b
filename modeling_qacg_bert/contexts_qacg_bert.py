"""The vector of a (target, aspect) context: a row of an embedding, or made from the words of the context.

Shapes: B texts, K contexts of each, C distinct contexts of m tokens, H hidden size.
"""

from collections.abc import Iterable
from copy import deepcopy

import torch
from torch import nn
from transformers import PreTrainedModel

from .configuration_qacg_bert import positions_of
from .encoding_qacg_bert import encode_contexts
from .processing_qacg_bert import Contexts
from .questions_qacg_bert import check_names, check_vocabulary

CONTEXTS_A_BATCH = 256


class ContextEmbedding(nn.Embedding):
    """One trainable vector for each (target, aspect) context (section 3.6)."""

    def forward(self, context_ids: torch.Tensor | None, batch_size: int) -> torch.Tensor:
        """
        Args:
            context_ids: integers in [0, num_contexts), (B,) or (B, K).
            batch_size: B of the texts.
        Returns:
            (B, H) or (B, K, H)
        Raises:
            As `rows_of_contexts`.
        """
        return rows_of_contexts(self.weight, context_ids, batch_size)


class ContextOfWords(nn.Module):
    """A vector for each context from the states of its words, so that any words make a context."""

    def __init__(self, hidden_size: int):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.projection = nn.Linear(hidden_size, hidden_size)

    def forward(self, states: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        """Of the mean over the tokens: (C, m, H), 1 at tokens and 0 at padding (C, m) -> (C, H)"""
        if attention_mask is None:
            mean = states.mean(1)
        else:
            of_tokens = attention_mask[..., None].to(states.dtype)
            mean = (states * of_tokens).sum(1) / of_tokens.sum(1)
        return self.projection(torch.tanh(self.dense(mean)))


class ToldContexts:
    """For models that have `context_embeddings` or, by `context_source`, `context_of_words`: what texts are told."""

    def make_contexts(self):
        """The module that gives contexts their vectors."""
        if self.config.context_source == "text":
            self.context_of_words = ContextOfWords(self.config.hidden_size)
        else:
            self.context_embeddings = ContextEmbedding(self.config.num_contexts, self.config.hidden_size)

    def unguided_states(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, num_layers: int | None = None
    ) -> torch.Tensor:
        """What the encoder, without guidance, or so many of its lower layers make of words: (C, m) -> (C, m, H)"""
        raise NotImplementedError

    def embed_contexts(
        self, context_input_ids: torch.Tensor, context_attention_mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The vectors of contexts in words.

        Args:
            context_input_ids: token ids of the auxiliary sentence of each context, with special tokens, (C, m).
            context_attention_mask: 1 at tokens, 0 at padding, (C, m); None where there is no padding.
        Returns:
            (C, H)
        """
        states = self.unguided_states(context_input_ids, context_attention_mask)
        return self.context_of_words(states, context_attention_mask)

    def contexts_of_texts(
        self,
        batch_size: int,
        context_ids: torch.Tensor | None,
        context_input_ids: torch.Tensor | None,
        context_attention_mask: torch.Tensor | None,
        context_embeds: torch.Tensor | None,
    ) -> torch.Tensor:
        """The vectors of each text's contexts, (B, H) or (B, K, H).

        Raises:
            ValueError: if they are told in no way or in two, or as `rows_of_contexts`.
        """
        if context_embeds is not None:
            if context_ids is not None or context_input_ids is not None:
                raise ValueError("context_embeds beside context_ids or context_input_ids: pass one")
            if context_embeds.dim() not in (2, 3) or context_embeds.shape[0] != batch_size:
                raise ValueError(
                    f"context_embeds has shape {tuple(context_embeds.shape)}: pass a vector for each of the "
                    f"{batch_size} texts, ({batch_size}, H), or K for each, ({batch_size}, K, H)"
                )
            return context_embeds
        if self.config.context_source == "id":
            if context_input_ids is not None:
                raise ValueError('context_input_ids with context_source="id": this model takes context_ids alone')
            return self.context_embeddings(context_ids, batch_size)
        if context_input_ids is None:
            raise ValueError(
                'context_input_ids is missing: for texts use pipeline("aspect-sentiment", model=..., '
                "trust_remote_code=True); or pass the tokens of each context, and in context_ids their rows"
            )
        if getattr(self, "_is_replica", False):  # torch.nn.DataParallel has given each device a part of the contexts
            raise ValueError(
                "context_input_ids in torch.nn.DataParallel, which would tell texts the contexts of others: use one "
                "GPU (CUDA_VISIBLE_DEVICES=0), or several with accelerate launch"
            )
        table = self.embed_contexts(context_input_ids, context_attention_mask)
        return rows_of_contexts(table, context_ids, batch_size)


def rows_of_contexts(table: torch.Tensor, context_ids: torch.Tensor | None, batch_size: int) -> torch.Tensor:
    """The vectors of each text's contexts.

    Args:
        table: of all contexts, (C, H).
        context_ids: rows of the table, (B,) or (B, K).
        batch_size: B of the texts.
    Returns:
        (B, H) or (B, K, H)
    Raises:
        ValueError: if the ids are missing, of another shape or type, or out of range.
        torch.AcceleratorError: if an id is out of range on a CUDA device, which would have to stop at every step for
            the error above. This one comes when the device is next waited for, at the latest where an output is read,
            and ends its use by this process, as for token ids; the reason is on standard error.
    """
    last = table.shape[0] - 1
    if context_ids is None:
        raise ValueError(
            'context_ids is missing: for texts use pipeline("aspect-sentiment", model=..., '
            f"trust_remote_code=True); or pass a tensor of {_allowed(last, batch_size)}"
        )
    if context_ids.dim() not in (1, 2) or context_ids.shape[0] != batch_size or 0 in context_ids.shape[1:]:
        raise ValueError(f"context_ids has shape {tuple(context_ids.shape)}: pass {_allowed(last, batch_size)}")
    if context_ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"context_ids has dtype {context_ids.dtype}: pass {_allowed(last, batch_size)}")
    if not torch.compiler.is_compiling() and not context_ids.is_meta:
        out_of_range = (context_ids < 0) | (context_ids > last)
        if context_ids.is_cuda:
            torch._assert_async(~out_of_range.any(), f"context_ids out of range: pass 0 to {last}")
        elif out_of_range.any():
            unknown = context_ids[out_of_range].unique().tolist()
            raise ValueError(f"context_ids holds {unknown}: pass {_allowed(last, batch_size)}")
    return nn.functional.embedding(context_ids, table)


def _allowed(last: int, batch_size: int) -> str:
    # Only for an error: torch.compile would compile anew for each batch size that is written in words.
    return (
        f"integers from 0 to {last}, one for each of the {batch_size} texts, shape ({batch_size},), or K for each, "
        f"shape ({batch_size}, K), dtype torch.int64"
    )


@torch.no_grad()
def vectors_of(
    model: PreTrainedModel, tokenizer, contexts: Contexts, context_ids: Iterable[int]
) -> dict[int, torch.Tensor]:
    """The vector of each of some contexts in words, (H,), with its id; each is computed once."""
    max_length = min(positions_of(model.config), tokenizer.model_max_length)
    tokens = encode_contexts(tokenizer, contexts, context_ids, max_length=max_length)
    vectors = {}
    for start in range(0, len(tokens), CONTEXTS_A_BATCH):
        batch = list(tokens)[start : start + CONTEXTS_A_BATCH]
        # On the right, whatever the tokenizer's side: what is on the left would move the positions of the words.
        of_batch = {"input_ids": [tokens[number] for number in batch]}
        inputs = tokenizer.pad(of_batch, padding_side="right", return_tensors="pt").to(model.device)
        embedded = model.base_model.embed_contexts(inputs["input_ids"], inputs["attention_mask"])
        vectors |= dict(zip(batch, embedded, strict=True))
    return vectors


def with_fixed_contexts(model: PreTrainedModel, tokenizer, aspects: Iterable[str] | None = None) -> PreTrainedModel:
    """A copy of a model that reads contexts in words, as one that knows some of them by their ids.

    Args:
        model: a classifier with `context_source="text"`.
        tokenizer: its own.
        aspects: a list of words; None for the aspects of its training.
    Returns:
        A model with `context_source="id"`, in evaluation mode, that answers the same about the targets of the
        configuration and these aspects, without reading their words again: for export, or where every millisecond
        counts. Its pipeline does not ask `likeness` about any.
    Raises:
        ValueError: if the model knows its contexts by their ids already, there is nothing to ask about, an aspect is
            there twice, or the tokenizer knows no piece of one.
    """
    if getattr(model.config, "context_source", None) != "text":
        raise ValueError(f"this {type(model).__name__} does not read its contexts in words: use it as it is")
    config = deepcopy(model.config)
    config.context_source = "id"
    aspects = list(config.aspects or ()) if aspects is None else aspects
    check_names("aspects", aspects, None)
    check_vocabulary(aspects, tokenizer)
    config.aspects = list(aspects)
    if not config.aspects:
        raise ValueError("aspects is empty, and the model's training named none: give some, in words")
    contexts = Contexts.from_config(config)
    config.num_contexts = len(contexts)
    fixed = type(model)(config).to(model.device, model.dtype)
    fixed.load_state_dict(model.state_dict(), strict=False)  # all but the embedding
    vectors = vectors_of(deepcopy(model).eval(), tokenizer, contexts, range(len(contexts)))
    with torch.no_grad():
        fixed.base_model.context_embeddings.weight.copy_(torch.stack(list(vectors.values())))
    return fixed.eval()
