"""The figures of the paper's section 4.5, of a checkpoint of yours, and two that the paper lacks.

    python examples/paper/figures.py outputs/run/seed-42 --data_dir DIR --output_dir outputs/figures

For QACG-BERT on SentiHood. Each figure is a vector (svg) and an image (png); figures.json has their numbers.

    relevance       gradient sensitivity of words for different contexts (figure 3)
    weights         histograms of A, λ_A, A_self and A_quasi over some test questions that are not none (figure 4)
    tokens          both terms of [CLS]'s attention on the words of a text, in one layer and head (figure 5)
    negative_share  share of negative weights in A, by layer and head, over the same questions as the histograms
    lowest_words    words from which the quasi term takes most, by aspect, over all test questions that are not none
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

import plots
from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.tasks.classification import make_task
from absa.training.results import write_json
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import AspectSentimentPipeline, Contexts
from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.relevance_qacg_bert import encode_words, padded_batches
from weights import RANGES, Weights, WordMeans, quasi_term

BATCH_SIZE = 16
LOWEST = 8  # words of an aspect that are shown
SEED = 0  # of the choice of questions
SENTENCES = (
    "LOCATION1 is far too expensive, but the tube is five minutes away.",
    "LOCATION1 costs a fortune because it is posh, while LOCATION2 is cheap.",
)
POSH = "LOCATION1 is a nice area and so rents are high."


@dataclass
class FiguresArguments:
    """Which model, on what."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a QACG-BERT classifier for SentiHood."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})
    output_dir: Path = field(default=Path("outputs/figures"), metadata={"help": "Where the figures go."})
    num_examples: int = field(default=200, metadata={"help": "Questions in the histograms (default: 200)."})
    texts: list[str] = field(
        default_factory=lambda: list(SENTENCES), metadata={"help": "Of the relevance figure (default: two of ours)."}
    )
    text: str = field(default=POSH, metadata={"help": "Of the tokens figure."})
    target: str = field(default="LOCATION1", metadata={"help": "Its target."})
    aspect: str = field(default="price", metadata={"help": "Its aspect."})
    layer: int | None = field(
        default=None, metadata={"help": "Its guided layer, from 1 (default: where most weights are negative)."}
    )
    head: int | None = field(default=None, metadata={"help": "Its head, from 1 (default: likewise)."})
    at_least: int = field(default=5, metadata={"help": "Questions in which such a word occurs (default: 5)."})


def by_word(words: Sequence[Word | None], values: Sequence[float]) -> dict[Word, float]:
    """Means over the tokens of each word."""
    found = {}
    for word, value in zip(words, values, strict=True):
        if word is not None:
            found.setdefault(word, []).append(value)
    return {word: float(np.mean(of_tokens)) for word, of_tokens in found.items()}


def relevance_panels(
    pipe: AspectSentimentPipeline, texts: list[str]
) -> list[tuple[list[str], dict[str, list[float]]]]:
    """Of each text its words, and their relevance for each (target, aspect) that it speaks of."""
    panels = []
    for text, answers in zip(texts, pipe(texts, explain=True), strict=True):
        if not answers:
            raise ValueError(f"texts {text!r}: the model says that it speaks of nothing; give others")
        words = [word["word"] for word in answers[0]["words"]]
        rows = {}
        for answer in answers:
            relevance = np.array([word["relevance"] for word in answer["words"]])
            name = f"{answer['target']} {answer['aspect']}: {answer['label']}".strip()
            rows[name] = (relevance / relevance.max()).tolist()
        panels.append((words, rows))
    return panels


def cls_terms(pipe: AspectSentimentPipeline, arguments: FiguresArguments, layer: int, head: int) -> dict[str, list]:
    """The words of a text, and both terms of what [CLS] attends to in a layer of all and a head, from 0."""
    asked = {"text": arguments.text, "target": arguments.target, "aspect": arguments.aspect}
    words = pipe(asked, explain="attention")["words"]
    attention, quasi_term = ([word[name][layer][head] for word in words] for name in ("attention", "quasi_term"))
    return {
        "words": [word["word"] for word in words],
        "self_attention": [whole - part for whole, part in zip(attention, quasi_term, strict=True)],
        "quasi_term": quasi_term,
    }


def place(name: str, given: int | None, most: int, chosen: int) -> int:
    """A layer or head from 0, given from 1 or chosen."""
    if given is None:
        return chosen
    if not 1 <= given <= most:
        raise ValueError(f"{name}={given}: give 1 to {most}")
    return given - 1


@torch.no_grad()
def add_up(
    model, tokenizer, texts: list[str], targets: list[str], aspects: list[str], drawn: set[int]
) -> tuple[Weights, WordMeans]:
    """The weights of the questions that are drawn, and the quasi term on the words of all of them, by aspect."""
    config = model.config
    weights = Weights(config.num_hidden_layers - config.num_shared_layers, config.num_attention_heads)
    word_means = WordMeans()
    rows = encode_words(model, tokenizer, list(map(Origins.of, texts)), targets, aspects)
    for batch, inputs in padded_batches(model, tokenizer, rows, BATCH_SIZE):
        outputs = model(**inputs, output_attentions=True)
        terms = quasi_term(outputs, inputs["attention_mask"])
        for number, (row, term, mask) in enumerate(zip(batch, terms, inputs["attention_mask"], strict=True)):
            if row in drawn:
                weights.add(row_of(outputs, number), mask[None])
            of_words = by_word(rows["words"][row], term[mask.bool()].tolist())
            words = [texts[row][word.start : word.end] for word in of_words]
            word_means.add(aspects[row], words, of_words.values())
    return weights, word_means


def row_of(outputs, row: int):
    """One text of a batch's outputs, as a batch of its own."""
    return type(outputs)(
        **{
            name: tuple(layer[row : row + 1] for layer in getattr(outputs, name))
            for name in ("attentions", "self_attentions", "quasi_attentions", "quasi_gates")
        }
    )


def main(arguments: FiguresArguments):
    if arguments.num_examples < 1:
        raise ValueError(f"num_examples={arguments.num_examples}: give a number of questions, at least 1")
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    config = model.config
    if config.model_type != "qacg_bert":
        raise ValueError(f"checkpoint {arguments.checkpoint} is a {config.model_type}: only qacg_bert subtracts")
    num_layers = config.num_hidden_layers - config.num_shared_layers
    for name, most in (("layer", num_layers), ("head", config.num_attention_heads)):
        place(name, getattr(arguments, name), most, 0)  # for what it raises, before anything is computed
    Contexts.from_config(config).id(arguments.target, arguments.aspect)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    panels = relevance_panels(pipe, arguments.texts)

    test = make_task(load_absa_dataset("sentihood", data_dir=arguments.data_dir), "sentihood", 0.0, 0).splits["test"]
    asked = [number for number, label in enumerate(test["label"]) if label != "none"]
    questions = ([test[name][number] for number in asked] for name in ("text", "target", "aspect"))
    drawn = set(random.Random(SEED).sample(range(len(asked)), min(arguments.num_examples, len(asked))))
    weights, word_means = add_up(model, tokenizer, *questions, drawn)
    shares = weights.negative_share()
    layer, head = np.unravel_index(shares.argmax(), shares.shape)
    layer = place("layer", arguments.layer, num_layers, int(layer))
    head = place("head", arguments.head, config.num_attention_heads, int(head))
    terms = cls_terms(pipe, arguments, config.num_shared_layers + layer, head)
    lowest = word_means.lowest(config.aspects, LOWEST, arguments.at_least)

    plots.relevance(panels, arguments.output_dir)
    plots.histograms(weights.counts, arguments.output_dir)
    title = f"{arguments.target} {arguments.aspect}, layer {layer + 1}, head {head + 1}"
    plots.tokens(terms["words"], terms["self_attention"], terms["quasi_term"], title, arguments.output_dir)
    plots.negative_share(shares, arguments.output_dir)
    plots.lowest_words(lowest, arguments.output_dir)
    numbers = {
        "relevance": [{"words": words, "relevance": rows} for words, rows in panels],
        "weights": {
            "questions": len(drawn),
            "ranges": RANGES,
            "counts": {name: counts.tolist() for name, counts in weights.counts.items()},
            "share_of_negative_gates": weights.negative_gates(),
            "share_of_negative_attention": float(weights.negative.sum() / weights.total.sum()),
        },
        "tokens": {"layer": layer + 1, "head": head + 1, **terms},
        "negative_share": shares.tolist(),
        "lowest_words": lowest,
    }
    write_json(arguments.output_dir / "figures.json", numbers)
    print(f"negative gates: {100 * numbers['weights']['share_of_negative_gates']:.1f} %")
    print(f"negative attention: {100 * numbers['weights']['share_of_negative_attention']:.2f} %")
    print(f"figures and numbers: {arguments.output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(parse(FiguresArguments, "checkpoint"))
