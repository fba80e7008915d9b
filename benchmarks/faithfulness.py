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
from absa.tasks.classification import make_task
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.relevance_qacg_bert import METHODS, encode_words, padded_batches, relevance_of_words
from timing import print_table

BATCH_SIZE = 64


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})
    num_questions: int | None = field(default=None, metadata={"help": "Of the test split, evenly (default: all)."})


def masked(row: dict, hidden: set[Word], mask_token_id: int) -> list[int]:
    """The ids of a row with [MASK] for each token of the hidden words."""
    return [
        mask_token_id if word in hidden else token_id
        for token_id, word in zip(row["input_ids"], row["words"], strict=True)
    ]


def curves(row: dict, ranked: list[Word], mask_token_id: int) -> tuple[list[list[int]], list[list[int]]]:
    """The inputs of both curves, from 0 to all words deleted, and from 0 to all inserted."""
    steps = range(len(ranked) + 1)
    deletion = [masked(row, set(ranked[:step]), mask_token_id) for step in steps]
    insertion = [masked(row, set(ranked[step:]), mask_token_id) for step in steps]
    return deletion, insertion


@torch.inference_mode()
def probabilities(model, tokenizer, rows: list[dict]) -> torch.Tensor:
    """(rows, labels), uncalibrated."""
    found = torch.empty(len(rows), model.config.num_labels)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for batch, inputs in padded_batches(model, tokenizer, columns, BATCH_SIZE):
        found[batch] = model(**inputs).logits.float().softmax(-1)
    return found


def area(curve: list[float]) -> float:
    """Under a curve over [0, 1] with points at equal distances."""
    return float(np.trapezoid(curve, np.linspace(0, 1, len(curve))))


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
    test = make_task(load_absa_dataset("sentihood", data_dir=arguments.data_dir), "sentihood", 0.0, 0).splits["test"]
    asked = [number for number, label in enumerate(test["label"]) if label != "none"]
    if arguments.num_questions:
        asked = asked[:: max(1, len(asked) // arguments.num_questions)][: arguments.num_questions]
    texts, targets, aspects = ([test[name][number] for number in asked] for name in ("text", "target", "aspect"))
    columns = encode_words(model, tokenizer, list(map(Origins.of, texts)), targets, aspects)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    labels = probabilities(model, tokenizer, rows).argmax(-1).tolist()

    areas = {}
    for method, ranked in rankings(model, tokenizer, columns, labels):
        states, places = [], []
        for row, words in zip(rows, ranked, strict=True):
            of_row = curves(row, words, tokenizer.mask_token_id)
            places.append([len(curve) for curve in of_row])
            states += [{**row, "input_ids": input_ids} for curve in of_row for input_ids in curve]
        chosen = [label for label, (first, second) in zip(labels, places, strict=True) for _ in range(first + second)]
        answers = probabilities(model, tokenizer, states)
        heights = iter(answers[torch.arange(len(chosen)), torch.tensor(chosen)].tolist())
        areas[method] = np.array(
            [[area([next(heights) for _ in range(length)]) for length in lengths] for lengths in places]
        )  # (questions, 2)

    num_words = np.mean([len(set(of_row) - {None}) for of_row in columns["words"]])
    print(f"{len(rows)} questions of SentiHood's test split, {num_words:.1f} words and marks in a text")
    table = []
    for method, found in areas.items():
        means, errors = found.mean(0), found.std(0, ddof=1) / len(found) ** 0.5
        deletion, insertion = (f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
        row = {"relevance by": method.replace("_", " "), "deletion (lower is better)": deletion}
        table.append(row | {"insertion (higher is better)": insertion})
    print_table(table)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
