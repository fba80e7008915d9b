"""Polarity of terms and categories: rows, choices of validation rows, errors, and counts of the organisers' files."""

import hashlib
import json
import re
from collections import Counter

import pytest

from datasets_scripts import AspectPolarity, load_absa_dataset
from datasets_scripts.aspect_polarity import aspect_polarity
from datasets_scripts.aspect_polarity.aspect_polarity import SHA256, SOURCES

TERM = '<aspectTerm term="{}" polarity="{}" from="{}" to="{}"/>'
CATEGORY = '<aspectCategory category="{}" polarity="{}"/>'
DEV = {"laptops_terms": ["a:5-9"], "restaurants_terms": ["a:5-9"], "restaurants_categories": ["b#2:food"]}
quietly = pytest.mark.filterwarnings("ignore:.* validation rows are of sentences")
each = pytest.mark.parametrize("name", SOURCES)


def sentence(id_, text, terms=(), categories=()):
    terms = "".join(TERM.format(*term) for term in terms)
    categories = "".join(CATEGORY.format(*category) for category in categories)
    annotated = f"<aspectTerms>{terms}</aspectTerms><aspectCategories>{categories}</aspectCategories>"
    return f'<sentence id="{id_}"><text>{text}</text>{annotated}</sentence>'


TRAIN = (
    sentence("a", "Good soup, bad \u00a0tea.", [("soup", "positive", 5, 9), ("tea", "negative", 16, 19)]),
    sentence(
        "b", "Soup is soup.", [("Soup", "neutral", 0, 4), ("soup", "conflict", 8, 12)], [("food", "neutral")] * 2
    ),
    sentence("c", "Dear.", categories=[("price", "negative"), ("ambience", "conflict")]),
    sentence("d", "Quiet"),
)
TEST = (
    sentence(
        "x:1", "Fine &amp; cheap tea", [("tea", "neutral", 13, 16), ("Fine", "positive", 0, 4)], [("food", "positive")]
    ),
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Four sentences in train and one in test, with splits of the paper of their own."""
    (tmp_path / "source").mkdir()
    monkeypatch.setattr(aspect_polarity, "DEV_ROWS", 1)
    for name, source in SOURCES.items():
        monkeypatch.setitem(SOURCES, name, source._replace(held_out=DEV[name]))
        for split, sentences in (("train", TRAIN), ("test", TEST)):
            content = f"<sentences>{''.join(sentences)}</sentences>".encode()
            (tmp_path / "source" / source.files[split]).write_bytes(content)
            monkeypatch.setitem(SHA256, source.files[split], hashlib.sha256(content).hexdigest())
    return tmp_path / "source"


@pytest.fixture
def load(folder, tmp_path):
    def build(name="laptops_terms", **options):
        options = {"data_dir": folder, **options}
        return load_absa_dataset("aspect_polarity", name, cache_dir=tmp_path / "cache", **options)

    return build


def told(row):
    return row["id"], row["target"], row["target_start"], row["target_end"], row["aspect"], row["label"]


def test_rows_of_terms(load):
    splits = load(dev_split="none")
    train = splits["train"]
    assert list(splits) == ["train", "test"]
    assert list(train.features) == ["id", "text", "target", "aspect", "label", "target_start", "target_end"]
    assert (train.features["aspect"].names, train.features["label"].names) == (
        [""],
        ["positive", "neutral", "negative"],
    )
    assert [told(row) for row in train] == [
        ("a", "soup", 5, 9, 0, 0),
        ("a", "tea", 16, 19, 0, 2),
        ("b", "Soup", 0, 4, 0, 1),  # the other one is conflict
    ]
    assert train[1]["text"] == "Good soup, bad \u00a0tea."
    assert told(splits["test"][0]) == ("x:1", "tea", 13, 16, 0, 1)


def test_rows_of_categories(load):
    train = load("restaurants_categories", dev_split="none")["train"]
    assert train.features["aspect"].names == ["price", "anecdotes/miscellaneous", "food", "ambience", "service"]
    food, price = 2, 0
    twice = ("b", "", None, None, food, 1)  # both rows are kept, as in the paper's counts
    assert [told(row) for row in train] == [twice, twice, ("c", "", None, None, price, 2)]


def test_split_of_the_paper(load):
    with pytest.warns(UserWarning, match=r"^1 of 1 validation rows are of sentences that have rows in train too"):
        splits = load()
    assert list(splits) == ["train", "validation", "test"]
    assert [row["target"] for row in splits["validation"]] == ["soup"]
    assert [row["target"] for row in splits["train"]] == ["tea", "Soup"]
    with pytest.warns(UserWarning, match="^1 of 1 validation rows"):
        splits = load("restaurants_categories")  # of two equal rows the second
    assert [[row["id"] for row in rows] for rows in splits.values()] == [["b", "c"], ["b"], ["x:1"]]


def test_choices_by_seed(load):
    def chosen(dev_split, key):
        options = ({"dev_split": dev_split, "dev_seed": seed} for seed in range(8))
        splits = [load("restaurants_categories", **of_one) for of_one in options]
        assert all(len(of_one["train"]) + len(of_one["validation"]) == 3 for of_one in splits)
        return {tuple(row[key] for row in of_one["validation"]) for of_one in splits}

    assert chosen("sentences", "id") == {("b", "b"), ("c",)}  # both rows of b, where one is asked for
    with pytest.warns(UserWarning, match="^1 of 1 validation rows"):
        assert chosen("rows", "id") == {("b",), ("c",)}


@pytest.mark.filterwarnings("error:.* validation rows are of sentences")
def test_deduplicate_drops_parted_sentences(load):
    assert [row["id"] for row in load(deduplicate=True)["train"]] == ["b"]


@quietly
def test_two_labels(load):
    splits = load(labels=2)
    assert {split: rows["label"][:] for split, rows in splits.items()} == {
        "train": [1],
        "validation": [0],
        "test": [0],
    }
    assert splits["train"].features["label"].names == ["positive", "negative"]
    with pytest.raises(ValueError, match="validation has no rows labelled positive or negative; give files with more"):
        load("restaurants_categories", labels=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config_name": None}, "config_name=None: choose one of laptops_terms, restaurants_terms, restaurants_categ"),
        ({"config_name": "semeval1415"}, "config_name='semeval1415': choose one of laptops_terms"),
        ({"dev_split": "random"}, "dev_split='random': choose one of paper, rows, sentences, none"),
        (
            {"dev_seed": 1},
            "dev_seed=1 with dev_split='paper', which draws nothing: leave it out, or choose one of row",
        ),
        ({"labels": 4}, "labels=4: give 3, or 2 to leave out neutral"),
        ({"data_dir": None}, "Laptop_Train_v2.xml has no public source; get it and pass its folder as data_dir"),
    ],
)
def test_bad_options(folder, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AspectPolarity(**{"config_name": "laptops_terms", "data_dir": folder, **options})


def test_files_that_do_not_fit(load, folder, monkeypatch):
    file = folder / "Laptop_Train_v2.xml"
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(
        ValueError, match=r"Laptop_Train_v2.xml has SHA-256 \w{64}, and the paper's split is one of the file with"
    ):
        load()
    monkeypatch.setattr(aspect_polarity, "DEV_ROWS", 3)
    with pytest.raises(ValueError, match="3 of 3 training rows are to be held out, which leaves none; give more data"):
        load(dev_split="rows")
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks Laptop_Train_v2.xml; get what is missing from https://alt"):
        load()


@pytest.fixture
def load_shared(semeval2014_dir, rows_cache):
    return lambda name, **options: load_absa_dataset(
        "aspect_polarity", name, data_dir=semeval2014_dir, cache_dir=rows_cache, **options
    )


def size(rows):
    """(sentences, rows, positive, neutral, negative)"""
    counts = Counter(rows["label"])
    return len(set(rows["id"])), len(rows), *(counts[label] for label in range(3))


def keys(rows):
    return Counter(zip(*(rows[name][:] for name in ("id", "target_start", "aspect")), strict=True))


@each
@quietly
def test_counts_of_the_card(name, load_shared, card, table):
    whole, paper = load_shared(name, dev_split="none"), load_shared(name)
    measured = {f"{name} {split}": size(rows) for split, rows in whole.items()}
    for dev_split, splits in (("paper", paper), ("sentences", load_shared(name, dev_split="sentences"))):
        for split in ("train", "validation"):
            measured[f"{name} {split}, {dev_split}"] = size(splits[split])
        assert size(splits["test"]) == size(whole["test"])
        # Each training row stands in one of the two.
        assert keys(splits["train"]) + keys(splits["validation"]) == keys(whole["train"])
    assert {split: row for split, row in table(card("aspect_polarity"), "rows").items() if name in split} == measured
    two = {f"{name} {split}": (len(set(rows["id"])), len(rows)) for split, rows in load_shared(name, labels=2).items()}
    assert {split: row for split, row in table(card("aspect_polarity"), "two labels").items() if name in split} == two


# Of Tay et al., table 1, but for what the card says of it: rows, and those that are positive, negative, neutral.
TABLE_1 = {
    "laptops_terms": ((1813, 767, 673, 373), (500, 220, 193, 87), (638, 341, 128, 169)),
    "restaurants_terms": ((3102, 1886, 685, 531), (500, 278, 120, 102), (1120, 728, 196, 196)),
    "restaurants_categories": ((3018, 1873, 712, 433), (500, 306, 127, 67), (973, 657, 222, 94)),
}


@each
@quietly
def test_splits_of_the_paper(name, load_shared):
    splits = load_shared(name)
    measured = [(size(rows)[1], *(size(rows)[place] for place in (2, 4, 3))) for rows in splits.values()]
    assert tuple(measured) == TABLE_1[name]
    assert sum((keys(splits["train"]) & keys(splits["validation"])).values()) == (name == "restaurants_categories")
    for rows in splits.values():
        for row in rows:
            if row["target"]:
                assert row["text"][row["target_start"] : row["target_end"]] == row["target"]
            else:
                assert (row["target_start"], row["target_end"], "categories" in name) == (None, None, True)


@each
def test_rows_that_the_paper_holds_out(name, shared_dir):
    """Those found in the authors' pickles."""
    found = json.loads((shared_dir / "golden" / "af_lstm" / "paper_splits" / f"{name}.json").read_text())["dev"]
    held_out = [key.replace("#2", "") for key in SOURCES[name].held_out]
    assert len(set(SOURCES[name].held_out)) == 500
    assert Counter(held_out) == Counter(f"{id_}:{'-'.join(map(str, place))}" for id_, *place in found)


@pytest.mark.parametrize(
    ("name", "paper", "rows"),
    [
        (name, *counts)
        for name, counts in {
            "laptops_terms": (264, 269),
            "restaurants_terms": (342, 313),
            "restaurants_categories": (162, 147),
        }.items()
    ],
)
@quietly
def test_parted_sentences(name, paper, rows, load_shared, card, table):
    for dev_split, count in (("paper", paper), ("rows", rows)):
        splits = load_shared(name, dev_split=dev_split)
        train = set(splits["train"]["id"])
        assert sum(id_ in train for id_ in splits["validation"]["id"]) == count
    splits = load_shared(name, dev_split="sentences")
    assert not set(splits["train"]["id"]) & set(splits["validation"]["id"])
    assert table(card("aspect_polarity"), "parted sentences")[name] == (paper, rows)


@each
@quietly
def test_a_text_in_train_and_test(name, load_shared):
    splits = load_shared(name)
    assert len({*splits["train"]["text"]} & {*splits["test"]["text"]}) == 1
    terms = Counter((row["id"], row["target"]) for row in splits["test"] if row["target"])
    assert sum(count > 1 for count in terms.values()) == (0 if "categories" in name else 3)


def test_conflict_and_repeated_categories(semeval2014_dir, card):
    sentences = AspectPolarity.read(semeval2014_dir / "Restaurants_Train_v2.xml")
    categories = [row for sentence in sentences for row in SOURCES["restaurants_categories"].rows(sentence)]
    times = Counter((row["id"], row["aspect"]) for row in categories)
    assert {key: count for key, count in times.items() if count > 1} == {
        ("3561", "anecdotes/miscellaneous"): 2,
        ("258", "anecdotes/miscellaneous"): 2,
    }
    conflict = {
        name: sum(
            row["label"] == "conflict"
            for sentence in AspectPolarity.read(semeval2014_dir / source.files["train"])
            for row in source.rows(sentence)
        )
        for name, source in SOURCES.items()
    }
    assert conflict == {"laptops_terms": 45, "restaurants_terms": 91, "restaurants_categories": 195}
    assert "45, 91 and 195 rows of train" in card("aspect_polarity").text


def test_version_1_has_other_rows(semeval2014_dir, card):
    counts = Counter(
        row["label"]
        for sentence in AspectPolarity.read(semeval2014_dir / "Restaurants_Train.xml")
        for row in SOURCES["restaurants_terms"].rows(sentence)
    )
    assert counts == {"positive": 2164, "negative": 807, "neutral": 637, "conflict": 91}
    assert "has 3608 rows of terms instead of 3602" in card("aspect_polarity").text
