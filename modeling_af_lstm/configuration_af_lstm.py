"""Configuration of AF-LSTM and its baselines (Tay, Tuan & Hui, "Learning to Attend via Word-Aspect Associative Fusion
for Aspect-Based Sentiment Analysis", AAAI 2018)."""

from typing import ClassVar, Literal

from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it

ATTENTIVE = ("af_lstm", "at_lstm", "atae_lstm")  # read the aspect
RECURRENT = ("lstm", "td_lstm", *ATTENTIVE)
OF_WORDS = ("nbow", *RECURRENT)
# Fields, and the architectures in which they have an effect; all others have one in each.
HAS_EFFECT = {
    "association": ("af_lstm",),
    "association_backend": ("af_lstm",),
    "normalization": ("af_lstm",),
    "use_last_state": ("af_lstm",),
    "hidden_size": RECURRENT,
    "embedding_projection": RECURRENT,
    "dropout_place": RECURRENT,
    "embedding_size": OF_WORDS,
    "trainable_embeddings": OF_WORDS,
    "dropout": OF_WORDS,
}


@strict
class AFLstmConfig(PreTrainedConfig):
    r"""
    Static word embeddings, perhaps an LSTM and an attention that knows the aspect, and a classifier of the sentence.

    Args:
        architecture (`str`, defaults to `"af_lstm"`):
            - `"af_lstm"`: attention over associations of each state with the aspect.
            - `"lstm"`: the last state. It is the paper's TD-LSTM too where aspects have no place in the text.
            - `"td_lstm"`: a state from either side of the target (Tang et al., COLING 2016).
            - `"at_lstm"`: attention over the states and the aspect (Wang et al., EMNLP 2016). As the paper writes it
              the aspect adds one number to the scores of all words, which the softmax takes away: the answers do not
              depend on the aspect.
            - `"atae_lstm"`: as `"at_lstm"`, and the LSTM reads the aspect with each word.
            - `"nbow"`: the sum of the word embeddings.
            - `"majority"`: how frequent the labels are, whatever the text.
        vocab_size (`int`, defaults to 50000), embedding_size (`int`, defaults to 300),
        pad_token_id (`int`, defaults to 0):
            Of the word embeddings.
        trainable_embeddings (`bool`, defaults to False):
            Whether training changes the word embeddings.
        hidden_size (`int`, defaults to 300):
            Width of the LSTM's states.
        embedding_projection (`bool`, *optional*):
            Whether a linear map without bias takes the vectors of words and aspects to `hidden_size`; None for where
            the sizes differ. An aspect must be as wide as a state, so that False is for "lstm" and "td_lstm".
        association (`"mul"`, `"corr"` or `"conv"`, defaults to `"conv"`):
            Of a state and the aspect: elementwise product, circular correlation or circular convolution (eq. 2-4).
        association_backend (`"fft"` or `"direct"`, defaults to `"fft"`):
            How "corr" and "conv" are computed. A product with a circulant matrix, "direct", takes d times the work and
            memory, and is for devices and formats without FFT, such as ONNX.
        normalization (`"none"`, `"unit_ball"`, `"unit"` or `"batch"`, defaults to `"none"`):
            Of states and aspect before the association: none, to norms of at most 1, to norms of 1, or batch
            normalisation over the words and over the aspects of a batch, which needs two rows in training.
        use_last_state (`bool`, defaults to False):
            Whether the last state is fused with what is attended to (eq. 6), as "at_lstm" and "atae_lstm" do.
        dropout (`float`, defaults to 0.5):
            Of the representation before the classifier, or of the states.
        dropout_place (`"representation"` or `"states"`, defaults to `"representation"`):
            Which of these. The paper says "after the LSTM (or representation) layer".
        max_position_embeddings (`int`, defaults to 512):
            The most words of a row that training and pipelines read. The model takes any number.
        targets, aspects (`list[str]`, *optional*), auxiliary_sentence (`bool`, defaults to True),
        symmetric_targets (`bool`, defaults to False), none_label (`str`, *optional*, defaults to `"none"`):
            What is asked, as in the configurations of CG-BERT and QACG-BERT. The auxiliary sentence is the aspect.
        calibration_temperature (`float`, defaults to 1.0):
            What all logits are divided by before they become probabilities (Guo et al., ICML 2017). Fitted on the
            validation split after training; the pipeline applies it, the model does not.

    Raises:
        huggingface_hub.errors.StrictDataclassError: if a value has the wrong type, a field has no effect in the
            architecture, or the architecture needs what another field denies.
    """

    model_type = "af_lstm"
    keys_to_ignore_at_inference: ClassVar = ["hidden_states", "attentions", "memory"]
    target_token_type: ClassVar = 2
    """Of the words of a text that are the target; those of the aspect behind it have 1."""

    architecture: Literal["af_lstm", "lstm", "td_lstm", "at_lstm", "atae_lstm", "nbow", "majority"] = "af_lstm"
    vocab_size: int = 50_000
    embedding_size: int = 300
    pad_token_id: int | None = 0
    trainable_embeddings: bool = False
    hidden_size: int = 300
    embedding_projection: bool | None = None
    association: Literal["mul", "corr", "conv"] = "conv"
    association_backend: Literal["fft", "direct"] = "fft"
    normalization: Literal["none", "unit_ball", "unit", "batch"] = "none"
    use_last_state: bool = False
    dropout: float | int = 0.5
    dropout_place: Literal["representation", "states"] = "representation"
    max_position_embeddings: int = 512
    targets: list[str] | None = None
    aspects: list[str] | None = None
    auxiliary_sentence: bool = True
    symmetric_targets: bool = False
    none_label: str | None = "none"
    calibration_temperature: float | int = 1.0

    @property
    def has_projection(self) -> bool:
        """Whether vectors of words are taken to the width of the states."""
        if self.embedding_projection is None:
            return self.architecture in RECURRENT and self.embedding_size != self.hidden_size
        return self.embedding_projection

    @property
    def word_size(self) -> int:
        """Width of the vectors of words and aspects as the rest of the model sees them."""
        return self.hidden_size if self.has_projection else self.embedding_size

    @property
    def representation_size(self) -> int:
        """Width of what the classifier sees."""
        widths = {"majority": 0, "nbow": self.embedding_size, "td_lstm": 2 * self.hidden_size}
        return widths.get(self.architecture, self.hidden_size)

    def validate_architecture(self):
        """Fields that would have no effect."""
        for name, architectures in HAS_EFFECT.items():
            if self.architecture not in architectures and getattr(self, name) != getattr(type(self), name):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect with architecture={self.architecture!r}: leave it "
                    "out"
                )
        if self.association == "mul" and self.association_backend != "fft":
            raise ValueError(
                f"association_backend={self.association_backend!r} has no effect with association='mul': leave it out"
            )

    def validate_aspect(self):
        """An attentive architecture sees the aspect, as wide as a state."""
        if self.architecture not in ATTENTIVE:
            return
        if self.word_size != self.hidden_size:
            raise ValueError(
                f"embedding_projection=False with embedding_size={self.embedding_size} and "
                f"hidden_size={self.hidden_size}: {self.architecture} needs aspects as wide as states; leave it out, "
                "or set the sizes to one number"
            )
        if not self.auxiliary_sentence:
            raise ValueError(
                f"auxiliary_sentence=False with architecture={self.architecture!r}, which reads the aspect: set it to "
                "True, or choose 'lstm' or 'nbow'"
            )

    def validate_sizes(self):
        """There is no vector without numbers."""
        for name in ("vocab_size", "embedding_size", "hidden_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1")

    def validate_dropout(self):
        """Dropout leaves something."""
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout}: a rate of at least 0 and below 1")

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


__all__ = ["AFLstmConfig"]
