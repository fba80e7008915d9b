"""The sample reviews: their format, their counts as on the card, and that writing them again changes nothing."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from datasets_scripts import load_absa_dataset
from datasets_scripts.tag_schemes import bio_to_bieos, first_fault
from modeling_global_context import spans_of, split_words

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def folder(repo_root: Path) -> Path:
    return repo_root / "datasets_scripts" / "sample_reviews"


@pytest.fixture(scope="module")
def reviews(folder: Path) -> dict[str, list[tuple[list[str], list[str]]]]:
    """The words and tags of each sentence, by split, as the builder reads them."""
    data = load_absa_dataset("conll", "columns", data_dir=folder, scheme_out="BIO")
    names = data["train"].features["tags"].feature.names
    return {split: [(row["tokens"], [names[tag] for tag in row["tags"]]) for row in data[split]] for split in SPLITS}


def terms_of(sentences) -> list[tuple[str, ...]]:
    return [
        tuple(word.lower() for word in words[start:end])
        for words, tags in sentences
        for start, end, _ in spans_of(tags, "BIO")
    ]


def test_writing_again_gives_the_same_bytes(folder: Path, tmp_path: Path):
    # Another hash seed than this process's, so that an order taken from a set would show.
    command = [sys.executable, str(folder / "write_reviews.py"), "--output_dir", str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for split in SPLITS:
        written, stored = ((place / f"{split}.txt").read_bytes() for place in (tmp_path, folder))
        assert written == stored, f"{split}.txt is not what the script writes"


@pytest.mark.parametrize("split", SPLITS)
def test_sentences(reviews, split: str):
    for words, tags in reviews[split]:
        assert first_fault(tags, "BIO") is None
        assert first_fault(bio_to_bieos(tags), "BIEOS") is None
        assert not re.search(r"[{}\[\]|]", " ".join(words)), words  # nothing left over of a pattern
        # The pipeline finds the same words in a text; n't and 's are written together with what stands before.
        text = re.sub(r" (n't|'\w+)\b", r"\1", " ".join(words))
        assert [text[start:end] for start, end in split_words(text, "english")] == words
    seen = Counter(" ".join(words) for words, _ in reviews[split])
    assert max(seen.values()) == 1


def test_no_word_of_an_aspect_term_is_in_two_splits(reviews):
    words = {split: {word.removesuffix("s") for term in terms_of(reviews[split]) for word in term} for split in SPLITS}
    for one, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert words[one] & words[other] <= {"of", "to", "selection", "list"}


def test_counts_are_those_on_the_card(folder: Path, reviews):
    card = (folder / "README.md").read_text(encoding="utf-8")
    for split, sentences in reviews.items():
        terms = terms_of(sentences)
        of_types = Counter(type_ for words, tags in sentences for *_, type_ in spans_of(tags, "BIO"))
        counts = [
            len(sentences),
            sum(set(tags) == {"O"} for _, tags in sentences),
            *(of_types[type_] for type_ in ("POS", "NEG", "NEU")),
            len(set(terms)),
            sum(len(term) > 1 for term in terms),
        ]
        assert f"| {split} | {' | '.join(map(str, counts))} |" in card
