"""The pipeline task "aspect-sentiment": what texts say about each (target, aspect) that a model knows."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import Pipeline
from transformers.utils import logging

from .contexts_qacg_bert import vectors_of
from .encoding_qacg_bert import TOKENS, encode_questions
from .likeness_qacg_bert import aspect_vectors, by_likeness, labels_said, likeness, nearest_token, padded
from .names_qacg_bert import OwnNames
from .processing_qacg_bert import NO_ASPECT, NO_TARGET, Contexts, is_readable, is_within, occurrence
from .questions_qacg_bert import (
    Asked,
    Question,
    batches,
    check_names,
    check_vocabulary,
    items_of,
    listed,
    question_of,
    shorten,
    shown,
    windows,
)
from .relevance_qacg_bert import ATTENTION, METHODS, explain_answers
from .sentences_qacg_bert import passages, sentences

TASK = "aspect-sentiment"
NONE_LABEL = "none"  # of a configuration that does not say, as that of an older baseline
PARAMETERS = ("targets", "aspects", "split_sentences", "return_all", "abstain_below", "explain")
OF_QUESTIONS = PARAMETERS[:3]
BATCH_SIZE = 32
WINDOW = 32  # batches' worth of questions that are sorted by length together
PROGRESS_AFTER_S = 5  # a progress bar appears where answering takes longer than this


class NoTargetWarning(UserWarning):
    """None of the texts of a call names a target, so that there is nothing to ask."""


class AspectSentimentPipeline(Pipeline):
    """Answers every (target in the text, aspect) that the model knows.

    ```
    pipe = pipeline("aspect-sentiment", model=..., trust_remote_code=True)
    pipe("LOCATION1 is expensive but safe")
    ```

    Inputs:
        A text gives the list of its answers, in the order of the context ids. A dict with "text", "aspect" and, where
        the model has targets, "target" asks one question, whether the target stands in the text or not, and gives one
        answer, whatever it is; "target_start" may say where a word of the text stands, other keys are ignored. A list
        or tuple of these gives a list. Anything else that iterates (a column of `datasets`, a generator) gives an
        iterator, which reads ahead by some batches only; so does a map-style data set of PyTorch, of so many items as
        its `__len__` says. Tables (DataFrames) are refused: give a column of theirs, or their rows.
        A text with nothing to read (empty, blanks, control characters) has no answers; a question about one is an
        error. Nor has a text that names no target. Where that is true of all texts of a call, a `NoTargetWarning`
        says how to map names; of an iterator, when it ends.

    Parameters, at construction or in a call:
        targets: names of the targets to ask about (default: all), asked where they occur in the text; or the user's
            own names for them, {"Camden": "LOCATION1"}, see `OwnNames`. With `context_source="text"` any words, such
            as ["fish"], asked about as such where neither `aspects` are given nor training named targets; and a text
            that names no target is asked about without one, if none is given here. Asked about a word of a text as
            such, the model answers among its labels but the `none_label`: that is of words which the text has not.
        aspects: names of the aspects to ask about (default: all). With `context_source="text"` any words, such as
            ["noise at night"].
        split_sentences: whether each sentence of a text is asked about apart, for texts that are longer than the
            model reads. A sentence that names no target ("It is far too expensive.") is read and answered together
            with those since the last one that does, and those before the first with that; `truncated` is said of
            them together. Questions are asked of the whole text (default: False).
        return_all: whether answers with the `none_label` of the configuration are given too (default: False).
        abstain_below: answers whose score is lower have the label None and are always given (default: 0, never).
        explain: True or "gradient" to give with each answer the relevance of its words for the logit of its most
            probable label, by the paper's gradient sensitivity, or "integrated_gradients"; these need Captum
            (`pip install captum`). "attention" gives what the model attends to instead (default: False).
        batch_size: questions in a forward pass (default: 32). Questions of like length share one.

    An answer is a dict of plain Python types. Its probabilities are calibrated: see `calibration_temperature` of the
    configuration.
        target, aspect: the context; the target is the user's own name where there is one, "" without targets.
        label, score: the most probable label and its probability; where likeness says whether a text speaks of the
            aspect, the most probable but the `none_label` if `present` is above 0.5. The label is None of an
            abstention: below `abstain_below`, or of a target that stands only in what is not read of a text.
        present: P(the text speaks of the aspect), one minus that of the `none_label`; 1.0 for models without one.
        sentiment: P(label | present) of every label but the `none_label`.
        probabilities: of every label.
        truncated: whether the end of the text was too long for the model and not read.
        in_training: of a model with `context_source="text"`: whether the aspect was in its training, case
            aside; None of a question without an aspect.
        start, end: with `split_sentences`, what the answer is about: text[start:end], one sentence or several.
        words: with `explain`, the words that were read: `word`, which is text[start:end], `start`, `end`, `relevance`.
            Relevance is that of the word's tokens, in which the most relevant of the text has 1 or -1. With
            "attention" a word has, in place of it, `attention` and `quasi_term`: see `attention_of_words`.

    Raises:
        ValueError: if an input is no text or question or a name is unknown; it gives the input's number. Of a list
            all inputs are checked before the model runs; an iterator gives all answers that come before.
        TypeError: for a parameter that does not exist.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_video_processor = _load_feature_extractor = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._batch_size = BATCH_SIZE if self._batch_size is None else self._batch_size
        self._none_label = getattr(self.model.config, "none_label", NONE_LABEL)
        # Others, such as BERT-pair, read their context in the text alone.
        self._takes_contexts = hasattr(type(self.model.config), "num_contexts")
        self.model.eval()

    def _sanitize_parameters(self, **parameters) -> tuple[dict, dict, dict]:
        parameters.pop("local_files_only", None)  # of transformers.pipeline(), which hands it on
        unknown = sorted(set(parameters) - set(PARAMETERS))
        if unknown:
            raise TypeError(
                f"{shorten(', '.join(unknown))}: no parameter of {TASK}, which has {', '.join(PARAMETERS)}"
            )
        given = {name: value for name, value in parameters.items() if value is not None}
        for name in ("targets", "aspects"):
            if name in given and not isinstance(given[name], (str, Mapping)):
                given[name] = listed(name, given[name])
        contexts = Contexts.from_config(self.model.config)
        if isinstance(given.get("targets"), Mapping):
            if contexts.is_open and not contexts.targets:
                words = shorten(repr(list(given["targets"])))
                raise ValueError(f"targets={shorten(repr(given['targets']))}: this model takes words, give {words}")
            check_names("targets", given["targets"].values(), contexts.targets)
            given["targets"] = OwnNames(given["targets"])
        for name, known in (("targets", contexts.targets), ("aspects", contexts.aspects)):
            if name in given and not isinstance(given[name], OwnNames):
                check_names(name, given[name], None if contexts.is_open else known)
        if contexts.is_open:
            check_vocabulary(given.get("aspects", ()), self.tokenizer)
        threshold = given.get("abstain_below", 0.0)
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise ValueError(f"abstain_below={shorten(repr(threshold))}: give a probability, from 0 to 1")
        for name in ("split_sentences", "return_all"):
            if not isinstance(given.get(name, False), bool):
                raise ValueError(f"{name}={shorten(repr(given[name]))}: give True or False")
        explain = given.get("explain", False)
        if explain not in (False, True, *METHODS, ATTENTION):
            raise ValueError(
                f"explain={shorten(repr(explain))}: give True or one of {', '.join((*METHODS, ATTENTION))}"
            )
        of_questions = {name: given[name] for name in OF_QUESTIONS if name in given}
        return of_questions, {}, {name: given[name] for name in given if name not in of_questions}

    def __call__(self, inputs: Any, *, batch_size: int | None = None, **parameters):
        of_questions, _, of_answers = self._sanitize_parameters(**parameters)
        of_questions = {**self._preprocess_params, **of_questions}
        of_answers = {**self._postprocess_params, **of_answers}
        batch_size = self._batch_size if batch_size is None else batch_size
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size={shorten(repr(batch_size))}: give a number of questions, at least 1")
        if isinstance(inputs, (str, Mapping)):
            asked = self._asked([inputs], **of_questions)
            return next(self._answers(iter(list(asked)), 1, batch_size, **of_answers))
        asked = self._asked(items_of(inputs), **of_questions)
        if isinstance(inputs, (list, tuple)):
            return list(self._answers(iter(list(asked)), len(inputs), batch_size, **of_answers))
        total = len(inputs) if hasattr(inputs, "__len__") else None
        return self._answers(asked, total, batch_size, **of_answers)

    def targets_in(self, text: str, **parameters) -> list[str]:
        """The targets that a text can be asked about, as its user calls them; [""] where the model has no targets.

        Args:
            parameters: `targets`, as in a call.
        Raises:
            ValueError: as a call.
        """
        of_questions, _, _ = self._sanitize_parameters(**parameters)
        targets = {**self._preprocess_params, **of_questions}.get("targets")
        return [name for _, _, name in self._about(text, targets)] if is_readable(text) else []

    def preprocess(
        self,
        input_: Any,
        number: int = 0,
        targets=None,
        aspects: Iterable[str] | None = None,
        split_sentences: bool = False,
    ) -> Asked:
        """The questions of an input, which is known by its number where it is at fault."""
        contexts = Contexts.from_config(self.model.config)
        names = targets if isinstance(targets, OwnNames) else None
        try:
            if isinstance(input_, Mapping):
                question = question_of(input_, contexts, names, split_sentences, self.tokenizer)
                return Asked([question], single=True)
            if not isinstance(input_, str):
                raise ValueError(f"it is {shown(input_)}: give a text or a question")
            if not is_readable(input_):
                return Asked([], single=False)
            spans = self._passages(input_, names) if split_sentences else [None]
            parts = [(input_ if span is None else input_[slice(*span)], span) for span in spans]
            about = [(*found, part, span) for part, span in parts for found in self._about(part, targets)]
        except ValueError as error:
            raise ValueError(f"input {number}: {error}") from error
        asked_aspects = [aspect for aspect in contexts.aspects if aspects is None or aspect in aspects]
        if contexts.is_open and aspects is not None:
            asked_aspects = list(dict.fromkeys(aspects))
        elif contexts.is_open and targets is not None and not contexts.targets:
            asked_aspects = [NO_ASPECT]  # training had no aspects of targets
        questions = [
            Question(text, target, aspect, name, part, names, span, bool(target) and not aspect)
            for text, target, name, part, span in about
            for aspect in asked_aspects
        ]
        return Asked(questions, single=False, names_no_target=not about)

    def _about(self, text: str, targets: OwnNames | list[str] | None) -> list[tuple[str, str, str]]:
        """Of each target that a text names: the text as the model reads it, the target there, the user's name."""
        if isinstance(targets, OwnNames):
            return [(targets.text_about(name, text), targets.targets[name], name) for name in targets.in_text(text)]
        contexts = Contexts.from_config(self.model.config)
        if targets is not None:
            contexts = contexts.including(targets, ())
        found = dict.fromkeys(target for target, _ in contexts.in_text(text))
        if contexts.is_open and targets is None:
            found = found or [NO_TARGET]
        return [(text, target, target) for target in found if targets is None or target in targets]

    def _passages(self, text: str, names: OwnNames | None) -> list[tuple[int, int]]:
        contexts = Contexts.from_config(self.model.config)
        if not contexts.targets:
            return sentences(text)
        patterns = [occurrence(target) for target in contexts.targets] if names is None else [names.pattern]
        return passages(text, [found.span() for pattern in patterns for found in pattern.finditer(text)])

    def _asked(self, inputs: Iterable, targets=None, **of_questions) -> Iterator[Asked]:
        """What each input asks; a warning where they end, if none names a target."""
        without_target, any_question = False, False
        for number, input_ in enumerate(inputs):
            asked = self.preprocess(input_, number, targets, **of_questions)
            without_target |= asked.names_no_target
            any_question |= bool(asked.questions)
            yield asked
        known = targets.targets if isinstance(targets, OwnNames) else targets
        known = list(Contexts.from_config(self.model.config).targets if known is None else known)
        if not without_target or any_question or not known:
            return
        if isinstance(targets, OwnNames) or Contexts.from_config(self.model.config).is_open:
            remedy = "give them as they are written in the texts"
        else:
            remedy = f'map the names in your texts to them, targets={{"Camden": "{known[0]}"}}'
        warnings.warn(
            f"no text names one of the targets {shorten(', '.join(known))}, so that nothing is answered: {remedy}",
            NoTargetWarning,
            stacklevel=3,  # where the pipeline was called with a text or a list
        )

    def _answers(
        self,
        asked: Iterator[Asked],
        total: int | None,
        batch_size: int,
        return_all: bool = False,
        explain: bool | str = False,
        **of_answers,
    ) -> Iterator[dict | list[dict]]:
        """What is answered to each input, in order."""
        with logging.tqdm(total=total, desc=TASK, unit="text", delay=PROGRESS_AFTER_S, disable=None) as progress:
            for window in windows(asked, WINDOW * batch_size):
                questions = [question for one in window for question in one.questions]
                answered = zip(questions, self._answer(questions, batch_size, **of_answers), strict=True)
                given = []  # of each input its questions and answers, but for those that are left out
                for one in window:
                    own = islice(answered, len(one.questions))
                    all_of_them = one.single or return_all or self._none_label is None
                    given.append([pair for pair in own if all_of_them or pair[1]["label"] != self._none_label])
                if explain:
                    method = METHODS[0] if explain is True else explain
                    left = [pair for own in given for pair in own]
                    explain_answers(self.model, self.tokenizer, left, batch_size, method)
                for one, own in zip(window, given, strict=True):
                    answers = [answer for _, answer in own]
                    progress.update()
                    yield answers[0] if one.single else answers

    def _answer(self, questions: list[Question], batch_size: int, **of_answers) -> list[dict]:
        """All answers to some questions, in order."""
        config = self.model.config
        asked = [[getattr(question, field) for question in questions] for field in ("text", "target", "aspect")]
        trained = Contexts.from_config(config)
        contexts = trained.including(*asked[1:])
        new = []  # aspects of which likeness says whether a text speaks of them
        if getattr(config, "likeness_calibration", None) is not None:
            new = [aspect for aspect in dict.fromkeys(asked[2]) if trained.knows(aspect) is False]
        # With auxiliary sentences the states of a text know what it is asked about.
        is_found_here = bool(new) and not config.auxiliary_sentence
        rows, numbers = encode_questions(config, self.tokenizer, contexts, *asked, mark_words=is_found_here)
        vectors = None
        if self._takes_contexts and contexts.is_open:
            vectors = vectors_of(self.model, self.tokenizer, contexts, chain.from_iterable(rows["context_ids"]))
        if is_found_here:
            directions = aspect_vectors(self.model, self.tokenizer, new)
            columns = {aspect: column for column, aspect in enumerate(new)}
        logits, found = torch.empty(len(questions), config.num_labels), torch.empty(len(questions))
        read = [None] * len(questions)  # how far the text of each, None for all of it
        for own, of_row in zip(numbers, rows["read"], strict=True):
            for number in own:
                read[number] = of_row

        for batch in batches(rows, batch_size):
            inputs = self._inputs(rows, batch, vectors)
            if is_found_here:
                inputs["is_word"] = padded(rows["is_word"][row] for row, _ in batch)
                inputs["aspect_vectors"] = directions
            outputs = self.forward(inputs)
            answers = outputs["logits"].reshape(len(batch), -1, config.num_labels)
            for place, (row, part) in enumerate(batch):
                own = numbers[row][part]
                logits[own] = answers[place, : len(own)]
                if is_found_here:
                    found[own] = outputs["likeness"][place, [columns.get(asked[2][number], 0) for number in own]]
        if not logits.isfinite().all():
            raise ValueError(
                "the model's answers are not finite: its weights are not, or do not fit into its dtype; load it with "
                "dtype=torch.float32, or another"
            )
        if unknown := [number for number, aspect in enumerate(asked[2]) if aspect in new]:
            if not is_found_here:
                apart = ([column[number] for number in unknown] for column in asked)
                found[unknown] = likeness(self.model, self.tokenizer, *apart)
            logits[unknown] = by_likeness(config, logits[unknown], found[unknown], self._none_label)
        return self.postprocess(
            {"questions": questions, "logits": logits, "read": read, "unknown": unknown}, **of_answers
        )

    def _inputs(
        self, rows: Mapping[str, list], batch: list[tuple[int, slice]], vectors: Mapping[int, torch.Tensor] | None
    ) -> dict[str, torch.Tensor]:
        """What the model takes of a batch; its contexts as their vectors, where there are such."""
        inputs = {name: [rows[name][row] for row, _ in batch] for name in TOKENS}
        # The model reads its answer off the first position, whatever the tokenizer's side.
        inputs = dict(self.tokenizer.pad(inputs, padding_side="right", return_tensors="pt"))
        if self._takes_contexts:
            ids = [rows["context_ids"][row][part] for row, part in batch]
            name, told = "context_ids", map(torch.tensor, ids)
            if vectors is not None:
                name, told = "context_embeds", (torch.stack([vectors[number] for number in own]) for own in ids)
            inputs[name] = pad_sequence(list(told), batch_first=True)  # with contexts no one looks at
        return inputs

    def _forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        if "is_word" not in batch:
            return {"logits": self.model(**batch).logits.float()}  # (B, labels) or (B, K, labels)
        like = batch.pop("is_word"), batch.pop("aspect_vectors")
        outputs = self.model(**batch, output_shared_states=True)
        return {"logits": outputs.logits.float(), "likeness": nearest_token(outputs.shared_states, *like)}

    def postprocess(self, answered: dict, abstain_below: float = 0.0) -> list[dict]:
        """Answers from questions, their logits (questions, labels), and what else is told of each."""
        config = self.model.config
        contexts = Contexts.from_config(config)
        labels = [config.id2label[index] for index in range(config.num_labels)]
        scaled = answered["logits"].double() / getattr(config, "calibration_temperature", 1.0)
        is_sentiment = torch.tensor([label != self._none_label for label in labels])
        are_of_words = [contexts.is_open and question.is_of_word for question in answered["questions"]]
        scaled = scaled.masked_fill(
            torch.tensor(are_of_words, dtype=torch.bool)[:, None] & ~is_sentiment, float("-inf")
        )
        probabilities = scaled.softmax(-1)
        sentiments = scaled[:, is_sentiment].softmax(-1)
        sentiment_labels = [label for label in labels if label != self._none_label]
        said = labels_said(probabilities, is_sentiment, answered["unknown"])
        columns = (of_each.tolist() for of_each in (probabilities, sentiments, said))
        answers = []
        for question, read, row, sentiment, label_id in zip(
            answered["questions"], answered["read"], *columns, strict=True
        ):
            by_label, best = dict(zip(labels, row, strict=True)), labels[label_id]
            is_read = read is None or is_within(*contexts.as_read(question.text, question.target), read)
            answers.append(
                {
                    "target": question.name,
                    "aspect": question.aspect,
                    "label": best if is_read and by_label[best] >= abstain_below else None,
                    "score": by_label[best],
                    "present": 1.0 - by_label.get(self._none_label, 0.0),
                    "sentiment": dict(zip(sentiment_labels, sentiment, strict=True)),
                    "probabilities": by_label,
                    "truncated": read is not None,
                }
            )
            if contexts.is_open:
                answers[-1]["in_training"] = contexts.knows(question.aspect)
            if question.span is not None:
                answers[-1]["start"], answers[-1]["end"] = question.span
        return answers
