"""One model whose weights are the mean of those of several trainings from one start: a model soup (Wortsman et al.,
"Model soups", ICML 2022).
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from absa.calibration import uncalibrate
from absa.models import load_classifier
from absa.tasks.registry import TASKS, task_of
from datasets_scripts.source_files import shorten
from modeling_qacg_bert import Contexts

logger = logging.getLogger(__name__)

LIKE = 0.5  # cosine of a weight matrix in two models: one that has been fine-tuned stays near 1
# What each may have of its own.
OWN = ("calibration_temperature", "likeness_calibration", "transformers_version", "_name_or_path", "dtype")


def average(checkpoints: Sequence[str]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The mean of the weights of checkpoints, in float32, as a model in evaluation mode, and their tokenizer.

    It is not calibrated: the checkpoints' calibrations were fitted to their own answers.

    Args:
        checkpoints: folders or Hub ids of models that differ in their weights alone, such as the seeds of a run with
            one `init_seed`. A warning names the weights that have hardly anything in common: their mean does what none
            of the models does. The mean of one model has its weights.
    Raises:
        FileNotFoundError, ValueError: as `load_classifier`; if there is none, or one twice, or they have other
            configurations or tokens.
    """
    if len({Path(name).resolve() for name in checkpoints}) < max(1, len(checkpoints)):
        raise ValueError(f"mean_of={' '.join(checkpoints)}: give one or more, each once, such as the seeds of a run")
    auto_class = TASKS[task_of("mean_of", checkpoints[0])].auto_class
    loaded = [load_classifier("mean_of", name, auto_class, dtype=torch.float32) for name in checkpoints]
    (model, tokenizer), *others = loaded
    described = model.config.to_dict()
    for name, (other, of_other) in zip(checkpoints[1:], others, strict=True):
        fields = other.config.to_dict()
        for field in sorted({*described, *fields} - {*OWN}):
            one, another = (shorten(of_one.get(field)) for of_one in (described, fields))
            if one != another:
                raise ValueError(
                    f"mean_of: {checkpoints[0]} and {name} have {field}={one} and {another}: the mean of their "
                    "weights would be of neither; give checkpoints of one run"
                )
        if of_other.get_vocab() != tokenizer.get_vocab():
            raise ValueError(
                f"mean_of: {checkpoints[0]} and {name} number tokens differently: give checkpoints of one run"
            )
    states = [of_one.state_dict() for of_one, _ in loaded]
    if apart := [name for name, weight in states[0].items() if weight.ndim == 2 and not alike(name, states)]:
        logger.warning(
            "%d weights (%s) have little in common in the checkpoints, which began from other random numbers or went "
            "far from them: look at the scores of the mean; train with --init_seed 0 for such that have one",
            len(apart),
            shorten(", ".join(apart)),
        )
    model.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    uncalibrate(model)
    return model, tokenizer


def keep_aspects(model: PreTrainedModel, aspects: Collection[str] | None):
    """Leaves those of a model's aspects that data names, if the model knows them all, and tells which go. What it
    answers about the others stays.

    A model that reads its contexts in words keeps the names of its training.
    """
    config = model.config
    known = getattr(config, "aspects", None) or ()
    if not aspects or getattr(config, "context_source", "id") == "text" or not {*aspects} < {*known}:
        return
    left = [aspect for aspect in known if aspect not in aspects]
    logger.warning("the mean leaves %s behind, which the data does not ask about", shorten(", ".join(left)))
    numbers = [number for number, (_, aspect) in enumerate(Contexts.from_config(config)) if aspect in aspects]
    config.aspects = [aspect for aspect in known if aspect in aspects]
    if (table := getattr(model.base_model, "context_embeddings", None)) is not None:
        table.weight = nn.Parameter(table.weight[numbers].detach())
        config.num_contexts = table.num_embeddings = len(numbers)


def alike(name: str, states: Sequence[Mapping[str, torch.Tensor]]) -> bool:
    """Whether a weight points the same way in all models as in the first."""
    first, *others = (state[name].flatten() for state in states)
    return all(torch.cosine_similarity(first, other, dim=0) > LIKE for other in others)
