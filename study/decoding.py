"""What the grammar and beams are worth: a generator's scores on the test split, decoded in several ways.

    python study/decoding.py study/grids/aste_14res.yaml --data_dir DIR

What was found before in models that are not there is kept.
"""

import json
from dataclasses import fields
from functools import partial
from pathlib import Path

from absa.commands import parse
from absa.models import load_classifier
from absa.tasks.arguments import GenerationArguments
from absa.tasks.generation import Generation
from absa.training.evaluation import answers_of
from results import GridAndDataArguments, look_at_trained

DECODINGS = {"greedy": {}, "greedy, without the grammar": {"constrained": False}, "4 beams": {"num_beams": 4}}
BATCH_SIZE = 32


def look(checkpoint: Path, data_dir: str | None) -> dict[str, dict[str, float]]:
    """Of each decoding the main scores and `invalid_share`."""
    run = json.loads((checkpoint.parent / "arguments.json").read_text(encoding="utf-8"))
    names = {one.name for one in fields(GenerationArguments)} - {"data_dir"}
    arguments = GenerationArguments(data_dir=data_dir, **{name: run[name] for name in names})
    task = Generation.load(arguments)
    model, tokenizer = load_classifier("checkpoint", str(checkpoint), arguments.auto_class, dtype="float32")
    looked = {}
    for name, options in DECODINGS.items():
        scores = task.score("test", answers_of(model, tokenizer, task, "test", arguments, BATCH_SIZE, **options))
        looked[name] = {score: scores[score] for score in (*task.main_scores, "invalid_share")}
    return looked


if __name__ == "__main__":
    chosen = parse(GridAndDataArguments, "grid")
    look_at_trained("decoding", chosen, partial(look, data_dir=chosen.data_dir), asks_model=True)
