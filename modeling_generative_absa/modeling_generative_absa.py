"""Pointer models for aspect-based sentiment analysis (Yan et al., "A Unified Generative Framework for Aspect-Based
Sentiment Analysis", ACL 2021, arXiv 2106.04300): a decoder that points to words and names classes.

Shapes: B sentences, L pieces, W words (max_words), P prompt indices, T indices that follow, S start, end and classes,
V = S + W, d size of all states. Equations have the paper's numbers.
"""

from copy import copy
from dataclasses import dataclass
from inspect import signature

import torch
from torch import nn
from transformers import AutoModel, GenerationMixin, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import Seq2SeqLMOutput, Seq2SeqModelOutput
from transformers.utils import ModelOutput
from transformers.utils.generic import can_return_tuple

from .configuration_generative_absa import SPECIAL_INDICES, PointerABSAConfig
from .decoder_generative_absa import IndexEmbeddings, PointerScores, PointerStates, pooling_weights, small_decoder
from .grammar_generative_absa import END, START, TASKS, Grammar, GrammarLogitsProcessor
from .loading_generative_absa import PointerPreTrainedModel, backbone_options
from .pipeline_generative_absa import CUSTOM_PIPELINES

IGNORED = -100


@dataclass
class PointerEncoderOutput(ModelOutput):
    """What is known of sentences before anything is generated; `generate` repeats it for beams.

    Args:
        last_hidden_state: of the encoder, H^e, (B, L, d)
        word_inputs: what the decoder reads of a word that was pointed to, (B, W, d)
        word_states: what is pointed to, the pooled mix of states and embeddings, (B, W, d)
        word_mask: True at words, (B, W)
        hidden_states: with `output_hidden_states`: the encoder's, (B, L, d) each
        attentions: with `output_attentions`: the encoder's, (B, heads, L, L) each
    """

    last_hidden_state: torch.FloatTensor | None = None
    word_inputs: torch.FloatTensor | None = None
    word_states: torch.FloatTensor | None = None
    word_mask: torch.BoolTensor | None = None
    hidden_states: tuple[torch.FloatTensor, ...] | None = None
    attentions: tuple[torch.FloatTensor, ...] | None = None


class PointerABSAModel(PointerPreTrainedModel):
    """A backbone, what stands for the words of a sentence, and a decoder that reads indices."""

    def __init__(self, config: PointerABSAConfig):
        super().__init__(config)
        if config.backbone_config is None:
            raise ValueError(
                "backbone_config is None: give one of an encoder or of an encoder-decoder, or load the checkpoint of "
                "one with from_pretrained"
            )
        self.backbone = AutoModel.from_config(config.backbone_config, **backbone_options(config.backbone_config))
        width = self.backbone.get_input_embeddings().embedding_dim
        if width != config.hidden_size:
            raise ValueError(
                f"a {config.backbone_config.model_type} with embeddings of size {width} and states of size "
                f"{config.hidden_size}: the two are added, give a backbone where they are the same"
            )
        # Not all backbones have position ids.
        self.encoder_inputs = frozenset(signature(self._encoder().forward).parameters)
        self.pointer = PointerStates(config)
        self.embeddings = IndexEmbeddings(config)
        if config.has_small_decoder:
            self.decoder = small_decoder(config, self.backbone.config._attn_implementation)
        self.post_init()

    def _encoder(self) -> PreTrainedModel:
        return self.backbone if self.config.has_small_decoder else self.backbone.get_encoder()

    def encode(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        word_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> PointerEncoderOutput:
        """All that depends on the sentences alone; the arguments and errors are those of `forward`."""
        if word_ids is None:
            raise ValueError("word_ids is missing: give the number of each piece's word, encode_words makes them")
        if attention_mask is not None:
            word_ids = word_ids.masked_fill(attention_mask == 0, -1)
        weights = pooling_weights(word_ids, self.config)  # (B, W, L)
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "position_ids": position_ids}
        outputs = self._encoder()(
            **{name: value for name, value in inputs.items() if name in self.encoder_inputs},
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        states = outputs.last_hidden_state  # eq. 2, (B, L, d)
        embedded = self.backbone.get_input_embeddings()(input_ids)  # eq. 5, (B, L, d)
        weights = weights.to(states.dtype)
        reads_states = self.config.has_small_decoder and self.config.decoder_input == "states"
        return PointerEncoderOutput(
            last_hidden_state=states,
            word_inputs=weights @ (states if reads_states else embedded),
            word_states=weights @ self.pointer(states, embedded),  # eq. 6, 7
            word_mask=weights.sum(dim=-1) > 0,
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        word_ids: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_prompt_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        encoder_outputs: PointerEncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> Seq2SeqModelOutput:
        r"""
        Args:
            input_ids: pieces of the sentences, with the tokenizer's special tokens, (B, L).
            attention_mask: 1 at pieces, 0 at padding, (B, L); None where there is no padding.
            word_ids: number of each piece's word in its sentence, from 0, below `max_words`; negative at special
                tokens, (B, L). What stands at padding does not matter.
            decoder_input_ids: indices of the grammar's space, with the prompt, (B, T); with `past_key_values` those
                that are new.
            decoder_prompt_ids: what the sequences begin with, (B, P); needed where a model of several tasks gets no
                whole sequences.
            position_ids: (B, L), handed to encoders that take them.
            encoder_outputs: of `encode`, instead of the sentences.
            past_key_values, use_cache: keys and values of the indices before, and whether to return them.
            output_attentions, output_hidden_states: whether to return those of encoder and decoder.

        Raises:
            ValueError: if there are no `word_ids`, or more words than `max_words`, or no task.
        """
        asked = {"output_attentions": output_attentions, "output_hidden_states": output_hidden_states}
        if encoder_outputs is None:
            encoder_outputs = self.encode(input_ids, attention_mask, word_ids, position_ids, **asked)
        position = 0 if past_key_values is None else past_key_values.get_seq_length()
        embedded = self.embeddings(decoder_input_ids, encoder_outputs.word_inputs, decoder_prompt_ids, position)
        decoder = self.decoder if self.config.has_small_decoder else self.backbone.get_decoder()
        outputs = decoder(
            inputs_embeds=embedded,  # eq. 3, (B, T, d)
            encoder_hidden_states=encoder_outputs.last_hidden_state,
            encoder_attention_mask=attention_mask,
            past_key_values=past_key_values,
            use_cache=bool(use_cache),
            return_dict=True,
            **asked,
        )  # eq. 4
        return Seq2SeqModelOutput(
            last_hidden_state=outputs.last_hidden_state,
            past_key_values=outputs.past_key_values,
            decoder_hidden_states=outputs.hidden_states,
            decoder_attentions=outputs.attentions,
            cross_attentions=outputs.cross_attentions,
            encoder_last_hidden_state=encoder_outputs.last_hidden_state,
            encoder_hidden_states=encoder_outputs.hidden_states,
            encoder_attentions=encoder_outputs.attentions,
        )

    @torch.no_grad()
    def start_classes(self, tokenizer: PreTrainedTokenizerBase):
        """Gives each class token the mean of the embeddings of its words, and start and end those of the tokenizer.

        For a model over a new backbone, before training; without this they start at random.
        """
        config = self.config.backbone_config
        starts = (tokenizer.bos_token_id, tokenizer.cls_token_id, getattr(config, "decoder_start_token_id", None))
        ends = (tokenizer.eos_token_id, tokenizer.sep_token_id)
        pieces = [[next(number for number in numbers if number is not None)] for numbers in (starts, ends)]
        tasks = len(self.embeddings.grammar.classes) - len(self.config.labels)
        for number, name in enumerate(self.embeddings.grammar.classes):
            words = TASKS[name].words if number < tasks else name
            pieces.append(tokenizer(words, add_special_tokens=False).input_ids)
        table, classes = self.get_input_embeddings(), self.embeddings.classes.weight
        for row, numbers in enumerate(pieces):
            classes[row] = table(torch.tensor(numbers, device=classes.device)).mean(dim=0)


class PointerForABSA(PointerPreTrainedModel, GenerationMixin):
    """Generates the tuples of sentences, as indices of `config.grammar`."""

    def __init__(self, config: PointerABSAConfig):
        super().__init__(config)
        self.model = PointerABSAModel(config)
        self.scores = PointerScores(config)
        self.post_init()

    @property
    def grammar(self) -> Grammar:
        """The index space, and the sequences that are legal in it; fields of `config` may change these."""
        return self.config.grammar

    def custom_pipelines(self) -> dict[str, dict]:
        """What the configuration says of pipelines."""
        return dict(CUSTOM_PIPELINES)

    @can_return_tuple
    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        word_ids: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_prompt_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        encoder_outputs: PointerEncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> Seq2SeqLMOutput:
        r"""
        A row of training is `input_ids`, `attention_mask` and `word_ids`, as `encode_words` gives them, and
        `decoder_prompt_ids` and `labels`, as `grammar.encode(task, tuples)` gives them. Prompts of a batch have one
        length; a model of one task without given aspect terms needs none.

        Args:
            labels: the indices behind the prompt, with the end, (B, T), -100 at padding. `loss` is the mean over the
                rest, and `logits` are those of `labels`, (B, T, V). Together with `decoder_input_ids` they are the
                indices that follow these.

        The other arguments and errors are those of the model without a head.
        """
        first = 0
        if decoder_input_ids is None:
            if labels is None:
                raise ValueError(
                    "labels and decoder_input_ids are missing: give one of them. A Trainer takes labels away where "
                    "label_smoothing_factor is set, which this model cannot be trained with: leave it out"
                )
            if decoder_prompt_ids is None:
                decoder_prompt_ids = self.default_prompt(labels)
            before = labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, END)
            decoder_input_ids = torch.cat([decoder_prompt_ids, before], dim=1)
            first = decoder_prompt_ids.shape[1] - 1
        if encoder_outputs is None:
            encoder_outputs = self.model.encode(
                input_ids, attention_mask, word_ids, position_ids, output_attentions, output_hidden_states
            )
        outputs = self.model(
            attention_mask=attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_prompt_ids=decoder_prompt_ids,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.scores(
            outputs.last_hidden_state[:, first:],
            self.model.embeddings.classes.weight,
            encoder_outputs.word_states,
            encoder_outputs.word_mask,
        )
        loss = None
        if labels is not None:
            in_float = logits.to(torch.promote_types(logits.dtype, torch.float32))
            loss = nn.functional.cross_entropy(in_float.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)  # eq. 9
        return Seq2SeqLMOutput(
            loss=loss, logits=logits, **{name: value for name, value in outputs.items() if name != "last_hidden_state"}
        )

    def default_prompt(self, rows: torch.Tensor) -> torch.Tensor:
        """The prompt of a model of one task without given aspect terms, for so many rows as a tensor has, (B, 1).

        Raises:
            ValueError: for another model.
        """
        prompt = self.grammar.prompt(self.grammar.tasks[0]) if len(self.grammar.tasks) == 1 else [START]
        prompt = torch.tensor(prompt, device=rows.device).expand(len(rows), -1)
        self.grammar.task_numbers(prompt)
        return prompt

    @torch.no_grad()
    def generate(
        self,
        inputs: torch.Tensor | None = None,
        *,
        word_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_prompt_ids: torch.Tensor | None = None,
        encoder_outputs: PointerEncoderOutput | None = None,
        constrained: bool = True,
        **options,
    ):
        r"""As of any model that generates, here under the grammar.

        Args:
            inputs: `input_ids`, by this name too.
            decoder_prompt_ids: (B, P), as `grammar.prompt` gives them; a model of one task without given aspect terms
                needs none.
            constrained: whether only legal indices are generated. Scores are log-probabilities among these.
            options: of `GenerationMixin.generate`. Without a length there is room for `max_tuples`. Beams are compared
                by their probabilities, undivided by the length (`length_penalty=0`), unless `length_penalty` is given
                as an argument or in a `generation_config`. In the latter 1.0 counts as not given: Transformers writes
                this default into every saved configuration.
        Returns:
            The sequences with their prompts, (B, P + T), for `grammar.parse`; or what `return_dict_in_generate` says.
        """
        input_ids, position_ids = options.pop("input_ids", inputs), options.pop("position_ids", None)
        options.pop("labels", None)  # of a Trainer's batch
        if encoder_outputs is None:
            encoder_outputs = self.model.encode(input_ids, attention_mask, word_ids, position_ids)
        if decoder_prompt_ids is None:
            decoder_prompt_ids = self.default_prompt(encoder_outputs.last_hidden_state)
        if constrained:
            processors = [GrammarLogitsProcessor(self.grammar, encoder_outputs.word_mask)]
            options["logits_processor"] = LogitsProcessorList([*processors, *(options.get("logits_processor") or [])])
        given, defaults = options.get("generation_config"), dict(SPECIAL_INDICES)
        chosen = given or self.generation_config
        if (options.get("num_beams") or chosen.num_beams or 1) > 1 and chosen.length_penalty in (None, 1.0):
            # Probabilities are compared as they are: over the length, Transformers' default, more tuples would win.
            defaults["length_penalty"] = 0.0
        lengths = [options.get("max_length"), options.get("max_new_tokens"), chosen.max_new_tokens]
        if not any(lengths) and (given is None or given.max_length is None):
            numbers = set(self.grammar.task_numbers(decoder_prompt_ids).tolist())
            most = max(self.grammar.max_new_tokens(self.grammar.tasks[number]) for number in numbers)
            defaults["max_length"] = decoder_prompt_ids.shape[1] + most
        if given is None:
            options = defaults | {name: value for name, value in options.items() if value is not None}
        else:
            options["generation_config"] = copy(given)
            options["generation_config"].update(**defaults)
        return super().generate(
            attention_mask=attention_mask,
            **options,
            encoder_outputs=copy(encoder_outputs),  # whose tensors are replaced, for beams
            decoder_input_ids=decoder_prompt_ids,
            decoder_prompt_ids=decoder_prompt_ids,
        )

    @torch.no_grad()
    def log_probabilities(
        self,
        sequences: torch.Tensor,
        decoder_prompt_ids: torch.Tensor,
        encoder_outputs: PointerEncoderOutput,
        attention_mask: torch.Tensor | None = None,
        temperature: float = 1.0,
    ) -> torch.Tensor:
        """Log-probabilities among the legal indices, at each step behind the prompt.

        Args:
            sequences: with their prompts, (B, P + T).
            temperature: what the logits are divided by.
        Returns:
            (B, T, V), in float32 or more
        """
        length = decoder_prompt_ids.shape[1]
        logits = self(
            attention_mask=attention_mask,
            decoder_input_ids=sequences[:, :-1],
            decoder_prompt_ids=decoder_prompt_ids,
            encoder_outputs=encoder_outputs,
        ).logits[:, length - 1 :]
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / temperature
        legal = [
            self.grammar.legal(sequences[:, :end], encoder_outputs.word_mask)
            for end in range(length, sequences.shape[1])
        ]
        lowest = torch.finfo(logits.dtype).min
        return logits.masked_fill(~torch.stack(legal, dim=1), lowest).log_softmax(dim=-1)


__all__ = ["PointerABSAModel", "PointerEncoderOutput", "PointerForABSA"]
