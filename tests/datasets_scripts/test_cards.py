"""The figures of the data set cards, measured again."""

from collections import Counter
from itertools import combinations

import pytest
from huggingface_hub import DatasetCard

from datasets_scripts import load_absa_dataset
from datasets_scripts.semeval2014.reading import read_sentences as read_semeval2014
from datasets_scripts.sentihood.sentihood import read_sentences as read_sentihood
from datasets_scripts.splits import normalize_text


@pytest.fixture
def card(repo_root):
    return lambda folder: DatasetCard.load(repo_root / "datasets_scripts" / folder / "README.md")


@pytest.fixture
def sentihood_sentences(sentihood_dir):
    files = {"train": "sentihood-train.json", "validation": "sentihood-dev.json", "test": "sentihood-test.json"}
    return {split: read_sentihood(sentihood_dir / name, name) for split, name in files.items()}


def table(card, first_header):
    """Rows of the card's table whose first column is called so: {first cell: other cells as numbers}."""
    lines = card.text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first_header} |"))
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[cells[0]] = tuple(int(cell) for cell in cells[1:])
    return rows


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


@pytest.mark.parametrize("folder", ["sentihood", "semeval2014", "custom_absa"])
def test_header_is_complete(card, folder):
    data = card(folder).data
    assert data.pretty_name
    assert data.license
    assert data.task_categories == ["text-classification"]


def test_sentihood_sizes(card, sentihood_dir, rows_cache):
    splits = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)
    assert table(card("sentihood"), "split") == {split: size(rows) for split, rows in splits.items()}


def test_sentihood_overlap(card, sentihood_sentences):
    measured = {
        f"{first}, {second}": overlap(sentihood_sentences[first], sentihood_sentences[second])
        for first, second in combinations(sentihood_sentences, 2)
    }
    assert table(card("sentihood"), "splits") == measured


def test_sentihood_deduplicated(card, sentihood_dir, rows_cache):
    splits = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache, deduplicate=True)
    measured = {split: (rows.num_rows,) for split, rows in splits.items()}
    assert table(card("sentihood"), "split, deduplicated") == measured


def test_sentihood_oddities(card, sentihood_sentences):
    text = card("sentihood").text
    train = {normalize_text(sentence["text"]) for sentence in sentihood_sentences["train"]}
    assert f"train has {len(train)} distinct texts" in text
    silent = sum(not sentence["opinions"] for split in sentihood_sentences.values() for sentence in split)
    assert f"{silent} sentences of the three splits have no opinion" in text
    assert all("LOCATION1" in sentence["text"] for split in sentihood_sentences.values() for sentence in split)


def test_semeval2014_sizes(card, semeval2014_dir, rows_cache):
    v1 = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache)
    v2 = load_absa_dataset("semeval2014", data_dir=semeval2014_dir, cache_dir=rows_cache, version="v2")
    measured = {"train, v1": size(v1["train"]), "train, v2": size(v2["train"]), "test": size(v1["test"])}
    assert table(card("semeval2014"), "split") == measured


def test_semeval2014_overlap_and_oddities(card, semeval2014_dir):
    v1, v2, test = (
        read_semeval2014(semeval2014_dir / name, name)
        for name in ("Restaurants_Train.xml", "Restaurants_Train_v2.xml", "Restaurants_Test_Gold.xml")
    )
    assert table(card("semeval2014"), "splits") == {
        "train v1, test": overlap(v1, test),
        "train v2, test": overlap(v2, test),
    }
    text = card("semeval2014").text
    twice = [
        sentence["id"]
        for sentence in v1
        if len(sentence["categories"]) > len({category["category"] for category in sentence["categories"]})
    ]
    assert f"Two training sentences (ids {' and '.join(twice)})" in text
    repeated = len(v1) - len({normalize_text(sentence["text"]) for sentence in v1})
    assert repeated == 9
    assert "Nine training sentences repeat the text of another one" in text
    categories = {sentence["id"]: sentence["categories"] for sentence in v2}
    changed = [s["id"] for s in v1 if s["id"] in categories and s["categories"] != categories[s["id"]]]
    assert len(changed) == 2
    assert "drops three sentences and changes the categories of two" in text


def test_custom_example_loads(card, tmp_path):
    example = card("custom_absa").text.split("```csv\n")[1].split("```")[0]
    (tmp_path / "train.csv").write_text(example, encoding="utf-8")
    rows = load_absa_dataset("custom", data_dir=tmp_path, cache_dir=tmp_path / "cache")["train"]
    assert (rows.num_rows, rows.features["label"].names) == (4, ["none", "negative", "positive"])
    assert set(rows["target"]) == {"", "Anna", "Ben"}
