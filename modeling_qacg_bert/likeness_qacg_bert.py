"""Whether a text speaks of an aspect that was in no training, by how like its words are to the aspect's name.

Asked about such an aspect, a model answers about one of those that it has learnt. Its layers below the guided ones
still know which words are alike. As in ColBERT (Khattab & Zaharia, SIGIR 2020) the nearest token of a text counts.

Shapes: N questions, B texts, A aspects, n tokens, H hidden size.
"""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

from .configuration_qacg_bert import positions_of
from .encoding_qacg_bert import encode_together
from .processing_qacg_bert import NO_TARGET, Contexts

ROWS_A_BATCH = 64


def nearest_token(states: torch.Tensor, is_word: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """How like each aspect the nearest token of each text is.

    Args:
        states: what the layers below the guided ones make of texts without auxiliary sentences, (B, n, H).
        is_word: false for special tokens, placeholders and padding, (B, n).
        vectors: of aspects, as `aspect_vectors` gives them, (A, H).
    Returns:
        The highest cosine, -1 where a text has no such token, (B, A).
    """
    cosines = normalize(states.float(), dim=-1) @ vectors.T  # (B, n, A)
    return cosines.masked_fill(~is_word[..., None], -1).amax(1)


@torch.no_grad()
def aspect_vectors(model: PreTrainedModel, tokenizer, aspects: Sequence[str]) -> torch.Tensor:
    """Of each aspect the direction of the mean of its tokens below the guided layers, (A, H); 0 if it has none."""
    sentences = [Contexts((), (aspect,)).auxiliary_sentence(NO_TARGET, aspect) for aspect in aspects]
    tokens = tokenizer(sentences, return_special_tokens_mask=True)
    is_word = [[not special for special in row] for row in tokens["special_tokens_mask"]]
    found = torch.empty(len(aspects), model.config.hidden_size, device=model.device)
    for rows, states, words in _states(model, tokenizer, tokens["input_ids"], is_word):
        # The sum points as the mean does, and that of no token is 0.
        found[rows] = normalize((states * words[..., None]).sum(1), dim=-1)
    return found


@torch.no_grad()
def likeness(
    model: PreTrainedModel, tokenizer, texts: Sequence[str], targets: Sequence[str | None], aspects: Sequence[str]
) -> torch.Tensor:
    """How like each question's aspect the nearest token of its text is, in a pass of its own.

    Args:
        model: a classifier with `context_source="text"`, in evaluation mode.
        tokenizer: its own.
        texts, targets, aspects: of each question. Placeholders (LOCATION1) are no words of a text: any may have these.
    Returns:
        (N,) on the CPU, as `nearest_token`; 0 where an aspect has no token.
    """
    contexts = Contexts.from_config(model.config).including(targets, aspects)
    max_length = min(positions_of(model.config), tokenizer.model_max_length)
    texts_of, numbers = encode_together(
        tokenizer, contexts, texts, targets, aspects, max_length=max_length, mark_words=True
    )
    columns = {aspect: column for column, aspect in enumerate(dict.fromkeys(aspects))}
    vectors = aspect_vectors(model, tokenizer, list(columns))
    found = torch.empty(len(texts))
    for rows, states, words in _states(model, tokenizer, texts_of["input_ids"], texts_of["is_word"]):
        for row, own in zip(rows, nearest_token(states, words, vectors), strict=True):
            found[numbers[row]] = own[[columns[aspects[number]] for number in numbers[row]]].cpu()
    return found


def by_likeness(config, logits: torch.Tensor, likeness: torch.Tensor, none: str) -> torch.Tensor:
    """Answers of which likeness decides whether a text speaks of its aspect, and the model what it says.

    Args:
        config: of the model, with a `likeness_calibration`.
        logits: of the model, (N, labels).
        likeness: (N,)
        none: the label of a text that does not speak of its aspect.
    Returns:
        The logits with another one of none, so that at the calibration temperature P(none) is that of the likeness.
    """
    slope, intercept = config.likeness_calibration
    speaks = slope * likeness.to(logits) + intercept
    scaled = logits / config.calibration_temperature
    is_none = torch.tensor([config.id2label[number] == none for number in range(logits.shape[-1])])
    said = scaled.masked_fill(is_none, float("-inf")).logsumexp(-1)
    return torch.where(is_none, (said - speaks)[:, None], scaled) * config.calibration_temperature


def labels_said(probabilities: torch.Tensor, is_sentiment: torch.Tensor, unknown: Sequence[int]) -> torch.Tensor:
    """The number of each answer's label, (N,): of the most probable one.

    Of a text that likeness finds to speak of an aspect it is that of a sentiment, though the label of none may be more
    probable than any of several sentiments.

    Args:
        probabilities: (N, labels)
        is_sentiment: of each label, whether it is not that of none, (labels,).
        unknown: numbers of the answers by likeness.
    """
    speaks = torch.zeros(len(probabilities), dtype=torch.bool)
    speaks[unknown] = probabilities[unknown][:, is_sentiment].sum(-1) > 0.5
    return probabilities.masked_fill(speaks[:, None] & ~is_sentiment, 0).argmax(-1)


def _states(
    model: PreTrainedModel, tokenizer, input_ids: Sequence[list[int]], is_word: Sequence[list[bool]]
) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
    """Of batches of like length the rows' numbers, their states below the guided layers and which are of words."""
    order = sorted(range(len(input_ids)), key=lambda row: len(input_ids[row]))
    for start in range(0, len(order), ROWS_A_BATCH):
        rows = order[start : start + ROWS_A_BATCH]
        of_batch = {"input_ids": [input_ids[row] for row in rows]}
        inputs = tokenizer.pad(of_batch, padding_side="right", return_tensors="pt").to(model.device)
        tokens = inputs["input_ids"], inputs["attention_mask"]
        states = model.base_model.unguided_states(*tokens, model.config.num_shared_layers).float()
        yield rows, states, padded([is_word[row] for row in rows]).to(model.device)


def padded(rows: Iterable[list[bool]]) -> torch.Tensor:
    """Rows of unlike length, false behind them, (B, n)."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
