"""Contexts: (target, aspect) <-> id, and how texts and contexts are written for the model."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

NO_TARGET = ""  # the target of a task without targets, such as SemEval-2014
NO_ASPECT = ""  # the aspect of a question about a target as such
PLACEHOLDER = re.compile(r"(LOCATION|TARGET|ENTITY)_?(\d+)")  # a masked target such as SentiHood's LOCATION1
WRITTEN_PLACEHOLDER = re.compile(r"(location|target|entity) - \d+")  # as `written_target` writes it
SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
BLANKS = re.compile(r"\s+")
# Letters that a name may stand next to: of scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese,
# Chinese), and of Korean, which writes its particles onto names.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
UNSPACED_FIRST, UNSPACED_LAST = re.compile(f"[{UNSPACED}]"), re.compile(f"[{UNSPACED}]\\Z")
NO_EXCHANGE = re.compile("(?!)"), str  # finds nothing


@dataclass(frozen=True)
class Contexts:
    """The contexts a model knows, in the order of their ids: target by target, aspect by aspect.

    Args:
        targets: names of the targets; empty where the task has none.
        aspects: names of the aspects.
        symmetric_targets: whether the model is asked about the first target only, see `as_read`.
        is_open: whether the model reads contexts in words, so that these are only the ones of its training.
    """

    targets: tuple[str, ...]
    aspects: tuple[str, ...]
    symmetric_targets: bool = False
    is_open: bool = False

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
        is_open = getattr(config, "context_source", "id") == "text"
        aspects = getattr(config, "aspects", None) or ([NO_ASPECT] if is_open else None)
        if not aspects:
            raise ValueError(
                f"the configuration of this {config.model_type} names no aspects: set config.targets and "
                "config.aspects to the names its context ids stand for"
            )
        targets = tuple(getattr(config, "targets", None) or ())
        return cls(targets, tuple(aspects), getattr(config, "symmetric_targets", False), is_open)

    def including(self, targets: Iterable[str | None], aspects: Iterable[str]) -> "Contexts":
        """These, and of an open model also others, behind them.

        Raises:
            ValueError: if one is no string.
        """
        if not self.is_open:
            return self
        new = []
        for field, known, names in (("target", self.targets, targets), ("aspect", self.aspects, aspects)):
            names = [name or "" for name in names]
            if wrong := [name for name in names if not isinstance(name, str)]:
                raise ValueError(f"{field} {wrong[0]!r}: give words")
            new.append(tuple(dict.fromkeys([*known, *names])))
        # What has targets is asked without one as the context that has none.
        targets = () if new[0] == (NO_TARGET,) else new[0]
        # Only with a target of its training others change places.
        is_symmetric = self.symmetric_targets and bool(self.targets)
        return replace(self, targets=targets, aspects=new[1], symmetric_targets=is_symmetric)

    def knows(self, aspect: str) -> bool | None:
        """Whether the model's training asked about an aspect, by the words that it reads and their case aside; None of
        a question without one."""
        if not aspect:
            return None
        return written_aspect(aspect).casefold() in {written_aspect(name).casefold() for name in self.aspects}

    def __len__(self) -> int:
        return max(1, len(self.targets)) * len(self.aspects)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((target, aspect) for target in self.targets or (NO_TARGET,) for aspect in self.aspects)

    def id(self, target: str | None, aspect: str) -> int:
        """Context id of a (target, aspect) pair; with symmetric targets that of the first target.

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
        number = 0 if self.is_read_as_first(target) else targets.index(target)
        return number * len(self.aspects) + self.aspects.index(aspect)

    def pair(self, context_id: int) -> tuple[str, str]:
        """The (target, aspect) pair of a context id; the target is "" where the task has none.

        Raises:
            ValueError: if there is no such id.
        """
        if not 0 <= context_id < len(self):
            raise ValueError(f"context id {context_id} is unknown: give one of 0 to {len(self) - 1}")
        target_index, aspect_index = divmod(context_id, len(self.aspects))
        return (self.targets or (NO_TARGET,))[target_index], self.aspects[aspect_index]

    def as_read(self, text: str, target: str | None) -> tuple[str, str | None]:
        """A text and the target it is asked about, as the model reads them.

        With symmetric targets the one that is asked about and the first have changed names, in the text too:
        `("LOCATION1 is dearer than LOCATION2", "LOCATION2")` -> `("LOCATION2 is dearer than LOCATION1", "LOCATION1")`
        """
        pattern, replacement = self.exchange(target)
        return pattern.sub(replacement, text), self.targets[0] if self.is_read_as_first(target) else target

    def exchange(self, target: str | None) -> tuple[re.Pattern, Callable[[re.Match], str]]:
        """What to replace, and by what, in a text that is read as one about this target."""
        if not self.is_read_as_first(target) or target == self.targets[0]:
            return NO_EXCHANGE
        return exchange(target, self.targets[0])

    def is_read_as_first(self, target: str | None) -> bool:
        """Whether texts are read as if a target were the first."""
        # Words of a text, which an open model may be asked about, say what they are: another's name would hide it.
        if not (self.symmetric_targets and self.targets and target):
            return False
        return not self.is_open or bool(PLACEHOLDER.fullmatch(target))

    def in_text(self, text: str) -> list[tuple[str, str]]:
        """The contexts that a text can be asked about: the pairs whose target occurs in it; all, without targets."""
        return [(target, aspect) for target, aspect in self if not target or occurrence(target).search(text)]

    def auxiliary_sentence(self, target: str | None, aspect: str) -> str:
        """The context in words (Sun et al., NAACL 2019, NLI form): `"location - 1 - transit location"`, `"price"`."""
        parts = written_target(target or NO_TARGET), written_aspect(aspect)
        return _without_surrogates(" - ".join(filter(None, parts)))


def occurrence(target: str) -> re.Pattern:
    """Where a target stands in a text. Placeholders are found inside words too, as SentiHood glues some of them."""
    if PLACEHOLDER.fullmatch(target):
        return re.compile(rf"{re.escape(target)}(?!\d)")
    # The case is ignored in the name alone: within the set of letters around it that takes long to compile.
    return re.compile(whole(target, f"(?i:{re.escape(target)})"))


def exchange(one: str, other: str) -> tuple[re.Pattern, Callable[[re.Match], str]]:
    """Pattern and replacement that give two targets one another's names; where both could stand, it is the longer."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    either = []
    for group, target in (("longer", longer), ("shorter", shorter)):
        either.append(f"(?P<{group}>{occurrence(target).pattern})")
    names = {"longer": shorter, "shorter": longer}
    return re.compile("|".join(either)), lambda match: names[match.lastgroup]


def whole(name: str, pattern: str) -> str:
    """The pattern of a name, for where it is no part of a longer word.

    `"Cam"` is not found in `"Camden"`, but `"Camden"` is in `"我在Camden住"`, and `"海淀"` in `"住在海淀很贵"`, where
    only a dictionary could tell words apart.
    """
    before = "" if UNSPACED_FIRST.match(name) else rf"(?<![^\W{UNSPACED}])"
    after = "" if UNSPACED_LAST.search(name) else rf"(?![^\W{UNSPACED}])"
    return f"{before}{pattern}{after}"


def is_within(text: str, target: str, read: int) -> bool:
    """Whether a target stands in the part of a text that is read, so many characters of it in writing.

    One that stands nowhere in the text does not stand in what is left out either.
    """
    found = occurrence(target).search(text) if target else None
    return found is None or len(written_text(text[: found.end()])) <= read


def is_readable(text: str) -> bool:
    """Whether a text has more than blanks and what no one sees: control characters, joiners, direction marks."""
    return any(character.isprintable() and not character.isspace() for character in text)


class Origins(NamedTuple):
    """A text that was made from another, and what each of its characters stands for there."""

    source: str
    """The text it was made from."""
    text: str
    spans: list[tuple[int, int]]
    """Of each character of `text` the [start, end) in `source`."""

    @classmethod
    def of(cls, text: str) -> "Origins":
        """A text that stands for itself."""
        return cls(text, text, [(at, at + 1) for at in range(len(text))])

    def replaced(self, pattern: re.Pattern, replacement: Callable[[re.Match], str]) -> "Origins":
        """`pattern.sub(replacement, text)`; the characters of a replacement stand for all that it replaces."""
        parts, spans, done = [], [], 0
        for match in pattern.finditer(self.text):
            parts += [self.text[done : match.start()], replacement(match)]
            spans += self.spans[done : match.start()]
            spans += [(self.spans[match.start()][0], self.spans[match.end() - 1][1])] * len(parts[-1])
            done = match.end()
        return Origins(self.source, "".join([*parts, self.text[done:]]), [*spans, *self.spans[done:]])

    def stripped(self) -> "Origins":
        """Without blanks at either end."""
        start, end = len(self.text) - len(self.text.lstrip()), len(self.text.rstrip())
        return Origins(self.source, self.text[start:end], self.spans[start:end])


def written_text(text: str) -> str:
    """A text as the model reads it: placeholders in their written form, known or not, and runs of blanks as one.

    `"LOCATION1's safe"` -> `"location - 1 's safe"`
    """
    text = _without_surrogates(text)
    return " ".join(PLACEHOLDER.sub(_placeholder_in_writing, text).split())


def written_with_origins(text: Origins) -> Origins:
    """`written_text`, with what its characters stand for: some hundred times the memory."""
    text = text.replaced(SURROGATES, lambda found: _without_surrogates(found[0]))
    return text.replaced(PLACEHOLDER, _placeholder_in_writing).replaced(BLANKS, lambda found: " ").stripped()


def _without_surrogates(text: str) -> str:
    """Pairs of them as one character, lone ones as U+FFFD: JSON can hold them, but a tokenizer takes none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _placeholder_in_writing(found: re.Match) -> str:
    return f" {written_target(found[0])} "


def written_target(target: str) -> str:
    """A target as it is written for the model: placeholders `LOCATION1` -> `"location - 1"`, names as they are."""
    placeholder = PLACEHOLDER.fullmatch(target)
    return f"{placeholder[1].lower()} - {placeholder[2]}" if placeholder else target


def written_aspect(aspect: str) -> str:
    """An aspect as it is written for the model: `"transit-location"` -> `"transit location"`."""
    return " ".join(re.split(r"[-_/#\s]+", aspect)).strip()


def are_words(encoding, text: str) -> list[bool]:
    """For each token whether it is of the text and of no placeholder, which stands for a name.

    Args:
        encoding: a `tokenizers.Encoding`.
        text: its first sequence, in writing.
    """
    names = [found.span() for found in WRITTEN_PLACEHOLDER.finditer(text)]
    return [
        sequence == 0 and all(end <= first or last <= start for first, last in names)
        for sequence, (start, end) in zip(encoding.sequence_ids, encoding.offsets, strict=True)
    ]


class Word(NamedTuple):
    """Characters [start, end) of a user's text, which the tokenizer takes for one word."""

    start: int
    end: int


def words_of(encoding, text: Origins) -> list[Word | None]:
    """For each token the word that it is a piece of, None for special tokens and auxiliary sentences.

    Words as the tokenizer splits them, BERT's at blanks and punctuation. A placeholder is one word, and accents and
    other marks that stand behind a letter belong to its word, though the tokenizer drops them.

    Args:
        encoding: a `tokenizers.Encoding`.
        text: its first sequence, in writing.
    """
    spans = {}  # of each word, by the tokenizer's number
    of_tokens = []
    for number, sequence, (start, end) in zip(encoding.word_ids, encoding.sequence_ids, encoding.offsets, strict=True):
        of_tokens.append(number if sequence == 0 else None)
        piece = text.text[start:end]
        start += len(piece) - len(piece.lstrip())  # tokenizers of bytes count the blank before a word as a part of it
        if sequence == 0 and start < end:
            start, end = text.spans[start][0], text.spans[end - 1][1]
            before = spans.get(number, (start, end))
            spans[number] = min(start, before[0]), max(end, before[1])
    words = {}
    last = Word(0, 0)
    for number, (start, end) in sorted(spans.items()):
        while end < len(text.source) and unicodedata.category(text.source[end]).startswith("M"):
            end += 1
        last = last if start < last.end else Word(start, end)  # the pieces of a placeholder stand for the same
        words[number] = last
    return [words.get(number) for number in of_tokens]  # none for a blank alone
