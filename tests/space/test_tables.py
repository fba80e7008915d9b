"""The csv files that visitors of the demo give, and get."""

from pathlib import Path

import pytest

import tables
from asking import Answer

ANSWER = Answer("Soho", 0, 4, aspect="price", label="negative", score=0.98765, truncated=True)


def test_read_and_write(tmp_path: Path):
    """With what spreadsheets make of csv: a mark at the start, Windows' line ends, line ends in cells."""
    (tmp_path / "own.csv").write_bytes('\ufeffid,text\r\n1,"Soho, ""dear""\nand caf\u00e9"\r\n\r\n2,\r\n'.encode())
    columns, rows = tables.read(tmp_path / "own.csv", "text")
    assert columns == ["id", "text"]
    assert rows == [{"id": "1", "text": 'Soho, "dear"\nand caf\u00e9'}, {"id": "2", "text": ""}]
    annotated = [*tables.annotated(rows[0], [ANSWER, ANSWER]), *tables.annotated(rows[1], [])]
    tables.write(tmp_path / "annotated.csv", columns, annotated)
    added = {
        "target": "Soho",
        "target_start": 0,
        "target_end": 4,
        "opinion": "",
        "opinion_start": "",
        "opinion_end": "",
    }
    added |= {"aspect": "price", "label": "negative", "score": "0.9877", "truncated": "yes"}
    assert annotated == [{**rows[0], **added}] * 2 + [{**rows[1], **dict.fromkeys(added, "")}]
    content = (tmp_path / "annotated.csv").read_bytes().decode("utf-8")
    assert content.startswith(f"\ufeffid,text,{','.join(added)}\r\n")
    assert content.endswith('caf\u00e9",Soho,0,4,,,,price,negative,0.9877,yes\r\n2,,,,,,,,,,,\r\n')


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", r"There is no column 'text': the file has \[\]"),
        (b"id;text\n1;Soho\n", r"There is no column 'text': the file has \['id;text'"),
        (b"x" * 100_000, r"There is no column 'text': the file has \['x+\.\.\.x+'"),
        (b"text,label\nSoho,x\n", r"there would be two of \['label'"),
        (b'text\na\n"Soho\nb\nc', "Line 3 is no csv: unexpected end of data"),
        (b'text,x\n"a\nb",c\n\n"d\ne"\n', "Line 5 has 1 cells, the header 2"),
        (b"text\n" + b"S" * 200_000, "Line 2 is no csv: field larger than field limit"),
        ("text\nSoho\n".encode("utf-16"), "Line 1 is not in UTF-8: save the file as csv in UTF-8"),
        (b"text\n\nCaf\xe9\n", "Line 3 is not in UTF-8"),
        (b"text\n" + b"Soho\n" * 1001, "More than 1,000 rows: examples/annotate.py takes any number"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, content: bytes, told: str):
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(ValueError, match=told) as error:
        tables.read(tmp_path / "own.csv", "text")
    assert len(str(error.value)) < 200


def test_a_column_must_have_a_name(tmp_path: Path):
    (tmp_path / "own.csv").write_text(",text\n0,Soho\n")  # as pandas writes its index
    with pytest.raises(ValueError, match="There is no column ''"):
        tables.read(tmp_path / "own.csv", "")


def test_half_surrogates_are_written(tmp_path: Path):
    tables.write(tmp_path / "annotated.csv", ["text"], tables.annotated({"text": "Soho \ud83d"}, []))
    assert "Soho \\ud83d,,,,,,,,,," in (tmp_path / "annotated.csv").read_text(encoding="utf-8-sig")
