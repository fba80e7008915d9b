"""What models with attention to words look at, side by side: a map of words for each question, a line a model.

    python examples/paper/word_attention.py outputs/af_lstm_restaurants_terms/seed-42 outputs/atae/seed-42

As table 3 of the AF-LSTM paper (Tay, Tuan & Hui, AAAI 2018). word_attention.svg, .png and .json go to --output_dir.
"""

from dataclasses import dataclass, field
from pathlib import Path

import absa
import plots
from absa.commands import parse, user_errors
from absa.training.results import write_json

TEXTS = (
    "The wine list is long, but we waited an hour for the pasta.",
    "Our waiter was rude and the dessert was worth every penny.",
)
TARGETS = ("wine list", "pasta", "waiter", "dessert")


@dataclass
class AttentionArguments:
    """Which models, on what."""

    checkpoints: list[str] = field(metadata={"help": "Folders or Hub ids of AF-LSTM, AT-LSTM or ATAE-LSTM models."})
    texts: list[str] = field(default_factory=lambda: list(TEXTS), metadata={"help": "Texts (default: two)."})
    targets: list[str] = field(
        default_factory=lambda: list(TARGETS), metadata={"help": "Words of these texts to ask about (default: four)."}
    )
    output_dir: Path = field(default=Path("outputs/figures"), metadata={"help": "Where the figure goes."})


def name_of(config) -> str:
    """What the literature calls a model: AF-LSTM (CONV)."""
    name = config.architecture.upper().replace("_", "-")
    return f"{name} ({config.association.upper()})" if config.architecture == "af_lstm" else name


def main(arguments: AttentionArguments):
    models = [absa.load(checkpoint) for checkpoint in arguments.checkpoints]
    questions = []
    for text in arguments.texts:
        by_model = [model.pipe(text, targets=arguments.targets, explain="attention", batch_size=1) for model in models]
        for answers in zip(*by_model, strict=True):
            words = [word["word"] for word in answers[0]["words"]]
            lines = [
                f"{name_of(model.pipe.model.config)}: {answer['label']}"
                for model, answer in zip(models, answers, strict=True)
            ]
            weights = [[word["attention"] for word in answer["words"]] for answer in answers]
            questions.append({"target": answers[0]["target"], "words": words, "models": lines, "attention": weights})
            print(f"{text}  {answers[0]['target']}")
            for line, of_words in zip(lines, weights, strict=True):
                most = sorted(zip(of_words, words, strict=True), reverse=True)[:5]
                print(f"  {line:<28} {'  '.join(f'{word} {weight:.2f}' for weight, word in most)}")
    if not questions:
        raise ValueError(f"targets={arguments.targets}: no text has one of them, give words of the texts")
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    plots.word_attention(questions, arguments.output_dir)
    write_json(arguments.output_dir / "word_attention.json", questions)
    print(f"figure and numbers: {arguments.output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(parse(AttentionArguments, "checkpoints"))
