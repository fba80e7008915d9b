"""Says what texts say about each target and aspect.

    python examples/predict.py outputs/quickstart/seed-42 "LOCATION1 is dear but safe." "Is LOCATION1 near a park?"

A text is asked about the targets that occur in it (about all aspects, where the model has no targets). `--target` asks
about one, in the text or not, and `--aspect` about one aspect.
"""

import sys
from dataclasses import dataclass, field

from transformers import AutoModelForSequenceClassification, AutoTokenizer, HfArgumentParser

from backbones import naming
from modeling_qacg_bert import Contexts, predict


@dataclass
class PredictArguments:
    """Which model, which texts, which questions."""

    model: str = field(metadata={"help": "Folder or Hub id of a checkpoint that examples/run_absa.py has trained."})
    texts: list[str] = field(metadata={"help": "The texts, with targets as in the model's config (LOCATION1)."})
    target: str | None = field(default=None, metadata={"help": "Ask about this target only (default: all)."})
    aspect: str | None = field(default=None, metadata={"help": "Ask about this aspect only (default: all)."})


def questions(contexts: Contexts, text: str, target: str | None, aspect: str | None) -> list[tuple[str, str]]:
    """The (target, aspect) pairs to ask a text about.

    Raises:
        ValueError: if the target or the aspect is unknown to the model.
    """
    contexts.id(target or next(iter(contexts))[0], aspect or contexts.aspects[0])
    known = contexts if target else contexts.in_text(text)
    return [
        (of_target, of_aspect)
        for of_target, of_aspect in known
        if target in (None, of_target) and aspect in (None, of_aspect)
    ]


def main(arguments: PredictArguments):
    with naming("model", arguments.model):
        model = AutoModelForSequenceClassification.from_pretrained(arguments.model)
        tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    contexts = Contexts.from_config(model.config)
    asked = [questions(contexts, text, arguments.target, arguments.aspect) for text in arguments.texts]
    rows = [(text, *pair) for text, pairs in zip(arguments.texts, asked, strict=True) for pair in pairs]
    texts, targets, aspects = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    answers = iter(predict(model, tokenizer, texts, targets, aspects).tolist())
    for text, pairs in zip(arguments.texts, asked, strict=True):
        print(text)
        if not pairs:
            print(f"  none of {list(contexts.targets)} occurs in it: nothing to ask")
        for target, aspect in pairs:
            probabilities = next(answers)
            best = max(range(len(probabilities)), key=probabilities.__getitem__)
            name = " ".join(filter(None, (target, aspect)))
            print(f"  {name:<28} {model.config.id2label[best]:<10} {probabilities[best]:.2f}")


if __name__ == "__main__":
    parser = HfArgumentParser(PredictArguments)
    for action in parser._actions:  # the model and the texts are words of the command, without a name before them
        if action.dest in ("model", "texts"):
            action.option_strings = []
    main(parser.parse_args_into_dataclasses(sys.argv[1:], look_for_args_file=False)[0])
