"""One epoch of SentiHood, wall clock: the recipe's way of training against the plain one, and what each has learned.

    python benchmarks/epoch.py configuration/recipes/sentihood_minilm.yaml --data_dir DIR --seeds 42 43

"plain" pads every row to 128 tokens, draws rows in any order, and computes in float32 with eager attention. "recipe"
is what `run_absa.py` does: rows of like length share a batch, padded to the longest of it; fused attention; bfloat16
where the recipe says so. Both have the recipe's batch size, learning rate and optimizer, and no R-Drop. The training
loss is the mean over the epoch; validation is scored once, after it. The options are those of `run_absa.py`.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from transformers import DataCollatorWithPadding

from absa.calibration import cross_entropy
from absa.tasks.classification import Classification
from absa.timing import where
from absa.training.arguments import parse_arguments
from absa.training.run import train_one
from timing import print_table

PADDED_TO = 128
EPOCH = ("--num_train_epochs=1", "--r_drop=false", f"--max_length={PADDED_TO}")
WAYS = {
    "plain": ("--attn_implementation=eager", "--bf16=false", "--train_sampling_strategy=random"),
    "recipe": ("--attn_implementation=sdpa",),
}


class Padded(Classification):
    """Rows that all have one length."""

    def trainer_options(self, arguments, tokenizer, training_arguments) -> dict:
        collator = DataCollatorWithPadding(tokenizer, padding="max_length")
        return super().trainer_options(arguments, tokenizer, training_arguments) | {"data_collator": collator}


def rows(argv: list[str]) -> Iterator[dict]:
    """A row for each seed and way."""
    given = parse_arguments(argv)
    task = Classification.load(given.data)
    task = replace(task, splits={name: task.splits[name] for name in ("train", "validation")})
    for seed in given.training.seeds:
        for way, words in WAYS.items():
            arguments = parse_arguments([*argv, *EPOCH, *words])
            arguments.training.eval_strategy = arguments.training.save_strategy = "no"
            arguments.training.load_best_model_at_end = False
            of_way = Padded(**vars(task)) if way == "plain" else task
            with tempfile.TemporaryDirectory() as folder:
                answers, trained = train_one(Path(folder), of_way, seed, "loss", arguments, begin=lambda _: None)
            yield {
                "": way,
                "seed": seed,
                "seconds": f"{trained['train_runtime_s']:.2f}",
                "training loss": f"{trained['log'][-1]['train_loss']:.4f}",
                "validation loss": f"{cross_entropy(answers['validation'], task.gold('validation')):.4f}",
                "strict accuracy": f"{100 * task.score('validation', answers['validation'])['strict_accuracy']:.1f}",
            }


if __name__ == "__main__":
    print(where("cpu"))
    print_table(rows(sys.argv[1:]))
