"""The figures of the data set cards, measured again."""

from collections import Counter
from itertools import combinations

import pytest

from datasets_scripts import SemEval2014, SentiHood, load_absa_dataset
from datasets_scripts.splits import normalize_text


@pytest.fixture
def load(shared_dir, rows_cache):
    return lambda name, **options: load_absa_dataset(
        name, data_dir=shared_dir / "data" / name, cache_dir=rows_cache, **options
    )


@pytest.fixture
def read(shared_dir):
    """Sentences of each file of a builder; and of SemEval-2014's second training file."""

    def read_files(builder, name, files):
        return {split: builder.read(shared_dir / "data" / name / file) for split, file in files.items()}

    return read_files


def overlap(first, second):
    """(distinct texts in both, the same as they stand, sentences of the first, sentences of the second)."""
    texts = [[sentence["text"] for sentence in sentences] for sentences in (first, second)]
    normalized = [[normalize_text(text) for text in split] for split in texts]
    shared = set(normalized[0]) & set(normalized[1])
    return (
        len(shared),
        len(set(texts[0]) & set(texts[1])),
        sum(text in shared for text in normalized[0]),
        sum(text in shared for text in normalized[1]),
    )


def size(rows):
    names = rows.features["label"].names
    labels = Counter(names[label] for label in rows["label"])
    return (len(set(rows["id"])), rows.num_rows, *(labels[name] for name in names))


@pytest.mark.parametrize(
    ("folder", "tasks"),
    [
        *(
            (folder, ["text-classification"])
            for folder in ("sentihood", "semeval2014", "semeval2016", "aspect_polarity", "custom_absa")
        ),
        *((folder, ["token-classification"]) for folder in ("e2e_absa", "conll", "conllu", "aste_v2", "bartabsa")),
        ("mams", ["token-classification", "text-classification"]),
    ],
)
def test_header_is_complete(card, folder, tasks):
    data = card(folder).data
    assert data.pretty_name
    assert data.license
    assert data.task_categories == tasks


def test_sizes(card, load, table):
    sentihood = load("sentihood")
    assert table(card("sentihood"), "split") == {split: size(rows) for split, rows in sentihood.items()}
    deduplicated = load("sentihood", deduplicate=True)
    measured = {split: (rows.num_rows,) for split, rows in deduplicated.items()}
    assert table(card("sentihood"), "split, deduplicated") == measured
    v1, v2 = load("semeval2014"), load("semeval2014", version="v2")
    measured = {"train, v1": size(v1["train"]), "train, v2": size(v2["train"]), "test": size(v1["test"])}
    assert table(card("semeval2014"), "split") == measured


def test_sentihood_overlap_and_oddities(card, read, table):
    splits = read(SentiHood, "sentihood", SentiHood.FILES)
    measured = {f"{one}, {other}": overlap(splits[one], splits[other]) for one, other in combinations(splits, 2)}
    assert table(card("sentihood"), "splits") == measured
    text = card("sentihood").text
    train = {normalize_text(sentence["text"]) for sentence in splits["train"]}
    assert f"train has {len(train)} distinct texts" in text
    sentences = [sentence for split in splits.values() for sentence in split]
    silent = sum(not sentence["opinions"] for sentence in sentences)
    assert f"{silent} sentences of the three splits have no opinion" in text
    assert all("LOCATION1" in sentence["text"] for sentence in sentences)


def test_semeval2014_overlap_and_oddities(card, read, table):
    files = ("Restaurants_Train.xml", "Restaurants_Train_v2.xml", "Restaurants_Test_Gold.xml")
    v1, v2, test = read(SemEval2014, "semeval2014", dict(enumerate(files))).values()
    measured = {"train v1, test": overlap(v1, test), "train v2, test": overlap(v2, test)}
    assert table(card("semeval2014"), "splits") == measured
    text = card("semeval2014").text
    twice = [s["id"] for s in v1 if len(s["categories"]) > len({c["category"] for c in s["categories"]})]
    assert f"Two training sentences (ids {' and '.join(twice)})" in text
    assert len(v1) - len({normalize_text(sentence["text"]) for sentence in v1}) == 9
    assert "Nine training sentences repeat the text of another one" in text
    categories = {sentence["id"]: sentence["categories"] for sentence in v2}
    assert sum(s["categories"] != categories[s["id"]] for s in v1 if s["id"] in categories) == 2
    assert "drops three sentences and changes the categories of two" in text


def test_custom_example_loads(card, tmp_path):
    example, of_terms = (block.split("```")[0] for block in card("custom_absa").text.split("```csv\n")[1:])
    (tmp_path / "train.csv").write_text(example, encoding="utf-8")
    rows = load_absa_dataset("custom", data_dir=tmp_path, cache_dir=tmp_path / "cache")["train"]
    assert (rows.num_rows, rows.features["label"].names) == (4, ["none", "negative", "positive"])
    assert set(rows["target"]) == {"", "Anna", "Ben"}
    (tmp_path / "train.csv").write_text(of_terms, encoding="utf-8")
    rows = load_absa_dataset("custom", "terms", data_dir=tmp_path, cache_dir=tmp_path / "cache")["train"]
    assert rows["target_start"][:] == [5, 34, 4]
