"""absa/conversion.py: files as opinions, and opinions as files."""

from pathlib import Path

import pytest

from absa.conversion import FORMATS, guess_format, read, write
from absa.opinions import Opinion
from datasets_scripts.formats.pivot import Sentence

APC = "Great $T$ here .\nfood\n2\nGreat food $T$ .\nhere\n1\n"
BEGINNINGS = {
    "apc": ("a.txt", APC),
    "aste": ("a.txt", "So .####[]\nFine tea####[([1], [0], 'POS')]\n"),
    "atepc": ("a.txt", "Fine O -100\ntea B-ASP Positive\n"),
    "bio": ("a.txt", "\ntea\tB-POS\n"),
    "brat": ("a.ann", "T1\tTarget 0 3\ttea\n"),
    "custom": ("a.jsonl", '{"text": "a", "aspect": "b", "label": "c"}\n'),
    "semeval2014": ("a.xml", '<?xml version="1.0"?>\n<sentences>'),
    "semeval2016": ("a.xml.gold", "<Reviews>"),
    "sentihood": ("a.json", '[{"opinions": [{"target_entity": "LOCATION1"}]}]'),
    "setfit": ("a.csv", "label,text,ordinal,span\r\n"),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_formats_that_cannot_be_mistaken(name: str, tmp_path: Path):
    file_name, content = BEGINNINGS[name]
    (tmp_path / file_name).write_text(content, encoding="utf-8")
    assert guess_format(tmp_path / file_name) == name


@pytest.mark.parametrize(
    ("file_name", "content", "told"),
    [
        ("a.xml", " \n", "is empty; give a file with annotated sentences"),
        ("a.txt", "It 's fine", "its beginning does not tell its format; give one of apc, aste"),
        ("a.txt", "The $T$ is ####[]", r"its beginning does not tell its format \(apc or aste\?\)"),
        ("a.csv", "text,label\n", "its beginning does not tell its format"),
        ("a.json", '[{"words": ["a"], "aspects": []}]', "its beginning does not tell its format"),
    ],
)
def test_formats_that_can_be_mistaken_are_not_guessed(file_name: str, content: str, told: str, tmp_path: Path):
    (tmp_path / file_name).write_text(content)
    with pytest.raises(ValueError, match=rf"{file_name}: {told}"):
        guess_format(tmp_path / file_name)


def test_opinions_are_records(tmp_path: Path):
    (tmp_path / "a.txt").write_text(APC)
    (sentence,) = read(tmp_path / "a.txt", "apc", {"2": "positive"})
    place = {"target": "food", "target_start": 6, "target_end": 10}
    assert sentence.opinions[0] == Opinion("1", **place, label="positive")
    assert sentence.opinions[1].label == "1"
    predicted = [Opinion("a", **place, label="positive", score=0.9, probabilities={"positive": 0.9})]
    notes = write([Sentence("a", "Great food", predicted)], tmp_path / "a.csv", "setfit")
    assert notes == {"scores: left out": 1, "probabilities: left out": 1, "ids of sentences: left out": 1}
    assert read(tmp_path / "a.csv", "setfit") == [Sentence("1", "Great food", sentence.opinions[:1])]


def test_errors(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"a.txt: there is no such file; check the path"):
        read(tmp_path / "a.txt", "apc")
    with pytest.raises(ValueError, match=r"format_name='xml': choose one of apc, aste, atepc"):
        read(tmp_path / "a.txt", "xml")
    (tmp_path / "a.txt").write_text(APC)
    with pytest.raises(ValueError, match=r"labels has '3', which no opinion of .*a.txt has; its labels: 1, 2"):
        read(tmp_path / "a.txt", "apc", {"3": "positive"})


def test_every_format_has_a_row_in_the_documentation(repo_root: Path):
    page = (repo_root / "docs" / "converting.md").read_text(encoding="utf-8")
    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == [*FORMATS]
