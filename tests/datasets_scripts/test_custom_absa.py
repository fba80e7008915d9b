import json
import re

import pytest

from datasets_scripts import CustomABSA, load_absa_dataset
from datasets_scripts.custom_absa.reading import read_rows

HEADER = "text,aspect,label\n"
GOOD = '{"text": "a", "aspect": "food", "label": "good"}\n'


@pytest.fixture
def load(tmp_path):
    """Writes the files given as name=content (a `__` in the name is a dot) and loads their folder."""

    def load_files(absent_label=None, deduplicate=False, **files):
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        for name, content in files.items():
            (source / name.replace("__", ".")).write_text(content, encoding="utf-8")
        options = {"absent_label": absent_label, "deduplicate": deduplicate, "cache_dir": tmp_path / "cache"}
        return load_absa_dataset("custom", data_dir=source, **options)

    return load_files


def decoded(rows):
    """(id, text, target, aspect, label) of each row, with names for class numbers."""
    names = {column: rows.features[column].names for column in ("aspect", "label")}
    return [
        (row["id"], row["text"], row["target"], names["aspect"][row["aspect"]], names["label"][row["label"]])
        for row in rows
    ]


def test_csv_and_jsonl_give_the_same_rows(load, tmp_path):
    lines = ("\ufefftext, target ,aspect, label", "", '" a, b",X , food,good', '" a, b",,staff,none', "c,X,food,bad")
    as_csv = load(train__csv="\r\n".join(lines))
    records = [
        {"text": " a, b", "target": "X", "aspect": "food ", "label": "good"},
        {"text": " a, b", "target": None, "aspect": "staff", "label": "none"},
        {"text": "c", "target": "X", "aspect": "food", "label": "bad"},
    ]
    (tmp_path / "rows.jsonl").write_text("\n\n".join(map(json.dumps, records)), encoding="utf-8")
    as_jsonl = load_absa_dataset("custom", data_files={"train": tmp_path / "rows.jsonl"}, cache_dir=tmp_path)
    assert decoded(as_csv["train"]) == [
        ("0", " a, b", "X", "food", "good"),
        ("0", " a, b", "", "staff", "none"),
        ("1", "c", "X", "food", "bad"),
    ]
    assert decoded(as_jsonl["train"]) == decoded(as_csv["train"])
    assert list(as_csv["train"].features) == ["id", "text", "target", "aspect", "label"]


def test_classes_are_those_of_the_training_file_in_order(load):
    splits = load(
        train__csv=HEADER + "a,staff,good\nb,food,none\nc,staff,bad\n",
        dev__csv=HEADER + "d,food,bad\n",
        test__jsonl='{"id": 7, "text": "e\u2028", "aspect": "food", "label": "good"}\n',
    )
    for rows in splits.values():
        assert rows.features["aspect"].names == ["staff", "food"]
        assert rows.features["label"].names == ["none", "good", "bad"]
    assert decoded(splits["validation"]) == [("0", "d", "", "food", "bad")]
    assert decoded(splits["test"]) == [("7", "e\u2028", "", "food", "good")]


def test_absent_label_completes_the_grid(load):
    splits = load(
        train__csv="text,target,aspect,label\na,X,food,good\nb,,staff,bad\na,Y,staff,bad\n",
        test__csv="text,target,aspect,label\nc,Z,staff,good\n",
        absent_label="none",
    )
    # Text a has targets X and Y, text b none; 3 x 2 aspects.
    assert decoded(splits["train"]) == [
        ("0", "a", "X", "food", "good"),
        ("0", "a", "X", "staff", "none"),
        ("0", "a", "Y", "food", "none"),
        ("0", "a", "Y", "staff", "bad"),
        ("1", "b", "", "food", "none"),
        ("1", "b", "", "staff", "bad"),
    ]
    assert decoded(splits["test"]) == [("0", "c", "Z", "food", "none"), ("0", "c", "Z", "staff", "good")]
    assert splits["train"].features["label"].names == ["none", "good", "bad"]


def test_repeated_rows_are_dropped_with_a_warning(load):
    with pytest.warns(UserWarning, match=r"train.csv: 2 repeated rows dropped"):
        rows = load(train__csv=HEADER + "a,food,good\na,food,good\na,food,good\n")["train"]
    assert rows.num_rows == 1


def test_deduplicate(load):
    files = {
        "train__csv": HEADER + "a,food,good\nB  b,food,good\nc,food,bad\n",
        "validation__csv": HEADER + " b b,food,good\nD,food,good\n",
        "test__csv": HEADER + "A,food,good\nd,food,good\n",
    }
    splits = load(**files, deduplicate=True)
    assert {split: rows["text"][:] for split, rows in splits.items()} == {
        "train": ["c"],
        "validation": [" b b"],
        "test": ["A", "d"],
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (HEADER + "a,food,good\n ,food,good\n", "line 3, column 'text': ' ' is empty"),
        (HEADER + "a,,good\n", "line 2, column 'aspect': '' is empty"),
        (HEADER + "a,food, \n", "line 2, column 'label': ' ' is empty"),
        ("id," + HEADER + ",a,food,good\n", "line 2, column 'id': '' is empty"),
        ("text,aspect\na,food\n", "line 1, columns: ['text', 'aspect'] lack 'label'; add it"),
        (
            "text;aspect;label\n",
            "line 1: 'text;aspect;label' is one column; separated by ';'? Save the file with commas",
        ),
        ("text\taspekt\n", "line 1: 'text\\taspekt' is one column; separated by '\\t'?"),
        ("traget," + HEADER + "X,a,food,good\n", "line 1, columns: 'traget' is unknown or occurs twice; keep"),
        ("text," + HEADER + "a,a,food,good\n", "line 1, columns: 'text' is unknown or occurs twice; keep"),
        (HEADER + "a,food\n", "line 2: 2 cells ['a', 'food'] for the 3 columns text, aspect, label"),
        (HEADER + "a, b,food,good\n", "line 2: 4 cells"),
        # The quoted text spans lines 2 to 4, so that the bad row is on line 5.
        (HEADER + '"a\n\nb",food,good\nc,food,\n', "line 5, column 'label': '' is empty"),
        (
            HEADER + 'a,food,good\n"b,food,good\nc,food,good\n',
            "line 3: malformed csv (unexpected end of data); check the quotes of this row, which was read to line 4",
        ),
        (
            HEADER + "a,food,good\nb,food,bad\na,food,bad\n",
            "line 4, column 'label': 'bad' contradicts 'good' on line 2",
        ),
        (
            "id," + HEADER + "1,a,food,good\n1,b,food,good\n",
            "line 3, column 'id': '1' belongs to another text on line 2",
        ),
        (HEADER, "has no rows"),
        ("", "has no rows"),
    ],
)
def test_bad_csv(tmp_path, content, told):
    (tmp_path / "train.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.csv.*" + re.escape(told)):
        read_rows(tmp_path / "train.csv")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (GOOD + "\n{'text'}\n", "line 3: invalid JSON"),
        (GOOD + '["a", "food"]\n', "line 2: ['a', 'food'] is no object; write one object per line"),
        (GOOD + '{"text": "b", "label": "good"}\n', "line 2, columns: ['text', 'label'] lack 'aspect'"),
        ('{"text": "b", "aspect": "food", "label": 1}\n', "line 1, column 'label': 1 is not a string"),
        (GOOD.replace("{", '{"id": true, '), "line 1, column 'id': True is not a string"),
        (GOOD.replace("{", '{"target": 0, '), "line 1, column 'target': 0 is not a string"),
        (GOOD + GOOD.replace("{", '{"id": "1", '), "line 1, column 'id': None is missing in this row only"),
        (GOOD.replace("a", "a\\ud83d", 1).replace("\\ud83dspect", "spect"), "holds half a surrogate pair"),
    ],
)
def test_bad_jsonl(tmp_path, content, told):
    (tmp_path / "train.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"train\.jsonl.*" + re.escape(told)):
        read_rows(tmp_path / "train.jsonl")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            "b,drinks,good",
            r"test.csv, line 2, column 'aspect': 'drinks' does not occur in .*train.csv, which has food",
        ),
        ("b,food,awful", r"test.csv, line 2, column 'label': 'awful' does not occur in .*train.csv, which has good"),
    ],
)
def test_value_that_the_training_file_lacks(load, row, told):
    with pytest.raises(ValueError, match=told):
        load(train__csv=HEADER + "a,food,good\n", test__csv=HEADER + row + "\n")


def test_files_of_a_folder(load):
    with pytest.raises(FileNotFoundError, match=r"data_dir='.*source' lacks train.csv or train.jsonl; write one"):
        load(test__csv=HEADER + "a,food,good\n")
    with pytest.raises(ValueError, match=r"data_dir='.*source' has validation.csv and dev.jsonl; keep one"):
        load(train__csv=HEADER + "a,food,good\n", validation__csv=HEADER, dev__jsonl=GOOD)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({}, ValueError, "data_files=None and data_dir=None: give one of the two"),
        ({"data_files": {"train": "x.csv"}, "data_dir": "."}, ValueError, "give one of the two"),
        ({"data_files": {"test": "x.csv"}}, ValueError, "data_files has ['test']: expected {'train': path}"),
        ({"data_files": {"train": "x.csv", "dev": "y.csv"}}, ValueError, "expected {'train': path}"),
        ({"data_files": {"train": "x.tsv"}}, ValueError, "data_files['train']='x.tsv': expected a .csv or .jsonl"),
        ({"data_files": {"train": "absent.csv"}}, FileNotFoundError, "data_files['train']='absent.csv'"),
        ({"data_dir": ".", "absent_label": " none"}, ValueError, "absent_label=' none' has blanks around it"),
        ({"data_dir": ".", "absent_label": ""}, ValueError, "absent_label: '' is empty"),
    ],
)
def test_bad_arguments(arguments, error, told):
    with pytest.raises(error, match=re.escape(told)):
        CustomABSA(**arguments)


def test_rows_about_words_of_the_texts(tmp_path):
    (tmp_path / "train.csv").write_text(
        "text,span,label,ordinal\nThe food by the food hall,food, good ,1\nThe food by the food hall,food,bad,0\n"
        "Nice hall,hall,good,0\nNice hall,hall,good,0\n",
        encoding="utf-8",
    )
    once = [{"text": "Nice hall", "span": "hall", "label": "bad"}, {"text": "So so", "span": "So", "label": "good"}]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, once)))
    with pytest.warns(UserWarning, match=r"train.csv: 1 repeated rows dropped"):
        splits = load_absa_dataset("custom", "terms", data_dir=tmp_path, cache_dir=tmp_path / "cache")
    assert decoded(splits["train"]) == [
        ("0", "The food by the food hall", "food", "", "good"),
        ("0", "The food by the food hall", "food", "", "bad"),
        ("1", "Nice hall", "hall", "", "good"),
    ]
    assert decoded(splits["test"]) == [("0", "Nice hall", "hall", "", "bad"), ("1", "So so", "So", "", "good")]
    assert splits["train"]["target_start"][:] == [16, 4, 5]
    for row in splits["train"]:
        assert row["text"][row["target_start"] : row["target_end"]] == row["target"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("Nice hall,hall,good\nNice hall,hall,bad\n", "line 3, column 'label': 'bad' contradicts 'good' on line 2"),
        ("", "train.csv: has no rows; write at least one"),
        ("Nice hall,halls,good\n", "line 2, column 'span': 'halls' stands 0 times in 'Nice hall'"),
    ],
)
def test_rows_about_words_that_are_wrong(rows: str, message: str, tmp_path):
    (tmp_path / "train.csv").write_text("text,span,label\n" + rows)
    with pytest.raises(ValueError, match=re.escape(message)):
        load_absa_dataset("custom", "terms", data_dir=tmp_path, cache_dir=tmp_path / "cache")


def test_an_absent_label_is_not_for_terms(tmp_path):
    (tmp_path / "train.csv").write_text("text,span,label\nNice hall,hall,good\n")
    with pytest.raises(ValueError, match=r"absent_label='none' is for files with aspects, not for terms: drop it"):
        load_absa_dataset("custom", "terms", data_dir=tmp_path, absent_label="none", cache_dir=tmp_path / "cache")
    with pytest.raises(ValueError, match="'words' not found"):
        load_absa_dataset("custom", "words", data_dir=tmp_path, cache_dir=tmp_path / "cache")
