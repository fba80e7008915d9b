import re

import pytest

from datasets_scripts import SemEval2014, load_absa_dataset


@pytest.fixture
def load(semeval2014_dir, rows_cache):
    return lambda **options: load_absa_dataset(
        "semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache, **options
    )


def test_columns(load):
    rows = load()["test"]
    assert list(rows.features) == ["id", "text", "target", "aspect", "label"]
    assert rows.features["aspect"].names == ["price", "anecdotes", "food", "ambience", "service"]
    assert rows.features["label"].names == ["none", "positive", "neutral", "negative", "conflict"]
    assert set(rows["target"]) == {""}


def test_versions_of_the_training_file(load):
    v1, v2 = load()["train"], load(version="v2")["train"]
    assert set(v1["id"]) - set(v2["id"]) == {"986", "1510", "1788"}
    with pytest.raises(ValueError, match=r"Restaurants_Train_v2.xml has no public source; .* data_dir"):
        SemEval2014(train_version="v2")
    with pytest.raises(ValueError, match=r"train_version='v3' is unknown; choose one of v1, v2"):
        load(version="v3")


def test_raw_has_terms_and_categories(semeval2014_dir, rows_cache):
    builder = SemEval2014(config_name="raw", data_dir=semeval2014_dir, cache_dir=rows_cache)
    builder.download_and_prepare()
    # Sentences, terms and categories of version 1 and of the test file, as published.
    for split, counts in (("train", (3044, 3699, 3714)), ("test", (800, 1134, 1025))):
        rows = builder.as_dataset(split).to_list()
        terms, categories = ([item for row in rows for item in row[name]] for name in ("terms", "categories"))
        assert (len(rows), len(terms), len(categories)) == counts
        assert all(row["text"][term["from"] : term["to"]] == term["term"] for row in rows for term in row["terms"])


def test_validation_is_held_out_by_sentence(load):
    splits = load(validation_fraction=0.1)
    # 10 % of 3044 sentences: 304 held out, 2740 kept, 5 rows each.
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 13700, "validation": 1520, "test": 4000}
    assert not set(splits["train"]["id"]) & set(splits["validation"]["id"])
    other = load(validation_fraction=0.1, validation_seed=1)
    assert set(other["validation"]["id"]) != set(splits["validation"]["id"])


def category(category="food", polarity="neutral"):
    return f'<aspectCategory category="{category}" polarity="{polarity}"/>'


def sentence(content="", text="<text>Fine soup.</text>", id_="1"):
    return f'<sentence id="{id_}">{text}<aspectCategories>{content}</aspectCategories></sentence>'


def term(**attributes):
    """A sentence, in "Fine soup.", with a term on its second line."""
    given = {"term": "soup", "polarity": "positive", "from": 5, "to": 9, **attributes}
    written = " ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)
    terms = f"<aspectTerms>\n<aspectTerm {written}/></aspectTerms>"
    return f'<sentence id="1"><text>Fine soup.</text>{terms}</sentence>'


@pytest.fixture
def read(tmp_path):
    """Reads a file of these sentences, which begin on line 3."""

    def write_and_read(content):
        file = tmp_path / "Restaurants_Train.xml"
        file.write_text(f"<?xml version='1.0'?>\n<sentences>\n{content}\n</sentences>", encoding="utf-8")
        return SemEval2014.read(file)

    return write_and_read


def test_rows_of_a_sentence(read):
    given = category("anecdotes/miscellaneous", "conflict") + category() + category()
    (read_sentence,) = read(sentence(given, "<text> Fine &amp; soup</text><!-- a note -->"))
    rows = list(SemEval2014.rows(read_sentence))
    assert {(row["id"], row["text"], row["target"]) for row in rows} == {("1", " Fine & soup", "")}
    assert [(row["aspect"], row["label"]) for row in rows] == [
        ("price", "none"),
        ("anecdotes", "conflict"),
        ("food", "neutral"),
        ("ambience", "none"),
        ("service", "none"),
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "expected <sentences> with at least one <sentence>, got <sentences>"),
        ("\n<sentence>", "line 5: malformed XML"),
        ("<a>" * 100_000, "malformed XML"),
        ("<review/>", "line 3: 'review' is no element of <sentences>, which has sentence; correct or remove it"),
        (sentence(text="<text>Good <b>soup</b></text>"), "line 3: 'b' is no element of <text>, which has none"),
        (sentence("\n<aspectCategry/>"), "line 4: 'aspectCategry' is no element of <aspectCategories>, which has"),
        (sentence(text="<text>A</text><text>B</text>"), "line 3, field 'text': ['A', 'B'] is to be there once"),
        (sentence(text=""), "line 3, field 'text': [] is to be there once"),
        (sentence(text="<text/>"), "line 3, field 'text': None is not a string"),
        (sentence(text="<text>\u200b</text>"), "line 3, field 'text': '\\u200b' is empty"),
        (sentence(id_=" "), "line 3, field 'id': ' ' is empty"),
        ("<sentence><text>Fine.</text></sentence>", "line 3, field 'id': None is not a string"),
        (f"{sentence()}\n{sentence()}", "line 4, field 'id': '1' occurs twice"),
        (sentence(category("drinks")), "line 3, field 'category': 'drinks' is unknown; write one of price, anec"),
        (sentence(category(polarity="good")), "line 3, field 'polarity': 'good' is unknown"),
        (sentence('<aspectCategory category="food"/>'), "line 3, field 'polarity': None is unknown"),
        (
            sentence(category() + category(polarity="negative")),
            "line 3, field 'polarity': 'negative' contradicts 'neutral' for the same category 'food'; keep one",
        ),
        (term(polarity=None), "line 4, field 'polarity': None is unknown"),
        (term(to="x"), "line 4, field 'to': 'x' is not a character offset"),
        (term(**{"from": -5, "to": -1}), "line 4, field 'from': '-5' is not a character offset"),
        (term(**{"from": None}), "line 4, field 'from': '' is not a character offset"),
        (term(to="9" * 5000), "line 4, field 'to': '999"),
        (term(to=99), "line 4, field 'term': 'soup' is not what text has from 5 to 99, 'soup.'; correct"),
        (term(**{"from": 9, "to": 5}), "line 4, field 'term': 'soup' is not what text has from 9 to 5, ''"),
        (term(**{"from": 0, "to": 4}), "line 4, field 'term': 'soup' is not what text has from 0 to 4, 'Fine'"),
        (term(term="soup.", to=9), "line 4, field 'term': 'soup.' is not what text has from 5 to 9, 'soup'"),
        (term(term=None, to=5), "line 4, field 'term': None is not what text has from 5 to 5, ''"),
    ],
)
def test_malformed_file(read, content, told):
    with pytest.raises(ValueError, match=r"Restaurants_Train\.xml.*" + re.escape(told)):
        read(content)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE s [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
        '<!DOCTYPE s [<!ENTITY c SYSTEM "secret.txt">]>',
        '<!DOCTYPE s SYSTEM "http://127.0.0.1:9/s.dtd">',
    ],
    ids=["entity expansion", "external entity", "external DTD"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-7"])
def test_document_type_declaration_is_refused_and_cannot_hide(tmp_path, declaration, encoding):
    document = f'<?xml version="1.0" encoding="{encoding}"?>{declaration}<sentences>{sentence("&c;")}</sentences>'
    content = document.encode(encoding)
    if encoding == "utf-7":
        content = content.replace(b"<!", b"+ADwAIQ-")  # the same two characters, spelt in UTF-7's Base64
    (tmp_path / "Restaurants_Train.xml").write_bytes(content)
    told = "has a document type declaration, which is refused" if encoding == "utf-8" else "(not UTF-8|malformed XML)"
    with pytest.raises(ValueError, match=rf"Restaurants_Train.xml.*{told}"):
        SemEval2014.read(tmp_path / "Restaurants_Train.xml")
