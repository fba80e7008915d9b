import pytest

from datasets_scripts import load_absa_dataset
from datasets_scripts.source_files import read_utf8


def test_read_utf8_names_the_line_after_a_byte_order_mark(tmp_path):
    file = tmp_path / "source.csv"
    file.write_bytes(b"\xef\xbb\xbfa\nb\n\xff")
    with pytest.raises(ValueError, match=r"source.csv, line 3: byte 0xff is not UTF-8"):
        read_utf8(file)


def test_edited_source_file_is_read_again(write_sentihood, tmp_path):
    def labels():
        splits = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path / "cache")
        return splits["train"]["label"][:]

    source = write_sentihood(train=[("LOCATION1", [("LOCATION1", "general", "Positive")])])
    assert labels() == [1, 0, 0, 0]
    write_sentihood(train=[("LOCATION1", [("LOCATION1", "general", "Negative")])])
    assert labels() == [2, 0, 0, 0]


def test_unchanged_source_is_read_from_the_cache(write_sentihood, tmp_path, monkeypatch):
    source = write_sentihood()
    first = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path / "cache")
    monkeypatch.setattr("datasets_scripts.sentihood.sentihood.read_sentences", None)
    again = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path / "cache")
    assert again["train"].to_list() == first["train"].to_list()
