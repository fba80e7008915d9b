"""How fast each weight learns."""

import re
from collections.abc import Collection

from transformers import PreTrainedModel

# What context guidance adds to BERT.
NEW_MODULES = ("context_embeddings", "context_matrix", "context_query", "context_key", "query_gate", "key_gate")
LAYER = re.compile(r"\.encoder\.layer\.(\d+)\.")


def is_new(name: str) -> bool:
    """Whether the parameter of this name starts from random numbers."""
    parts = name.split(".")
    return parts[0] == "classifier" or any(part in NEW_MODULES for part in parts)


def depth_of(name: str, num_layers: int) -> int:
    """0 for the embeddings, 1 for the first layer, `num_layers` + 1 for what stands above the layers."""
    if ".embeddings." in name:
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
) -> list[dict]:
    """The optimizer's groups, one for each learning rate, with and without weight decay.

    Args:
        model: its parameters that require a gradient are grouped.
        decayed: names of the parameters with weight decay.
        weight_decay: theirs.
        learning_rate: of the pretrained weights above the layers.
        new_learning_rate: of the weights that `is_new`; None for `learning_rate`.
        layer_decay: what the rate of pretrained weights is multiplied by from one layer to the one below (Howard &
            Ruder, ACL 2018); 1 for the same rate everywhere.
    Returns:
        Dictionaries with `params`, `lr` and `weight_decay`.
    """
    top = model.config.num_hidden_layers + 1
    groups, decayed = {}, set(decayed)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if is_new(name):
            rate = learning_rate if new_learning_rate is None else new_learning_rate
        else:
            rate = learning_rate * layer_decay ** (top - depth_of(name, top - 1))
        groups.setdefault((rate, weight_decay if name in decayed else 0.0), []).append(parameter)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]
