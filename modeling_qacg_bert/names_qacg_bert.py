"""A user's own names for the targets of a model: found in texts, and replaced by what the model knows."""

import re
from collections.abc import Callable, Mapping

from .processing_qacg_bert import PLACEHOLDER, Origins, occurrence, whole


class OwnNames:
    """Names such as {"Camden": "LOCATION1"} for a model that was trained on masked places.

    A name is found as whole words, whatever their case, the blanks between them and the form of an apostrophe; in
    scripts without blanks between words it is found anywhere. Where two names overlap, the longer one counts. Each
    name is asked about apart, in a text that has the model's target in its place. The other names of the text get
    their own targets; where two have the same, the first of them that is not asked about keeps it and the rest stay as
    they are.

    Args:
        targets: the model's target for each name, any number of names for one target.
    Raises:
        ValueError: if a name is empty or occurs twice.
    """

    def __init__(self, targets: Mapping[str, str]):
        self.targets = dict(targets)
        seen = {}
        for name in self.targets:
            if not isinstance(name, str) or not name.strip():
                raise ValueError(f"targets has the name {name!r}: give the words that stand in the texts")
            same = seen.setdefault(" ".join(name.casefold().split()), name)
            if same is not name:
                raise ValueError(f"targets has the names {same!r} and {name!r}, which are found alike: keep one")
        by_length = sorted(self.targets, key=len, reverse=True)
        self.groups = {f"name{number}": name for number, name in enumerate(by_length)}
        either = "|".join(f"(?P<{group}>{_written(name)})" for group, name in self.groups.items())
        self.pattern = re.compile(either or "(?!)")

    def in_text(self, text: str) -> list[str]:
        """The names that occur in a text, in the order they were given.

        Raises:
            ValueError: if a placeholder stands in the text itself that a name is to be written as.
        """
        rest = self.pattern.sub(" ", text)
        for name, target in self.targets.items():
            if PLACEHOLDER.fullmatch(target) and occurrence(target).search(rest):
                raise ValueError(
                    f"the text holds {target!r}, which targets gives to {name!r}: the two would be one place; leave "
                    "out the names for such texts"
                )
        found = {self.groups[match.lastgroup] for match in self.pattern.finditer(text)}
        return [name for name in self.targets if name in found]

    def text_about(self, name: str, text: str) -> str:
        """A text with the model's targets in the place of names, to be asked about one of them."""
        return self.pattern.sub(self._replacement(name, text), text)

    def origins_about(self, name: str, text: str) -> Origins:
        """`text_about`, with what its characters stand for."""
        return Origins.of(text).replaced(self.pattern, self._replacement(name, text))

    def _replacement(self, name: str, text: str) -> Callable[[re.Match], str]:
        owners = {self.targets[name]: name}  # the name that each target stands for in this text
        for other in self.in_text(text):
            owners.setdefault(self.targets[other], other)

        def replaced(match: re.Match) -> str:
            found = self.groups[match.lastgroup]
            return self.targets[found] if owners[self.targets[found]] == found else match[0]

        return replaced


def _written(name: str) -> str:
    """A pattern for a name: whole words, any blanks between them, either apostrophe."""
    words = (re.escape(word).replace("'", "['\N{RIGHT SINGLE QUOTATION MARK}]") for word in name.split())
    return whole(name.strip(), "(?i:" + r"\s+".join(words) + ")")
