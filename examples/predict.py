"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1
    python examples/predict.py outputs/laptop14_minilm/seed-42 "The keyboard is great."

A classifier is asked about the targets that occur in a text (about all aspects, where it has no targets). A tagger
finds the targets: `keyboard [4:12]` is text[4:12].
"""

import warnings

from absa.commands import parse, user_errors
from absa.opinions import Opinion
from absa.predict import AskArguments, load, named_targets
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning


def subject(opinion: Opinion) -> str:
    """What an opinion is about: target, its place in the text where that is known, and aspect."""
    place = None if opinion.target_start is None else f"[{opinion.target_start}:{opinion.target_end}]"
    return " ".join(filter(None, (opinion.target, place, opinion.aspect)))


def main(arguments: AskArguments):
    targets = named_targets(arguments.targets)
    read = load(arguments.model, targets=targets, aspects=arguments.aspects)
    warnings.simplefilter("ignore", NoTargetWarning)  # it is said of each text
    for text, opinions in zip(arguments.texts, read(arguments.texts, **read.all_answers), strict=True):
        print(text)
        if not opinions:
            print(f"  {read.why_silent(text, targets)}")
        for opinion in opinions:
            print(f"  {subject(opinion):<28} {opinion.label or 'not read':<10} {opinion.score:.2f}")


if __name__ == "__main__":
    with user_errors():
        main(parse(AskArguments, "model", "texts"))
