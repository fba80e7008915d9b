"""Loading by name, and data sets as parquet: written, read again, and refused where the rows would be wrong."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

from datasets_scripts import export_parquet, load_absa_dataset


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("sentihood", {"validation_fraction": 0.0}, "validation_fraction=0.0 does not apply to 'sentihood', which"),
        ("sentihood", {"version": "v1"}, "version='v1' does not apply to 'sentihood', which takes data_dir, dedup"),
        ("semeval2014", {"data_files": {}}, "data_files={} does not apply to 'semeval2014', which takes data_dir, "),
        ("custom", {"validation_seed": 0}, "validation_seed=0 does not apply to 'custom', which takes config_name, "),
        (
            "semeval2014",
            {"config_name": "raw"},
            "config_name='raw' does not apply to 'semeval2014', which takes data_",
        ),
        ("conllu", {"scheme": "BIO"}, "scheme='BIO' does not apply to 'conllu', which takes config_name, data_dir, "),
        ("owner/name", {"deduplicate": True}, "deduplicate=True does not apply to 'owner/name', which takes no opt"),
        ("", {}, "name='' is unknown; choose one of sentihood, semeval2014, semeval2015, sem"),
        ("sentihod", {}, "name='sentihod' is unknown; choose one of sentihood, semeval2014, semeval2015, sem"),
    ],
)
def test_options_that_do_not_apply(name, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        load_absa_dataset(name, **options)


@pytest.fixture(scope="module")
def splits(repo_root, rows_cache):
    """The sample corpus, with options that stand for none."""
    data_dir = repo_root / "datasets_scripts" / "sample_corpus"
    loaded = load_absa_dataset("sentihood", data_dir=data_dir, deduplicate=False, version=None, cache_dir=rows_cache)
    return DatasetDict({split: rows.select(range(20)) for split, rows in loaded.items()})


def test_parquet_round_trip_keeps_rows_and_classes(splits, repo_root, tmp_path):
    wider = DatasetDict({split: rows.add_column("source", ["x"] * len(rows)) for split, rows in splits.items()})
    files = export_parquet(wider, tmp_path / "published")
    card = (repo_root / "datasets_scripts" / "sentihood" / "README.md").read_text(encoding="utf-8")
    (tmp_path / "published" / "README.md").write_text(card, encoding="utf-8")
    assert [file.name.split("-")[0] for file in files] == ["train", "validation", "test"]
    again = load_absa_dataset(tmp_path / "published", cache_dir=tmp_path / "cache")
    assert {split: rows.features for split, rows in again.items()} == {s: rows.features for s, rows in splits.items()}
    assert {split: rows.to_list() for split, rows in again.items()} == {
        s: rows.to_list() for s, rows in splits.items()
    }
    with pytest.raises(FileExistsError, match=r"has test-00000-of-00001.parquet.* already; remove them"):
        export_parquet(splits, tmp_path / "published")


def features(labels=("none", "good")):
    text = dict.fromkeys(("id", "text", "target"), Value("string"))
    return Features(text | {"aspect": ClassLabel(names=["food"]), "label": ClassLabel(names=list(labels))})


def test_targets_keep_their_places(tmp_path: Path):
    about = {"text": ["the soup was good", "no soup"], "target": ["soup", ""], "id": ["1", "2"]}
    classes = {"aspect": ClassLabel(names=["", "food"]), "label": ClassLabel(names=["negative", "positive"])}
    rows = Dataset.from_dict(
        {**about, "aspect": [0, 1], "label": [1, 0], "target_start": [4, None], "target_end": [8, None]}
    )
    for name, feature in classes.items():
        rows = rows.cast_column(name, feature)
    export_parquet(DatasetDict(train=rows), tmp_path / "rows")
    loaded = load_absa_dataset(tmp_path / "rows", cache_dir=tmp_path / "cache")["train"]
    assert loaded["target_start"][:] == [4, None]
    assert loaded["target_end"][:] == [8, None]
    export_parquet(
        DatasetDict(train=rows.select([0]), test=rows.select([0]).map(lambda row: {"target_end": 9})),
        tmp_path / "wrong",
    )
    with pytest.raises(ValueError, match=r"split 'test', row 0: text\[4:9\] is not the target 'soup'; correct"):
        load_absa_dataset(tmp_path / "wrong", cache_dir=tmp_path / "cache")


@pytest.fixture
def write(tmp_path):
    """Writes a file as export_parquet does, but with any values in its columns."""

    def write_parquet(split: str = "train", labels=("none", "good"), **columns) -> Path:
        given = {
            "id": ["0", "1"],
            "text": ["a", "b"],
            "target": ["", ""],
            "aspect": [0, 0],
            "label": [0, 1],
            **columns,
        }
        schema = features(labels).arrow_schema
        table = pa.table({name: pa.array(values, schema.field(name).type) for name, values in given.items()})
        file = tmp_path / "rows" / f"{split}-00000-of-00001.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(table.replace_schema_metadata(schema.metadata), file)
        return file

    return write_parquet


@pytest.fixture
def load(tmp_path):
    return lambda: load_absa_dataset(tmp_path / "rows", cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"label": [0, -1]}, "column 'label', row 1: -1 is not 0 to 1; correct or remove the row"),
        ({"label": [99, 1]}, "column 'label', row 0: 99 is not 0 to 1"),
        ({"label": [0, None]}, "column 'label', row 1: None is not 0 to 1"),
        ({"aspect": [0, 1]}, "column 'aspect', row 1: 1 is not 0 to 0"),
        ({"text": ["a", None]}, "column 'text', row 1: None is not a string with something to read"),
        ({"text": ["\t\u00a0", "b"]}, "column 'text', row 0: '\\t\\xa0' is not a string with something to read"),
        ({"id": [None, "1"]}, "column 'id', row 0: None is not a string"),
    ],
    ids=str,
)
def test_parquet_values_that_are_none(write, load, columns, told):
    write(**columns)
    with pytest.raises(ValueError, match=re.escape(f"rows, split 'train', {told}")):
        load()


def test_a_target_that_is_null_is_none(write, load):
    write(target=["", None])
    assert load()["train"]["target"][:] == ["", None]


def test_columns_of_other_types(load, tmp_path):
    rows = Dataset.from_dict({"id": ["0"], "text": ["a"], "target": [""], "aspect": ["food"], "label": ["good"]})
    export_parquet(DatasetDict(train=rows), tmp_path / "rows")
    with pytest.raises(
        ValueError, match=r"column 'aspect': expected ClassLabel, got Value.*; write .* export_parquet"
    ):
        load()


def test_files_with_other_classes_are_not_mixed(write, load):
    """`load_dataset` reads the numbers of all splits with the names of the first."""
    write()
    write("test", labels=("good", "none"))
    told = r"test-00000.* cannot be loaded \(column 'label' is .*'good', 'none'.*, and in .*train-.* .*'none', 'good'"
    with pytest.raises(ValueError, match=told):
        load()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda content: b"", r"test-00000-of-00001.parquet cannot be loaded \(.*export_parquet"),
        (lambda content: content[:-100], r"test-00000-of-00001.parquet cannot be loaded \(.*export_parquet"),
        (lambda content: content[:40] + b"\xff" * 100 + content[140:], r"rows cannot be loaded \(.*export_parquet"),
    ],
    ids=["empty", "cut", "within"],
)
def test_damaged_file(write, load, damage, told):
    write()
    file = write("test", text=["a" * 1000, "b" * 1000])
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=told):
        load()


def test_folder_without_rows(write, load, tmp_path):
    (tmp_path / "rows").mkdir()
    with pytest.raises(ValueError, match=r"rows cannot be loaded \(.*\); write the folder anew with export_parquet"):
        load()
    write(**{name: [] for name in features()})
    with pytest.raises(ValueError, match=r"train-00000-of-00001.parquet cannot be loaded \(it has no rows\)"):
        load()


def tagged(tokens, tags, names=("O", "B-POS")):
    features = {"id": Value("string"), "text": Value("string"), "tokens": List(Value("string"))}
    features["tags"] = List(ClassLabel(names=list(names)))
    rows = {"id": [str(n) for n in range(len(tokens))], "text": ["a"] * len(tokens), "tokens": tokens, "tags": tags}
    return DatasetDict(train=Dataset.from_dict(rows, features=Features(features)))


def test_parquet_round_trip_of_tagged_sentences(tmp_path):
    splits = tagged([["a", "b"], ["c"]], [[0, 1], [0]])
    export_parquet(splits, tmp_path / "published")
    again = load_absa_dataset(tmp_path / "published", cache_dir=tmp_path / "cache")
    assert again["train"].features == splits["train"].features
    assert again["train"].to_list() == splits["train"].to_list()


def test_folders_of_one_name_with_cards_keep_their_own_rows(tmp_path):
    card = (
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - {split: train, path: data/train-*.parquet}\n---\n"
    )
    for token in ("a", "b"):
        export_parquet(tagged([[token]], [[0]]), tmp_path / token / "published")
        (tmp_path / token / "published" / "README.md").write_text(card)
        loaded = load_absa_dataset(tmp_path / token / "published", cache_dir=tmp_path / "cache")
        assert loaded["train"]["tokens"] == [[token]]


@pytest.mark.parametrize(
    ("tokens", "tags", "told"),
    [
        ([["a"], ["a", "b"]], [[0], [0]], "split 'train', row 1: 2 tokens and 1 tags; give each token one tag"),
        ([["a"], []], [[0], []], "row 1: 0 tokens and 0 tags"),
        ([["a"], ["b", " "]], [[0], [0, 0]], "column 'tokens', row 1: "),
        ([["a"], ["b", "c"]], [[0], [None, 0]], "column 'tags', row 1: "),
    ],
    ids=["lengths", "empty", "blank token", "no tag"],
)
def test_tagged_parquet_that_would_be_wrong(tmp_path, tokens, tags, told):
    export_parquet(tagged(tokens, tags), tmp_path / "published")
    with pytest.raises(ValueError, match=re.escape(told)):
        load_absa_dataset(tmp_path / "published", cache_dir=tmp_path / "cache")


def test_tags_that_are_no_lists_of_classes(tmp_path):
    splits = tagged([["a"]], [[0]])
    plain = DatasetDict(train=splits["train"].cast_column("tags", List(Value("int64"))))
    export_parquet(plain, tmp_path / "published")
    with pytest.raises(ValueError, match=r"column 'tags': expected list of ClassLabel, got List\(Value\('int64'\)\)"):
        load_absa_dataset(tmp_path / "published", cache_dir=tmp_path / "cache")
