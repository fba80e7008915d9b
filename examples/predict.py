"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1

A text is asked about the targets that occur in it (about all aspects, where the model has no targets).
"""

import warnings
from dataclasses import dataclass, field

from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.predict import named_targets, why_not_asked
from modeling_qacg_bert import AspectSentimentPipeline
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning


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
    targets = named_targets(arguments.targets)
    pipe = AspectSentimentPipeline(
        model=model, tokenizer=tokenizer, targets=targets, aspects=arguments.aspects, return_all=True
    )
    warnings.simplefilter("ignore", NoTargetWarning)  # it is said of each text
    for text, answers in zip(arguments.texts, pipe(arguments.texts), strict=True):
        print(text)
        if not answers:
            print(f"  {why_not_asked(pipe, text, targets)}")
        for answer in answers:
            name = " ".join(filter(None, (answer["target"], answer["aspect"])))
            print(f"  {name:<28} {answer['label'] or 'not read':<10} {answer['score']:.2f}")


if __name__ == "__main__":
    with user_errors():
        main(parse(PredictArguments, "model", "texts"))
