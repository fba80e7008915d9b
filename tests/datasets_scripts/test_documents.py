"""Documents for pretraining: nothing held out is among them, not even with its spelling corrected."""

import re

import pytest
from lxml import etree

from datasets_scripts import ASTEV2, MAMS
from datasets_scripts.documents import are_like, corpus, letters_of, read_reviews, read_texts, runs_of
from datasets_scripts.semeval_xml import read_sentences

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*tuples that repeat another"),
    pytest.mark.filterwarnings("ignore:.*terms that begin or end inside a word"),
]
CATEGORIES = ("price", "anecdotes/miscellaneous", "food", "ambience", "service")
REVIEWS = """<Reviews><Review rid="1"><sentences>
<sentence id="1:0"><text>Good soup.</text><Opinions/></sentence><sentence id="1:1"><text>It's dear!</text></sentence>
</sentences></Review><Review rid="2"><sentences><sentence id="2:0" OutOfScope="TRUE"><text>Fine</text></sentence>
</sentences></Review></Reviews>"""


def test_reviews(tmp_path):
    (tmp_path / "a.xml").write_text(REVIEWS)
    assert read_reviews(tmp_path / "a.xml") == [["Good soup.", "It's dear!"], ["Fine"]]
    for content, told in (
        ("<sentences/>", "a.xml: expected <Reviews> with at least one <Review>, got <sentences>"),
        ('<Reviews><Review rid="1"/></Reviews>', "a.xml, line 1: 'Review' has no text; correct or remove it"),
        ("<!DOCTYPE a><Reviews/>", "a.xml: has a document type declaration, which is refused"),
        ("<Reviews>", "a.xml, line 1: malformed XML"),
    ):
        (tmp_path / "a.xml").write_text(content)
        with pytest.raises(ValueError, match=re.escape(told)):
            read_reviews(tmp_path / "a.xml")


def test_files_of_every_kind_are_texts(tmp_path):
    sentences = "".join(f"<sentence><text>Text {number}</text></sentence>" for number in range(5))
    file = tmp_path / "a.xml.gold"
    for content, documents in (
        (REVIEWS, [["Good soup.", "It's dear!"], ["Fine"]]),
        (f"<sentences>{sentences}</sentences>", [[f"Text {number}" for number in range(4)], ["Text 4"]]),
        ("good soup .####[([1], [0], 'POS')]\n\nit was # 1\n", [["good soup .", "it was # 1"]]),
    ):
        file.write_text(content)
        assert read_texts(file) == documents
    file.write_text("<html/>")
    with pytest.raises(ValueError, match=re.escape("a.xml.gold: expected <sentences> with at least one <sentence>")):
        read_texts(file)
    (tmp_path / "a.json").write_text('[{"id": 1, "text": "LOCATION1 is lovely", "opinions": []}]')
    assert read_texts(tmp_path / "a.json") == [["LOCATION1 is lovely"]]
    (tmp_path / "a.json").write_text('{"text": []}')
    with pytest.raises(ValueError, match=r"a\.json: .* is not a list of sentences"):
        read_texts(tmp_path / "a.json")
    (tmp_path / "a.csv").write_text("text\n")
    with pytest.raises(
        ValueError, match=r"a\.csv: expected XML, SentiHood's JSON or a text a line; write its texts alone to a file"
    ):
        read_texts(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError, match=r"b\.txt is no file: give one of texts, as held_out of a training"):
        read_texts(tmp_path / "b.txt")


def test_corpus():
    sources = {
        "reviews": [["Good soup, really.", "It's dear!"], ["The soup was horible, alas."]],
        "rows": runs_of(["GOOD  soup really", "Nice place to sit."] * 3, 4),
    }
    documents, counts = corpus(sources, ["the soup was horrible , alas .", "Never seen."])
    assert documents == [
        {"id": "reviews/0", "words": ["Good", "soup", ",", "really", ".", "It", "'s", "dear", "!"]},
        {"id": "rows/0", "words": ["Nice", "place", "to", "sit", "."]},
    ]
    assert counts == {
        "reviews": {"sentences": 3, "held_out": 1, "repeated": 0, "kept": 2, "documents": 1},
        "rows": {"sentences": 6, "held_out": 0, "repeated": 5, "kept": 1, "documents": 1},
    }


def test_likeness():
    assert are_like(
        ["The drinks are always welll made", "The food is great."], ["The drinks are always well made ."]
    ) == [
        True,
        False,
    ]
    assert are_like(["a"], []) == [False]


@pytest.fixture(scope="module")
def data(shared_dir):
    return shared_dir / "data"


def texts_of(builder, folder, names, splits=("validation", "test")):
    texts = []
    for name in names:
        built = builder(config_name=name, data_dir=folder)
        rows = built.read_splits(built.local_files)
        texts += [row["text"] for split in splits for row in rows[split]]
    return texts


def test_corrected_spellings_are_held_out(data):
    """Some validation texts differ from SemEval's by more than case, blanks and signs; all are found."""
    files = {"14lap": "Laptop_Train_v2.xml", "14res": "Restaurants_Train_v2.xml"}
    found = {}
    for domain, file in files.items():
        raw = [sentence["text"] for sentence in read_sentences(data / "semeval2014" / file, CATEGORIES)]
        validation = texts_of(ASTEV2, data / "aste_v2", [domain], ["validation"])
        every = {letters_of(text) for text in raw}
        equal = sum(letters_of(text) in every for text in validation)
        found[domain] = len(validation), equal, sum(are_like(validation, raw))
    assert found == {"14lap": (219, 215, 219), "14res": (310, 300, 310)}
    raw = [text for year in ("semeval2015", "semeval2016") for text in raw_restaurants(data / year)]
    for domain in ("15res", "16res"):
        assert all(are_like(texts_of(ASTEV2, data / "aste_v2", [domain]), raw))


def raw_restaurants(folder):
    files = [file for file in folder.iterdir() if "rest" in file.name.lower() and "trial" not in file.name]
    return [text for file in files for review in read_reviews(file) for text in review]


@pytest.mark.slow
def test_corpora_of_the_documents(data, repo_root):
    """The table of docs/generative.md."""
    aste = texts_of(ASTEV2, data / "aste_v2", ["14lap", "14res", "15res", "16res"])
    mams = texts_of(MAMS, data / "mams", ["terms", "categories"])
    semeval = {
        "restaurants": ("ABSA16_Restaurants_Train_SB1_v2", "ABSA-15_Restaurants_Train_Final", "Restaurants_Train_v2"),
        "laptops": ("ABSA16_Laptops_Train_SB1_v2", "ABSA-15_Laptops_Train_Data", "Laptop_Train_v2"),
    }
    lines = []
    for domain, (of_2016, of_2015, of_2014) in semeval.items():
        sentences = read_sentences(data / "semeval2014" / f"{of_2014}.xml", CATEGORIES)
        sources = {
            "SemEval-2016": read_reviews(data / "semeval2016" / f"{of_2016}.xml"),
            "SemEval-2015": read_reviews(data / "semeval2015" / f"{of_2015}.xml"),
            "SemEval-2014": runs_of([sentence["text"] for sentence in sentences]),
        }
        if domain == "restaurants":
            for name in ("terms", "categories"):
                sources[f"MAMS, {name}"] = runs_of(texts_of(MAMS, data / "mams", [name], ["train"]))
        documents, counts = corpus(sources, [*aste, *mams])
        lines += [f"| {domain}, {name} | {' | '.join(map(str, count.values()))} |" for name, count in counts.items()]
        assert sum(count["documents"] for count in counts.values()) == len(documents)
        left = [" ".join(document["words"]) for document in documents if document["id"].startswith("MAMS")]
        assert not any(are_like(left, aste))
    table = (repo_root / "docs" / "generative.md").read_text(encoding="utf-8")
    assert not [line for line in lines if line not in table], "\n".join(lines)


def test_reviews_have_several_sentences_with_opinions(data):
    found = {}
    for year, name in ((2015, "ABSA-15_Restaurants_Train_Final"), (2016, "ABSA16_Restaurants_Train_SB1_v2")):
        file = data / f"semeval{year}" / f"{name}.xml"
        reviews = etree.parse(str(file)).iter("Review")
        several = [len(review.findall("sentences/sentence/Opinions")) > 1 for review in reviews]
        assert len(read_reviews(file)) == len(several)
        found[year] = sum(several), len(several)
    assert found == {2015: (251, 254), 2016: (342, 350)}
