"""How well a model tells two differing opinions of one sentence apart, by the sample corpus' contrast set.

    python study/contrast.py outputs/run/seed-42

Keeps, as shares and beside the model, what `benchmarks/contrast.py` prints. `run.py` asks it of each of SentiHood's.
A folder that is no model, such as that of one model a context, is passed over, and so is a model of other names.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import absa
from absa.commands import parse
from absa.contrast import ask, counts
from absa.training.results import write_json

SENTENCES = Path(__file__).resolve().parents[1] / "datasets_scripts" / "sample_corpus" / "contrast.json"
FOUND = "contrast.json"  # in the folder of a checkpoint


@dataclass
class ContrastArguments:
    """Which model."""

    checkpoint: Path = field(metadata={"help": "Folder of a model of SentiHood's targets, aspects and labels."})


def main(arguments: ContrastArguments):
    if not (arguments.checkpoint / "config.json").is_file():
        return
    pipe = absa.load(str(arguments.checkpoint)).pipe
    try:
        answered = ask(pipe, json.loads(SENTENCES.read_text(encoding="utf-8")))
    except ValueError as error:  # after hours of training, of which this is no failure
        print(f"the contrast set is not asked: {error}")
        return
    found = {name: count / of for name, (count, of) in counts(answered).items()}
    write_json(arguments.checkpoint / FOUND, found)


if __name__ == "__main__":
    main(parse(ContrastArguments, "checkpoint"))
