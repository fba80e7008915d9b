"""Contexts: (target, aspect) <-> id, how they are written for the model, and the encoding of texts with contexts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

NO_TARGET = ""  # the target of a task without targets, such as SemEval-2014
PLACEHOLDER = re.compile(r"(LOCATION|TARGET|ENTITY)_?(\d+)")  # a masked target such as SentiHood's LOCATION1


@dataclass(frozen=True)
class Contexts:
    """The contexts a model knows, in the order of their ids: target by target, aspect by aspect.

    Args:
        targets: names of the targets; empty where the task has none.
        aspects: names of the aspects.
    """

    targets: tuple[str, ...]
    aspects: tuple[str, ...]

    def __post_init__(self):
        if not self.aspects:
            raise ValueError("aspects is empty: name at least one aspect")
        for field, names in (("targets", self.targets), ("aspects", self.aspects)):
            if len(set(names)) != len(names):
                raise ValueError(f"{field}={names}: a name occurs twice; each context has one id")

    @classmethod
    def from_config(cls, config) -> "Contexts":
        """The contexts of a model's configuration.

        Raises:
            ValueError: if the configuration names no aspects.
        """
        aspects = getattr(config, "aspects", None)
        if not aspects:
            raise ValueError(
                f"the configuration of this {config.model_type} names no aspects: set config.targets and "
                "config.aspects to the names its context ids stand for"
            )
        return cls(tuple(getattr(config, "targets", None) or ()), tuple(aspects))

    def __len__(self) -> int:
        return max(1, len(self.targets)) * len(self.aspects)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((target, aspect) for target in self.targets or (NO_TARGET,) for aspect in self.aspects)

    def id(self, target: str | None, aspect: str) -> int:
        """Context id of a (target, aspect) pair.

        Raises:
            ValueError: if the target or the aspect is unknown.
        """
        targets = self.targets or (NO_TARGET,)
        target = target or NO_TARGET
        if target not in targets:
            known = f"one of {list(self.targets)}" if self.targets else "no target: this model has aspects only"
            raise ValueError(f"target {target!r} is unknown: give {known}")
        if aspect not in self.aspects:
            raise ValueError(f"aspect {aspect!r} is unknown: give one of {list(self.aspects)}")
        return targets.index(target) * len(self.aspects) + self.aspects.index(aspect)

    def pair(self, context_id: int) -> tuple[str, str]:
        """The (target, aspect) pair of a context id; the target is "" where the task has none.

        Raises:
            ValueError: if there is no such id.
        """
        if not 0 <= context_id < len(self):
            raise ValueError(f"context id {context_id} is unknown: give one of 0 to {len(self) - 1}")
        target_index, aspect_index = divmod(context_id, len(self.aspects))
        return (self.targets or (NO_TARGET,))[target_index], self.aspects[aspect_index]

    def in_text(self, text: str) -> list[tuple[str, str]]:
        """The contexts that a text can be asked about: the pairs whose target occurs in it; all, without targets."""
        return [(target, aspect) for target, aspect in self if not target or _occurrence(target).search(text)]

    def write_text(self, text: str) -> str:
        """The text as the model reads it: placeholders in their written form, known or not, and runs of blanks as one.

        `"LOCATION1's safe"` -> `"location - 1 's safe"`
        """
        return " ".join(PLACEHOLDER.sub(lambda found: f" {written_target(found[0])} ", text).split())

    def auxiliary_sentence(self, target: str | None, aspect: str) -> str:
        """The context in words (Sun et al., NAACL 2019, NLI form): `"location - 1 - transit location"`, `"price"`."""
        return " - ".join(part for part in (written_target(target or NO_TARGET), written_aspect(aspect)) if part)


def _occurrence(target: str) -> re.Pattern:
    """Where a target stands in a text. Placeholders are found inside words too, as SentiHood glues some of them."""
    if PLACEHOLDER.fullmatch(target):
        return re.compile(rf"{re.escape(target)}(?!\d)")
    return re.compile(rf"(?<!\w){re.escape(target)}(?!\w)", re.IGNORECASE)


def written_target(target: str) -> str:
    """A target as it is written for the model: placeholders `LOCATION1` -> `"location - 1"`, names as they are."""
    placeholder = PLACEHOLDER.fullmatch(target)
    return f"{placeholder[1].lower()} - {placeholder[2]}" if placeholder else target


def written_aspect(aspect: str) -> str:
    """An aspect as it is written for the model: `"transit-location"` -> `"transit location"`."""
    return " ".join(re.split(r"[-_/#\s]+", aspect)).strip()


def encode(
    tokenizer,
    contexts: Contexts,
    texts: Sequence[str],
    targets: Sequence[str | None],
    aspects: Sequence[str],
    *,
    auxiliary_sentence: bool = True,
    max_length: int = 512,
) -> dict[str, list]:
    """Encodes texts with one context each; the same for training and inference.

    Args:
        tokenizer: a fast BERT tokenizer.
        contexts: the contexts of the model.
        texts, targets, aspects: as many of each; row i asks about (targets[i], aspects[i]) of texts[i].
        auxiliary_sentence: whether the context is written behind the text.
        max_length: the most tokens of a row. A longer text loses its end, the auxiliary sentence nothing.
    Returns:
        Lists of as many rows, without padding: `input_ids`, `token_type_ids`, `attention_mask` and `context_ids`.
    Raises:
        ValueError: if a text is no string or has nothing to read, a target or aspect is unknown, the lengths differ
            or `max_length` leaves no room for the text.
    """
    if not len(texts) == len(targets) == len(aspects):
        raise ValueError(f"{len(texts)} texts, {len(targets)} targets, {len(aspects)} aspects: give as many of each")
    context_ids = [contexts.id(target, aspect) for target, aspect in zip(targets, aspects, strict=True)]
    written = []
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"text of row {row} is {text!r} ({type(text).__name__}): give a string")
        written.append(contexts.write_text(text))
        if not written[-1]:
            raise ValueError(f"text of row {row} is {text!r}: give a text that is not empty")

    if auxiliary_sentence:
        sentences = {pair: contexts.auxiliary_sentence(*pair) for pair in contexts}
        taken = max(len(tokenizer.tokenize(sentence)) for sentence in sentences.values())
        taken += tokenizer.num_special_tokens_to_add(pair=True)
        second = [sentences[contexts.pair(context_id)] for context_id in context_ids]
    else:
        taken, second = tokenizer.num_special_tokens_to_add(pair=False), None
    if max_length <= taken:
        raise ValueError(
            f"max_length={max_length} leaves no room for the text: {taken} tokens go to the auxiliary sentence and "
            f"the special tokens; raise it to at least {taken + 1}"
        )
    if not written:
        return {"input_ids": [], "token_type_ids": [], "attention_mask": [], "context_ids": []}
    encoded = tokenizer(
        written,
        second,
        truncation="only_first",
        max_length=max_length,
        padding=False,
        return_token_type_ids=True,
        return_attention_mask=True,
    )
    names = ("input_ids", "token_type_ids", "attention_mask")
    return {**{name: encoded[name] for name in names}, "context_ids": context_ids}


@torch.no_grad()
def predict(
    model,
    tokenizer,
    texts: Sequence[str],
    targets: Sequence[str | None],
    aspects: Sequence[str],
    *,
    batch_size: int = 32,
) -> torch.Tensor:
    """Probabilities of the labels for texts with one context each.

    Args:
        model: a sequence classifier whose configuration names its contexts, trained by `examples/run_absa.py`.
        tokenizer: its tokenizer.
        texts, targets, aspects: as for `encode`.
        batch_size: rows in one forward pass; rows of like length share one.
    Returns:
        (rows, labels) float32 on the CPU, in the order of the rows and of `model.config.id2label`.
    Raises:
        ValueError: as `encode`.
    """
    rows = encode(
        tokenizer,
        Contexts.from_config(model.config),
        texts,
        targets,
        aspects,
        auxiliary_sentence=model.config.auxiliary_sentence,
        max_length=min(model.config.max_position_embeddings, tokenizer.model_max_length),
    )
    if model.config.model_type == "bert":
        del rows["context_ids"]
    probabilities = torch.empty(len(texts), model.config.num_labels)
    by_length = sorted(range(len(texts)), key=lambda row: -len(rows["input_ids"][row]))
    was_training = model.training
    model.eval()
    try:
        for start in range(0, len(by_length), batch_size):
            chosen = by_length[start : start + batch_size]
            batch = tokenizer.pad({name: [column[row] for row in chosen] for name, column in rows.items()})
            batch = {name: torch.as_tensor(column, device=model.device) for name, column in batch.items()}
            probabilities[chosen] = model(**batch).logits.float().softmax(-1).cpu()
    finally:
        model.train(was_training)
    return probabilities
