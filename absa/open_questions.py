"""Answers of models that are asked about any words: terms of a text, or aspects, whether training had them or not."""

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any

import pandas as pd
import torch
from transformers import Pipeline, PreTrainedConfig

from absa.models import most_tokens
from absa.tasks.rows import choose
from absa.tasks.targets import encode_rows
from modeling_generative_absa import AspectOpinionPipeline, split_words
from modeling_qacg_bert.processing_qacg_bert import Contexts, Word, is_readable, occurrence
from modeling_qacg_bert.questions_qacg_bert import check_names, check_vocabulary, listed, shorten, shown
from modeling_qacg_bert.relevance_qacg_bert import padded_batches

PARAMETERS = ("targets", "aspects", "return_all", "explain")
BATCH_SIZE = 32
NOT_ASKED = {"label": None, "score": None, "probabilities": None}


class OpenQuestionPipeline(Pipeline):
    """Answers questions about texts: each is a pair of the text and of what it is asked about.

    Inputs:
        A text is asked about `targets` and `aspects`, and gives the list of its answers. A dict with "text" and
        "target", "aspect" or both asks one question and gives one answer; "target_start" and "target_end" may say
        where the target stands (default: its first place). A list of these gives a list.

    Parameters, at construction or in a call:
        targets: words that a text is asked about wherever they stand in it (`text[target_start:target_end]`). As such,
            without aspects, they get another label than the `none_label`: that is of words which a text has not.
        aspects: what each text is asked about, or each of these targets in it. A text with neither is asked about the
            aspects of the configuration, where the model has learned of several data sets, and about those of its
            targets that the text names; so is each of these among `targets`.
        return_all: whether a text's answers with the `none_label` of the configuration are given too (default: False).
            That of a question always is.
        explain: "attention" to give with each answer the words of the text that were read: `word`, which is
            text[start:end], `start`, `end` and `attention`, the weight of the word; they sum to 1 (default: False).
        batch_size: questions in a forward pass (default: 32).

    An answer has `target`, `target_start`, `target_end`, `aspect`, `label`, `score`, `probabilities` (calibrated, see
    `calibration_temperature` of the configuration), `truncated` (whether the end of the text was not read), and
    perhaps `words`; and of a model that has learned of several data sets `in_training`, whether its training asked
    about the aspect, case aside, and None without one. The target or aspect that was not asked about is "". Where a
    target has no word that the model reads, since the end of a long text is cut, `label`, `score` and `probabilities`
    are None.

    Raises:
        ValueError: if an input is no text or question, it gives the input's number; if there is nothing to ask.
        TypeError: for a parameter that does not exist.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_video_processor = _load_feature_extractor = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._batch_size = BATCH_SIZE if self._batch_size is None else self._batch_size
        self.model.eval()

    def _sanitize_parameters(self, **parameters) -> tuple[dict, dict, dict]:
        if unknown := sorted(set(parameters) - set(PARAMETERS)):
            raise TypeError(f"{shorten(', '.join(unknown))}: no parameter, there are {', '.join(PARAMETERS)}")
        given = {name: value for name, value in parameters.items() if value is not None}
        given |= {name: word_list(name, given[name]) for name in ("targets", "aspects") if name in given}
        if given.get("explain", False) not in (False, "attention"):
            raise ValueError(f"explain={shorten(repr(given['explain']))}: give 'attention', or leave it out")
        check_return_all(given.get("return_all", False))
        of_answers = {name: given.pop(name) for name in ("return_all", "explain") if name in given}
        return given, {}, of_answers

    def __call__(
        self, inputs: str | Mapping | Iterable[str | Mapping], *, batch_size: int | None = None, **parameters
    ):
        if isinstance(inputs, str | Mapping):
            return self([inputs], batch_size=batch_size, **parameters)[0]
        if hasattr(inputs, "columns") or not isinstance(inputs, Iterable):
            raise ValueError(f"the input is {shown(inputs)}: give a text, a question, or a list or column of them")
        batch_size = self._batch_size if batch_size is None else batch_size
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={shorten(repr(batch_size))}: give a number of questions, at least 1")
        of_questions, _, of_answers = self._sanitize_parameters(**parameters)
        of_questions, of_answers = self._preprocess_params | of_questions, self._postprocess_params | of_answers
        left_out = labels_left_out(self.model.config, of_answers.pop("return_all", False))
        known = {*(getattr(self.model.config, "aspects", None) or ())}
        inputs, asked = list(inputs), []
        for number, input_ in enumerate(inputs):
            try:
                asked.append(self.preprocess(input_, **of_questions))
                new = {question["aspect"] for question in asked[-1]} - known
                check_vocabulary(new, self.tokenizer)
                known |= new
            except ValueError as error:
                raise ValueError(f"input {number}: {error}") from error
        questions = [question for own in asked for question in own]
        answers = iter(self._answer(questions, batch_size, **of_answers))
        answered = [[next(answers) for _ in own] for own in asked]
        return [
            own[0] if isinstance(input_, Mapping) else [answer for answer in own if answer["label"] not in left_out]
            for input_, own in zip(inputs, answered, strict=True)
        ]

    def preprocess(
        self, input_: Any, targets: list[str] | None = None, aspects: list[str] | None = None
    ) -> list[dict]:
        """The questions of an input: text, target, target_start, target_end, aspect."""
        if isinstance(input_, Mapping):
            return [question_of(input_)]
        if not isinstance(input_, str):
            raise ValueError(f"it is {shown(input_)}: give a text or a question")
        config = self.model.config
        known = list(getattr(config, "aspects", None) or ())
        if not targets and not aspects and not known:
            raise ValueError(
                "a text alone asks nothing, as the model knows no names: give targets=['battery life'], words of the "
                "texts, or aspects=['price']"
            )
        if not is_readable(input_):
            return []
        named = getattr(config, "targets", None) or ()
        if targets is not None:
            places = [(input_[slice(*span)], *span) for span in places_of(targets, input_)]
        else:
            found = [target for target in named if occurrence(target).search(input_)]
            places = [(target, None, None) for target in found or [""]]
        return [
            {"text": input_, "target": target, "target_start": start, "target_end": end, "aspect": aspect}
            for target, start, end in places
            for aspect in aspects or (known if target in ("", *named) else [""])
        ]

    def _answer(self, questions: list[dict], batch_size: int, explain: bool | str = False) -> list[dict]:
        """The answers to questions, in order."""
        if not questions:
            return []
        config = self.model.config
        max_length = most_tokens(self.tokenizer.model_max_length, config)
        columns = {name: [question[name] for question in questions] for name in questions[0]}
        rows = encode_rows(self.tokenizer, config, columns, max_length=max_length, mark_read=True)
        asked = [number for number, is_read in enumerate(rows["target_is_read"]) if is_read]
        answers = [{**question, **NOT_ASKED} for question in questions]
        for of_batch, inputs in padded_batches(self.model, self.tokenizer, choose(rows, asked), batch_size):
            outputs = self.forward({**inputs, **({"output_attentions": True} if explain else {})})
            attentions = [None] * len(of_batch)
            if explain:
                attentions = outputs.get("attentions")
                if not isinstance(attentions, torch.Tensor):
                    raise ValueError(
                        f"explain='attention' with a {type(self.model).__name__} without attention to words: leave it "
                        "out"
                    )
            for number, logits, of_tokens, mask in zip(
                (asked[row] for row in of_batch), outputs["logits"], attentions, inputs["attention_mask"], strict=True
            ):
                is_word = answers[number]["target_start"] is not None and not answers[number]["aspect"]
                answers[number] |= self.postprocess(logits, getattr(config, "none_label", None) if is_word else None)
                if of_tokens is not None:
                    weights = of_tokens[mask.cpu().bool()].tolist()
                    answers[number]["words"] = attended(answers[number]["text"], rows["words"][number], weights)
        for answer, read in zip(answers, rows["read"], strict=True):
            del answer["text"]
            answer["truncated"] = read is not None
            if getattr(config, "context_source", "id") == "text":
                answer["in_training"] = Contexts.from_config(config).knows(answer["aspect"])
        return answers

    def _forward(self, inputs: Mapping[str, torch.Tensor]) -> Mapping[str, torch.Tensor]:
        return self.model(**inputs)

    def postprocess(self, logits: torch.Tensor, but: str | None = None) -> dict[str, Any]:
        """Label, score and probabilities from the logits of a row, (labels,), among all labels but one."""
        scaled = logits.double() / getattr(self.model.config, "calibration_temperature", 1.0)
        names = [self.model.config.id2label[number] for number in range(len(logits))]
        scaled = scaled.masked_fill(torch.tensor([name == but for name in names]), float("-inf"))
        probabilities = dict(zip(names, scaled.softmax(-1).tolist(), strict=True))
        best = max(probabilities, key=probabilities.get)
        return {"label": best, "score": probabilities[best], "probabilities": probabilities}


class GivenTermPipeline(AspectOpinionPipeline):
    """Answers questions about aspect terms of texts, with a model that generates the label or the opinions of each.

    A parameter, at construction or in a call, beside those of `AspectOpinionPipeline`:
        targets: words that a text is asked about wherever they stand in it (`text[target_start:target_end]`).

    With `targets` an input is a text or a number of them, and gives the list of its answers; else it is a question.
    """

    def __init__(self, *args, targets: Iterable[str] | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self._targets = None if targets is None else word_list("targets", targets)

    def __call__(self, inputs: Any, *, targets: Iterable[str] | None = None, **parameters):
        targets = self._targets if targets is None else word_list("targets", targets)
        if targets is None:
            return super().__call__(inputs, **parameters)
        if isinstance(inputs, str | Mapping):
            return self([inputs], targets=targets, **parameters)[0]
        if hasattr(inputs, "columns") or not isinstance(inputs, Iterable):
            return super().__call__(inputs, **parameters)  # which refuses them
        asked = []
        for number, text in enumerate(inputs):
            if not isinstance(text, str):
                raise ValueError(f"input {number}: it is {shown(text)}: give a text, or leave targets out")
            words = split_words(text, getattr(self.model.config, "word_splitting", "english"))
            by_words = {}  # targets that are parts of the same words are one question
            for start, end in places_of(targets, text):
                question = {"text": text, "target_start": start, "target_end": end}
                by_words.setdefault(self._given(question, text, words, number), question)
            asked.append(list(by_words.values()))
        answered = iter(super().__call__([question for own in asked for question in own], **parameters))
        return [list(chain.from_iterable(islice(answered, len(own)))) for own in asked]

    def _given(self, input_: Mapping, text: str, words: list[tuple[int, int]], number: int) -> tuple[int, int]:
        if "target_start" not in input_:
            raise ValueError(
                f"input {number}: a text alone asks nothing, as the model is given aspect terms: give "
                "targets=['battery life'], words of the texts, or with the text its target_start and target_end"
            )
        return super()._given(input_, text, words, number)


def word_list(name: str, value: Any) -> list[str]:
    """The words that a parameter gives, each once.

    Raises:
        ValueError: if it is no list of words.
    """
    if isinstance(value, str | Mapping):
        raise ValueError(f"{name}={shorten(repr(value))}: give a list of words")
    words = listed(name, value)
    check_names(name, words, None)
    return list(dict.fromkeys(words))


def check_return_all(value: bool) -> bool:
    """The value of `return_all`, which is no number and no word."""
    if not isinstance(value, bool):
        raise ValueError(f"return_all={shorten(repr(value))}: give True or False")
    return value


def labels_left_out(config: PreTrainedConfig, return_all: bool) -> set[str]:
    """The label of answers of a classifier that are not given, if there is one."""
    return set() if check_return_all(return_all) else {getattr(config, "none_label", None)} - {None}


def places_of(words: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Where these words stand in a text, in order: [start, end) in characters."""
    return sorted({match.span() for word in words for match in occurrence(word).finditer(text)})


def question_of(asked: Mapping) -> dict:
    """The question of a dict.

    Raises:
        ValueError: if there is nothing to read or to ask, or the place of the target is no part of the text.
    """
    text, target, aspect = (asked.get(name) or "" for name in ("text", "target", "aspect"))
    if not all(isinstance(value, str) for value in (text, target, aspect)) or not is_readable(text):
        raise ValueError(
            f"its text is {shown(text)}, its target {shown(target)}, its aspect {shown(aspect)}: give texts"
        )
    if not is_readable(target + aspect):
        raise ValueError(f"it has the keys {shorten(repr(list(asked)))}: a question needs a target or an aspect too")
    # Of a column with gaps pandas makes floats.
    start, end = (None if pd.isna(asked.get(name)) else int(asked[name]) for name in ("target_start", "target_end"))
    if (start, end) == (None, None):
        if target and (found := occurrence(target).search(text)):
            start, end = found.span()
    elif None in (start, end) or not 0 <= start < end <= len(text) or text[start:end] != target:
        raise ValueError(f"its target is {shown(target)}, and text[{start}:{end}] is another: give its place, or none")
    return {"text": text, "target": target, "target_start": start, "target_end": end, "aspect": aspect}


def attended(text: str, words: list[Word | None], weights: list[float]) -> list[dict]:
    """The words of a text with the weights of their tokens."""
    of_words = {}
    for word, weight in zip(words, weights, strict=True):
        if word is not None:
            of_words[word] = of_words.get(word, 0.0) + weight
    return [
        {"word": text[word.start : word.end], "start": word.start, "end": word.end, "attention": weight}
        for word, weight in of_words.items()
    ]
