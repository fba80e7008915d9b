"""MAMS as rows for classification; its sentences of tuples are tested in test_tuples.py and test_tuple_counts.py."""

from collections import Counter

import pytest

from datasets_scripts import MAMS, SemEval2015, SemEval2016, export_parquet, load_absa_dataset
from datasets_scripts.mams.mams import CATEGORIES
from datasets_scripts.semeval_xml import read_sentences
from datasets_scripts.splits import normalize_text

TERMS = """<sentences><sentence><text>It's  seafood, Salades!</text><aspectTerms>
<aspectTerm term="seafood" polarity="positive" from="6" to="13"/>
<aspectTerm term="Salad" polarity="negative" from="15" to="20"/></aspectTerms></sentence>
<sentence><text>Quiet</text></sentence></sentences>"""
DEAR = """<sentences><sentence><text>Dear.</text>
<aspectCategories><aspectCategory category="price" polarity="negative"/>
<aspectCategory category="menu" polarity="neutral"/></aspectCategories></sentence></sentences>"""
each = pytest.mark.parametrize("name", ["term_rows", "category_rows", "given_categories"])


@pytest.fixture
def load(tmp_path):
    for folder, content in (("MAMS-ATSA", TERMS), ("MAMS-ACSA", DEAR)):
        (tmp_path / folder / "raw").mkdir(parents=True)
        for split in ("train", "val", "test"):
            (tmp_path / folder / "raw" / f"{split}.xml").write_text(content)
    return lambda name: load_absa_dataset("mams", name, data_dir=tmp_path, cache_dir=tmp_path / "cache")


@pytest.mark.filterwarnings("error:.*terms that begin or end inside")
def test_rows_of_terms(load):
    train = load("term_rows")["train"]
    assert train.features["aspect"].names == [""]
    assert train.features["label"].names == ["positive", "neutral", "negative"]
    about = {"id": "0", "text": "It's  seafood, Salades!", "aspect": 0}
    assert train.to_list() == [
        {**about, "target": "seafood", "label": 0, "target_start": 6, "target_end": 13},
        {**about, "target": "Salad", "label": 2, "target_start": 15, "target_end": 20},  # not the whole word
    ]


def test_rows_of_categories(load):
    rows = load("category_rows")["validation"]
    assert rows.features["aspect"].names == list(CATEGORIES)
    assert rows.features["label"].names == ["none", "positive", "neutral", "negative"]
    assert {(row["id"], row["text"], row["target"]) for row in rows} == {("0", "Dear.", "")}
    assert rows["aspect"][:] == list(range(8))
    price, menu = CATEGORIES.index("price"), CATEGORIES.index("menu")
    assert [{price: 3, menu: 2}.get(aspect, 0) for aspect in range(8)] == rows["label"][:]


def test_rows_of_given_categories(load):
    rows = load("given_categories")["test"]
    assert rows.features["label"].names == ["positive", "neutral", "negative"]
    about = {"id": "0", "text": "Dear.", "target": ""}
    price, menu = CATEGORIES.index("price"), CATEGORIES.index("menu")
    assert rows.to_list() == [{**about, "aspect": price, "label": 2}, {**about, "aspect": menu, "label": 1}]


@each
def test_parquet(load, tmp_path, name):
    splits = load(name)
    export_parquet(splits, tmp_path / "parquet")
    again = load_absa_dataset(tmp_path / "parquet", cache_dir=tmp_path / "cache")
    assert again["test"].features == splits["test"].features
    assert again["test"].to_list() == splits["test"].to_list()


@each
def test_rows_are_downloaded_as_tuples_are(name):
    builder = MAMS(config_name=name)
    assert builder.local_files == {}
    assert set(builder.FILES.values()) <= MAMS.SHA256_OF.keys()


@each
def test_counts_of_the_card(shared_dir, rows_cache, card, table, name):
    splits = load_absa_dataset("mams", name, data_dir=shared_dir / "data" / "mams", cache_dir=rows_cache)
    measured = {}
    for split, rows in splits.items():
        names = rows.features["label"].names
        labels = Counter(names[label] for label in rows["label"])
        counts = (labels[label] for label in ("none", "positive", "neutral", "negative"))
        measured[f"{name} {split}"] = len(set(rows["id"])), len(rows), *counts
    assert {split: row for split, row in table(card("mams"), "rows").items() if name in split} == measured
    published = {"term_rows": (11186, 1332, 1336)}.get(name, (7090, 888, 901))
    assert tuple(sum(row[2:]) - row[2] for row in measured.values()) == published
    if name == "term_rows":
        for row in splits["train"]:
            assert row["text"][row["target_start"] : row["target_end"]] == row["target"]


def test_test_texts_in_train_of_other_years(shared_dir, card):
    data = shared_dir / "data"
    found = []
    for folder in ("MAMS-ATSA", "MAMS-ACSA"):
        sentences = read_sentences(data / "mams" / folder / "raw" / "test.xml", CATEGORIES, own_ids=False)
        own = {normalize_text(sentence["text"]) for sentence in sentences}
        for year, builder in (("semeval2015", SemEval2015), ("semeval2016", SemEval2016)):
            of_year = builder.read(data / year / builder.SOURCES["restaurants"]["train"])
            found.append(len(own & {normalize_text(sentence["text"]) for sentence in of_year}))
    assert found == [9, 9, 4, 4]
    assert "9 test texts of `terms` and 4 of `categories` stand in train of SemEval-2015 and of" in card("mams").text
