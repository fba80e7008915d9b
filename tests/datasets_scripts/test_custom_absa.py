import json
import re

import pytest

from datasets_scripts import CustomABSA, load_absa_dataset


@pytest.fixture
def load(tmp_path):
    """Writes the files given as name=content (a `__` in the name is a dot) and loads their folder."""

    def load_files(absent_label=None, deduplicate=False, **files):
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (source / name.replace("__", ".")).write_bytes(data)
        return load_absa_dataset(
            "custom",
            data_dir=source,
            absent_label=absent_label,
            deduplicate=deduplicate,
            cache_dir=tmp_path / "cache",
        )

    return load_files


def decoded(rows):
    """(id, text, target, aspect, label) of each row, with names for class numbers."""
    names = {column: rows.features[column].names for column in ("aspect", "label")}
    return [
        (row["id"], row["text"], row["target"], names["aspect"][row["aspect"]], names["label"][row["label"]])
        for row in rows
    ]


def test_csv_and_jsonl_give_the_same_rows(load, tmp_path):
    as_csv = load(train__csv='text,target,aspect,label\n"a, b",X,food,good\n"a, b",,staff,none\nc,X,food,bad\n')
    records = [
        {"text": "a, b", "target": "X", "aspect": "food", "label": "good"},
        {"text": "a, b", "aspect": "staff", "label": "none"},
        {"text": "c", "target": "X", "aspect": "food", "label": "bad"},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    as_jsonl = load_absa_dataset("custom", data_files={"train": tmp_path / "rows.jsonl"}, cache_dir=tmp_path)
    assert decoded(as_csv["train"]) == [
        ("0", "a, b", "X", "food", "good"),
        ("0", "a, b", "", "staff", "none"),
        ("1", "c", "X", "food", "bad"),
    ]
    assert decoded(as_jsonl["train"]) == decoded(as_csv["train"])
    assert list(as_csv["train"].features) == ["id", "text", "target", "aspect", "label"]


def test_classes_are_those_of_the_training_file_in_order(load):
    splits = load(
        train__csv="text,aspect,label\na,staff,good\nb,food,none\nc,staff,bad\n",
        dev__csv="text,aspect,label\nd,food,bad\n",
        test__jsonl='{"text": "e", "aspect": "food", "label": "good"}\n',
    )
    assert set(splits) == {"train", "validation", "test"}
    for rows in splits.values():
        assert rows.features["aspect"].names == ["staff", "food"]
        assert rows.features["label"].names == ["none", "good", "bad"]
    assert decoded(splits["validation"]) == [("0", "d", "", "food", "bad")]


def test_text_is_kept_and_names_are_stripped(load):
    rows = load(train__csv="text, target , aspect, label\n  a b ,X , food, good\n")["train"]
    assert decoded(rows) == [("0", "  a b ", "X", "food", "good")]


def test_byte_order_mark_crlf_and_blank_lines(load):
    rows = load(train__csv=b"\xef\xbb\xbftext,aspect,label\r\n\r\na,food,good\r\n\r\n")["train"]
    assert decoded(rows) == [("0", "a", "", "food", "good")]


def test_jsonl_text_with_a_line_separator_character(load):
    record = {"text": "a\u2028b", "aspect": "food", "label": "good"}
    rows = load(train__jsonl=json.dumps(record, ensure_ascii=False) + "\n")["train"]
    assert rows["text"][0] == "a\u2028b"


def test_ids_are_kept(load):
    rows = load(train__jsonl='{"id": 7, "text": "a", "aspect": "food", "label": "good"}\n')["train"]
    assert rows["id"][0] == "7"


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


@pytest.mark.parametrize("absent_label", ["", " none", 3, b"none", ["none"], "\u200b", "\ud800"])
def test_absent_label_that_is_no_label(load, absent_label):
    with pytest.raises(ValueError, match=re.escape(f"absent_label={absent_label!r} is empty or has blanks")):
        load(train__csv="text,aspect,label\na,food,good\n", absent_label=absent_label)


def test_repeated_rows_are_dropped_with_a_warning(load):
    with pytest.warns(UserWarning, match=r"train.csv: 2 repeated rows dropped"):
        rows = load(train__csv="text,aspect,label\na,food,good\na,food,good\na,food,good\n")["train"]
    assert rows.num_rows == 1


def test_deduplicate(load):
    files = {
        "train__csv": "text,aspect,label\na,food,good\nB  b,food,good\nc,food,bad\n",
        "validation__csv": "text,aspect,label\n b b,food,good\nD,food,good\n",
        "test__csv": "text,aspect,label\nA,food,good\nd,food,good\n",
    }
    assert load(**files)["train"].num_rows == 3
    splits = load(**files, deduplicate=True)
    assert splits["train"]["text"][:] == ["c"]
    assert splits["validation"]["text"][:] == [" b b"]
    assert splits["test"]["text"][:] == ["A", "d"]


def test_deduplicate_that_leaves_nothing(load):
    rows = "text,aspect,label\na,food,good\n"
    with pytest.raises(ValueError, match=r"leaves nothing of 'train'"):
        load(train__csv=rows, test__csv=rows, deduplicate=True)


HEADER = "text,aspect,label\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "a,food,good\n ,food,good\n", "line 3, column 'text': ' ' is empty"),
        (HEADER + "a,,good\n", "line 2, column 'aspect': '' is empty"),
        (HEADER + "a,food, \n", "line 2, column 'label': ' ' is empty"),
        ("id," + HEADER + ",a,food,good\n", "line 2, column 'id': '' is empty"),
        ("text,aspect\na,food\n", "line 1, column 'label': is missing among ['text', 'aspect']"),
        ("text;aspect;label\n", "line 1: 'text;aspect;label' is one column; separated by semicolons? Save the file"),
        ("text\taspekt\n", "line 1: 'text\\taspekt' is one column; separated by tabs? Save the file with commas: "),
        ("traget," + HEADER + "X,a,food,good\n", "line 1, column 'traget': is not one of text, aspect, label"),
        ("text," + HEADER + "a,a,food,good\n", "line 1, column 'text': occurs twice"),
        (HEADER + "a,food\n", "line 2: 2 cells ['a', 'food'] for the 3 columns text, aspect, label"),
        (HEADER + "a, b,food,good\n", "line 2: 4 cells"),
        # The quoted text spans lines 2 to 4, so that the bad row is on line 5.
        (HEADER + '"a\n\nb",food,good\nc,food,\n', "line 5, column 'label': '' is empty"),
        (HEADER + '"a\nb",food,\n', "line 2, column 'label': '' is empty"),
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
        (HEADER.encode() + "a,food,good\ncafé,food,good\n".encode("latin-1"), "line 3: byte 0xe9 is not UTF-8"),
        (HEADER.encode("utf-16"), "begins as UTF-16 or UTF-32, and is not UTF-8; save the file as UTF-8"),
        (HEADER.encode("utf-16-be"), "begins as UTF-16 or UTF-32"),
        (HEADER.encode("utf-32"), "begins as UTF-16 or UTF-32"),
        (HEADER, "has no rows"),
        ("", "has no rows"),
    ],
)
def test_bad_csv(load, content, message):
    with pytest.raises(ValueError, match=r"train\.csv.*" + re.escape(message)):
        load(train__csv=content)


GOOD = '{"text": "a", "aspect": "food", "label": "good"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + "\n{'text'}\n", "line 3: invalid JSON"),
        (GOOD + '["a", "food"]\n', 'line 2: \'["a", "food"]\' is no object'),
        (GOOD + '{"text": "b", "label": "good"}\n', "line 2, column 'aspect': is missing"),
        ('{"text": "b", "aspect": "food", "label": 1}\n', "line 1, column 'label': 1 is not a string"),
        ('{"text": null, "aspect": "food", "label": "good"}\n', "line 1, column 'text': None is not a string"),
        (
            '{"id": true, "text": "b", "aspect": "food", "label": "good"}\n',
            "line 1, column 'id': True is not a string",
        ),
        (
            GOOD + '{"id": "1", "text": "b", "aspect": "food", "label": "good"}\n',
            "line 1, column 'id': None is missing in this row only",
        ),
        (
            '{"text": "b", "text": "a", "aspect": "food", "label": "good"}\n',
            "line 1: JSON that cannot be read (a key occurs twice in ['text', 'text', ",
        ),
        (
            '{"text": "a \\ud83d", "aspect": "food", "label": "good"}\n',
            "line 1, column 'text': 'a \\ud83d' holds half a surrogate pair",
        ),
    ],
)
def test_bad_jsonl(load, content, message):
    with pytest.raises(ValueError, match=r"train\.jsonl.*" + re.escape(message)):
        load(train__jsonl=content)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "b,drinks,good",
            r"test.csv, line 2, column 'aspect': 'drinks' does not occur in .*train.csv, which has food",
        ),
        ("b,food,awful", r"test.csv, line 2, column 'label': 'awful' does not occur in .*train.csv, which has good"),
    ],
)
def test_value_that_the_training_file_lacks(load, row, message):
    with pytest.raises(ValueError, match=message):
        load(train__csv=HEADER + "a,food,good\n", test__csv=HEADER + row + "\n")


def test_two_files_for_one_split(load):
    rows = HEADER + "a,food,good\n"
    with pytest.raises(ValueError, match=r"has validation.csv and dev.csv; keep one"):
        load(train__csv=rows, validation__csv=rows, dev__csv=rows)


def test_folder_without_training_file(load):
    with pytest.raises(FileNotFoundError, match=r"lacks train.csv or train.jsonl"):
        load(test__csv=HEADER + "a,food,good\n")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "give one of the two"),
        ({"data_files": {"train": "x.csv"}, "data_dir": "."}, ValueError, "give one of the two"),
        ({"data_files": "x.csv"}, ValueError, "expected {'train': path}"),
        ({"data_files": {"test": "x.csv"}}, ValueError, "expected {'train': path}"),
        ({"data_files": {"train": "x.csv", "dev": "y.csv"}}, ValueError, "expected {'train': path}"),
        (
            {"data_files": {"train": "x.tsv"}},
            ValueError,
            "data_files['train']='x.tsv': expected a .csv or .jsonl file",
        ),
        ({"data_files": {"train": "absent.csv"}}, FileNotFoundError, "data_files['train']='absent.csv'"),
        ({"data_files": {"train": None}}, ValueError, "data_files['train']=None: give the path of one file"),
        ({"data_files": {"train": ["x.csv"]}}, ValueError, "data_files['train']=['x.csv']: give the path of one file"),
        ({"data_files": {"train": "x.csv", "test": 3}}, ValueError, "data_files['test']=3: give the path of one"),
        ({"data_dir": ""}, ValueError, "data_dir='': give the path of a folder"),
        ({"data_dir": 3}, ValueError, "data_dir=3: give the path of a folder"),
        ({"data_dir": ".", "deduplicate": "false"}, ValueError, "deduplicate='false': give True or False"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        CustomABSA(**arguments)
