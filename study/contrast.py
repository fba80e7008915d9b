"""How well models tell two differing opinions of one sentence apart, by the sample corpus' contrast set.

    python study/contrast.py study/grids/levers_sentihood.yaml

Keeps, as shares, what `benchmarks/contrast.py` prints. What was found before in models that are not there is kept.
"""

import json
from pathlib import Path

import absa
from absa.commands import parse
from absa.contrast import ask, counts
from grids import STUDY
from results import GridArguments, look_at_trained

FILE = STUDY.parent / "datasets_scripts" / "sample_corpus" / "contrast.json"


def look(checkpoint: Path) -> dict[str, float]:
    """The share of each of the `counts`."""
    answered = ask(absa.load(str(checkpoint)).pipe, json.loads(FILE.read_text(encoding="utf-8")))
    return {name: count / of for name, (count, of) in counts(answered).items()}


if __name__ == "__main__":
    look_at_trained("contrast", parse(GridArguments, "grid"), look, asks_model=True)
