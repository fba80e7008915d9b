"""How each kind of model is asked. All but pairs bring a pipeline of their own with the checkpoint."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from itertools import cycle
from typing import ClassVar

import torch
from transformers import AutoConfig, pipeline

from asking import (
    LEFT_OUT,
    LOCK,
    MAX_NAMES,
    Answer,
    Asked,
    Asker,
    Attention,
    Explained,
    Weighed,
    check_rows,
    is_readable,
)
from names import names_in, places

MAX_WORDS_INTEGRATED = 100  # which the model reads 64 times, while all others wait
MOST_TOKENS = 512  # of a text, where neither model nor tokenizer has a limit
PAIRS_AT_ONCE = 32


class FoundTerms(Asker):
    """A tagger, which finds the terms of a text itself."""

    does = "Finds the things that a text speaks of, and what the text says of each."

    def answers(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> list[list[Answer]]:
        return [[Answer().told(answer) for answer in of_text] for of_text in self._found(list(texts), names)]

    def again(self, asked: Asked, answer: Answer, texts: Sequence[tuple[str, int]]) -> list[float]:
        answered = self.answers([text for text, _ in texts], asked.names, ())
        return [
            max((one.probability(answer.label) for one in of_text if is_same(one, answer, shift)), default=0.0)
            for of_text, (_, shift) in zip(answered, texts, strict=True)
        ]

    def _found(self, texts: list[str], names: Sequence[str]) -> list[list[dict]]:
        return self.pipe(texts)


def is_same(one: Answer, other: Answer, shift: int) -> bool:
    """Whether an answer is about the target of another one, which stood so many characters later."""
    if other.target_start is None:
        return one.opinion == other.opinion
    return one.target == other.target and one.target_start == other.target_start - shift


# Of a model that generates, what answers most; the last two are asked about given terms.
DOES = {
    "aste": "Finds the things that a text speaks of, the words that judge each, and what they say.",
    "aesc": FoundTerms.does,
    "aope": "Finds the things that a text speaks of, and the words that judge each.",
    "ate": "Finds the things that a text speaks of.",
    "ote": "Finds the words of a text that judge something.",
    "alsc": "Says what a text says of those of its words that you ask about.",
    "aoe": "Finds the words of a text that judge those that you ask about.",
}
GIVEN = ("alsc", "aoe")


class GeneratedTerms(FoundTerms):
    """A model that generates terms and opinions, of the text or of given terms."""

    def __init__(self, pipe):
        super().__init__(pipe)
        self.task = min(pipe.model.config.tasks, key=list(DOES).index)
        self.asks_names = self.task in GIVEN
        self.does = DOES[self.task]

    def check(self, names: Sequence[str], aspects: Sequence[str]):
        super().check(names, aspects)
        if self.asks_names and not names:
            raise ValueError("Say what to ask about: words of the text, such as soup.")

    def names_for(self, text: str, names: Sequence[str]) -> tuple[list[str], list[str], bool]:
        return (*present(text, names), False) if self.asks_names else ([], [], False)

    def _found(self, texts: list[str], names: Sequence[str]) -> list[list[dict]]:
        if not self.asks_names:
            return self.pipe(texts, task=self.task)
        places_of = [sorted({place for name in names for place in places(name, text)}) for text in texts]
        asked = [
            {"text": text, "target_start": start, "target_end": end}
            for text, own in zip(texts, places_of, strict=True)
            for start, end in own
        ]
        answered = iter(self.pipe(asked, task=self.task))
        return [[answer for _ in own for answer in next(answered)] for own in places_of]


class Questions(Asker):
    """A classifier, which is asked about the aspects that it knows, or about any words."""

    def __init__(self, pipe):
        super().__init__(pipe)
        config = pipe.model.config
        self.aspects = list(getattr(config, "aspects", None) or [])
        self.takes_words = not self.aspects or getattr(config, "context_source", "id") == "text"
        self.asks_names = self.takes_words
        self.none_label = getattr(config, "none_label", "none")
        self.does = "Says what a text says of each aspect."
        if self.takes_words:
            self.does = "Says what a text says of those of its words that you ask about, and of any aspect."

    def names_for(self, text: str, names: Sequence[str]) -> tuple[list[str], list[str], bool]:
        if not self.asks_names:
            return [], [], False
        return *present(text, names), False

    def questions(self, text: str, names: Sequence[str], aspects: Sequence[str]) -> list[Answer]:
        """What a text is asked, as answers that are open: about words of it where they stand, and about aspects."""
        spans = sorted({place for name in names for place in places(name, text)})
        return [
            *(Answer(target=text[start:end], target_start=start, target_end=end) for start, end in spans),
            *(Answer(aspect=aspect) for aspect in aspects if is_readable(text)),
        ]

    def answers(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> list[list[Answer]]:
        asked = [self.questions(text, names, aspects) for text in texts]
        answered = self.answer([(text, one) for text, own in zip(texts, asked, strict=True) for one in own])
        return [[next(answered) for _ in own] for own in asked]

    def again(self, asked: Asked, answer: Answer, texts: Sequence[tuple[str, int]]) -> list[float]:
        answered = self.answer([(text, moved(answer, shift)) for text, shift in texts])
        return [one.probability(answer.label) for one in answered]

    def answer(self, questions: Sequence[tuple[str, Answer]]) -> Iterator[Answer]:
        """The answers to questions about texts."""
        asked = [{"text": text, "target": one.target or "", "aspect": one.aspect or ""} for text, one in questions]
        return (told(one, answer) for (_, one), answer in zip(questions, self.pipe(asked), strict=True))


def moved(answer: Answer, shift: int) -> Answer:
    """An answer to a text in which its target stands so many characters earlier."""
    if answer.target_start is None:
        return answer
    return replace(answer, target_start=answer.target_start - shift, target_end=answer.target_end - shift)


def told(question: Answer, answer: Mapping) -> Answer:
    """An answer of the pipeline, in which a target that is not read has no label."""
    said = question.told({**answer, "target": question.target})
    return replace(said, score=None, probabilities=None) if said.label is None else said


def present(text: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names that stand in a text, and what to say of the others.

    Raises:
        ValueError: if none of them does.
    """
    missing = [name for name in names if not places(name, text)]
    if missing and len(missing) == len(names):
        raise ValueError(f"{', '.join(names)} does not stand in the text: write what to ask about as it stands there.")
    notes = [f"Not in the text: {', '.join(missing)}."] if missing else []
    return [name for name in names if name not in missing], notes


class ContextGuided(Questions):
    """A classifier with contexts: it knows targets, or reads any words, and shows what it attends to."""

    methods: ClassVar[dict[str, str]] = {
        LEFT_OUT: "leaving words out",
        "gradient": "gradient",
        "integrated_gradients": "integrated gradients",
    }

    def __init__(self, pipe):
        super().__init__(pipe)
        config = pipe.model.config
        self.targets = list(getattr(config, "targets", None) or [])
        if self.targets:
            self.asks_names, self.does = True, "Says what a text says of each name in it, aspect by aspect."
        of_text = config.get_text_config(encoder=True)
        self.num_layers, self.num_heads = of_text.num_hidden_layers, of_text.num_attention_heads

    def mapping(self, names: Sequence[str]) -> dict[str, str] | None:
        """The model's target for each name."""
        in_turn = cycle([target for target in self.targets if target not in names] or self.targets)
        return {name: name if name in self.targets else next(in_turn) for name in names} or None

    def names_for(self, text: str, names: Sequence[str]) -> tuple[list[str], list[str], bool]:
        if not self.targets:
            return super().names_for(text, names)
        if not names and self.pipe.targets_in(text):
            return [], [], False
        found = list(names) or names_in(text)
        asked = found[:MAX_NAMES]
        read = self.pipe.targets_in(text, targets=self.mapping(asked)) if asked else []
        if not read:
            given = f"{', '.join(names)} does not stand in the text" if names else "No name was found in the text"
            raise ValueError(f"{given}: write what to ask about as it stands there.")
        missing = [name for name in asked if name not in read]
        notes = [f"Not in the text: {', '.join(missing)}."] if missing else []
        if len(found) > len(asked):
            notes.append(f"Not asked about: {', '.join(found[len(asked) :])}. {MAX_NAMES} names are the most.")
        return asked, notes, not names

    def ask_all(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> Iterator[list[Answer]]:
        if self.targets and names:
            check_rows(texts, partial(self.pipe.targets_in, targets=self.mapping(names)))
        elif self.targets and not any(map(self.pipe.targets_in, texts)):
            raise ValueError("Write the names to ask about, as the texts of the file have them.")
        return super().ask_all(texts, names, aspects)

    def answers(self, texts: Sequence[str], names: Sequence[str], aspects: Sequence[str]) -> list[list[Answer]]:
        if not self.targets:
            return super().answers(texts, names, aspects)
        answered = self.pipe(list(texts), targets=self.mapping(names), aspects=list(aspects), return_all=True)
        return [
            [told(in_place(answer["target"], text, names), answer) for answer in of_text]
            for text, of_text in zip(texts, answered, strict=True)
        ]

    def questions(self, text: str, names: Sequence[str], aspects: Sequence[str]) -> list[Answer]:
        named = [in_place(name, text, names) for name in names if places(name, text)]  # asked once, wherever it stands
        return [*named, *super().questions(text, (), aspects)]

    def again(self, asked: Asked, answer: Answer, texts: Sequence[tuple[str, int]]) -> list[float]:
        answered = self.pipe([{**question_of(answer), "text": text} for text, _ in texts], **self.named(asked))
        return [one["probabilities"][answer.label] for one in answered]

    def named(self, asked: Asked) -> dict:
        """The parameter by which the pipeline finds the names of a text."""
        return {"targets": self.mapping(asked.names)} if self.targets else {}

    def explain(self, asked: Asked, answer: Answer, method: str = LEFT_OUT) -> Explained:
        if method == "integrated_gradients" and len(asked.text.split()) > MAX_WORDS_INTEGRATED:
            raise ValueError(f"Integrated gradients take {MAX_WORDS_INTEGRATED} words at most: choose another.")
        words = super().explain(asked, answer).words if method == LEFT_OUT else None
        question = {**question_of(answer), "text": asked.text}
        with LOCK:
            if words is None:
                weighed = self.pipe(question, explain=method, **self.named(asked))["words"]
                words = [Weighed(word["start"], word["end"], word["relevance"]) for word in weighed]
            attended = self.pipe(question, explain="attention", **self.named(asked))["words"]
        whole = torch.tensor([word["attention"] for word in attended])
        quasi_term = [word["quasi_term"] for word in attended if "quasi_term" in word]
        added = torch.tensor(quasi_term) if quasi_term else 0 * whole
        return Explained(answer, method, words, Attention([word["word"] for word in attended], whole, added))


def in_place(name: str, text: str, names: Sequence[str]) -> Answer:
    """A question about a name, with the place where it stands first, as no part of a longer name."""
    longer = [place for other in names if len(other) > len(name) for place in places(other, text)]
    own = [place for place in places(name, text) if not any(a <= place[0] and place[1] <= b for a, b in longer)]
    start, end = next(iter(own), (None, None))
    return Answer(target=name or None, target_start=start, target_end=end)


def question_of(answer: Answer) -> dict:
    return {"target": answer.target or "", "aspect": answer.aspect or ""}


class Pairs(Questions):
    """A classifier of pairs of a text and the words it is asked about, as Transformers' own models are."""

    @torch.no_grad()
    def answer(self, questions: Sequence[tuple[str, Answer]]) -> Iterator[Answer]:
        for start in range(0, len(questions), PAIRS_AT_ONCE):
            batch = questions[start : start + PAIRS_AT_ONCE]
            inputs, are_read, are_cut = self._encoded(batch)
            logits = self.pipe.model(**inputs).logits.double().cpu()
            config = self.pipe.model.config
            temperature = getattr(config, "calibration_temperature", 1.0)
            for (_, one), row, is_read, is_cut in zip(
                batch, (logits / temperature).softmax(-1), are_read, are_cut, strict=True
            ):
                probabilities = {config.id2label[number]: p for number, p in enumerate(row.tolist())}
                label = max(probabilities, key=probabilities.get)
                said = {"label": label, "score": probabilities[label], "probabilities": probabilities}
                yield replace(one.told(said if is_read else {}), truncated=is_cut)

    def _encoded(self, batch: Sequence[tuple[str, Answer]]) -> tuple[dict[str, torch.Tensor], list[bool], list[bool]]:
        """Texts as training wrote them, and whether the target of each was read, and the text cut."""
        model, tokenizer, config = self.pipe.model, self.pipe.tokenizer, self.pipe.model.config
        rows, are_read, are_cut = [], [], []
        limit = getattr(config.get_text_config(encoder=True), "max_position_embeddings", None) or MOST_TOKENS
        target_type = getattr(config, "target_token_type", None)
        for text, one in batch:
            blanks_removed = " ".join(text.split())
            asked = one.target or " ".join(re.split(r"[-_/#\s]+", one.aspect)).strip()
            row = tokenizer(
                blanks_removed,
                " ".join(asked.split()) if config.auxiliary_sentence else None,
                truncation="only_first",
                max_length=min(limit, tokenizer.model_max_length),
                return_token_type_ids=True,
            )
            (encoding,) = row.encodings
            own = self._tokens_of(encoding, text, blanks_removed, one)
            are_read.append(one.target is None or bool(own))
            are_cut.append(bool(encoding.overflowing))
            if target_type is not None:
                for token in own:
                    row["token_type_ids"][token] = target_type
            rows.append({name: row[name] for name in ("input_ids", "token_type_ids", "attention_mask")})
        inputs = tokenizer.pad(rows, return_tensors="pt").to(model.device)
        taken = signature(model.forward).parameters
        return {name: tensor for name, tensor in inputs.items() if name in taken}, are_read, are_cut

    @staticmethod
    def _tokens_of(encoding, text: str, blanks_removed: str, one: Answer) -> list[int]:
        """Numbers of the tokens of a target, which stands at another place where blanks were removed."""
        if one.target is None:
            return []
        number = places(one.target, text).index((one.target_start, one.target_end))
        start, end = places(one.target, blanks_removed)[number]
        spans = zip(encoding.sequence_ids, encoding.offsets, strict=True)
        return [token for token, (row, span) in enumerate(spans) if row == 0 and span[0] < end and start < span[1]]


PIPELINES: dict[str, Callable[..., Asker]] = {
    "aspect-sentiment": ContextGuided,
    "aspect-term-sentiment": FoundTerms,
    "aspect-opinion-extraction": GeneratedTerms,
}


def load(model: str, revision: str | None = None, device: int = -1) -> Asker:
    """What asks a model.

    Args:
        model: folder or Hub id.
        revision: of the Hub.
        device: number of a GPU, -1 for the CPU.
    Raises:
        OSError: if there is no such model.
        ValueError: if it is none that can be asked here.
    """
    given = {"revision": revision, "trust_remote_code": True}
    config = AutoConfig.from_pretrained(model, **given)
    for task in PIPELINES.keys() & (getattr(config, "custom_pipelines", None) or {}).keys():
        return PIPELINES[task](pipeline(task, model=model, device=device, **given))
    is_classifier = (config.architectures or [""])[0].endswith("ForSequenceClassification")
    if not is_classifier or not hasattr(config, "auxiliary_sentence"):
        raise ValueError("it brings no pipeline for texts, and is no classifier of pairs: see examples/predict.py")
    if config.targets:
        raise ValueError(f"it knows the targets {', '.join(config.targets)} only: ask it with examples/predict.py")
    return Pairs(pipeline("text-classification", model=model, device=device, **given))
