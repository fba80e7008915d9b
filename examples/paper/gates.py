"""The gates of a tagger with a global context, by word and division of the state (the paper's section V-E).

    python examples/paper/gates.py outputs/quickstart_tagging/seed-42 --output_dir outputs/figures

gates.svg and gates.png have, for each text, the mean of the gate i_H, which weighs a word's own state, and of i_G,
which weighs the state of the whole sentence. gates.json has the numbers.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForTokenClassification

import plots
from absa.commands import parse, user_errors
from absa.models import load_classifier, takes
from absa.training.results import write_json
from modeling_global_context import encode_words
from modeling_global_context.pipeline_global_context import MOST_TOKENS, split_words

TEXTS = (
    "The battery life is great, but the keyboard is terrible.",
    "We ordered the pasta, which came late and cold.",
)


@dataclass
class GatesArguments:
    """Which model, on what."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a tagger with a global context."})
    texts: list[str] = field(default_factory=lambda: list(TEXTS), metadata={"help": "Texts (default: two)."})
    divisions: int = field(default=6, metadata={"help": "Parts of the state, of like size (default: 6)."})
    output_dir: Path = field(default=Path("outputs/figures"), metadata={"help": "Where the figure goes."})


@torch.inference_mode()
def gates_of(model, tokenizer, text: str, divisions: int) -> dict:
    """The words of a text, the first and last component of each division, and its mean gates, (divisions, words)."""
    words = [text[start:end] for start, end in split_words(text, model.config.word_splitting)]
    row = encode_words(tokenizer, words, min(tokenizer.model_max_length, MOST_TOKENS))
    if not row["word_numbers"]:
        raise ValueError(f"texts {text!r}: it has no words, write some")
    names = [name for name in tokenizer.model_input_names if name in row]
    gates = model(**{name: torch.tensor([row[name]]) for name in names}, output_gates=True).gates
    at_words = np.flatnonzero(row["word_mask"])
    parts = np.array_split(np.arange(gates[0].shape[-1]), divisions)
    means = {
        name: [gate[0, at_words][:, part].mean(-1).tolist() for part in parts]
        for name, gate in zip(("hidden", "global"), gates, strict=True)
    }
    words = [words[number] for number in row["word_numbers"]]
    return {"words": words, "divisions": [(int(part[0]) + 1, int(part[-1]) + 1) for part in parts], **means}


def main(arguments: GatesArguments):
    options = {"auto_class": AutoModelForTokenClassification, "dtype": "float32"}
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, **options)
    if not takes(model, "output_gates") or model.config.interaction != "context" or not model.config.context_gates:
        raise ValueError(f"checkpoint {arguments.checkpoint} has no gates: give a tagger with a global context")
    if not 1 <= arguments.divisions <= model.config.state_size:
        raise ValueError(f"divisions={arguments.divisions}: give 1 to {model.config.state_size}")
    numbers = [gates_of(model, tokenizer, text, arguments.divisions) for text in arguments.texts]
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    plots.gates(numbers, arguments.output_dir)
    write_json(arguments.output_dir / "gates.json", numbers)
    for text, of_text in zip(arguments.texts, numbers, strict=True):
        means = ", ".join(
            f"{name} {np.mean(of_text[key]):.2f}" for name, key in (("i_H", "hidden"), ("i_G", "global"))
        )
        print(f"{text}  {means}")
    print(f"figure and numbers: {arguments.output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(parse(GatesArguments, "checkpoint"))
