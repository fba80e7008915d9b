"""Is it the subtraction? Scores of trained checkpoints whose gates may not be negative, not positive, or neither.

    python examples/paper/ablation.py outputs/run/seed-42 outputs/run/seed-43 --data_dir DIR

For QACG-BERT on SentiHood's test split. Nothing is trained again: what changes is the gate λ_A of all layers.
Prints a line for each, mean (sample standard deviation) over the checkpoints, in percent, and the share of answers
that are others than with the gates as they were trained.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
import torch

from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.results import percent
from modeling_qacg_bert import AspectSentimentPipeline, layers_qacg_bert

GATES = {
    "as trained": lambda gate: gate,
    "λ_A ≥ 0": lambda gate: gate.clamp(min=0),
    "λ_A ≤ 0": lambda gate: gate.clamp(max=0),
    "λ_A = 0": torch.zeros_like,
}


@dataclass
class AblationArguments:
    """Which models, on what."""

    checkpoints: list[str] = field(metadata={"help": "Folders or Hub ids of QACG-BERT classifiers for SentiHood."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})


def gates(change: Callable[[torch.Tensor], torch.Tensor]):
    """Changes the gates (B, h, n, 1) of all models while it is open."""
    quasi_gate = layers_qacg_bert.quasi_gate
    return patch.object(layers_qacg_bert, "quasi_gate", lambda *arguments: change(quasi_gate(*arguments)))


def answers(pipe: AspectSentimentPipeline, task: Classification) -> np.ndarray:
    """Probabilities of the rows of the test split, (rows, labels)."""
    names = ("text", "target", "aspect")
    rows = zip(*(task.splits["test"][name] for name in names), strict=True)
    found = pipe([dict(zip(names, row, strict=True)) for row in rows])
    return np.array([[answer["probabilities"][label] for label in task.label_names] for answer in found])


def main(arguments: AblationArguments):
    task = Classification.load(ClassificationArguments(data_dir=arguments.data_dir))
    scores, others = ({name: [] for name in GATES} for _ in range(2))
    for checkpoint in arguments.checkpoints:
        model, tokenizer = load_classifier("checkpoints", checkpoint)
        if not hasattr(model.config, "quasi_attention_scale"):
            raise ValueError(f"checkpoints {checkpoint} is a {model.config.model_type}, which has no quasi-attention")
        model.config.calibration_temperature = 1.0  # as training scores its models
        pipe, trained = AspectSentimentPipeline(model=model, tokenizer=tokenizer), None
        for name, change in GATES.items():
            with gates(change):
                probabilities = answers(pipe, task)
            trained = probabilities if trained is None else trained
            scores[name].append(task.score("test", np.log(probabilities)))
            others[name].append(float((probabilities.argmax(-1) != trained.argmax(-1)).mean()))
    print(f"| SentiHood, test split, % | {' | '.join(task.main_scores)} | other answers |")
    print("|---" * (len(task.main_scores) + 2) + "|")
    for name in GATES:
        cells = [percent([found[score] for found in scores[name]]) for score in task.main_scores]
        print(f"| {name} | {' | '.join(cells)} | {percent(others[name])} |")


if __name__ == "__main__":
    with user_errors():
        main(parse(AblationArguments, "checkpoints"))
