"""How well a model tells two differing opinions of one sentence apart, which the usual test sets hardly ask.

    python benchmarks/contrast.py outputs/quickstart/seed-42 --verbose

Prints how many opinions it hears with their polarity, in how many sentences it is right throughout, and how often it
speaks of what a sentence does not mention: of all sentences of the sample corpus' `contrast.json`, of those about one
place, and of those about two.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import absa
from absa.commands import parse
from absa.contrast import ask, counts

FILE = Path(__file__).resolve().parents[1] / "datasets_scripts" / "sample_corpus" / "contrast.json"


@dataclass
class ContrastArguments:
    """Which model."""

    model: str = field(metadata={"help": "Folder or Hub id of a model of SentiHood's targets, aspects and labels."})
    verbose: bool = field(default=False, metadata={"help": "Print what is wrong, too (default: no)."})


def main(arguments: ContrastArguments):
    answered = ask(absa.load(arguments.model).pipe, json.loads(FILE.read_text(encoding="utf-8")))
    for one in answered if arguments.verbose else ():
        if one.wrong:
            print(one.text)
        for pair, label in one.wrong.items():
            print(f"  {' '.join(pair):<28} {label}, not {one.gold.get(pair, 'none')}")
    for name, (count, of) in counts(answered).items():
        print(f"{name:<34} {count:>4} of {of:<4}  {100 * count / of:5.1f} %")


if __name__ == "__main__":
    main(parse(ContrastArguments, "model"))
