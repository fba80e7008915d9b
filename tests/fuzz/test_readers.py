"""The readers on their seeds, on what fuzzing has found, and on damaged seeds."""

import random
from pathlib import Path

import pytest
import readers

HERE = Path(__file__).resolve().parent
FINDINGS = {  # that a reader now reads (True) or tells (False)
    "annotate_csv/empty": True,
    "annotate_parquet/column-name-not-utf-8": False,
}
NAMES = [
    *("annotate_csv", "annotate_jsonl", "annotate_parquet", "custom_csv", "custom_jsonl", "sentihood", "semeval2014"),
    *("space_table", "recipe", "metric_rows"),
]
DAMAGED = 800  # files of each reader
TOKENS = [
    b"",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b'"',
    b"\n",
    b"\r\n",
    b",",
    b"[",
    b"{",
    b"<",
    b"&",
    b"-1",
    b"1e999",
    b"null",
]


def test_all_readers_are_listed():
    assert list(readers.READERS) == NAMES
    assert {path.relative_to(HERE / "findings").as_posix() for path in (HERE / "findings").glob("*/*")} == {*FINDINGS}


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_read(name: str, tmp_path: Path):
    reader = readers.READERS[name]
    assert all(readers.give(reader, tmp_path, seed) for seed in reader.seeds)


@pytest.mark.parametrize(("finding", "is_read"), FINDINGS.items())
def test_what_was_found_is_read_or_told(finding: str, is_read: bool, tmp_path: Path):
    reader = readers.READERS[finding.split("/")[0]]
    assert readers.give(reader, tmp_path, (HERE / "findings" / finding).read_bytes()) is is_read


@pytest.mark.parametrize("name", NAMES)
def test_damaged_seeds_are_read_or_told(name: str, tmp_path: Path):
    """Bits flipped, bytes dropped, doubled and put in, files cut off: the same ones each time."""
    generator = random.Random(name)
    reader = readers.READERS[name]
    were_read = []
    for _ in range(DAMAGED if name != "recipe" else DAMAGED // 20):  # its arguments are parsed anew each time
        content = bytearray(generator.choice(reader.seeds))
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(content) + 1)
            end = place + generator.choice([1, 1, 2, 8, 64])
            match generator.randrange(5):
                case 0:
                    content[place:end] = bytes(byte ^ 1 << generator.randrange(8) for byte in content[place:end])
                case 1:
                    del content[place:end]
                case 2:
                    content[place:place] = content[place:end]
                case 3:
                    content[place:place] = generator.choice(TOKENS)
                case 4:
                    del content[generator.choice([place, len(content)]) :]
        try:
            were_read.append(readers.give(reader, tmp_path, bytes(content)))
        except Exception as error:
            raise AssertionError(f"{name}, {bytes(content)[:2000]!r}") from error
    assert any(were_read)
    assert not all(were_read)
