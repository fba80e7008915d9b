import re
from collections import Counter

import pytest

from datasets_scripts import SemEval2014, load_absa_dataset


def term(**attributes):
    """A sentence, in "Fine soup.", with a term on its second line."""
    given = {"term": "soup", "polarity": "positive", "from": 5, "to": 9, **attributes}
    written = " ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)
    terms = f"<aspectTerms>\n<aspectTerm {written}/></aspectTerms>"
    return f'<sentence id="1"><text>Fine soup.</text>{terms}</sentence>'


def labels_of(rows):
    names = rows.features["label"].names
    return Counter(names[label] for label in rows["label"])


def sentence(content, text="Fine soup.", id_="1"):
    return f'<sentence id="{id_}"><text>{text}</text><aspectCategories>{content}</aspectCategories></sentence>'


def test_counts_are_those_of_the_literature(semeval2014_dir, rows_cache):
    splits = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache)
    assert {split: rows.num_rows for split, rows in splits.items()} == {"train": 15220, "test": 4000}
    assert labels_of(splits["train"]) == {
        "positive": 2176,
        "neutral": 501,
        "negative": 839,
        "conflict": 196,
        "none": 11508,
    }
    assert labels_of(splits["test"]) == {"positive": 657, "neutral": 94, "negative": 222, "conflict": 52, "none": 2975}


def test_columns(semeval2014_dir, rows_cache):
    rows = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache)["test"]
    assert list(rows.features) == ["id", "text", "target", "aspect", "label"]
    assert rows.features["aspect"].names == ["price", "anecdotes", "food", "ambience", "service"]
    assert rows.features["label"].names == ["none", "positive", "neutral", "negative", "conflict"]
    assert set(rows["target"]) == {""}


def test_version_2_has_three_sentences_less(semeval2014_dir, rows_cache):
    v1 = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache)["train"]
    v2 = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, version="v2", cache_dir=rows_cache)["train"]
    assert v2.num_rows == 5 * 3041
    assert set(v1["id"]) - set(v2["id"]) == {"986", "1510", "1788"}


def test_raw_has_terms_and_categories(semeval2014_dir, rows_cache):
    builder = SemEval2014(config_name="raw", data_dir=semeval2014_dir, cache_dir=rows_cache)
    builder.download_and_prepare()
    splits = builder.as_dataset()
    # Sentences, terms and categories of version 1 and of the test file, as published.
    for split, counts in (("train", (3044, 3699, 3714)), ("test", (800, 1134, 1025))):
        rows = splits[split].to_list()
        assert (
            len(rows),
            sum(len(row["terms"]) for row in rows),
            sum(len(row["categories"]) for row in rows),
        ) == counts
        assert all(row["text"][term["from"] : term["to"]] == term["term"] for row in rows for term in row["terms"])
    assert {category["category"] for row in rows for category in row["categories"]} == {
        "price",
        "anecdotes/miscellaneous",
        "food",
        "ambience",
        "service",
    }


def test_rows_of_a_sentence(write_semeval, tmp_path):
    content = (
        '<aspectCategory category="anecdotes/miscellaneous" polarity="conflict"/>'
        '<aspectCategory category="food" polarity="neutral"/><aspectCategory category="food" polarity="neutral"/>'
    )
    rows = load_absa_dataset("semeval2014", data_dir=write_semeval(sentence(content)), cache_dir=tmp_path)["train"]
    features = rows.features
    assert [(features["aspect"].int2str(row["aspect"]), features["label"].int2str(row["label"])) for row in rows] == [
        ("price", "none"),
        ("anecdotes", "conflict"),
        ("food", "neutral"),
        ("ambience", "none"),
        ("service", "none"),
    ]


def test_validation_is_held_out_by_sentence(semeval2014_dir, rows_cache):
    arguments = {"data_dir": semeval2014_dir, "cache_dir": rows_cache, "validation_fraction": 0.1}
    whole = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache)["train"]
    splits = load_absa_dataset("semeval2014", **arguments)
    # 10 % of 3044 sentences: 304 held out, 2740 kept, 5 rows each.
    assert splits["validation"].num_rows == 304 * 5
    assert splits["train"].num_rows == 2740 * 5
    assert not set(splits["train"]["id"]) & set(splits["validation"]["id"])
    assert set(splits["train"]["id"]) | set(splits["validation"]["id"]) == set(whole["id"])
    other = load_absa_dataset("semeval2014", **arguments, validation_seed=1)
    assert set(other["validation"]["id"]) != set(splits["validation"]["id"])


def test_hold_out_of_nothing_is_refused(write_semeval, tmp_path):
    with pytest.raises(ValueError, match=r"validation_fraction=0.1 of 1 training texts is 0"):
        load_absa_dataset("semeval2014", data_dir=write_semeval(), validation_fraction=0.1, cache_dir=tmp_path)


@pytest.mark.parametrize("fraction", [-0.1, 1, 1.0, 2, float("nan"), "0.1", None, [0.1]])
def test_validation_fraction_out_of_range(write_semeval, fraction):
    with pytest.raises(ValueError, match=re.escape(f"validation_fraction={fraction!r} is out of range")):
        SemEval2014(data_dir=write_semeval(), validation_fraction=fraction)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation_seed": "0"}, "validation_seed='0': give a whole number"),
        ({"validation_seed": 1.5}, "validation_seed=1.5: give a whole number"),
        ({"deduplicate": "false"}, "deduplicate='false': give True or False"),
        ({"train_version": ["v1"]}, "train_version=['v1'] is unknown"),
        ({"data_dir": 3}, "data_dir=3: give the path of a folder, or None"),
        ({"data_dir": ""}, "data_dir='': give the path of a folder, or None"),
    ],
)
def test_bad_arguments(write_semeval, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SemEval2014(**{"data_dir": write_semeval(), **arguments})


def test_version_2_needs_data_dir():
    with pytest.raises(ValueError, match=r"train_version='v2' has no pinned public source.*data_dir"):
        load_absa_dataset("semeval2014", version="v2")


def test_unknown_version():
    with pytest.raises(ValueError, match=r"train_version='v3' is unknown; choose one of v1, v2"):
        load_absa_dataset("semeval2014", version="v3")


def test_missing_file_is_named(write_semeval):
    with pytest.raises(FileNotFoundError, match=r"lacks Restaurants_Train_v2.xml; get"):
        SemEval2014(data_dir=write_semeval(), train_version="v2")


# Line 1 is the XML declaration, line 2 <sentences>, so that the content starts on line 3.
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (sentence('<aspectCategory category="drinks" polarity="positive"/>'), r"line 3, field 'category': 'drinks'"),
        (sentence('<aspectCategory category="food" polarity="good"/>'), r"line 3, field 'polarity': 'good'"),
        (sentence('<aspectCategory category="food"/>'), r"line 3, field 'polarity': None"),
        (
            sentence(
                '<aspectCategory category="food" polarity="positive"/>'
                '<aspectCategory category="food" polarity="negative"/>'
            ),
            r"line 3, field 'polarity': 'negative' contradicts 'positive' for the same category 'food'",
        ),
        (f"{sentence('')}\n{sentence('')}", r"line 4, field 'id': '1' occurs twice"),
        (sentence("", text=" "), r"line 3, field 'text': ' ' is empty"),
        ("<sentence><text>Fine.</text></sentence>", r"line 3, field 'id': None"),
        (
            '<sentence id="1"><text>Soup.</text><aspectTerms>\n'
            '<aspectTerm term="Soup" polarity="neutral" from="0" to="x"/></aspectTerms></sentence>',
            r"line 4, field 'to': 'x' is not a character offset",
        ),
        (term(to=99), r"line 4, field 'term': 'soup' is not what text has from 5 to 99, 'soup\.'; correct the term"),
        (term(**{"from": 9, "to": 5}), r"line 4, field 'term': 'soup' is not what text has from 9 to 5, ''"),
        (term(**{"from": 0, "to": 4}), r"line 4, field 'term': 'soup' is not what text has from 0 to 4, 'Fine'"),
        (term(**{"from": 20, "to": 24}), r"line 4, field 'term': 'soup' is not what text has from 20 to 24, ''"),
        (term(term="soup.", to=9), r"line 4, field 'term': 'soup\.' is not what text has from 5 to 9, 'soup'"),
        (term(term=None), r"line 4, field 'term': None is empty; write the words from the text"),
        (term(term="", to=5), r"line 4, field 'term': '' is empty"),
        (term(polarity=None), r"line 4, field 'polarity': None is unknown"),
        (sentence("", id_=" "), r"line 3, field 'id': ' ' expected"),
        (sentence("", text="\u200b"), r"line 3, field 'text': '\\u200b' is empty"),
        ("\n<sentence>", r"line 5: malformed XML"),
        ("", r"at least one <sentence>"),
    ],
)
def test_malformed_file(write_semeval, tmp_path, content, message):
    with pytest.raises(ValueError, match=r"Restaurants_Train\.xml.*" + message):
        load_absa_dataset("semeval2014", data_dir=write_semeval(content), cache_dir=tmp_path)


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE s [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
        '<!DOCTYPE s [<!ENTITY c SYSTEM "secret.txt">]>',
        '<!DOCTYPE s SYSTEM "http://127.0.0.1:9/s.dtd">',
    ],
    ids=["entity expansion", "external entity", "external DTD"],
)
def test_document_type_declaration_is_refused(write_semeval, tmp_path, declaration):
    source = write_semeval()
    document = f'{declaration}<sentences><sentence id="1"><text>&c;</text></sentence></sentences>'
    (source / "Restaurants_Train.xml").write_text(document, encoding="utf-8")
    with pytest.raises(ValueError, match=r"Restaurants_Train.xml: has a document type declaration, which is refused"):
        load_absa_dataset("semeval2014", data_dir=source, cache_dir=tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-7"])
def test_document_type_declaration_cannot_hide_in_an_encoding(write_semeval, tmp_path, encoding):
    source = write_semeval()
    document = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE s [<!ENTITY c "x">]>'
        '<sentences><sentence id="1"><text>&c;</text></sentence></sentences>'
    )
    content = document.encode(encoding)
    if encoding == "utf-7":
        content = content.replace(b"<!", b"+ADwAIQ-")  # the same two characters, spelt in UTF-7's Base64
    (source / "Restaurants_Train.xml").write_bytes(content)
    with pytest.raises(ValueError, match=r"Restaurants_Train.xml.*(not UTF-8|malformed XML)"):
        load_absa_dataset("semeval2014", data_dir=source, cache_dir=tmp_path)
