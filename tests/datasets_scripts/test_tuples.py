"""Data sets of tuples: what their files look like, errors, rows of the subtasks, and parquet."""

import json
import re

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value

from datasets_scripts import ASTEV2, BARTABSA, MAMS, export_parquet, load_absa_dataset
from datasets_scripts.subtasks import SUBTASKS, sentences_of, subtask_rows
from datasets_scripts.tag_schemes import label_names
from datasets_scripts.tuples import tuples_from_tags
from datasets_scripts.words import word_offsets

TRIPLETS = {
    "train": "Good soup #### , bad green tea .####[([1], [0], 'POS'), ([5, 6], [4], 'NEG'), ([1], [0], 'POS')]\r\n\n"
    "A spoon .####[]\n",
    "dev": "good soup #### , bad .####[]\n",
    "test": "Soup good####[([0], [1], 'NEU')]\n",
}
GOOD_SOUP = {"target": (1, 2), "opinion": (0, 1), "label": "positive"}
BAD_TEA = {"target": (5, 7), "opinion": (4, 5), "label": "negative"}


@pytest.fixture
def aste(tmp_path):
    """A folder as ASTE-Data-V2."""
    (tmp_path / "aste" / "14lap").mkdir(parents=True)
    for split, lines in TRIPLETS.items():
        (tmp_path / "aste" / "14lap" / f"{split}_triplets.txt").write_bytes(lines.encode())
    return tmp_path / "aste"


@pytest.fixture
def load(tmp_path):
    return lambda *name, **options: load_absa_dataset(*name, cache_dir=tmp_path / "cache", **options)


def test_triplets(load, aste):
    with pytest.warns(UserWarning, match=r"^14lap: tuples that repeat another .* are dropped: 1 of train$"):
        splits = load("aste_v2", "14lap", data_dir=aste)
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 2, "validation": 1, "test": 1}
    train = splits["train"]
    assert list(train.features) == ["id", "text", "words", "offsets", "tuples"]
    assert train.features["tuples"].feature["label"].names == ["positive", "negative", "neutral"]
    assert train[0] == {
        "id": "1",
        "text": "Good soup #### , bad green tea .",
        "words": ["Good", "soup", "####", ",", "bad", "green", "tea", "."],
        "offsets": [[0, 4], [5, 9], [10, 14], [15, 16], [17, 20], [21, 26], [27, 30], [31, 32]],
        "tuples": [
            {"target": [1, 2], "opinion": [0, 1], "label": 0},
            {"target": [5, 7], "opinion": [4, 5], "label": 1},
        ],
    }
    assert (train[1]["id"], train[1]["tuples"]) == ("3", [])
    assert sentences_of(train)[0]["tuples"] == [GOOD_SOUP, BAD_TEA]


@pytest.mark.filterwarnings("ignore:.*tuples that repeat")
def test_own_files_and_shared_texts(load, aste):
    files = {split: aste / "14lap" / f"{split}_triplets.txt" for split in ("train", "test")}
    assert load("aste_v2", "own", data_files=files).num_rows == {"train": 2, "test": 1}
    (aste / "14lap" / "dev_triplets.txt").write_text("a SPOON .####[]\n")
    kept = load("aste_v2", "14lap", data_dir=aste, deduplicate=True)
    assert kept["train"]["id"][:] == ["1"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("No triplets", "line 2: 'No triplets' has no ####; write text####[([words of the target]"),
        ("a b####[([0], [1], 'POS')", "line 2, triplets: \"[([0], [1], 'POS')\" cannot be read; write text####["),
        ("a b####{}", "line 2, triplets: '{}' is no list"),
        ("a b####[([0], [1])]", "line 2, triplets: ([0], [1]) is no triplet"),
        ("a b####[([0], [2], 'POS')]", "line 2, opinion: [2, 3] is no span of the 2 words of the sentence"),
        ("a b####[([-1], [0], 'POS')]", "line 2, target: [-1, 0] is no span of the 2 words"),
        ("a b c####[([0, 2], [1], 'POS')]", "line 2, target: [0, 2] has a gap"),
        ("a b####[([], [1], 'POS')]", "line 2, target: [] is no list of numbers of words"),
        ("a b####[([True], [1], 'POS')]", "line 2, target: [True] is no list of numbers"),
        ("a b####[([0], [1], 'CON')]", "line 2, polarity: 'CON' is unknown; write one of POS, NEG, NEU"),
        ("a  b####[]", "line 2, text: '' is empty"),
        ("a\tb c####[]", r"line 2, text: 'a\tb' is no word; write one without blanks"),
    ],
)
def test_malformed_lines(load, aste, line, told):
    (aste / "14lap" / "dev_triplets.txt").write_text(f"Fine .####[]\n{line}\n")
    with pytest.raises(ValueError, match=f"dev_triplets.txt, {re.escape(told)}"):
        load("aste_v2", "14lap", data_dir=aste)


@pytest.mark.parametrize(
    ("builder", "options", "told"),
    [
        (ASTEV2, {"config_name": "17res"}, "config_name='17res': choose one of 14lap, 14res, 15res, 16res, own"),
        (ASTEV2, {"config_name": "own"}, "config_name='own' with data_files=None: 'own' takes data_files"),
        (ASTEV2, {"config_name": "14lap", "data_files": {}}, "config_name='14lap' with data_files={}: 'own' takes"),
        (
            ASTEV2,
            {"config_name": "14lap"},
            "14lap/train_triplets.txt has no public source; get it and",
        ),
        (BARTABSA, {}, "config_name=None: choose one of penga_14lap, "),
        (BARTABSA, {"config_name": "wang_16res"}, "config_name='wang_16res': choose one of penga_14lap, "),
        (MAMS, {}, "config_name=None: choose one of terms, categories"),
    ],
)
def test_bad_options(builder, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        builder(**options)


def test_files_that_are_missing_or_empty(load, aste):
    (aste / "14lap" / "dev_triplets.txt").write_text("\n")
    with pytest.raises(ValueError, match=r"dev_triplets.txt: has no sentences; get the file anew"):
        load("aste_v2", "14lap", data_dir=aste)
    (aste / "14lap" / "dev_triplets.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks 14lap/dev_triplets.txt; get what is missing from https://git"):
        load("aste_v2", "14lap", data_dir=aste)


def term(words, start, end, **more):
    return {"from": start, "to": end, "term": words[start:end], **more}


SOUP = ["good", "soup", "bad", "tea"]
PAIRED = {
    "task": "AEOESC",
    "words": SOUP,
    "aspects": [term(SOUP, 1, 2, polarity="POS"), term(SOUP, 3, 4, polarity="NEG")],
    "opinions": [term(SOUP, 0, 1), term(SOUP, 2, 3)],
}
EMPTY = [{"term": []}]
RECORDS = {
    "penga": [PAIRED],
    "pengb": [{field: value for field, value in PAIRED.items() if field != "task"}],
    "fan": [
        {"task": "AOE", "words": SOUP, "aspects": [term(SOUP, 1, 2)], "opinions": [term(SOUP, 0, 1)]},
        {"task": "AOE", "words": ["tea"], "aspects": [term(["tea"], 0, 1)], "opinions": [term(["tea"], 0, 1)]},
        {"task": "AOE", "words": SOUP, "aspects": [term(SOUP, 3, 4)], "opinions": [term(SOUP, 2, 3)]},
    ],
    "wang": [
        {
            "task": "AE-OE",
            "words": SOUP,
            "aspects": [term(SOUP, 1, 2, polarity="CON"), term(SOUP, 3, 4)],
            "opinions": [term(SOUP, 0, 1)],
        },
        {"task": "AE-OE", "words": ["tea"], "aspects": EMPTY, "opinions": EMPTY},
    ],
}


@pytest.fixture
def bartabsa(tmp_path):
    """Writes records as the files of a part, the same ones into each; gives the folder."""

    def write(part, records):
        for split in ("train", "dev", "test"):
            file = tmp_path / "bartabsa" / part / "14lap" / f"{split}_convert.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(records))
        return tmp_path / "bartabsa"

    return write


def tuples_of(split):
    return [sentence["tuples"] for sentence in sentences_of(split)]


@pytest.mark.parametrize("part", ["penga", "pengb"])
def test_paired_terms(load, bartabsa, part):
    splits = load("bartabsa", f"{part}_14lap", data_dir=bartabsa(part, RECORDS[part]))
    assert splits["train"]["id"][:] == ["0"]
    triplets = [((1, 2), (0, 1), "positive"), ((3, 4), (2, 3), "negative")]
    assert tuples_of(splits["test"]) == [
        [dict(zip(("target", "opinion", "label"), triplet, strict=True)) for triplet in triplets]
    ]


def test_records_of_one_target(load, bartabsa):
    bartabsa("pengb", RECORDS["pengb"])
    splits = load("bartabsa", "fan_14lap", data_dir=bartabsa("fan", RECORDS["fan"]))
    together = [{"target": (1, 2), "opinion": (0, 1)}, {"target": (3, 4), "opinion": (2, 3)}]
    apart = [{"target": (0, 1), "opinion": (0, 1)}]
    assert {split: tuples_of(rows) for split, rows in splits.items()} == {
        "train": [apart],
        "validation": [together],  # its text stands in the validation split of pengb
        "test": [together, apart],
    }


def test_targets_and_opinions_apart(load, bartabsa):
    splits = load("bartabsa", "wang_14lap", data_dir=bartabsa("wang", RECORDS["wang"]))
    assert splits["train"].features["tuples"].feature["label"].names[3] == "conflict"
    rows = sentences_of(splits["train"])
    assert [row["tuples"] for row in rows] == [
        [
            {"target": (1, 2), "opinion": None, "label": "conflict"},
            {"target": (3, 4), "opinion": None, "label": None},
            {"target": None, "opinion": (0, 1), "label": None},
        ],
        [],
    ]
    assert [row["tuples"] for row in subtask_rows(rows, "ate")] == [[{"target": (1, 2)}, {"target": (3, 4)}], []]
    assert [row["tuples"] for row in subtask_rows(rows, "ote")] == [[{"opinion": (0, 1)}], []]
    assert [row["tuples"] for row in subtask_rows(rows, "aesc")] == [[{"target": (1, 2), "label": "conflict"}], []]
    with pytest.warns(UserWarning, match="1 of 1 targets have the label conflict"):
        assert subtask_rows(rows, "alsc") == []
    for subtask in ("aoe", "aope", "aste"):
        with pytest.raises(ValueError, match=f"subtask='{subtask}': none of 3 tuples states target with opinion"):
            subtask_rows(rows, subtask)


def changed(**fields):
    return [{**PAIRED, **fields}]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ({"a": 1}, ": {'a': 1} is no list of records"),
        ([[]], ", record 0: [] is no record"),
        (changed(words=["a b"]), ", record 0, field 'words': 'a b' is no word"),
        (changed(words=[]), ", record 0, field 'words': [] is no list of words"),
        (changed(task="ASTE"), ", record 0, field 'task': 'ASTE' is unknown; write AEOESC, AOE or AE-OE"),
        (changed(aspects=None), ", record 0, field 'aspects': None is no list of objects"),
        (changed(opinions=PAIRED["opinions"][:1]), ", record 0: '2 aspects and 1 opinions' are no triplets"),
        (changed(aspects=PAIRED["opinions"]), ", record 0, field 'aspects': None is no label of a triplet"),
        (changed(opinions=[term(SOUP, 0, 9)] * 2), ", record 0, field 'opinions': [0, 9] is no span of the 4 words"),
        (changed(opinions=[{**term(SOUP, 0, 1), "to": 2}]), "'good']} is not ['good', 'soup']; correct the term or"),
        (changed(aspects=[term(SOUP, 1, 2, polarity="MIX")]), "'aspects': 'MIX' is unknown; write one of POS, NEG"),
        (changed(task="AOE"), ", field 'aspects': [{'from': 1,"),
    ],
)
def test_malformed_records(load, bartabsa, records, told):
    with pytest.raises(ValueError, match=f"train_convert.json.*{re.escape(told)}"):
        load("bartabsa", "penga_14lap", data_dir=bartabsa("penga", records))


def sentence(text, *terms, categories=()):
    marked = "".join(f'<aspectTerm term="{t}" polarity="{p}" from="{s}" to="{s + len(t)}"/>' for t, p, s in terms)
    listed = "".join(f'<aspectCategory category="{c}" polarity="{p}"/>' for c, p in categories)
    return (
        f"<sentence><text>{text}</text><aspectTerms>{marked}</aspectTerms>"
        f"<aspectCategories>{listed}</aspectCategories></sentence>"
    )


@pytest.fixture
def mams(tmp_path):
    """Writes one sentence of terms and one of categories, in each split."""
    terms = sentence(
        "It's  seafood, Salades!", ("seafood", "positive", 6), ("food", "neutral", 9), ("Salad", "negative", 15)
    )
    categories = sentence("Dear.", categories=[("price", "negative"), ("menu", "neutral")])
    for folder, content in (("MAMS-ATSA", terms), ("MAMS-ACSA", categories)):
        (tmp_path / "mams" / folder / "raw").mkdir(parents=True)
        for split in ("train", "val", "test"):
            file = tmp_path / "mams" / folder / "raw" / f"{split}.xml"
            file.write_text(f"<sentences>{content}{sentence('Quiet')}</sentences>")
    return tmp_path / "mams"


@pytest.mark.filterwarnings("ignore:.*terms that begin or end inside")
def test_characters_become_words(load, mams):
    told = "terms that begin or end inside a word: 2; 1 of them dropped, because their words are another term"
    with pytest.warns(UserWarning, match=f"/train.xml: {told}"):
        rows = sentences_of(load("mams", "terms", data_dir=mams)["train"])
    assert rows[0]["words"] == ["It", "'s", "seafood", ",", "Salades", "!"]
    assert [rows[0]["text"][start:end] for start, end in rows[0]["offsets"]] == rows[0]["words"]
    assert rows[0]["tuples"] == [
        {"target": (2, 3), "label": "positive"},
        {"target": (4, 5), "label": "negative"},
    ]
    assert [(row["id"], row["tuples"]) for row in rows[1:]] == [("1", [])]


def test_categories(load, mams):
    assert tuples_of(load("mams", "categories", data_dir=mams)["test"]) == [
        [{"aspect": "price", "label": "negative"}, {"aspect": "menu", "label": "neutral"}],
        [],
    ]


def test_words():
    text = "Don't they can\u2019t? We'll 15.6-inch R&B it's--well... :)"
    assert [text[start:end] for start, end in word_offsets(text)] == [
        *("Do", "n't", "they", "ca", "n\u2019t", "?", "We", "'ll", "15.6-inch", "R&B", "it", "'s", "--", "well"),
        *("...", ":", ")"),
    ]


ROW = {"id": "7", "text": "a b c", "words": ["a", "b", "c"], "offsets": [(0, 1), (2, 3), (4, 5)]}
TWO = [
    {"target": (2, 3), "opinion": (0, 1), "label": "neutral"},
    {"target": (2, 3), "opinion": (1, 2), "label": "neutral"},
]


@pytest.mark.parametrize(
    ("subtask", "expected"),
    [
        ("ate", [([{"target": (2, 3)}], None)]),
        ("ote", [([{"opinion": (0, 1)}, {"opinion": (1, 2)}], None)]),
        ("alsc", [([{"label": "neutral"}], (2, 3))]),
        ("aoe", [([{"opinion": (0, 1)}, {"opinion": (1, 2)}], (2, 3))]),
        ("aesc", [([{"target": (2, 3), "label": "neutral"}], None)]),
        ("aope", [([{"target": (2, 3), "opinion": (o, o + 1)} for o in (0, 1)], None)]),
        ("aste", [(TWO, None)]),
    ],
)
def test_rows_of_subtasks(subtask, expected):
    rows = subtask_rows([{**ROW, "tuples": TWO}, {**ROW, "tuples": []}], subtask)
    if not SUBTASKS[subtask].given:
        expected = [*expected, ([], None)]
    assert [(row["tuples"], row.get("target")) for row in rows] == expected
    assert all(row.items() >= ROW.items() for row in rows)


def test_an_unknown_subtask():
    with pytest.raises(ValueError, match="subtask='absa': choose one of ate, ote, alsc"):
        subtask_rows([], "absa")


def tagged(names, tags) -> DatasetDict:
    """A training split of one sentence of as many words."""
    strings, words = Value("string"), [f"w{number}" for number in range(len(tags))]
    features = {"id": strings, "text": strings, "tokens": List(strings), "tags": List(ClassLabel(names=names))}
    row = {"id": "7", "text": "-".join(words), "tokens": words, "tags": tags}
    return DatasetDict(train=Dataset.from_list([row], features=Features(features)))


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("BIO", ["B-NEG", "B-NEG", "I-NEG", "O", "B-dear", "I-dear", "I-dear"]),
        ("BIEOS", ["S-NEG", "B-NEG", "E-NEG", "O", "B-dear", "I-dear", "E-dear"]),
    ],
)
def test_tags_become_tuples(scheme, tags):
    train = tuples_from_tags(tagged(label_names(["NEG", "dear"], scheme), tags))["train"]
    assert train.features["tuples"].feature["label"].names == ["negative", "dear"]
    assert (train[0]["text"], train[0]["offsets"][:2]) == ("w0 w1 w2 w3 w4 w5 w6", [[0, 2], [3, 5]])
    assert sentences_of(train)[0]["tuples"] == [
        {"target": target, "label": label}
        for target, label in (((0, 1), "negative"), ((1, 3), "negative"), ((4, 7), "dear"))
    ]


@pytest.mark.parametrize(
    ("names", "tags", "told"),
    [
        (["NOUN", "VERB"], ["VERB"], "^the tags NOUN, VERB mark no spans: give data whose tags do"),
        (["O", "B-POS", "I-POS"], ["O", "I-POS"], "^sentence 7: I-POS cannot stand at word 2; correct the tags"),
        (label_names(["POS"], "BIEOS"), ["B-POS", "O"], "^sentence 7: O cannot stand at word 2; correct the tags"),
    ],
)
def test_tags_that_are_no_tuples(names, tags, told):
    with pytest.raises(ValueError, match=told):
        tuples_from_tags(tagged(names, tags))


@pytest.mark.filterwarnings("ignore:.*tuples that repeat")
def test_parquet(load, aste, bartabsa, tmp_path):
    for number, (name, config, folder) in enumerate(
        [("aste_v2", "14lap", aste), ("bartabsa", "wang_14lap", bartabsa("wang", RECORDS["wang"]))]
    ):
        splits = load(name, config, data_dir=folder)
        export_parquet(splits, tmp_path / str(number))
        again = load(tmp_path / str(number))
        assert again["train"].features == splits["train"].features
        assert {split: rows.to_list() for split, rows in again.items()} == {s: r.to_list() for s, r in splits.items()}
    for number, (column, value) in enumerate({"words": ["x"], "offsets": [[0, 9]]}.items(), start=2):
        damaged = splits["train"].map(lambda row, column=column, value=value: row | {column: value})
        export_parquet(DatasetDict(train=damaged), tmp_path / str(number))
        with pytest.raises(ValueError, match=r"split 'train', row 0: .* has other words than its text, or spans"):
            load(tmp_path / str(number))
    export_parquet(DatasetDict(train=splits["train"].remove_columns("words")), tmp_path / "without")
    with pytest.raises(ValueError, match="split 'train': column 'words' is missing; write the folder"):
        load(tmp_path / "without")
