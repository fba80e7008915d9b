"""Source files that are no data: an error that names the file and where in it, whatever is wrong with them."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets_scripts import load_absa_dataset
from datasets_scripts.custom_absa.reading import read_rows
from datasets_scripts.semeval2014.reading import read_sentences as read_xml
from datasets_scripts.sentihood.sentihood import read_sentences as read_json

DEEP = "[" * 100_000
LONG_NUMBER = "9" * 5000
SENTENCE = '{"id": 1, "text": "LOCATION1 is dear", "opinions": []}'
XML = '<sentences>\n<sentence id="1">\n<text>Good soup</text>\n%s\n</sentence>\n</sentences>'


@pytest.fixture
def load_sentihood(tmp_path: Path, tmp_path_factory) -> Callable[[str], object]:
    def load(content: str):
        for split in ("train", "dev", "test"):
            (tmp_path / f"sentihood-{split}.json").write_text(f"[{SENTENCE}]", encoding="utf-8")
        (tmp_path / "sentihood-dev.json").write_text(content, encoding="utf-8")
        return load_absa_dataset("sentihood", data_dir=tmp_path)

    return load


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (DEEP, "JSON that cannot be read"),
        ("[" + SENTENCE.replace("1,", LONG_NUMBER + ",") + "]", "JSON that cannot be read"),
        ("[" + SENTENCE.replace("dear", "\\ud800") + "]", "field 'text': .* holds half a surrogate pair"),
        ("[" + SENTENCE.replace("1,", '"\\udc00",') + "]", "field 'id': .* holds half a surrogate pair"),
        ("[" + SENTENCE.replace("LOCATION1 is dear", "\u200b\u00a0") + "]", "field 'text': .* is not a text"),
        ("[" + SENTENCE.replace("LOCATION1", "LOCATION10") + "]", "none of its texts has LOCATION1 or LOCATION2"),
    ],
)
def test_sentihood(load_sentihood, content: str, told: str):
    with pytest.raises(ValueError, match=rf"sentihood-dev.json.*{told}"):
        load_sentihood(content)


def test_sentihood_does_not_take_another_place_for_the_first(load_sentihood):
    text = SENTENCE.replace("LOCATION1 is dear", "LOCATION10, not LOCATION2s")
    rows = load_sentihood(f"[{text}]")["validation"]
    assert set(map(rows.features["target"].int2str, rows["target"])) == {"LOCATION2"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (XML.replace("Good soup", "Good <b>soup</b>") % "", "line 3, field 'b': 'soup' is no element of <text>"),
        (XML % "<text>More</text>", "line 2, field 'text': .* once in each sentence"),
        (XML % "<aspectcategories/>", "line 4, field 'aspectcategories': .* no element of <sentence>"),
        (
            XML % '<aspectCategories><aspectCategry category="food"/></aspectCategories>',
            "line 4, field 'aspectCategry': .* no element of <aspectCategories>",
        ),
        (
            XML
            % f'<aspectTerms><aspectTerm term="soup" polarity="positive" from="{LONG_NUMBER}" to="9"/></aspectTerms>',
            "line 4, field 'from': .* is not a character offset",
        ),
        ("<a>" * 100_000, "malformed XML"),
    ],
)
def test_semeval2014(tmp_path: Path, content: str, told: str):
    (tmp_path / "Restaurants_Train.xml").write_text(content, encoding="utf-8")
    (tmp_path / "Restaurants_Test_Gold.xml").write_text(XML % "", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"Restaurants_Train.xml.*{told}"):
        load_absa_dataset("semeval2014", data_dir=tmp_path)


ROW = '{"text": "Good soup", "aspect": "food", "label": "positive"}\n'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("train.jsonl", ROW + DEEP, "line 2: JSON that cannot be read"),
        ("train.jsonl", ROW + f'{{"id": {LONG_NUMBER}}}', "line 2: JSON that cannot be read"),
        ("train.csv", "text,aspect,label\n\u200b,food,positive\n", "line 2, column 'text': .* is empty"),
    ],
)
def test_custom(tmp_path: Path, name: str, content: str, told: str):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{name}, {told}"):
        load_absa_dataset("custom", data_files={"train": str(tmp_path / name)})


HUGE = "x" * 100_000
HEADER = "text,aspect,label\n"
OPINION = {"sentiment": "Positive", "aspect": "price", "target_entity": "LOCATION1"}


def sentihood(sentence: dict | None = None, **opinion) -> str:
    record = {"id": 1, "text": "LOCATION1 is dear", "opinions": [OPINION | opinion], **(sentence or {})}
    return json.dumps([record])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.csv", HEADER + f"a,food,good\na,food,{HUGE}\n"),
        ("own.csv", HEADER + f"a,food,good,{HUGE}\n"),
        ("own.csv", HEADER + "," * 100_000),
        ("own.csv", f"{HUGE}\n"),
        ("own.csv", HEADER.replace("\n", f",{HUGE}\n")),
        ("own.csv", ",".join(map(str, range(100_000)))),
        ("own.jsonl", json.dumps({"text": "a", "aspect": "b", "label": [HUGE]})),
        ("own.jsonl", json.dumps({"text": "a", "aspect": "b", "label": "c", HUGE: 1})),
        ("own.jsonl", json.dumps(HUGE)),
        ("own.jsonl", f'{{"{HUGE}": 1, "{HUGE}": 1}}'),
        ("own.json", json.dumps({HUGE: 1})),
        ("own.json", json.dumps([HUGE])),
        ("own.json", sentihood({"id": [HUGE]})),
        ("own.json", sentihood({"id": HUGE, "text": HUGE})),
        ("own.json", sentihood({"text": [HUGE]})),
        ("own.json", sentihood({"text": HUGE + "\ud800"})),
        ("own.json", sentihood({"opinions": HUGE})),
        ("own.json", sentihood({"opinions": [HUGE]})),
        ("own.json", sentihood(aspect=HUGE)),
        ("own.json", sentihood({"text": HUGE})),
        ("own.xml", XML % f"<{HUGE[:40_000]}/>"),
        ("own.xml", f"<{HUGE[:40_000]}/>"),
        ("own.xml", XML % f"</{HUGE[:40_000]}>"),
        ("own.xml", XML.replace("sentence id", f"a{HUGE[:40_000]} id") % ""),
        ("own.xml", XML % f'<aspectTerms><aspectTerm polarity="{HUGE}"/></aspectTerms>'),
        ("own.xml", XML % f'<aspectTerms><aspectTerm polarity="positive" from="{HUGE}"/></aspectTerms>'),
        (
            "own.xml",
            XML % f'<aspectTerms><aspectTerm term="{HUGE}" polarity="positive" from="0" to="9"/></aspectTerms>',
        ),
    ],
    ids=lambda value: value if value.startswith("own") else "",
)
def test_messages_are_short_however_long_the_value_is(tmp_path: Path, name: str, content: str):
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=name) as error:
        READ[file.suffix](file)
    assert len(str(error.value)) < 500 + len(str(file))


READ = {
    ".csv": read_rows,
    ".jsonl": read_rows,
    ".json": lambda file: read_json(file, file.name),
    ".xml": lambda file: read_xml(file, file.name),
}
OWN = '{"id": "1", "text": "Good soup", "target": "", "aspect": "food", "label": "good"}\n'
TERM = '<aspectTerms><aspectTerm term="soup" polarity="positive" from="5" to="9"/></aspectTerms>'
WHOLE = {
    ".csv": b'id,text,target,aspect,label\r\n1,"Good, soup",,food,good\n2,"a ""b""\nc",X,staff,bad\n',
    ".jsonl": (OWN + OWN.replace("1", "2")).encode(),
    ".json": f"[{SENTENCE}, {sentihood({'id': 2})[1:]}".encode(),
    ".xml": (
        XML % (TERM + '<aspectCategories><aspectCategory category="food" polarity="negative"/></aspectCategories>')
    ).encode(),
}
PIECES = (
    b'"',
    b"'",
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\\ud800",
    b"\\",
    b"null",
    b"true",
)
PIECES += (
    b"-1",
    b"1e999",
    b"NaN",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"<",
    b">",
    b"</text>",
    b"&#0;",
    b"&a;",
    b"<!DOCTYPE a>",
)
PIECES += (
    b"<?a?>",
    b"<!--",
    b"]]>",
    "\u200b\u2028\U0001f642".encode(),
    b" ",
    b"text",
    b"label",
    b"LOCATION2",
    b"9" * 5000,
)


@st.composite
def contents(draw, suffix: str) -> bytes:
    """Any bytes; or a whole file in which at most three places hold something else."""
    whole = WHOLE[suffix]
    if draw(st.integers(0, 5)) == 0:
        return draw(st.binary(max_size=200))
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 3)))):
        start = draw(st.integers(0, len(whole)))
        end = min(len(whole), start + draw(st.integers(0, 3)))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4), st.just(whole[start:end] * 2)))
        whole = whole[:start] + piece + whole[end:]
    return whole


@pytest.mark.parametrize("suffix", READ)
def test_any_file_gives_rows_or_an_error_that_names_it(tmp_path_factory, suffix: str):
    file = tmp_path_factory.mktemp("any") / f"own{suffix}"
    outcomes = []

    def read(content: bytes) -> list[dict] | ValueError:
        file.write_bytes(content)
        try:
            return READ[suffix](file)
        except ValueError as error:
            return error

    @settings(max_examples=250, deadline=None, derandomize=True, database=None)
    @given(contents(suffix))
    def check(content: bytes):
        read_or_told = read(content)
        outcomes.append(type(read_or_told))
        if isinstance(read_or_told, ValueError):
            assert type(read_or_told) is ValueError, "the error of a library or of the language, not of a reader"
            assert file.name in str(read_or_told)
            assert len(str(read_or_told)) < 500 + len(str(file))
            return
        assert read_or_told
        for row in read_or_told:
            assert row["id"].strip()
            assert row["text"].strip()
            row["text"].encode()
            for term in row.get("terms", []):
                assert row["text"][term["from"] : term["to"]] == term["term"]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* repeated rows dropped")
        check()
    assert min(outcomes.count(list), outcomes.count(ValueError)) >= 20, "nearly all went one way: little was tried"
