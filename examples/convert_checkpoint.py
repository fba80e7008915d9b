"""Turns a checkpoint trained with the code that Wu & Ong released into one that `from_pretrained` loads.

    python examples/convert_checkpoint.py --kind qacg --config bert_config.json --weights checkpoint.bin \
        --output_dir converted --targets LOCATION1 LOCATION2 --aspects general price transit-location safety \
        --labels none positive negative --tokenizer google-bert/bert-base-uncased
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from absa.commands import parse, user_errors
from absa.models import load_classifier, loading
from modeling_qacg_bert import CGBertForSequenceClassification, QACGBertForSequenceClassification

MODELS = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}
# Without `hidden_act`: the released code computes the exact GELU whatever that field says.
LEFT_OUT = ("hidden_act", "model_type", "architectures", "num_contexts", "num_labels", "id2label", "label2id")
CONTEXTS, CLASSIFIER = "bert.context_embeddings.weight", "classifier.weight"
PROJECTION = "bert.encoder.layer.0.attention.self.context_for_q.weight"
# The released pooler carries the weights of an attention over the tokens that its forward pass never computes.
UNUSED = "bert.pooler.attention_gate."
RENAMES = (  # theirs, ours
    ("LayerNorm.gamma", "LayerNorm.weight"),
    ("LayerNorm.beta", "LayerNorm.bias"),
    ("context_for_q", "context_query"),
    ("context_for_k", "context_key"),
    (r"context_layer\.(\d+)", r"layer.\1.attention.self.context_matrix.from_context"),
    (r"lambda_\w_(query|key)_layer", r"\1_gate.from_hidden"),
    ("lambda_q_context_layer", "query_gate.from_context"),
    ("lambda_k_context_layer", "key_gate.from_context"),
)


@dataclass
class ConversionArguments:
    """What to convert, and what the released files do not hold."""

    kind: Literal["qacg", "cg"] = field(metadata={"help": "Which of the two models it is."})
    config: str = field(metadata={"help": "The bert_config.json that it was trained with."})
    weights: Path = field(metadata={"help": "Its weights: .safetensors, or what torch.save has written."})
    tokenizer: str = field(metadata={"help": "Folder or Hub id of the tokenizer that it was trained with."})
    output_dir: Path = field(metadata={"help": "Folder for the converted checkpoint; new or empty."})
    labels: list[str] | None = field(default=None, metadata={"help": "Label names, in the order of their ids."})
    targets: list[str] | None = field(default=None, metadata={"help": "Targets, in the order of the context ids."})
    aspects: list[str] | None = field(default=None, metadata={"help": "Aspects, in the order of the context ids."})
    auxiliary_sentence: bool = field(default=True, metadata={"help": "Whether its texts ended with the context."})
    context_projection: Literal["head"] | None = field(
        default=None, metadata={"help": "head: store H x H projections that all heads share as d x d."}
    )


def read_weights(file: Path) -> dict[str, torch.Tensor]:
    """Weights by name, without the wrappers of training code. No code in a pickle is run: it is a ValueError."""
    if not file.is_file():
        raise FileNotFoundError(f"weights={file} is no file: give a .safetensors file, or what torch.save has written")
    with loading("weights", str(file)):
        if file.suffix == ".safetensors":
            return load_file(file)
        weights = torch.load(file, map_location="cpu", weights_only=True)
    for wrapper in ("model", "state_dict", "model_state_dict"):
        weights = weights.get(wrapper, weights)
    return {name.removeprefix("module."): tensor for name, tensor in weights.items()}


def build_config(kind: str, fields: dict, weights: dict[str, torch.Tensor], *, labels=None, **chosen):
    """Our configuration of a released checkpoint, of its own `fields` and of what was `chosen` of ours."""
    missing = {CONTEXTS, CLASSIFIER, PROJECTION} - set(weights)
    if missing:
        raise ValueError(f"the weights lack {sorted(missing)}: give a checkpoint of the released CG-BERT or QACG-BERT")
    num_contexts, hidden_size = weights[CONTEXTS].shape
    labels = labels or [f"LABEL_{number}" for number in range(len(weights[CLASSIFIER]))]
    if not chosen.get("context_projection"):
        chosen["context_projection"] = "hidden" if weights[PROJECTION].shape[1] == hidden_size else "head"
    return MODELS[kind].config_class(
        **{name: value for name, value in fields.items() if name not in LEFT_OUT},
        num_contexts=num_contexts,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        gate_bias=any("lambda_" in name and name.endswith(".bias") for name in weights),
        **chosen,
    )


def convert_state_dict(weights: dict[str, torch.Tensor], config) -> dict[str, torch.Tensor]:
    """The weights of a released checkpoint under our names, in the shapes of `config`."""
    converted = {}
    for released, tensor in weights.items():
        name = released
        for theirs, ours in RENAMES:
            name = re.sub(theirs, ours, name)
        if name.endswith("context_matrix.from_context.weight"):  # (H, 2H)
            converted[name] = tensor[:, : config.hidden_size]
            converted[name.replace("from_context", "from_hidden")] = tensor[:, config.hidden_size :]
        elif name.endswith("gate.from_hidden.bias"):  # each gate of the released code has two biases, which add up
            second = re.sub("(query|key)_layer", "context_layer", released)
            if second in weights:
                converted[name] = tensor + weights[second]
        elif re.search(r"\.context_(query|key)\.", name):
            converted[name] = project(released, tensor, config)
        elif not name.endswith("gate.from_context.bias") and not name.startswith(UNUSED):
            converted[name] = tensor
    return converted


def project(name: str, tensor: torch.Tensor, config) -> torch.Tensor:
    """A weight or bias of a context projection in the size that `config.context_projection` asks for."""
    num_heads, head_size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    if config.context_projection == "hidden":
        # Weight (d, H) and bias (d,) in some versions of the released code: what they give goes to every head.
        return torch.cat([tensor] * num_heads) if len(tensor) == head_size else tensor
    if len(tensor) != config.hidden_size:
        return tensor
    block = tensor[(slice(head_size),) * tensor.dim()]
    repeated = torch.cat([block] * num_heads) if tensor.dim() == 1 else torch.block_diag(*[block] * num_heads)
    if not torch.equal(tensor, repeated):
        raise ValueError(f"context_projection=head, but the heads of {name} differ: leave context_projection out")
    return block


def main(arguments: ConversionArguments):
    output_dir = arguments.output_dir
    if output_dir.exists() and any(output_dir.iterdir()):
        raise ValueError(f"output_dir={output_dir} is not empty: give a new folder")
    weights = read_weights(arguments.weights)
    with loading("config", arguments.config):
        fields = json.loads(Path(arguments.config).read_text(encoding="utf-8"))
    chosen = ("labels", "targets", "aspects", "auxiliary_sentence", "context_projection")
    config = build_config(arguments.kind, fields, weights, **{name: getattr(arguments, name) for name in chosen})
    model = MODELS[arguments.kind](config)
    try:
        model.load_state_dict(convert_state_dict(weights, config))
    except RuntimeError as error:  # which names the weights that are missing, unknown or of other sizes
        raise ValueError(f"weights {arguments.weights} do not fit config {arguments.config}: {error}") from error
    with loading("tokenizer", arguments.tokenizer):
        AutoTokenizer.from_pretrained(arguments.tokenizer).save_pretrained(output_dir)
    model.save_pretrained(output_dir)
    load_classifier("output_dir", str(output_dir))  # for its checks of weights, labels and tokenizer
    print(f"wrote {type(model).__name__} to {output_dir}: {model.num_parameters():,} parameters")


if __name__ == "__main__":
    with user_errors():
        main(parse(ConversionArguments))
