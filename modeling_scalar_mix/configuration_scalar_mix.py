"""Configuration of a classifier over a scalar mix (Peters et al., "Deep contextualized word representations", NAACL
2018) of the layers of any encoder."""

from typing import ClassVar, Literal

from transformers import AutoConfig
from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it

# Their positions begin behind that of padding.
BEHIND_PADDING = (
    *("camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "mpnet", "roberta"),
    *("roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
)


@strict
class ScalarMixConfig(PreTrainedConfig):
    r"""
    An encoder, a weighted sum of all its layers, the mean over the words, then a classifier.

    Args:
        encoder_config (`dict` or `PreTrainedConfig`):
            Configuration of any encoder that AutoModel knows.
        mix (`"learned"`, `"uniform"` or `"last"`, defaults to `"learned"`):
            The shares of the layers: learned from equal ones on, or for comparison kept equal, or all for the last.
        layer_norm (`bool`, defaults to False):
            Whether each state of each layer is normalised over its components before it is mixed, without parameters.
        mix_l2 (`float`, defaults to 0):
            Weight of the sum of the squares of `w`, whose softmax are the shares, in the loss. It draws the shares
            towards equal ones.
        special_token_ids (`list[int]`, *optional*):
            Ids of the tokens that the mean leaves out, those that the tokenizer adds; none of them with `[]`. Training
            fills them in where they are None; else None stands for `[]`.
        freeze_encoder (`bool`, defaults to False):
            Whether only what stands above the encoder is trained. The encoder stays in evaluation mode then.
        dense_size (`int`, *optional*):
            Width of a hidden layer (tanh) before the classifier; None for none.
        dropout (`float`, defaults to 0.1):
            Of the mean, and of the hidden layer.
        initializer_range (`float`, defaults to 0.02):
            Standard deviation of the initial weights of the hidden layer and the classifier.
        targets, aspects (`list[str]`, *optional*), auxiliary_sentence (`bool`, defaults to True),
        symmetric_targets (`bool`, defaults to False), none_label (`str`, *optional*, defaults to `"none"`):
            What is asked, as in the configurations of CG-BERT and QACG-BERT.
        calibration_temperature (`float`, defaults to 1.0):
            What all logits are divided by before they become probabilities (Guo et al., ICML 2017). Fitted on the
            validation split after training; the pipeline applies it, the model does not.

    Raises:
        huggingface_hub.errors.StrictDataclassError: if a value has the wrong type or is out of its range, a field has
            no effect beside another, or `encoder_config` is of a decoder.
    """

    model_type = "scalar_mix"
    sub_configs: ClassVar = {"encoder_config": AutoConfig}

    encoder_config: dict | PreTrainedConfig | None = None
    mix: Literal["learned", "uniform", "last"] = "learned"
    layer_norm: bool = False
    mix_l2: float | int = 0.0
    special_token_ids: list[int] | None = None
    freeze_encoder: bool = False
    dense_size: int | None = None
    dropout: float | int = 0.1
    initializer_range: float | int = 0.02
    targets: list[str] | None = None
    aspects: list[str] | None = None
    auxiliary_sentence: bool = True
    symmetric_targets: bool = False
    none_label: str | None = "none"
    calibration_temperature: float | int = 1.0

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
        of_encoder = self.encoder_config
        most = of_encoder.max_position_embeddings
        if of_encoder.model_type not in BEHIND_PADDING:
            return most
        padding = 1 if of_encoder.model_type == "mpnet" else of_encoder.pad_token_id  # MPNet's, whatever it reads
        return most - padding - 1

    @property
    def hidden_size(self) -> int:
        """Width d of the encoder's states."""
        return self.encoder_config.hidden_size

    @property
    def num_layers(self) -> int:
        """How many layers are mixed: those of the encoder, and its embeddings."""
        return self.encoder_config.num_hidden_layers + 1

    def validate_encoder(self):
        """An encoder, if any yet."""
        of_encoder = self.encoder_config
        if of_encoder is not None and (of_encoder.is_encoder_decoder or getattr(of_encoder, "is_decoder", False)):
            raise ValueError(f"encoder_config is of a decoder ({of_encoder.model_type}): give that of an encoder")

    def validate_mix_l2(self):
        """A penalty is of what is learned."""
        if not 0 <= self.mix_l2 < float("inf"):
            raise ValueError(f"mix_l2={self.mix_l2}: a weight, a finite number of at least 0")
        if self.mix_l2 and self.mix != "learned":
            raise ValueError(f"mix_l2={self.mix_l2} has no effect with mix={self.mix!r}: leave it out")

    def validate_dense_size(self):
        """There is no vector without numbers."""
        if self.dense_size is not None and self.dense_size < 1:
            raise ValueError(f"dense_size={self.dense_size}: at least 1, or None for no hidden layer")

    def validate_dropout(self):
        """Dropout leaves something."""
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout}: a rate of at least 0 and below 1")

    def validate_initializer_range(self):
        """A standard deviation is not negative, and a number."""
        if not 0 <= self.initializer_range < float("inf"):
            raise ValueError(
                f"initializer_range={self.initializer_range}: a standard deviation, a finite number of at least 0"
            )

    def validate_calibration_temperature(self):
        """Logits are divided by it."""
        if not 0 < self.calibration_temperature < float("inf"):
            raise ValueError(f"calibration_temperature={self.calibration_temperature}: a finite number above 0")

    def validate_names(self):
        """Names of targets and aspects can be told apart."""
        for field in ("targets", "aspects"):
            names = getattr(self, field) or []
            if any(not name.strip() for name in names):
                raise ValueError(f"{field}={names}: a name is empty; remove it or give it a name")
            if len(set(names)) != len(names):
                raise ValueError(f"{field}={names}: a name occurs twice; keep one of them")


__all__ = ["ScalarMixConfig"]
