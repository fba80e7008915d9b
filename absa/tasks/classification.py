"""Classification of (text, target, aspect): rows, batches and scores of (targeted) aspect-based sentiment analysis."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from accelerate import PartialState
from datasets import Dataset, DatasetDict
from scipy.special import softmax
from transformers import DataCollatorWithPadding, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from absa.calibration import calibration_errors, helpful_temperature
from absa.losses import balanced_loss
from absa.metrics.aspect_polarity import aspect_polarity_scores
from absa.metrics.custom_absa import absa_scores
from absa.metrics.rows import KEY_FIELDS, with_places
from absa.models import takes
from absa.tasks.absent import with_absent_terms
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import BOOTSTRAP, Entries, Rows, Task
from absa.tasks.collating import CollatorOfContexts, CollatorOfTexts
from absa.tasks.describing import describe, warn_of_one_answer
from absa.tasks.english import english_words
from absa.tasks.joined import with_joined_texts
from absa.tasks.likeness import calibrate_likeness
from absa.tasks.rows import (
    PLACES,
    as_strings,
    by_row,
    check_columns,
    check_train,
    choose,
    hold_out_texts,
    names_of,
    write_probabilities,
)
from absa.tasks.scoring import LABELS_AND_SCORERS, MAIN_SCORES, SELECT_BY, accuracy, metric_of
from absa.tasks.targets import contexts_of, encode_split
from absa.word_vectors import Words
from datasets_scripts import load_absa_dataset
from datasets_scripts.source_files import shorten
from modeling_qacg_bert import Contexts, written_aspect, written_text

logger = logging.getLogger(__name__)

MOST_LABELS, MOST_NAMES = 24, 400  # lines, and characters of names, that are shown of a data set


@dataclass(frozen=True)
class Classification(Task):
    """Rows of (id, text, target, aspect, label) in splits, and how predictions are scored.

    Args:
        splits: for "train", "validation" and "test" (where there are such) the five columns as strings, and perhaps
            the places of targets.
        contexts: of the training split; None where targets are words of the texts, in each split others.
        label_names: in the order of the label ids.
        none_label: the one of a text that does not speak of the aspect; None where every row has a sentiment.
        scorer: (ids, targets, aspects, labels, probabilities (rows, labels)) -> scores by name.
        main_scores: names of the scores that tables show, the literature's.
        select_by: name of the score that chooses the checkpoint on the validation split.
        numbers: of a part, which rows of the whole each of its splits has.
        model_labels: of a model that knows others too: its labels, by id. A row is answered among `label_names`.
    """

    splits: Mapping[str, Rows]
    contexts: Contexts | None
    label_names: list[str]
    none_label: str | None
    scorer: Callable[..., dict[str, float]]
    main_scores: list[str]
    select_by: str
    numbers: Mapping[str, Sequence[int]] | None = None
    model_labels: list[str] | None = None

    @classmethod
    def load(cls, arguments: ClassificationArguments) -> "Classification":
        """The data set that the arguments ask for; the errors of the builders and of `make_task` come through."""
        if arguments.dataset == "custom" and arguments.train_file is None and arguments.data_dir is None:
            raise ValueError("dataset=custom without data: give --train_file, a csv or jsonl file, or --data_dir")
        held_out = {"validation_fraction": arguments.validation_fraction, "validation_seed": arguments.validation_seed}
        data = load_absa_dataset(
            arguments.dataset,
            arguments.data_config,
            data_dir=arguments.data_dir,
            data_files=arguments.files,
            deduplicate=arguments.deduplicate,
            absent_label=arguments.absent_label,
            version=arguments.data_version,
            dev_split=arguments.dev_split,
            dev_seed=arguments.dev_seed,
            labels=arguments.labels,
            **held_out if arguments.dataset == "semeval2014" else {},  # whose sentences have a seeded choice of ids
        )
        check_columns(data, arguments, "label")
        metric = metric_of(arguments.dataset, arguments.metric, arguments.unseen_aspects)
        task = make_task(data, metric, **held_out, none_label=arguments.absent_label or "none")
        task = task.without_aspects(arguments.unseen_aspects) if arguments.unseen_aspects else task
        return task.with_absent_terms(arguments.absent_terms) if arguments.absent_terms else task

    def without_aspects(self, unseen: Sequence[str]) -> "Classification":
        """This, but for the rows of some aspects in all splits other than test; where targets are words of the texts,
        but for those of targets in which a word begins with the name of an aspect.

        Raises:
            ValueError: if one is no aspect of the data, or said by no target, or no aspect is left.
        """
        if self.contexts is None:
            named = [re.compile(rf"\b{re.escape(written_aspect(aspect))}", re.IGNORECASE) for aspect in unseen]
            said = [any(map(pattern.search, self.splits["train"]["target"])) for pattern in named]
            if not all(said):
                raise ValueError(
                    f"unseen_aspects={unseen[said.index(False)]}: no target in training says it; leave it out"
                )
            return self._without(lambda rows: (any(one.search(target) for one in named) for target in rows["target"]))
        known = self.contexts.aspects
        if wrong := [aspect for aspect in unseen if aspect not in known]:
            raise ValueError(f"unseen_aspects={wrong[0]}: give some of {', '.join(known)}")
        if not set(known) - set(unseen):
            raise ValueError(f"unseen_aspects={' '.join(unseen)} are all: leave some to learn from")
        contexts = replace(self.contexts, aspects=tuple(aspect for aspect in known if aspect not in unseen))
        return replace(self._without(lambda rows: (aspect in unseen for aspect in rows["aspect"])), contexts=contexts)

    def _without(self, are_unseen: Callable[[Rows], Iterable[bool]]) -> "Classification":
        splits = dict(self.splits)
        for name in splits.keys() - {"test"}:
            kept = [number for number, is_unseen in enumerate(are_unseen(splits[name])) if not is_unseen]
            splits[name] = choose(splits[name], kept)
        return replace(self, splits=splits)

    def with_absent_terms(self, number: int) -> "Classification":
        """This with rows about terms of other texts, in all splits, see `with_absent_terms`.

        Raises:
            ValueError: if targets are no words of the texts, or the number is negative.
        """
        if number < 0:
            raise ValueError(f"absent_terms={number}: give a number of terms, 0 for none")
        if self.contexts is not None:
            raise ValueError(f"absent_terms={number} is for data whose targets are words of its texts: leave it out")
        none_label = self.none_label or "none"
        splits = {name: with_absent_terms(rows, number, none_label) for name, rows in self.splits.items()}
        label_names = list(dict.fromkeys([none_label, *self.label_names]))
        scorer = partial(absa_scores, label_names=label_names, none_label=none_label, by_aspect=False)
        return replace(self, splits=splits, label_names=label_names, none_label=none_label, scorer=scorer)

    def with_joined_texts(self, share: float, may_exchange: bool) -> "Classification":
        """This with more training texts, of two each, whose targets may change names: see `with_joined_texts`."""
        targets = self.contexts.targets if may_exchange and self.contexts else ()
        train = with_joined_texts(self.splits["train"], share, self.none_label, targets)
        return replace(self, splits={**self.splits, "train": train})

    def overview(self) -> str:
        """How often each label stands in each split, how many rows and texts there are, and the targets and aspects.

        Of many labels those in the middle are left out: misspelt ones are rare, and stand last.
        """
        counts = pd.DataFrame(
            {name: Counter(rows["label"]) for name, rows in self.splits.items()}, index=self.label_names
        ).fillna(0)
        totals = pd.DataFrame(
            {name: {"rows": len(rows["text"]), "texts": len(set(rows["text"]))} for name, rows in self.splits.items()}
        )
        table = pd.concat([counts.sort_values("train", ascending=False, kind="stable"), totals]).astype(int)
        if self.contexts is None:
            return f"{table.to_string(max_rows=MOST_LABELS)}\ntargets are words of the texts"
        targets = shorten(", ".join(self.contexts.targets) or "none", MOST_NAMES)
        aspects = shorten(", ".join(self.contexts.aspects), MOST_NAMES)
        pairs = f"{len(self.contexts)} pairs of target and aspect; targets: {targets}; aspects: {aspects}"
        return f"{table.to_string(max_rows=MOST_LABELS)}\n{pairs}"

    def parts(
        self, arguments: ClassificationArguments, model_class: type[PreTrainedModel]
    ) -> dict[str, "Classification"]:
        """One model, or of a model that is told its context in no way (BERT-single) one for each context.

        Raises:
            ValueError: if the model cannot take contexts together or exchange targets, or there is no row to train
                such a model on, or to choose its checkpoint by.
        """
        takes_context = takes(model_class, "context_ids")
        if arguments.contexts_together and not takes_context:
            raise ValueError(
                f"contexts_together=true with {model_class.__name__}, which takes no context_ids: leave it out, or "
                "choose a model_type with contexts"
            )
        in_words = takes_context and arguments.context_source == "text"
        if arguments.symmetric_targets and arguments.context_source == "text" and not takes_context:
            raise ValueError(
                f"symmetric_targets=true with context_source=text and {model_class.__name__}, which is asked any "
                "words as they stand: leave one out"
            )
        if self.contexts is None and not in_words and (takes_context or not arguments.auxiliary_sentence):
            raise ValueError(
                f"targets of {arguments.dataset} are words of the texts, which a model reads as auxiliary sentences: "
                "give --auxiliary_sentence true and a model_type that takes no context_ids, such as bert, or give "
                "--context_source text"
            )
        if arguments.auxiliary_sentence or takes_context:
            return {"": self}
        return {"-".join(filter(None, pair)): self._part(*pair) for pair in self.contexts}

    def _part(self, target: str, aspect: str) -> "Classification":
        numbers = {}
        for name, rows in self.splits.items():
            pairs = zip(rows["target"], rows["aspect"], strict=True)
            numbers[name] = [number for number, pair in enumerate(pairs) if pair == (target, aspect)]
            if not numbers[name] and name != "test":
                raise ValueError(
                    f"{name} has no row of target {target!r} and aspect {aspect!r}: BERT-single trains one model a "
                    "context; add rows (--absent_label makes them) or give --auxiliary_sentence true"
                )
        return replace(
            self,
            splits={name: choose(rows, numbers[name]) for name, rows in self.splits.items()},
            contexts=Contexts((target,) if target else (), (aspect,)),
            scorer=partial(accuracy, self.label_names),
            main_scores=["accuracy"],
            select_by="accuracy",
            numbers=numbers,
        )

    def described(self, arguments: ClassificationArguments) -> dict[str, Any]:
        return describe(
            self.contexts,
            self.label_names,
            auxiliary_sentence=arguments.auxiliary_sentence,
            symmetric_targets=bool(arguments.symmetric_targets),
            none_label=self.none_label,
            context_source=arguments.context_source,
        )

    @staticmethod
    def on_card(config: PreTrainedConfig) -> dict[str, Any]:
        example = "The food was great, but we waited an hour for it."
        if getattr(config, "targets", None):
            example = f"{config.targets[0]} is expensive, but I always felt safe there."
        tags = ["aspect-based-sentiment-analysis", "sentiment-analysis"]
        about = {"example": example, "task_name": "Aspect-based sentiment analysis", "tags": tags}
        return (
            about if getattr(config, "aspects", None) else {**about, "question": {"text": example, "target": "food"}}
        )

    def words(self) -> Words:
        rows = self.splits["train"]
        contexts = self.contexts or contexts_of(rows)
        questions = (contexts.auxiliary_sentence(*pair) for pair in contexts)
        return english_words([*map(written_text, dict.fromkeys(rows["text"])), *questions])

    def entries(
        self,
        split: str,
        arguments: ClassificationArguments,
        tokenizer: PreTrainedTokenizerBase,
        config: PreTrainedConfig,
    ) -> Entries:
        """A split as the model of this configuration reads it, without padding; but for training the longest first.

        With `contexts_together` an entry is a text, whose `context_ids` and `labels` are lists; else it is a row. A
        model that reads its contexts in words has their tokens, `context_input_ids`, in place of ids.
        """
        rows = self.splits[split]
        labels = self.gold(split, self.model_labels)
        max_length = tokenizer.model_max_length
        try:
            features, rows_of = encode_split(
                tokenizer, config, rows, self.contexts is None, arguments.contexts_together, max_length
            )
        except ValueError as error:
            raise ValueError(f"{split} split: {error}") from error
        if arguments.contexts_together:
            labels = [[labels[number] for number in own] for own in rows_of]
        num_truncated = sum(read is not None for read in features.pop("read"))
        if num_truncated:
            logger.warning("%s: the ends of %d rows are cut at %d tokens", split, num_truncated, max_length)
        dataset = Dataset.from_dict({**features, "labels": labels})
        if split == "train":
            return Entries(dataset, rows_of)
        # The rows of a batch need little padding in this order.
        order = np.argsort([-len(ids) for ids in dataset["input_ids"]], kind="stable")
        return Entries(dataset.select(order), [rows_of[entry] for entry in order])

    def of_model(self, labels: list[str]) -> "Classification":
        """The task for a model that has these labels, and perhaps others than the data."""
        return replace(self, model_labels=labels)

    def gold(self, split: str, label_names: list[str] | None = None) -> list[int]:
        """Class numbers of the labels of a split: the data's, or among others."""
        return [(label_names or self.label_names).index(label) for label in self.splits[split]["label"]]

    def trainer_options(self, arguments: ClassificationArguments, tokenizer, training_arguments) -> dict[str, Any]:
        collator = CollatorOfTexts if arguments.contexts_together else DataCollatorWithPadding
        collator = CollatorOfContexts if arguments.context_source == "text" else collator
        options = {
            "data_collator": collator(tokenizer, pad_to_multiple_of=8 if training_arguments.bf16 else None),
            "balance_labels": arguments.class_balanced_sampling,
        }
        if arguments.class_weighted_loss:
            if training_arguments.r_drop:
                raise ValueError("r_drop=true with class_weighted_loss=true: each is a loss of its own; leave one out")
            smoothing = training_arguments.label_smoothing_factor
            options["compute_loss_func"] = balanced_loss(
                self.gold("train", self.model_labels), len(self.model_labels or self.label_names), smoothing
            )
        return options

    def answers(self, split: str, entries: Entries, predictions: np.ndarray) -> np.ndarray:
        """Logits (rows, labels) from those of entries, (entries, labels) or (entries, most contexts, labels)."""
        if self.model_labels is not None:
            predictions = predictions[..., [self.model_labels.index(name) for name in self.label_names]]
        return by_row(entries.rows_of, predictions)

    def score(self, split: str, answers: np.ndarray, bootstrap: int = 0) -> dict[str, float]:
        """Scores of logits (rows, labels), with 95 % intervals from so many resamples."""
        rows = self.splits[split]
        ids, targets, aspects = (rows[name] for name in KEY_FIELDS)
        if PLACES[0] in rows:
            targets = with_places(ids, targets, aspects, rows[PLACES[0]])
        columns = (ids, targets, aspects, rows["label"])
        return self.scorer(*columns, softmax(answers, axis=-1), bootstrap=bootstrap)

    def calibrate(self, answers: np.ndarray) -> dict[str, float]:
        """The temperature that calibrates the model on the validation split, 1 if none helps."""
        return {"calibration_temperature": helpful_temperature(answers, self.gold("validation"))}

    def calibrate_unknown(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        return calibrate_likeness(model, tokenizer, [self])

    def results(
        self,
        folder: Path,
        parts: Sequence[tuple["Classification", Mapping[str, np.ndarray], Mapping[str, float]]],
    ) -> dict:
        results = {"calibration": {}}
        for split, rows in self.splits.items():
            if split == "train":
                continue
            logits, calibrated = (np.full((len(rows["id"]), len(self.label_names)), np.nan) for _ in range(2))
            for part, answers, calibration in parts:
                own = slice(None) if part is self else part.numbers[split]
                logits[own] = answers[split]
                calibrated[own] = answers[split] / calibration["calibration_temperature"]
            labels = self.gold(split)
            results[split] = self.score(split, logits, BOOTSTRAP)
            results["calibration"][split] = {
                "before": calibration_errors(logits, labels, self.label_names, self.none_label),
                "after": calibration_errors(calibrated, labels, self.label_names, self.none_label),
            }
            if PartialState().is_main_process:
                warn_of_one_answer(split, logits.argmax(-1), labels, self.label_names)
                self.write_answers(folder, split, logits)
        return results

    def write_answers(self, folder: Path, split: str, answers: np.ndarray):
        """SPLIT_probabilities.parquet, a line a row, from logits (rows, labels)."""
        file = folder / f"{split}_probabilities.parquet"
        write_probabilities(file, self.splits[split], softmax(answers, axis=-1), self.label_names)


def make_task(
    data: DatasetDict, metric: str, validation_fraction: float, validation_seed: int, none_label: str = "none"
) -> Classification:
    """A task from a data set with the columns of `COLUMNS`.

    Args:
        data: its splits; without one named validation, a part of the training texts is held out.
        metric: "sentihood", "semeval2014", "aspect_polarity" or "absa".
        validation_fraction, validation_seed: which part that is.
        none_label: the label of a text that does not speak of the aspect, if the data has it.
    Raises:
        ValueError: if there is no training split, nothing can be held out or the labels are not the metric's.
    """
    check_train(data)
    splits = {name: as_strings(split) for name, split in data.items()}
    if "validation" not in splits:
        splits["train"], splits["validation"] = hold_out_texts(splits["train"], validation_fraction, validation_seed)
    label_names = names_of(data["train"], "label")
    targets = [name for name in names_of(data["train"], "target") if name]
    contexts = Contexts(tuple(targets), tuple(names_of(data["train"], "aspect")))
    if any(start is not None for start in splits["train"].get(PLACES[0], ())):
        contexts = None
    if metric == "absa":
        none_label = none_label if none_label in label_names else None
        scorer = partial(absa_scores, label_names=label_names, none_label=none_label)
    elif metric == "aspect_polarity":
        none_label, scorer = None, partial(aspect_polarity_scores, label_names=label_names)
    else:
        expected, scorer = LABELS_AND_SCORERS[metric]
        if label_names != expected:
            raise ValueError(
                f"metric={metric} scores the labels {expected}, the data has {label_names}: use metric=absa"
            )
    return Classification(splits, contexts, label_names, none_label, scorer, MAIN_SCORES[metric], SELECT_BY[metric])
