"""The sample corpus: its format, its counts as the card states them, and that writing it again changes nothing."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, product

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from datasets_scripts import SentiHood

FILES = ("sentihood-train", "sentihood-dev", "sentihood-test", "contrast")
ASPECTS = ("general", "price", "transit-location", "safety")


@pytest.fixture(scope="module")
def folder(repo_root):
    return repo_root / "datasets_scripts" / "sample_corpus"


@pytest.fixture(scope="module")
def corpus(folder):
    """The sentences of each file, whose opinions the reader has checked."""
    return {name: SentiHood.read(folder / f"{name}.json") for name in FILES}


@pytest.fixture(scope="module")
def card(folder):
    return DatasetCard.load(folder / "README.md")


@pytest.fixture(scope="module")
def writer(folder):
    """The module that writes the corpus."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        import write_corpus

        yield write_corpus


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


def test_writing_again_gives_the_same_bytes(folder, tmp_path):
    # Another hash seed than this process's, so that an order taken from a set would show.
    command = [sys.executable, str(folder / "write_corpus.py"), "--output_dir", str(tmp_path)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    for name in FILES:
        written, stored = ((place / f"{name}.json").read_bytes() for place in (tmp_path, folder))
        assert written == stored, f"{name}.json is not what the script writes"


@pytest.mark.parametrize("name", FILES)
def test_sentences(corpus, name):
    assert [sentence["id"] for sentence in corpus[name]] == [str(id_ + 1) for id_ in range(len(corpus[name]))]
    for sentence in corpus[name]:
        text = sentence["text"]
        assert text == " ".join(text.split())
        assert len(text.split()) <= 50
        assert "LOCATION1" in text
        # No third place, and nothing left over of a pattern.
        assert not re.search(r"LOCATION(?![12]\b)|[{}]|Opinion|None", text)
        pairs = [(opinion["target_entity"], opinion["aspect"]) for opinion in sentence["opinions"]]
        assert len(set(pairs)) == len(pairs), text
    seen = Counter((o["aspect"], o["sentiment"]) for sentence in corpus[name] for o in sentence["opinions"])
    assert set(seen) == set(product(ASPECTS, ("Positive", "Negative")))
    assert min(seen.values()) >= 20


def test_keys_are_those_of_the_real_files(folder, sentihood_dir):
    def first_with_opinion(place):
        sentences = json.loads((place / "sentihood-dev.json").read_text(encoding="utf-8"))
        return next(sentence for sentence in sentences if sentence["opinions"])

    ours, real = first_with_opinion(folder), first_with_opinion(sentihood_dir)
    assert set(ours) == set(real)
    assert set(ours["opinions"][0]) == set(real["opinions"][0])


def test_each_contrast_is_one_of_two_opposite_opinions(corpus):
    within = 0
    for sentence in corpus["contrast"]:
        one, other = sentence["opinions"]
        assert one["sentiment"] != other["sentiment"], sentence
        within += one["target_entity"] == other["target_entity"]
    assert within == 48


def test_train_holds_counterparts(corpus):
    """Sentences that share all words but those of one opinion, which is turned round."""
    by_start = {}
    for sentence in corpus["sentihood-train"]:
        labels = {(o["target_entity"], o["aspect"]): o["sentiment"] for o in sentence["opinions"]}
        by_start.setdefault(" ".join(words_of(sentence["text"])[:4]), []).append(labels)
    turned = 0
    for group in by_start.values():
        for one, other in combinations(group, 2):
            if len(one) == 2 and set(one) == set(other):
                turned += sum(one[pair] != other[pair] for pair in one) == 1
    assert turned >= 150


def test_no_text_occurs_twice_within_or_across_files(corpus):
    counts = Counter(" ".join(words_of(sentence["text"])) for name in FILES for sentence in corpus[name])
    assert [text for text, count in counts.items() if count > 1] == []


def runs(texts, length: int) -> set[tuple[str, ...]]:
    """All runs of so many words, places aside."""
    lists = [words_of(re.sub(r"LOCATION\d|\{.\}", "", text)) for text in texts]
    return {tuple(words[start : start + length]) for words in lists for start in range(len(words) - length + 1)}


@pytest.mark.parametrize("name", FILES[1:])
def test_what_was_written_by_hand_shares_no_words_with_the_rest(corpus, folder, writer, name):
    """No run of four words with what the training split is made of, and of six with any other file."""
    made_of = [phrase for header in writer.read_phrases().values() for phrase in header]
    for kind in ("silent", "two_places"):
        whole = (folder / "phrases" / f"{kind}.txt").read_text(encoding="ascii")
        made_of += [line.split("\t")[0] for line in whole.splitlines()]
    texts = {file: [sentence["text"] for sentence in sentences] for file, sentences in corpus.items()}
    assert runs(texts[name], 4) & runs(made_of, 4) == set()
    others = [text for other in FILES if other != name for text in texts[other]]
    assert runs(texts[name], 6) & runs(others, 6) == set()


def test_counts_are_those_on_the_card(corpus, card, writer):
    rows = re.findall(r"^\| (train|dev|test|contrast) \| (.+) \|$", card.text, flags=re.MULTILINE)
    stated = {split: [int(number.replace(",", "")) for number in numbers.split(" | ")] for split, numbers in rows}
    counted = {}
    for name, sentences in corpus.items():
        both = sum("LOCATION2" in sentence["text"] for sentence in sentences)
        silent = sum(not sentence["opinions"] for sentence in sentences)
        labels = Counter(row["label"] for sentence in sentences for row in SentiHood.rows(sentence))
        of_label = [labels[label] for label in ("none", "positive", "negative")]
        counted[name.removeprefix("sentihood-")] = [len(sentences), both, silent, labels.total(), *of_label]
    assert stated == counted
    prose = " ".join(card.text.split())
    assert f"has {len({phrase for header in writer.read_phrases().values() for phrase in header}):,} phrases" in prose
    names = ("NAMING", "FOLLOWING", "GOOD_AND_BAD", "COMPARISONS", "ALIKE", "MENTIONS", "UNKNOWN")
    kinds = [getattr(writer.patterns, name) for name in names]
    kinds += [*writer.patterns.ONE_PLACE.values(), *writer.patterns.TWO_PLACES.values()]
    assert f"has {len({pattern for kind in kinds for pattern in kind})} patterns" in prose


def test_examples_on_the_card_are_in_the_corpus(corpus, card):
    example = json.loads(re.search(r"```json\n(.+?)```", card.text, flags=re.DOTALL)[1])
    assert example | {"id": str(example["id"])} in corpus["sentihood-train"]
    for phrase in re.search(r'one thing about one aspect: "(.+?)", "(.+?)"\.', " ".join(card.text.split())).groups():
        assert any(phrase in sentence["text"] for sentence in corpus["sentihood-train"])


def test_folder_loads_as_the_card_says(folder, tmp_path, card):
    assert card.data.license == "cc0-1.0"
    loaded = load_dataset(str(folder), "default", cache_dir=str(tmp_path))
    assert f"# => { {split: rows.num_rows for split, rows in loaded.items()} }" in card.text
    contrast = load_dataset(str(folder), "contrast", split="test", cache_dir=str(tmp_path))
    assert f"# => {len(contrast)} {contrast[0]['text']}" in card.text
