"""Two texts in one, whose opinions a model has to keep apart: those of two places, or of two aspects of one."""

import logging
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from absa.tasks.base import Rows
from absa.tasks.rows import COLUMNS, PLACES
from modeling_qacg_bert.processing_qacg_bert import exchange, occurrence

logger = logging.getLogger(__name__)

JOINTS = (". ", "; ", ", ")
SEED = 0
MOST_TRIES = 100  # for each joined text


class Asked(NamedTuple):
    """A text that is asked about one target, or about none ("")."""

    text: str
    target: str
    labels: Mapping[str, str]
    """By aspect."""


def with_joined_texts(rows: Rows, share: float, none_label: str | None, targets: Sequence[str] = ()) -> Rows:
    """Rows and, behind them, those of joined texts, of which each is two texts with one target each, see `join`.

    Args:
        rows: of data that names its targets, or has none.
        share: how many joined texts there are for each text.
        none_label: the label of a text that does not speak of the aspect, if there is one.
        targets: those whose names may change places.
    Raises:
        ValueError: if targets are words of the texts, the share is negative, or too few texts can be joined.
    """
    if any(start is not None for start in rows.get(PLACES[0], ())):
        raise ValueError(f"joined_texts={share} is for data that names its targets, or has none: leave it out")
    if share < 0:
        raise ValueError(f"joined_texts={share}: give how many for each text, such as 0.5; 0 for none")
    labels = {}
    for id_, text, target, aspect, label in zip(*(rows[name] for name in COLUMNS), strict=True):
        labels.setdefault((id_, text), {}).setdefault(target, {})[aspect] = label
    texts = [Asked(text, *about.popitem()) for (_, text), about in labels.items() if len(about) == 1]
    speaking = [one for one in texts if set(one.labels.values()) - {none_label}]
    wanted, made, draw = round(share * len(labels)), 0, random.Random(SEED)
    columns = {name: list(column) for name, column in rows.items()}
    for _ in range(MOST_TRIES * wanted if speaking else 0):
        if made == wanted:
            break
        both = [draw.choice(speaking), draw.choice(texts)]
        draw.shuffle(both)
        if (joined := join(*both, none_label, targets, draw)) is None:
            continue
        made += 1
        text, about = joined
        for target, of_target in about.items():
            for aspect, label in of_target.items():
                new = {"id": f"joined-{made}", "text": text, "target": target, "aspect": aspect, "label": label}
                for name, column in columns.items():
                    column.append(new.get(name))
    if made < wanted:
        raise ValueError(
            f"joined_texts={share} asks for {wanted} texts, and {made} can be joined of those in training with one "
            "target each: give less, or leave it out"
        )
    logger.info("train: %d texts more, of two each", made)
    return columns


def join(
    first: Asked, second: Asked, none_label: str | None, targets: Sequence[str], draw: random.Random
) -> tuple[str, dict[str, Mapping[str, str]]] | None:
    """One text behind another, and the labels by target and aspect.

    Of two about the same target the second gets another name in half of the cases, if there is one that neither text
    has. Else an aspect has the label of the text that speaks of it.

    Returns:
        None if they are one text, or judge an aspect of the same target otherwise.
    """
    if first.text == second.text:
        return None
    if first.target == second.target and draw.random() < 0.5:
        free = [name for name in targets if not occurrence(name).search(f"{first.text} {second.text}")]
        if free and occurrence(second.target).search(second.text):
            name = draw.choice(free)
            pattern, replacement = exchange(second.target, name)
            second = second._replace(text=pattern.sub(replacement, second.text), target=name)
    about = {first.target: first.labels, second.target: second.labels}
    if len(about) == 1:
        if (merged := merge(first.labels, second.labels, none_label)) is None:
            return None
        about = {first.target: merged}
    start = first.text.rstrip(" .,;")
    joint = " " if start.endswith(("?", "!")) else draw.choice(JOINTS)
    return f"{start}{joint}{second.text.lstrip()}", about


def merge(labels: Mapping[str, str], others: Mapping[str, str], none_label: str | None) -> dict[str, str] | None:
    """The label of each aspect in two texts about one target; None where they judge one otherwise."""
    merged = dict(labels)
    for aspect, label in others.items():
        known = merged.get(aspect, none_label)
        if label != none_label and known not in (none_label, label):
            return None
        merged[aspect] = known if label == none_label else label
    return merged
