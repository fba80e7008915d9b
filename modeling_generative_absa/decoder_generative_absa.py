"""What stands around the pretrained parts: words from pieces, what is pointed to, and the small decoder.

Shapes: B sentences, L pieces, W words (max_words), T target indices, d size of all states.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import BartConfig
from transformers.models.bart.modeling_bart import BartDecoder

from .configuration_generative_absa import PointerABSAConfig
from .grammar_generative_absa import SLOTS


def pooling_weights(word_ids: torch.Tensor, config: PointerABSAConfig) -> torch.Tensor:
    """The weight of each piece in each word, (B, W, L); zeros for a word without pieces.

    Args:
        word_ids: number of each piece's word, negative at pieces that are of none, (B, L).
    Raises:
        ValueError: if there are more words than the model can point to.
    """
    if word_ids.numel() and word_ids.max() >= config.max_words:
        raise ValueError(
            f"word_ids has the word {int(word_ids.max())}, the model points to max_words={config.max_words} of them: "
            "truncate the sentence, encode_words does it"
        )
    numbers = torch.arange(config.max_words, device=word_ids.device)
    is_piece = word_ids[:, None] == numbers[:, None]  # (B, W, L)
    if config.pooling == "first":
        is_piece = is_piece & (is_piece.cumsum(dim=-1) == 1)
    return is_piece / is_piece.sum(dim=-1, keepdim=True).clamp(min=1)


class PointerStates(nn.Module):
    """What the decoder's states are compared with: of each piece a mix of its state and its embedding."""

    def __init__(self, config: PointerABSAConfig):
        super().__init__()
        size = config.hidden_size
        self.alpha = config.alpha
        self.mlp = nn.Identity()
        if config.pointer_mlp:
            self.mlp = nn.Sequential(
                nn.Linear(size, size), nn.Dropout(config.mlp_dropout), nn.ReLU(), nn.Linear(size, size)
            )

    def forward(self, states: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """
        Args:
            states: of the encoder, H^e, (B, L, d)
            embedded: the pieces' embeddings, E^e, (B, L, d)
        Returns:
            (B, L, d)
        """
        return self.alpha * self.mlp(states) + (1 - self.alpha) * embedded  # eq. 6, 7


class IndexEmbeddings(nn.Module):
    """The decoder's input: a class token's embedding, or what is known of the word that was pointed to (eq. 3)."""

    def __init__(self, config: PointerABSAConfig):
        super().__init__()
        size = config.hidden_size
        self.grammar = config.grammar
        self.classes = nn.Embedding(self.grammar.first_word, size)
        self.projection, self.slots = None, None
        if config.has_small_decoder:
            self.projection = nn.Linear(size, size, bias=False)
            if config.slot_embeddings:
                self.slots = nn.Embedding(len(SLOTS), size)

    def forward(
        self, ids: torch.Tensor, words: torch.Tensor, prompt: torch.Tensor | None = None, position: int = 0
    ) -> torch.Tensor:
        """
        Args:
            ids: indices, (B, T)
            words: a vector of each word, (B, W, d)
            prompt: what the sequences begin with, (B, P); None where `ids` begin with it.
            position: of the first of `ids` in the sequence.
        Returns:
            (B, T, d)
        """
        is_word = ids >= self.grammar.first_word
        numbers = (ids - self.grammar.first_word).clamp(min=0)[..., None].expand(-1, -1, words.shape[-1])
        classes = self.classes(ids.masked_fill(is_word, 0))
        embedded = torch.where(is_word[..., None], words.gather(1, numbers), classes)
        if self.projection is not None:
            embedded = self.projection(embedded)
        if self.slots is not None:
            embedded = embedded + self.slots(self.slot_numbers(ids if prompt is None else prompt, ids, position))
        return embedded

    def slot_numbers(self, prompt: torch.Tensor, ids: torch.Tensor, position: int) -> torch.Tensor:
        """Which of `SLOTS` comes next behind each of some indices, (B, T)."""
        tasks = self.grammar.task_numbers(prompt)
        slots = [ids.new_tensor(self.grammar.slots(task)) for task in self.grammar.tasks]
        lengths = ids.new_tensor([self.grammar.prompt_length(task) for task in self.grammar.tasks])[tasks]
        periods = ids.new_tensor([len(of_task) for of_task in slots])[tasks]
        positions = position + torch.arange(ids.shape[1], device=ids.device)
        numbers = (positions + 1 - lengths[:, None]) % periods[:, None]
        return pad_sequence(slots, batch_first=True)[tasks].gather(1, numbers)


class PointerScores(nn.Module):
    """Scores of all indices (eq. 8, 9 before its softmax); a small decoder's have projections and a scale."""

    def __init__(self, config: PointerABSAConfig):
        super().__init__()
        size = config.hidden_size
        self.num_labels = len(config.labels)
        self.scale = 1.0
        self.query, self.class_key = nn.Identity(), nn.Identity()
        if config.has_small_decoder:
            self.query = nn.Linear(size, size, bias=False)
            self.class_key = nn.Linear(size, size, bias=False)
            self.scale = size**-0.5
        elif getattr(config.backbone_config, "scale_decoder_outputs", False):  # T5's, whose embeddings are large
            self.scale = size**-0.5

    def forward(
        self, states: torch.Tensor, classes: torch.Tensor, pointed: torch.Tensor, word_mask: torch.Tensor
    ) -> torch.Tensor:
        """
        Args:
            states: of the decoder, (B, T, d)
            classes: embeddings of the class tokens, with the start and the end before them, (S, d)
            pointed: what stands for each word, (B, W, d)
            word_mask: True at words, (B, W)
        Returns:
            (B, T, S + W), the lowest number at what is never generated: the start, tasks, and what is no word.
        """
        states = self.query(states) * self.scale
        of_classes = states @ self.class_key(classes).T  # (B, T, S)
        of_words = states @ pointed.transpose(1, 2)  # (B, T, W)
        is_generated = torch.ones(len(classes), dtype=torch.bool, device=states.device)
        is_generated[0] = False
        is_generated[2 : len(classes) - self.num_labels] = False
        lowest = torch.finfo(states.dtype).min
        return torch.cat(
            [of_classes.masked_fill(~is_generated, lowest), of_words.masked_fill(~word_mask[:, None], lowest)], dim=-1
        )


def small_decoder(config: PointerABSAConfig, attn_implementation: str) -> BartDecoder:
    """A decoder as BART's, post-norm with learned positions, without embeddings of its own; all weights are new."""
    decoder = BartDecoder._from_config(
        BartConfig(
            vocab_size=3,  # of the embeddings that are removed
            d_model=config.hidden_size,
            encoder_layers=config.decoder_layers,
            decoder_layers=config.decoder_layers,
            decoder_attention_heads=config.num_attention_heads,
            decoder_ffn_dim=4 * config.hidden_size,
            dropout=config.decoder_dropout,
            attention_dropout=config.decoder_dropout,
            max_position_embeddings=config.max_target_length,
            init_std=config.initializer_range,
        ),
        attn_implementation=attn_implementation,
    )
    decoder.embed_tokens = None
    return decoder


__all__ = ["IndexEmbeddings", "PointerScores", "PointerStates", "pooling_weights", "small_decoder"]
