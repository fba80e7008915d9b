import pytest
from datasets import Dataset, DatasetDict

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
