"""Sentences of tags: checked, joined by id, and the spans that they mark.

A tag is "O", or a prefix, a hyphen and a type: "B-POS". A span is (first, last, type), both ends within it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from absa.metrics.rows import is_sequence, is_text, join_by_id, rows_by_id, shorten

SCHEMES = {"BIEOS": ("B", "I", "E", "S"), "BIO": ("B", "I"), "OT": ("T",)}
"""The prefixes of each scheme."""

Span = tuple[int, int, str]


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and type, which is all behind the first hyphen; ("O", "") of the tag O."""
    prefix, _, type_ = tag.partition("-")
    return prefix, type_


def strict_spans(tags: Sequence[str], scheme: str) -> list[Span]:
    """The spans of well-formed tags; what is not well-formed marks none.

    BIEOS: S, or B, any number of I, and E, all of one type. BIO: B and the I of its type right behind. OT: the longest
    runs of one tag. As seqeval's strict mode with IOBES and IOB2.
    """
    spans, first = [], None
    for position, tag in enumerate(tags):
        prefix, type_ = split_tag(tag)
        goes_on = first is not None and tag_goes_on(tags[position - 1], tag, scheme)
        if goes_on and scheme != "BIEOS":
            spans[-1] = (first, position, type_)
        elif goes_on and prefix == "E":
            spans.append((first, position, type_))
        elif not goes_on:
            first = position if prefix in ("B", "T") else None
            if prefix == "S" or (first is not None and scheme != "BIEOS"):
                spans.append((position, position, type_))
    return spans


def tag_goes_on(previous: str, tag: str, scheme: str) -> bool:
    """Whether a tag goes on with the span of the tag before it."""
    (previous_prefix, previous_type), (prefix, type_) = split_tag(previous), split_tag(tag)
    if scheme == "OT":
        return prefix == "T" and previous == tag
    return prefix in ("I", "E") and previous_prefix in ("B", "I") and previous_type == type_


def is_well_formed(tags: Sequence[str], scheme: str) -> bool:
    """Whether each tag but O is part of a strict span. Any OT is."""
    inside = sum(last - first + 1 for first, last, _ in strict_spans(tags, scheme))
    return inside == sum(tag != "O" for tag in tags)


def default_spans(tags: Sequence[str]) -> list[Span]:
    """The spans as conlleval and seqeval's default mode read any BIO and BIEOS: what is not well-formed is repaired.

    A tag begins a span unless it is I or E right behind a B or I of its type.
    """
    spans = []
    for position, (previous, tag) in enumerate(zip(["O", *tags], tags, strict=False)):
        type_ = split_tag(tag)[1]
        if tag == "O":
            continue
        if tag_goes_on(previous, tag, "BIEOS"):
            spans[-1] = (spans[-1][0], position, type_)
        else:
            spans.append((position, position, type_))
    return spans


def check_tags(gold, predicted, scheme: str | None, types: Sequence[str] | None = None) -> None:
    """Check parallel sentences of tags.

    Args:
        gold, predicted: (sentences,) sequences of tags, of a sentence as many in both.
        scheme: the prefixes that tags may have; None: tags are any strings.
        types: those that tags may have; None: any.

    Raises:
        ValueError: there are no sentences, no sequences, or lengths or tags that are not as described; names the side,
            the sentence (from 0) and what is wrong.
    """
    if scheme is not None and (not isinstance(scheme, str) or scheme not in SCHEMES):
        raise ValueError(f"scheme={shorten(scheme)} is unknown: give one of {', '.join(SCHEMES)}.")
    sides = {"gold": gold, "predicted": predicted}
    for side, sentences in sides.items():
        if not is_sequence(sentences):
            raise ValueError(
                f"{side}={shorten(sentences)} ({type(sentences).__name__}): give a list of lists of tags."
            )
    if len(gold) != len(predicted) or not len(gold):
        raise ValueError(f"gold has {len(gold)} sentences and predicted {len(predicted)}: give as many, at least one.")
    for side, sentences in sides.items():
        known: set[str] = set()  # each tag is looked at once
        for number, tags in enumerate(sentences):
            if not is_sequence(tags):
                raise ValueError(f"{side}[{number}]={shorten(tags)} ({type(tags).__name__}): give a list of tags.")
            for tag in tags:
                if not isinstance(tag, str) or tag not in known:
                    _check_tag(f"{side}[{number}]", tag, scheme, types)
                    known.add(tag)
    for number, (of_gold, of_predicted) in enumerate(zip(gold, predicted, strict=True)):
        if len(of_gold) != len(of_predicted):
            raise ValueError(
                f"predicted[{number}] has {len(of_predicted)} tags and gold[{number}] {len(of_gold)}: give one for "
                "each word, O where the model saw none of it."
            )


def _check_tag(place: str, tag: Any, scheme: str | None, types: Sequence[str] | None) -> None:
    if not is_text(tag) or not tag:
        raise ValueError(f"{place} has the tag {shorten(tag)}: give strings, names and not numbers of classes.")
    prefix, type_ = split_tag(tag)
    if scheme is None or tag == "O":
        return
    if prefix not in SCHEMES[scheme] or not (type_ if types is None else type_ in types):
        told = "any type" if types is None else " or ".join(types)
        raise ValueError(
            f"{place} has the tag {shorten(tag)}: in {scheme} give O, or one of {', '.join(SCHEMES[scheme])}, a "
            f"hyphen and {told}."
        )


def join_tags(predictions: Sequence[Mapping[str, Any]], references: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """Pair each reference with the prediction of the same id, wherever it stands.

    Args:
        predictions, references: dicts with "id" and "tags"; other fields are ignored.

    Returns:
        `gold` and `predicted`, parallel lists of lists of tags, sorted by id.

    Raises:
        ValueError: no lists of dicts, a field is missing, an id is no string, is given twice or is on one side only.
    """
    pairs = join_by_id(predictions, references, "tags")
    return {"gold": [gold["tags"] for _, gold in pairs], "predicted": [predicted["tags"] for predicted, _ in pairs]}


def plain_tags(side: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `evaluate` stores them: id and tags, and no other fields.

    Raises:
        ValueError: as `join_tags` of one side; also tags that are no list of strings.
    """
    plain = []
    for id_, row in rows_by_id(side, rows, "tags").items():
        tags = row["tags"]
        if not is_sequence(tags) or not all(map(is_text, tags)):
            raise ValueError(f"{side}: the tags {shorten(tags)} of id {shorten(id_)} are no list of strings.")
        plain.append({"id": id_, "tags": list(tags)})
    return plain
