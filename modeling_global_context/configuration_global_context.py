"""Configuration of taggers with a global context (Xu, Shen & Sun, "Supplementary Features of BiLSTM for Enhanced
Sequence Labeling", arXiv 2305.19928)."""

from typing import ClassVar, Literal

from transformers import AutoConfig
from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it

from .tags_global_context import OUTSIDE, Scheme, scheme_of, split_tag

NONE = "none"  # what a text says of words that are no aspect term
POLARITIES = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
OF_CONTEXT = ("context_direction", "context_gates", "context_fusion", "context_source")


@strict
class GlobalContextConfig(PreTrainedConfig):
    r"""
    An encoder or static word embeddings, then a BiLSTM, then an interaction, then a classifier of each token.

    Args:
        encoder_config (`dict` or `PreTrainedConfig`, *optional*):
            Configuration of any encoder that AutoModel knows. None for static word embeddings.
        vocab_size (`int`, *optional*), embedding_size (`int`, defaults to 100), pad_token_id (`int`, defaults to 0):
            Of the static word embeddings; with an encoder these are fields of its configuration.
        use_bilstm (`bool`, defaults to True):
            Whether a BiLSTM reads what the encoder gives.
        lstm_size (`int`, defaults to 600):
            Width of the BiLSTM, both directions together.
        num_lstm_layers (`int`, defaults to 1):
            Layers of the BiLSTM; the global state is taken from the last.
        interaction (`"none"`, `"context"` or `"attention"`, defaults to `"context"`):
            What follows: nothing, the global context (eq. 5-9), or self-attention (eq. 11-13).
        context_direction (`"cross"` or `"same"`, defaults to `"cross"`):
            Whether the forward states meet the backward half of the global state, as in the paper, or the forward
            half, as in its Table III.
        context_gates (`bool`, defaults to True):
            Whether gates weigh a state and the global state; without them they are added as they are (Table IV).
        context_fusion (`"sum"` or `"concat"`, defaults to `"sum"`):
            How the two are joined. Eq. 9 writes a concatenation, eq. 10 and the authors' code need the sum.
        context_source (`"ends"` or `"first"`, defaults to `"ends"`):
            Without a BiLSTM: whether the global state is halves of the states at the two ends, or the first state.
        num_attention_heads (`int`, defaults to 6), attention_norm (`bool`, defaults to True),
        attention_dropout (`float`, defaults to 0.1):
            Of the self-attention. The norm behind the residual is in the authors' code and not in eq. 12.
        gate_dropout (`float`, defaults to 0.5):
            Dropout of what the gates see.
        context_dropout (`float`, defaults to 0.1):
            Dropout of the global state behind the gates.
        encoder_dropout (`float`, defaults to 0), classifier_dropout (`float`, defaults to 0):
            Dropout behind the encoder and before the classifier.
        crf (`bool`, defaults to False):
            Whether a conditional random field scores the tags of a sentence together.
        crf_constraints (`bool`, defaults to False):
            Whether the field gives ill-formed tags no probability. Gold tags must be well-formed then.
        initializer_range (`float`, defaults to 0.02):
            Standard deviation of the initial weights of linear layers and embeddings.
        word_splitting (`"english"`, `"whitespace"` or `"characters"`, defaults to `"english"`):
            How the pipeline cuts a text into the words that the model was trained on.
        polarities (`dict[str, str]`, *optional*):
            What the pipeline calls a type of spans, None for POS, NEG and NEU as "positive", "negative" and "neutral".
            A type that is not in it keeps its name.
        calibration_temperature (`float`, defaults to 1.0):
            What all scores are divided by before they become probabilities (Guo et al., ICML 2017). Fitted on the
            validation split after training; the pipeline applies it, the model does not.

    Raises:
        huggingface_hub.errors.StrictDataclassError: if a value has the wrong type, a field has no effect beside
            another, sizes do not divide, or the labels are of several schemes.
    """

    model_type = "global_context"
    sub_configs: ClassVar = {"encoder_config": AutoConfig}
    # The Trainer's predictions are logits, with a CRF also the most probable labels.
    keys_to_ignore_at_inference: ClassVar = ["emissions", "global_state", "gates", "hidden_states", "attentions"]

    encoder_config: dict | PreTrainedConfig | None = None
    vocab_size: int | None = None
    embedding_size: int = 100
    pad_token_id: int | None = 0
    use_bilstm: bool = True
    lstm_size: int = 600
    num_lstm_layers: int = 1
    interaction: Literal["none", "context", "attention"] = "context"
    context_direction: Literal["cross", "same"] = "cross"
    context_gates: bool = True
    context_fusion: Literal["sum", "concat"] = "sum"
    context_source: Literal["ends", "first"] = "ends"
    num_attention_heads: int = 6
    attention_norm: bool = True
    attention_dropout: float | int = 0.1
    gate_dropout: float | int = 0.5
    context_dropout: float | int = 0.1
    encoder_dropout: float | int = 0.0
    classifier_dropout: float | int = 0.0
    crf: bool = False
    crf_constraints: bool = False
    initializer_range: float | int = 0.02
    word_splitting: Literal["english", "whitespace", "characters"] = "english"
    polarities: dict[str, str] | None = None
    calibration_temperature: float | int = 1.0

    def __post_init__(self, **kwargs):
        if isinstance(self.encoder_config, dict):
            self.encoder_config = AutoConfig.for_model(**self.encoder_config)
        if self.polarities is None:
            self.polarities = dict(POLARITIES)
        super().__post_init__(**kwargs)

    def get_text_config(self, decoder=None, encoder=None) -> PreTrainedConfig:
        """The encoder's configuration, which has the size of the vocabulary; this one for static embeddings."""
        return self if self.encoder_config is None else self.encoder_config

    @property
    def input_size(self) -> int:
        """Width h of what the encoder or the embeddings give."""
        return self.embedding_size if self.encoder_config is None else self.encoder_config.hidden_size

    @property
    def state_size(self) -> int:
        """Width d of the states that interact."""
        return self.lstm_size if self.use_bilstm else self.input_size

    @property
    def hidden_size(self) -> int:
        """Width of what the classifier sees."""
        is_double = self.interaction == "context" and self.context_fusion == "concat"
        return 2 * self.state_size if is_double else self.state_size

    @property
    def labels(self) -> list[str]:
        """Names of the labels by number."""
        return [self.id2label[number] for number in range(self.num_labels)]

    @property
    def tag_scheme(self) -> Scheme:
        """The scheme that the names of the labels are of."""
        return scheme_of(self.labels)

    def validate_encoder(self):
        """An encoder, or the fields of static embeddings."""
        if self.encoder_config is None:
            return
        for name in ("vocab_size", "embedding_size"):
            if getattr(self, name) != getattr(type(self), name):
                raise ValueError(
                    f"{name}={getattr(self, name)} beside an encoder_config, which has its own: leave it out"
                )
        if self.encoder_config.is_encoder_decoder or getattr(self.encoder_config, "is_decoder", False):
            raise ValueError(
                f"encoder_config is of a decoder ({self.encoder_config.model_type}): give that of an encoder"
            )

    def validate_sizes(self):
        """Two directions of a BiLSTM have one size; heads divide the states."""
        if self.use_bilstm and (self.lstm_size < 2 or self.lstm_size % 2):
            raise ValueError(f"lstm_size={self.lstm_size}: two directions need a positive even number")
        if self.num_lstm_layers < 1:
            raise ValueError(f"num_lstm_layers={self.num_lstm_layers}: at least 1; use_bilstm=False for none")
        if self.interaction == "context" and self.context_source == "ends" and self.state_size % 2:
            raise ValueError(f"states of size {self.state_size}: interaction='context' needs an even number")
        if self.interaction == "attention" and self.state_size % self.num_attention_heads:
            raise ValueError(
                f"num_attention_heads={self.num_attention_heads} does not divide the states, of size {self.state_size}"
            )

    def validate_context(self):
        """Fields of the context that would have no effect."""
        defaults = {name: getattr(type(self), name) for name in OF_CONTEXT}
        for name, default in defaults.items():
            if self.interaction != "context" and getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect with interaction={self.interaction!r}: leave it out"
                )
        if self.context_source == "first" and self.use_bilstm:
            raise ValueError("context_source='first' is for models without a BiLSTM: set use_bilstm=False")
        if self.context_source == "first" and self.context_direction == "same":
            raise ValueError("context_direction='same' has no effect with context_source='first': leave it out")

    def validate_crf(self):
        """Constraints are of a field."""
        if self.crf_constraints and not self.crf:
            raise ValueError("crf_constraints=True without a crf: set crf=True")

    def validate_rates(self):
        """Dropout leaves something."""
        for name in ("attention", "gate", "context", "encoder", "classifier"):
            rate = getattr(self, f"{name}_dropout")
            if not 0 <= rate < 1:
                raise ValueError(f"{name}_dropout={rate}: a rate of at least 0 and below 1")

    def validate_initializer_range(self):
        """A standard deviation is not negative, and a number."""
        if not 0 <= self.initializer_range < float("inf"):
            raise ValueError(
                f"initializer_range={self.initializer_range}: a standard deviation, a finite number of at least 0"
            )

    def validate_calibration_temperature(self):
        """Scores are divided by it."""
        if not 0 < self.calibration_temperature < float("inf"):
            raise ValueError(f"calibration_temperature={self.calibration_temperature}: a finite number above 0")

    def validate_labels(self):
        """Names of labels are of one scheme, for what it raises; an answer has one probability for each name."""
        if scheme_of(self.labels) == "plain":
            return
        types = dict.fromkeys(split_tag(label)[1] for label in self.labels if label != OUTSIDE)
        names = [NONE, *(self.polarities.get(type_, type_) for type_ in types)]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"the types {', '.join(types)} with polarities={self.polarities} give {repeated[0]!r} twice "
                f"({NONE!r} is for what is no span): give each type a name of its own"
            )


__all__ = ["GlobalContextConfig"]
