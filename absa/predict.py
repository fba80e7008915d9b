"""Says what texts say about each target and aspect. See examples/predict.py."""

import warnings
from dataclasses import dataclass, field

from absa.models import load_classifier
from modeling_qacg_bert import AspectSentimentPipeline
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning
from modeling_qacg_bert.processing_qacg_bert import is_readable


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


def looked_for(targets: list[str] | dict[str, str] | None, known: list[str]) -> str:
    """What a text has to name to be asked about, and what to do where it does not.

    Args:
        targets: as `named_targets` gives them.
        known: the model's.
    """
    if isinstance(targets, dict):
        return f"{', '.join(targets)}: give --targets the names as the texts have them"
    asked = targets or known
    return f"{', '.join(asked)}: map the names in the texts to them, --targets Camden={asked[0]}"


def why_not_asked(pipe: AspectSentimentPipeline, text: str, targets: list[str] | dict[str, str] | None) -> str:
    """Why a text is asked nothing; "" where it is asked."""
    if not is_readable(text):
        return "has nothing to read"
    if not pipe.targets_in(text):
        return f"names none of {looked_for(targets, pipe.model.config.targets)}"
    return ""


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
