"""AF-LSTM (Tay, Tuan & Hui, "Learning to Attend via Word-Aspect Associative Fusion for Aspect-Based Sentiment
Analysis", AAAI 2018) and its baselines: LSTM, TD-LSTM, AT-LSTM, ATAE-LSTM, NBOW and Majority.

A row is a text and an aspect, as `tokenizer(text, aspect)` encodes them. Several aspects of a text are as many rows.

Shapes: B rows, n tokens, k width of the embeddings, d width of states. Equations have the paper's numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn
from transformers import initialization as init
from transformers.modeling_utils import PreTrainedModel
from transformers.utils import ModelOutput
from transformers.utils.generic import can_return_tuple

from .associations_af_lstm import ASSOCIATIONS, Normalization
from .configuration_af_lstm import RECURRENT, AFLstmConfig

ASPECT, TARGET = 1, AFLstmConfig.target_token_type  # token types; all others are words of the text too
AUTO_MAP = {
    "AutoConfig": "configuration_af_lstm.AFLstmConfig",
    "AutoModel": "modeling_af_lstm.AFLstmModel",
    "AutoModelForSequenceClassification": "modeling_af_lstm.AFLstmForSequenceClassification",
}


@dataclass
class AFLstmModelOutput(ModelOutput):
    """Outputs of `AFLstmModel`; all that is of tokens is zero where these are no words of the text.

    Args:
        last_hidden_state: H, the LSTM's states, (B, n, d); TD-LSTM's of both sides, (B, n, 2d); the embeddings of
            NBOW, (B, n, k)
        pooler_output: what the classifier sees, (B, d), or (B, 2d) of TD-LSTM, (B, k) of NBOW
        attentions: with `output_attentions`, of attentive architectures: weights of the states, (B, n)
        memory: with `output_hidden_states`, of AF-LSTM: M, the associations (eq. 5), (B, n, d)
    """

    last_hidden_state: torch.FloatTensor | None = None
    pooler_output: torch.FloatTensor | None = None
    attentions: torch.FloatTensor | None = None
    memory: torch.FloatTensor | None = None


@dataclass
class AFLstmClassifierOutput(ModelOutput):
    """Outputs of `AFLstmForSequenceClassification`: `loss` (scalar, with labels), `logits` (B, labels), with
    `output_hidden_states` the states as `hidden_states`, and the model's as above."""

    loss: torch.FloatTensor | None = None
    logits: torch.FloatTensor | None = None
    hidden_states: torch.FloatTensor | None = None
    attentions: torch.FloatTensor | None = None
    memory: torch.FloatTensor | None = None


class MaskedLSTM(nn.LSTM):
    """An LSTM of one direction that reads the tokens of a mask and nothing else."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__(input_size, hidden_size, batch_first=True)

    def forward(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """
        Args:
            vectors: (B, n, input size)
            mask: True where to read, (B, n)
        Returns:
            (B, n, d), zeros elsewhere.
        """
        # Where the LSTM meets each token, (B, n, 1): those to read first, in their order.
        place = torch.where(mask, mask.cumsum(1), mask.sum(1, keepdim=True) + (~mask).cumsum(1))[..., None] - 1
        read, _ = super().forward(torch.zeros_like(vectors).scatter(1, place.expand_as(vectors), vectors))
        return read.gather(1, place.expand_as(read)) * mask[..., None]


def last_of(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The state at the last token of a mask, (B, n, d) and (B, n) -> (B, d)."""
    last = mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
    return states[torch.arange(states.shape[0], device=states.device), last]


class AssociationScore(nn.Module):
    """AF-LSTM's score of each word."""

    def __init__(self, config: AFLstmConfig):
        super().__init__()
        self.associate = ASSOCIATIONS[config.association_backend][config.association]
        self.association = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.score = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, states: torch.Tensor, aspect: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, n, d) and (B, d) -> scores (B, n) and the memory (B, n, d)."""
        memory = self.associate(states, aspect)  # eq. 5
        return self.score(torch.tanh(self.association(memory)))[..., 0], memory


class ConcatenationScore(nn.Module):
    """AT-LSTM's score of each word. The aspect adds the same to those of all words, which a softmax takes away."""

    def __init__(self, config: AFLstmConfig):
        super().__init__()
        self.states = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.aspect = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.score = nn.Linear(2 * config.hidden_size, 1, bias=False)

    def forward(self, states: torch.Tensor, aspect: torch.Tensor) -> tuple[torch.Tensor, None]:
        """(B, n, d) and (B, d) -> scores (B, n), and no memory."""
        aspects = self.aspect(aspect)[:, None].expand_as(states)
        return self.score(torch.tanh(torch.cat([self.states(states), aspects], dim=-1)))[..., 0], None


class Fusion(nn.Module):
    """What is attended to, with the last state."""

    def __init__(self, config: AFLstmConfig):
        super().__init__()
        self.attended = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.last_state = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, attended: torch.Tensor, last_state: torch.Tensor) -> torch.Tensor:
        """Two of (B, d) -> (B, d)."""
        return torch.tanh(self.attended(attended) + self.last_state(last_state))  # eq. 6


class LabelShares(nn.Module):
    """The classifier of Majority: how frequent the labels are, the same for every row."""

    def __init__(self, num_labels: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_labels))

    @torch.no_grad()
    def fit(self, labels: Sequence[int] | torch.Tensor):
        """Sets each logit to the log of (rows of the label + 1) / (rows + labels), from the class of each row."""
        counts = torch.bincount(torch.as_tensor(labels), minlength=len(self.bias)) + 1
        self.bias.copy_((counts / counts.sum()).log())

    def forward(self, representation: torch.Tensor) -> torch.Tensor:
        """(B, 0) -> (B, labels)"""
        return self.bias.repeat(representation.shape[0], 1)


class AFLstmPreTrainedModel(PreTrainedModel):
    """Saving and initialisation."""

    config: AFLstmConfig
    base_model_prefix = "encoder"
    _input_embed_layer = "embeddings"
    _supports_sdpa = True  # there is no attention that backends compute, so that any may be named

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
        if isinstance(module, nn.Linear):
            init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.LSTM):  # whose matrices the base class draws so, with biases of zero
            forget = torch.zeros_like(module.bias_ih_l0).unflatten(0, (4, -1))
            forget[1] = 1  # of the gates i, f, g, o
            init.copy_(module.bias_ih_l0, forget.flatten())
        elif isinstance(module, nn.Embedding) and not getattr(module.weight, "_is_hf_initialized", False):
            module.reset_parameters()  # to norms at which associations tell words apart, padding to zero
        elif isinstance(module, LabelShares):
            init.zeros_(module.bias)


class AFLstmModel(AFLstmPreTrainedModel):
    """A text, with regard to an aspect, as one vector."""

    def __init__(self, config: AFLstmConfig):
        super().__init__(config)
        architecture, size = config.architecture, config.hidden_size
        attends_by_concatenation = architecture in ("at_lstm", "atae_lstm")
        if architecture != "majority":
            self.embeddings = nn.Embedding(config.vocab_size, config.embedding_size, config.pad_token_id)
        if config.has_projection:
            self.embedding_projection = nn.Linear(config.embedding_size, size, bias=False)
        if architecture in RECURRENT:
            self.lstm = MaskedLSTM((2 if architecture == "atae_lstm" else 1) * config.word_size, size)
        if architecture == "td_lstm":
            self.right_lstm = MaskedLSTM(config.word_size, size)
        if architecture == "af_lstm":
            self.normalization = Normalization(config.normalization, size)
            self.attention = AssociationScore(config)
        if attends_by_concatenation:
            self.attention = ConcatenationScore(config)
        self.fusion = Fusion(config) if config.use_last_state or attends_by_concatenation else None
        self.state_dropout = nn.Dropout(config.dropout if config.dropout_place == "states" else 0.0)
        self.post_init()
        self.train()

    def train(self, mode: bool = True) -> "AFLstmModel":
        """As `nn.Module.train`; `from_pretrained`, which makes each weight trainable, ends here too."""
        if self.config.architecture != "majority" and not self.config.trainable_embeddings:
            self.embeddings.requires_grad_(False)
        return super().train(mode)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> AFLstmModelOutput:
        r"""
        Args:
            input_ids: ids of the words of the text and of the aspect, (B, n).
            attention_mask: 1 at words, 0 at padding on either side, (B, n); None where there is no padding.
            token_type_ids: 0 for words of the text, 1 for those of the aspect, 2 for those of the text that are the
                target, (B, n); None where all are of the text. TD-LSTM reads the target from the first 2 to the last.
                In rows without any it takes the first place in the text where the ids of the aspect stand, in which
                the unknown word is like any other. No other architecture tells 2 from 0.
            inputs_embeds: embeddings instead of `input_ids`, (B, n, k).
            output_attentions, output_hidden_states: whether to return what `AFLstmModelOutput` says.

        Raises:
            ValueError: if not exactly one of `input_ids` and `inputs_embeds` is given; naming the rows, if a text, an
                aspect that is read or TD-LSTM's target has no word.
        """
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("pass exactly one of input_ids and inputs_embeds")
        config = self.config
        given = input_ids if inputs_embeds is None else inputs_embeds
        if config.architecture == "majority":
            nothing = torch.zeros(*given.shape[:2], 0, device=given.device)
            return AFLstmModelOutput(last_hidden_state=nothing, pooler_output=nothing[:, 0])

        shape, device = given.shape[:2], given.device
        is_word = torch.ones(shape, dtype=torch.bool, device=device) if attention_mask is None else attention_mask > 0
        types = torch.zeros(shape, dtype=torch.long, device=device) if token_type_ids is None else token_type_ids
        is_text, is_aspect = is_word & (types != ASPECT), is_word & (types == ASPECT)  # (B, n) each
        refuse_rows(~is_text.any(dim=1), "no word of the text", "leave these out, or give the unknown word")
        embedded = self.embeddings(input_ids) if inputs_embeds is None else inputs_embeds  # (B, n, k)
        if config.has_projection:
            embedded = self.embedding_projection(embedded)
        words = embedded * is_text[..., None]
        output_attentions = config.output_attentions if output_attentions is None else output_attentions
        output_hidden_states = config.output_hidden_states if output_hidden_states is None else output_hidden_states

        attentions, memory = None, None
        if config.architecture == "nbow":
            states = words
            representation = words.sum(dim=1)
        elif config.architecture == "lstm":
            states = self.state_dropout(self.lstm(words, is_text))
            representation = last_of(states, is_text)
        elif config.architecture == "td_lstm":
            is_target = target_of(input_ids, is_text, is_aspect, types)
            is_left = is_text & (is_target.flip(1).cumsum(1).flip(1) > 0)  # the target in both
            is_right = (is_text & (is_target.cumsum(1) > 0)).flip(1)
            left = self.state_dropout(self.lstm(words, is_left))
            right = self.state_dropout(self.right_lstm(words.flip(1), is_right))
            states = torch.cat([left, right.flip(1)], dim=-1)  # (B, n, 2d)
            representation = torch.cat([last_of(left, is_left), last_of(right, is_right)], dim=-1)
        else:
            refuse_rows(~is_aspect.any(dim=1), "no word of the aspect", "encode pairs, tokenizer(text, aspect)")
            aspect = (embedded * is_aspect[..., None]).sum(dim=1)  # (B, d)
            if config.architecture == "atae_lstm":
                words = torch.cat([words, aspect[:, None].expand_as(words)], dim=-1)  # (B, n, 2d)
            states = self.state_dropout(self.lstm(words, is_text))
            if config.architecture == "af_lstm":
                scores, memory = self.attention(*self.normalization(states, aspect, is_text))
            else:
                scores, memory = self.attention(states, aspect)
            scores = scores.masked_fill(~is_text, torch.finfo(scores.dtype).min)
            attentions = scores.softmax(dim=-1)
            representation = (attentions[:, None] @ states)[:, 0]
            if self.fusion is not None:
                representation = self.fusion(representation, last_of(states, is_text))
        return AFLstmModelOutput(
            last_hidden_state=states,
            pooler_output=representation,
            attentions=attentions if output_attentions else None,
            memory=memory * is_text[..., None] if output_hidden_states and memory is not None else None,
        )


def refuse_rows(is_at_fault: torch.Tensor, fault: str, remedy: str):
    """Names the rows of a batch that a model cannot read, (B,); a compiled model is not asked."""
    if not torch.compiler.is_compiling() and is_at_fault.any():
        raise ValueError(f"attention_mask and token_type_ids leave {fault} in rows {where(is_at_fault)}: {remedy}")


def where(is_row: torch.Tensor) -> list[int]:
    return is_row.nonzero()[:, 0].tolist()


def target_of(
    input_ids: torch.Tensor | None, is_text: torch.Tensor, is_aspect: torch.Tensor, types: torch.Tensor
) -> torch.Tensor:
    """True at words of the target, (B, n): where the token types say so, else where the aspect first stands.

    Raises:
        ValueError: if a row has neither.
    """
    is_target = is_text & (types == TARGET)
    unmarked = ~is_target.any(dim=1)
    if not unmarked.any():
        return is_target
    if input_ids is None:
        raise ValueError(f"inputs_embeds without a target in rows {where(unmarked)}: mark it by 2 in token_type_ids")
    for row in where(unmarked):
        places = is_text[row].nonzero()[:, 0]  # of the text's words in the row
        words, aspect = input_ids[row, places].tolist(), input_ids[row, is_aspect[row]].tolist()
        length = len(aspect)
        starts = [start for start in range(len(words)) if words[start : start + length] == aspect]
        if starts and aspect:
            is_target[row, places[starts[0] : starts[0] + length]] = True
    refuse_rows(
        ~is_target.any(dim=1),
        "no target",
        "mark it by 2, or give an aspect that stands in the text (absa.load: targets=[...]); architecture='lstm' "
        "needs none",
    )
    return is_target


class AFLstmForSequenceClassification(AFLstmPreTrainedModel):
    """The sentiment of a text towards an aspect: dropout, linear."""

    accepts_loss_kwargs = False  # `kwargs` are not read: without this the Trainer would take them for its own

    def __init__(self, config: AFLstmConfig):
        super().__init__(config)
        self.num_labels = config.num_labels
        self.encoder = AFLstmModel(config)
        self.dropout = nn.Dropout(config.dropout if config.dropout_place == "representation" else 0.0)
        if config.architecture == "majority":
            self.classifier = LabelShares(config.num_labels)
        else:
            self.classifier = nn.Linear(config.representation_size, config.num_labels)
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs,
    ) -> AFLstmClassifierOutput:
        r"""
        Args:
            labels: class of each row in [0, num_labels), -100 where there is none, (B,); `loss` is the mean
                cross-entropy over the rest.
            kwargs: what a batch holds for other models, such as `context_ids`; it is ignored.

        The other arguments and errors are those of the model without a head.
        """
        outputs = self.encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.classifier(self.dropout(outputs.pooler_output))
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        return AFLstmClassifierOutput(
            loss=None if labels is None else nn.functional.cross_entropy(logits, labels),
            logits=logits,
            hidden_states=outputs.last_hidden_state if output_hidden_states else None,
            attentions=outputs.attentions,
            memory=outputs.memory,
        )


__all__ = ["AFLstmForSequenceClassification", "AFLstmModel"]
