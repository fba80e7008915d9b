"""What examples/annotate.py is given to read: every bad row has its reason, every bad file and argument its error."""

import csv
import errno
import gzip
import json
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from absa import corpus


def test_bad_rows_of_jsonl(read, rejected, annotate, tmp_path: Path):
    lines = [
        b'\xef\xbb\xbf{"text": "LOCATION1 after a byte order mark", "id": 7}\r',
        b'{"text": "LOCATION1',
        b"",
        b"\x00\x00\x00",
        b'{"text": 3, "id": "a"}',
        b'{"text": null, "id": "a"}',
        b'{"id": "a", "other": 1}',
        b'["LOCATION1"]',
        b'{"text": "\xff LOCATION1", "id": "a"}',
        b'{"text": " \\u200b", "id": "a"}',
        b'{"text": "LOCATION1", "id": null}',
        b'{"text": "LOCATION1", "id": 1.5}',
        b'{"text": "LOCATION1", "id": "\\ud800"}',
        b"[" * 100_000,
        b'{"text": "LOCATION1 \\u0000 \\ud800 is safe", "id": "nul"}',
    ]
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b"\n".join(lines) + b"\n")
    folder = annotate(tmp_path / "run", file, id_column="id", aspects=["price"], shard_size=4)
    assert read(folder)["id"].tolist() == ["7", "nul"]
    reasons = {reject["row"]: reject["reason"] for reject in rejected(folder)}
    assert all(reject["line"] == reject["row"] for reject in rejected(folder))
    expected = {
        2: "no JSON: Unterminated string starting at at character 10",
        3: "the line is blank",
        4: "no JSON: Expecting value",
        5: "the text is 3 (int), no string",
        6: "the text is missing",
        7: "it has no text, but id, other",
        8: "it is ['LOCATION1'] (list), no object",
        9: "the line is not UTF-8: invalid start byte at byte 10",
        10: "the text has nothing to read: ' \\u200b' (str)",
        11: "the id is missing",
        12: "the id is 1.5 (float), neither a string nor a whole number",
        13: "the id is not UTF-8",
        14: "no JSON: ",
    }
    assert list(reasons) == list(expected)
    for row, start in expected.items():
        assert reasons[row].startswith(start), row
    assert json.loads((folder / "summary.json").read_text())["rejects"] == 13


def test_bad_rows_of_csv(read, rejected, annotate, tmp_path: Path):
    limit = corpus.LONGEST_FIELD
    lines = [
        b"\xef\xbb\xbfid,text",
        b"1,LOCATION1 is safe",
        b"2",
        b"3,LOCATION1, which is dear",
        b'4,"LOCATION1 on two',
        b'lines, ""quoted"""',
        b"",
        b'5,"LOCATION1" is safe',
        b"6,LOCATION1 \xff",
        b'7,5" LOCATION1 \x00',
        b"8,",
        b",LOCATION1",
        b"9," + b"x" * (limit + 1),
        b"10,LOCATION1",
        b'11,"LOCATION1 is never closed',
        b"12,LOCATION1",
        b"13,LOCATION2",
    ]
    file = tmp_path / "bad.csv"
    file.write_bytes(b"\r\n".join(lines) + b"\r\n")
    folder = annotate(tmp_path / "run", file, id_column="id", aspects=["price"], shard_size=4)
    assert read(folder)[["id", "row"]].values.tolist() == [["1", 1], ["4", 4], ["7", 8], ["10", 12]]
    expected = {
        (2, 3): "1 fields, where the header has 2",
        (3, 4): "3 fields, where the header has 2",
        (5, 7): "the line is blank",
        (6, 8): "malformed csv: ',' expected after '\"'",
        (7, 9): "the line is not UTF-8",
        (9, 11): "the text has nothing to read: '' (str)",
        (10, 12): "the id is missing",
        (11, 13): "malformed csv: field larger than field limit",
        (13, 15): "malformed csv: unexpected end of data; lines 15 to 17 are lost to a quote that opens and does not",
    }
    found = rejected(folder)
    assert [(reject["row"], reject["line"]) for reject in found] == list(expected)
    for reject, start in zip(found, expected.values(), strict=True):
        assert reject["reason"].startswith(start), reject


def test_bad_rows_of_parquet(read, rejected, annotate, tmp_path: Path):
    raw = pa.array([b"LOCATION1 is safe", None, b"LOCATION1 \xff", b"\t", b"LOCATION1"], pa.binary())
    as_strings = pa.Array.from_buffers(pa.string(), 5, raw.buffers(), null_count=1)
    pq.write_table(pa.table({"text": as_strings, "id": [1, 2, 3, 4, 5]}), tmp_path / "bad.parquet", row_group_size=2)
    folder = annotate(tmp_path / "run", tmp_path / "bad.parquet", id_column="id", aspects=["price"], shard_size=2)
    assert read(folder)["id"].tolist() == ["1", "5"]
    reasons = [(reject["row"], reject["line"], reject["reason"]) for reject in rejected(folder)]
    assert reasons == [
        (2, None, "the text is missing"),
        (3, None, "it is not UTF-8: invalid start byte at byte 10"),
        (4, None, "the text has nothing to read: '\\t' (str)"),
    ]


def test_dictionaries_and_large_strings_of_parquet(read, annotate, tmp_path: Path):
    texts = pa.array(["LOCATION1 is safe", "LOCATION1"] * 3)
    for name, column in (("dictionary", texts.dictionary_encode()), ("large", texts.cast(pa.large_string()))):
        pq.write_table(pa.table({"text": column}), tmp_path / f"{name}.parquet")
    rows = read(annotate(tmp_path / "run", *tmp_path.glob("*.parquet"), aspects=["price"]))
    assert rows["id"].tolist() == [str(number) for number in range(1, 13)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_too_long_for_memory_are_rejected_and_the_rest_is_read(
    read, rejected, annotate, tmp_path: Path, monkeypatch, packed: bool, ending: str
):
    monkeypatch.setattr(corpus, "LONGEST_LINE", 60)
    long = "LOCATION1 is dear" * 20
    jsonl = [json.dumps({"text": text}) for text in ("LOCATION1 is dear", long, "LOCATION2 is safe", long)]
    csv = ["text", "LOCATION1 is dear", long, f'"{long}', "LOCATION2 is safe", '"LOCATION2', 'is near"']
    suffix = ".gz" if packed else ""
    for name, lines in (("a.jsonl", jsonl), ("b.csv", csv)):
        content = ending.join(lines).encode()
        (tmp_path / f"{name}{suffix}").write_bytes(gzip.compress(content) if packed else content)
    folder = annotate(tmp_path / "run", tmp_path / f"a.jsonl{suffix}", tmp_path / f"b.csv{suffix}")
    assert sorted(
        set(zip(read(folder)["file"].map(lambda name: Path(name).name[0]), read(folder)["row"], strict=True))
    ) == [
        *(("a", row) for row in (1, 3)),
        *(("b", row) for row in (1, 4, 5)),
    ]
    reasons = {(Path(reject["file"]).name[0], reject["row"]): reject["reason"] for reject in rejected(folder)}
    assert list(reasons) == [("a", 2), ("a", 4), ("b", 2), ("b", 3)]
    assert reasons["a", 2] == "the line has more than 60 bytes"
    assert "field larger than field limit" in reasons["b", 3]


def test_texts_too_long_for_memory_are_rejected(read, rejected, annotate, tmp_path: Path):
    texts = ["LOCATION1 is dear", "LOCATION1 " + "x" * 2**20, "LOCATION1 is far"]
    pd.DataFrame({"text": texts}).to_parquet(tmp_path / "a.parquet")
    folder = annotate(tmp_path / "run", tmp_path / "a.parquet")
    assert set(read(folder)["row"]) == {1, 3}
    assert [reject["reason"] for reject in rejected(folder)] == [
        "the text has 1048586 characters: 1048576 are the most"
    ]


def test_what_is_neither_file_nor_folder(annotate, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"input=.*pipe.csv is neither a file nor a folder"):
        annotate(tmp_path / "run", tmp_path / "pipe.csv")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"a.csv": "id,review\n1,x\n"}, {}, "text_column=text is no column of .*a.csv, which has id, review"),
        ({"a.csv": "text,text\n1,x\n"}, {}, "text_column=text is the name of several columns of .*a.csv"),
        ({"a.csv": 'text,"cut\n'}, {}, "a.csv, line 1: malformed csv: unexpected end of data; correct the header"),
        ({"a.jsonl": '{"id": 1}\n{"review": "x"}\n'}, {}, "text_column=text is no column .* has id, review"),
        ({"a.jsonl": '{"text": "x"}\n'}, {"id_column": "key"}, "id_column=key is no column of .*a.jsonl"),
        ({"a.jsonl": "", "b.csv": "", "c.csv": "text\n"}, {}, "hold no rows: there is nothing to annotate"),
        ({"a.txt": "x"}, {}, "is a folder without a file that ends in .parquet"),
        ({"a.csv": "x" * 1000 + "\n1\n"}, {}, "text_column=text is no column of .*a.csv, which has x{80}...$"),
        ({"a.jsonl": '{"text": "x"}'}, {"aspects": ["noise"]}, r"aspects 'noise': unknown .*\['general', 'price'"),
        ({"a.jsonl": '{"text": "x"}'}, {"targets": ["Soho"]}, r"targets 'Soho': unknown .*\['LOCATION1'"),
        ({"a.jsonl": '{"text": "x"}'}, {"targets": ["Soho", "A=LOCATION1"]}, "give Soho=Soho, or names only"),
        ({"a.jsonl": '{"text": "x"}'}, {"abstain_below": 2.0}, "abstain_below=2.0: give a probability"),
        ({"a.jsonl": '{"text": "x"}'}, {"shard_size": 0}, "shard_size=0: give at least 1"),
        ({"a.parquet": "no parquet"}, {}, "a.parquet cannot be read to its end"),
        ({"a.csv.gz": "no gzip"}, {}, "a.csv.gz cannot be read to its end"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_errors(annotate, tmp_path: Path, content, options, message):
    (tmp_path / "in").mkdir()
    for name, text in content.items():
        (tmp_path / "in" / name).write_text(text)
    with pytest.raises((ValueError, OSError), match=message):
        annotate(tmp_path / "out", tmp_path / "in", **options)
    assert not list(tmp_path.glob("out/annotations-*"))


def test_columns_of_other_types(annotate, tmp_path: Path):
    pq.write_table(pa.table({"text": [1, 2], "id": [0.5, 1.5], "good": ["a", "b"]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"text_column=text of .*a.parquet holds int64, no strings"):
        annotate(tmp_path / "out", tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"id_column=id of .*a.parquet holds double, neither strings nor whole"):
        annotate(tmp_path / "out", tmp_path / "a.parquet", text_column="good", id_column="id")


def test_a_cut_off_gz_file(annotate, tmp_path: Path):
    whole = gzip.compress(b"".join(b'{"text": "LOCATION1 %d"}\n' % number for number in range(1000)))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match=r"a.jsonl.gz cannot be read to its end: Compressed file ended before"):
        annotate(tmp_path / "out", tmp_path / "a.jsonl.gz")


def test_places_that_do_not_fit(annotate, tmp_path: Path, tiny_classifier: Path, tiny_bert: Path, monkeypatch):
    file = tmp_path / "in" / "a.jsonl"
    file.parent.mkdir()
    file.write_text('{"text": "LOCATION1"}')
    with pytest.raises(FileNotFoundError, match=r"input=.*b.csv does not exist"):
        annotate(tmp_path / "out", tmp_path / "b.csv")
    with pytest.raises(ValueError, match=r"inputs has the name '', which would be this folder: give '\.'"):
        annotate(tmp_path / "out", file, "")
    with pytest.raises(ValueError, match=r"output_dir has the name '', which would be this folder"):
        annotate("", file)
    with pytest.raises(ValueError, match=r"a.jsonl is given twice: its texts would count double; leave it out"):
        annotate(tmp_path / "out", file, file.parent)
    with pytest.raises(ValueError, match=r"output_dir=.*out and input=.*in hold one another"):
        annotate(file.parent / "out", file.parent)
    with pytest.raises(FileExistsError, match=r"output_dir=.* is a file: give a folder"):
        annotate(tiny_classifier / "config.json", file)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ValueError, match=r"input=.*a.txt: give a file that ends in .parquet, .csv"):
        annotate(tmp_path / "out", tmp_path / "a.txt")
    with pytest.raises(ValueError, match=r"checkpoint=.* is no aspect-sentiment model: .* names no aspects"):
        annotate(tmp_path / "out", file, checkpoint=tiny_bert)
    with pytest.raises(FileNotFoundError, match=r"checkpoint=no/such is no folder with a model, and the Hub did not"):
        annotate(tmp_path / "out", file, checkpoint="no/such")
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_data_are_told(read, annotate, tmp_path: Path, caplog):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "below" / "a.jsonl").write_text('{"text": "LOCATION1"}')
    (tmp_path / "in" / "README.md").write_text("x")
    (tmp_path / "in" / ".hidden.jsonl").write_text('{"text": "LOCATION1"}')
    annotate(tmp_path / "out", tmp_path / "in")
    assert "2 files are left out, hidden or no parquet, csv or jsonl, such as" in caplog.text
    assert len(read(tmp_path / "out")) == 4


def test_links_in_a_folder(read, annotate, tmp_path: Path, caplog):
    """To files they are read; that no loop of folders is followed, and that what leads nowhere is told."""
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    for place in (folder / "below", elsewhere):
        place.mkdir(parents=True)
        (place / "a.jsonl").write_text('{"text": "LOCATION1"}')
    (folder / "b.jsonl").symlink_to(elsewhere / "a.jsonl")
    for name, target in (("none.csv", "absent.csv"), ("self.csv", "self.csv"), ("up.csv", ".."), ("out", elsewhere)):
        (folder / "below" / name).symlink_to(target)
    annotate(tmp_path / "out", folder)
    assert "4 files are left out, hidden or no parquet, csv or jsonl, such as" in caplog.text
    assert sorted(set(read(tmp_path / "out")["file"])) == [str(folder / "b.jsonl"), str(folder / "below" / "a.jsonl")]
    (folder / "below" / "again.jsonl").symlink_to("a.jsonl")
    with pytest.raises(ValueError, match=r"again.jsonl is given twice: .* the link that leads to .*below/a.jsonl"):
        annotate(tmp_path / "out", folder)


def test_a_folder_that_cannot_be_searched_is_told(annotate, tmp_path: Path, monkeypatch):
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "LOCATION1"}')

    def forbidden(path, scandir=os.scandir):
        if os.fspath(path).endswith("below"):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbidden)
    with pytest.raises(OSError, match=r"below cannot be searched: Permission denied; set its permissions right"):
        annotate(tmp_path / "out", tmp_path / "in")


def test_a_name_that_is_not_utf8_is_told(annotate, tmp_path: Path):
    (tmp_path / "in").mkdir()
    name = os.fsdecode(bytes(tmp_path / "in") + b"/caf\xe9.jsonl")
    try:
        Path(name).write_text('{"text": "LOCATION1"}')
    except OSError:
        pytest.skip("this system has no such names")
    with pytest.raises(ValueError, match=r"caf\\udce9.jsonl' has a name that is not UTF-8: rename the file"):
        annotate(tmp_path / "out", tmp_path / "in")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_other_encodings_are_told(annotate, tmp_path: Path, name: str, encoding: str):
    content = ("text\nLOCATION1\n" if "csv" in name else '{"text": "LOCATION1"}\n').encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with pytest.raises(ValueError, match=rf"{name} begins as UTF-16 or UTF-32, and is not UTF-8: save the file as"):
        annotate(tmp_path / "out", tmp_path / name)


def test_files_without_rows_are_told(read, annotate, tmp_path: Path, caplog):
    for name, content in (("a.csv", ""), ("b.csv", "text\n"), ("c.jsonl", '{"text": "LOCATION1"}')):
        (tmp_path / name).write_text(content)
    annotate(tmp_path / "out", *sorted(tmp_path.glob("*.*")))
    assert "2 files have no rows, such as" in caplog.text
    assert len(read(tmp_path / "out")) == 4


def test_the_limit_of_csv_is_as_it_was(annotate, tmp_path: Path):
    before = csv.field_size_limit()
    (tmp_path / "a.csv").write_text("text\nLOCATION1\n")
    annotate(tmp_path / "out", tmp_path / "a.csv")
    assert csv.field_size_limit() == before < 1 << 20
