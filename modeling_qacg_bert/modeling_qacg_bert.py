"""CG-BERT and QACG-BERT (Wu & Ong, "Context-Guided BERT for Targeted ABSA", AAAI 2021), of the layers beside.

Shapes: B texts, K contexts of each, n tokens, H hidden size, h heads. Any BERT checkpoint loads into them: everything
BERT has is there under BERT's own name.
"""

from copy import deepcopy
from typing import ClassVar

import torch
from torch import nn
from transformers import initialization as init
from transformers.modeling_utils import PreTrainedModel
from transformers.models.bert.modeling_bert import BertEmbeddings, BertPooler
from transformers.utils.generic import can_return_tuple

from .configuration_qacg_bert import CGBertConfig, ContextGuidedBertConfig, QACGBertConfig
from .contexts_qacg_bert import ContextEmbedding, ToldContexts
from .layers_qacg_bert import (
    ContextGuidedEncoder,
    ContextLinear,
    check_texts,
    for_each_context,
    init_of_context,
    is_known_to_be_full,
)
from .outputs_qacg_bert import WEIGHT_NAMES, ContextGuidedClassifierOutput, ContextGuidedModelOutput
from .pipeline_qacg_bert import TASK, AspectSentimentPipeline
from .triton_qacg_bert import is_available


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
            init_of_context(module, self.config)
            return
        super()._init_weights(module)
        if isinstance(module, BertEmbeddings):
            init.copy_(module.position_ids, torch.arange(module.position_ids.shape[-1]).expand((1, -1)))
            init.zeros_(module.token_type_ids)


class ContextGuidedModel(ToldContexts, ContextGuidedPreTrainedModel):
    """BERT with context-guided attention in every layer, or in the upper `num_context_layers`."""

    def __init__(self, config: ContextGuidedBertConfig):
        super().__init__(config)
        self.embeddings = BertEmbeddings(config)
        self.make_contexts()
        self.encoder = ContextGuidedEncoder(config)
        self.pooler = BertPooler(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings.word_embeddings

    def set_input_embeddings(self, value: nn.Embedding):
        self.embeddings.word_embeddings = value

    def unguided_states(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, num_layers: int | None = None
    ) -> torch.Tensor:
        key_mask = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        states = self.embeddings(input_ids=input_ids)
        for layer in self.encoder.layer[:num_layers]:
            states, _ = layer(states, None, key_mask, False, False)
        return states

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
        context_input_ids: torch.Tensor | None = None,
        context_attention_mask: torch.Tensor | None = None,
        context_embeds: torch.Tensor | None = None,
        output_shared_states: bool = False,
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
            context_input_ids: with `context_source="text"` the tokens of C contexts in words, (C, m), of which
                `context_ids` then are the rows.
            context_attention_mask: 1 at their tokens, 0 at padding, (C, m); None where there is no padding.
            context_embeds: the vectors of each text's contexts, (B, H) or (B, K, H), instead of all three:
                `embed_contexts` gives those of contexts in words, once for any number of texts.
            output_shared_states: whether to return what the first context-guided layer reads.

        Raises:
            ValueError: if not exactly one of `input_ids` and `inputs_embeds` is given, or the shape of
                `attention_mask` or the `context_ids` do not fit.
        """
        batch_size = check_texts(self.config, input_ids, inputs_embeds, attention_mask)
        output_attentions = self.config.output_attentions if output_attentions is None else output_attentions
        output_hidden_states = (
            self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        )

        context_embedding = self.contexts_of_texts(
            batch_size, context_ids, context_input_ids, context_attention_mask, context_embeds
        )  # (B, H) or (B, K, H)
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
            if number == num_shared:
                shared_states = hidden_states
                if key_mask is not None:
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
            shared_states=shared_states if output_shared_states else None,
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
        context_input_ids: torch.Tensor | None = None,
        context_attention_mask: torch.Tensor | None = None,
        context_embeds: torch.Tensor | None = None,
        output_shared_states: bool = False,
    ) -> ContextGuidedClassifierOutput:
        r"""
        Args:
            labels: class of each text in [0, num_labels), (B,), or of each of its contexts, (B, K), with -100 where
                there is none; with them `loss` is the mean cross-entropy.

        Raises:
            ValueError: if `labels` has another shape than there are texts and contexts.

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
            context_input_ids=context_input_ids,
            context_attention_mask=context_attention_mask,
            context_embeds=context_embeds,
            output_shared_states=output_shared_states,
            first_token_only=True,
            return_dict=True,
        )
        logits = self.classifier(self.dropout(outputs.pooler_output))
        loss = None
        if labels is not None:
            if labels.shape != logits.shape[:-1]:
                raise ValueError(
                    f"labels has shape {tuple(labels.shape)}: pass one for each context of each text, shape "
                    f"{tuple(logits.shape[:-1])}"
                )
            loss = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
        return ContextGuidedClassifierOutput(
            loss=loss,
            logits=logits,
            hidden_states=outputs.hidden_states,
            shared_states=outputs.shared_states,
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
