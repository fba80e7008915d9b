"""Whether a text speaks of an aspect that was in no training, by how like its words are to the aspect's name.

Asked about such an aspect, a model answers about one of those that it has learnt. Its layers below the guided ones
still know which words are alike. As in ColBERT (Khattab & Zaharia, SIGIR 2020) the nearest token of a text counts.

Shapes: N questions, A aspects, L tokens of a text, H hidden size.
"""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch.nn.functional import normalize
from transformers import PreTrainedModel

from .configuration_qacg_bert import positions_of
from .encoding_qacg_bert import CHARACTERS_A_TOKEN
from .processing_qacg_bert import NO_TARGET, PLACEHOLDER, Contexts, is_readable, occurrence, written_text

TEXTS_A_BATCH = 64


@torch.no_grad()
def likeness(model: PreTrainedModel, tokenizer, texts: Sequence[str], aspects: Sequence[str]) -> torch.Tensor:
    """How like each aspect the nearest token of its text is.

    Args:
        model: a classifier with `context_source="text"`, in evaluation mode.
        tokenizer: its own.
        texts, aspects: of each question. Masked targets of the training (LOCATION1) are not read: any text may have
            these.
    Returns:
        The highest cosine of the state of a token of the text and the mean of those of the aspect, as the layers below
        the guided ones make them, (N,) on the CPU; -1 where the text has no token, else 0
        where the aspect has none.
    """
    contexts = Contexts.from_config(model.config)
    masked = list(filter(PLACEHOLDER.fullmatch, contexts.targets))
    read = {text: written_text(_without(masked, text)) for text in texts}
    named = {aspect: contexts.auxiliary_sentence(NO_TARGET, aspect) for aspect in aspects}
    # The sum points as the mean does, and that of no token is 0.
    of_names = {name: states.sum(0) for name, states in _states(model, tokenizer, named.values())}
    names = list(of_names)
    vectors = normalize(torch.stack(list(of_names.values())), dim=-1)  # (A, H)
    unlike = vectors.new_full((1, len(names)), -1.0)
    nearest = {
        text: torch.cat([unlike, normalize(states, dim=-1) @ vectors.T]).amax(0).cpu()  # (1 + L, A) -> (A,)
        for text, states in _states(model, tokenizer, read.values())
    }
    pairs = zip(texts, aspects, strict=True)
    return torch.stack([nearest[read[text]][names.index(named[aspect])] for text, aspect in pairs])


def by_likeness(
    model: PreTrainedModel, tokenizer, texts: Sequence[str], aspects: Sequence[str], logits: torch.Tensor, none: str
) -> torch.Tensor:
    """Answers of which likeness decides whether a text speaks of its aspect, and the model what it says.

    Args:
        model, tokenizer, texts, aspects: as of `likeness`; the configuration has a `likeness_calibration`.
        logits: of the model, (N, labels), on the CPU.
        none: the label of a text that does not speak of its aspect.
    Returns:
        The logits with another one of none, so that at the calibration temperature P(none) is that of the likeness.
    """
    slope, intercept = model.config.likeness_calibration
    temperature = model.config.calibration_temperature
    speaks = slope * likeness(model, tokenizer, texts, aspects).to(logits) + intercept
    scaled = logits / temperature
    is_none = torch.tensor([model.config.id2label[number] == none for number in range(logits.shape[-1])])
    said = scaled.masked_fill(is_none, float("-inf")).logsumexp(-1)
    return torch.where(is_none, (said - speaks)[:, None], scaled) * temperature


def _without(targets: Iterable[str], text: str) -> str:
    left = text
    for target in targets:
        left = occurrence(target).sub(" ", left)
    return left if is_readable(left) else text


def _states(model: PreTrainedModel, tokenizer, texts: Iterable[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Each distinct text with the states of its tokens, special ones aside, (L, H)."""
    max_length = min(positions_of(model.config), tokenizer.model_max_length)
    distinct = sorted(set(texts), key=len)
    for start in range(0, len(distinct), TEXTS_A_BATCH):
        batch = distinct[start : start + TEXTS_A_BATCH]
        looked_at = [text[: CHARACTERS_A_TOKEN * max_length] for text in batch]
        inputs = tokenizer(looked_at, truncation=True, max_length=max_length, return_special_tokens_mask=True)
        inputs = tokenizer.pad(inputs, padding_side="right", return_tensors="pt").to(model.device)
        tokens = inputs["input_ids"], inputs["attention_mask"]
        states = model.base_model.unguided_states(*tokens, model.config.num_shared_layers).float()
        is_word = inputs["attention_mask"].bool() & ~inputs["special_tokens_mask"].bool()
        for text, own, words in zip(batch, states, is_word, strict=True):
            yield text, own[words]
