"""Scores a trained classifier on a split of a data set.

    python examples/evaluate_checkpoint.py outputs/sentihood_minilm/seed-42 --dataset sentihood --data_dir DIR
    python examples/evaluate_checkpoint.py outputs/own/seed-42 --dataset custom --data_dir DIR --output_dir scores

Prints the main scores with 95 % intervals from resamples of the texts. OUTPUT_DIR receives all scores as scores.json
and each row's probabilities as SPLIT_probabilities.parquet: sort it by the gold label's to see what went wrong.
"""

from dataclasses import dataclass, field, fields
from pathlib import Path

from scipy.special import softmax

from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments, DataArguments
from absa.tasks.classification import BOOTSTRAP, Classification
from absa.tasks.rows import write_probabilities
from absa.training.evaluation import answers_of, check_labels
from absa.training.results import write_json


@dataclass(kw_only=True)
class EvaluateArguments(DataArguments):
    """Which model, on what."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a classifier that run_absa.py has trained."})
    split: str = field(default="test", metadata={"help": "train, validation or test (default: test)."})
    batch_size: int = field(default=64, metadata={"help": "Rows of a forward pass (default: 64)."})
    output_dir: Path | None = field(default=None, metadata={"help": "Where scores and probabilities go."})


def main(arguments: EvaluateArguments):
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint)
    given = {spec.name: getattr(arguments, spec.name) for spec in fields(DataArguments)}
    data_arguments = ClassificationArguments(**given)  # how a text is read, the model's configuration says
    task = Classification.load(data_arguments)
    if arguments.split not in task.splits:
        raise ValueError(f"split={arguments.split}: the data has {', '.join(task.splits)}")
    check_labels(arguments.checkpoint, model.config, task)
    logits = answers_of(model, tokenizer, task, arguments.split, data_arguments, arguments.batch_size)
    scores = task.score(arguments.split, logits, BOOTSTRAP)
    print(f"{arguments.split}, %  score [95 % interval over texts]")
    for name in task.main_scores:
        bounds = f"[{100 * scores[f'{name}_low']:.1f}, {100 * scores[f'{name}_high']:.1f}]"
        print(f"{name:<20} {100 * scores[name]:.1f} {bounds}")
    if arguments.output_dir is not None:
        write_json(arguments.output_dir / "scores.json", scores)
        file = arguments.output_dir / f"{arguments.split}_probabilities.parquet"
        write_probabilities(file, task.splits[arguments.split], softmax(logits, axis=-1), task.label_names)


if __name__ == "__main__":
    with user_errors():
        main(parse(EvaluateArguments, "checkpoint"))
