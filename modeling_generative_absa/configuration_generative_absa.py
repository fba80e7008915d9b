"""Configuration of pointer models that generate aspect terms, opinion terms and sentiments (Yan et al., "A Unified
Generative Framework for Aspect-Based Sentiment Analysis", ACL 2021, arXiv 2106.04300)."""

from typing import ClassVar, Literal

from transformers import AutoConfig
from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it

from .grammar_generative_absa import END, START, TASKS, Grammar

LABELS = ("positive", "negative", "neutral")
SPECIAL_INDICES = {"bos_token_id": START, "decoder_start_token_id": START, "eos_token_id": END, "pad_token_id": END}
OF_SMALL_DECODER = ("decoder_layers", "decoder_heads", "decoder_dropout", "decoder_input", "slot_embeddings")


@strict
class PointerABSAConfig(PreTrainedConfig):
    r"""
    A pretrained encoder-decoder, or a pretrained encoder under a small new decoder, that points to words.

    Args:
        backbone_config (`dict` or `PreTrainedConfig`, *optional*):
            Configuration of an encoder-decoder (BART, T5) or of an encoder (BERT) that AutoModel knows. None for that
            of the checkpoint which `from_pretrained` loads.
        tasks (`list[str]`, defaults to `["aste"]`):
            What the model is trained for: "ate" (aspect terms), "ote" (opinion terms), "alsc" (the sentiment of a
            given aspect term), "aoe" (opinion terms of a given one), "aesc" (aspect terms and sentiments), "aope"
            (aspect and opinion terms), "aste" (all three). With several, a sequence begins with the task's class
            token.
        order (`"aspect_first"` or `"opinion_first"`, defaults to `"aspect_first"`):
            Which of the two terms of a tuple is generated first; tuples are sorted by it.
        max_words (`int`, defaults to 256):
            The most words of a sentence. Logits have a column for each of them, whatever the sentence.
        max_tuples (`int`, defaults to 16):
            The most tuples of a sentence.
        max_span (`int`, *optional*):
            The most words of a term in generation. None for any number.
        no_repeats (`bool`, defaults to True):
            Whether generation gives no tuple twice.
        mark_given (`bool`, defaults to True):
            Whether an aspect term that is given stands in brackets where the encoder reads it.
        pointer_pooling (`"first"` or `"mean"`, *optional*):
            Whether a word is its first piece or the mean of its pieces. None for the first piece with an
            encoder-decoder, as in the paper's code, and the mean otherwise.
        pointer_mlp (`bool`, defaults to True), mlp_dropout (`float`, defaults to 0.3):
            Whether the encoder's states go through an MLP before they are pointed to (eq. 6), and its dropout.
        alpha (`float`, defaults to 0.5):
            Weight of these states against the pieces' embeddings (eq. 7).
        decoder_input (`"states"` or `"tokens"`, defaults to `"states"`):
            What the small decoder reads of a word that was pointed to: its encoder state, or its embedding. An
            encoder-decoder always reads the embedding (eq. 3).
        decoder_layers (`int`, defaults to 2), decoder_heads (`int`, *optional*), decoder_dropout (`float`, defaults
        to 0.1):
            Of the small decoder. None for heads of size 64.
        slot_embeddings (`bool`, defaults to True):
            Whether the small decoder is told which field of a tuple comes next.
        initializer_range (`float`, defaults to 0.02):
            Standard deviation of the initial weights of linear layers and embeddings.
        word_splitting (`"english"`, `"whitespace"` or `"characters"`, defaults to `"english"`):
            How the pipeline cuts a text into words.
        calibration_temperature (`float`, defaults to 1.0):
            What all logits are divided by before they become probabilities (Guo et al., ICML 2017). The pipeline
            applies it, the model does not.

    The labels are those of `id2label`, by default positive, negative and neutral.

    Raises:
        huggingface_hub.errors.StrictDataclassError: if a value has the wrong type, a field has no effect beside
            another, or sizes do not divide.
    """

    model_type = "pointer_absa"
    sub_configs: ClassVar = {"backbone_config": AutoConfig}
    keys_to_ignore_at_inference: ClassVar = ["past_key_values", "encoder_last_hidden_state"]

    backbone_config: dict | PreTrainedConfig | None = None
    tasks: list[str] | tuple[str, ...] = ("aste",)
    order: Literal["aspect_first", "opinion_first"] = "aspect_first"
    max_words: int = 256
    max_tuples: int = 16
    max_span: int | None = None
    no_repeats: bool = True
    mark_given: bool = True
    pointer_pooling: Literal["first", "mean"] | None = None
    pointer_mlp: bool = True
    mlp_dropout: float | int = 0.3
    alpha: float | int = 0.5
    decoder_input: Literal["states", "tokens"] = "states"
    decoder_layers: int = 2
    decoder_heads: int | None = None
    decoder_dropout: float | int = 0.1
    slot_embeddings: bool = True
    initializer_range: float | int = 0.02
    word_splitting: Literal["english", "whitespace", "characters"] = "english"
    calibration_temperature: float | int = 1.0
    is_encoder_decoder: bool = True
    bos_token_id: int | None = START
    decoder_start_token_id: int | None = START
    eos_token_id: int | None = END
    pad_token_id: int | None = END

    def __post_init__(self, **kwargs):
        if isinstance(self.backbone_config, dict):
            self.backbone_config = AutoConfig.for_model(**self.backbone_config)
        self.tasks = list(self.tasks)
        if self.id2label is None and kwargs.get("num_labels") is None:
            self.id2label = dict(enumerate(LABELS))
            self.label2id = {label: number for number, label in enumerate(LABELS)}
        super().__post_init__(**kwargs)

    def get_text_config(self, decoder=None, encoder=None) -> PreTrainedConfig:
        """With `encoder`, the backbone's configuration, which has the vocabulary of texts; else this one, whose
        vocabulary is that of generation."""
        return self.backbone_config if encoder and not decoder and self.backbone_config is not None else self

    @property
    def labels(self) -> list[str]:
        """Names of the labels by number; none, where no task has labels."""
        has_labels = any("label" in TASKS[task].fields for task in self.tasks)
        return [self.id2label[number] for number in range(self.num_labels)] if has_labels else []

    @property
    def grammar(self) -> Grammar:
        """The index space, and the sequences that are legal in it."""
        return Grammar(
            tasks=tuple(self.tasks),
            labels=tuple(self.labels),
            max_words=self.max_words,
            max_tuples=self.max_tuples,
            max_span=self.max_span,
            order=self.order,
            no_repeats=self.no_repeats,
        )

    @property
    def vocab_size(self) -> int:
        """Number of indices that generation chooses from."""
        return self.grammar.vocab_size

    @property
    def max_target_length(self) -> int:
        """The most indices that the decoder reads; of any task, since a model may go on to another one."""
        grammar = self.grammar
        return max(grammar.prompt_length(task) + grammar.max_new_tokens(task) for task in TASKS)

    @property
    def has_small_decoder(self) -> bool:
        """Whether the backbone is an encoder."""
        return not self.backbone_config.is_encoder_decoder

    @property
    def pooling(self) -> str:
        """`pointer_pooling`, or its default."""
        return self.pointer_pooling or ("mean" if self.has_small_decoder else "first")

    @property
    def hidden_size(self) -> int:
        """Width d of all states."""
        return self.backbone_config.hidden_size

    @property
    def num_hidden_layers(self) -> int:
        """Layers of the decoder, for its cache."""
        if self.has_small_decoder:
            return self.decoder_layers
        backbone = self.backbone_config
        return getattr(backbone, "decoder_layers", None) or getattr(
            backbone, "num_decoder_layers", backbone.num_hidden_layers
        )

    @property
    def num_attention_heads(self) -> int:
        """Heads of the small decoder."""
        return self.decoder_heads or max(1, self.hidden_size // 64)

    def validate_tasks(self):
        """Tasks that there are, each once."""
        if not self.tasks or len(set(self.tasks)) < len(self.tasks) or set(self.tasks) - TASKS.keys():
            raise ValueError(f"tasks={self.tasks}: give one or several of {', '.join(TASKS)}, each once")

    def validate_labels(self):
        """Answers are by label."""
        if set(self.tasks) <= TASKS.keys() and len(set(self.labels)) < len(self.labels):
            raise ValueError(f"id2label={self.id2label}: give each label a name of its own")

    def validate_backbone(self):
        """An encoder-decoder has a decoder of its own; a small one has heads that divide."""
        if self.backbone_config is None:
            return
        if self.has_small_decoder:
            if getattr(self.backbone_config, "is_decoder", False):
                raise ValueError(
                    f"backbone_config is of a decoder ({self.backbone_config.model_type}): give that of an encoder or "
                    "of an encoder-decoder"
                )
            if self.hidden_size % self.num_attention_heads:
                raise ValueError(
                    f"decoder_heads={self.num_attention_heads} does not divide the states, of size {self.hidden_size}"
                )
            return
        for name in OF_SMALL_DECODER:
            if getattr(self, name) != getattr(type(self), name):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect with a {self.backbone_config.model_type}, which "
                    "has a decoder: leave it out"
                )

    def validate_sizes(self):
        """Numbers of things of which there are some."""
        for name in ("max_words", "max_tuples", "max_span", "decoder_layers", "decoder_heads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1")

    def validate_rates(self):
        """Dropout leaves something, and so does alpha of the states."""
        for name in ("mlp_dropout", "decoder_dropout"):
            rate = getattr(self, name)
            if not 0 <= rate < 1:
                raise ValueError(f"{name}={rate}: a rate of at least 0 and below 1")
        if not 0 < self.alpha <= 1:
            raise ValueError(f"alpha={self.alpha}: above 0 and at most 1")

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


__all__ = ["PointerABSAConfig"]
