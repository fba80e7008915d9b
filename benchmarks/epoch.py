"""One epoch of SentiHood, wall clock: the recipe's way of training against the plain one, and what each has learned.

    python benchmarks/epoch.py configuration/recipes/sentihood_minilm.yaml --data_dir DIR --seeds 42 43

"plain" pads every row to 128 tokens, draws rows in any order, and computes in float32 with eager attention. "recipe"
is what `run_absa.py` does: rows of like length share a batch, padded to the longest of it; fused attention; bfloat16
where the recipe says so. Both have the recipe's batch size, learning rate and optimizer, and no R-Drop. The training
loss is the mean over the epoch; validation is scored once, after it. "batches alone" is an epoch of making batches
without a model. The options are those of `run_absa.py`.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from transformers import DataCollatorWithPadding, set_seed

from absa.calibration import cross_entropy
from absa.tasks.base import Task
from absa.tasks.classification import Classification
from absa.training.arguments import parse_arguments
from absa.training.run import build, one_seed
from absa.training.trainer import ABSATrainer
from timing import print_table, where

PADDED_TO = 128
WAYS = {  # attention, arguments of the Trainer, of the collator
    "plain": ("eager", {"bf16": False, "train_sampling_strategy": "random"}, {"padding": "max_length"}),
    "recipe": ("sdpa", {}, {}),
}


def train(way: str, seed: int, task: Task, model_arguments, data_arguments, training_arguments) -> tuple[float, ...]:
    """Seconds of training and of making its batches alone, mean training loss, and validation loss and accuracy."""
    attention, changes, padding = WAYS[way]
    set_seed(seed)
    model, tokenizer = build(task, replace(model_arguments, attn_implementation=attention), data_arguments)
    entries = {name: task.entries(name, data_arguments, tokenizer, model.config) for name in ("train", "validation")}
    with tempfile.TemporaryDirectory() as folder:
        arguments = one_seed(training_arguments, Path(folder), seed, "loss")
        fixed = {"num_train_epochs": 1, "save_strategy": "no", "eval_strategy": "no", "load_best_model_at_end": False}
        for name, value in {**fixed, **changes}.items():
            setattr(arguments, name, value)
        multiple = 8 if arguments.bf16 else None
        trainer = ABSATrainer(
            model=model,
            args=arguments,
            train_dataset=entries["train"].dataset,
            data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=multiple, **padding),
            processing_class=tokenizer,
            balance_labels=False,
        )
        metrics = trainer.train().metrics
        start = time.perf_counter()
        for _ in trainer.get_train_dataloader():
            pass
        batches_alone = time.perf_counter() - start
        logits = task.answers(entries["validation"], trainer.predict(entries["validation"].dataset).predictions)
    loss = cross_entropy(logits, task.gold("validation"))
    accuracy = task.score("validation", logits)["strict_accuracy"]
    return metrics["train_runtime"], batches_alone, metrics["train_loss"], loss, accuracy


def main(argv: list[str]):
    model_arguments, data_arguments, training_arguments = parse_arguments(argv)
    data_arguments = replace(data_arguments, max_length=PADDED_TO)
    task = Classification.load(data_arguments)
    print(f"{len(task.splits['train']['id'])} rows, {where('cpu')}")
    seconds = dict.fromkeys(WAYS, 0.0)

    def rows() -> Iterator[dict]:
        for seed, way in itertools.product(training_arguments.seeds, WAYS):
            arguments = (model_arguments, data_arguments, training_arguments)
            taken, batches, training_loss, loss, accuracy = train(way, seed, task, *arguments)
            seconds[way] += taken
            row = {"": way, "seed": seed, "seconds": f"{taken:.2f}", "batches alone": f"{batches:.2f}"}
            row |= {"training loss": f"{training_loss:.4f}", "validation loss": f"{loss:.4f}"}
            yield row | {"strict accuracy": f"{100 * accuracy:.1f}"}

    print_table(rows())
    print(f"\nplain / recipe: {seconds['plain'] / seconds['recipe']:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
