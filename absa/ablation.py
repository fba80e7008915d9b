"""Is it the subtraction? Scores of a trained model whose gates λ_A may not be negative, not positive, or neither."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerBase

from absa.calibration import uncalibrate
from absa.tasks.classification import Classification
from modeling_qacg_bert import AspectSentimentPipeline, guidance_qacg, layers_qacg_bert

GATES = {
    "as trained": lambda gate: gate,
    "λ_A ≥ 0": lambda gate: gate.clamp(min=0),
    "λ_A ≤ 0": lambda gate: gate.clamp(max=0),
    "λ_A = 0": torch.zeros_like,
}
OTHER_ANSWERS = "other_answers"


@contextmanager
def gates(change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Changes the gates (B, h, n, 1) of all models while it is open."""
    quasi_gate = layers_qacg_bert.quasi_gate

    def changed(*arguments) -> torch.Tensor:
        return change(quasi_gate(*arguments))

    with patch.object(layers_qacg_bert, "quasi_gate", changed), patch.object(guidance_qacg, "quasi_gate", changed):
        yield


def questions_of(task: Classification, split: str = "test") -> list[dict[str, str]]:
    """The rows of a split as a pipeline is asked about them."""
    names = ("text", "target", "aspect")
    rows = zip(*(task.splits[split][name] for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def answers(pipe: Pipeline, questions: Sequence[Mapping[str, str]], label_names: Sequence[str]) -> np.ndarray:
    """Probabilities, (questions, labels)."""
    return np.array([[answer["probabilities"][label] for label in label_names] for answer in pipe(questions)])


def ablate(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, task: Classification
) -> dict[str, dict[str, float]]:
    """Scores of a trained model on the test split, by what becomes of its gates; nothing is trained again.

    Args:
        model, tokenizer: a classifier with quasi-attention.
        task: its data.
    Returns:
        For each of `GATES` the main scores, and `OTHER_ANSWERS`: the share of rows that get another label than with
        the gates as they were trained.
    Raises:
        ValueError: for a model that has no quasi-attention.
    """
    if not hasattr(model.config, "quasi_attention_scale"):
        raise ValueError(f"it is a {model.config.model_type}, which has no quasi-attention: leave it out")
    uncalibrate(model)
    pipe, labels, found = AspectSentimentPipeline(model=model, tokenizer=tokenizer), {}, {}
    for name, change in GATES.items():
        with gates(change):
            probabilities = answers(pipe, questions_of(task), task.label_names)
        labels[name] = probabilities.argmax(-1)
        scores = task.score("test", np.log(probabilities))
        others = (labels[name] != labels["as trained"]).mean()
        found[name] = {**{score: scores[score] for score in task.main_scores}, OTHER_ANSWERS: float(others)}
    return found
