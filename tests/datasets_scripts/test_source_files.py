import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from datasets_scripts import load_absa_dataset
from datasets_scripts.sentihood.source_files import read_utf8

FOLDERS = ("sentihood", "semeval2014", "custom_absa")


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


def test_cache_key_changes_with_the_code_of_the_folder(repo_root, tmp_path):
    copy = tmp_path / "source_files.py"
    shutil.copy(repo_root / "datasets_scripts" / "sentihood" / "source_files.py", copy)
    (tmp_path / "reading.py").write_text("LIMIT = 1\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("copied_source_files", copy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = module.cache_key([])
    assert module.cache_key([]) == before
    (tmp_path / "reading.py").write_text("LIMIT = 2\n", encoding="utf-8")
    assert module.cache_key([]) != before


def test_unchanged_source_is_read_from_the_cache(write_sentihood, tmp_path, monkeypatch):
    source = write_sentihood()
    first = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path / "cache")
    monkeypatch.setattr("datasets_scripts.sentihood.sentihood.read_sentences", None)
    again = load_absa_dataset("sentihood", data_dir=source, cache_dir=tmp_path / "cache")
    assert again["train"].to_list() == first["train"].to_list()


@pytest.mark.parametrize(
    ("name", "folders"),
    [("source_files.py", FOLDERS), ("deduplication.py", FOLDERS), ("retrieval.py", FOLDERS[:2])],
)
def test_copies_are_equal(repo_root, name, folders):
    # Each folder is published by itself, so that it cannot import what it shares with the others.
    assert len({(repo_root / "datasets_scripts" / folder / name).read_bytes() for folder in folders}) == 1


def test_folders_work_alone_offline_and_quietly(repo_root, write_sentihood, write_semeval, tmp_path):
    for folder in FOLDERS:
        shutil.copytree(repo_root / "datasets_scripts" / folder, tmp_path / "alone" / folder)
    (tmp_path / "train.csv").write_text("text,aspect,label\na,food,good\n", encoding="utf-8")
    program = (
        "from custom_absa import CustomABSA\n"
        "from semeval2014 import SemEval2014\n"
        "from sentihood import SentiHood\n"
        f"for builder in (SentiHood(data_dir={str(write_sentihood())!r}),\n"
        f"                SemEval2014(data_dir={str(write_semeval())!r}),\n"
        f"                CustomABSA(data_dir={str(tmp_path)!r})):\n"
        "    builder.download_and_prepare()\n"
        "    print(builder.name, builder.as_dataset(split='train').num_rows)\n"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PYTHONPATH": ""}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path / "alone",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "sentihood 4\nsemeval2014 5\ncustom_absa 1\n"
