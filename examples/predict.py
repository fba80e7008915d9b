"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"
    python examples/predict.py outputs/quickstart/seed-42 "Camden is dear but safe." --targets Camden=LOCATION1

A text is asked about the targets that occur in it (about all aspects, where the model has no targets).
"""

import warnings

from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.predict import AskArguments, named_targets, why_not_asked
from modeling_qacg_bert import AspectSentimentPipeline
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning


def main(arguments: AskArguments):
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
        main(parse(AskArguments, "model", "texts"))
