"""Several data sets at once, with aspects and labels of their own."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from datasets import concatenate_datasets
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from absa.calibration import helpful_temperature, label_calibration_error
from absa.models import takes
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import Entries, Rows, Task
from absa.tasks.classification import Classification, describe
from absa.tasks.likeness import calibrate_likeness
from absa.tasks.rows import choose
from absa.word_vectors import Words
from datasets_scripts.documents import are_like
from modeling_qacg_bert import Contexts

logger = logging.getLogger(__name__)

LATER = {"train": ("validation", "test"), "validation": ("test",)}  # splits whose texts must be new to a model


@dataclass(frozen=True)
class Mixture(Task):
    """Data sets that one model learns, each row among the labels of its own.

    Scores are named `<data set>_<score>`; `mean` is that of the scores by which each data set alone would choose the
    checkpoint.

    Args:
        tasks: by name, each with the labels of the mixture as those of the model.
        weights: by name, how many times as often as it has rows a data set's rows are drawn in an epoch.
        own_contexts: names of those whose aspects the model is asked about as `price (NAME)`.
    """

    tasks: Mapping[str, Classification]
    weights: Mapping[str, float]
    own_contexts: Sequence[str] = ()
    select_by: ClassVar[str] = "mean"

    @classmethod
    def load(cls, arguments: ClassificationArguments) -> "Mixture":
        """The data sets of `arguments.mixture`; errors of `Classification.load` come through and say of which.

        Raises:
            ValueError: if their labels of what a text does not speak of have several names, or as `without_held_out`.
        """
        entries, tasks = arguments.entries, {}
        for name, entry in entries.items():
            try:
                tasks[name] = Classification.load(entry)
                if entry.own_contexts and tasks[name].contexts is None:
                    raise ValueError("own_contexts is for data that names its aspects: leave it out")
            except (ValueError, OSError) as error:
                error.args = (f"{name} of the mixture: {error}",)
                raise
        none_labels = {task.none_label: name for name, task in tasks.items() if task.none_label is not None}
        if len(none_labels) > 1:
            told = " and ".join(f"{label!r} of {name}" for label, name in none_labels.items())
            raise ValueError(
                f"mixture has the labels {told} for what a text does not speak of: give them one name, in the files "
                "and as absent_label"
            )
        weights = {name: entry.weight for name, entry in entries.items()}
        own_contexts = [name for name, entry in entries.items() if entry.own_contexts]
        mixture = cls(without_held_out(tasks), weights, own_contexts)
        return mixture.of_model(mixture.label_names)

    def without_texts_like(self, texts: Sequence[str]) -> "Mixture":
        return replace(self, tasks={name: task.without_texts_like(texts) for name, task in self.tasks.items()})

    def with_joined_texts(self, share: float, may_exchange: bool) -> "Mixture":
        return replace(
            self, tasks={name: task.with_joined_texts(share, may_exchange) for name, task in self.tasks.items()}
        )

    def of_model(self, labels: list[str]) -> "Mixture":
        """The task for a model that has these labels, and perhaps others than the data."""
        return replace(self, tasks={name: task.of_model(labels) for name, task in self.tasks.items()})

    @cached_property
    def asked(self) -> Mapping[str, Classification]:
        """The data sets with the aspects by which the model is asked."""
        own = {name: with_own_contexts(self.tasks[name], name) for name in self.own_contexts}
        return {**self.tasks, **own}

    @cached_property
    def splits(self) -> Mapping[str, Rows]:
        """The rows of all data sets that have a split, with the name of theirs; a column that one lacks is null."""
        splits = {}
        for split in dict.fromkeys(chain.from_iterable(task.splits for task in self.tasks.values())):
            parts = {name: task.splits[split] for name, task in self.tasks.items() if split in task.splits}
            names = dict.fromkeys(chain.from_iterable(parts.values()))
            splits[split] = {"dataset": [name for name, rows in parts.items() for _ in rows["id"]]}
            for column in names:
                values = (rows.get(column, [None] * len(rows["id"])) for rows in parts.values())
                splits[split][column] = list(chain.from_iterable(values))
        return splits

    @property
    def label_names(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(task.label_names for task in self.tasks.values())))

    @property
    def main_scores(self) -> list[str]:
        return [*(f"{name}_{task.select_by}" for name, task in self.tasks.items()), "mean"]

    def overview(self) -> str:
        headed = (f"{name}, weight {self.weights[name]:g}\n{task.overview()}" for name, task in self.asked.items())
        return "\n\n".join(headed)

    def parts(self, arguments: ClassificationArguments, model_class: type[PreTrainedModel]) -> dict[str, "Mixture"]:
        """One model.

        Raises:
            ValueError: if it is not told in words what is asked and is to be, or not as it will be when it answers.
        """
        name, takes_context = model_class.__name__, takes(model_class, "context_ids")
        in_words = arguments.context_source == "text"
        if in_words and takes_context and not hasattr(model_class.config_class, "context_source"):
            raise ValueError(
                f"mixture with {name}, which knows its contexts by ids: give --context_source id, where all data sets "
                "name their aspects, or a model_type that reads them in words, such as bert or qacg_bert"
            )
        if in_words and self.own_contexts:
            raise ValueError(
                f"own_contexts of {self.own_contexts[0]} with context_source=text, which reads names of aspects as "
                "words: give --context_source id, where all data sets name their aspects"
            )
        if not takes_context and not arguments.auxiliary_sentence:
            raise ValueError(
                f"mixture with {name} and auxiliary_sentence=false: the model would not know what it is asked; give "
                "--auxiliary_sentence true"
            )
        for task in self.tasks.values():
            task.parts(arguments, model_class)  # for its errors
        return {"": self}

    def described(self, arguments: ClassificationArguments) -> dict[str, Any]:
        """Fields of the configuration, whose targets and aspects are those that the data sets name, in their order."""
        named = [task.contexts for task in self.asked.values() if task.contexts is not None]
        targets, aspects = (
            dict.fromkeys(name for contexts in named for name in getattr(contexts, field) if name)
            for field in ("targets", "aspects")
        )
        none_labels = [task.none_label for task in self.tasks.values() if task.none_label is not None]
        return describe(
            Contexts(tuple(targets), tuple(aspects)) if aspects else None,
            self.label_names,
            auxiliary_sentence=arguments.auxiliary_sentence,
            symmetric_targets=bool(arguments.symmetric_targets),
            none_label=none_labels[0] if none_labels else None,
            context_source=arguments.context_source,
        )

    on_card = Classification.on_card

    def words(self) -> Words:
        every = [task.words() for task in self.asked.values()]
        return every[0]._replace(texts=list(chain.from_iterable(words.texts for words in every)))

    def entries(
        self,
        split: str,
        arguments: ClassificationArguments,
        tokenizer: PreTrainedTokenizerBase,
        config: PreTrainedConfig,
    ) -> Entries:
        """Those of the data sets that have the split, one after another, with their numbers as `dataset_ids`.

        Of `rows_of` the numbers are those of rows of the data set.
        """
        datasets, rows_of = [], []
        for number, task in enumerate(self.asked.values()):
            if split in task.splits:
                entries = task.entries(split, arguments, tokenizer, config)
                datasets.append(entries.dataset.add_column("dataset_ids", [number] * len(entries.dataset)))
                rows_of += entries.rows_of
        # Only what names its aspects has ids of contexts, which a model of all of these data sets does not take.
        shared = [name for name in datasets[0].column_names if all(name in one.column_names for one in datasets)]
        return Entries(concatenate_datasets([one.select_columns(shared) for one in datasets]), rows_of)

    def trainer_options(
        self, arguments: ClassificationArguments, tokenizer: PreTrainedTokenizerBase, training_arguments
    ) -> dict[str, Any]:
        if training_arguments.label_smoothing_factor:
            raise ValueError(
                f"label_smoothing_factor={training_arguments.label_smoothing_factor} with mixture, whose data sets "
                "have labels of their own: leave it out"
            )
        tasks, weights = self.tasks.values(), list(self.weights.values())
        return {
            **next(iter(tasks)).trainer_options(arguments, tokenizer, training_arguments),
            "label_masks": [[name in task.label_names for name in task.model_labels] for task in tasks],
            "weights": weights if set(weights) != {1} else None,
        }

    def answers(self, split: str, entries: Entries, predictions: np.ndarray) -> dict[str, np.ndarray]:
        """Logits (rows, own labels) of each data set by name."""
        answers, dataset_ids = {}, np.array(entries.dataset["dataset_ids"][:])
        for number, (name, task) in enumerate(self.tasks.items()):
            if split in task.splits:
                own = np.flatnonzero(dataset_ids == number)
                of_task = Entries(entries.dataset.select(own), [entries.rows_of[entry] for entry in own])
                answers[name] = task.answers(split, of_task, predictions[own])
        return answers

    def score(self, split: str, answers: Mapping[str, np.ndarray], bootstrap: int = 0) -> dict[str, float]:
        return self._named({name: self.tasks[name].score(split, own, bootstrap) for name, own in answers.items()})

    def _named(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """Scores of data sets by one name each, and the mean."""
        named = {f"{name}_{score}": value for name, own in scores.items() for score, value in own.items()}
        return {**named, "mean": float(np.mean([own[self.tasks[name].select_by] for name, own in scores.items()]))}

    def _pooled(self, split: str, answers: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Logits and gold classes of all rows among all labels, (rows, labels) and (rows,).

        Any run of rows has about the same part of each data set, and the rows of a text beside one another.
        """
        label_names = self.label_names
        logits = [np.full((len(own), len(label_names)), -np.inf) for own in answers.values()]
        for (name, own), of_task in zip(answers.items(), logits, strict=True):
            of_task[:, [label_names.index(label) for label in self.tasks[name].label_names]] = own
        labels = np.concatenate([self.tasks[name].gold(split, label_names) for name in answers])
        order = np.argsort(np.concatenate([np.arange(len(own)) / len(own) for own in logits]), kind="stable")
        return np.concatenate(logits)[order], labels[order]

    def calibrate(self, answers: Mapping[str, np.ndarray]) -> dict[str, float]:
        """One temperature, by the validation rows of all data sets, each among its own labels; 1 if none helps."""
        return {"calibration_temperature": helpful_temperature(*self._pooled("validation", answers))}

    def calibrate_unknown(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return calibrate_likeness(model, tokenizer, list(self.tasks.values()))

    def results(
        self,
        folder: Path,
        parts: Sequence[tuple["Mixture", Mapping[str, Mapping[str, np.ndarray]], Mapping[str, float]]],
    ) -> dict:
        """Those of `Classification` under the data set's names, whose probabilities lie in a folder each.

        The calibration error `label` is of the rows of all data sets.
        """
        ((_, answers, calibration),) = parts
        of_tasks = {}
        for name, task in self.tasks.items():
            own = {split: of_split[name] for split, of_split in answers.items() if name in of_split}
            of_tasks[name] = task.results(folder / name, [(task, own, calibration)])
        results = {"calibration": {}}
        for split, of_split in answers.items():
            having = {name: of_task for name, of_task in of_tasks.items() if split in of_task}
            results[split] = self._named({name: of_task[split] for name, of_task in having.items()})
            logits, labels = self._pooled(split, of_split)
            results["calibration"][split] = {
                side: {
                    "label": label_calibration_error(logits / temperature, labels),
                    **{
                        f"{name}_{kind}": error
                        for name, of_task in having.items()
                        for kind, error in of_task["calibration"][split][side].items()
                    },
                }
                for side, temperature in (("before", 1.0), ("after", calibration["calibration_temperature"]))
            }
        return results

    def write_answers(self, folder: Path, split: str, answers: Mapping[str, np.ndarray]):
        """NAME/SPLIT_probabilities.parquet of each data set, among its own labels."""
        for name, own in answers.items():
            self.tasks[name].write_answers(folder / name, split, own)


def with_own_contexts(task: Classification, name: str) -> Classification:
    """A data set with aspects of other names, `price (NAME)`, which a model may answer otherwise than `price`."""

    def renamed(aspects: Iterable[str]) -> list[str]:
        return [f"{aspect} ({name})" for aspect in aspects]

    splits = {split: {**rows, "aspect": renamed(rows["aspect"])} for split, rows in task.splits.items()}
    return replace(task, splits=splits, contexts=replace(task.contexts, aspects=tuple(renamed(task.contexts.aspects))))


def without_held_out(tasks: Mapping[str, Classification]) -> dict[str, Classification]:
    """Data sets without the training rows whose texts are like one in the validation or test split of another, and
    without the validation rows whose texts are like one in the test split of another, see `documents.are_like`.

    Some are made from the same sentences: SemEval-2016 trains on the test sentences of 2015.

    Raises:
        ValueError: if nothing is left of a split.
    """
    texts = {
        (name, split): list(dict.fromkeys(rows["text"]))
        for name, task in tasks.items()
        for split, rows in task.splits.items()
    }
    kept = {}
    for name, task in tasks.items():
        splits = dict(task.splits)
        for split, later in LATER.items():
            others = [*chain.from_iterable(texts.get((one, s), ()) for one in tasks if one != name for s in later)]
            like = set(compress(texts[name, split], are_like(texts[name, split], others)))
            rows = splits[split]["text"]
            numbers = [number for number, text in enumerate(rows) if text not in like]
            left_out = f"{len(rows) - len(numbers)} of {len(rows)} {split} rows"
            if not numbers:
                raise ValueError(f"{name}: another data set of the mixture holds out all {split} texts: leave one out")
            if like:
                logger.warning("%s: %s are left out, whose texts other data sets hold out", name, left_out)
                splits[split] = choose(splits[split], numbers)
        kept[name] = replace(task, splits=splits)
    return kept
