"""What a classifier's configuration says of its task, and what its user is told of its answers."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from modeling_qacg_bert import Contexts

logger = logging.getLogger(__name__)


def describe(
    contexts: Contexts | None,
    label_names: Sequence[str],
    *,
    auxiliary_sentence: bool = True,
    symmetric_targets: bool = False,
    none_label: str | None = "none",
    context_source: str = "id",
) -> dict[str, Any]:
    """Fields of a classifier's configuration.

    Args:
        contexts: those that the model is asked about; None where targets are words of the texts.
        label_names: names of the labels in the order of their ids.
        auxiliary_sentence: whether the input names its context in words.
        symmetric_targets: whether a text is read as one about the first target, whichever it is asked about.
        none_label: the label of a text that does not speak of the context; None where there is none.
        context_source: "text" where the model reads contexts in words.
    """
    return {
        **({} if context_source == "id" else {"context_source": context_source}),
        "targets": list(contexts.targets) or None if contexts else None,
        "aspects": list(contexts.aspects) if contexts else None,
        "auxiliary_sentence": auxiliary_sentence,
        "symmetric_targets": symmetric_targets,
        "none_label": none_label,
        "id2label": dict(enumerate(label_names)),
        "label2id": {name: index for index, name in enumerate(label_names)},
    }


def warn_of_one_answer(split: str, answers: np.ndarray, labels: list[int], label_names: list[str]):
    """Says it, with the remedy, where a model answers the same to all rows of a split, (rows,), and should not."""
    if len(set(labels)) > 1 and len(only := set(answers.tolist())) == 1:
        logger.warning(
            "%s: the model answers %r to all %d rows. If it should tell them apart, train it for longer "
            "(--num_train_epochs, or --max_steps where the recipe has that), or as "
            "configuration/recipes/own_data.yaml does",
            split,
            label_names[only.pop()],
            len(labels),
        )
