"""Writes the sample reviews: sentences with aspect terms and their polarity, put together from `phrases.txt`.

    python datasets_scripts/sample_reviews/write_reviews.py

The same phrases give the same files on every machine. No word of an aspect term of validation or test stands in an
aspect term of train.

In `phrases.txt`, a star marks aspect terms in the plural, a tilde those that need no article. In patterns `{A}` and
`{B}` are aspect terms with an article ("the battery", "its battery", "the fries"), `{N}` and `{M}` such terms without;
`{a}`, `{is}` and `{was}` agree with the first, `{are}` and `{were}` with the second. `{good}` and `{bad}` are
adjectives that fit the first term, `{good.B}` and `{bad.B}` the second; `{verb}` is what the first did.
"""

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
SENTENCES = {"train": 8000, "validation": 300, "test": 400}
# Out of 10 aspect terms, or groups of them that share words; the others are train's.
SHARES = {"validation": 1, "test": 2}
# How often a sentence is of which kind.
KINDS = {"one": 38, "two": 18, "shared": 14, "opposed": 10, "silent": 20}
# In which form a term is praised or blamed.
FORMS = {"plain": 35, "predicates": 20, "{verb}": 10, "frames": 35}
SIGNS = "+" * 9 + "-" * 8 + "0" * 4
WORDS_OF = {"+": "good", "-": "bad"}  # in names of sections
REVIEWS = (  # kinds of terms that stand side by side
    {"dish", "drink", "people", "place", "price"},
    {"part", "soft", "quality", "price", "people"},
    {"room", "place", "price", "people"},
)
POLARITIES = {"+": "POS", "-": "NEG", "0": "NEU"}
ARTICLES = ("the",) * 8 + ("their", "their", "its", "our", "my", "this")
LINKS_SAME = (", and ", " and ", ". ", "; ", ", plus ", ". also, ", ". what is more, ", ", ", ". on top of that, ")
LINKS_OTHER = (
    ", but ",
    " but ",
    ", however ",
    ". however, ",
    ", although ",
    ", though ",
    ". ",
    "; ",
    ", yet ",
    " while ",
)
SMALL_WORDS = {"of", "to", "list", "selection"}  # terms may share these
# As the pipeline cuts a text into words.
WORD = re.compile(r"[\w]+(?:[-.,/]\w+)*(?=n't)|n't|'(?:s|m|d|ll|re|ve)\b|\w+(?:[-.,/]\w+)*|\S")
SLOT = re.compile(r"\{([\w.]+)\}")
SLOTS = {  # what each stands for, and of which of two terms
    **{"A": ("term", "A"), "N": ("noun", "A"), "B": ("term", "B"), "M": ("noun", "B")},
    **{name: (name, "A") for name in ("a", "is", "was", "good", "bad", "verb")},
    **{"are": ("is", "B"), "were": ("was", "B"), "good.B": ("good", "B"), "bad.B": ("bad", "B")},
}
TERM = re.compile(r"\[([^|\]]+)\|(.)\]")  # [battery life|+]


class Term(NamedTuple):
    """An aspect term."""

    words: str
    number: str
    """"one", "many", or "mass" for what needs no article"""
    kind: str


def read_phrases() -> dict[str, list[str]]:
    """The entries of each section, one a line; a section begins with its name in brackets."""
    found = {}
    for line in (FOLDER / "phrases.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            entries = found[line.strip("[]")] = []
        elif line:
            entries.append(line)
    return found


PHRASES = read_phrases()


def all_terms() -> list[Term]:
    numbers = {"*": "many", "~": "mass"}
    return [
        Term(entry.rstrip("*~"), numbers.get(entry[-1], "one"), section.removeprefix("terms "))
        for section, entries in PHRASES.items()
        if section.startswith("terms ")
        for entry in entries
    ]


def stems(term: Term) -> set[str]:
    """The words of a term that may not occur in another split; without the s of a plural."""
    return {word.removesuffix("s") for word in term.words.split()} - SMALL_WORDS


def terms_by_split(rng: random.Random) -> dict[str, list[Term]]:
    """Terms that share words come into one split, directly or by way of others."""
    groups = []
    for term in all_terms():
        near = [group for group in groups if any(stems(term) & stems(other) for other in group)]
        groups = [group for group in groups if group not in near] + [[term, *(t for group in near for t in group)]]
    small = [group for group in groups if len(group) <= 3]
    rng.shuffle(small)
    found = {"train": [term for group in groups if len(group) > 3 for term in group]}
    for split, share in SHARES.items():
        number = len(all_terms()) * share // 10
        found[split] = []
        while len(found[split]) < number:
            found[split] += small.pop()
    found["train"] += [term for group in small for term in group]
    return found


class Writer:
    """Writes the sentences of a split with its terms.

    Args:
        terms: of the split.
        rng: chooses.
    """

    def __init__(self, terms: Sequence[Term], rng: random.Random):
        self.rng = rng
        self.terms = list(terms)
        self.left = []
        self.decks = {}

    def deal(self, section: str) -> str:
        """The entries of a section in a random order, again and again, so that none is rare."""
        if not self.decks.get(section):
            self.decks[section] = self.rng.sample(PHRASES[section], len(PHRASES[section]))
        return self.decks[section].pop()

    def of_kind(self, section: str, kind: str, share: float) -> str:
        """An entry for a kind of terms, if there are such, in a share of the cases; else one for any."""
        is_own = f"{section} {kind}" in PHRASES and self.rng.random() < share
        return self.deal(f"{section} {kind if is_own else 'any'}")

    def term(self) -> Term:
        if not self.left:
            self.left = self.rng.sample(self.terms, len(self.terms))
        return self.left.pop()

    def beside(self, first: Term) -> Term:
        """Another term of the same kind of reviews."""
        near = {kind for review in REVIEWS if first.kind in review for kind in review}
        return self.rng.choice([term for term in self.terms if term.kind in near and term != first])

    def with_article(self, term: Term, sign: str) -> str:
        if term.number != "one" and self.rng.random() < 0.25:
            return f"[{term.words}|{sign}]"
        article = self.rng.choice(ARTICLES)
        return f"{'these' if article == 'this' and term.number == 'many' else article} [{term.words}|{sign}]"

    def fill(self, pattern: str, first: tuple[Term, str], second: tuple[Term, str] | None = None) -> str:
        """The pattern with one or two terms, each with its sign."""
        opinions = {"A": first, "B": second}

        def value(slot: re.Match) -> str:
            name, owner = SLOTS[slot[1]]
            term, sign = opinions[owner]
            is_plural = term.number == "many"
            if name == "term":
                return self.with_article(term, sign)
            if name == "noun":
                return f"[{term.words}|{sign}]"
            if name in ("good", "bad"):
                return self.of_kind(name, term.kind, 0.6)
            if name == "verb":
                return self.fill(self.of_kind(f"{WORDS_OF[sign]} verbs", term.kind, 0.6), first)
            return {"a": "" if term.number != "one" else "a ", "is": "are" if is_plural else "is"}.get(
                name, "were" if is_plural else "was"
            )

        return SLOT.sub(value, pattern)

    def clause(self, term: Term, sign: str) -> str:
        """One term and what is said of it."""
        if sign == "0":
            pattern = self.of_kind("neutral frames", term.kind, 0.45)
        else:
            (section,) = self.rng.choices(list(FORMS), FORMS.values())
            pattern = section if "{" in section else self.deal(f"{WORDS_OF[sign]} {section}")
            if section != "frames":
                pattern = "{A} " + pattern
        return self.fill(pattern, (term, sign))

    def one(self) -> str:
        return self.clause(self.term(), self.rng.choice(SIGNS))

    def two(self) -> str:
        """Two clauses, or one and a sentence without a term."""
        first, sign = self.term(), self.rng.choice(SIGNS)
        other = sign if self.rng.random() < 0.4 else self.rng.choice(SIGNS)
        links = LINKS_SAME if sign == other else LINKS_OTHER
        if self.rng.random() < 0.2:
            parts = [self.clause(first, sign), self.silent()]
            self.rng.shuffle(parts)
            return re.sub(r"\?[.] ", "? ", ". ".join(parts))
        joined = self.clause(first, sign) + self.rng.choice(links) + self.clause(self.beside(first), other)
        return re.sub(r"\?[.,;]? ", "? ", joined)

    def shared(self) -> str:
        sign, first = self.rng.choice("+-"), self.term()
        return self.fill(self.deal(f"{WORDS_OF[sign]} shared"), (first, sign), (self.beside(first), sign))

    def opposed(self) -> str:
        """Praise and blame; half of the time in the other order of signs, where the pattern can turn."""
        first = self.term()
        second, pattern = self.beside(first), self.deal("opposed")
        if self.rng.random() < 0.5 and "good" in pattern and "bad" in pattern:
            turned = pattern.replace("{good", "{_").replace("{bad", "{good").replace("{_", "{bad")
            if not re.search(r"despite|apart from|only|shame|stand|unlike|pros|yet", pattern):
                return self.fill(turned, (first, "-"), (second, "+"))
        return self.fill(pattern, (first, "+"), (second, "-"))

    def silent(self) -> str:
        """A sentence without a term: about something else, or about the whole."""
        if self.rng.random() < 0.4:
            return self.deal("silent")
        values = {"E": "entities", "good": "good any", "bad": "bad any"}
        return SLOT.sub(lambda slot: self.deal(values[slot[1]]), self.deal("entity frames"))

    def sentence(self) -> str:
        """A sentence with its terms in brackets."""
        (kind,) = self.rng.choices(list(KINDS), KINDS.values())
        text = getattr(self, kind)()
        if self.rng.random() < 0.15:
            text = f"{self.deal('openers')} {text}"
        if self.rng.random() < 0.15 and text[-1] != "?":
            text += f" {self.deal('tails')}"
        text = re.sub(r"\ba (?=\[?[aeiou])", "an ", text)
        if self.rng.random() < 0.8:
            text = re.sub(r"(?:^|(?<=[.?!] ))\[?[a-z]", lambda found: found[0].upper(), text)
        return text if text[-1] == "?" else text + self.rng.choice((".", ".", ".", ".", "!", ""))

    def sentences(self, number: int) -> list[str]:
        """So many that differ, apart from case and marks; the short ones without a term may come again."""
        written = {}
        while len(written) < number:
            text = self.sentence()
            key = re.sub(r"[^\w|+-]+", " ", text.lower())
            written.setdefault(key, text)
        return list(written.values())


def tagged(text: str) -> list[tuple[str, str]]:
    """Words and their tags in BIO, of a text with its terms in brackets."""
    pairs, end = [], 0
    for term in TERM.finditer(text):
        pairs += [(word, "O") for word in WORD.findall(text[end : term.start()])]
        tags = [f"B-{POLARITIES[term[2]]}", *[f"I-{POLARITIES[term[2]]}"] * 99]
        pairs += zip(WORD.findall(term[1]), tags, strict=False)
        end = term.end()
    return pairs + [(word, "O") for word in WORD.findall(text[end:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output_dir", type=Path, default=FOLDER, help="existing folder to write to")
    output_dir = parser.parse_args().output_dir
    rng = random.Random(1)
    for split, terms in terms_by_split(rng).items():
        sentences = Writer(terms, rng).sentences(SENTENCES[split])
        blocks = ["".join(f"{word}\t{tag}\n" for word, tag in tagged(text)) for text in sentences]
        (output_dir / f"{split}.txt").write_text("\n".join(blocks), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
