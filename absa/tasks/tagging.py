"""Tagging of words: aspect terms with their sentiment (E2E-ABSA), named entities, parts of speech."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import torch
from accelerate import PartialState
from datasets import Dataset, DatasetDict
from scipy.special import log_softmax, softmax
from tokenizers import Regex
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split
from transformers import (
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from absa.calibration import calibration_errors, helpful_temperature
from absa.metrics.e2e_absa import e2e_absa_scores
from absa.metrics.tagging import tagging_scores
from absa.models import takes
from absa.tasks.arguments import TaggingArguments
from absa.tasks.base import BOOTSTRAP, Entries, Rows, Task
from absa.tasks.collating import NO_LABEL, CollatorOfWords
from absa.tasks.rows import check_columns, check_train, hold_out_texts
from absa.word_vectors import Words
from datasets_scripts import load_absa_dataset
from modeling_global_context import check_well_formed, encode_words, scheme_of, spans_of
from modeling_global_context.crf_global_context import Chain, viterbi
from modeling_global_context.pipeline_global_context import WORDS
from modeling_global_context.tags_global_context import OUTSIDE, split_tag, well_formed_transitions

logger = logging.getLogger(__name__)

MOST_TYPES = 24  # lines that are shown of a data set
MAIN_SCORES = {
    "e2e_absa": ["micro_f1", "precision", "recall", "strict_micro_f1", "aspect_f1", "sentiment_accuracy"],
    "spans": ["f1", "precision", "recall", "strict_f1"],
    "plain": ["accuracy", "unseen_accuracy"],
}


class TagAnswers(NamedTuple):
    """What a tagger answers to the words of a split, sentence by sentence."""

    logits: np.ndarray
    """(words, labels); with a CRF log marginals"""
    tags: np.ndarray
    """numbers of the labels, (words,): each word's most probable, or with a CRF those of the most probable sequence"""
    are_a_sequence: bool
    """whether they are the latter"""
    are_read: np.ndarray
    """which words a token stands for that was not cut, (words,); the others are outside of all spans"""


@dataclass(frozen=True)
class Tagging(Task):
    """Sentences of (id, text, tokens, tags) in splits, and how predicted tags are scored.

    Args:
        splits: for "train", "validation" and "test" (where there are such) the four columns; tags by their names.
        label_names: in the order of the label ids.
        metric: "e2e_absa", "spans" or "plain", a key of `MAIN_SCORES`.
        word_splitting: how the pipeline finds words such as those of the data, see `GlobalContextConfig`.
    """

    splits: Mapping[str, Rows]
    label_names: list[str]
    metric: str
    word_splitting: str = "english"

    auto_class: ClassVar[type] = TaggingArguments.auto_class
    hub_task: ClassVar[str] = "token-classification"

    @classmethod
    def load(cls, arguments: TaggingArguments) -> "Tagging":
        """The data set that the arguments ask for; the errors of the builders come through."""
        data = load_absa_dataset(arguments.dataset, **arguments.builder_options)
        check_columns(data, arguments, "tags")
        splitting = "characters" if arguments.data_config == "weibo" else "english"
        return cls.of(data, arguments.dataset, arguments.validation_fraction, arguments.validation_seed, splitting)

    @classmethod
    def of(
        cls,
        data: DatasetDict,
        dataset: str,
        validation_fraction: float,
        validation_seed: int,
        word_splitting: str = "english",
    ) -> "Tagging":
        """A task from a data set with the columns id, text, tokens and tags.

        Args:
            data: its splits; without one named validation, a part of the training sentences is held out.
            dataset: its name, by which e2e_absa has a metric of its own.
            validation_fraction, validation_seed: which part that is.
            word_splitting: see above.
        """
        check_train(data)
        label_names = data["train"].features["tags"].feature.names
        splits = {}
        for name, split in data.items():
            rows = {column: list(split[column]) for column in ("id", "text", "tokens", "tags")}
            rows["tags"] = [[label_names[tag] for tag in tags] for tags in rows["tags"]]
            splits[name] = rows
        if "validation" not in splits:
            splits["train"], splits["validation"] = hold_out_texts(
                splits["train"], validation_fraction, validation_seed
            )
        metric = "plain" if scheme_of(label_names) == "plain" else "spans"
        return cls(splits, label_names, "e2e_absa" if dataset == "e2e_absa" else metric, word_splitting)

    @property
    def scheme(self) -> str:
        return scheme_of(self.label_names)

    @property
    def main_scores(self) -> list[str]:
        return MAIN_SCORES[self.metric]

    @property
    def select_by(self) -> str:
        return self.main_scores[0]

    def overview(self) -> str:
        """How often each type of spans, or each tag, stands in each split, and how many words and sentences it has."""
        counts = {}
        for name, rows in self.splits.items():
            if self.scheme == "plain":
                counts[name] = Counter(tag for tags in rows["tags"] for tag in tags)
            else:
                counts[name] = Counter(type_ for tags in rows["tags"] for *_, type_ in spans_of(tags, self.scheme))
        types = list(dict.fromkeys(type_ for of_split in counts.values() for type_ in of_split))
        totals = {
            name: {"words": sum(map(len, rows["tokens"])), "sentences": len(rows["tokens"])}
            for name, rows in self.splits.items()
        }
        by_type = pd.DataFrame(counts, index=types).fillna(0).sort_values("train", ascending=False, kind="stable")
        table = pd.concat([by_type, pd.DataFrame(totals)]).astype(int)
        return f"{table.to_string(max_rows=MOST_TYPES)}\n{len(self.label_names)} labels, {self.scheme}"

    def parts(self, arguments: TaggingArguments, model_class: type[PreTrainedModel]) -> dict[str, "Tagging"]:
        if not takes(model_class, "word_mask"):
            raise ValueError(
                f"task=tagging with {model_class.__name__}, which takes no word_mask: give a model_type whose models "
                "are taggers of words; plain BERT is --model_type global_context --config_overrides "
                "use_bilstm=false,interaction=none"
            )
        return {"": self}

    def with_labels(self, label_names: list[str]) -> "Tagging":
        # Data sets number the same types in several orders.
        same = sorted(label_names) == sorted(self.label_names)
        return replace(self, label_names=label_names) if same else self

    def described(self, arguments: TaggingArguments) -> dict[str, Any]:
        return {
            "id2label": dict(enumerate(self.label_names)),
            "label2id": {name: number for number, name in enumerate(self.label_names)},
            "word_splitting": self.word_splitting,
        }

    @staticmethod
    def on_card(config: PreTrainedConfig) -> dict[str, Any]:
        """Also `finds`, "terms", "spans" or "tags", and `types`, of the spans as the pipeline calls them."""
        types = list(dict.fromkeys(split_tag(label)[1] for label in config.labels if label != OUTSIDE))
        about = {
            "example": "Alice flew from London to Berlin.",
            "task_name": "Tagging of words",
            "tags": [],
            "finds": "tags" if config.tag_scheme == "plain" else "spans",
            "types": [config.polarities.get(type_, type_) for type_ in types],
        }
        if config.tag_scheme != "plain" and set(types) <= config.polarities.keys():
            about["example"] = "The battery life is great, but the keyboard is not."
            about["task_name"] = "End-to-end aspect-based sentiment analysis"
            about["tags"] = ["aspect-based-sentiment-analysis", "sentiment-analysis", "aspect-term-extraction"]
            about["finds"] = "terms"
        return about

    def words(self) -> Words:
        """The data's words in lower case. A raw text is cut as the family's pipeline cuts it; so is, into several
        tokens, a word of the data that the pipeline would not leave whole."""
        pattern = Regex(f"(?i){WORDS[self.word_splitting].pattern}")
        texts = (word for tokens in self.splits["train"]["tokens"] for word in tokens)
        return Words(texts, Lowercase(), Split(pattern, behavior="removed", invert=True))

    def entries(
        self, split: str, arguments: TaggingArguments, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
    ) -> Entries:
        """A split as the model reads it, without padding; but for training the longest sentences first.

        The rows are words. A word's label stands at its first token. With `crf_constraints` a span that loses words,
        which were cut or have no token, has no labels: what is left of its tags would be impossible.

        Raises:
            ValueError: with `crf_constraints` for tags that are not well-formed.
        """
        rows = self.splits[split]
        number_of = {name: number for number, name in enumerate(self.label_names)}
        is_constrained = getattr(config, "crf_constraints", False)
        encoded, rows_of, words_before, num_truncated = [], [], 0, 0
        for id_, tokens, tags in zip(rows["id"], rows["tokens"], rows["tags"], strict=True):
            entry = encode_words(tokenizer, tokens, tokenizer.model_max_length)
            numbers = entry.pop("word_numbers")
            num_truncated += entry.pop("truncated")
            labelled = numbers
            if is_constrained:
                labelled = self._in_whole_spans(f"{split}, sentence {id_}", tags, numbers)
            labels = iter(number_of[tags[number]] if number in labelled else NO_LABEL for number in numbers)
            entry["labels"] = [next(labels) if is_first else NO_LABEL for is_first in entry["word_mask"]]
            if numbers:  # else there is nothing to read
                encoded.append(entry)
                rows_of.append([words_before + number for number in numbers])
            words_before += len(tokens)
        if num_truncated:
            longest = tokenizer.model_max_length
            logger.warning("%s: the ends of %d sentences are cut at %d tokens", split, num_truncated, longest)
        if split != "train":
            # The rows of a batch need little padding in this order.
            order = np.argsort([-len(entry["input_ids"]) for entry in encoded], kind="stable")
            encoded, rows_of = [encoded[entry] for entry in order], [rows_of[entry] for entry in order]
        return Entries(Dataset.from_list(encoded), rows_of)

    def _in_whole_spans(self, place: str, tags: Sequence[str], numbers: Sequence[int]) -> set[int]:
        """Of the words that the model reads those whose span it reads whole, and those outside of all spans.

        Args:
            place: of the sentence, for the error.
        """
        try:
            check_well_formed(tags, self.label_names)
        except ValueError as error:
            raise ValueError(f"{place}: {error}; correct the tag, or leave out crf_constraints") from error
        read = set(numbers)
        for start, end, _ in spans_of(tags, self.scheme):
            if not read.issuperset(range(start, end)):
                read.difference_update(range(start, end))
        return read

    def trainer_options(self, arguments: TaggingArguments, tokenizer, training_arguments) -> dict[str, Any]:
        if training_arguments.r_drop:
            raise ValueError("r_drop=true is not for task=tagging: leave it out")
        return {"data_collator": CollatorOfWords(tokenizer)}

    def answers(
        self, split: str, entries: Entries, predictions: np.ndarray | tuple[np.ndarray, np.ndarray]
    ) -> TagAnswers:
        """From the logits of entries, (entries, tokens, labels), and with a CRF their labels, (entries, tokens)."""
        logits, sequences = predictions if isinstance(predictions, tuple) else (predictions, None)
        num_words = sum(map(len, self.splits[split]["tokens"]))
        outside = self.label_names.index(OUTSIDE) if OUTSIDE in self.label_names else 0
        of_words = np.zeros((num_words, logits.shape[-1]))
        tags, are_read = np.full(num_words, outside), np.zeros(num_words, bool)
        for number, (own, word_mask) in enumerate(zip(entries.rows_of, entries.dataset["word_mask"], strict=True)):
            at_words = np.flatnonzero(word_mask)
            of_words[own] = logits[number, at_words]
            tags[own] = of_words[own].argmax(-1) if sequences is None else sequences[number, at_words]
            are_read[own] = True
        return TagAnswers(of_words, tags, sequences is not None, are_read)

    def score(self, split: str, answers: TagAnswers, bootstrap: int = 0) -> dict[str, float]:
        """Scores of the tags. Of a model without a CRF `constrained_<main score>` is that of the most probable
        well-formed tags; the other scores are of each word's own most probable tag."""
        scores = self._score(split, self._of_sentences(split, answers.tags), bootstrap)
        if self.scheme != "plain" and not answers.are_a_sequence:
            name = self.main_scores[0]
            constrained = self._score(split, self._of_sentences(split, self._well_formed(split, answers)))
            scores[f"constrained_{name}"] = constrained[name]
        return scores

    def _score(self, split: str, predicted: list[list[str]], bootstrap: int = 0) -> dict[str, float]:
        rows = self.splits[split]
        if self.metric == "e2e_absa":
            return e2e_absa_scores(rows["tags"], predicted, scheme=self.scheme, bootstrap=bootstrap)
        train_words = {word for tokens in self.splits["train"]["tokens"] for word in tokens}
        options = {"words": rows["tokens"], "train_words": train_words}
        return tagging_scores(rows["tags"], predicted, scheme=self.scheme, bootstrap=bootstrap, **options)

    def _by_sentence(self, split: str, of_words: np.ndarray) -> list[np.ndarray]:
        lengths = [len(tokens) for tokens in self.splits[split]["tokens"]]
        return np.split(of_words, np.cumsum(lengths)[:-1])

    def _of_sentences(self, split: str, tags: np.ndarray) -> list[list[str]]:
        return [[self.label_names[tag] for tag in sentence] for sentence in self._by_sentence(split, tags)]

    def _well_formed(self, split: str, answers: TagAnswers) -> np.ndarray:
        """The most probable well-formed tags of each sentence, (words,)."""
        lengths = torch.tensor([len(tokens) for tokens in self.splits[split]["tokens"]])
        words = torch.arange(int(lengths.max())) < lengths[:, None]  # (sentences, most words)
        scores = torch.zeros(*words.shape, len(self.label_names), dtype=torch.float64)
        scores[words] = torch.from_numpy(log_softmax(answers.logits, axis=-1))
        chain = Chain.without_scores(scores).constrained(well_formed_transitions(self.label_names))
        return viterbi(scores, lengths, chain)[words].numpy()

    def calibrate(self, answers: TagAnswers) -> dict[str, float]:
        """The temperature that calibrates the words' tags on the validation split, 1 if none helps."""
        return {"calibration_temperature": helpful_temperature(*self._read("validation", answers))}

    def _read(self, split: str, answers: TagAnswers) -> tuple[np.ndarray, np.ndarray]:
        """Logits and gold labels of the words that the model has read."""
        gold = np.array([self.label_names.index(tag) for tags in self.splits[split]["tags"] for tag in tags])
        return answers.logits[answers.are_read], gold[answers.are_read]

    def results(
        self, folder: Path, parts: Sequence[tuple["Tagging", Mapping[str, TagAnswers], Mapping[str, float]]]
    ) -> dict:
        ((_, answers, calibration),) = parts
        results = {"calibration": {}}
        for split, of_split in answers.items():
            results[split] = self.score(split, of_split, BOOTSTRAP)
            logits, labels = self._read(split, of_split)
            temperatures = {"before": 1.0, "after": calibration["calibration_temperature"]}
            results["calibration"][split] = {
                when: calibration_errors(logits / temperature, labels, self.label_names, None)
                for when, temperature in temperatures.items()
            }
            if PartialState().is_main_process:
                self.write_answers(folder, split, of_split)
        return results

    def write_answers(self, folder: Path, split: str, answers: TagAnswers):
        """SPLIT_tags.parquet, a line a sentence: id, tokens, the gold tags, the predicted ones and the probability of
        each predicted tag."""
        rows = self.splits[split]
        probabilities = softmax(answers.logits, axis=-1)[np.arange(len(answers.tags)), answers.tags]
        columns = {name: rows[name] for name in ("id", "tokens", "tags")} | {
            "predicted": self._of_sentences(split, answers.tags),
            "probabilities": self._by_sentence(split, probabilities),
        }
        pd.DataFrame(columns).to_parquet(folder / f"{split}_tags.parquet", index=False)
