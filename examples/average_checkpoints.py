"""Averages the weights of several trained models into one that is loaded, scored and asked like any other.

    python examples/average_checkpoints.py outputs/sentihood/seed-1 outputs/sentihood/seed-2 --output_dir outputs/soup

The models are trainings of one recipe with different seeds. `evaluate_checkpoint.py OUTPUT_DIR` scores their mean.
"""

from dataclasses import dataclass, field
from pathlib import Path

from absa.averaging import average
from absa.commands import parse, user_errors


@dataclass
class AverageArguments:
    """Which models, and where their mean goes."""

    checkpoints: list[str] = field(metadata={"help": "Folders or Hub ids of models that run_absa.py has trained."})
    output_dir: Path = field(metadata={"help": "Folder to write to; it is made, or is empty."})


def main(arguments: AverageArguments):
    output_dir = arguments.output_dir
    if output_dir.exists() and (not output_dir.is_dir() or any(output_dir.iterdir())):
        raise FileExistsError(f"output_dir={output_dir} is not an empty folder: choose another")
    model, tokenizer = average(arguments.checkpoints)
    model.save_pretrained(output_dir)
    tokenizer.save_pretrained(output_dir)
    print(f"{output_dir}: the mean of {len(arguments.checkpoints)} checkpoints")
    print("Its probabilities are not calibrated: temperatures of the checkpoints do not hold for it, so it has none.")


if __name__ == "__main__":
    with user_errors():
        main(parse(AverageArguments, "checkpoints"))
