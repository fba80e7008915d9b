"""What a run needs of a task."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from datasets import Dataset
from transformers import (
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from absa.tasks.arguments import DataArguments
from absa.word_vectors import Words
from datasets_scripts.documents import are_like

logger = logging.getLogger(__name__)

Rows = Mapping[str, Sequence]
BOOTSTRAP = 1000  # resamples of the sentences for the 95 % intervals of results.json: <score>_low and <score>_high


@dataclass(frozen=True)
class Entries:
    """A split as a model reads it: one entry of the data set for one or several rows."""

    dataset: Dataset
    rows_of: list[list[int]]
    """Numbers of the rows behind each entry; what a row is, the task says."""


class Task(ABC):
    """Data ready for training, and how what a model answers is scored."""

    auto_class: ClassVar[type] = DataArguments.auto_class
    """What finds a family's model for this task."""
    hub_task: ClassVar[str] = "text-classification"
    """The Hub's name of the task."""
    generates: ClassVar[bool] = False
    """Whether models answer by generating."""
    splits: Mapping[str, Rows]
    """For "train", "validation" and "test" (where there is one) the columns of the data set."""
    label_names: list[str]
    """In the order of the label ids."""
    main_scores: list[str]
    """Names of the scores that tables show."""
    select_by: str
    """Name of the score that chooses the checkpoint on the validation split."""

    @classmethod
    @abstractmethod
    def load(cls, arguments: DataArguments) -> Self:
        """The data that the arguments ask for."""

    @abstractmethod
    def overview(self) -> str:
        """What there is of the data, as a table that a user reads before training."""

    def without_texts_like(self, texts: Sequence[str]) -> Self:
        """Without the rows of train and validation whose texts are like one of these, see `documents.are_like`.

        Raises:
            ValueError: if nothing is left of a split.
        """
        splits = dict(self.splits)
        for name in splits.keys() - {"test"}:
            new = [not is_like for is_like in are_like(splits[name]["text"], texts)]
            if not any(new):
                raise ValueError(f"held_out leaves nothing of {name}: each of its texts is like one in these files")
            told = "%s: %d of %d rows are left out, whose texts are like one of held_out"
            logger.warning(told, name, new.count(False), len(new))
            splits[name] = {column: list(compress(values, new)) for column, values in splits[name].items()}
        return replace(self, splits=splits)

    def parts(self, arguments: DataArguments, model_class: type[PreTrainedModel]) -> dict[str, Self]:
        """The models to train, by their folder in that of the run: one, unless the task says otherwise.

        Raises:
            ValueError: if the arguments do not fit the data or the model.
        """
        return {"": self}

    def with_labels(self, label_names: list[str]) -> Self:
        """The task with its labels in the order of a model's, where their order is free; else as it is."""
        return self

    @abstractmethod
    def described(self, arguments: DataArguments) -> dict[str, Any]:
        """Fields of the model's configuration that the data decides."""

    @staticmethod
    @abstractmethod
    def on_card(config: PreTrainedConfig) -> dict[str, Any]:
        """What the card of a trained model says of the task, beside what absa/card_<task>.md.jinja has.

        Returns:
            `example`, a text to show an answer to, or `question`, what is asked about it, where it is not asked alone;
            `task_name`; `tags`, for the Hub's search; what else the template needs.
        """

    @abstractmethod
    def words(self) -> Words:
        """What a model with static word embeddings knows the words of."""

    @abstractmethod
    def entries(
        self, split: str, arguments: DataArguments, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
    ) -> Entries:
        """A split, tokenised and without padding."""

    @abstractmethod
    def trainer_options(
        self, arguments: DataArguments, tokenizer: PreTrainedTokenizerBase, training_arguments
    ) -> dict[str, Any]:
        """Further arguments of the Trainer: the collator, the loss, balanced sampling."""

    @abstractmethod
    def answers(self, split: str, entries: Entries, predictions: np.ndarray | tuple[np.ndarray, ...]) -> Any:
        """What a model has answered, by row, from the Trainer's predictions by entry."""

    @abstractmethod
    def score(self, split: str, answers: Any, bootstrap: int = 0) -> dict[str, float]:
        """Scores of the answers to a split, with 95 % intervals from so many resamples."""

    def calibrate_unknown(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        """Fields of the configuration that say how to answer what was in no training, by the validation split."""
        return {}

    @abstractmethod
    def calibrate(self, answers: Any) -> dict[str, float]:
        """Fields of the configuration that make the answers to the validation split say how sure they are."""

    @abstractmethod
    def results(self, folder: Path, parts: Sequence[tuple[Self, Mapping[str, Any], Mapping[str, float]]]) -> dict:
        """All scores of a trained run, after its probabilities are written to the folder.

        Args:
            folder: the seed's.
            parts: each with its answers by split and the fields of `calibrate`.
        """

    @abstractmethod
    def write_answers(self, folder: Path, split: str, answers: Any):
        """Writes the answers to a split beside the gold ones, into a file of the folder."""
