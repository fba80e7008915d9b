"""The files of a corpus: every row is a text or has its reason, and files are found wherever they are."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from absa import text_files


def read(*inputs: Path | str, text_column: str = "text", id_column: str | None = None, most_rows: int = 3):
    """All texts as (id, text), and all rejects as (row, reason)."""
    texts, rejects = [], []
    for file in text_files.find_files(map(str, inputs)):
        for table in text_files.read_chunks(file, text_column, id_column, most_rows):
            (chunk,) = table.to_pylist()
            assert len(chunk["texts"]) + len(chunk["rejects"]) <= most_rows
            texts += zip(chunk["ids"], chunk["texts"], strict=True)
            assert all(reject["file"] == file.name for reject in chunk["rejects"])
            rejects += [(reject["row"], reject["reason"]) for reject in chunk["rejects"]]
    return texts, rejects


def test_bad_lines_of_jsonl(tmp_path: Path):
    lines = [
        b'\xef\xbb\xbf{"text": "after a byte order mark", "id": 7}\r',
        b'{"text": "cut o',
        b"",
        b'{"text": 3, "id": "a"}',
        b'{"text": null, "id": "a"}',
        b'{"id": "a", "other": 1}',
        b'["no object"]',
        b'{"text": "\xff", "id": "a"}',
        b'{"text": " \\u200b", "id": "a"}',
        b'{"text": "without an id", "id": null}',
        b'{"text": "a", "id": "\\ud800"}',
        b"[" * 100_000,
        b'{"text": "NUL \\u0000", "id": "nul"}',
    ]
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join(lines))
    texts, rejects = read(tmp_path / "bad.jsonl")
    assert texts == [("7", "after a byte order mark"), ("bad.jsonl:10", "without an id"), ("nul", "NUL \0")]
    expected = {
        2: "the line is no JSON: Unterminated string",
        4: "the text is 3 (int), no string",
        5: "the text is missing",
        6: "it has no text, but id, other",
        7: "the line is ['no object'], no object",
        8: "the text is not UTF-8",
        9: "the text has nothing to read",
        11: "the id is not UTF-8",
        12: "the line is no JSON: ",
    }
    assert [row for row, _ in rejects] == list(expected)
    assert all(reason.startswith(expected[row]) for row, reason in rejects)


def test_bad_records_of_csv(tmp_path: Path):
    lines = [
        b"\xef\xbb\xbfid,text",
        b"1,a",
        b"2",
        b"3,a, and b",
        b'4,"on two',
        b'lines, ""quoted"""',
        b"",
        b'5,"a" b',
        b"6,\xff",
        b"8,",
        b",a",
        b"9," + b"x" * (text_files.LONGEST_TEXT + 1),
        b"10,a",
        b'11,"never closed',
        b"12,a",
    ]
    (tmp_path / "bad.csv").write_bytes(b"\r\n".join(lines) + b"\r\n")
    texts, rejects = read(tmp_path / "bad.csv", id_column="id")
    assert texts == [("1", "a"), ("4", 'on two\r\nlines, "quoted"'), ("bad.csv:8", "a"), ("10", "a")]
    expected = {
        2: "1 fields, where the header has 2",
        3: "3 fields, where the header has 2",
        5: "malformed csv: ',' expected after '\"'",
        6: "the text is not UTF-8",
        7: "the text has nothing to read",
        9: "malformed csv: field larger than field limit",
        11: "malformed csv: unexpected end of data; lines 14 to 15 are lost to a quote that opens and does not close",
    }
    assert [row for row, _ in rejects] == list(expected)
    assert all(reason.startswith(expected[row]) for row, reason in rejects)


def test_bad_rows_of_parquet(tmp_path: Path):
    raw = pa.array([b"a", None, b"\xff", b"\t", b"b"], pa.binary())
    strings = pa.Array.from_buffers(pa.string(), 5, raw.buffers(), null_count=1)
    pq.write_table(pa.table({"text": strings, "id": range(5)}), tmp_path / "bad.parquet", row_group_size=2)
    texts, rejects = read(tmp_path / "bad.parquet")
    assert texts == [("0", "a"), ("4", "b")]
    assert rejects == [
        (2, "the text is missing"),
        (3, "the text or the id is not UTF-8"),
        (4, "the text has nothing to read"),
    ]


def test_dictionaries_and_large_strings_of_parquet(tmp_path: Path):
    strings = pa.array(["a", "b"] * 2)
    for name, column in (("dictionary", strings.dictionary_encode()), ("large", strings.cast(pa.large_string()))):
        pq.write_table(pa.table({"text": column}), tmp_path / f"{name}.parquet")
    texts, rejects = read(tmp_path)
    assert [text for _, text in texts] == ["a", "b"] * 4
    assert not rejects


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_too_long_for_memory_are_rejected_and_the_rest_is_read(tmp_path, monkeypatch, packed: bool, ending: str):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 60)
    long = "LOCATION1 is dear" * 20
    jsonl = [json.dumps({"text": text}) for text in ("a", long, "b", long)]
    for name, lines in (("a.jsonl", jsonl), ("b.csv", ["text", "a", long, f'"{long}', "b", '"c', 'd"'])):
        content = ending.join(lines).encode()
        (tmp_path / f"{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    texts, rejects = read(tmp_path)
    assert [text for _, text in texts] == ["a", "b", "a", "b", f"c{ending}d"]
    assert [row for row, _ in rejects] == [2, 4, 2, 3]
    assert rejects[0][1] == "the line has more than 60 characters"
    assert rejects[2][1] == "malformed csv: field larger than field limit (1048576)"


def test_files_without_rows_or_columns_are_rejects(tmp_path: Path):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "header.csv").write_text("text\n")
    (tmp_path / "other.csv").write_text("review,stars\na,5\n")
    (tmp_path / "twice.csv").write_text("text,text\na,b\n")
    pq.write_table(pa.table({"review": ["a"]}), tmp_path / "other.parquet")
    texts, rejects = read(tmp_path)
    assert not texts
    assert rejects == [
        *[(None, "the file has no rows")] * 3,
        (None, "the file has 0 columns text among review, stars"),
        (None, "the file has 0 columns text among review"),
        (None, "the file has 2 columns text among text, text"),
    ]


@pytest.mark.parametrize("name", ["cut.csv.gz", "cut.parquet"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str):
    file = tmp_path / name
    if name.endswith(".gz"):
        lines = "".join(f"{number**9}\n" for number in range(10_000))
        file.write_bytes(gzip.compress(f"text\n{lines}".encode()))
    else:
        pq.write_table(pa.table({"text": ["a"] * 1000}), file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(OSError, match=f"{name} cannot be read to its end"):
        read(file)


def test_chunks_keep_their_names_and_those_that_are_done_are_left_out(tmp_path: Path, monkeypatch):
    (tmp_path / "texts.csv").write_text("text\n" + "a\n" * 10)
    (file,) = text_files.find_files([str(tmp_path / "texts.csv")])
    chunks = [chunk.to_pylist()[0] for chunk in text_files.read_chunks(file, "text", None, 4)]
    assert [chunk["rows"] for chunk in chunks] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    names = [chunk["name"] for chunk in chunks]
    left = list(text_files.read_chunks(file, "text", None, 4, frozenset(names[1:])))
    assert [chunk.to_pylist()[0] for chunk in left] == chunks[:1]
    monkeypatch.setattr(text_files, "LARGEST_CHUNK", 2)  # characters
    assert len(list(text_files.read_chunks(file, "text", None, 4))) == 5


def test_files_of_folders_addresses_and_several_inputs(tmp_path: Path):
    for name in ("b.csv", "a.jsonl.gz", "below/c.parquet", "_SUCCESS", ".hidden.csv", "_temporary/d.csv", "notes.txt"):
        (tmp_path / "reviews" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "reviews" / name).touch()
    expected = ["reviews/a.jsonl.gz", "reviews/b.csv", "reviews/below/c.parquet"]
    assert [file.name for file in text_files.find_files([str(tmp_path / "reviews")])] == expected
    assert [file.name for file in text_files.find_files([f"file://{tmp_path}/reviews"])] == expected
    assert [file.name for file in text_files.find_files([str(tmp_path / "reviews/b.csv")])] == ["b.csv"]
    with pytest.raises(ValueError, match=r"inputs hold reviews/a.jsonl.gz twice"):
        text_files.find_files([str(tmp_path / "reviews"), f"file://{tmp_path}/reviews"])
    for missing in ("missing.csv", "reviews/notes.txt"):
        with pytest.raises(FileNotFoundError, match=f"{missing}: give a file that ends in .parquet"):
            text_files.find_files([str(tmp_path / missing)])
    with pytest.raises(ValueError, match="nowhere://bucket cannot be reached"):
        text_files.find_files(["nowhere://bucket"])


def test_data_sets_of_the_hub(tmp_path: Path, monkeypatch):
    """The Hub is a folder here: what its builder says of a data set's files is what is read."""
    for name in ("train.parquet", "test.parquet"):
        pq.write_table(pa.table({"text": [name]}), tmp_path / name)

    splits = {split: [f"file://{tmp_path}/{split}.parquet"] for split in ("train", "test")}

    class Builder:
        def __init__(self, name: str, config_name: str | None, revision: str | None):
            if name != "user/reviews":
                raise FileNotFoundError("no such repo")

            self.config = SimpleNamespace(data_files=splits)

    monkeypatch.setattr("datasets.load_dataset_builder", Builder)
    (file,) = text_files.find_files(["user/reviews"], split="test")
    (chunk,) = text_files.read_chunks(file, "text", None, 2)
    assert chunk.to_pylist()[0]["texts"] == ["test.parquet"]
    with pytest.raises(ValueError, match=r"split=dev of files that end in .parquet.* its splits: train, test"):
        text_files.find_files(["user/reviews"], split="dev")
    with pytest.raises(FileNotFoundError, match=r"user/none is no file or folder, .* \(no such repo\)"):
        text_files.find_files(["user/none"])


def test_a_file_of_the_output_appears_whole(tmp_path: Path, monkeypatch):
    """What is written is written beside and renamed; written twice, it is there once."""
    opinions, rejects = pa.table({"text_id": ["1"]}), text_files.REJECTS.empty_table()
    output = tmp_path / "out"
    output.mkdir()
    for _ in range(2):
        text_files.write("a.parquet", opinions, rejects, fs.LocalFileSystem(), str(output))
    assert [file.name for file in output.iterdir()] == ["a.parquet"]
    assert pq.read_table(output / "a.parquet") == opinions
