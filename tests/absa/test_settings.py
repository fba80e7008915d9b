"""examples/settings.py: recipes, presets and configurations that are none."""

import os
from pathlib import Path

import pytest

from absa import settings


@pytest.fixture
def read(tmp_path: Path):
    """Writes a file and reads it."""

    def read(name: str, content: str | bytes) -> dict:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return settings.read_settings("recipe ", tmp_path / name, "see configuration/recipes")

    return read


BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("r.yaml", "seeds: 1\nbf16: true\nseeds: 2\n", "seeds occurs twice, on lines 1 and 3: keep one"),
        ("r.yaml", "a: {power: 1, power: 1}\n", "power occurs twice, on lines 1 and 1"),
        ("r.json", '{"a": {"seeds": [1], "seeds": [2]}}', r"seeds occurs twice, as \[1\] and \[2\]: keep one"),
        ("r.json", '{"' + "k" * 999 + '": 1, "' + "k" * 999 + '": 2}', r"k{80}\.\.\. occurs twice"),
        ("r.yaml", "seeds: [010]\n", "010 is a number to base 8 or 60: write it to base 10.*line 1"),
        ("r.yaml", "seeds: 1:30\n", "1:30 is a number to base 8 or 60"),
        ("r.yaml", "learning_rate: 1:30.5\n", "1:30.5 is a number to base 8 or 60"),
        ("r.yaml", "seeds: !!int ''\n", "cannot be read: string index out of range"),
        ("r.yaml", "bf16: !!bool x\n", "cannot be read: 'x'"),
        ("r.yaml", "day: 2020-99-99\n", "cannot be read: month must be in 1..12"),
        ("r.json", '{"a": ' + "9" * 5000 + "}", "cannot be read: Exceeds the limit"),
        ("r.json", "{" * 2, "cannot be read: Expecting property name"),
        ("r.json", b'{"a": "caf\xe9"}', "cannot be read: 'utf-8' codec"),
        ("r.json", "", "cannot be read: Expecting value"),
        ("r.json", "[" + "1," * 500 + "1]", r"is no mapping of names to values, but \[1, 1, .{70,80}\.\.\.: see"),
        ("r.json", "null", "is no mapping of names to values, but None: see configuration/recipes"),
        ("r.json", " " * (1 << 20) + "{}", "has more than 1048576 bytes"),
        ("r.yaml", BOMB, "stands for more than 10000 values"),
        ("r.yaml", "a: &a {b: *a}\n", "stands for more than 10000 values"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_files_that_are_no_settings(read, name: str, content: str | bytes, told: str):
    with pytest.raises(ValueError, match=f"recipe .*{name} .*{told}") as caught:
        read(name, content)
    assert len(str(caught.value)) < 600


def test_what_looks_odd_and_is_read(read):
    assert read("r.json", b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert read("r.yml", "a: [0, -1, 1_000, 0x10, 0.5, 1.0e-4]\nb: '010'\n") == {
        "a": [0, -1, 1000, 16, 0.5, 1e-4],
        "b": "010",
    }
    assert read("r.yaml", "a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n")["b"] == {"p": 1, "q": 3}


def test_what_is_no_file(tmp_path: Path):
    read_settings = settings.read_settings
    with pytest.raises(FileNotFoundError, match=r"model_preset=no.json does not exist: see"):
        read_settings("model_preset=", "no.json", "see configuration/models")
    places = [tmp_path, Path(os.devnull)]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
        places.append(tmp_path / "pipe.json")
    for place in places:
        with pytest.raises(ValueError, match=r"model_preset=.* is no regular file: see"):
            read_settings("model_preset=", place, "see configuration/models")


def test_a_list_whose_aliases_stand_for_more_than_memory_holds(read):
    lines = ["- &a0 [0]", *(f"- &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 30))]
    with pytest.raises(ValueError, match=r"bomb.yaml stands for more than 10000 values"):
        read("bomb.yaml", "\n".join(lines))
