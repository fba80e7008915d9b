"""Schemes in which tags mark spans of tokens, and conversions between them: OT, IOB1, BIO, BIEOS.

A tag is "O", outside of all spans, or a prefix, a hyphen and a type: "B-POS". The type is all behind the first hyphen:
that of "B-creative-work" is "creative-work". Conversions take and give the tags of one sentence.

    OT: T on each token of a span. Neighbours of one type are one span, since nothing tells where the next begins.
    IOB1: I on each token of a span, but B on the first where a span of the same type ends right before.
    BIO, also IOB2: B on the first token of each span, I on the others.
    BIEOS, also IOBES: B, I, E on the first, inner and last token of a span, S on the only one.
"""

from collections.abc import Iterable, Sequence

PREFIXES = {"BIO": ("B", "I"), "BIEOS": ("B", "I", "E", "S")}
"""Of the schemes that rows may have, in the order of their classes."""


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and type; ("O", "") of the tag O."""
    prefix, _, type_ = tag.partition("-")
    return prefix, type_


def label_names(types: Iterable[str], scheme: str) -> list[str]:
    """All tags of BIO or BIEOS for these types: O, then those of the first type, and so on."""
    return ["O", *(f"{prefix}-{type_}" for type_ in types for prefix in PREFIXES[scheme])]


def first_fault(tags: Sequence[str], scheme: str) -> int | None:
    """Position of the first tag that BIO or BIEOS does not allow where it stands; None where there is none.

    Of a span of BIEOS that never ends it is the position behind its last tag; at the end of the sentence, the last.
    """
    previous_prefix, previous_type = "O", ""
    for position, tag in enumerate([*tags, "O"]):
        prefix, type_ = split_tag(tag)
        goes_on = prefix in ("I", "E")
        can_go_on = previous_prefix in ("B", "I") and previous_type == type_
        must_go_on = scheme == "BIEOS" and previous_prefix in ("B", "I")
        if (goes_on and not can_go_on) or (must_go_on and not goes_on):
            return min(position, len(tags) - 1)
        previous_prefix, previous_type = prefix, type_
    return None


def spans_of(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """The spans that tags of BIO mark: first token, token behind the last, type."""
    spans = []
    for position, tag in enumerate(tags):
        prefix, type_ = split_tag(tag)
        if prefix == "B":
            spans.append((position, position + 1, type_))
        elif prefix == "I":
            spans[-1] = (spans[-1][0], position + 1, type_)
    return spans


def ot_to_bio(tags: Sequence[str], conversion: str) -> list[str]:
    """OT to BIO.

    Args:
        conversion: "cut" begins a span where the type changes, `T-POS T-NEG` -> `B-POS B-NEG`. "reference" does not,
            as in BERT-E2E-ABSA: `B-POS I-NEG`, which its metric then counts for nothing.
    """
    converted, previous = [], "O"
    for tag in tags:
        prefix, type_ = split_tag(tag)
        if prefix == "O":
            converted.append("O")
        elif previous == "O" or (conversion == "cut" and tag != previous):
            converted.append(f"B-{type_}")
        else:
            converted.append(f"I-{type_}")
        previous = tag
    return converted


def iob1_to_bio(tags: Sequence[str]) -> list[str]:
    """IOB1 to BIO: an I that begins a span becomes B."""
    converted, previous_type = [], ""
    for tag in tags:
        prefix, type_ = split_tag(tag)
        converted.append(f"B-{type_}" if prefix == "I" and type_ != previous_type else tag)
        previous_type = type_
    return converted


def bio_to_bieos(tags: Sequence[str]) -> list[str]:
    """BIO to BIEOS, by prefixes alone: `B-POS I-NEG`, which is no BIO, gives `B-POS E-NEG`, which is no BIEOS."""
    converted = []
    for tag, following in zip(tags, [*tags, "O"][1:], strict=True):
        prefix, type_ = split_tag(tag)
        is_last = split_tag(following)[0] != "I"
        if prefix == "O":
            converted.append("O")
        elif prefix == "B":
            converted.append(f"S-{type_}" if is_last else tag)
        else:
            converted.append(f"E-{type_}" if is_last else tag)
    return converted


def bieos_to_bio(tags: Sequence[str]) -> list[str]:
    """BIEOS to BIO: S becomes B, E becomes I."""
    prefixes = {"S": "B", "E": "I"}
    return [
        tag if prefix not in prefixes else f"{prefixes[prefix]}-{type_}"
        for tag, (prefix, type_) in zip(tags, map(split_tag, tags), strict=True)
    ]
