"""Which aspects a model without auxiliary sentences takes for one another, and how near their embeddings are.

    python study/apart.py study/grids/contexts_apart.yaml

For each pair of aspects, over the groups of the validation split of which gold names one of the two: how often the
model finds that one, and how often the other. The distance is that of the two context embeddings, as a share of the
mean over all pairs, so that 1 is neither near nor far. What was found before in models that are not there is kept.
"""

from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

from absa.commands import parse
from absa.metrics.aspect_groups import NONE, Groups
from absa.metrics.sentihood import ASPECTS
from results import GridArguments, look_at_trained
from trade_off import groups_in


def taken_for_another(groups: Groups, first: int, second: int) -> tuple[float, float]:
    """Of the groups whose gold has one of two aspects: the shares in which that one is found, and the other one."""
    gold = groups.gold[:, [first, second]] != NONE  # (groups, 2)
    found = groups.probabilities[:, [first, second]].argmax(axis=-1) != NONE
    one = gold[:, 0] != gold[:, 1]
    return float(found[one][gold[one]].mean()), float(found[one][~gold[one]].mean())


def relative_distances(embeddings: torch.Tensor, aspects: int) -> dict[tuple[int, int], float]:
    """Euclidean distance of each pair of aspects, mean over targets, as a share of the mean of all pairs.

    Args:
        embeddings: (targets * aspects, d), the aspects of each target together.
        aspects: how many there are.
    """
    of_targets = embeddings.float().unflatten(0, (-1, aspects))  # (targets, aspects, d)
    distances = torch.cdist(of_targets, of_targets).mean(dim=0)  # (aspects, aspects)
    pairs = list(combinations(range(aspects), 2))
    mean = np.mean([distances[pair].item() for pair in pairs])
    return {pair: float(distances[pair] / mean) for pair in pairs}


def look(checkpoint: Path) -> dict[str, dict[str, float]]:
    """Of a checkpoint: for each pair of aspects `distance`, and how often the right and the other one are found."""
    with safe_open(checkpoint / "model.safetensors", framework="pt") as weights:
        distances = relative_distances(weights.get_tensor("bert.context_embeddings.weight"), len(ASPECTS))
    groups = groups_in(checkpoint, "validation")
    looked = {}
    for (first, second), distance in distances.items():
        right, other = taken_for_another(groups, first, second)
        looked[f"{ASPECTS[first]}, {ASPECTS[second]}"] = {"distance": distance, "right": right, "other": other}
    return looked


if __name__ == "__main__":
    look_at_trained("apart", parse(GridArguments, "grid"), look)
