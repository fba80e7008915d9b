"""Configurations of context guidance (Wu & Ong, AAAI 2021) around any encoder."""

from typing import ClassVar

from transformers import AutoConfig
from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it

from .configuration_qacg_bert import ContextFields, QuasiAttentionFields, positions_of


@strict
class ContextGuidedConfig(ContextFields, PreTrainedConfig):
    r"""
    What the configurations of QACG and CG around any encoder share.

    Args:
        encoder_config (`dict` or `PreTrainedConfig`, *optional*):
            Configuration of an encoder that AutoModel knows: BERT, RoBERTa, XLM-R, ELECTRA, DistilBERT, ModernBERT,
            MPNet, DeBERTa-v2. None for that of the checkpoint which `from_pretrained` loads.
        classifier_dropout (`float`, defaults to 0.1):
            Of the pooled first token, before the classifier.
        initializer_range (`float`, defaults to 0.02):
            Standard deviation of the initial weights of the classifier, and of the pooler of an encoder without one.

    The other arguments are those of `ContextFields`.

    Raises:
        huggingface_hub.errors.StrictDataclassError: as `ContextGuidedBertConfig`; also if `encoder_config` is of a
            decoder.
    """

    sub_configs: ClassVar = {"encoder_config": AutoConfig}

    encoder_config: dict | PreTrainedConfig | None = None
    classifier_dropout: float | int = 0.1
    initializer_range: float | int = 0.02

    def __post_init__(self, **kwargs):
        if isinstance(self.encoder_config, dict):
            self.encoder_config = AutoConfig.for_model(**self.encoder_config)
        super().__post_init__(**kwargs)

    def get_text_config(self, decoder=None, encoder=None) -> PreTrainedConfig:
        """The encoder's configuration, which has the size of the vocabulary."""
        return self if self.encoder_config is None else self.encoder_config

    @property
    def pad_token_id(self) -> int | None:
        """Of the encoder."""
        return getattr(self.encoder_config, "pad_token_id", None)

    @property
    def max_position_embeddings(self) -> int:
        """The most tokens that the encoder reads."""
        return positions_of(self.encoder_config)

    @property
    def hidden_size(self) -> int:
        """Width H of the encoder's states."""
        return self.encoder_config.hidden_size

    @property
    def num_hidden_layers(self) -> int:
        """Layers of the encoder."""
        return self.encoder_config.num_hidden_layers

    @property
    def num_attention_heads(self) -> int:
        """Heads h of the encoder."""
        return self.encoder_config.num_attention_heads

    def validate_num_context_layers(self):
        """As of BERT, once the encoder is known."""
        if self.encoder_config is not None:
            super().validate_num_context_layers()

    def validate_encoder(self):
        """An encoder without context guidance, if any yet."""
        of_encoder = self.encoder_config
        if isinstance(of_encoder, ContextFields):
            kind = of_encoder.model_type
            raise ValueError(
                f"encoder_config is of a {kind}, which has context guidance: load it as a {kind}, or give its encoder"
            )
        if of_encoder is not None and (of_encoder.is_encoder_decoder or getattr(of_encoder, "is_decoder", False)):
            raise ValueError(f"encoder_config is of a decoder ({of_encoder.model_type}): give that of an encoder")


@strict
class QACGConfig(QuasiAttentionFields, ContextGuidedConfig):
    r"""
    An encoder with quasi-attention: its own softmax attention plus a gated term that may subtract.

    Its arguments are those of `QuasiAttentionFields` and `ContextGuidedConfig`.
    """

    model_type = "qacg"


@strict
class CGConfig(ContextGuidedConfig):
    r"""
    An encoder whose queries and keys are mixed with those of the context.

    Its arguments are those of `ContextGuidedConfig`.
    """

    model_type = "cg"


__all__ = ["CGConfig", "QACGConfig"]
