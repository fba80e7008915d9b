"""A scalar mix of all layers of an encoder (Peters et al., "Deep contextualized word representations", NAACL 2018,
eq. 1), and a classifier of its mean over the words of a text, or of a text and an aspect.

Shapes: B rows, n tokens, d width of the encoder, L its layers, to which its embeddings are layer 0.
"""

from copy import deepcopy
from dataclasses import fields
from inspect import signature
from typing import ClassVar

import torch
from torch import nn
from transformers import MODEL_MAPPING, AutoConfig, AutoModel
from transformers import initialization as init
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput
from transformers.modeling_utils import PreTrainedModel
from transformers.utils.generic import can_return_tuple

from .configuration_scalar_mix import ScalarMixConfig

OF_THE_FILE = ("cache_dir", "force_download", "local_files_only", "proxies", "revision", "subfolder", "token")
AUTO_MAP = {
    "AutoConfig": "configuration_scalar_mix.ScalarMixConfig",
    "AutoModel": "modeling_scalar_mix.ScalarMixModel",
    "AutoModelForSequenceClassification": "modeling_scalar_mix.ScalarMixForSequenceClassification",
}


class ScalarMix(nn.Module):
    """R = γ Σ_j s_j h_j with s = softmax(w), over the layers h_0 to h_L."""

    def __init__(self, config: ScalarMixConfig):
        super().__init__()
        self.kind, self.num_layers, self.layer_norm = config.mix, config.num_layers, config.layer_norm
        self.weights = nn.Parameter(torch.zeros(config.num_layers)) if config.mix == "learned" else None
        self.gamma = nn.Parameter(torch.ones(1))  # no scalar, which FSDP refuses

    def shares(self) -> torch.Tensor:
        """s, the share of each layer, (L + 1,)."""
        if self.weights is not None:
            return self.weights.softmax(dim=-1)
        shares = self.gamma.new_full((self.num_layers,), 1 / self.num_layers)
        if self.kind == "last":
            shares.zero_()[-1] = 1
        return shares

    def normalised(self, layer: torch.Tensor) -> torch.Tensor:
        """A layer as it is mixed, (B, n, d). Each state for itself, so that no row depends on its batch."""
        return nn.functional.layer_norm(layer, layer.shape[-1:]) if self.layer_norm else layer

    def forward(self, layers: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """L + 1 of (B, n, d) -> (B, n, d)"""
        mixed = sum(share * self.normalised(layer) for share, layer in zip(self.shares(), layers, strict=True))
        return self.gamma * mixed


def masked_mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean of the states where the mask is true, (B, n, d) and (B, n) -> (B, d); zeros where it is so nowhere."""
    mask = mask[..., None]
    return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def encoder_options(config: PreTrainedConfig) -> dict[str, bool]:
    """No pooler: nothing depends on it, and parameters without a gradient stop distributed training."""
    has_pooler = "add_pooling_layer" in signature(MODEL_MAPPING[type(config)]).parameters
    return {"add_pooling_layer": False} if has_pooler else {}


class ScalarMixPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config: ScalarMixConfig
    config_class = ScalarMixConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    no_weight_decay: ClassVar = ("mix.weights", "mix.gamma")
    """Ends of the names of parameters that are not drawn towards 0: it means nothing to them."""
    # The backend of attention is the encoder's, which says what it supports.
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
                weights, which would stay random.
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
        cls, name: str, config: ScalarMixConfig | None, of_the_file: dict, output_loading_info=False, **kwargs
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
            name,
            config=config.encoder_config,
            output_loading_info=True,
            **encoder_options(config.encoder_config),
            **kwargs,
        )
        random = sorted({*loading["missing_keys"], *(key for key, *_ in loading["mismatched_keys"])})
        if random:
            raise ValueError(
                f"{name} lacks {len(random)} weights of its encoder, which would stay random: "
                f"{', '.join(random[:5])}. Give a complete checkpoint"
            )
        model = cls._from_config(config, attn_implementation=encoder.config._attn_implementation, dtype=encoder.dtype)
        model.base_model.encoder = encoder
        model.eval()
        if not output_loading_info:
            return model
        of_encoder = f"{model.base_model_prefix}.encoder." if model.base_model is not model else "encoder."
        loading["missing_keys"] = {key for key in model.state_dict() if not key.startswith(of_encoder)}
        return model, loading

    def save_pretrained(self, save_directory, *args, **kwargs):
        """As `PreTrainedModel.save_pretrained`; the configuration names all classes of the code saved beside it.

        Left to itself the base class would name the one of this head only.
        """
        self.config.auto_map = dict(AUTO_MAP)
        self.config.custom_pipelines = {}  # Transformers' own read text pairs
        super().save_pretrained(save_directory, *args, **kwargs)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        super()._init_weights(module)
        if isinstance(module, ScalarMix):
            init.ones_(module.gamma)
            if module.weights is not None:
                init.zeros_(module.weights)


class ScalarMixModel(ScalarMixPreTrainedModel):
    """An encoder, the mix of its layers, and the mean of that over the words."""

    def __init__(self, config: ScalarMixConfig):
        super().__init__(config)
        if config.encoder_config is None:
            raise ValueError(
                "encoder_config is None: give that of an encoder, or load an encoder's checkpoint with from_pretrained"
            )
        self.encoder = AutoModel.from_config(config.encoder_config, **encoder_options(config.encoder_config))
        self.encoder_inputs = frozenset(signature(self.encoder.forward).parameters)  # not all have token types
        self.mix = ScalarMix(config)
        self.post_init()
        self.train()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Embedding):
        self.encoder.set_input_embeddings(value)

    def train(self, mode: bool = True) -> "ScalarMixModel":
        """As `nn.Module.train`; `from_pretrained`, which makes each weight trainable, ends here too."""
        super().train(mode)
        if self.config.freeze_encoder:
            self.encoder.eval().requires_grad_(False)
        return self

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> BaseModelOutputWithPooling:
        r"""
        Args:
            input_ids: token ids of texts, or of pairs of a text and an aspect, (B, n).
            attention_mask: 1 at tokens, 0 at padding on either side, (B, n); None where there is no padding.
            token_type_ids, position_ids: (B, n), handed to encoders that take them.
            inputs_embeds: embeddings instead of `input_ids`, (B, n, d). A token is special where it has the embedding
                of a special token.
            output_attentions, output_hidden_states: whether to return the encoder's.

        Returns:
            `last_hidden_state` is the mix R, (B, n, d), and `pooler_output` its mean v over the tokens that are
            neither padding nor special, (B, d).

        Raises:
            ValueError: if not exactly one of `input_ids` and `inputs_embeds` is given.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass exactly one of input_ids and inputs_embeds")
        inputs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "token_type_ids": token_type_ids,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
        }
        outputs = self.encoder(
            **{name: value for name, value in inputs.items() if name in self.encoder_inputs},
            output_attentions=self.config.output_attentions if output_attentions is None else output_attentions,
            output_hidden_states=True,
            return_dict=True,
        )
        mixed = self.mix(outputs.hidden_states)
        mask = self.is_word(input_ids, attention_mask, inputs_embeds)
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        return BaseModelOutputWithPooling(
            last_hidden_state=mixed,
            pooler_output=masked_mean(mixed, mask),
            hidden_states=outputs.hidden_states if output_hidden_states else None,
            attentions=outputs.get("attentions"),
        )

    def is_word(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """True at tokens that are neither padding nor special, (B, n); from inputs of `forward`."""
        given = input_ids if inputs_embeds is None else inputs_embeds
        is_word = torch.ones(given.shape[:2], dtype=torch.bool, device=given.device)
        if attention_mask is not None:
            is_word = attention_mask > 0
        if self.config.special_token_ids:
            special = torch.tensor(self.config.special_token_ids, device=given.device)
            if inputs_embeds is None:
                is_special = input_ids[..., None] == special  # (B, n, special tokens)
            else:
                is_special = (inputs_embeds[:, :, None] == self.get_input_embeddings()(special)).all(dim=-1)
            is_word = is_word & ~is_special.any(dim=-1)
        return is_word

    @torch.no_grad()
    def layer_weights(self, **inputs: torch.Tensor) -> dict[str, list[float] | float]:
        """What the mix has learned, by layer from the embeddings on.

        Args:
            inputs: of `forward`: texts on which the size of each layer is measured, at its words.
        Returns:
            `s`, the share of each layer; `gamma`; and with inputs `contribution`, the share times the root of the mean
            square of the layer, divided by the sum of these. Layers differ in size, so that s alone says little
            without `layer_norm`.
        """
        shares = self.mix.shares().double()
        found = {"s": shares.tolist(), "gamma": self.mix.gamma.item()}
        if inputs:
            layers = self(**inputs, output_hidden_states=True).hidden_states
            given = ("input_ids", "attention_mask", "inputs_embeds")
            is_word = self.is_word(**{name: inputs[name] for name in given if name in inputs})
            sizes = [self.mix.normalised(layer)[is_word].double().square().mean().sqrt() for layer in layers]
            sized = shares * torch.stack(sizes)
            found["contribution"] = (sized / sized.sum()).tolist()
        return found


class ScalarMixForSequenceClassification(ScalarMixPreTrainedModel):
    """The sentiment of a text, perhaps towards an aspect: dropout, perhaps a hidden layer, linear."""

    accepts_loss_kwargs = False  # `kwargs` are not read: without this the Trainer would take them for its own

    def __init__(self, config: ScalarMixConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ScalarMixModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.dense = None if config.dense_size is None else nn.Linear(config.hidden_size, config.dense_size)
        self.classifier = nn.Linear(config.dense_size or config.hidden_size, config.num_labels)
        self.post_init()

    def layer_weights(self, **inputs: torch.Tensor) -> dict[str, list[float] | float]:
        """As `ScalarMixModel.layer_weights`."""
        return self.model.layer_weights(**inputs)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs,
    ) -> SequenceClassifierOutput:
        r"""
        Args:
            labels: class of each row in [0, num_labels), -100 where there is none, (B,); `loss` is the mean
                cross-entropy over the rest, plus `mix_l2` times the sum of the squares of w.
            kwargs: what a batch holds for other models, such as `context_ids`; it is ignored.

        The other arguments and errors are those of the model without a head.
        """
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        pooled = self.dropout(outputs.pooler_output)
        if self.dense is not None:
            pooled = self.dropout(torch.tanh(self.dense(pooled)))
        logits = self.classifier(pooled)
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits, labels)
            if self.config.mix_l2:
                loss = loss + self.config.mix_l2 * self.model.mix.weights.square().sum()
        return SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=outputs.hidden_states, attentions=outputs.attentions
        )


__all__ = ["ScalarMixForSequenceClassification", "ScalarMixModel"]
