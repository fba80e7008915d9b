"""Taggers with a global context (Xu, Shen & Sun, "Supplementary Features of BiLSTM for Enhanced Sequence Labeling",
arXiv 2305.19928): any encoder, a BiLSTM, the global context mechanism, a classifier of each token, perhaps a CRF.

Shapes: B sentences, n tokens, h width of the encoder, d width of states, u labels. Equations have the paper's numbers.
"""

from copy import deepcopy
from dataclasses import dataclass, fields
from inspect import signature

import torch
from torch import nn
from transformers import MODEL_MAPPING, AutoConfig, AutoModel
from transformers.configuration_utils import PreTrainedConfig
from transformers.modeling_utils import PreTrainedModel
from transformers.utils import ModelOutput
from transformers.utils.generic import can_return_tuple

from .configuration_global_context import GlobalContextConfig
from .crf_global_context import (
    IGNORED,
    Chain,
    ConditionalRandomField,
    Positions,
    log_marginals,
    negative_log_likelihood,
    viterbi,
)
from .layers_global_context import BiLSTM, GlobalContext, SelfAttention, global_state_of
from .pipeline_global_context import custom_pipelines_of
from .tags_global_context import well_formed_transitions

OF_THE_FILE = ("cache_dir", "force_download", "local_files_only", "proxies", "revision", "subfolder", "token")
AUTO_MAP = {
    "AutoConfig": "configuration_global_context.GlobalContextConfig",
    "AutoModel": "modeling_global_context.GlobalContextModel",
    "AutoModelForTokenClassification": "modeling_global_context.GlobalContextForTokenClassification",
}


@dataclass
class GlobalContextModelOutput(ModelOutput):
    """Outputs of `GlobalContextModel`.

    Args:
        last_hidden_state: what the classifier sees, (B, n, d), or (B, n, 2d) with `context_fusion="concat"`
        global_state: with `interaction="context"`: what is known of the whole sentence, (B, d)
        gates: with `output_gates`: those of the states and those of the global state, (B, n, d) each
        hidden_states: with `output_hidden_states`: the encoder's, (B, n, h) each
        attentions: with `output_attentions`: the encoder's, (B, heads, n, n) each
    """

    last_hidden_state: torch.FloatTensor | None = None
    global_state: torch.FloatTensor | None = None
    gates: tuple[torch.FloatTensor, torch.FloatTensor] | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None


@dataclass
class TaggerOutput(ModelOutput):
    """Outputs of `GlobalContextForTokenClassification`.

    Args:
        loss: with labels: cross-entropy, the mean over labelled tokens; with a CRF the mean over sentences
        logits: their softmax is the probability of each label, (B, n, u). With a CRF they are log marginals in
            evaluation mode at the positions of words; elsewhere, and in training, they are the emissions.
        emissions: what the classifier gives, (B, n, u)
        predictions: with a CRF, in evaluation mode: the most probable labels, (B, n), -100 where there is no word
        global_state, gates, hidden_states, attentions: as of the model
    """

    loss: torch.FloatTensor | None = None
    logits: torch.FloatTensor | None = None
    emissions: torch.FloatTensor | None = None
    predictions: torch.LongTensor | None = None
    global_state: torch.FloatTensor | None = None
    gates: tuple[torch.FloatTensor, torch.FloatTensor] | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None


def encoder_options(config: PreTrainedConfig) -> dict[str, bool]:
    """No pooler: nothing depends on it, and parameters without a gradient stop distributed training."""
    has_pooler = "add_pooling_layer" in signature(MODEL_MAPPING[type(config)]).parameters
    return {"add_pooling_layer": False} if has_pooler else {}


class GlobalContextPreTrainedModel(PreTrainedModel):
    """Loading, saving and initialisation."""

    config: GlobalContextConfig
    config_class = GlobalContextConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
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
        cls, name: str, config: GlobalContextConfig | None, of_the_file: dict, output_loading_info=False, **kwargs
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
        self.config.custom_pipelines = self.custom_pipelines()
        super().save_pretrained(save_directory, *args, **kwargs)

    def custom_pipelines(self) -> dict[str, dict]:
        """What the configuration says of pipelines; without a head there are none."""
        return {}

    @torch.no_grad()
    def _init_weights(self, module: nn.Module):
        if isinstance(module, (BiLSTM, ConditionalRandomField)):
            module.reset_parameters()
        else:
            super()._init_weights(module)


class GlobalContextModel(GlobalContextPreTrainedModel):
    """An encoder or static embeddings, a BiLSTM, and what makes a state know the whole sentence."""

    def __init__(self, config: GlobalContextConfig):
        super().__init__(config)
        if config.encoder_config is not None:
            self.encoder = AutoModel.from_config(config.encoder_config, **encoder_options(config.encoder_config))
            self.encoder_inputs = frozenset(signature(self.encoder.forward).parameters)  # not all have token types
        elif config.vocab_size is not None:
            self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, config.pad_token_id)
        else:
            raise ValueError(
                "encoder_config and vocab_size are None: give one of an encoder, one of static word embeddings, or "
                "load the checkpoint of an encoder with from_pretrained"
            )
        self.encoder_dropout = nn.Dropout(config.encoder_dropout)
        self.lstm = BiLSTM(config) if config.use_bilstm else None
        self.context = GlobalContext(config) if config.interaction == "context" else None
        self.attention = SelfAttention(config) if config.interaction == "attention" else None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embeddings if self.config.encoder_config is None else self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Embedding):
        if self.config.encoder_config is None:
            self.embeddings = value
        else:
            self.encoder.set_input_embeddings(value)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_gates: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> GlobalContextModelOutput:
        r"""
        Args:
            input_ids: token ids, of words for static embeddings, (B, n).
            attention_mask: 1 at tokens, 0 at padding on either side, (B, n); None where there is no padding.
            token_type_ids, position_ids: (B, n), handed to encoders that take them.
            inputs_embeds: embeddings instead of `input_ids`, (B, n, width of the embeddings).
            output_gates: whether to return the gates.
            output_attentions, output_hidden_states: whether to return the encoder's.

        Raises:
            ValueError: if not exactly one of `input_ids` and `inputs_embeds` is given, or a row has no token.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass exactly one of input_ids and inputs_embeds")
        mask = None  # where all positions are real
        if attention_mask is not None and not attention_mask.all():
            mask = attention_mask.bool()
            if not mask.any(dim=1).all():
                rows = (~mask.any(dim=1)).nonzero()[:, 0].tolist()
                raise ValueError(f"attention_mask has no token in the rows {rows}: leave out empty sentences")

        hidden_states, attentions = None, None
        if self.config.encoder_config is None:
            encoded = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds  # (B, n, h)
        else:
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
                output_hidden_states=(
                    self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
                ),
                return_dict=True,
            )
            encoded = outputs.last_hidden_state  # eq. 1, (B, n, h)
            hidden_states, attentions = outputs.get("hidden_states"), outputs.get("attentions")
        states = self.encoder_dropout(encoded)
        if self.lstm is not None:
            states = self.lstm(states, mask)  # eq. 2-4, (B, n, d)

        global_state, gates = None, None
        if self.context is not None:
            global_state = global_state_of(states, mask, self.config)  # (B, d)
            states, gates = self.context(states, global_state)  # eq. 5-9
        if self.attention is not None:
            states = self.attention(states, mask)  # eq. 11-13
        return GlobalContextModelOutput(
            last_hidden_state=states,
            global_state=global_state,
            gates=gates if output_gates else None,
            hidden_states=hidden_states,
            attentions=attentions,
        )


class GlobalContextForTokenClassification(GlobalContextPreTrainedModel):
    """A label for each token: linear and softmax, or a conditional random field over the words."""

    def __init__(self, config: GlobalContextConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = GlobalContextModel(config)
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.crf = ConditionalRandomField(config.num_labels) if config.crf else None
        self.post_init()

    def custom_pipelines(self) -> dict[str, dict]:
        """What the configuration says of pipelines, which the scheme of the labels decides."""
        return custom_pipelines_of(self.config.tag_scheme)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        word_mask: torch.Tensor | None = None,
        output_gates: bool = False,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> TaggerOutput:
        r"""
        Args:
            labels: class of each token in [0, num_labels), -100 where there is none, (B, n); `loss` is over the rest.
            word_mask: 1 at the first token of each word, (B, n): where a CRF gives predictions and marginals. Without
                it they are where `labels` are, without these at all tokens of `attention_mask`.

        The other arguments and errors are those of the model without a head.
        """
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_gates=output_gates,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        emissions = self.classifier(self.dropout(outputs.last_hidden_state))  # eq. 10 before its softmax, (B, n, u)
        logits, predictions, loss = emissions, None, None
        if self.crf is not None:
            emissions = logits = emissions.to(torch.promote_types(emissions.dtype, torch.float32))
            if not self.training:
                if word_mask is None:
                    word_mask = attention_mask if labels is None else labels != IGNORED
                logits, predictions = self.marginals_and_best(emissions, word_mask)
        if labels is not None and self.crf is None:
            loss = nn.functional.cross_entropy(emissions.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        elif labels is not None:
            loss = negative_log_likelihood(emissions, labels, self.chain(emissions))
        return TaggerOutput(
            loss=loss,
            logits=logits,
            emissions=emissions,
            predictions=predictions,
            global_state=outputs.global_state,
            gates=outputs.gates,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
        )

    def emissions(self, **inputs: torch.Tensor) -> torch.Tensor:
        """What the classifier gives, (B, n, u), for `decode`: `forward` without the marginals and labels of a CRF."""
        return self.classifier(self.dropout(self.model(**inputs).last_hidden_state))

    def chain(self, emissions: torch.Tensor, constrained: bool = False) -> Chain:
        """The scores of neighbouring labels, zeros without a CRF; constrained, or by the configuration, of well-formed
        tags only."""
        chain = Chain.without_scores(emissions) if self.crf is None else self.crf.chain(emissions)
        if constrained or self.config.crf_constraints:
            return chain.constrained(well_formed_transitions(self.config.labels))
        return chain

    def marginals_and_best(
        self, emissions: torch.Tensor, word_mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log marginals (B, n, u) and the most probable labels (B, n) at words; emissions and -100 elsewhere."""
        words, chain = Positions.of(word_mask, emissions), self.chain(emissions)
        at_words = words.front(emissions)
        of_no_word = torch.full(emissions.shape[:2], IGNORED, device=emissions.device)
        return (
            words.back(log_marginals(at_words, words.lengths, chain), emissions),
            words.back(viterbi(at_words, words.lengths, chain), of_no_word),
        )

    @torch.no_grad()
    def decode(
        self, emissions: torch.Tensor, word_mask: torch.Tensor | None = None, constrained: bool = True
    ) -> list[list[str]]:
        """The most probable tags of each sentence, one a word.

        Args:
            emissions: of `forward`, or of `emissions`, (B, n, u).
            word_mask: 1 at the first token of each word, (B, n); None where each token is a word.
            constrained: whether only well-formed tags are considered. Without that, and without a CRF, each word has
                its own most probable tag.
        """
        words = Positions.of(word_mask, emissions)
        emissions = words.front(emissions.to(torch.promote_types(emissions.dtype, torch.float32)))
        best = viterbi(emissions, words.lengths, self.chain(emissions, constrained)).tolist()
        return [[self.config.id2label[label] for label in row if label != IGNORED] for row in best]


__all__ = ["GlobalContextForTokenClassification", "GlobalContextModel"]
