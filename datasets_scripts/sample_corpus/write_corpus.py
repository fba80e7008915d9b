"""Writes sentihood-{train,dev,test}.json, a small synthetic corpus in SentiHood's JSON format.

The training split fills the patterns of `patterns.py` with the phrases of `phrases/`; the other two, and
`contrast.json`, are sentences of other hands, one by one, in `phrases/*.tsv`. The output is the same, byte for byte,
on every run.
"""

import argparse
import json
import random
import re
from collections.abc import Mapping
from pathlib import Path

import patterns

FOLDER = Path(__file__).parent
SENTIMENTS = {"+": "Positive", "-": "Negative"}
OPPOSITE = {"+": "-", "-": "+"}
ASPECTS = {"general": "general", "price": "price", "transit": "transit-location", "safety": "safety"}
SEED = 11
# Texts of each kind, counterparts among them; what the kinds are is said at the functions of the same names.
PLAN = {
    "one_opinion": 2800,
    "one_place": 2800,
    "two_places": 1400,
    "comparison": 700,
    "alike": 100,
    "mention": 300,
    "unknown": 350,
    "whole": 250,
    "silent": 290,
}
MOST_WORDS = 40
# As in any language, few words are said often: so many phrases of a kind, the first, are dealt so many times as often.
COMMON, OFTEN = 12, 8
# Parts of patterns: which patterns they stand for, and what these are renamed to.
PARTS = {
    "{topic}": ("TOPICS",),
    "{naming_x}": ("NAMING",),
    "{naming_y_of_b}": ("NAMING", ("{x.", "{y."), ("{a}", "{b}")),
    "{following_x}": ("FOLLOWING",),
    "{following_y}": ("FOLLOWING", ("{x.", "{y.")),
}


class Deck:
    """Deals its cards in a shuffled order and starts again when they run out, so that all are used about equally."""

    def __init__(self, cards: list | tuple, rng: random.Random):
        self.cards, self.rng, self.left = cards, rng, []

    def deal(self):
        if not self.left:
            # random() alone is promised to give the same numbers in every Python version; shuffle() is not.
            self.left = sorted(self.cards, key=lambda _: self.rng.random())
        return self.left.pop()


def read_phrases() -> Mapping[str, list[str]]:
    """The phrases by their headers: "+price predicate", "price noun", ..."""
    phrases = {}
    for aspect in ASPECTS:
        for line in (FOLDER / "phrases" / f"{aspect}.txt").read_text(encoding="ascii").splitlines():
            if line.startswith("["):
                header = phrases.setdefault(line.strip("[]"), [])
            elif line:
                header.append(line)
    return phrases


class Opinion:
    """A polarity and an aspect; its attributes are the words that say it, the same each time they are asked for."""

    def __init__(self, writer: "Writer", sign: str, aspect: str):
        self.writer, self.sign, self.aspect = writer, sign, aspect

    def turned(self) -> "Opinion":
        """The opposite opinion, on the same thing."""
        opposite = Opinion(self.writer, OPPOSITE[self.sign], self.aspect)
        opposite.noun = self.noun
        return opposite

    def __getattr__(self, form: str) -> str:
        own, other = f"{self.sign}{self.aspect}", f"{OPPOSITE[self.sign]}{self.aspect}"
        deal = self.writer.deal
        if form == "flipped":
            words = deal(f"{other} adjective")
        elif form == "negated":
            words = f"{deal('not')} {deal(f'{other} adjective')}"
        elif form == "noun":
            words = deal(f"{self.aspect} noun")
        elif form in ("feeling", "verdict"):
            words = deal(f"{self.sign}{form}")
        else:
            words = deal(f"{own} {form}")
        setattr(self, form, words)
        return words


class Writer:
    """Composes the training split. A sentence is a text with {a}, {b} and its labels, such as "a+price"."""

    def __init__(self):
        self.rng = random.Random(SEED)
        cards = {name: [*words[:COMMON] * (OFTEN - 1), *words] for name, words in read_phrases().items()}
        cards |= patterns.FORMS
        for header in [header for header in cards if header.endswith(" adjective")]:
            cards[header.replace("adjective", "word")] = [words for words in cards[header] if " " not in words]
        kinds = ("ONE_PLACE", "TWO_PLACES", "LINKS")
        cards |= {(kind, of): texts for kind in kinds for of, texts in getattr(patterns, kind).items()}
        names = ("OPENERS", "TOPICS", "ENDINGS", "NAMING", "FOLLOWING", "GOOD_AND_BAD", "COMPARISONS", "ALIKE")
        cards |= {name: getattr(patterns, name) for name in (*names, "MENTIONS", "UNKNOWN")}
        cards["signs"] = "+-"
        cards["pairs"] = [(one, other) for one in ASPECTS for other in ASPECTS if one != other]
        cards["aspects"] = list(ASPECTS)
        cards["silent"] = (FOLDER / "phrases" / "silent.txt").read_text(encoding="ascii").splitlines()
        cards["facts"] = [text for text in cards["silent"] if "{b}" not in text and "?" not in text]
        whole = (FOLDER / "phrases" / "two_places.txt").read_text(encoding="ascii").splitlines()
        cards["whole"] = [tuple(line.split("\t")) for line in whole]
        self.decks = {name: Deck(list(texts), self.rng) for name, texts in cards.items()}

    def deal(self, name):
        return self.decks[name].deal()

    def opinion(self, aspect: str | None = None) -> Opinion:
        return Opinion(self, self.deal("signs"), aspect or self.deal("aspects"))

    def expanded(self, pattern: str) -> str:
        """A pattern whose parts have become patterns in their turn, which hold nothing but places, opinions, links."""
        for part, (kind, *renamed) in PARTS.items():
            if part in pattern:
                chosen = self.deal(kind)
                for before, after in renamed:
                    chosen = chosen.replace(before, after)
                pattern = pattern.replace(part, chosen)
        return pattern

    def fill(self, pattern: str, places: str, x: Opinion, y: Opinion | None = None) -> str:
        """An expanded pattern with its opinions; {a} and {b} stay. `places` says whether y is of the same as x."""
        agree = y is not None and x.sign == y.sign
        link = self.deal(("LINKS", (places, None if self.rng.random() < 0.25 else agree)))
        return pattern.format(a="{a}", b="{b}", x=x, y=y, link=link)

    def pattern(self, kind: str, x: Opinion, y: Opinion) -> tuple[str, bool | None]:
        """An expanded pattern for two opinions, and whether it fits their agreement only."""
        of = None if self.rng.random() < 0.55 else x.sign == y.sign
        return self.expanded(self.deal((kind, of))), of

    def one_opinion(self):
        """One opinion about one place."""
        x = self.opinion()
        pattern = "{topic}{following_x}" if self.rng.random() < 0.25 else "{naming_x}"
        return [(self.fill(self.expanded(pattern), "one place", x), [f"a{x.sign}{x.aspect}"])]

    def one_place(self):
        """Two opinions about one place, mostly of different polarity, and their counterparts."""
        first, second = self.deal("pairs")
        x, y = self.opinion(first), self.opinion(second)
        if x.sign == y.sign and self.rng.random() < 0.5:
            y = y.turned()
        if x.sign != y.sign and self.rng.random() < 0.12:
            x, y = (x, y) if x.sign == "+" else (y, x)
            text = self.fill(self.deal("GOOD_AND_BAD"), "one place", x, y)
            return [(text, [f"a{x.sign}{x.aspect}", f"a{y.sign}{y.aspect}"])]
        pattern, of = self.pattern("ONE_PLACE", x, y)
        return self.with_counterpart(pattern, of, "one place", x, y, "aa")

    def with_counterpart(self, pattern, of, places, x, y, names):
        """The pattern with two opinions, and with one turned round, or both where it fits their agreement only."""
        pairs = [(x, y)]
        pairs.append((x.turned(), y.turned()) if of is not None else (x, y.turned()))
        one, other = names
        return [
            (self.fill(pattern, places, x, y), [f"{one}{x.sign}{x.aspect}", f"{other}{y.sign}{y.aspect}"])
            for x, y in pairs
        ]

    def two_places(self):
        """An opinion about each of two places, on the same aspect or another, and their counterparts."""
        first, second = self.deal("pairs")
        x, y = self.opinion(first), self.opinion(first if self.rng.random() < 0.6 else second)
        if x.sign == y.sign and self.rng.random() < 0.6:
            y = y.turned()
        pattern, of = self.pattern("TWO_PLACES", x, y)
        return self.with_counterpart(pattern, of, "two places", x, y, "ab")

    def comparison(self):
        """One place set above or below another, at times with a second opinion about one of them."""
        x = self.opinion()
        text = self.fill(self.deal("COMPARISONS"), "two places", x)
        labels = [f"a{x.sign}{x.aspect}", f"b{OPPOSITE[x.sign]}{x.aspect}"]
        if self.rng.random() < 0.35 and "?" not in text:
            y = self.opinion()
            while y.aspect == x.aspect:
                y = self.opinion()
            place = "a" if self.rng.random() < 0.5 else "b"
            link = self.deal(("LINKS", ("two places", x.sign == y.sign)))
            text += link + self.fill(self.expanded("{naming_x}"), "one place", y).replace("{a}", f"{{{place}}}")
            labels.append(f"{place}{y.sign}{y.aspect}")
        return [(text, labels)]

    def alike(self):
        """The same opinion about two places."""
        x = self.opinion()
        return [(self.fill(self.deal("ALIKE"), "two places", x), [f"{p}{x.sign}{x.aspect}" for p in "ab"])]

    def mention(self):
        """An opinion about one place beside another that is not judged."""
        x = self.opinion()
        return [(self.fill(self.expanded(self.deal("MENTIONS")), "two places", x), [f"a{x.sign}{x.aspect}"])]

    def unknown(self):
        """An opinion on one aspect beside another that is named and not judged."""
        first, second = self.deal("pairs")
        x, y = self.opinion(first), self.opinion(second)
        return [(self.fill(self.expanded(self.deal("UNKNOWN")), "one place", x, y), [f"a{x.sign}{x.aspect}"])]

    def whole(self):
        """A whole text about two places, and the same with the places exchanged."""
        text, labels = self.deal("whole")
        exchanged = text.replace("{a}", "{c}").replace("{b}", "{a}").replace("{c}", "{b}")
        labels = labels.split()
        return [(text, labels), (exchanged, [{"a": "b", "b": "a"}[label[0]] + label[1:] for label in labels])]

    def silent(self):
        """A whole text that holds no opinion."""
        return [(self.deal("silent"), [])]

    def finished(self, text: str, labels: list[str]) -> dict:
        if labels and self.rng.random() < 0.5:
            text = self.deal("OPENERS") + text
        if labels and self.rng.random() < 0.08:
            text = self.deal("facts") + ". " + text
        if not text.endswith("?"):
            text += self.deal("ENDINGS")
        # Who is called LOCATION1 is a toss.
        exchange = "{b}" in text and self.rng.random() < 0.5
        places = {"a": "LOCATION2", "b": "LOCATION1"} if exchange else {"a": "LOCATION1", "b": "LOCATION2"}
        return sentence(
            text.format(**places), [f"{places[label[0]]}{label[1]}{ASPECTS[label[2:]]}" for label in labels]
        )

    def corpus(self) -> list[dict]:
        """The sentences in SentiHood's form: id, text, opinions."""
        written = {}
        for kind, count in PLAN.items():
            wanted = len(written) + count
            while len(written) < wanted:
                for text, labels in getattr(self, kind)():
                    made = self.finished(text, labels)
                    if len(made["text"].split()) <= MOST_WORDS and len(written) < wanted:
                        written.setdefault(re.sub(r"\W+", " ", made["text"].lower()).strip(), made)
        return numbered(sorted(written.values(), key=lambda _: self.rng.random()))


def sentence(text: str, labels: list[str]) -> dict:
    """A text in SentiHood's form, without id; a label reads LOCATION1+price."""
    text = re.sub(r"(?:^|(?<=[.?!] ))[a-z]", lambda match: match[0].upper(), text)
    opinions = [
        {"sentiment": SENTIMENTS[label[9]], "target_entity": label[:9], "aspect": label[10:]} for label in labels
    ]
    opinions.sort(key=lambda opinion: (opinion["target_entity"], opinion["aspect"]))
    return {"text": text, "opinions": opinions}


def numbered(sentences: list[dict]) -> list[dict]:
    return [{"id": number, **sentence} for number, sentence in enumerate(sentences, start=1)]


def read_sentences(name: str) -> list[dict]:
    """Sentences that were written one by one."""
    lines = (FOLDER / "phrases" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return numbered([sentence(text, labels.split()) for text, labels in (line.split("\t") for line in lines)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output_dir",
        type=Path,
        default=FOLDER,
        help="existing folder to write to (default: that of this file)",
    )
    output_dir = parser.parse_args().output_dir
    files = {
        "sentihood-train": Writer().corpus(),
        "sentihood-dev": read_sentences("validation"),
        "sentihood-test": read_sentences("test"),
        "contrast": read_sentences("contrast"),
    }
    for name, sentences in files.items():
        lines = ",\n".join(json.dumps(sentence, ensure_ascii=False) for sentence in sentences)
        (output_dir / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
