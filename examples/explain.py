"""Says what texts say about each target and aspect, and which words make the model say so.

    python examples/explain.py outputs/quickstart/seed-42 "LOCATION1 is far too expensive, but safe."
    python examples/explain.py outputs/quickstart/seed-42 "Soho is dear." --targets Soho=LOCATION1 --jsonl own.jsonl

Relevance is by the paper's gradient sensitivity, or by integrated gradients, which are below 0 where a word speaks
against the label; the most relevant token of a text has 1 or -1. Needs Captum: pip install captum.
"""

import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.predict import AskArguments, named_targets, why_not_asked
from modeling_qacg_bert import AspectSentimentPipeline
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning


@dataclass
class ExplainArguments(AskArguments):
    """Which model, which texts, which questions, and what of their words."""

    return_all: bool = field(default=False, metadata={"help": "Explain the label none too (default: False)."})
    method: str = field(
        default="gradient",
        metadata={"choices": ["gradient", "integrated_gradients"], "help": "How relevance is found."},
    )
    top: int = field(default=5, metadata={"help": "Words that are printed of each answer (default: 5)."})
    jsonl: Path | None = field(default=None, metadata={"help": "File for the answers with all of their words."})


def most_relevant(words: list[dict], top: int) -> str:
    """The words with the greatest absolute relevance, the greatest first."""
    ranked = sorted(words, key=lambda word: -abs(word["relevance"]))[:top]
    return "  ".join(f"{word['word']} {word['relevance']:.2f}" for word in ranked)


def main(arguments: ExplainArguments):
    if arguments.top < 1:
        raise ValueError(f"top={arguments.top}: give a number of words, at least 1")
    model, tokenizer = load_classifier("model", arguments.model)
    targets = named_targets(arguments.targets)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, targets=targets, aspects=arguments.aspects)
    warnings.simplefilter("ignore", NoTargetWarning)  # it is said of each text
    explained = pipe(arguments.texts, explain=arguments.method, return_all=arguments.return_all)
    for text, answers in zip(arguments.texts, explained, strict=True):
        print(text)
        if not answers:
            print(f"  {why_not_asked(pipe, text, targets) or 'speaks of nothing that it can be asked about'}")
        for answer in answers:
            name = " ".join(filter(None, (answer["target"], answer["aspect"])))
            print(f"  {name:<28} {answer['label'] or 'not read':<10} {most_relevant(answer['words'], arguments.top)}")
    if arguments.jsonl is not None:
        arguments.jsonl.parent.mkdir(parents=True, exist_ok=True)
        with arguments.jsonl.open("w", encoding="utf-8") as file:
            for text, answers in zip(arguments.texts, explained, strict=True):
                file.writelines(json.dumps({"text": text, **answer}) + "\n" for answer in answers)


if __name__ == "__main__":
    with user_errors():
        main(parse(ExplainArguments, "model", "texts"))
