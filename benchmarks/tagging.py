"""What a tagger's head costs: global context, self-attention and CRF, beside the BiLSTM that they stand on.

    python benchmarks/tagging.py --threads 1

Random weights, words and tags, float32; sentences of half of the given length to all of it, padded. The models of a
row take turns. Figures are medians with half the distance of the quartiles, those of the heads over the BiLSTM's
median. Below the BiLSTM is an encoder, or static embeddings of 1,000 words, which take next to no time themselves.

Inference gives a tag for each word: the most probable, with a CRF by Viterbi decoding. With a CRF the model's own
`forward` computes marginal probabilities as well, which the last column has. A training step is forward, backward and
the optimizer's step, with dropout.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from transformers import BertConfig

from absa.commands import parse
from absa.timing import medians, where
from modeling_global_context import GlobalContextConfig, GlobalContextForTokenClassification
from modeling_global_context.crf_global_context import IGNORED
from timing import SIZES, Threads, inference, print_table, training_step

HEADS = {
    "BiLSTM": {"interaction": "none"},
    "context": {"interaction": "context"},
    "attention": {"interaction": "attention"},
    "CRF": {"interaction": "none", "crf": True},
}
LSTM_SIZES = {"minilm": 384, "base": 600, "tiny": 12}
STATIC = {"vocab_size": 1000, "embedding_size": 100, "lstm_size": 300}


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the encoder."})
    lengths: list[int] = field(default_factory=lambda: [16, 32, 128], metadata={"help": "Tokens of a sentence."})
    batch_sizes: list[int] = field(default_factory=lambda: [1, 16], metadata={"help": "Sentences of a batch."})
    rounds: int = field(default=12, metadata={"help": "Turns of each model, after three that are not counted."})
    device: str = field(default="cpu", metadata={"help": "cpu or cuda."})


def make_batch(model, num_sentences: int, length: int) -> dict[str, torch.Tensor]:
    """Random sentences; each token is a word with a tag."""
    device = model.device
    lengths = torch.linspace(length, length // 2, num_sentences, device=device).round()
    mask = torch.arange(length, device=device) < lengths[:, None]
    shape, config = (num_sentences, length), model.config
    return {
        "input_ids": torch.randint(1, config.get_text_config().vocab_size, shape, device=device),
        "attention_mask": mask.long(),
        "labels": torch.randint(config.num_labels, shape, device=device).masked_fill(~mask, IGNORED),
    }


def tags(model, batch: dict) -> Callable:
    """The most probable tag of each word, or with a CRF the most probable sequence of tags."""

    def answer():
        model.eval()
        with torch.inference_mode():
            emissions = model.emissions(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
            if model.crf is None:
                emissions.argmax(-1).tolist()
            else:
                model.decode(emissions, batch["attention_mask"], constrained=False)

    return answer


def calls_of(models: dict, num_sentences: int, length: int) -> dict[str, dict[str, Callable]]:
    """For inference and a training step, what is timed of each head."""
    batches = {name: make_batch(model, num_sentences, length) for name, model in models.items()}
    of_inference = {name: tags(model, batches[name]) for name, model in models.items()}
    of_inference["CRF, marginals too"] = inference(models["CRF"], batches["CRF"], nullcontext)
    of_training = {name: training_step(model, batches[name], nullcontext) for name, model in models.items()}
    return {"inference": of_inference, "training step": of_training}


def rows(arguments: BenchmarkArguments) -> Iterator[dict]:
    """A row for each encoder and number of tags, batch size, length and kind of call."""
    encoder = BertConfig(**SIZES[arguments.size])
    below = {
        f"{arguments.size}, 13 tags": {"encoder_config": encoder, "lstm_size": LSTM_SIZES[arguments.size]},
        "static, 13 tags": STATIC,
        "static, 49 tags": STATIC,
    }
    for name, fields in below.items():
        fields = {**fields, "num_labels": int(name.split()[1])}
        models = {
            head: GlobalContextForTokenClassification(GlobalContextConfig(**fields, **own)).to(arguments.device)
            for head, own in HEADS.items()
        }
        for batch_size in arguments.batch_sizes:
            for length in arguments.lengths:
                for kind, calls in calls_of(models, batch_size, length).items():
                    taken = medians(calls, arguments.rounds)
                    of_lstm, spread = taken.pop("BiLSTM")
                    row = {"below": name, "batch": batch_size, "length": length, "call": kind}
                    row["BiLSTM, ms"] = f"{1000 * of_lstm:.2f} ±{1000 * spread:.2f}"
                    for head, (middle, spread) in taken.items():
                        row[f"{head}, ratio"] = f"{middle / of_lstm:.2f} ±{spread / of_lstm:.2f}"
                    yield row


def main(arguments: BenchmarkArguments):
    print(f"float32, {where(arguments.device)}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(BenchmarkArguments))
