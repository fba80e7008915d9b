"""SemEval-2015 and 2016: rows of categories, what has none, errors, and counts of the organisers' files."""

import re
from collections import Counter

import pytest
from datasets import DatasetDict

from datasets_scripts import SemEval2015, SemEval2016, export_parquet, load_absa_dataset
from datasets_scripts.documents import read_reviews
from datasets_scripts.semeval_xml import read_sentences
from datasets_scripts.splits import normalize_text

BUILDERS = {"semeval2015": SemEval2015, "semeval2016": SemEval2016}
each = pytest.mark.parametrize(
    ("year", "domain"), [(year, domain) for year in BUILDERS for domain in ("restaurants", "laptops")]
)


def sentence(id_, text, *opinions, scope=""):
    inner = "".join(f'<Opinion category="{category}" polarity="{polarity}"/>' for category, polarity in opinions)
    return f'<sentence id="{id_}"{scope}><text>{text}</text>\n<Opinions>{inner}</Opinions></sentence>'


def reviews(*sentences):
    return f'<Reviews>\n<Review rid="1"><sentences>{"".join(sentences)}</sentences></Review></Reviews>'


FOOD, PLACE, DRINKS = "FOOD#QUALITY", "RESTAURANT#GENERAL", "DRINKS#PRICES"
TRAIN = (
    sentence("1:0", "Nice &amp; good soup, bad tea.", (PLACE, "neutral"), (FOOD, "positive"), (FOOD, "negative")),
    sentence("1:1", "Good soup, good bread.", (FOOD, "positive"), (FOOD, "positive")),
    sentence("1:2", "We came at noon."),
    sentence("1:3", "The one next door is dear.", scope=' OutOfScope="TRUE"'),
    sentence("1:4", "I go to that one.", scope=' OutOfScope="NULL"'),
)
TEST = (
    sentence("2:0", "Bad.", (FOOD, "negative"), (FOOD, "neutral"), (FOOD, "negative")),
    sentence("2:1", "we came  at noon.", (DRINKS, "positive"), (DRINKS, "negative")),
)


@pytest.fixture
def folder(tmp_path):
    for split, sentences in (("train", TRAIN), ("test", TEST)):
        for builder in BUILDERS.values():
            (tmp_path / builder.SOURCES["restaurants"][split]).write_text(reviews(*sentences), encoding="utf-8")
    return tmp_path


@pytest.fixture
def load(folder):
    return lambda *name, **options: load_absa_dataset(*name, data_dir=folder, cache_dir=folder / "cache", **options)


def told(rows):
    names = rows.features["label"].names
    return [(row["id"], row["text"], row["target"], row["aspect"], names[row["label"]]) for row in rows]


@pytest.mark.parametrize("year", BUILDERS)
def test_rows(load, year):
    with pytest.warns(UserWarning, match=f"2 of 5 opinions have no row, .* do not occur in train: {DRINKS}$"):
        splits = load(year)
    assert list(splits) == ["train", "test"]
    assert list(splits["train"].features) == ["id", "text", "target", "aspect", "label"]
    assert splits["train"].features["aspect"].names == [FOOD, PLACE]
    assert splits["train"].features["label"].names == ["none", "positive", "neutral", "negative", "conflict"]
    assert told(splits["train"]) == [
        ("1:0", "Nice & good soup, bad tea.", "", 0, "conflict"),
        ("1:0", "Nice & good soup, bad tea.", "", 1, "neutral"),
        ("1:1", "Good soup, good bread.", "", 0, "positive"),
        ("1:1", "Good soup, good bread.", "", 1, "none"),
        ("1:2", "We came at noon.", "", 0, "none"),
        ("1:2", "We came at noon.", "", 1, "none"),
    ]
    labels = [(id_, aspect, label) for id_, _, _, aspect, label in told(splits["test"])]
    assert labels == [("2:0", 0, "conflict"), ("2:0", 1, "none"), ("2:1", 0, "none"), ("2:1", 1, "none")]


@pytest.mark.filterwarnings("ignore:.*opinions have no row")
def test_shared_texts_and_parquet(load, folder):
    splits = load("semeval2016", deduplicate=True)
    assert set(splits["train"]["id"]) == {"1:0", "1:1"}
    export_parquet(DatasetDict(splits), folder / "parquet")
    again = load_absa_dataset(folder / "parquet", cache_dir=folder / "cache")
    assert {split: rows.features for split, rows in again.items()} == {s: rows.features for s, rows in splits.items()}
    assert {split: told(rows) for split, rows in again.items()} == {s: told(rows) for s, rows in splits.items()}


def test_bad_options(folder):
    with pytest.raises(ValueError, match="config_name='hotels': choose one of restaurants, laptops"):
        SemEval2015(config_name="hotels", data_dir=folder)
    with pytest.raises(ValueError, match=r"ABSA-15_Restaurants_Train_Final.xml has no public source; get it and pass"):
        SemEval2015()
    with pytest.raises(FileNotFoundError, match=r"lacks ABSA16_Laptops_Train_SB1_v2.xml, .* from https://alt.*2016/"):
        SemEval2016(config_name="laptops", data_dir=folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<sentences><sentence/></sentences>", "expected <Reviews> with at least one <Review>, got <sentences>"),
        (reviews(sentence("1", "a", ("FOOD", "positive"))), "line 3, field 'category': 'FOOD' is no ENTITY#ATTRIBUTE"),
        (reviews(sentence("1", "a", ("Food#x", "positive"))), "field 'category': 'Food#x' is no ENTITY#ATTRIBUTE"),
        (reviews("<sentence id='1'><text>a</text><Opinions><Opinion/></Opinions></sentence>"), "'category': None is"),
        (
            reviews(sentence("1", "a", (FOOD, "conflict"))),
            "line 3, field 'polarity': 'conflict' is unknown; write one of positive, neutral, negative",
        ),
        (reviews("<sentence id='1'><text>a</text><Opinion/></sentence>"), "'Opinion' is no element of <sentence>, wh"),
        ("<Reviews><Review><Opinions/></Review></Reviews>", "'Opinions' is no element of <Review>, which has sentenc"),
        (reviews(sentence("1", "a"), sentence("1", "b")), "line 3, field 'id': '1' occurs twice"),
        (reviews(sentence("1", " ")), "line 2, field 'text': ' ' is empty"),
        (reviews(sentence("1", "a", scope=' OutOfScope="no"')), "line 2, field 'OutOfScope': 'no' is unknown; write"),
        (
            reviews(sentence("1", "a", (FOOD, "positive"), scope=' OutOfScope="TRUE"')),
            "line 3, field 'category': 'FOOD#QUALITY' stands in a sentence that is OutOfScope, which has no rows",
        ),
    ],
)
def test_malformed_file(tmp_path, content, message):
    (tmp_path / "a.xml").write_text(content)
    with pytest.raises(ValueError, match=r"a\.xml.*" + re.escape(message)):
        SemEval2016.read(tmp_path / "a.xml")


@pytest.fixture
def data(shared_dir):
    return shared_dir / "data"


@each
@pytest.mark.filterwarnings("ignore:.*opinions have no row")
def test_counts_of_the_card(data, card, table, year, domain):
    builder = BUILDERS[year](config_name=domain, data_dir=data / year)
    files, rows = {}, {}
    for split, file in builder.local_files.items():
        every = builder.read(file)
        out_of_scope = sum(one["is_out_of_scope"] for one in every)
        silent = sum(not one["opinions"] for one in every) - out_of_scope
        num_opinions = sum(len(one["opinions"]) for one in every)
        files[f"{year} {domain} {split}"] = len(read_reviews(file)), len(every), num_opinions, out_of_scope, silent
    for split, of_split in builder.read_splits(builder.local_files).items():
        labels = Counter(row["label"] for row in of_split)
        counts = (labels[name] for name in builder.info.features["label"].names)
        rows[f"{year} {domain} {split}"] = len({row["id"] for row in of_split}), len(of_split), *counts
    for header, measured in (("file", files), ("split", rows)):
        assert {name: row for name, row in table(card("semeval2016"), header).items() if name in measured} == measured


# Reviews, sentences and opinions of train and test, as the organisers' papers have them.
PUBLISHED = {
    ("semeval2015", "restaurants"): ((254, 1315, 1654), (96, 685, 845)),
    ("semeval2015", "laptops"): ((277, 1739, 1974), (173, 761, 949)),
    ("semeval2016", "restaurants"): ((350, 2000, 2507), (90, 676, 859)),
    ("semeval2016", "laptops"): ((450, 2500, 2909), (80, 808, 801)),
}


def test_published_counts(card, table, data):
    rows = table(card("semeval2016"), "file")
    assert {name: row[:3] for name, row in rows.items()} == {
        f"{year} {domain} {split}": counts
        for (year, domain), of_splits in PUBLISHED.items()
        for split, counts in zip(("train", "test"), of_splits, strict=True)
    }
    hotels = data / "semeval2015" / "ABSA15_Hotels_Test.xml"  # of which there are no rows
    sentences = SemEval2015.read(hotels)
    num_opinions = sum(len(one["opinions"]) for one in sentences)
    assert (len(read_reviews(hotels)), len(sentences), num_opinions) == (30, 266, 339)


@each
def test_categories(data, card, year, domain, recwarn):
    builder = BUILDERS[year](config_name=domain, data_dir=data / year)
    builder.read_splits(builder.local_files)
    number = len(builder.info.features["aspect"].names)
    assert number == {"laptops": 81, "restaurants": 13 if year == "semeval2015" else 12}[domain]
    warned = [str(one.message).partition(": ")[2] for one in recwarn if "have no row" in str(one.message)]
    left_out = {"semeval2015": "6 of 949", "semeval2016": "13 of 801"}[year]
    assert [one.partition(" opinions")[0] for one in warned] == ([left_out] if domain == "laptops" else [])
    assert f"{left_out} (laptops {year[-4:]})" in card("semeval2016").text


@pytest.mark.parametrize("domain", ["restaurants", "laptops"])
def test_texts_elsewhere(data, card, table, domain):
    files = {"restaurants": ("Restaurants_Train_v2", "Restaurants_Test_Gold")}
    files["laptops"] = ("Laptop_Train_v2", "Laptops_Test_Gold")
    categories = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")
    texts = {}
    for year, builder in BUILDERS.items():
        for split, file in builder.SOURCES[domain].items():
            sentences = builder.read(data / year / file)
            texts[f"{year} {domain} {split}"] = distinct(one for one in sentences if not one["is_out_of_scope"])
    of_2014 = [distinct(read_sentences(data / "semeval2014" / f"{file}.xml", categories)) for file in files[domain]]
    measured = {
        name: tuple(len(own & others) for others in (*texts.values(), *of_2014)) for name, own in texts.items()
    }
    told = table(card("semeval2016"), "texts of")
    assert {name: row for name, row in told.items() if domain in name} == measured


def distinct(sentences):
    return {normalize_text(one["text"]) for one in sentences}


@pytest.mark.parametrize("domain", ["restaurants", "laptops"])
def test_train_of_2016_is_2015(data, domain):
    sentences = {
        (year, split): SemEval2016.read(data / year / file)
        for year, builder in BUILDERS.items()
        for split, file in builder.SOURCES[domain].items()
    }
    ids = {key: {one["id"] for one in of_one} for key, of_one in sentences.items()}
    assert ids["semeval2016", "train"] == ids["semeval2015", "train"] | ids["semeval2015", "test"]
