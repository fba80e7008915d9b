"""The sample corpus: its format, its counts as the card states them, and that writing it again changes nothing."""

import json
import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from itertools import combinations, product

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

SPLITS = ("train", "dev", "test")
TARGETS = ("LOCATION1", "LOCATION2")
ASPECTS = ("general", "price", "transit-location", "safety")
SENTIMENTS = ("Positive", "Negative")


@pytest.fixture(scope="module")
def folder(repo_root):
    return repo_root / "datasets_scripts" / "sample_corpus"


@pytest.fixture(scope="module")
def corpus(folder):
    return {split: json.loads((folder / f"sentihood-{split}.json").read_text(encoding="ascii")) for split in SPLITS}


@pytest.fixture(scope="module")
def card(folder):
    return DatasetCard.load(folder / "README.md")


@pytest.fixture(scope="module")
def banks(folder):
    """What the script joins: CLAUSES, SINGLE, COMPARISON, SILENT."""
    return runpy.run_path(str(folder / "sentences.py"))


def test_writing_again_gives_the_same_bytes(folder, tmp_path):
    # Another hash seed than this process's, so that an order taken from a set would show.
    command = [sys.executable, str(folder / "write_corpus.py"), "--output_dir", str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for split in SPLITS:
        name = f"sentihood-{split}.json"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), f"{name} is not what the script writes"


@pytest.mark.parametrize("split", SPLITS)
def test_format_is_that_of_sentihood(corpus, split):
    assert [sentence["id"] for sentence in corpus[split]] == list(range(1, len(corpus[split]) + 1))
    for sentence in corpus[split]:
        assert set(sentence) == {"id", "text", "opinions"}
        assert sentence["text"] == " ".join(sentence["text"].split())
        assert 5 <= len(sentence["text"].split()) <= 35
        for opinion in sentence["opinions"]:
            assert set(opinion) == {"sentiment", "target_entity", "aspect"}
            assert opinion["sentiment"] in SENTIMENTS
            assert opinion["target_entity"] in TARGETS
            assert opinion["aspect"] in ASPECTS


def test_keys_are_those_of_the_real_files(corpus, shared_dir):
    real = json.loads((shared_dir / "data" / "sentihood" / "sentihood-dev.json").read_text(encoding="utf-8"))
    with_opinion = next(sentence for sentence in real if sentence["opinions"])
    ours = next(sentence for sentence in corpus["dev"] if sentence["opinions"])
    assert set(ours) == set(with_opinion)
    assert set(ours["opinions"][0]) == set(with_opinion["opinions"][0])


@pytest.mark.parametrize("split", SPLITS)
def test_targets_occur_in_their_text_and_pairs_have_one_label(corpus, split):
    for sentence in corpus[split]:
        text = sentence["text"]
        assert "LOCATION1" in text
        # No third place, and no placeholder of the script left over.
        assert not re.search(r"LOCATION(?![12]\b)|[{}]", text)
        pairs = [(opinion["target_entity"], opinion["aspect"]) for opinion in sentence["opinions"]]
        assert len(set(pairs)) == len(pairs), text
        for target, _ in pairs:
            assert target in text


@pytest.mark.parametrize("split", SPLITS)
def test_every_aspect_and_polarity_occurs(corpus, split):
    seen = Counter((o["aspect"], o["sentiment"]) for sentence in corpus[split] for o in sentence["opinions"])
    for cell in product(ASPECTS, SENTIMENTS):
        assert seen[cell] >= 10, cell


def test_opposite_opinions_occur_within_and_between_targets(corpus):
    within = between = 0
    for sentence in corpus["test"]:
        for one, other in combinations(sentence["opinions"], 2):
            if one["sentiment"] != other["sentiment"]:
                within += one["target_entity"] == other["target_entity"]
                between += one["target_entity"] != other["target_entity"]
    assert within >= 10
    assert between >= 10


def test_no_text_occurs_twice_within_or_across_splits(corpus):
    def letters(text):
        return re.sub(r"\W+", " ", text.lower()).strip()

    counts = Counter(letters(sentence["text"]) for sentences in corpus.values() for sentence in sentences)
    assert [text for text, count in counts.items() if count > 1] == []


def test_nothing_said_in_one_split_is_said_in_another(corpus, banks):
    said = {}
    for split in SPLITS:
        clauses = [clause for by_split in banks["CLAUSES"].values() for clause in by_split[split]]
        whole = [text for text, _ in banks["SINGLE"][split] + banks["COMPARISON"][split]]
        said[split] = {*clauses, *whole, *banks["SILENT"][split]}
    texts = {split: [sentence["text"].lower() for sentence in corpus[split]] for split in SPLITS}

    def occurrences(template, split):
        a, b = "location1", "location2"
        forms = {template.format(a=a, b=b).lower(), template.format(a=b, b=a).lower()}
        return sum(form in text for form in forms for text in texts[split])

    # The search itself works: most templates are found in their own split.
    assert sum(occurrences(template, "test") > 0 for template in said["test"]) > 0.8 * len(said["test"])
    for split, other in product(SPLITS, SPLITS):
        if split != other:
            assert [template for template in said[split] if occurrences(template, other)] == []


def test_counts_are_those_on_the_card(corpus, card):
    rows = re.findall(r"^\| (train|dev|test) \| (.+) \|$", card.text, flags=re.MULTILINE)
    stated = {split: [int(number) for number in numbers.split(" | ")] for split, numbers in rows}
    counted = {}
    for split, sentences in corpus.items():
        both = sum("LOCATION2" in sentence["text"] for sentence in sentences)
        silent = sum(not sentence["opinions"] for sentence in sentences)
        labels = Counter(o["sentiment"] for sentence in sentences for o in sentence["opinions"])
        pairs = 4 * (len(sentences) + both)
        none = pairs - labels.total()
        counted[split] = [len(sentences), both, silent, pairs, none, labels["Positive"], labels["Negative"]]
    assert stated == counted


def test_bank_sizes_are_those_on_the_card(card, banks):
    prose = " ".join(card.text.split())
    for split in SPLITS:
        smallest = min(len(by_split[split]) for by_split in banks["CLAUSES"].values())
        assert re.search(rf"\b{smallest} for {split}\b", prose)
    clauses = sum(len(by_split[split]) for by_split in banks["CLAUSES"].values() for split in SPLITS)
    single, comparison, silent = (
        sum(len(bank[split]) for split in SPLITS) for bank in (banks["SINGLE"], banks["COMPARISON"], banks["SILENT"])
    )
    assert f"{clauses} clauses" in prose
    assert f"{single} whole sentences about one place" in prose
    assert f"{comparison} that set two places" in prose
    assert f"{silent} questions" in prose


def test_example_on_the_card_is_in_the_corpus(corpus, card):
    example = json.loads(re.search(r"```json\n(.+?)```", card.text, flags=re.DOTALL)[1])
    assert example in corpus["train"]


def test_card_metadata(card):
    assert card.data.license == "cc0-1.0"
    assert card.data.language == ["en"]
    assert card.data.task_categories == ["text-classification"]
    assert card.data.size_categories == ["n<1K"]
    assert "no evidence" in " ".join(card.text.split())


def test_folder_loads_as_a_dataset_with_the_splits_of_the_card(corpus, folder, tmp_path):
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path))
    assert {split: rows.num_rows for split, rows in loaded.items()} == {"train": 420, "validation": 90, "test": 120}
    assert loaded["validation"][0]["text"] == corpus["dev"][0]["text"]
