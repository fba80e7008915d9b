"""How well a model tells two differing opinions of one sentence apart, which the usual test sets hardly ask.

    python benchmarks/contrast.py outputs/quickstart/seed-42 --verbose

Prints how many opinions it hears with their polarity, in how many sentences it is right throughout, and how often it
speaks of what a sentence does not mention: of all sentences, of those about one place, and of those about two. They
are `contrast.json` of the sample corpus, or any file in SentiHood's format.
"""

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, field
from pathlib import Path

from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa.commands import parse
from modeling_qacg_bert import AspectSentimentPipeline

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class ContrastArguments:
    """Which model, and which sentences."""

    model: str = field(metadata={"help": "Folder or Hub id of a model of SentiHood's targets, aspects and labels."})
    file: Path = field(
        default=ROOT / "datasets_scripts" / "sample_corpus" / "contrast.json",
        metadata={"help": "Sentences in SentiHood's format (default: contrast.json of the sample corpus)."},
    )
    verbose: bool = field(default=False, metadata={"help": "Print what is wrong, too (default: no)."})


@dataclass
class Score:
    """Counts over sentences; see `main` for what they mean."""

    opinions: int = 0
    right: int = 0
    sentences: int = 0
    whole: int = 0
    unmentioned: int = 0
    spoken_of: int = 0


def score(pipe: AspectSentimentPipeline, sentences: list[dict], verbose: bool = False) -> Score:
    """Asks about each target of a sentence and each aspect, and compares with the sentence's opinions."""
    total = Score()
    for sentence, answers in zip(sentences, pipe([s["text"] for s in sentences], return_all=True), strict=True):
        gold = {(o["target_entity"], o["aspect"]): o["sentiment"].lower() for o in sentence["opinions"]}
        answered = {(answer["target"], answer["aspect"]): answer["label"] for answer in answers}
        wrong = {pair: label for pair, label in answered.items() if label != gold.get(pair, "none")}
        total.opinions += len(gold)
        total.right += sum(pair not in wrong for pair in gold)
        total.sentences += 1
        total.whole += not wrong
        total.unmentioned += len(answered) - len(gold)
        total.spoken_of += sum(pair not in gold for pair in wrong)
        if verbose and wrong:
            print(sentence["text"])
            for pair, label in wrong.items():
                print(f"  {' '.join(pair):<28} {label}, not {gold.get(pair, 'none')}")
    return total


def sum_of(scores: Iterable[Score]) -> Score:
    """The counts of several groups of sentences together."""
    return Score(*map(sum, zip(*map(astuple, scores), strict=True)))


def main(arguments: ContrastArguments):
    sentences = json.loads(arguments.file.read_text(encoding="utf-8"))
    model = AutoModelForSequenceClassification.from_pretrained(arguments.model)
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(arguments.model))
    groups = {"one place": [], "two places": []}
    for sentence in sentences:
        groups["two places" if "LOCATION2" in sentence["text"] else "one place"].append(sentence)
    found = {name: score(pipe, group, arguments.verbose) for name, group in groups.items()}
    found = {"": sum_of(found.values()), **{f", {name}": scored for name, scored in found.items()}}
    for where, scored in found.items():
        for name, count, of in (
            ("opinions right", scored.right, scored.opinions),
            ("whole sentences right", scored.whole, scored.sentences),
            ("false mentions", scored.spoken_of, scored.unmentioned),
        ):
            if of:
                print(f"{name + where:<34} {count:>4} of {of:<4}  {100 * count / of:5.1f} %")


if __name__ == "__main__":
    main(parse(ContrastArguments, "model"))
