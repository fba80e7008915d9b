"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1
    python examples/predict.py outputs/laptop14_minilm/seed-42 "The keyboard is great."
    python examples/predict.py outputs/rest14_minilm/seed-42 "Great fish." --classifier outputs/restaurants/seed-42

A classifier is asked about the targets that occur in a text (about all aspects, where it has no targets). A tagger
finds the targets: `keyboard [4:12]` is text[4:12]. A model that generates tuples finds the words that judge them, too:
`keyboard [4:12]: great [16:21]`. With --classifier, one that can be asked about any words, that one judges what is
found.
"""

import warnings
from dataclasses import dataclass, field

from absa.commands import parse, user_errors
from absa.opinions import Opinion
from absa.predict import AskArguments, load, named_targets
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning


@dataclass
class PredictArguments(AskArguments):
    """Which model, or which two, which texts, which questions."""

    classifier: str | None = field(
        default=None,
        metadata={
            "help": "Folder or Hub id of a classifier that is asked about any words: it judges the targets that the "
            "model finds, perhaps about these aspects (default: the model does)."
        },
    )


def subject(opinion: Opinion) -> str:
    """What an opinion is about (target and aspect) and the words that say it, with places in the text if known."""
    judged = placed(opinion.target, opinion.target_start, opinion.target_end, opinion.aspect)
    return ": ".join(filter(None, (judged, placed(opinion.opinion, opinion.opinion_start, opinion.opinion_end))))


def placed(words: str | None, start: int | None, end: int | None, aspect: str | None = None) -> str:
    return " ".join(filter(None, (words, None if start is None else f"[{start}:{end}]", aspect)))


def shown(opinion: Opinion, width: int) -> str:
    """The row of an opinion. A task without labels has none, nor probabilities of them."""
    label = opinion.label or ("not read" if opinion.probabilities or opinion.score is None else "")
    score = "" if opinion.score is None else f"{opinion.score:.2f}"
    columns = (f"{subject(opinion):<{width}}", label and f"{label:<10}", score)
    return " ".join(filter(None, columns))


def main(arguments: PredictArguments):
    targets = named_targets(arguments.targets)
    read = load(arguments.model, arguments.classifier, targets=targets, aspects=arguments.aspects)
    warnings.simplefilter("ignore", NoTargetWarning)  # it is said of each text
    for text, opinions in zip(arguments.texts, read(arguments.texts, **read.all_answers), strict=True):
        print(text)
        if not opinions:
            print(f"  {read.why_silent(text, targets)}")
        width = max([28, *(len(subject(opinion)) for opinion in opinions)])
        for opinion in opinions:
            print(f"  {shown(opinion, width)}")


if __name__ == "__main__":
    with user_errors():
        main(parse(PredictArguments, "model", "texts"))
