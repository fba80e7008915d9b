"""benchmarks/own_data.py: the csv files that it trains on are what somebody without rows of the label none has."""

import csv
from pathlib import Path

import own_data
from datasets_scripts import load_absa_dataset


def test_the_file_has_what_is_said_of_so_many_sentences(tiny_sentihood: Path, tmp_path: Path):
    rows = load_absa_dataset("sentihood", data_dir=tiny_sentihood)["train"]
    names = {column: rows.features[column].int2str for column in ("target", "aspect", "label")}
    known = {(row["text"], *(names[column](row[column]) for column in ("target", "aspect", "label"))) for row in rows}
    own_data.write_own_file(tmp_path / "own.csv", rows, 5)
    with (tmp_path / "own.csv").open(newline="", encoding="utf-8") as stream:
        heading, *written = csv.reader(stream)
    assert heading == ["text", "target", "aspect", "label"]
    assert len({text for text, *_ in written}) == len(written) == 5  # one opinion each
    assert {label for *_, label in written} <= {"positive", "negative"}
    assert set(map(tuple, written)) <= known
