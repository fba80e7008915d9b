"""Is it the subtraction? Scores of a grid's models whose gates may not be negative, not positive, or neither.

    python study/ablation.py study/grids/quasi_forms.yaml --data_dir DIR

For models with quasi-attention, on the test split. What was found before in models that are not there is kept.
"""

from functools import partial
from pathlib import Path

from absa.ablation import ablate
from absa.commands import parse
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from grids import read_grid
from results import GridAndDataArguments, look_at_trained


def look(checkpoint: Path, task: Classification) -> dict[str, dict[str, float]]:
    """What `ablate` finds of a checkpoint."""
    return ablate(*load_classifier("checkpoint", str(checkpoint)), task)


def main(arguments: GridAndDataArguments):
    dataset = read_grid(arguments.grid).dataset
    task = Classification.load(ClassificationArguments(dataset=dataset, data_dir=arguments.data_dir))
    look_at_trained("ablation", arguments, partial(look, task=task), asks_model=True)


if __name__ == "__main__":
    main(parse(GridAndDataArguments, "grid"))
