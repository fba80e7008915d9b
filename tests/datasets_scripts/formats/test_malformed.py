"""Files that are not in their format: each kind of fault is told, and 1,000 damaged files are read or told."""

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from absa.conversion import FORMATS
from datasets_scripts.formats.pivot import Sentence

NAMES = sorted(set(FORMATS) - {"semeval2015"})
DAMAGED = 100  # files of each of the ten formats
LONGEST_MESSAGE = 2000


def xml(attributes: str, inner: str = "") -> str:
    terms = f"<aspectTerms>\n<aspectTerm {attributes}/></aspectTerms>"
    return f'<sentences><sentence id="1"><text>A tea</text>{inner}{terms}</sentence></sentences>'


def review(attributes: str) -> str:
    opinions = f"<Opinions>\n<Opinion {attributes}/></Opinions>"
    sentence = f'<sentence id="1:0"><text>A tea</text>{opinions}</sentence>'
    return f'<Reviews><Review rid="1"><sentences>{sentence}</sentences></Review></Reviews>'


def location(**changed: object) -> str:
    opinion = {"sentiment": "Positive", "aspect": "price", "target_entity": "LOCATION1"} | changed
    return repr([{"opinions": [opinion], "id": 1, "text": "LOCATION1 is €"}]).replace("'", '"').replace("None", "null")


SETFIT = "text,span,label,ordinal\n"
CUSTOM = "id,text,target,aspect,label\n"
FAULTS = {
    "apc": [
        ("", "has no lines; write three lines for each term"),
        ("A tea\ntea\nPositive\n", "line 1: 'A tea' has $T$ 0 times, where 1 is expected"),
        ("A $T$, $T$\ntea\nPositive\n", "line 1: 'A $T$, $T$' has $T$ 2 times, where 1 is expected"),
        ("A $T$\nPositive\nA $T$\ntea\nPositive\n", "line 3: 'A $T$' has $T$ 1 times, where 0 is expected"),
        ("A $T$\ntea\n", "line 1: 'A $T$' lacks lines behind it; write three lines"),
        (
            "A $T$\nPositive\ntea\n",
            "line 3: 'tea' is no label; write one of Positive, Negative, Neutral, Conflict, or a",
        ),
        ("A $T$\n\u200b\nPositive\n", "line 2: '\\u200b' is empty; write a text"),
    ],
    "atepc": [
        ("\n", "has no words; write a word, its tag and its label on each line"),
        ("A O -100\ntea B-ASP\n", "line 2: 'tea B-ASP' has 2 columns separated by blanks; correct the line"),
        ("tea B-TERM Positive\n", "line 1, token 'tea': 'B-TERM' is no tag; write O, or B or I with one of ASP"),
        (
            "A O -100\ntea I-ASP Positive\n",
            "line 2, token 'tea': 'I-ASP' continues no span; write B where a span begins",
        ),
        (
            "A O Positive\n",
            "line 1: 'Positive' is the label of a word that is in no term; write -100, or tag the word",
        ),
        (
            "hot B-ASP Positive\ntea I-ASP -100\n",
            "line 2: '-100' is not the label of the first word of the term, 'Posi",
        ),
        ("tea B-ASP good\n", "line 1: 'good' is no label; write one of Positive, Negative, Neutral, Conflict"),
        ("tea\xa0cup B-ASP Positive\n", "line 1: 'tea\\xa0cup' is no word; write one without blanks"),
    ],
    "bio": [
        ("\n\n", "has no words; write a word and its tag on each line"),
        ("A O\ntea\n", "line 2: 'tea' has 1 columns separated by blanks; correct the line"),
        (
            "tea B-TEA\n",
            "line 1, token 'tea': 'B-TEA' is no tag; write O, or B or I with one of POS, NEG, NEU, CON, positi",
        ),
        ("tea S-POS\n", "line 1, token 'tea': 'S-POS' is no tag; write O, or B or I"),
        ("tea B\n", "line 1, token 'tea': 'B' is no tag; write O, or B or I"),
        ("A\tO\ntea\tI-POS\n", "line 2, token 'tea': 'I-POS' continues no span"),
        ("hot B-POS\ntea I-NEG\n", "line 2, token 'tea': 'I-NEG' continues no span"),
    ],
    "setfit": [
        ("", "has no rows; write at least one"),
        ("text,span,ordinal\nA tea,tea,0\n", "line 1, columns: ['text', 'span', 'ordinal'] lack 'label'; add it"),
        (
            "text,span,label\nTea or no tea,tea,good\nTea to tea to tea,tea,good\n",
            "line 3, column 'span': 'tea' stands 2 times in 'Tea to tea to tea'; say in a column ordinal",
        ),
        (
            "text,span,label,ordinal,x\n",
            "line 1, columns: 'x' is unknown or occurs twice; keep, each once, text, span",
        ),
        (SETFIT + "A tea,tea,good\n", "line 2: 3 cells"),
        (SETFIT + 'A tea,"tea,good,0\n', "line 2: malformed csv"),
        (
            SETFIT + "A tea,Tea,good,0\n",
            "line 2, column 'span': 'Tea' stands 0 times in 'A tea'; write it as the text has it",
        ),
        (
            SETFIT + "A tea,tea,good,1\n",
            "line 2, column 'ordinal': 1 is too high: 'A tea' has 'tea' 1 times; count from",
        ),
        (SETFIT + "A tea,tea,good,-1\n", "line 2, column 'ordinal': '-1' is no ordinal; write 0 for the first place"),
        (SETFIT + "A tea,tea,good,0.0\n", "line 2, column 'ordinal': '0.0' is no ordinal"),
        (SETFIT + "A tea,tea,,0\n", "line 2, column 'label': '' is empty; write a text or remove the row"),
        (SETFIT + "A tea,,good,0\n", "line 2, column 'span': '' is empty"),
    ],
    "semeval2014": [
        ("", "malformed XML"),
        ("<sentences>\n<sentence", "line 2: malformed XML"),
        ("<Sentences/>", "expected <sentences> with at least one <sentence>, got <Sentences>"),
        ("<!DOCTYPE a><sentences/>", "has a document type declaration, which is refused; remove it"),
        (
            xml('term="tea" polarity="positive" from="3" to="6"'),
            "line 2, field 'term': 'tea' is not what text has from",
        ),
        (
            xml('term="tea" polarity="positive" from="-1" to="2"'),
            "line 2, field 'from': '-1' is not a character offset",
        ),
        (
            xml('term="tea" polarity="good" from="2" to="5"'),
            "line 2, field 'polarity': 'good' is unknown; write one of",
        ),
        (xml('polarity="positive" from="2" to="5"'), "line 2, field 'term': None is not what text has"),
        (
            xml("", "<aspectCategories/><terms/>"),
            "line 1: 'terms' is no element of <sentence>, which has text, aspect",
        ),
        (
            xml("", '<aspectCategories><aspectCategory category="" polarity="positive"/></aspectCategories>'),
            "line 2, field",
        ),
        (
            "<sentences><sentence id='1'><text>A</text></sentence><sentence><text>B</text></sentence></sentences>",
            "line 1, field 'id': None is not a string",
        ),
    ],
    "semeval2016": [
        ("<Reviews/>", "expected <Reviews> with at least one <Review>, got <Reviews>"),
        (
            review('target="tea" category="A#B" polarity="positive" from="1" to="4"'),
            "line 2, field 'target': 'tea' is not what text has from 1 to 4, ' te'; correct target or offsets",
        ),
        (
            review('target="tea" category="A#B" polarity="positive"'),
            "line 2, field 'from': '' is not a character offset",
        ),
        (
            review('target="NULL" category="A" polarity="positive"'),
            "line 2, field 'category': 'A' is no ENTITY#ATTRIBUTE",
        ),
        (
            review('category="A#B" polarity="conflict"'),
            "line 2, field 'polarity': 'conflict' is unknown; write one of",
        ),
    ],
    "aste": [
        ("", "has no lines; write a sentence with its triplets on each"),
        ("A tea\n", "line 1: 'A tea' has no ####; write text####[([words of the target]"),
        ("A tea####[([1], [0], 'POS')\n", "line 1, triplets: \"[([1], [0], 'POS')\" cannot be read; write text####"),
        ("A tea####[([1], 'POS')]\n", "line 1, triplets: ([1], 'POS') is no triplet"),
        ("A tea####[([2], [0], 'POS')]\n", "line 1, target: [2, 3] is no span of the 2 words of the sentence"),
        ("A hot tea####[([0, 2], [1], 'POS')]\n", "line 1, target: [0, 2] has a gap; write the numbers of words"),
        ("A tea####[([1], [0], 'CON')]\n", "line 1, polarity: 'CON' is unknown; write one of POS, NEG, NEU"),
        ("A  tea####[]\n", "line 1, text: '' is empty; write a text"),
    ],
    "sentihood": [
        ("", "line 1: invalid JSON"),
        ("[]", "[] is not a list of sentences"),
        (
            location(sentiment="Good"),
            "sentence 1, field 'sentiment': 'Good' is unknown; write one of Positive, Negative",
        ),
        (location(aspect=None), "sentence 1, field 'aspect': None is unknown; write one of general"),
        (location(target_entity="LOCATION2"), "sentence 1, field 'target_entity': 'LOCATION2' does not occur in"),
    ],
    "custom": [
        ("text,aspect\n", "line 1, columns: ['text', 'aspect'] lack 'label'; add it"),
        (CUSTOM + "1,A tea,,,good\n", "line 2, column 'aspect': '' is empty; write a text or remove the row"),
        (
            CUSTOM + "1,A,,a,good\n1,B,,a,good\n",
            "line 3, column 'id': '1' belongs to another text on line 2; give each",
        ),
        (CUSTOM + "1,A,,a,good\n1,A,,a,bad\n", "line 3, column 'label': 'bad' contradicts 'good' on line 2"),
    ],
    "brat": [
        (
            "Target 6 10\tfood\n",
            "line 1: 'Target 6 10' is no id of a span, an attribute or a relation, such as T1, A1",
        ),
        (
            "T1\tTarget 6 10\tfood\nT1\tTarget 6 10\tfood\n",
            "line 2: 'T1' occurs twice; give each annotation its own id",
        ),
        ("T1\tTarget 6 11\tfood\n", "line 1: 'food' is not what the text has from 6 to 11, 'food,'; correct words"),
        ("T1\tTarget 6 8;9 10\tfo d\n", "line 1: 'Target 6 8;9 10\\tfo d' is no span; write Target or Opinion"),
        ("T1\tPlace 6 10\tfood\n", "line 1: 'Place 6 10\\tfood' is no span; write Target or Opinion, start and end"),
        ("A1\tLabel T1 positive\n", "line 1: 'Label T1 positive' is no attribute; write Label or Aspect, the T of"),
        (
            "T1\tTarget 6 10\tfood\nA1\tLabel T1 good\nA2\tLabel T1 bad\n",
            "line 3: 'Label T1 bad' is the second Label of T1; keep one of them",
        ),
        (
            "T1\tTarget 6 10\tfood\nT2\tOpinion 47 49\tSo\nR1\tJudges Arg1:T2 Arg2:T1\n",
            "line 3: 'Judges Arg1:T2 Arg2:T1' is no relation; write Judges Arg1:T2 Arg2:T1, an Opinion and a",
        ),
        (
            "T1\tTarget 6 10\tfood\nT2\tOpinion 0 5\tGreat\nA1\tLabel T2 good\nR1\tJudges Arg1:T2 Arg2:T1\n",
            "line 4: 'T2' has an attribute and judges a target; give the attribute to the target",
        ),
    ],
}


@pytest.mark.parametrize(("name", "content", "told"), [(name, *fault) for name in FAULTS for fault in FAULTS[name]])
def test_a_fault_is_told_with_its_place_and_remedy(name: str, content: str, told: str, examples, read_content):
    with pytest.raises(ValueError, match=re.escape(examples[name][0])) as raised:
        read_content(name, content)
    assert type(raised.value) is ValueError
    assert told in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
def test_another_encoding_is_told(name: str, examples, read_content):
    content = examples[name][1].replace("food", "föod")
    with pytest.raises(ValueError, match=r"is not UTF-8; save the file as UTF-8"):
        read_content(name, content.encode("utf-16"))
    if "föod" in content:
        with pytest.raises(ValueError, match=r"line \d+: byte 0xf6 is not UTF-8; save the file as UTF-8"):
            read_content(name, content.replace("€", "e").encode("latin-1"))


def test_a_name_that_ends_otherwise_is_told(read_content, tmp_path: Path):
    for name in ("setfit", "custom"):
        with pytest.raises(
            ValueError, match=r"train.tsv: expected a name that ends in .csv or .jsonl; rename the file"
        ):
            read_content(name, SETFIT, "train.tsv")
    with pytest.raises(ValueError, match=r"train.txt: expected a name that ends in .ann; the texts lie beside it"):
        read_content("brat", "", "train.txt")
    (tmp_path / "alone.ann").write_text("T1\tTarget 6 10\tfood\n")
    with pytest.raises(
        FileNotFoundError, match=r"alone.ann: the file of its texts, .*alone.txt, is missing; put it th"
    ):
        FORMATS["brat"].read(tmp_path / "alone.ann")
    (tmp_path / "alone.txt").write_text("\n \n")
    (tmp_path / "alone.ann").write_text("")
    with pytest.raises(ValueError, match=r"alone.txt: has no text; write a sentence on each line"):
        FORMATS["brat"].read(tmp_path / "alone.ann")


# Ways to damage a file. Each takes its lines and a generator, and gives its lines.


def truncated(lines: list[str], draw: random.Random) -> list[str]:
    text = "\n".join(lines)
    return text[: draw.randrange(len(text))].split("\n")


def deleted(lines: list[str], draw: random.Random) -> list[str]:
    start = draw.randrange(len(lines))
    return lines[:start] + lines[start + draw.choice([1, 1, 2]) :]


def doubled(lines: list[str], draw: random.Random) -> list[str]:
    start = draw.randrange(len(lines))
    return [*lines[: start + 1], *lines[start:]]


def exchanged(lines: list[str], draw: random.Random) -> list[str]:
    start = draw.randrange(len(lines) - 1)
    return [*lines[:start], lines[start + 1], lines[start], *lines[start + 2 :]]


def fields_swapped(lines: list[str], draw: random.Random) -> list[str]:
    at = draw.randrange(len(lines))
    separator = next((one for one in '\t," ' if one in lines[at].strip()), " ")
    fields = lines[at].split(separator)
    first, second = draw.randrange(len(fields)), draw.randrange(len(fields))
    fields[first], fields[second] = fields[second], fields[first]
    return [*lines[:at], separator.join(fields), *lines[at + 1 :]]


def replaced(pattern: str, *others: str) -> Callable[[list[str], random.Random], list[str]]:
    def replace(lines: list[str], draw: random.Random) -> list[str]:
        text = "\n".join(lines)
        places = [match.span() for match in re.finditer(pattern, text)]
        if not places:
            return truncated(lines, draw)
        start, end = draw.choice(places)
        other = draw.choice(others)
        if other == "near":
            other = str(int(text[start:end]) + draw.choice([-1, 1, 2]))
        return (text[:start] + other + text[end:]).split("\n")

    return replace


NUMBERS = replaced(r"\b\d{1,3}\b", "near", "near", "near", "0", "999", "-1", "x", "1.5", "", "9" * 50)
DAMAGES = [
    truncated,
    deleted,
    doubled,
    exchanged,
    fields_swapped,
    NUMBERS,
    replaced(r"(?i)\b(positive|negative|neutral|conflict|POS|NEG|NEU|ASP)\b", "good", "", "none", "B", "€", "tea"),
    replaced(r"[][(){}<>\"',:;=#/$\t-]", "", "", "'", '"', "\t", "<", "\0", "\u200b", "\u2028", "\r"),
    replaced(r"\w+", "", " ", "food", "LOCATION2", "$T$", "####", "\ufeff", "\x0b", "x" * 5000),
]
TOLD_TWICE = ("brat", "semeval2014", "semeval2016")  # which have the words of a place beside its numbers
ENCODINGS = ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "cp1252", "utf-32-be"]


def check(sentences: list[Sentence]):
    assert sentences
    assert len({sentence.id for sentence in sentences}) == len(sentences)
    for sentence in sentences:
        assert sentence.text.strip()
        assert all(sentence.text[start:end].strip() for start, end in sentence.words or [])
        for opinion in sentence.opinions:
            assert opinion.keys() & {"target", "aspect", "opinion"}
            for field in ("target", "opinion"):
                if f"{field}_start" in opinion:
                    start, end = opinion[f"{field}_start"], opinion[f"{field}_end"]
                    assert 0 <= start < end
                    assert sentence.text[start:end] == opinion[field]


def places(sentences: list[Sentence]) -> set[tuple]:
    return {
        (sentence.text, field, opinion[field], opinion[f"{field}_start"])
        for sentence in sentences
        for opinion in sentence.opinions
        for field in ("target", "opinion")
        if f"{field}_start" in opinion
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.* repeated rows dropped", "ignore:.* notes of annotators are not read")
def test_damaged_files_are_read_or_told(name: str, examples, read_content, tmp_path: Path):
    """What is read stands where it says, and is the same when it is written and read again."""
    draw, outcomes = random.Random(name), Counter()
    file_name, content = examples[name]
    undamaged = places(read_content(name, content))
    for number in range(DAMAGED):
        damage = DAMAGES[number % len(DAMAGES)]
        lines = damage(content.split("\n"), draw)
        encoded = "\n".join(lines).encode(draw.choice(ENCODINGS), "replace")
        try:
            sentences = read_content(name, encoded)
        except ValueError as error:
            told = str(error)
            assert type(error) is ValueError, encoded  # noqa: PT017
            assert file_name in told, told
            assert re.search(r"[;,] \w+", told.partition(file_name)[2]), told
            assert len(told) <= LONGEST_MESSAGE
            outcomes["told"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"{name}, {damage}, {encoded!r}") from error
        check(sentences)
        assert damage is not NUMBERS or name not in TOLD_TWICE or places(sentences) <= undamaged, encoded
        outcomes["read"] += 1
        if any(sentence.opinions for sentence in sentences):
            again = tmp_path / f"again-{number}" / file_name
            again.parent.mkdir()
            notes = +FORMATS[name].write(sentences, again)
            assert not {note for note in notes if "left out" in note}, encoded
            assert notes or FORMATS[name].read(again) == sentences, encoded
    assert outcomes.total() == DAMAGED
    assert outcomes["told"] >= 10
    assert outcomes["read"] >= 10, outcomes
