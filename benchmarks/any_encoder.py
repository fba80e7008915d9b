"""What context guidance costs around any encoder: time beside the encoder's own classifier, train and infer.

    python benchmarks/any_encoder.py --lengths 40 128 --threads 1

Random weights and texts without padding, all layers guided, one context a text. The models take turns in one run; the
ratio is that of medians, on CPUs of CPU time. A training step is forward, backward and the optimizer's step, with
dropout.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from absa.commands import parse
from absa.timing import cpu_seconds, medians, seconds, where
from modeling_qacg_bert import CGConfig, QACGConfig
from timing import SIZES, Threads, inference, make_batch, print_table, training_step

ENCODERS = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "modernbert", "mpnet", "deberta-v2")
OF_DISTILBERT = {"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads"}
OF_DISTILBERT["intermediate_size"] = "hidden_dim"
OF_DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 256}


@dataclass
class AnyEncoderArguments(Threads):
    """What to measure."""

    encoders: list[str] = field(default_factory=lambda: list(ENCODERS), metadata={"help": "Their model types."})
    size: str = field(default="minilm", metadata={"choices": sorted(SIZES), "help": "Size of the models."})
    lengths: list[int] = field(default_factory=lambda: [40, 128], metadata={"help": "Tokens of a text."})
    batch_size: int = field(default=24, metadata={"help": "Texts of a batch."})
    rounds: int = field(default=8, metadata={"help": "Turns of each model, after three that are not counted."})
    device: str = field(default="cpu", metadata={"help": "cpu or cuda."})


def models_of(arguments: AnyEncoderArguments, kind: str) -> dict[str, torch.nn.Module]:
    """The encoder's own classifier, and the two around the same encoder."""
    sizes = {"vocab_size": 50368, "pad_token_id": 0, **SIZES[arguments.size]}
    names = OF_DISTILBERT if kind == "distilbert" else {}
    sizes = {names.get(name, name): value for name, value in sizes.items()}
    encoder = AutoConfig.for_model(kind, num_labels=3, **sizes, **(OF_DEBERTA if kind == "deberta-v2" else {}))
    guided = [config_class(encoder_config=encoder, num_labels=3) for config_class in (QACGConfig, CGConfig)]
    configs = dict(zip(("own", "QACG", "CG"), (encoder, *guided), strict=True))
    return {
        name: AutoModelForSequenceClassification.from_config(config).to(arguments.device)
        for name, config in configs.items()
    }


def rows(arguments: AnyEncoderArguments) -> Iterator[dict]:
    """A row for each encoder, length and kind of call: milliseconds of the own classifier, and ratios to them."""
    clock = cpu_seconds if arguments.device == "cpu" else seconds
    for kind in arguments.encoders:
        models = models_of(arguments, kind)
        for length in arguments.lengths:
            batches = {
                name: make_batch(model, arguments.batch_size, length, arguments.device)
                for name, model in models.items()
            }
            for name, batch in batches.items():
                if name == "own":
                    batch.pop("token_type_ids")
            for call in (inference, training_step):
                calls = {name: call(models[name], batches[name], nullcontext) for name in models}
                taken = {name: middle for name, (middle, _) in medians(calls, arguments.rounds, clock).items()}
                row = {"encoder": kind, "length": length, "call": call.__name__.replace("_", " ")}
                row["own, ms"] = 1000 * taken["own"]
                yield row | {name: f"{taken[name] / taken['own']:.2f}" for name in ("QACG", "CG")}


def main(arguments: AnyEncoderArguments):
    print(f"{arguments.size}, float32, batches of {arguments.batch_size}, {where(arguments.device)}")
    print_table(rows(arguments))


if __name__ == "__main__":
    main(parse(AnyEncoderArguments))
