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
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, softmax
from transformers import DataCollatorWithPadding, set_seed

from absa.models import build_config, load_model, load_tokenizer, resolve_backbone
from absa.training import run as run_absa
from absa.training.arguments import parse_arguments
from absa.training.trainer import ABSATrainer
from timing import print_table, where

PADDED_TO = 128
WAYS = {  # attention, arguments of the Trainer, of the collator
    "plain": ("eager", {"bf16": False, "train_sampling_strategy": "random"}, {"padding": "max_length"}),
    "recipe": ("sdpa", {}, {}),
}


def train(way: str, seed: int, task, model_arguments, training_arguments) -> tuple[float, ...]:
    """Seconds of training and of making its batches alone, mean training loss, and validation loss and accuracy."""
    attention, changes, padding = WAYS[way]
    set_seed(seed)
    backbone = resolve_backbone(model_arguments.model_name_or_path)
    config = build_config(model_arguments.model_type, backbone, task.contexts, task.label_names)
    tokenizer = load_tokenizer(backbone, config)
    tokenizer.model_max_length = min(PADDED_TO, config.max_position_embeddings)
    rows = {
        name: run_absa.features(name, task.splits[name], task.label_names, tokenizer, config, False)[0]
        for name in ("train", "validation")
    }
    with tempfile.TemporaryDirectory() as folder:
        arguments = run_absa.one_seed(training_arguments, Path(folder), seed, "loss")
        fixed = {"num_train_epochs": 1, "save_strategy": "no", "eval_strategy": "no", "load_best_model_at_end": False}
        for name, value in {**fixed, **changes}.items():
            setattr(arguments, name, value)
        multiple = 8 if arguments.bf16 else None
        trainer = ABSATrainer(
            model=load_model(backbone, config, attention),
            args=arguments,
            train_dataset=rows["train"],
            data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=multiple, **padding),
            processing_class=tokenizer,
            balance_labels=False,
        )
        metrics = trainer.train().metrics
        start = time.perf_counter()
        for _ in trainer.get_train_dataloader():
            pass
        batches_alone = time.perf_counter() - start
        logits = trainer.predict(rows["validation"]).predictions.astype(float)
    gold = run_absa.gold(task.splits["validation"], task.label_names)
    loss = -log_softmax(logits, axis=-1)[np.arange(len(gold)), gold].mean()
    scores = task.score_rows(task.splits["validation"], softmax(logits, axis=-1))
    return metrics["train_runtime"], batches_alone, metrics["train_loss"], loss, scores["strict_accuracy"]


def main(argv: list[str]):
    model_arguments, data_arguments, training_arguments = parse_arguments(argv)
    task = run_absa.load_task(data_arguments)
    print(f"{len(task.splits['train']['id'])} rows, {where('cpu')}")
    seconds = dict.fromkeys(WAYS, 0.0)

    def rows() -> Iterator[dict]:
        for seed, way in itertools.product(data_arguments.seeds, WAYS):
            taken, batches, training_loss, loss, accuracy = train(way, seed, task, model_arguments, training_arguments)
            seconds[way] += taken
            row = {"": way, "seed": seed, "seconds": f"{taken:.2f}", "batches alone": f"{batches:.2f}"}
            row |= {"training loss": f"{training_loss:.4f}", "validation loss": f"{loss:.4f}"}
            yield row | {"strict accuracy": f"{100 * accuracy:.1f}"}

    print_table(rows())
    print(f"\nplain / recipe: {seconds['plain'] / seconds['recipe']:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
