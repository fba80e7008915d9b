"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1

A text is asked about the targets that occur in it (about all aspects, where the model has no targets).
"""

from dataclasses import dataclass, field

from arguments import parse, user_errors
from backbones import load_classifier
from modeling_qacg_bert import AspectSentimentPipeline


@dataclass
class PredictArguments:
    """Which model, which texts, which questions."""

    model: str = field(metadata={"help": "Folder or Hub id of a checkpoint that examples/run_absa.py has trained."})
    texts: list[str] = field(metadata={"help": "The texts, with targets as in the model's config (LOCATION1)."})
    targets: list[str] | None = field(
        default=None,
        metadata={"help": "Ask about these targets only, or own names for them: Camden=LOCATION1 (default: all)."},
    )
    aspects: list[str] | None = field(default=None, metadata={"help": "Ask about these aspects only (default: all)."})


def named_targets(words: list[str] | None) -> list[str] | dict[str, str] | None:
    """Targets as the pipeline takes them: a list, or a dict where each word is name=target.

    Raises:
        ValueError: if some words are the one and some the other, or a name is given twice.
    """
    if words is None or not any("=" in word for word in words):
        return words
    plain = [word for word in words if "=" not in word]
    if plain:
        raise ValueError(f"targets {', '.join(plain)} beside name=target: give {plain[0]}={plain[0]}, or names only")
    pairs = [word.rsplit("=", 1) for word in words]
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError(f"targets {' '.join(words)}: a name is given twice; keep one target for it")
    return named


def check_printable(texts: list[str]):
    """That texts can be printed.

    Raises:
        ValueError: if one was not in the encoding of the terminal.
    """
    for number, text in enumerate(texts, start=1):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"text {number}, {text[:80]!r}, is not in the terminal's encoding: give it in UTF-8")


def main(arguments: PredictArguments):
    check_printable(arguments.texts)
    model, tokenizer = load_classifier("model", arguments.model)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, return_all=True)
    targets = named_targets(arguments.targets)
    for text, answers in zip(
        arguments.texts, pipe(arguments.texts, targets=targets, aspects=arguments.aspects), strict=True
    ):
        print(text)
        if not answers:
            print(f"  none of {list(targets or model.config.targets or [])} occurs in it: nothing to ask")
        for answer in answers:
            name = " ".join(filter(None, (answer["target"], answer["aspect"])))
            print(f"  {name:<28} {answer['label']:<10} {answer['score']:.2f}")


if __name__ == "__main__":
    with user_errors():
        main(parse(PredictArguments, "model", "texts"))
