"""Scores a trained classifier, tagger or generator on a split of a data set.

    python examples/evaluate_checkpoint.py outputs/sentihood_minilm/seed-42 --dataset sentihood --data_dir DIR
    python examples/evaluate_checkpoint.py outputs/own/seed-42 --dataset custom --data_dir DIR --output_dir scores
    python examples/evaluate_checkpoint.py outputs/laptop14_minilm/seed-42 --data_config laptop14 --data_dir DIR

The data's arguments are those of the checkpoint's task. Prints the main scores with 95 % intervals from resamples of
the texts. OUTPUT_DIR receives all scores as scores.json, and the answers beside the gold ones: SPLIT_tags.parquet of a
tagger, SPLIT_tuples.parquet of a generator, SPLIT_probabilities.parquet of a classifier (sort it by the gold label's
to see what went wrong).
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import make_parser, parse_words, user_errors
from absa.models import load_classifier
from absa.tasks.arguments import ARGUMENTS, DataArguments
from absa.tasks.base import BOOTSTRAP
from absa.tasks.registry import TASKS, load_task, task_of
from absa.training.evaluation import answers_of, check_labels
from absa.training.results import cell, interval, write_json


@dataclass
class EvaluateArguments:
    """Which model, on which split."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a model that run_absa.py has trained."})
    split: str = field(default="test", metadata={"help": "train, validation or test (default: test)."})
    batch_size: int = field(default=64, metadata={"help": "Rows of a forward pass (default: 64)."})
    output_dir: Path | None = field(default=None, metadata={"help": "Where scores and answers go."})


def parse(words: list[str]) -> tuple[EvaluateArguments, DataArguments]:
    """The arguments; which ones there are of the data, the checkpoint's task says."""
    by_place = {"words": ("checkpoint",)}
    of_all_tasks = make_parser(EvaluateArguments, *ARGUMENTS.values(), conflict_handler="resolve", **by_place)
    task = task_of("checkpoint", of_all_tasks.parse_known_args(words)[0].checkpoint)
    return parse_words(make_parser(EvaluateArguments, ARGUMENTS[task], **by_place), words)


def main(arguments: EvaluateArguments, data_arguments: DataArguments):
    auto_class = TASKS[data_arguments.task].auto_class
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, auto_class)
    task = load_task(data_arguments)
    if arguments.split not in task.splits:
        raise ValueError(f"split={arguments.split}: the data has {', '.join(task.splits)}")
    task = check_labels(arguments.checkpoint, model.config, task)
    answers = answers_of(model, tokenizer, task, arguments.split, data_arguments, arguments.batch_size)
    scores = task.score(arguments.split, answers, BOOTSTRAP)
    print(f"{arguments.split}, %  score [95 % interval over texts]")
    for name in filter(scores.__contains__, task.main_scores):
        print(f"{name:<20} {cell(scores[name])}{interval(scores, name)}")
    if arguments.output_dir is not None:
        write_json(arguments.output_dir / "scores.json", scores)
        task.write_answers(arguments.output_dir, arguments.split, answers)


if __name__ == "__main__":
    with user_errors():
        main(*parse(sys.argv[1:]))
