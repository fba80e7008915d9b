"""Configurations of CG-BERT and QACG-BERT (Wu & Ong, "Context-Guided BERT for Targeted ABSA", AAAI 2021)."""

from dataclasses import dataclass
from typing import Literal

from transformers.configuration_utils import PreTrainedConfig, strict  # huggingface_hub's, as Transformers has it
from transformers.models.bert.configuration_bert import BertConfig

DEFAULT_NUM_CONTEXTS = 8  # SentiHood: two targets times four aspects
# Encoders whose positions begin behind that of padding.
BEHIND_PADDING = (
    *("camembert", "data2vec-text", "ibert", "lilt", "longformer", "luke", "mpnet", "roberta"),
    *("roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
)


def positions_of(config: PreTrainedConfig) -> int | None:
    """The most tokens that a model reads; None where there is no limit."""
    most = getattr(config, "max_position_embeddings", None)
    if most is None or config.model_type not in BEHIND_PADDING:
        return most
    padding = 1 if config.model_type == "mpnet" else config.pad_token_id  # MPNet's, whatever its vocabulary has
    return most - padding - 1


@dataclass
class ContextFields:
    r"""
    The description of the contexts, and of how attention is guided by them: fields of several configurations.

    Args:
        targets (`list[str]`, *optional*):
            Targets the model knows, in the order of the context ids. None or empty where the task has no targets.
        aspects (`list[str]`, *optional*):
            Aspects the model knows. The context of (targets[t], aspects[a]) has the id `t * len(aspects) + a`.
        num_contexts (`int`, *optional*):
            Rows of the context embedding. Follows from `targets` and `aspects` where `aspects` is given, else 8.
        num_context_layers (`int`, *optional*):
            How many layers, counted from the top, are context-guided; None for all, as in the paper. Those below are
            BERT's own and know no context, so that all contexts of a text share them.
        context_source (`"id"` or `"text"`, defaults to `"id"`):
            What the vector of a context is: a row of an embedding, as in the paper; or made from its words, so that a
            model can be asked about targets and aspects that it was not trained on. `targets` and `aspects` are then
            those of its training, and there is no embedding.
        auxiliary_sentence (`bool`, defaults to True):
            Whether the input names its context in words behind the text (Sun et al., NAACL 2019), so that inference
            encodes a text as training did.
        symmetric_targets (`bool`, defaults to False):
            Whether a text is read once for each target that it is asked about, as a text about the first of `targets`:
            in the text too these two have changed names. So what is learnt of one target holds for all, and to
            exchange two names in a text exchanges their answers. Of the context embedding only the rows of the first
            target are used.
        none_label (`str`, *optional*, defaults to `"none"`):
            Label of a text that does not speak of the context. Where it is None or no label has this name, every text
            speaks of every context.
        context_projection (`"head"` or `"hidden"`, defaults to `"head"`):
            Size of the matrices that turn the context matrix into context queries and keys: (d, d) shared by the
            heads, as in the paper, or (H, H) over all heads, as in the authors' released QACG-BERT code.
        gate_bias (`bool`, defaults to False):
            Whether each gate has a bias, as in the authors' released QACG-BERT code.
        context_initializer_range (`float`, defaults to 1e-3):
            Standard deviation of the initial weights that BERT does not have. The paper says σ = e⁻³ and writes its
            learning rate as 2e⁻⁵ for 2·10⁻⁵, so e⁻³ may be read as 10⁻³ or as exp(-3) = 0.0498.
        gate_initializer_range (`float`, *optional*):
            The same for the gates alone; None for `context_initializer_range`. It alone says how big the quasi term,
            which is not normalised over the keys, is before training: at 0.0498 it drowns the pretrained features, at
            10⁻³ it starts where the paper says it does, "close to zero". The authors' released code has 0.01 for the
            gates and 0.02 for the rest.
        calibration_temperature (`float`, defaults to 1.0):
            What the logits are divided by before the softmax, so that a probability is the share of right answers
            (Guo et al., ICML 2017). Fitted on the validation split after training; the pipeline applies it, the model
            does not: no label changes by it.
        likeness_calibration (`list[float]`, *optional*):
            Slope and intercept of the log-odds that a text speaks of an aspect, by how like it its nearest word is.
            Fitted on the validation split after training with `context_source="text"`; the pipeline answers by it
            whether a text speaks of an aspect that was in no training. None to leave that to the model.

    """

    targets: list[str] | None = None
    aspects: list[str] | None = None
    num_contexts: int | None = None
    num_context_layers: int | None = None
    context_source: Literal["id", "text"] = "id"
    auxiliary_sentence: bool = True
    symmetric_targets: bool = False
    none_label: str | None = "none"
    context_projection: Literal["head", "hidden"] = "head"
    gate_bias: bool = False
    context_initializer_range: float | int = 1e-3
    gate_initializer_range: float | int | None = None
    calibration_temperature: float | int = 1.0
    likeness_calibration: list[float] | None = None

    def __post_init__(self, **kwargs):
        if self.num_contexts is None:
            self.num_contexts = len(self.targets or [""]) * len(self.aspects) if self.aspects else DEFAULT_NUM_CONTEXTS
        kwargs.pop("model_type", None)  # "bert" where the configuration comes from a BERT checkpoint
        super().__post_init__(**kwargs)

    @classmethod
    def from_dict(cls, config_dict, **kwargs):
        # The base class sets keyword arguments after construction, when num_contexts no longer follows from the names.
        given = {name: kwargs.pop(name) for name in ("targets", "aspects", "num_contexts") if name in kwargs}
        if given:
            given.setdefault("num_contexts", None)
        return super().from_dict({**config_dict, **given}, **kwargs)

    def validate_contexts(self):
        """The names are usable and as many as the context embedding has rows for."""
        for field in ("targets", "aspects"):
            names = getattr(self, field) or []
            if any(not name.strip() for name in names):
                raise ValueError(f"{field}={names}: a name is empty; remove it or give it a name")
            if len(set(names)) != len(names):
                raise ValueError(f"{field}={names}: a name occurs twice; each context has one id")
        if self.targets and not self.aspects:
            raise ValueError(f"targets={self.targets} without aspects: a context is a (target, aspect) pair")
        if self.num_contexts < 1:
            raise ValueError(f"num_contexts={self.num_contexts}: at least 1")
        if self.aspects:
            num_pairs = len(self.targets or [""]) * len(self.aspects)
            if self.num_contexts != num_pairs:
                raise ValueError(
                    f"num_contexts={self.num_contexts}, but targets={self.targets} and aspects={self.aspects} make "
                    f"{num_pairs} contexts; leave num_contexts out or set it to {num_pairs}"
                )

    @property
    def num_shared_layers(self) -> int:
        """Layers below the context-guided ones."""
        return 0 if self.num_context_layers is None else self.num_hidden_layers - self.num_context_layers

    def validate_num_context_layers(self):
        """The context needs a layer, and there are no more than the model has."""
        if self.num_context_layers is not None and not 1 <= self.num_context_layers <= self.num_hidden_layers:
            raise ValueError(
                f"num_context_layers={self.num_context_layers}: give 1 to num_hidden_layers={self.num_hidden_layers}, "
                "or None for all"
            )

    def validate_initializer_ranges(self):
        """A standard deviation is not negative, and a number."""
        for field in ("context_initializer_range", "gate_initializer_range"):
            value = getattr(self, field)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{field}={value}: a standard deviation, a finite number of at least 0")

    def validate_calibration_temperature(self):
        """Logits are divided by it."""
        if not 0 < self.calibration_temperature < float("inf"):
            raise ValueError(f"calibration_temperature={self.calibration_temperature}: a finite number above 0")

    def validate_likeness_calibration(self):
        """A line."""
        if self.likeness_calibration is not None and len(self.likeness_calibration) != 2:
            raise ValueError(f"likeness_calibration={self.likeness_calibration}: a slope and an intercept, or None")


@strict
class ContextGuidedBertConfig(ContextFields, BertConfig):
    r"""
    What CG-BERT and QACG-BERT share: BERT's configuration and the description of the contexts.

    The arguments are those of `ContextFields` and of `BertConfig`.

    Raises:
        huggingface_hub.errors.StrictDataclassError: if a value has the wrong type, the contexts and `num_contexts`
            disagree, names are empty or occur twice, there are not so many layers, or the model would be a decoder.
    """

    def validate_encoder_only(self):
        """Context-guided attention is defined for encoders."""
        if self.is_decoder or self.add_cross_attention:
            raise ValueError(
                f"is_decoder={self.is_decoder}, add_cross_attention={self.add_cross_attention}: {self.model_type} is "
                "an encoder; leave both False"
            )

    def validate_head_size(self):
        """Heads divide the hidden size."""
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size={self.hidden_size} is not a multiple of num_attention_heads={self.num_attention_heads}"
            )


@dataclass
class QuasiAttentionFields:
    r"""
    Numbers of the quasi-attention.

    Args:
        quasi_form (`"sigmoid"`, `"centred"`, `"normalised"` or `"softmax"`, defaults to `"sigmoid"`):
            What the quasi-attention makes of its scores. The paper's sigmoid (eq. 6) gives every key nearly 1/2, until
            training parts them. Less 1/2 ("centred") it starts near zero and has both signs; over its sum over the
            keys ("normalised"), or as a softmax over them, it cannot outweigh the softmax attention. The Triton kernel
            knows the first only.
        quasi_attention_scale (`float`, defaults to 1.0): the paper's α, eq. 6.
        query_gate_scale (`float`, defaults to 1.0): the paper's β, eq. 8.
        key_gate_scale (`float`, defaults to 1.0): the paper's γ, eq. 8.
    """

    quasi_form: Literal["sigmoid", "centred", "normalised", "softmax"] = "sigmoid"
    quasi_attention_scale: float | int = 1.0
    query_gate_scale: float | int = 1.0
    key_gate_scale: float | int = 1.0


@strict
class QACGBertConfig(QuasiAttentionFields, ContextGuidedBertConfig):
    r"""
    Configuration of QACG-BERT: softmax attention plus a gated quasi-attention that may subtract.

    Its arguments are those of `QuasiAttentionFields`, `ContextFields` and `BertConfig`.
    """

    model_type = "qacg_bert"


@strict
class CGBertConfig(ContextGuidedBertConfig):
    r"""
    Configuration of CG-BERT: softmax attention over queries and keys mixed with the context's.

    Its arguments are those of `ContextFields` and `BertConfig`.
    """

    model_type = "cg_bert"


__all__ = ["CGBertConfig", "ContextFields", "ContextGuidedBertConfig", "QACGBertConfig", "QuasiAttentionFields"]
