"""What a model with quasi-attention does with its weights, added up batch by batch over many questions."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.relevance_qacg_bert import encode_words, padded_batches

BATCH_SIZE = 16
SEED = 0  # of the choice of rows
BINS = 600
RANGES = {  # of equation 4's quantities
    "attention": (-1.0, 2.0),
    "gate": (-1.0, 1.0),
    "self_attention": (0.0, 1.0),
    "quasi_attention": (0.0, 1.0),
}


@dataclass
class Weights:
    """Histograms of the attention A, the gate λ_A, A_self and A_quasi, and the share of negative A.

    Args:
        num_layers, num_heads: context-guided layers and heads of the model.
    """

    num_layers: int
    num_heads: int
    counts: dict[str, np.ndarray] = field(init=False)
    """Of each quantity, (BINS,)"""
    negative: np.ndarray = field(init=False)
    """(layers, heads), how many weights are below 0"""
    total: np.ndarray = field(init=False)
    """(layers, heads)"""
    questions: int = 0

    def __post_init__(self):
        self.counts = {name: np.zeros(BINS, dtype=np.int64) for name in RANGES}
        self.negative, self.total = (np.zeros((self.num_layers, self.num_heads), dtype=np.int64) for _ in range(2))

    def add(self, outputs, attention_mask: torch.Tensor):
        """Adds a batch: the outputs of a model with `output_attentions`, and a mask (B, n) of the tokens to count."""
        tokens = attention_mask.bool()
        self.questions += int(tokens.any(dim=1).sum())
        is_weight = tokens[:, None, :, None] & tokens[:, None, None, :]  # (B, 1, n, n)
        layers = zip(
            outputs.attentions[-self.num_layers :],
            outputs.quasi_gates,
            outputs.self_attentions,
            outputs.quasi_attentions,
            strict=True,
        )
        for layer, (attention, gate, self_attention, quasi_attention) in enumerate(layers):
            of_weights = is_weight.expand_as(attention)
            values = {
                "attention": attention[of_weights],
                "gate": gate[..., 0][tokens[:, None].expand(gate.shape[:-1])],
                "self_attention": self_attention[of_weights],
                "quasi_attention": quasi_attention[of_weights],
            }
            for name, found in values.items():
                self.counts[name] += np.histogram(found.float().numpy(), BINS, RANGES[name])[0]
            self.negative[layer] += ((attention < 0) & of_weights).sum(dim=(0, 2, 3)).numpy()
            self.total[layer] += of_weights.sum(dim=(0, 2, 3)).numpy()

    def negative_share(self) -> np.ndarray:
        """(layers, heads)"""
        return self.negative / self.total

    def most_negative(self) -> tuple[int, int]:
        """The layer and head with the greatest share, from 1."""
        shares = self.negative_share()
        layer, head = np.unravel_index(shares.argmax(), shares.shape)
        return int(layer) + 1, int(head) + 1

    def numbers(self) -> dict:
        """The histograms, and the shares of all gates and all weights of A that are below 0."""
        gates = self.counts["gate"]  # whose range has 0 in its middle
        return {
            "questions": self.questions,
            "ranges": RANGES,
            "counts": {name: counts.tolist() for name, counts in self.counts.items()},
            "share_of_negative_gates": float(gates[: BINS // 2].sum() / gates.sum()),
            "share_of_negative_attention": float(self.negative.sum() / self.total.sum()),
        }


def quasi_term(outputs, attention_mask: torch.Tensor) -> torch.Tensor:
    """λ_A A_quasi that each token receives: mean over the layers, the heads and the tokens that attend, (B, n)."""
    tokens = attention_mask.float()[:, None, :, None]  # (B, 1, n, 1), of those that attend
    received = [
        (gate * quasi_attention * tokens).sum(dim=(1, 2)) / (tokens.sum(dim=(1, 2)) * gate.shape[1])
        for gate, quasi_attention in zip(outputs.quasi_gates, outputs.quasi_attentions, strict=True)
    ]
    return torch.stack(received).mean(0)


class WordMeans:
    """Means of a figure over the occurrences of each word, by group; grows with the vocabulary only."""

    def __init__(self):
        self.sums, self.counts = defaultdict(float), defaultdict(int)

    def add(self, group: str, words: Iterable[str], values: Iterable[float]):
        """Adds occurrences; case does not count."""
        for word, value in zip(words, values, strict=True):
            self.sums[group, word.lower()] += value
            self.counts[group, word.lower()] += 1

    def lowest(self, groups: Sequence[str], top: int, at_least: int) -> Mapping[str, list[dict]]:
        """Of each group the words with the lowest means, among those that occur often enough."""
        found = {group: [] for group in groups}
        for (group, word), count in self.counts.items():
            if count >= at_least and any(character.isalpha() for character in word):
                found[group].append({"word": word, "mean": self.sums[group, word] / count, "count": count})
        return {group: sorted(words, key=lambda entry: entry["mean"])[:top] for group, words in found.items()}


@torch.no_grad()
def add_up(model, tokenizer, rows: dict[str, list], num_examples: int) -> tuple[Weights, WordMeans]:
    """What a model does over the rows whose label is not none.

    Args:
        model, tokenizer: a classifier with quasi-attention, on the CPU.
        rows: text, target, aspect and label, as many of each.
        num_examples: rows whose weights are counted, drawn by chance.
    Returns:
        The weights of the rows that are drawn, and of all rows the quasi term on each word, by aspect.
    """
    asked = [number for number, label in enumerate(rows["label"]) if label != "none"]
    texts, targets, aspects = ([rows[name][number] for number in asked] for name in ("text", "target", "aspect"))
    drawn = set(random.Random(SEED).sample(range(len(asked)), min(num_examples, len(asked))))
    config = model.config
    weights = Weights(config.num_hidden_layers - config.num_shared_layers, config.num_attention_heads)
    word_means = WordMeans()
    encoded = encode_words(model, tokenizer, list(map(Origins.of, texts)), targets, aspects)
    for batch, inputs in padded_batches(model, tokenizer, encoded, BATCH_SIZE):
        outputs, mask = model(**inputs, output_attentions=True), inputs["attention_mask"]
        weights.add(outputs, mask * torch.tensor([row in drawn for row in batch])[:, None])
        for row, term, is_token in zip(batch, quasi_term(outputs, mask), mask.bool(), strict=True):
            of_words = by_word(encoded["words"][row], term[is_token].tolist())
            words = [texts[row][word.start : word.end] for word in of_words]
            word_means.add(aspects[row], words, of_words.values())
    return weights, word_means


def by_word(words: Sequence[Word | None], values: Sequence[float]) -> dict[Word, float]:
    """Means over the tokens of each word."""
    found = defaultdict(list)
    for word, value in zip(words, values, strict=True):
        if word is not None:
            found[word].append(value)
    return {word: float(np.mean(of_tokens)) for word, of_tokens in found.items()}


def relevance(text: str, answers: list[dict]) -> dict:
    """The words of a text, and their relevance for each (target, aspect) that it speaks of, of explained answers."""
    if not answers:
        raise ValueError(f"texts {text!r}: the model says that it speaks of nothing; give others")
    rows = {}
    for answer in answers:
        of_words = np.array([word["relevance"] for word in answer["words"]])
        rows[f"{answer['target']} {answer['aspect']}: {answer['label']}".strip()] = (
            of_words / of_words.max()
        ).tolist()
    return {"words": [word["word"] for word in answers[0]["words"]], "relevance": rows}


def terms(words: list[dict], layer: int, head: int) -> dict[str, list]:
    """The words of an answer that is explained by "attention", and both terms of what [CLS] attends to.

    Args:
        words: as the pipeline gives them.
        layer, head: from 0.
    """
    attention, quasi_term = ([word[name][layer][head] for word in words] for name in ("attention", "quasi_term"))
    return {
        "words": [word["word"] for word in words],
        "self_attention": [whole - part for whole, part in zip(attention, quasi_term, strict=True)],
        "quasi_term": quasi_term,
    }
