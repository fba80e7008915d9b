import json

import pytest

from datasets_scripts.source_files import checked_text, parse_json, read_lines, read_utf8, value_error, with_own_ids


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xef\xbb\xbfa\nb\n\xff", r"a.txt, line 3: byte 0xff is not UTF-8; save the file as UTF-8"),
        ("a".encode("utf-16"), "a.txt: begins as UTF-16 or UTF-32, and is not UTF-8"),
        ("a".encode("utf-16-be"), "begins as UTF-16 or UTF-32"),
        ("a".encode("utf-32"), "begins as UTF-16 or UTF-32"),
    ],
)
def test_file_that_is_not_utf8(tmp_path, content, told):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(ValueError, match=told):
        read_utf8(tmp_path / "a.txt")


def test_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffa\u2028b\r\n \n\nc".encode())
    assert list(read_lines(tmp_path / "a.txt")) == [(1, "a\u2028b\r"), (4, "c")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[\n{"a" 1}]', r"^a.json, line 8: invalid JSON \(Expecting ':' delimiter at column 6\); correct it"),
        ("[" * 100_000, r"^a.json, from line 7: JSON that cannot be read \(maximum recursion"),
        ("9" * 5000, r"^a.json, from line 7: JSON that cannot be read \(Exceeds the limit"),
        ('{"a": 1, "a": 2}', r"^a.json, from line 7: .* \(a key occurs twice in \['a', 'a'\]\)"),
    ],
)
def test_json_that_is_none(text, told):
    with pytest.raises(ValueError, match=told):
        parse_json(text, "a.json", line=7)
    assert parse_json('{"a": [1]}', "a.json") == json.loads('{"a": [1]}')


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (3, "3 is not a string; write a string"),
        (None, "None is not a string"),
        ("a\ud83d", r"'a\\ud83d' holds half a surrogate pair; write the whole character"),
        (" \t", r"' \\t' is empty; write"),
        ("\u200b\u00a0", ".* is empty"),
    ],
)
def test_text_that_is_none(value, told):
    with pytest.raises(ValueError, match=f"^a.csv, line 3: {told}"):
        checked_text(value, "a.csv, line 3")
    assert checked_text(" a\u200b", "a.csv, line 3") == " a\u200b"


def test_ids_are_unique():
    with pytest.raises(ValueError, match=r"^line 2, field 'id': '1' occurs twice"):
        with_own_ids([("line 1", {"id": "1"}), ("line 2", {"id": "1"})])


def test_values_in_errors_are_short():
    assert len(str(value_error("a.csv", ["x" * 100_000], "is too long"))) < 120
