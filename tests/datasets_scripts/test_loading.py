import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

from datasets_scripts import export_parquet, load_absa_dataset


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("sentihood", {"validation_fraction": 0.0}, r"validation_fraction=0.0 does not apply to 'sentihood'"),
        ("sentihood", {"version": "v1"}, r"version='v1' does not apply to 'sentihood', only to semeval2014"),
        ("sentihood", {"absent_label": "none"}, r"absent_label='none' .* only to custom"),
        ("semeval2014", {"data_files": {"train": "x.csv"}}, r"data_files=.* only to custom"),
        ("custom", {"validation_seed": 0}, r"validation_seed=0 .* only to semeval2014"),
        ("owner/name", {"deduplicate": True}, r"deduplicate=True does not apply to 'owner/name'"),
        ("", {}, r"name='': give one of sentihood, semeval2014, custom, a folder"),
        (None, {}, r"name=None: give one of sentihood"),
        (["sentihood"], {}, r"name=\['sentihood'\]: give one of"),
        ("sentihod", {}, r"name='sentihod' is unknown; choose one of sentihood, semeval2014, custom, a folder"),
    ],
)
def test_argument_that_does_not_apply(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        load_absa_dataset(name, **arguments)


def test_sample_corpus_loads(repo_root, tmp_path):
    splits = load_absa_dataset(
        "sentihood", data_dir=repo_root / "datasets_scripts" / "sample_corpus", cache_dir=tmp_path
    )
    assert set(splits) == {"train", "validation", "test"}
    assert set(splits["test"]["label"]) == {0, 1, 2}


def test_parquet_round_trip_keeps_rows_and_classes(write_sentihood, repo_root, tmp_path):
    splits = load_absa_dataset("sentihood", data_dir=write_sentihood(), cache_dir=tmp_path / "cache")
    folder = tmp_path / "published"
    files = export_parquet(splits, folder)
    card = (repo_root / "datasets_scripts" / "sentihood" / "README.md").read_text(encoding="utf-8")
    (folder / "README.md").write_text(card, encoding="utf-8")
    assert [file.name.split("-")[0] for file in files] == ["train", "validation", "test"]
    again = load_absa_dataset(str(folder), cache_dir=tmp_path / "cache")
    assert {split: rows.features for split, rows in again.items()} == {s: rows.features for s, rows in splits.items()}
    assert {split: rows.to_list() for split, rows in again.items()} == {
        s: rows.to_list() for s, rows in splits.items()
    }


def test_export_does_not_mix_with_older_files(write_sentihood, tmp_path):
    splits = load_absa_dataset("sentihood", data_dir=write_sentihood(), cache_dir=tmp_path / "cache")
    export_parquet(splits, tmp_path / "published")
    with pytest.raises(FileExistsError, match=r"has test-00000-of-00001.parquet.* already"):
        export_parquet(splits, tmp_path / "published")


def test_folder_with_other_columns_is_refused(tmp_path):
    rows = Dataset.from_dict({"id": ["0"], "text": ["a"], "target": [""], "aspect": ["food"], "label": ["good"]})
    export_parquet(DatasetDict(train=rows), tmp_path / "published")
    with pytest.raises(
        ValueError, match=r"split 'train', column 'aspect': expected ClassLabel, got Value.*export_parquet"
    ):
        load_absa_dataset(str(tmp_path / "published"), cache_dir=tmp_path / "cache")


def test_folder_with_further_columns_gives_the_standard_ones(write_sentihood, tmp_path):
    splits = load_absa_dataset("sentihood", data_dir=write_sentihood(), cache_dir=tmp_path / "cache")
    wider = DatasetDict({split: rows.add_column("source", ["x"] * len(rows)) for split, rows in splits.items()})
    export_parquet(wider, tmp_path / "published")
    again = load_absa_dataset(str(tmp_path / "published"), cache_dir=tmp_path / "cache")
    assert again["train"].column_names == ["id", "text", "target", "aspect", "label"]


def features(labels=("none", "good")):
    text = dict.fromkeys(("id", "text", "target"), Value("string"))
    return Features(text | {"aspect": ClassLabel(names=["food"]), "label": ClassLabel(names=list(labels))})


def write_parquet(folder: Path, split: str = "train", labels=("none", "good"), **columns) -> Path:
    """A file as export_parquet writes it, but with any values in its columns."""
    given = {"id": ["0", "1"], "text": ["a", "b"], "target": ["", ""], "aspect": [0, 0], "label": [0, 1], **columns}
    written = features(labels)
    table = pa.table({name: pa.array(values, written.arrow_schema.field(name).type) for name, values in given.items()})
    folder.mkdir(exist_ok=True)
    file = folder / f"{split}-00000-of-00001.parquet"
    pq.write_table(table.replace_schema_metadata(written.arrow_schema.metadata), file)
    return file


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [0, -1]}, "row 1, column 'label': -1 is not 0 to 1; correct or remove the row"),
        ({"label": [99, 1]}, "row 0, column 'label': 99 is not 0 to 1"),
        ({"label": [0, None]}, "row 1, column 'label': None is not 0 to 1"),
        ({"aspect": [0, 1]}, "row 1, column 'aspect': 1 is not 0 to 0"),
        ({"text": ["a", None]}, "row 1, column 'text': None is not a string with something to read"),
        ({"text": ["\t\u00a0", "b"]}, "row 0, column 'text': '\\t\\xa0' is not a string with something to read"),
        ({"id": [None, "1"]}, "row 0, column 'id': None is not a string"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_parquet_values_that_are_none(tmp_path, columns, message):
    write_parquet(tmp_path / "rows", **columns)
    with pytest.raises(ValueError, match=re.escape(f"split 'train', {message}")):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


def test_parquet_files_with_other_classes_are_not_mixed(tmp_path):
    """`load_dataset` reads the numbers of all splits with the names of the first."""
    write_parquet(tmp_path / "rows")
    write_parquet(tmp_path / "rows", "test", labels=("good", "none"))
    told = r"test-00000-of-00001.parquet, column 'label': .*'good', 'none'.* where .*train-.* has .*'none', 'good'"
    with pytest.raises(ValueError, match=told):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: b"text", lambda content: content[:-100]])
def test_parquet_file_that_is_damaged(tmp_path, damage):
    file = write_parquet(tmp_path / "rows", "test")
    write_parquet(tmp_path / "rows")
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=r"test-00000-of-00001.parquet cannot be read \(.*export_parquet"):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


def test_parquet_file_that_is_damaged_within(tmp_path):
    file = write_parquet(tmp_path / "rows", text=["a" * 1000, "b" * 1000])
    content = file.read_bytes()
    file.write_bytes(content[:40] + b"\xff" * 100 + content[140:])
    with pytest.raises(ValueError, match=r"name='.*rows' cannot be loaded \(.*give a folder that export_parquet"):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


def test_parquet_file_without_rows(tmp_path):
    write_parquet(tmp_path / "rows", **{name: [] for name in features()})
    with pytest.raises(ValueError, match=r"train-00000-of-00001.parquet has no rows; remove it"):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


def test_folder_without_data(tmp_path):
    (tmp_path / "rows").mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"name='.*rows' cannot be loaded .* give a folder that export_parquet"
    ):
        load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")


def test_a_target_that_is_null_is_none(tmp_path):
    write_parquet(tmp_path / "rows", target=["", None])
    rows = load_absa_dataset(str(tmp_path / "rows"), cache_dir=tmp_path / "cache")["train"]
    assert rows["target"][:] == ["", None]
