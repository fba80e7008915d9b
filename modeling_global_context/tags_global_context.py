"""Tags of sequences: which schemes there are, how they become spans and back, and which tag may follow which.

A tag is "O" or a prefix, a hyphen and a type, such as "B-POS"; the type is all behind the first hyphen. A span is
`(start, end, type)` over words, the end exclusive. Nothing here needs PyTorch.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Scheme = Literal["BIEOS", "BIO", "plain"]
Span = tuple[int, int, str]
OUTSIDE = "O"


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and type: `"B-creative-work"` -> `("B", "creative-work")`, `"O"` -> `("O", "")`."""
    prefix, _, type_ = tag.partition("-")
    return prefix, type_


def scheme_of(labels: Iterable[str]) -> Scheme:
    """The scheme that the names of labels are of: "plain" where none has a prefix, as parts of speech.

    Raises:
        ValueError: if some labels have a prefix and some have none, or a type has an inside or an end without a
            beginning.
    """
    labels = [label for label in labels if label != OUTSIDE]
    tagged = [label for label in labels if split_tag(label)[0] in ("B", "I", "E", "S") and split_tag(label)[1]]
    if not tagged:
        return "plain"
    if len(tagged) < len(labels):
        without = next(label for label in labels if label not in tagged)
        raise ValueError(
            f"the labels {labels} are of several schemes: {tagged[0]} has a prefix, {without} has none; give all "
            "labels but O a prefix, or none"
        )
    prefixes_of = {}
    for prefix, type_ in map(split_tag, tagged):
        prefixes_of.setdefault(type_, set()).add(prefix)
    for type_, prefixes in prefixes_of.items():
        if prefixes & {"I", "E"} and "B" not in prefixes:
            raise ValueError(
                f"the labels {labels} have no B-{type_}: a span of several words needs one; convert the tags to BIO"
            )
    return "BIEOS" if any(prefixes & {"E", "S"} for prefixes in prefixes_of.values()) else "BIO"


def labels_of(scheme: Scheme, types: Iterable[str]) -> list[str]:
    """All labels of a scheme with prefixes, "O" first: 13 for BIEOS and three types."""
    prefixes = {"BIEOS": "BIES", "BIO": "BI"}[scheme]
    return [OUTSIDE, *(f"{prefix}-{type_}" for type_ in types for prefix in prefixes)]


def tag_span(start: int, end: int, type_: str, scheme: Scheme) -> list[str]:
    """The tags of one span, `end - start` of them."""
    length = end - start
    if scheme == "BIO":
        return [f"B-{type_}", *[f"I-{type_}"] * (length - 1)]
    if length == 1:
        return [f"S-{type_}"]
    return [f"B-{type_}", *[f"I-{type_}"] * (length - 2), f"E-{type_}"]


def tags_of(spans: Iterable[Span], num_words: int, scheme: Scheme) -> list[str]:
    """A sentence's tags.

    Raises:
        ValueError: if a span is empty, lies outside of the sentence or overlaps with another: no tags say that.
    """
    tags = [OUTSIDE] * num_words
    for start, end, type_ in spans:
        if not 0 <= start < end <= num_words or any(tag != OUTSIDE for tag in tags[start:end]):
            raise ValueError(
                f"the span {(start, end, type_)} is empty, outside of a sentence of {num_words} words or overlaps "
                "with another: leave it out"
            )
        tags[start:end] = tag_span(start, end, type_, scheme)
    return tags


def spans_of(tags: Sequence[str], scheme: Scheme) -> list[Span]:
    """The well-formed spans among a sentence's tags, in order: B I* E or S of one type, in BIO B I*.

    Tags that make no such span make none: what they would mean is a question that each metric answers differently.
    """
    spans, start, open_type = [], None, ""
    for position, tag in enumerate([*tags, OUTSIDE]):
        prefix, type_ = split_tag(tag)
        continues = start is not None and type_ == open_type and prefix in ("I", "E")
        if start is not None and not continues and scheme == "BIO":
            spans.append((start, position, open_type))
        if continues and prefix == "E":
            spans.append((start, position + 1, type_))
        if prefix == "S":
            spans.append((position, position + 1, type_))
        if prefix == "B":
            start, open_type = position, type_
        elif not continues or prefix == "E":
            start = None
    return spans


def convert(tags: Sequence[str], from_: Scheme, to: Scheme) -> list[str]:
    """Tags in another scheme; BIO and BIEOS say the same of well-formed tags."""
    return tags_of(spans_of(tags, from_), len(tags), to)


class Transitions(NamedTuple):
    """Which labels a sentence may start with and end with, and which may follow which."""

    start: list[bool]
    """(labels,)"""
    between: list[list[bool]]
    """(labels, labels): from a row's to a column's"""
    end: list[bool]
    """(labels,)"""


def well_formed_transitions(labels: Sequence[str]) -> Transitions:
    """What a sentence of well-formed tags may do; everything, for labels without prefixes."""
    scheme = scheme_of(labels)
    parts = [split_tag(label) for label in labels]
    if scheme == "plain":
        everything = [True] * len(labels)
        return Transitions(everything, [everything for _ in labels], everything)

    def is_open(prefix: str) -> bool:  # the span must go on
        return scheme == "BIEOS" and prefix in ("B", "I")

    def may_follow(before: tuple[str, str], after: tuple[str, str]) -> bool:
        if after[0] in ("I", "E"):
            return before[0] in ("B", "I") and before[1] == after[1]
        return not is_open(before[0])

    return Transitions(
        start=[prefix not in ("I", "E") for prefix, _ in parts],
        between=[[may_follow(before, after) for after in parts] for before in parts],
        end=[not is_open(prefix) for prefix, _ in parts],
    )


def check_well_formed(tags: Sequence[str], labels: Sequence[str]):
    """Refuses gold tags that a model with `crf_constraints` holds to be impossible.

    Raises:
        ValueError: naming the two tags that may not stand side by side.
    """
    allowed = well_formed_transitions(labels)
    numbers = [list(labels).index(tag) for tag in tags]
    if not numbers:
        return
    if not allowed.start[numbers[0]]:
        raise ValueError(f"tags {list(tags)}: a sentence may not start with {tags[0]}")
    if not allowed.end[numbers[-1]]:
        raise ValueError(f"tags {list(tags)}: a sentence may not end with {tags[-1]}")
    for position, (before, after) in enumerate(pairwise(numbers)):
        if not allowed.between[before][after]:
            raise ValueError(
                f"tags {list(tags)}: {labels[after]} may not follow {labels[before]} at word {position + 1}"
            )


__all__ = [
    "check_well_formed",
    "convert",
    "labels_of",
    "scheme_of",
    "spans_of",
    "split_tag",
    "tag_span",
    "tags_of",
    "well_formed_transitions",
]
