"""How fast each weight learns, and from where."""

import re
from collections.abc import Collection, Iterable, Mapping

from torch import nn
from transformers import PreTrainedModel

# The parts of a backbone, where a model has none of this name, and what context guidance adds inside of its layers.
BACKBONE = {"embeddings", "encoder", "pooler"}
GUIDANCE = {"context_matrix", "context_query", "context_key", "query_gate", "key_gate"}
# And what all layers read of relative positions.
EMBEDDINGS = re.compile(r"\.(?:embeddings|shared|embed_\w+|relative_attention_bias|rel_embeddings)\.")
LAYER = re.compile(r"\.(\d+)\.")


def part_of(name: str, model: PreTrainedModel) -> str:
    """The part of a model that a parameter belongs to: "encoder", "lstm", "classifier"."""
    return name.removeprefix(f"{model.base_model_prefix}.").partition(".")[0]


def is_new(name: str, model: PreTrainedModel) -> bool:
    """Whether the parameter of this name starts from random numbers.

    Those of a pooler do that the backbone's checkpoint lacks, which `load_model` names.
    """
    base_model = model.base_model
    if type(base_model).__module__.startswith("transformers."):  # pretrained as a whole
        is_pretrained = base_model is model or name.startswith(f"{model.base_model_prefix}.")
    else:
        backbone = {"backbone"} if hasattr(base_model, "backbone") else BACKBONE
        is_pretrained = part_of(name, model) in backbone and GUIDANCE.isdisjoint(name.split("."))
    return not is_pretrained or name in getattr(model, "new_weights", ())


def named_by(name: str, model: PreTrainedModel, modules: Iterable[str]) -> str | None:
    """The longest of some names of modules that a parameter belongs to: "encoder", "encoder.layer.0"."""
    path = f"{name.removeprefix(f'{model.base_model_prefix}.')}."
    return max((module for module in modules if path.startswith(f"{module}.")), key=len, default=None)


def freeze(model: PreTrainedModel, learning_rates: Mapping[str, float] | None):
    """Takes the gradients from what has a learning rate of 0."""
    learning_rates = learning_rates or {}
    for name, parameter in model.named_parameters():
        if learning_rates.get(named_by(name, model, learning_rates)) == 0:
            parameter.requires_grad_(False)


def depth_of(name: str, num_layers: int) -> int:
    """0 for the embeddings, 1 for the first layer, `num_layers` + 1 for what stands above the layers."""
    if EMBEDDINGS.search(f".{name}"):
        return 0
    layer = LAYER.search(name)
    return int(layer[1]) + 1 if layer else num_layers + 1


def parameter_groups(
    model: PreTrainedModel,
    decayed: Collection[str],
    weight_decay: float,
    learning_rate: float,
    new_learning_rate: float | None,
    layer_decay: float,
    learning_rates: Mapping[str, float] | None = None,
) -> list[dict]:
    """The optimizer's groups, one for each learning rate, with and without weight decay.

    Args:
        model: its parameters that require a gradient are grouped.
        decayed: names of the parameters with weight decay.
        weight_decay: theirs.
        learning_rate: of the pretrained weights above the layers.
        new_learning_rate: of the weights that are new, see `is_new`; None for `learning_rate`.
        layer_decay: what the rate of pretrained weights is multiplied by from one layer to the one below (Howard &
            Ruder, ACL 2018); 1 for the same rate everywhere.
        learning_rates: of modules of the model, in place of the three above; of one within another the inner's.
    Returns:
        Dictionaries with `params`, `lr` and `weight_decay`.
    Raises:
        ValueError: for a rate of a module that the model has not.
    """
    learning_rates = learning_rates or {}
    names = [name for name, _ in model.named_parameters()]
    unknown = [module for module in learning_rates if not any(named_by(name, model, [module]) for name in names)]
    if unknown:
        parts = dict.fromkeys(part_of(name, model) for name in names)
        raise ValueError(f"learning_rates names {', '.join(unknown)}: the parts of the model are {', '.join(parts)}")
    top = getattr(model.config.get_text_config(encoder=True), "num_hidden_layers", 0) + 1
    groups, decayed = {}, set(decayed)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if module := named_by(name, model, learning_rates):
            rate = learning_rates[module]
        elif is_new(name, model):
            rate = learning_rate if new_learning_rate is None else new_learning_rate
        else:
            rate = learning_rate * layer_decay ** (top - depth_of(name, top - 1))
        groups.setdefault((rate, weight_decay if name in decayed else 0.0), []).append(parameter)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


def reset_pooler(model: PreTrainedModel):
    """Gives BERT's pooler orthogonal weights, which hand the state of the first token on in its size.

    A sentence encoder that takes the mean over all tokens has never trained its pooler. MiniLM's has weights of 0.009,
    behind which the texts look alike, and a classifier learns nothing for hundreds of steps.

    Raises:
        ValueError: if the model has no pooler.
    """
    if getattr(model.base_model, "pooler", None) is None:
        raise ValueError(f"reset_pooler=true, and a {type(model).__name__} has no pooler: leave it out")
    dense = model.base_model.pooler.dense
    nn.init.orthogonal_(dense.weight)
    nn.init.zeros_(dense.bias)
