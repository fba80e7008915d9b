"""Whether relevant words are what the model goes by: deletion and insertion curves, against words in random order.

    python benchmarks/faithfulness.py CHECKPOINT --data_dir DIR

For each question of SentiHood's test split whose gold label is not none: deletion puts [MASK] in the place of words,
the most relevant first, insertion puts words back into a text of [MASK] alone, the most relevant first. The curve is
the probability of the label that the model gives the whole text, over the share of words, and the figure the area
under it (Petsiuk et al., BMVC 2018): the sooner the label is lost by deletion, and found by insertion, the better.
After ± the standard error over questions, which are the same for all methods.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from absa.commands import parse
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.relevance_qacg_bert import METHODS, encode_words, padded_batches, relevance_of_words
from timing import OnSentiHood, print_table

BATCH_SIZE = 64


@dataclass
class BenchmarkArguments(OnSentiHood):
    """What to measure."""

    num_questions: int | None = field(default=None, metadata={"help": "Of the test split, evenly (default: all)."})


def curves(row: dict, ranked: list[Word], mask_token_id: int) -> tuple[list[list[int]], list[list[int]]]:
    """The inputs of both curves, from 0 to all words deleted, and from 0 to all inserted; [MASK] hides a word."""

    def without(hidden: list[Word]) -> list[int]:
        pairs = zip(row["input_ids"], row["words"], strict=True)
        return [mask_token_id if word in hidden else token_id for token_id, word in pairs]

    steps = range(len(ranked) + 1)
    return [without(ranked[:step]) for step in steps], [without(ranked[step:]) for step in steps]


@torch.inference_mode()
def probabilities(model, tokenizer, rows: list[dict]) -> torch.Tensor:
    """(rows, labels), uncalibrated."""
    found = torch.empty(len(rows), model.config.num_labels)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for batch, inputs in padded_batches(model, tokenizer, columns, BATCH_SIZE):
        found[batch] = model(**inputs).logits.float().softmax(-1)
    return found


def areas(model, tokenizer, rows: list[dict], labels: list[int], ranked: list[list[Word]]) -> np.ndarray:
    """Under both curves of each row, (rows, 2): the probability of its label over the share of its words."""
    mask, states, lengths = tokenizer.mask_token_id, [], []
    for row, words in zip(rows, ranked, strict=True):
        for curve in curves(row, words, mask):
            lengths.append(len(curve))
            states += [{**row, "input_ids": input_ids} for input_ids in curve]
    answers = probabilities(model, tokenizer, states).double().numpy()
    of_labels = answers[np.arange(len(states)), np.repeat(np.repeat(labels, 2), lengths)]
    by_curve = np.split(of_labels, np.cumsum(lengths)[:-1])
    return np.array([np.trapezoid(curve, dx=1 / (len(curve) - 1)) for curve in by_curve]).reshape(-1, 2)


def rankings(model, tokenizer, columns: dict[str, list], labels: list[int]) -> Iterator[tuple]:
    """Of each method its name and, for each row, the words, the most relevant first."""
    for method in METHODS:
        found = relevance_of_words(model, tokenizer, columns, labels, method, BATCH_SIZE)
        yield method, [sorted(of_row, key=of_row.get, reverse=True) for of_row in found]
    order = random.Random(0)
    words = [sorted({word for word in of_row if word is not None}) for of_row in columns["words"]]
    yield "random", [order.sample(of_row, len(of_row)) for of_row in words]


def main(arguments: BenchmarkArguments):
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    test = Classification.load(ClassificationArguments(data_dir=arguments.data_dir)).splits["test"]
    asked = [number for number, label in enumerate(test["label"]) if label != "none"]
    if arguments.num_questions:
        asked = asked[:: max(1, len(asked) // arguments.num_questions)][: arguments.num_questions]
    texts, targets, aspects = ([test[name][number] for number in asked] for name in ("text", "target", "aspect"))
    columns = encode_words(model, tokenizer, list(map(Origins.of, texts)), targets, aspects)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    labels = probabilities(model, tokenizer, rows).argmax(-1).tolist()

    num_words = np.mean([len(set(of_row) - {None}) for of_row in columns["words"]])
    print(f"{len(rows)} questions of SentiHood's test split, {num_words:.1f} words and marks in a text")

    table = []
    for method, ranked in rankings(model, tokenizer, columns, labels):
        found = areas(model, tokenizer, rows, labels, ranked)
        means, errors = found.mean(0), found.std(0, ddof=1) / len(found) ** 0.5
        deletion, insertion = (f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
        row = {"relevance by": method.replace("_", " "), "deletion (lower is better)": deletion}
        table.append(row | {"insertion (higher is better)": insertion})
    print_table(table)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
