"""How well a model tells two differing opinions of one sentence apart, which the usual test sets hardly ask.

    python benchmarks/contrast.py outputs/quickstart/seed-42 --verbose

Prints how many opinions it hears with their polarity, in how many sentences it is right throughout, and how often it
speaks of what a sentence does not mention: of all sentences of the sample corpus' `contrast.json`, of those about one
place, and of those about two.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse
from absa.models import load_classifier
from modeling_qacg_bert import AspectSentimentPipeline

FILE = Path(__file__).resolve().parents[1] / "datasets_scripts" / "sample_corpus" / "contrast.json"
OF = {"opinions right": "opinions", "whole sentences right": "sentences", "false mentions": "unmentioned"}


@dataclass
class ContrastArguments:
    """Which model."""

    model: str = field(metadata={"help": "Folder or Hub id of a model of SentiHood's targets, aspects and labels."})
    verbose: bool = field(default=False, metadata={"help": "Print what is wrong, too (default: no)."})


def score(pipe: AspectSentimentPipeline, sentences: list[dict], verbose: bool) -> Counter:
    """Asks about each target of a sentence and each aspect, and counts what its opinions confirm."""
    total = Counter()
    for sentence, answers in zip(sentences, pipe([s["text"] for s in sentences], return_all=True), strict=True):
        gold = {(o["target_entity"], o["aspect"]): o["sentiment"].lower() for o in sentence["opinions"]}
        answered = {(answer["target"], answer["aspect"]): answer["label"] for answer in answers}
        wrong = {pair: label for pair, label in answered.items() if label != gold.get(pair, "none")}
        total["opinions"] += len(gold)
        total["opinions right"] += sum(pair not in wrong for pair in gold)
        total["sentences"] += 1
        total["whole sentences right"] += not wrong
        total["unmentioned"] += len(answered) - len(gold)
        total["false mentions"] += sum(pair not in gold for pair in wrong)
        if verbose and wrong:
            print(sentence["text"])
            for pair, label in wrong.items():
                print(f"  {' '.join(pair):<28} {label}, not {gold.get(pair, 'none')}")
    return total


def main(arguments: ContrastArguments):
    model, tokenizer = load_classifier("model", arguments.model)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    groups = {"one place": [], "two places": []}
    for sentence in json.loads(FILE.read_text(encoding="utf-8")):
        groups["two places" if "LOCATION2" in sentence["text"] else "one place"].append(sentence)
    found = {f", {name}": score(pipe, group, arguments.verbose) for name, group in groups.items()}
    for where, counts in {"": sum(found.values(), Counter()), **found}.items():
        for name, of in OF.items():
            share = 100 * counts[name] / counts[of]
            print(f"{name + where:<34} {counts[name]:>4} of {counts[of]:<4}  {share:5.1f} %")


if __name__ == "__main__":
    main(parse(ContrastArguments, "model"))
