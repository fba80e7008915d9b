"""Generation of tuples: targets, opinions and labels of a text, by the seven subtasks of Yan et al. (ACL 2021)."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from accelerate import PartialState
from datasets import Dataset, DatasetDict
from scipy.special import logsumexp
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from absa.calibration import expected_calibration_error, helpful_temperature_of_events
from absa.metrics.alsc import alsc_scores
from absa.metrics.jaccard import jaccard_scores
from absa.metrics.tuple_f1 import tuple_f1_scores
from absa.tasks.arguments import GenerationArguments
from absa.tasks.base import BOOTSTRAP, Entries, Rows, Task
from absa.tasks.collating import CollatorOfSequences
from absa.tasks.rows import check_columns, check_train, hold_out_texts
from absa.tasks.sequences import Sequences, sequences_of
from absa.word_vectors import Words
from datasets_scripts import load_absa_dataset
from datasets_scripts.subtasks import SPANS, SUBTASKS, sentences_of, subtask_rows
from datasets_scripts.tuples import tuples_from_tags
from modeling_generative_absa import TASKS, WordTuple
from modeling_generative_absa.text_generative_absa import FIELDS, PROMPTS

logger = logging.getLogger(__name__)

OF_TUPLES = ["f1", "precision", "recall"]
MAIN_SCORES = {
    "ate": OF_TUPLES,
    "ote": OF_TUPLES,
    "alsc": ["accuracy", "macro_f1", "mixed_accuracy"],
    "aoe": OF_TUPLES,
    "aesc": [*OF_TUPLES, "ate_f1"],
    "aope": [*OF_TUPLES, "ate_f1", "ote_f1"],
    "aste": [*OF_TUPLES, "aope_f1", "aesc_f1", "ate_f1", "ote_f1"],
}
TUPLE = pa.struct([*((span, pa.list_(pa.int32())) for span in SPANS), ("label", pa.string())])


class GenerationAnswers(NamedTuple):
    """What a model has answered to the rows of a split."""

    tuples: list[list[dict[str, Any]]]
    """of each row, in the order of generation, with the fields of its subtask"""
    are_invalid: list[bool]
    """of each row, whether some of the sequence was no tuple, and was left out"""
    log_probabilities: np.ndarray
    """(steps, V), of all that could stand at each step of each tuple; very low where it was illegal"""
    chosen: np.ndarray
    """(steps,), the number of what was generated among these"""
    tuple_of: np.ndarray
    """(steps,), the number of the tuple, over all rows"""

    def scores(self, temperatures: float | np.ndarray) -> np.ndarray:
        """The probability of each tuple, (tuples,), at one temperature or one for each tuple."""
        temperatures = np.broadcast_to(temperatures, sum(map(len, self.tuples)))
        scaled = self.log_probabilities / temperatures[self.tuple_of, None]
        chosen = scaled[np.arange(len(scaled)), self.chosen] - logsumexp(scaled, axis=-1)
        return np.exp(np.bincount(self.tuple_of, weights=chosen, minlength=len(temperatures)))


@dataclass(frozen=True)
class GenerationEntries(Entries):
    """Entries, and how they are written."""

    sequences: Sequences


@dataclass(frozen=True)
class Generation(Task):
    """Rows of (id, text, words, tuples), one subtask or several, and how generated tuples are scored.

    Args:
        splits: for "train", "validation" and "test" (where there are such) the columns id, text, words, subtask,
            tuples, and target, which is given (None where it is to be found).
        subtasks: what is learnt; the first one chooses the checkpoint.
        label_names: in the order of the label ids.
    """

    splits: Mapping[str, Rows]
    subtasks: tuple[str, ...]
    label_names: list[str]

    auto_class: ClassVar[type] = GenerationArguments.auto_class
    hub_task: ClassVar[str] = "text2text-generation"
    generates: ClassVar[bool] = True

    @classmethod
    def load(cls, arguments: GenerationArguments) -> "Generation":
        """The data set that the arguments ask for; the errors of the builders come through."""
        data = load_absa_dataset(arguments.dataset, **arguments.builder_options)
        if all("tags" in split.features for split in data.values()):
            data = tuples_from_tags(data)
        check_columns(data, arguments, "tuples")
        return cls.of(data, arguments.subtasks, arguments.validation_fraction, arguments.validation_seed)

    @classmethod
    def of(
        cls, data: DatasetDict, subtasks: Sequence[str], validation_fraction: float, validation_seed: int
    ) -> "Generation":
        """A task from a data set with the columns of a `TuplesBuilder`.

        Args:
            data: its splits; without one named validation, a part of the training sentences is held out.
            subtasks: those to learn, of `SUBTASKS`.
            validation_fraction, validation_seed: which part that is.
        """
        check_train(data)
        splits = {}
        for name, split in data.items():
            sentences = sentences_of(split)
            rows = [{**row, "subtask": one} for one in subtasks for row in subtask_rows(sentences, one)]
            splits[name] = {column: [row[column] for row in rows] for column in ("id", "text", "words", "subtask")}
            splits[name]["tuples"] = [row["tuples"] for row in rows]
            splits[name]["target"] = [row.get("target") for row in rows]
        if "validation" not in splits:
            splits["train"], splits["validation"] = hold_out_texts(
                splits["train"], validation_fraction, validation_seed
            )
        all_tuples = [one for rows in splits.values() for tuples in rows["tuples"] for one in tuples]
        found = {one.get("label") for one in all_tuples}
        feature = data["train"].features["tuples"].feature.get("label")
        return cls(splits, tuple(subtasks), [name for name in getattr(feature, "names", ()) if name in found])

    @property
    def main_scores(self) -> list[str]:
        return [self._named(self.subtasks[0], name) for name in MAIN_SCORES[self.subtasks[0]]]

    @property
    def select_by(self) -> str:
        return self.main_scores[0]

    def _named(self, subtask: str, score: str) -> str:
        """The name of a subtask's score."""
        return score if len(self.subtasks) == 1 else f"{subtask}/{score}"

    def overview(self) -> str:
        """How many rows, tuples and labels there are in each split, and how many rows without a tuple."""
        counts = {}
        for name, rows in self.splits.items():
            counts[name] = Counter(rows=len(rows["id"]), empty=sum(not tuples for tuples in rows["tuples"]))
            counts[name].update(tuples=sum(map(len, rows["tuples"])))
            counts[name].update(one["label"] for tuples in rows["tuples"] for one in tuples if "label" in one)
        kinds = ["rows", "empty", "tuples", *self.label_names]
        return f"{pd.DataFrame(counts, index=kinds).fillna(0).astype(int).to_string()}\n{', '.join(self.subtasks)}"

    def parts(self, arguments: GenerationArguments, model_class: type[PreTrainedModel]) -> dict[str, "Generation"]:
        return {"": self}

    def with_labels(self, label_names: list[str]) -> "Generation":
        same = sorted(label_names) == sorted(self.label_names)
        return replace(self, label_names=label_names) if same else self

    def described(self, arguments: GenerationArguments) -> dict[str, Any]:
        return {
            "tasks": list(self.subtasks),
            "id2label": dict(enumerate(self.label_names)),
            "label2id": {name: number for number, name in enumerate(self.label_names)},
        }

    @staticmethod
    def on_card(config: PreTrainedConfig) -> dict[str, Any]:
        """Also `finds`, in words, what each task finds; and of the first one `fields`, what an answer has, `prompt`,
        what a model of texts reads, and `written`, what it writes."""
        example = "The battery life is great, but the keyboard is not."
        about = {
            "example": example,
            "task_name": "Aspect-based sentiment analysis",
            "tags": ["aspect-based-sentiment-analysis", "sentiment-analysis", *config.tasks],
            "finds": {task: TASKS[task].words for task in config.tasks},
            "fields": list(TASKS[config.tasks[0]].fields),
            "prompt": PROMPTS[config.tasks[0]],
            "written": FIELDS.join(TASKS[config.tasks[0]].fields),
        }
        if TASKS[config.tasks[0]].is_given:
            about["question"] = {"text": example, "target_start": 4, "target_end": 16}
        return about

    def words(self) -> Words:
        raise ValueError("word_vectors with task=generation: its models have an encoder; leave word_vectors out")

    def entries(
        self, split: str, arguments: GenerationArguments, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig
    ) -> GenerationEntries:
        """A split as the model reads it, without padding; but for training the longest sentences first.

        Tuples that stand on words that are not read are not learnt, but counted in scores; so are rows whose given
        target is not read.

        Raises:
            ValueError: if the model was not trained for a subtask, or a sentence cannot be written.
        """
        if unknown := [one for one in self.subtasks if one not in config.tasks]:
            raise ValueError(f"subtasks={' '.join(unknown)}: this model was trained for {', '.join(config.tasks)}")
        rows, sequences = self.splits[split], sequences_of(config, tokenizer)
        encoded, rows_of, num_cut, num_lost = [], [], 0, 0
        for number, (words, subtask, given) in enumerate(
            zip(rows["words"], rows["subtask"], rows["target"], strict=True)
        ):
            entry = sequences.inputs(words, subtask, given)
            num_words = entry.pop("num_words")
            num_cut += 0 < num_words < len(words)
            # A word without a piece, such as a control character, cannot be pointed to.
            read = set(entry.get("word_ids", range(num_words)))
            if num_words == 0 or not are_read([given], read):
                num_lost += 1
                continue
            tuples = [WordTuple(**{"target": given, **one}) for one in rows["tuples"][number]]
            tuples = [one for one in tuples if are_read(one[:2], read)]
            try:
                entry |= sequences.targets(words, subtask, given, tuples)
            except ValueError as error:
                raise ValueError(f"{split}, sentence {rows['id'][number]}: {error}") from error
            encoded.append(entry)
            rows_of.append([number])
        if num_cut or num_lost:
            cut_at = f"{tokenizer.model_max_length} tokens"
            cut_at += f" or {config.max_words} words" if hasattr(config, "max_words") else ""
            told = "%s: the ends of %d sentences are cut at %s; %d rows cannot be answered"
            logger.warning(told, split, num_cut, cut_at, num_lost)
        if split != "train":
            order = np.argsort([-len(entry["input_ids"]) for entry in encoded], kind="stable")
            encoded, rows_of = [encoded[entry] for entry in order], [rows_of[entry] for entry in order]
        return GenerationEntries(Dataset.from_list(encoded), rows_of, sequences)

    def trainer_options(self, arguments: GenerationArguments, tokenizer, training_arguments) -> dict[str, Any]:
        if smoothing := training_arguments.label_smoothing_factor:
            raise ValueError(f"label_smoothing_factor={smoothing} is not for task=generation: leave it out")
        return {"data_collator": CollatorOfSequences(tokenizer), "sequences_of": sequences_of}

    def answers(
        self, split: str, entries: GenerationEntries, predictions: tuple[np.ndarray, np.ndarray]
    ) -> GenerationAnswers:
        """From the sequences of entries, (entries, T), and their log-probabilities, (entries, T, V)."""
        rows = self.splits[split]
        tuples, are_invalid = [[] for _ in rows["id"]], [False] * len(rows["id"])
        steps_of = [[] for _ in rows["id"]]  # of each tuple: log-probabilities and what was chosen
        for (row,), entry, *predicted in zip(entries.rows_of, entries.dataset, *predictions, strict=True):
            subtask = rows["subtask"][row]
            found = entries.sequences.read(entry, subtask, rows["target"][row], *predicted)
            fields = SUBTASKS[subtask].found
            tuples[row] = [{field: getattr(one, field) for field in fields} for one in found.tuples]
            are_invalid[row], steps_of[row] = found.is_invalid, found.steps
        steps = [of_tuple for of_row in steps_of for of_tuple in of_row]
        return GenerationAnswers(
            tuples,
            are_invalid,
            np.concatenate([np.empty((0, predictions[1].shape[-1])), *(of_steps for of_steps, _ in steps)]),
            np.concatenate([np.empty(0, int), *(chosen for _, chosen in steps)]),
            np.repeat(np.arange(len(steps)), [len(chosen) for _, chosen in steps]),
        )

    def score(self, split: str, answers: GenerationAnswers, bootstrap: int = 0) -> dict[str, float]:
        """Scores of the tuples of each subtask, whose names begin with it where there are several."""
        rows, scores = self.splits[split], {}
        for subtask in self.subtasks:
            own = [number for number, one in enumerate(rows["subtask"]) if one == subtask]
            gold, found = ([column[number] for number in own] for column in (rows["tuples"], answers.tuples))
            if subtask == "alsc":
                asked = [(rows["id"][number], rows["target"][number]) for number in own]
                sides = (of_targets(asked, side) for side in (gold, found))
                of_subtask = alsc_scores(*sides, label_names=self.label_names, bootstrap=bootstrap)
            else:
                fields = SUBTASKS[subtask].found
                options = {"ids": [rows["id"][number] for number in own], "bootstrap": bootstrap}
                invalid = [answers.are_invalid[number] for number in own]
                of_subtask = tuple_f1_scores(gold, found, fields=fields, invalid=invalid, **options)
                spans = [field for field in fields if field in SPANS]
                of_subtask |= jaccard_scores(gold, found, fields=spans, **options)
            scores |= {self._named(subtask, name): score for name, score in of_subtask.items()}
        return scores

    def are_right(self, split: str, answers: GenerationAnswers) -> np.ndarray:
        """Of each generated tuple whether it is one of the gold ones, (tuples,)."""
        pairs = zip(self.splits[split]["tuples"], answers.tuples, strict=True)
        return np.array([one in gold for gold, found in pairs for one in found], dtype=bool)

    def calibrate(self, answers: GenerationAnswers) -> dict[str, float]:
        """The temperature at which the scores of tuples say how often such tuples are right, 1 if none helps."""
        right = self.are_right("validation", answers)
        return {"calibration_temperature": helpful_temperature_of_events(answers.scores, right)}

    def results(
        self, folder: Path, parts: Sequence[tuple["Generation", Mapping[str, GenerationAnswers], Mapping[str, float]]]
    ) -> dict:
        ((_, answers, calibration),) = parts
        results = {"calibration": {}}
        for split, of_split in answers.items():
            results[split] = self.score(split, of_split, BOOTSTRAP)
            right = self.are_right(split, of_split)
            temperatures = {"before": 1.0, "after": calibration["calibration_temperature"]}
            results["calibration"][split] = {
                when: {"tuple": expected_calibration_error(of_split.scores(temperature), right)}
                for when, temperature in temperatures.items()
            }
            if PartialState().is_main_process:
                self.write_answers(folder, split, of_split)
        return results

    def write_answers(self, folder: Path, split: str, answers: GenerationAnswers):
        """SPLIT_tuples.parquet, a line a row: id, words, subtask, the given target, the gold tuples, the predicted
        ones with the score of each, and whether some of the sequence was no tuple."""
        rows, ends = self.splits[split], np.cumsum([len(tuples) for tuples in answers.tuples])
        columns = {
            "id": rows["id"],
            "words": rows["words"],
            "subtask": rows["subtask"],
            "target": pa.array(rows["target"], pa.list_(pa.int32())),
            "tuples": pa.array(rows["tuples"], pa.list_(TUPLE)),
            "predicted": pa.array(answers.tuples, pa.list_(TUPLE)),
            "scores": np.split(answers.scores(1.0), ends[:-1]),
            "invalid": answers.are_invalid,
        }
        pq.write_table(pa.table(columns), folder / f"{split}_tuples.parquet")


def are_read(spans: Iterable[tuple[int, int] | None], read: Collection[int]) -> bool:
    """Whether the first and the last word of all spans are among those that a model reads."""
    return all({span[0], span[1] - 1} <= set(read) for span in spans if span is not None)


def of_targets(asked: Sequence[tuple[str, tuple[int, int]]], labelled: Sequence[list[dict]]) -> list[list[dict]]:
    """The labels of the given targets, a list for each sentence; None where there is none.

    Args:
        asked: id of the sentence and target of each row.
        labelled: of each row one tuple with a label, or none.
    """
    by_sentence = {}
    for (id_, target), tuples in zip(asked, labelled, strict=True):
        label = tuples[0]["label"] if tuples else None
        by_sentence.setdefault(id_, []).append({"target": target, "label": label})
    return list(by_sentence.values())
