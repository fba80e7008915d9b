"""Source files that are no data: an error that names the file and where in it, whatever is wrong with them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from datasets_scripts import load_absa_dataset

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
