"""Writes sentihood-{train,dev,test}.json, a small synthetic corpus in SentiHood's JSON format.

It only joins the clauses and sentences of `sentences.py`. The output is the same, byte for byte, on every run.
"""

import argparse
import json
import random
import re
from pathlib import Path

from sentences import CLAUSES, COMPARISON, GLUE, SILENT, SINGLE

SENTIMENTS = {"+": "Positive", "-": "Negative"}
ASPECTS = {"general": "general", "price": "price", "transit": "transit-location", "safety": "safety"}

SEEDS = {"train": 11, "dev": 22, "test": 33}

# How many sentences of each kind; what the kinds are is said at the functions of the same names.
PLAN = {
    "train": {"one": 94, "two": 114, "single": 28, "contrast": 33, "comparison": 46, "silent": 105},
    "dev": {"one": 21, "two": 22, "single": 8, "contrast": 6, "comparison": 10, "silent": 23},
    "test": {"one": 28, "two": 30, "single": 10, "contrast": 8, "comparison": 14, "silent": 30},
}
MIN_WORDS, MAX_WORDS = 5, 35

# Drawn as often as they stand here: people praise, and talk about transport, more than they complain of safety.
CELLS = ("+general",) * 3 + ("+transit",) * 3
CELLS += ("-general", "+price", "-price", "-transit", "+safety", "-safety") * 2


class Deck:
    """Deals its cards in a shuffled order and starts again when they run out, so that all are used about equally."""

    def __init__(self, cards: list | tuple, rng: random.Random):
        self.cards, self.rng, self.left = cards, rng, []

    def deal(self):
        if not self.left:
            # random() alone is promised to give the same numbers in every Python version; shuffle() is not.
            self.left = sorted(self.cards, key=lambda _: self.rng.random())
        return self.left.pop()


class Writer:
    """Composes the sentences of one split. A sentence is a text with {a}, {b} and its labels, such as "a+price"."""

    def __init__(self, split: str):
        self.split = split
        self.rng = random.Random(SEEDS[split])
        self.cells = Deck(CELLS, self.rng)
        self.glue = {name: Deck(cards, self.rng) for name, cards in GLUE.items()}
        self.naming, self.following = {}, {}
        for cell, clauses in CLAUSES.items():
            self.naming[cell] = Deck([c for c in clauses[split] if "{a}" in c], self.rng)
            self.following[cell] = Deck([c for c in clauses[split] if "{a}" not in c], self.rng)
        self.whole_single = Deck(SINGLE[split], self.rng)
        self.whole_comparison = Deck(COMPARISON[split], self.rng)
        self.whole_silent = Deck(SILENT[split], self.rng)

    def other_cell(self, cell: str) -> str:
        while (other := self.cells.deal())[1:] == cell[1:]:
            pass
        return other

    def statement(self, cell: str) -> str:
        if self.rng.random() < 0.3:
            return self.glue["topic"].deal() + self.following[cell].deal()
        return self.glue["opener"].deal() + self.naming[cell].deal()

    def one(self) -> tuple[str, list[str]]:
        """One clause about one place."""
        cell = self.cells.deal()
        return self.statement(cell) + self.glue["closing"].deal(), [f"a{cell}"]

    def two(self) -> tuple[str, list[str]]:
        """Two clauses on two aspects of one place, agreeing or not."""
        first = self.cells.deal()
        second = self.other_cell(first)
        link = self.glue["agree" if first[0] == second[0] else "differ"].deal()
        return self.statement(first) + link + self.following[second].deal(), [f"a{first}", f"a{second}"]

    def single(self) -> tuple[str, list[str]]:
        """A whole sentence about one place."""
        text, labels = self.whole_single.deal()
        return text, labels.split()

    def contrast(self) -> tuple[str, list[str]]:
        """A clause about each of two places, or about one of them beside a place the speaker does not judge."""
        first, second = self.cells.deal(), self.cells.deal()
        if self.rng.random() < 0.3:
            return self.glue["no_view"].deal() + self.naming[first].deal(), [f"a{first}"]
        if self.rng.random() < 0.5:
            second = ("-" if first[0] == "+" else "+") + first[1:]
        link = self.glue["agree_other" if first[0] == second[0] else "differ_other"].deal()
        text = self.glue["opener"].deal() + self.naming[first].deal() + link
        return text + self.naming[second].deal().replace("{a}", "{b}"), [f"a{first}", f"b{second}"]

    def comparison(self) -> tuple[str, list[str]]:
        """A whole sentence about two places."""
        text, labels = self.whole_comparison.deal()
        return text, labels.split()

    def silent(self) -> tuple[str, list[str]]:
        """A whole sentence about one or two places that holds no opinion."""
        return self.glue["greeting"].deal() + self.whole_silent.deal(), []

    def finished(self, text: str, labels: list[str]) -> dict:
        places = {"a": "LOCATION1", "b": "LOCATION2"}
        if "{b}" in text and self.rng.random() < 0.5:
            places = {"a": "LOCATION2", "b": "LOCATION1"}
        if not text.endswith("?"):
            text += self.glue["stop"].deal()
        text = re.sub(r"(?:^|(?<=[.?!] ))[a-z]", lambda match: match[0].upper(), text)
        opinions = [
            {"sentiment": SENTIMENTS[label[1]], "target_entity": places[label[0]], "aspect": ASPECTS[label[2:]]}
            for label in labels
        ]
        opinions.sort(key=lambda opinion: (opinion["target_entity"], opinion["aspect"]))
        return {"text": text.format(**places), "opinions": opinions}

    def corpus(self) -> list[dict]:
        """The split's sentences, in SentiHood's form: id, text, opinions."""
        written = {}
        for kind, count in PLAN[self.split].items():
            wanted = len(written) + count
            while len(written) < wanted:
                sentence = self.finished(*getattr(self, kind)())
                if MIN_WORDS <= len(sentence["text"].split()) <= MAX_WORDS:
                    written.setdefault(sentence["text"].rstrip("."), sentence)
        shuffled = Deck(list(written.values()), self.rng)
        return [{"id": number, **shuffled.deal()} for number in range(1, len(written) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=Path(__file__).parent,
        help="existing folder to write to (default: that of this file)",
    )
    output_dir = parser.parse_args().output_dir
    for split in SEEDS:
        text = json.dumps(Writer(split).corpus(), indent=4) + "\n"
        (output_dir / f"sentihood-{split}.json").write_text(text, encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
