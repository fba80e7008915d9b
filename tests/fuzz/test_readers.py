"""The readers on their seeds, on what fuzzing has found, and on damaged seeds."""

import random
from pathlib import Path

import pytest
from readers import READERS, give

HERE = Path(__file__).resolve().parent
FINDINGS = {  # that a reader now reads (True) or tells (False)
    "annotate_csv/empty": True,
    "annotate_parquet/column-name-not-utf-8": False,
}
DAMAGED = 800  # files of each reader
TOKENS = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"\n", b"\r\n", b",", b"[", b"{", b"<", b"&", b"-1"),
    *(b"1e999", b"null", b"true", b"\\ud800", b"</text>", b"<!DOCTYPE a>", b"LOCATION2", "\u200b\u2028".encode()),
    *(b"9" * 5000, b"x" * 100_000, b"[" * 100_000),
]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_seeds_are_read(reader, tmp_path: Path):
    assert all(give(reader, tmp_path, seed) for seed in reader.seeds)


def test_what_was_found_is_read_or_told(tmp_path: Path):
    found = {path.relative_to(HERE / "findings").as_posix(): path for path in (HERE / "findings").glob("*/*")}
    is_read = {name: give(READERS[name.split("/")[0]], tmp_path, path.read_bytes()) for name, path in found.items()}
    assert is_read == FINDINGS


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore:.* repeated rows dropped", "ignore:.*terms that begin or end inside a word")
def test_damaged_seeds_are_read_or_told(name: str, tmp_path: Path):
    """Bits flipped, bytes dropped, doubled and put in, files cut off: the same ones each time."""
    generator = random.Random(name)
    were_read = []
    for _ in range(DAMAGED if name != "recipe" else DAMAGED // 20):  # its arguments are parsed anew each time
        content = bytearray(generator.choice(READERS[name].seeds))
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
            were_read.append(give(READERS[name], tmp_path, bytes(content)))
        except Exception as error:
            raise AssertionError(f"{name}, {bytes(content)[:2000]!r}") from error
    assert any(were_read)
    assert not all(were_read) or name.startswith("annotate_")  # which rejects rows, and takes the rest of a file
