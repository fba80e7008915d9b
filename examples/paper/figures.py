"""The figures of the paper's section 4.5, of a checkpoint of yours, and two that the paper lacks.

    python examples/paper/figures.py outputs/run/seed-42 --data_dir DIR --output_dir outputs/figures

For QACG-BERT on SentiHood. Each figure is a vector (svg) and an image (png); figures.json has their numbers.

    relevance       gradient sensitivity of words for different contexts (figure 3)
    weights         histograms of A, λ_A, A_self and A_quasi over some test questions that are not none (figure 4)
    tokens          both terms of [CLS]'s attention on the words of a text, in one layer and head (figure 5)
    negative_share  share of negative weights in A, by layer and head, over the same questions as the histograms
    lowest_words    words from which the quasi term takes most, by aspect, over all test questions that are not none
"""

from dataclasses import dataclass, field
from pathlib import Path

import plots
from absa.attention import add_up, relevance, terms
from absa.commands import parse, user_errors
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.results import write_json
from modeling_qacg_bert import AspectSentimentPipeline

SENTENCES = (
    "LOCATION1 is far too expensive, but the tube is five minutes away.",
    "LOCATION1 costs a fortune because it is posh, while LOCATION2 is cheap.",
)


@dataclass
class FiguresArguments:
    """Which model, on what."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a QACG-BERT classifier for SentiHood."})
    data_dir: str | None = field(default=None, metadata={"help": "Folder of the SentiHood files (default: download)."})
    output_dir: Path = field(default=Path("outputs/figures"), metadata={"help": "Where the figures go."})
    num_examples: int = field(default=200, metadata={"help": "Questions in the histograms (default: 200)."})
    texts: list[str] = field(default_factory=lambda: list(SENTENCES), metadata={"help": "Of the figure relevance."})
    text: str = field(default="LOCATION1 is a nice area and so rents are high.", metadata={"help": "Of tokens."})
    target: str = field(default="LOCATION1", metadata={"help": "Its target."})
    aspect: str = field(default="price", metadata={"help": "Its aspect."})
    layer: int | None = field(default=None, metadata={"help": "Its guided layer, from 1 (default: most negative)."})
    head: int | None = field(default=None, metadata={"help": "Its head, from 1 (default: likewise)."})


def main(arguments: FiguresArguments):
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype="float32")
    config = model.config
    if not hasattr(config, "quasi_attention_scale"):
        raise ValueError(f"checkpoint {arguments.checkpoint} is a {config.model_type}, which has no quasi-attention")
    most = {"layer": config.num_hidden_layers - config.num_shared_layers, "head": config.num_attention_heads}
    for name, given in (("layer", arguments.layer), ("head", arguments.head)):
        if given is not None and not 1 <= given <= most[name]:
            raise ValueError(f"{name}={given}: give 1 to {most[name]}")
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    asked = {"text": arguments.text, "target": arguments.target, "aspect": arguments.aspect}
    words = pipe(asked, explain="attention")["words"]
    numbers = {"relevance": list(map(relevance, arguments.texts, pipe(arguments.texts, explain=True)))}
    task = Classification.load(ClassificationArguments(data_dir=arguments.data_dir))
    weights, word_means = add_up(model, tokenizer, task.splits["test"], arguments.num_examples)
    chosen = weights.most_negative()
    layer, head = arguments.layer or chosen[0], arguments.head or chosen[1]
    numbers["weights"] = weights.numbers()
    numbers["tokens"] = {"layer": layer, "head": head} | terms(words, config.num_shared_layers + layer - 1, head - 1)
    numbers["negative_share"] = weights.negative_share().tolist()
    numbers["lowest_words"] = word_means.lowest(config.aspects, top=8, at_least=5)
    plots.draw(numbers, f"{arguments.target} {arguments.aspect}", arguments.output_dir)
    write_json(arguments.output_dir / "figures.json", numbers)
    print(f"negative gates: {100 * numbers['weights']['share_of_negative_gates']:.1f} %")
    print(f"negative attention: {100 * numbers['weights']['share_of_negative_attention']:.2f} %")
    print(f"figures and numbers: {arguments.output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(parse(FiguresArguments, "checkpoint"))
