"""Context guidance (Wu & Ong, "Context-Guided BERT for Targeted ABSA", AAAI 2021) around any encoder.

On BERT these compute what `QACGBertModel` and `CGBertModel` do, whose classifiers compute only the first token in the
last layer. Shapes: B texts, K contexts of each, n tokens, H hidden size.
"""

import re
from copy import deepcopy
from dataclasses import fields
from inspect import signature
from typing import ClassVar

import torch
from torch import nn
from transformers import AutoConfig, AutoModel
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_utils import PreTrainedModel
from transformers.utils import logging
from transformers.utils.generic import can_return_tuple

from .configuration_qacg import CGConfig, ContextGuidedConfig, QACGConfig
from .contexts_qacg_bert import ContextEmbedding, ToldContexts
from .encoders_qacg import attach, run
from .guidance_qacg import GUIDANCE, Context
from .layers_qacg_bert import ContextLinear, check_texts, for_each_context, init_of_context, is_known_to_be_full
from .outputs_qacg_bert import WEIGHT_NAMES, ContextGuidedClassifierOutput, ContextGuidedModelOutput
from .pipeline_qacg_bert import TASK, AspectSentimentPipeline

OF_THE_FILE = ("cache_dir", "force_download", "local_files_only", "proxies", "revision", "subfolder", "token")


class FirstTokenPooler(nn.Module):
    """BERT's pooler, for encoders that have none."""

    def __init__(self, hidden_size: int):
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """(B, n, H) -> (B, H)"""
        return torch.tanh(self.dense(states[:, 0]))


class GuidedPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config: ContextGuidedConfig
    custom_pipelines: ClassVar[dict] = {}  # what the configuration says of them; without a head there are none
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    # The backend of the softmax attention is the encoder's, which says what it supports.
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = True

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *model_args, config=None, **kwargs):
        """As `PreTrainedModel.from_pretrained`; a checkpoint of an encoder becomes the encoder of a new model.

        Args:
            pretrained_model_name_or_path: folder or Hub id of a model of this family, or of any encoder.
            config: for an encoder, the new model's configuration, whose `encoder_config` may be None.
            kwargs: for an encoder without `config`, fields of the new model's configuration; the other arguments are
                those of `PreTrainedModel.from_pretrained`.
        Raises:
            ValueError: if the checkpoint of an encoder is of another type than `encoder_config`, or lacks some of its
                weights, which would be random. A pooler that it lacks is new.
        """
        of_the_file = {name: kwargs[name] for name in OF_THE_FILE if name in kwargs}
        found = {}
        if pretrained_model_name_or_path is not None:
            found, _ = PreTrainedConfig.get_config_dict(pretrained_model_name_or_path, **of_the_file)
        if found.get("model_type", cls.config_class.model_type) == cls.config_class.model_type:
            return super().from_pretrained(pretrained_model_name_or_path, *model_args, config=config, **kwargs)
        return cls._from_encoder(pretrained_model_name_or_path, config, of_the_file, **kwargs)

    @classmethod
    def _from_encoder(
        cls, name: str, config: ContextGuidedConfig | None, of_the_file: dict, output_loading_info=False, **kwargs
    ):
        encoder_config = AutoConfig.from_pretrained(name, **of_the_file)
        if config is None:
            known = {"num_labels", *(field.name for field in fields(cls.config_class))} - {"dtype"}
            chosen = {field: kwargs.pop(field) for field in known & kwargs.keys()}
            config = cls.config_class(encoder_config=encoder_config, **chosen)
        config = deepcopy(config)  # the user's own stays as it is
        if config.encoder_config is None:
            config.encoder_config = encoder_config
            config.validate()
        if config.encoder_config.model_type != encoder_config.model_type:
            raise ValueError(
                f"encoder_config is of a {config.encoder_config.model_type}, {name} holds a "
                f"{encoder_config.model_type}: leave encoder_config out, or give another checkpoint"
            )
        encoder, loading = AutoModel.from_pretrained(
            name, config=config.encoder_config, output_loading_info=True, **kwargs
        )
        # Checkpoints with a masked-language-model head have no pooler: it is new, as other models for classes have it.
        of_pooler = {key for key in loading["missing_keys"] if key.startswith("pooler.")}
        random = {*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])} - of_pooler
        if random := sorted(random):
            raise ValueError(
                f"{name} lacks {len(random)} weights of its encoder, which would stay random: "
                f"{', '.join(random[:5])}. Give a complete checkpoint"
            )
        model = cls._from_config(config, attn_implementation=encoder.config._attn_implementation, dtype=encoder.dtype)
        model.base_model.encoder.load_state_dict(encoder.state_dict())
        model.eval().to(encoder.device)
        of_encoder = f"{model.base_model_prefix}.encoder." if model.base_model is not model else "encoder."
        new = {key for key in model.state_dict() if not key.startswith(of_encoder)}
        new |= {f"{of_encoder}{key}" for key in of_pooler}
        if output_loading_info:
            return model, loading | {"missing_keys": new}
        by_kind = sorted({re.sub(r"\d+", "{...}", key) for key in new})
        told = "%s has weights that %s lacks. Train them first: %s"
        logging.get_logger(__name__).warning(told, cls.__name__, name, ", ".join(by_kind))
        return model

    def save_pretrained(self, save_directory, *args, **kwargs):
        """As `PreTrainedModel.save_pretrained`; the configuration names all classes of the code saved beside it.

        Left to itself the base class would name the one of this head only.
        """
        family = type(self.config).__name__.removesuffix("Config")
        self.config.auto_map = {
            "AutoConfig": f"configuration_qacg.{family}Config",
            "AutoModel": f"modeling_qacg.{family}Model",
            "AutoModelForSequenceClassification": f"modeling_qacg.{family}ForSequenceClassification",
        }
        self.config.custom_pipelines = deepcopy(self.custom_pipelines)
        super().save_pretrained(save_directory, *args, **kwargs)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        if isinstance(module, (ContextLinear, ContextEmbedding)):
            init_of_context(module, self.config)
        else:
            super()._init_weights(module)


class GuidedModel(ToldContexts, GuidedPreTrainedModel):
    """An encoder with context-guided attention in every layer, or in the upper `num_context_layers`."""

    def __init__(self, config: ContextGuidedConfig):
        super().__init__(config)
        if config.encoder_config is None:
            raise ValueError(
                "encoder_config is None: give that of an encoder, or load an encoder's checkpoint with from_pretrained"
            )
        self.encoder = AutoModel.from_config(config.encoder_config)
        self.encoder_inputs = frozenset(signature(self.encoder.forward).parameters)
        self.make_contexts()
        # By the number of the layer, so that a model with fewer guided layers finds those of its layers.
        guided = range(config.num_shared_layers, config.num_hidden_layers)
        self.guidance = nn.ModuleDict({str(number): GUIDANCE[config.model_type](config) for number in guided})
        if getattr(self.encoder, "pooler", None) is None:
            self.own_pooler = FirstTokenPooler(config.hidden_size)
        attach(self.encoder, self.guidance)
        self.post_init()

    @property
    def pooler(self) -> nn.Module:
        """The encoder's, or one of its own where that has none."""
        return getattr(self, "own_pooler", None) or self.encoder.pooler

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Embedding):
        self.encoder.set_input_embeddings(value)

    def unguided_states(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, num_layers: int | None = None
    ) -> torch.Tensor:
        if num_layers is None:
            return self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        outputs = self.encoder(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True)
        return outputs.hidden_states[num_layers]

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
        context_input_ids: torch.Tensor | None = None,
        context_attention_mask: torch.Tensor | None = None,
        context_embeds: torch.Tensor | None = None,
        output_shared_states: bool = False,
    ) -> ContextGuidedModelOutput:
        r"""
        Args:
            input_ids: token ids, (B, n).
            attention_mask: 1 at tokens, 0 at padding, (B, n); None where there is no padding.
            token_type_ids, position_ids: (B, n), handed to encoders that take them.
            context_ids: id of the (target, aspect) context of each text, (B,), or of K contexts, (B, K): the same
                outputs as for each text K times over, at less cost where layers are shared.
            inputs_embeds: word embeddings instead of `input_ids`, (B, n, H).
            output_attentions: whether to return the weights of every layer (computed by the eager backend).
            output_hidden_states: whether to return the states of all layers.
            context_input_ids, context_attention_mask, context_embeds: contexts in words, as of `QACGBertModel`.
            output_shared_states: whether to return what the first context-guided layer reads.

        Raises:
            ValueError: as `check_texts`, or if `context_ids` do not fit.
        """
        batch_size = check_texts(self.config, input_ids, inputs_embeds, attention_mask)
        embedding = self.contexts_of_texts(
            batch_size, context_ids, context_input_ids, context_attention_mask, context_embeds
        )  # (B, H) or (B, K, H)
        texts_and_contexts = embedding.shape[:-1]
        num_contexts = texts_and_contexts[1] if len(texts_and_contexts) == 2 else 1
        num_shared = self.config.num_shared_layers

        def by_text(number: int, states: torch.Tensor) -> torch.Tensor:
            """Of a layer: of each text and context, (B·K, ...) -> (B, K, ...), or, if it is shared, of each text."""
            if number >= num_shared:
                return states.unflatten(0, texts_and_contexts)
            # Of what the first guided layer reads Transformers records the rows of contexts, which are all the same.
            return states if states.shape[0] == batch_size else states[::num_contexts]

        inputs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": token_type_ids,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
        }
        key_mask = None  # (B·K, 1, 1, n)
        if attention_mask is not None and not is_known_to_be_full(attention_mask):
            key_mask = for_each_context(attention_mask[:, None, None, :].bool(), num_contexts)
        output_attentions = self.config.output_attentions if output_attentions is None else output_attentions
        weights = [] if output_attentions else None  # of the guided layers
        output_hidden_states = (
            self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        )
        outputs = run(
            self.encoder,
            self.guidance,
            Context(embedding.reshape(-1, 1, embedding.shape[-1]), key_mask, weights),
            {name: value for name, value in inputs.items() if name in self.encoder_inputs},
            output_hidden_states or output_shared_states,
        )
        states = outputs.last_hidden_state
        pooled = outputs.get("pooler_output")
        pooled = self.pooler(states) if pooled is None else pooled
        # Of the embeddings there is no layer.
        all_states = [by_text(number - 1, one) for number, one in enumerate(outputs.hidden_states or ())]
        all_weights = [by_text(number, one) for number, one in enumerate(outputs.get("attentions") or ())]
        of_guided = [[by_text(num_shared, quantity) for quantity in of_layer[1:]] for of_layer in weights or ()]
        return ContextGuidedModelOutput(
            last_hidden_state=by_text(num_shared, states),
            pooler_output=by_text(num_shared, pooled),
            hidden_states=tuple(all_states) if output_hidden_states else None,
            shared_states=all_states[num_shared] if output_shared_states else None,
            attentions=tuple(all_weights) or None,
            # One tuple of quantities a layer -> one tuple of layers a quantity.
            **dict(zip(WEIGHT_NAMES[1:], zip(*of_guided, strict=True), strict=False)),
        )


class GuidedForSequenceClassification(GuidedPreTrainedModel):
    """Sentiment of a text towards the context of its `context_ids`: pooled first token, dropout, linear."""

    custom_pipelines: ClassVar[dict] = {
        TASK: {
            "impl": f"pipeline_qacg_bert.{AspectSentimentPipeline.__name__}",
            "pt": ["AutoModelForSequenceClassification"],
            "type": "text",
        }
    }

    def __init__(self, config: ContextGuidedConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = self.model_class(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
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

        The other arguments and errors are those of the model without a head; `logits` are (B, labels) or (B, K,
        labels).
        """
        outputs = self.model(
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


class QACGModel(GuidedModel):
    """An encoder with quasi-attention, without a head."""

    config_class = QACGConfig


class CGModel(GuidedModel):
    """An encoder with mixed queries and keys, without a head."""

    config_class = CGConfig


class QACGForSequenceClassification(GuidedForSequenceClassification):
    """An encoder with quasi-attention, and a classifier on the pooled first token."""

    config_class = QACGConfig
    model_class = QACGModel


class CGForSequenceClassification(GuidedForSequenceClassification):
    """An encoder with mixed queries and keys, and a classifier on the pooled first token."""

    config_class = CGConfig
    model_class = CGModel


__all__ = ["CGForSequenceClassification", "CGModel", "QACGForSequenceClassification", "QACGModel"]
