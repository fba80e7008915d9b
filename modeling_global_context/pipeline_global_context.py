"""Pipelines: "aspect-term-sentiment", what texts say and of which words, and "token-classification" for BIEOS tags."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import regex
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from transformers import Pipeline
from transformers.pipelines.token_classification import TokenClassificationPipeline

from .configuration_global_context import NONE
from .crf_global_context import Positions, log_probability
from .tags_global_context import Scheme, Span, spans_of, split_tag, tag_span

TASK = "aspect-term-sentiment"
DECODINGS = ("constrained", "greedy")
BATCH_SIZE = 32
WINDOW = 32  # batches' worth of texts that are sorted by length together
MOST_TOKENS = 2**16  # of a text, where neither model nor tokenizer has a limit
LETTERS = r"[\w\p{M}\u200c\u200d]"  # with the marks and joiners of a script, as of Hindi and Thai
CLITIC = rf"['\u2019](?:s|m|d|ll|re|ve)(?!{LETTERS})"
NOT = rf"n['\u2019]t(?!{LETTERS})"
INNER = rf"{LETTERS}+(?:[-.,/]{LETTERS}+)*"
SEEN = r"(?:\p{RI}{2}|\S(?:[\p{M}\p{Emoji_Modifier}]|\u200d\p{So})*)"  # as one sign: a flag, a family of emoji
WORDS = {
    "english": regex.compile(rf"{INNER}(?={NOT})|{NOT}|{CLITIC}|{INNER}|{SEEN}", regex.IGNORECASE),
    "whitespace": regex.compile(r"\S+"),
    "characters": regex.compile(SEEN),
}


def split_words(text: str, splitting: str) -> list[tuple[int, int]]:
    """[start, end) of each word of a text.

    Args:
        splitting: "english" for words as treebanks have them, with n't and 's apart, - . , / inside of words and all
            other punctuation alone; "whitespace"; or "characters".
    """
    return [found.span() for found in WORDS[splitting].finditer(text)]


def encode_words(tokenizer, words: Sequence[str], max_length: int) -> dict[str, list | bool]:
    """Encodes a sentence of which the words are known; the same for training and inference.

    Args:
        tokenizer: a fast tokenizer.
        words: of the sentence; blank ones and control characters have no token.
        max_length: the most tokens. A longer sentence loses its last words, each as a whole.
    Returns:
        What the tokenizer gives, a list each; `word_mask`, 1 at the first token of each word; `word_numbers`, of the
        words that have a token, in order, as many as ones in the mask; and `truncated`, whether words were left out.
    """
    # Pairs of surrogates as one character, lone ones as U+FFFD: JSON can hold them, but a tokenizer takes none.
    kept = [word.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for word in words[:max_length]]
    # With the blank before it, which is a part of a word's first token for RoBERTa: without the blank that model would
    # read the insides of words.
    kept = [f" {word}" if word.strip() else word for word in kept]
    encoded = tokenizer(kept, is_split_into_words=True, truncation=True, max_length=max_length)
    overflowing = encoded.encodings[0].overflowing
    if overflowing:
        first_left_out = next(number for number in overflowing[0].word_ids if number is not None)
        kept = kept[:first_left_out]
        encoded = tokenizer(kept, is_split_into_words=True, truncation=True, max_length=max_length)
    word_mask, word_numbers = [], []
    for number in encoded.word_ids():
        is_first = number is not None and word_numbers[-1:] != [number]
        word_mask.append(int(is_first))
        if is_first:
            word_numbers.append(number)
    return {
        **encoded,
        "word_mask": word_mask,
        "word_numbers": word_numbers,
        "truncated": len(kept) < len(words),
    }


class Sentence(NamedTuple):
    """An input of the pipeline."""

    text: str
    words: list[tuple[int, int]]
    """[start, end) of each word in the text"""
    row: dict[str, list | bool]
    """as `encode_words` gives it"""


class AspectTermSentimentPipeline(Pipeline):
    """Finds the aspect terms of a text and what it says of each.

    ```
    pipe = pipeline("aspect-term-sentiment", model=..., trust_remote_code=True)
    pipe("The battery life is great, but the keyboard is not.")
    ```

    Inputs:
        A text, or {"words": [...]} where the words are known, gives the list of its answers; offsets are then those in
        `" ".join(words)`. A list or tuple of these gives a list. Anything else that iterates (a column of `datasets`,
        a generator) gives an iterator, which reads ahead by some batches only; so does a map-style data set of
        PyTorch. Tables (DataFrames) are refused: give a column of theirs. A text with nothing to read has no answers.

    Parameters, at construction or in a call:
        decoding: "constrained" for the most probable well-formed tags; "greedy" for the most probable tags, of which
            those that are not well-formed are left out (default: "constrained").
        batch_size: texts in a forward pass (default: 32). Texts of like length share one.

    An answer is a dict of plain Python types. Its probabilities are calibrated: see `calibration_temperature` of the
    configuration.
        target: the aspect term, which is text[target_start:target_end].
        target_start, target_end: where it stands, in characters, the end exclusive.
        aspect: "", since the model knows no categories.
        label: what is said, the most probable of `polarities` or of the model's own types.
        score: the probability that exactly these words are tagged so.
        present: the probability that exactly these words are an aspect term, of whatever label.
        sentiment: P(label | present) of every label.
        probabilities: of every label, and of "none", one minus `present`.
        truncated: whether the end of the text was too long for the model and not read.

    Raises:
        ValueError: if an input is no text; it gives the input's number. Of a list all inputs are checked before the
            model runs; an iterator gives all answers that come before.
        TypeError: for a parameter that does not exist.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_video_processor = _load_feature_extractor = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._batch_size = BATCH_SIZE if self._batch_size is None else self._batch_size
        config = self.model.config
        self._scheme = config.tag_scheme
        if self._scheme == "plain":
            raise ValueError(
                f"{TASK} needs labels of spans, such as B-POS; this model has {config.labels[:5]}: use "
                'the task "token-classification"'
            )
        self._label_ids = {label: number for number, label in enumerate(config.labels)}
        self._types = list(dict.fromkeys(split_tag(label)[1] for label in config.labels if split_tag(label)[1]))
        positions = getattr(config.get_text_config(), "max_position_embeddings", None) or MOST_TOKENS
        # RoBERTa's begin behind that of padding, which its embeddings know.
        embeddings = (one for name, one in self.model.named_modules() if name.endswith("position_embeddings"))
        paddings = (getattr(one, "padding_idx", None) for one in embeddings)
        taken = max((padding + 1 for padding in paddings if padding is not None), default=0)
        self._max_length = min(positions - taken, self.tokenizer.model_max_length, MOST_TOKENS)
        self.model.eval()

    def _sanitize_parameters(self, decoding: str | None = None, **unknown) -> tuple[dict, dict, dict]:
        unknown.pop("local_files_only", None)  # of transformers.pipeline(), which hands it on
        if unknown:
            raise TypeError(f"{', '.join(sorted(unknown))}: no parameter of {TASK}, which has decoding, batch_size")
        if decoding is not None and decoding not in DECODINGS:
            raise ValueError(f"decoding={decoding!r}: give one of {', '.join(DECODINGS)}")
        return {}, {} if decoding is None else {"constrained": decoding == "constrained"}, {}

    def __call__(self, inputs: Any, *, batch_size: int | None = None, **parameters):
        _, decoding, _ = self._sanitize_parameters(**parameters)
        decoding = {**self._forward_params, **decoding}
        batch_size = self._batch_size if batch_size is None else batch_size
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={batch_size!r}: give a number of texts, at least 1")
        if isinstance(inputs, (str, Mapping)):
            return next(self._answers(iter([self.preprocess(inputs)]), batch_size, decoding))
        if hasattr(inputs, "columns"):  # of pandas, polars and others, whose tables iterate over names or columns
            raise ValueError(
                f"the input is a table ({type(inputs).__name__}): give its column of texts, table['text']"
            )
        if not isinstance(inputs, (Iterable, Dataset)) or isinstance(inputs, (bytes, bytearray)):
            raise ValueError(f"the input is {shown(inputs)}: give a text, or a list or column of texts")
        # A map-style data set does not iterate: Python would ask for items until there is an IndexError.
        items = inputs if isinstance(inputs, Iterable) else (inputs[number] for number in range(len(inputs)))
        sentences = (self.preprocess(input_, number) for number, input_ in enumerate(items))
        if isinstance(inputs, (list, tuple)):
            return list(self._answers(iter(list(sentences)), batch_size, decoding))
        return self._answers(sentences, batch_size, decoding)

    def preprocess(self, input_: Any, number: int = 0) -> Sentence:
        """An input, which is known by its number where it is at fault."""
        if isinstance(input_, str):
            text, words = input_, split_words(input_, self.model.config.word_splitting)
        else:
            given = input_.get("words") if isinstance(input_, Mapping) else None
            if not isinstance(given, (list, tuple)) or not all(isinstance(word, str) for word in given):
                raise ValueError(f'input {number}: it is {shown(input_)}: give a text or {{"words": [...]}}')
            text, words = " ".join(given), []
            for word in given:
                start = words[-1][1] + 1 if words else 0
                words.append((start, start + len(word)))
        row = encode_words(self.tokenizer, [text[start:end] for start, end in words], self._max_length)
        return Sentence(text, words, row)

    def _answers(self, sentences: Iterator[Sentence], batch_size: int, decoding: dict) -> Iterator[list[dict]]:
        """What is answered to each input, in order."""
        for window in windows(sentences, WINDOW * batch_size):
            answers = [[] for _ in window]
            readable = [number for number, sentence in enumerate(window) if sentence.row["word_numbers"]]
            readable.sort(key=lambda number: -len(window[number].row["input_ids"]))
            for start in range(0, len(readable), batch_size):
                numbers = readable[start : start + batch_size]
                batch = [window[number] for number in numbers]
                outputs = self.forward(self._padded(batch), **decoding)
                for number, given in zip(numbers, self.postprocess({"sentences": batch, **outputs}), strict=True):
                    answers[number] = given
            yield from answers

    def _padded(self, batch: list[Sentence]) -> dict[str, torch.Tensor]:
        rows = [sentence.row for sentence in batch]
        names = [name for name in rows[0] if name in self.tokenizer.model_input_names]
        columns = {name: [row[name] for row in rows] for name in names}
        # Encoders count positions from the left, whatever the tokenizer's side.
        inputs = self.tokenizer.pad(columns, padding_side="right", return_tensors="pt")
        word_mask = pad_sequence([torch.tensor(row["word_mask"]) for row in rows], batch_first=True)
        return {**inputs, "word_mask": word_mask}

    def _forward(self, batch: Mapping[str, torch.Tensor], constrained: bool = True) -> dict[str, Any]:
        word_mask = batch["word_mask"]
        words = Positions(word_mask)
        emissions = self.model.emissions(**{name: value for name, value in batch.items() if name != "word_mask"})
        tags = self.model.decode(emissions, word_mask, constrained=constrained)
        return {"emissions": words.front(emissions).double(), "lengths": words.lengths, "tags": tags}

    @torch.no_grad()
    def postprocess(self, outputs: dict[str, Any]) -> list[list[dict]]:
        """The answers to some sentences, from the emissions at their words (B, m, u) and their tags."""
        if not outputs["emissions"].isfinite().all():
            raise ValueError(
                "the model's answers are not finite: its weights are not, or do not fit into its dtype; load it with "
                "dtype=torch.float32, or another"
            )
        found = [
            (number, span) for number, tags in enumerate(outputs["tags"]) for span in spans_of(tags, self._scheme)
        ]
        answers = [[] for _ in outputs["sentences"]]
        if found:
            for (number, span), log_probabilities in zip(found, self._log_probabilities(outputs, found), strict=True):
                answers[number].append(self._answer(outputs["sentences"][number], span, log_probabilities))
        return answers

    def _log_probabilities(self, outputs: dict[str, Any], found: list[tuple[int, Span]]) -> torch.Tensor:
        """Of each span the log-probability of its borders with each type, (spans, types)."""
        shape = (len(found), len(self._types), *outputs["emissions"].shape[1:])
        allowed = torch.ones(shape, dtype=torch.bool)  # labels at each position (spans, types, m, u)
        for row, (number, (start, end, _)) in enumerate(found):
            allowed[row, :, start:end] = False
            for column, type_ in enumerate(self._types):
                for position, tag in enumerate(tag_span(start, end, type_, self._scheme), start):
                    if tag in self._label_ids:
                        allowed[row, column, position, self._label_ids[tag]] = True
                # In BIO the word behind a span tells where the span ends.
                if self._scheme == "BIO" and end < outputs["lengths"][number] and f"I-{type_}" in self._label_ids:
                    allowed[row, column, end, self._label_ids[f"I-{type_}"]] = False
        numbers = torch.tensor([number for number, _ in found]).repeat_interleave(len(self._types))
        emissions = outputs["emissions"] / self.model.config.calibration_temperature
        chain = self.model.chain(emissions).scaled(1 / self.model.config.calibration_temperature)
        log_probabilities = log_probability(
            emissions[numbers], allowed.flatten(0, 1), outputs["lengths"][numbers], chain
        )
        return log_probabilities.unflatten(0, shape[:2])

    def _answer(self, sentence: Sentence, span: Span, log_probabilities: torch.Tensor) -> dict:
        first, last = (sentence.row["word_numbers"][position] for position in (span[0], span[1] - 1))
        start, end = sentence.words[first][0], sentence.words[last][1]
        names = [self.model.config.polarities.get(type_, type_) for type_ in self._types]
        probabilities = dict(zip(names, log_probabilities.exp().tolist(), strict=True))
        label = max(probabilities, key=probabilities.get)
        present = min(1.0, sum(probabilities.values()))
        return {
            "target": sentence.text[start:end],
            "target_start": start,
            "target_end": end,
            "aspect": "",
            "label": label,
            "score": probabilities[label],
            "present": present,
            "sentiment": dict(zip(names, log_probabilities.softmax(-1).tolist(), strict=True)),
            "probabilities": {**probabilities, NONE: 1.0 - present},
            "truncated": sentence.row["truncated"],
        }


class TaggingPipeline(TokenClassificationPipeline):
    """As Transformers' own, which knows B- and I- only; this one groups the tags of BIEOS as well."""

    def get_tag(self, entity_name: str) -> tuple[str, str]:
        prefix, type_ = split_tag(entity_name)
        return super().get_tag({"S": f"B-{type_}", "E": f"I-{type_}"}.get(prefix, entity_name))

    def gather_pre_entities(self, *args, **kwargs) -> list[dict]:
        """As the base class, for tokenizers of bytes too: a token may stand for a blank only, or for a part of a
        character, which belongs to one word."""
        entities = [
            entity for entity in super().gather_pre_entities(*args, **kwargs) if entity["start"] < entity["end"]
        ]
        for before, entity in pairwise(entities):
            entity["is_subword"] = entity["is_subword"] or entity["start"] < before["end"]
        return entities


def custom_pipelines_of(scheme: Scheme) -> dict[str, dict]:
    """The pipelines of this file that a model with labels of a scheme needs, as its configuration names them."""
    pipelines = {TASK: AspectTermSentimentPipeline, "token-classification": TaggingPipeline, "ner": TaggingPipeline}
    return {
        task: {
            "impl": f"pipeline_global_context.{pipeline.__name__}",
            "pt": ["AutoModelForTokenClassification"],
            "type": "text",
        }
        for task, pipeline in (pipelines.items() if scheme != "plain" else ())
    }


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


__all__ = ["AspectTermSentimentPipeline", "TaggingPipeline", "encode_words", "split_words"]
