"""Is it the subtraction? Scores of trained checkpoints whose gates may not be negative, not positive, or neither.

    python examples/paper/ablation.py outputs/run/seed-42 outputs/run/seed-43 --data_dir DIR

For QACG-BERT on SentiHood's test split. Nothing is trained again: what changes is the gate λ_A of all layers.
Prints a line for each, mean (sample standard deviation) over the checkpoints, in percent, and the share of answers
that are others than with the gates as they were trained.
"""

from dataclasses import dataclass, field

from absa.ablation import GATES, OTHER_ANSWERS, ablate
from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.results import percent


@dataclass
class AblationArguments:
    """Which models, on what."""

    checkpoints: list[str] = field(metadata={"help": "Folders or Hub ids of QACG-BERT classifiers for SentiHood."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})


def main(arguments: AblationArguments):
    task = Classification.load(ClassificationArguments(data_dir=arguments.data_dir))
    found = []
    for checkpoint in arguments.checkpoints:
        model, tokenizer = load_classifier("checkpoints", checkpoint)
        try:
            found.append(ablate(model, tokenizer, task))
        except ValueError as error:
            raise ValueError(f"checkpoints {checkpoint}: {error}") from error
    print(f"| SentiHood, test split, % | {' | '.join(task.main_scores)} | other answers |")
    print("|---" * (len(task.main_scores) + 2) + "|")
    for name in GATES:
        cells = [percent([looked[name][score] for looked in found]) for score in (*task.main_scores, OTHER_ANSWERS)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    with user_errors():
        main(parse(AblationArguments, "checkpoints"))
