"""Pipeline "aspect-opinion-extraction": which terms a text has, and what it says of them."""

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from transformers import Pipeline

from .grammar_generative_absa import TASKS, Span, WordTuple
from .words_generative_absa import encode_words, split_words

TASK = "aspect-opinion-extraction"
CUSTOM_PIPELINES = {
    TASK: {
        "impl": "pipeline_generative_absa.AspectOpinionPipeline",
        "pt": ["AutoModelForSeq2SeqLM"],
        "type": "text",
    }
}
PARAMETERS = ("task", "num_beams", "abstain_below")
BATCH_SIZE = 32
WINDOW = 32  # batches' worth of texts that are sorted by length together
NOT_FINITE = (
    "the model's answers are not finite: its weights are not, or do not fit into its dtype; load it with "
    "dtype=torch.float32, or another"
)
MOST_TOKENS = 2**16  # of a text, where neither model nor tokenizer has a limit


class Sentence(NamedTuple):
    """An input of the pipeline."""

    text: str
    words: list[tuple[int, int]]
    """[start, end) of each word in the text"""
    row: dict[str, list | bool | int]
    """as `encode_words` gives it"""
    given: Span | None
    """the words of the aspect term that is asked about"""


class AspectOpinionPipeline(Pipeline):
    """Finds the aspect terms of a text, the words that say something of them, and what they say.

    ```
    pipe = pipeline("aspect-opinion-extraction", model=..., trust_remote_code=True)
    pipe("The battery life is great, but the keyboard is not.")
    ```

    Inputs:
        A text, or {"words": [...]} where the words are known, gives the list of its answers; offsets are then those in
        `" ".join(words)`. The tasks "alsc" and "aoe" ask about an aspect term: {"text": ..., "target_start": 4,
        "target_end": 16}, in characters, as an answer of "ate" has them; its words are taken whole. A list or tuple of
        these gives a list. Anything else that iterates (a column of `datasets`, a generator) gives an iterator, which
        reads ahead by some batches only; so does a map-style data set of PyTorch. Tables (DataFrames) are refused:
        give a column of theirs. A text with nothing to read has no answers, nor has one whose aspect term stands in
        what is not read.

    Parameters, at construction or in a call:
        task: one of the model's tasks, or of those whose fields one of them has: a model of "aste" answers "ate",
            "ote", "aesc" and "aope" too (default: the model's first).
        num_beams: of the search (default: 1, which is greedy).
        abstain_below: answers whose most probable label has a lower probability have the label None (default: 0,
            never).
        batch_size: texts in a forward pass (default: 32). Texts of like length share one.

    An answer is a dict of plain Python types; None stands for what a task does not have. Its probabilities are
    calibrated: see `calibration_temperature` of the configuration.
        target: the aspect term, which is text[target_start:target_end].
        target_start, target_end: where it stands, in characters, the end exclusive.
        opinion, opinion_start, opinion_end: the same of the words that say it.
        label: what is said.
        score: the probability of the whole answer behind those before it. Of several answers that differ only in a
            field that was not asked for, the highest.
        probabilities: of every label, the rest of the answer given.
        truncated: whether the end of the text was too long for the model and not read.

    Raises:
        ValueError: if an input is no text, or has no aspect term where the task needs one; it gives the input's
            number. Of a list all inputs are checked before the model runs; an iterator gives all answers that come
            before.
        TypeError: for a parameter that does not exist.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_video_processor = _load_feature_extractor = False

    def __init__(self, *args, task: str = "", **kwargs):
        # Transformers has the pipeline's own name by this argument.
        is_parameter = task not in ("", TASK)
        super().__init__(*args, task=TASK if is_parameter else task, **kwargs)
        if is_parameter:
            self._forward_params |= self._sanitize_parameters(task=task)[1]
        self._batch_size = BATCH_SIZE if self._batch_size is None else self._batch_size
        config = self.model.config
        positions = getattr(config.get_text_config(encoder=True), "max_position_embeddings", None) or MOST_TOKENS
        # RoBERTa's begin behind that of padding, which its embeddings know.
        embeddings = (one for name, one in self.model.named_modules() if name.endswith("position_embeddings"))
        paddings = (getattr(one, "padding_idx", None) for one in embeddings)
        taken = max((padding + 1 for padding in paddings if padding is not None), default=0)
        self._max_length = min(positions - taken, self.tokenizer.model_max_length, MOST_TOKENS)
        # As in training: encoders count positions from the left, and a long text loses its end.
        self.tokenizer.padding_side = self.tokenizer.truncation_side = "right"
        self.model.eval()

    def _sanitize_parameters(self, **given) -> tuple[dict, dict, dict]:
        given.pop("local_files_only", None)  # of transformers.pipeline(), which hands it on
        unknown = sorted(given.keys() - set(PARAMETERS))
        if unknown:
            raise TypeError(
                f"{', '.join(unknown)}: no parameter of {TASK}, which has {', '.join(PARAMETERS)}, batch_size"
            )
        if "task" in given:
            self._trained_task(given["task"])
        beams = given.get("num_beams", 1)
        if isinstance(beams, bool) or not isinstance(beams, int) or beams < 1:
            raise ValueError(f"num_beams={beams!r}: give a number of beams, at least 1")
        threshold = given.get("abstain_below", 0.0)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise ValueError(f"abstain_below={threshold!r}: give a probability, from 0 to 1")
        return {}, given, {}

    def _trained_task(self, task: str) -> str:
        """The task that the model does to answer another.

        Raises:
            ValueError: if it was trained for none whose answers hold those of the other.
        """
        tasks = self.model.config.tasks
        if task in tasks:
            return task
        for trained in tasks if task in TASKS else ():
            if TASKS[trained].is_given == TASKS[task].is_given and set(TASKS[task].fields) < {*TASKS[trained].fields}:
                return trained
        raise ValueError(f"task={task!r}: this model was trained for {', '.join(tasks)}")

    def __call__(self, inputs: Any, *, batch_size: int | None = None, **parameters):
        _, chosen, _ = self._sanitize_parameters(**parameters)
        chosen = {"task": self.model.config.tasks[0], **self._forward_params, **chosen}
        batch_size = self._batch_size if batch_size is None else batch_size
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={batch_size!r}: give a number of texts, at least 1")
        if isinstance(inputs, (str, Mapping)):
            return next(self._answers(iter([self.preprocess(inputs, task=chosen["task"])]), batch_size, chosen))
        if hasattr(inputs, "columns"):  # of pandas, polars and others, whose tables iterate over names or columns
            raise ValueError(
                f"the input is a table ({type(inputs).__name__}): give its column of texts, table['text']"
            )
        if not isinstance(inputs, (Iterable, Dataset)) or isinstance(inputs, (bytes, bytearray)):
            raise ValueError(f"the input is {shown(inputs)}: give a text, or a list or column of texts")
        # A map-style data set does not iterate: Python would ask for items until there is an IndexError.
        items = inputs if isinstance(inputs, Iterable) else (inputs[number] for number in range(len(inputs)))
        sentences = (self.preprocess(input_, number, chosen["task"]) for number, input_ in enumerate(items))
        if isinstance(inputs, (list, tuple)):
            return list(self._answers(iter(list(sentences)), batch_size, chosen))
        return self._answers(sentences, batch_size, chosen)

    def preprocess(self, input_: Any, number: int = 0, task: str | None = None) -> Sentence:
        """An input, which is known by its number where it is at fault."""
        config = self.model.config
        given = input_ if isinstance(input_, Mapping) else {"text": input_}
        if isinstance(given.get("text"), str):
            text = given["text"]
            words = split_words(text, getattr(config, "word_splitting", "english"))
        elif is_words(given.get("words")):
            text, words = " ".join(given["words"]), []
            for word in given["words"]:
                start = words[-1][1] + 1 if words else 0
                words.append((start, start + len(word)))
        else:
            raise ValueError(
                f'input {number}: it is {shown(input_)}: give a text, {{"text": ...}} or {{"words": [...]}}'
            )
        task = config.tasks[0] if task is None else task
        span = self._given(given, text, words, number) if TASKS[task].is_given else None
        row = self._encoded([text[start:end] for start, end in words], self._trained_task(task), span)
        return Sentence(text, words, row, span)

    def _encoded(self, words: list[str], task: str, given: Span | None) -> dict[str, list | bool | int]:
        """What the model reads of a sentence for a task that it was trained for."""
        config = self.model.config
        marked = given if config.mark_given else None
        return encode_words(self.tokenizer, words, config.max_words, self._max_length, marked)

    def _given(self, input_: Mapping, text: str, words: list[tuple[int, int]], number: int) -> Span:
        """The words that an aspect term stands on."""
        place = (input_.get("target_start"), input_.get("target_end"))
        if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in place):
            raise ValueError(
                f'input {number}: it is {shown(input_)}, without an aspect term: give {{"text": ..., '
                '"target_start": ..., "target_end": ...}'
            )
        touched = [n for n, (start, end) in enumerate(words) if start < place[1] and place[0] < end]
        if not touched or not 0 <= place[0] < place[1] <= len(text):
            raise ValueError(
                f"input {number}: target_start={place[0]}, target_end={place[1]} hold no word of a text of "
                f"{len(text)} characters"
            )
        return touched[0], touched[-1] + 1

    def _answers(self, sentences: Iterator[Sentence], batch_size: int, chosen: dict) -> Iterator[list[dict]]:
        """What is answered to each input, in order."""
        for window in windows(sentences, WINDOW * batch_size):
            answers = [[] for _ in window]
            readable = [number for number, sentence in enumerate(window) if self._is_readable(sentence)]
            readable.sort(key=lambda number: -len(window[number].row["input_ids"]))
            for start in range(0, len(readable), batch_size):
                numbers = readable[start : start + batch_size]
                batch = [window[number] for number in numbers]
                trained = self._trained_task(chosen["task"])
                outputs = self.forward(self._padded(batch, trained), num_beams=chosen.get("num_beams", 1))
                found = {"sentences": batch, "trained": trained, **chosen, **outputs}
                for number, given in zip(numbers, self.postprocess(found), strict=True):
                    answers[number] = given
            yield from answers

    def _is_readable(self, sentence: Sentence) -> bool:
        """Whether there is something to answer."""
        return max(sentence.row["word_ids"], default=-1) >= 0 and is_read(sentence)

    def _padded(self, batch: list[Sentence], task: str) -> dict[str, torch.Tensor]:
        rows = [sentence.row for sentence in batch]
        names = ("input_ids", "attention_mask")
        inputs = self.tokenizer.pad({name: [row[name] for row in rows] for name in names}, return_tensors="pt")
        word_ids = [torch.tensor(row["word_ids"]) for row in rows]
        prompts = [self.model.grammar.prompt(task, sentence.given) for sentence in batch]
        return {
            **inputs,
            "word_ids": pad_sequence(word_ids, batch_first=True, padding_value=-1),
            "decoder_prompt_ids": torch.tensor(prompts),
        }

    def _forward(self, batch: Mapping[str, torch.Tensor], num_beams: int = 1) -> dict[str, torch.Tensor]:
        mask, prompts = batch["attention_mask"], batch["decoder_prompt_ids"]
        encoded = self.model.model.encode(batch["input_ids"], mask, batch["word_ids"])
        known = {"attention_mask": mask, "decoder_prompt_ids": prompts, "encoder_outputs": encoded}
        sequences = self.model.generate(**known, num_beams=num_beams, do_sample=False)
        temperature = self.model.config.calibration_temperature
        log_probabilities = self.model.log_probabilities(sequences, **known, temperature=temperature)
        return {"sequences": sequences, "log_probabilities": log_probabilities}

    def postprocess(self, outputs: dict[str, Any]) -> list[list[dict]]:
        """The answers to some sentences, from what `_forward` gives."""
        task, threshold = outputs["task"], outputs.get("abstain_below", 0.0)
        kept = {*TASKS[task].fields, *(["target"] if TASKS[task].is_given else [])}
        answers = []
        for number, sentence in enumerate(outputs["sentences"]):
            found = {}
            for one, score, probabilities in self._found(outputs, number, sentence):
                key = WordTuple(**{field: getattr(one, field) for field in kept})
                if key not in found or score > found[key]["score"]:
                    by_label = probabilities if "label" in kept else None
                    found[key] = self._answer(sentence, key, score, by_label, threshold)
            answers.append(list(found.values()))
        return answers

    def _found(
        self, outputs: dict[str, Any], number: int, sentence: Sentence
    ) -> Iterator[tuple[WordTuple, float, dict[str, float] | None]]:
        """The tuples of one of the sentences, with the score of each and the probabilities of its labels."""
        trained, grammar = outputs["trained"], self.model.grammar
        sequence, log_probabilities = outputs["sequences"][number], outputs["log_probabilities"][number].double()
        if not log_probabilities.isfinite().all():
            raise ValueError(NOT_FINITE)
        period, length = TASKS[trained].period, grammar.prompt_length(trained)
        of_labels = slice(grammar.first_word - len(grammar.labels), grammar.first_word)
        chosen = log_probabilities.gather(-1, sequence[length:, None])[..., 0]  # (T,)
        parsed = grammar.parse(sequence.tolist(), sentence.row["num_words"])
        for one, position in zip(parsed.tuples, parsed.positions, strict=True):
            first, last = position - length, position - length + period - 1
            probabilities = None
            if one.label is not None:
                by_label = log_probabilities[last, of_labels].softmax(-1).tolist()
                probabilities = dict(zip(grammar.labels, by_label, strict=True))
            yield one, chosen[first : last + 1].sum().exp().item(), probabilities

    def _answer(
        self,
        sentence: Sentence,
        found: WordTuple,
        score: float,
        probabilities: dict[str, float] | None,
        abstain_below: float,
    ) -> dict:
        answer = {}
        for field in ("target", "opinion"):
            words, start, end = getattr(found, field), None, None
            if words is not None:
                start, end = sentence.words[words[0]][0], sentence.words[words[1] - 1][1]
            answer[field] = None if words is None else sentence.text[start:end]
            answer |= {f"{field}_start": start, f"{field}_end": end}
        if abstain_below and found.label is not None and probabilities is None:
            raise ValueError(
                f"abstain_below={abstain_below}: labels of this model begin with the same token, and so have no "
                "probabilities: leave it out"
            )
        is_unsure = probabilities is not None and probabilities[found.label] < abstain_below
        return {
            **answer,
            "label": None if is_unsure else found.label,
            "score": score,
            "probabilities": probabilities,
            "truncated": sentence.row["truncated"],
        }


def is_words(value: Any) -> bool:
    """Whether it is a list of words."""
    return isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value)


def is_read(sentence: Sentence) -> bool:
    """Whether the model reads some words, and the aspect term that is asked about is among them."""
    num_words = sentence.row["num_words"]
    return num_words > 0 and (sentence.given is None or sentence.given[1] <= num_words)


def windows(sentences: Iterator[Sentence], size: int) -> Iterator[list[Sentence]]:
    """So many sentences at a time, and what is left; an error in one comes behind those before it."""
    window = []
    try:
        for sentence in sentences:
            window.append(sentence)
            if len(window) == size:
                yield window
                window = []
    except ValueError:
        if window:
            yield window
        raise
    if window:
        yield window


def shown(value: Any) -> str:
    """A value short enough for an error, and its type."""
    written = repr(value)
    return f"{written if len(written) <= 40 else written[:40] + '...'} ({type(value).__name__})"


__all__ = ["AspectOpinionPipeline"]
