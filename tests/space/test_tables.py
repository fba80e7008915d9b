"""The csv files that visitors of the demo give, and get."""

from pathlib import Path

import pytest

import tables

ANSWER = {"target": "Soho", "aspect": "price", "label": "negative", "score": 0.98765, "truncated": True}


def test_read_and_write(tmp_path: Path):
    """With what spreadsheets make of csv: a mark at the start, Windows' line ends, line ends in cells."""
    (tmp_path / "own.csv").write_bytes('\ufeffid,text\r\n1,"Soho, ""dear""\nand caf\u00e9"\r\n\r\n2,\r\n'.encode())
    columns, rows = tables.read(tmp_path / "own.csv", "text")
    assert columns == ["id", "text"]
    assert rows == [{"id": "1", "text": 'Soho, "dear"\nand caf\u00e9'}, {"id": "2", "text": ""}]
    annotated = [*tables.annotated(rows[0], [ANSWER, ANSWER]), *tables.annotated(rows[1], [])]
    tables.write(tmp_path / "annotated.csv", columns, annotated)
    added = {"target": "Soho", "aspect": "price", "label": "negative", "score": "0.9877", "truncated": "yes"}
    nothing = dict.fromkeys(added, "")
    assert annotated == [{**rows[0], **added}] * 2 + [{**rows[1], **nothing}]
    content = (tmp_path / "annotated.csv").read_bytes().decode("utf-8")
    assert content.startswith("\ufeffid,text,target,aspect,label,score,truncated\r\n")
    assert content.endswith('caf\u00e9",Soho,price,negative,0.9877,yes\r\n2,,,,,,\r\n')


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "There is no column 'text': the file has none"),
        (b"text\n", "has no rows"),
        (b"id;text\n1;Soho\n", "There is no column 'text': the file has 'id;text'"),
        (b"text,label\nSoho,x\n", "there would be two of 'label'"),
        (b'text\na\n"Soho\nb\nc', "Line 3 is no csv: unexpected end of data; a quote that opens there .* line 5"),
        (b'text,x\n"a\nb",c\n\n"d\ne"\n', "Line 5 has 1 cells, the header 2"),
        (b"text" + b",a" * 100, "The file has 101 columns: give 100 at most"),
        (b"text\n" + b"Soho\n" * 1_000_001, "The file has more than 5,000,000 bytes: examples/annotate.py takes any"),
        (b"text\n" + b"S" * 200_000, "Line 2 is no csv: field larger than field limit"),
        ("text\nSoho\n".encode("utf-16"), "The file is binary, or in UTF-16: save it as csv in UTF-8"),
        (b"text\n\nCaf\xe9\n", "Line 3 is not in UTF-8"),
        (b"text\n" + b"Soho\n" * 1001, "more than 1,000 rows: examples/annotate.py takes any number"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, content: bytes, told: str):
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(ValueError, match=told) as error:
        tables.read(tmp_path / "own.csv", "text")
    assert len(str(error.value)) < 200


def test_messages_are_short_however_long_the_names_are(tmp_path: Path):
    (tmp_path / "own.csv").write_text("x" * 100_000 + "\n1\n")
    with pytest.raises(ValueError, match=r"There is no column 'y+\.\.\.: the file has 'x+\.\.\.") as error:
        tables.read(tmp_path / "own.csv", "y" * 100_000)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("name", "column", "told"),
    [
        (None, "text", "There is no such file: give one csv file"),
        (".", "text", "There is no such file: give one csv file"),
        ("own.csv", "", "The column with the texts has no name: say which it is"),  # as pandas writes its index
    ],
)
def test_what_is_not_given(tmp_path: Path, name: str | None, column: str, told: str):
    (tmp_path / "own.csv").write_text(",text\n0,Soho\n")
    with pytest.raises(ValueError, match=told):
        tables.read(name and tmp_path / name, column)


def test_half_surrogates_are_written(tmp_path: Path):
    tables.write(tmp_path / "annotated.csv", ["text"], [{"text": "Soho \ud83d", **tables.NO_ANSWER}])
    assert "Soho \\ud83d,,,,," in (tmp_path / "annotated.csv").read_text(encoding="utf-8-sig")
