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

FILES = ("sentihood-train", "sentihood-dev", "sentihood-test", "contrast")
BY_HAND = FILES[1:]
TARGETS = ("LOCATION1", "LOCATION2")
ASPECTS = ("general", "price", "transit-location", "safety")
SENTIMENTS = ("Positive", "Negative")


@pytest.fixture(scope="module")
def folder(repo_root):
    return repo_root / "datasets_scripts" / "sample_corpus"


@pytest.fixture(scope="module")
def corpus(folder):
    return {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}


@pytest.fixture(scope="module")
def card(folder):
    return DatasetCard.load(folder / "README.md")


@pytest.fixture(scope="module")
def patterns(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        import patterns

        yield patterns


@pytest.fixture(scope="module")
def phrases(folder, patterns):
    """The phrases by header."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        import write_corpus

        yield write_corpus.read_phrases()


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
def test_format_is_that_of_sentihood(corpus, name):
    assert [sentence["id"] for sentence in corpus[name]] == list(range(1, len(corpus[name]) + 1))
    for sentence in corpus[name]:
        assert set(sentence) == {"id", "text", "opinions"}
        assert sentence["text"] == " ".join(sentence["text"].split())
        assert len(sentence["text"].split()) <= 50
        for opinion in sentence["opinions"]:
            assert set(opinion) == {"sentiment", "target_entity", "aspect"}
            assert opinion["sentiment"] in SENTIMENTS
            assert opinion["target_entity"] in TARGETS
            assert opinion["aspect"] in ASPECTS


def test_keys_are_those_of_the_real_files(corpus, shared_dir):
    real = json.loads((shared_dir / "data" / "sentihood" / "sentihood-dev.json").read_text(encoding="utf-8"))
    with_opinion = next(sentence for sentence in real if sentence["opinions"])
    ours = next(sentence for sentence in corpus["sentihood-dev"] if sentence["opinions"])
    assert set(ours) == set(with_opinion)
    assert set(ours["opinions"][0]) == set(with_opinion["opinions"][0])


@pytest.mark.parametrize("name", FILES)
def test_targets_occur_in_their_text_and_pairs_have_one_label(corpus, name):
    for sentence in corpus[name]:
        text = sentence["text"]
        assert "LOCATION1" in text
        # No third place, and nothing left over of a pattern.
        assert not re.search(r"LOCATION(?![12]\b)|[{}]|Opinion|None", text)
        pairs = [(opinion["target_entity"], opinion["aspect"]) for opinion in sentence["opinions"]]
        assert len(set(pairs)) == len(pairs), text
        for target, _ in pairs:
            assert target in text


@pytest.mark.parametrize("name", FILES)
def test_every_aspect_and_polarity_occurs(corpus, name):
    seen = Counter((o["aspect"], o["sentiment"]) for sentence in corpus[name] for o in sentence["opinions"])
    for cell in product(ASPECTS, SENTIMENTS):
        assert seen[cell] >= 20, cell


def test_each_contrast_is_one_of_two_opposite_opinions(corpus):
    within = 0
    for sentence in corpus["contrast"]:
        one, other = sentence["opinions"]
        assert one["sentiment"] != other["sentiment"], sentence
        within += one["target_entity"] == other["target_entity"]
    assert len(corpus["contrast"]) >= 60
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


def texts_of(sentences: list[dict]) -> list[str]:
    return [sentence["text"] for sentence in sentences]


@pytest.mark.parametrize("name", BY_HAND)
def test_what_was_written_by_hand_shares_no_words_with_the_rest(corpus, folder, phrases, name):
    """No run of four words with what the training split is made of, and of six with any other file."""
    whole = [(folder / "phrases" / f"{kind}.txt").read_text(encoding="ascii") for kind in ("silent", "two_places")]
    made_of = [phrase for header in phrases.values() for phrase in header]
    made_of += [line.split("\t")[0] for text in whole for line in text.splitlines()]
    assert runs(texts_of(corpus[name]), 4) & runs(made_of, 4) == set()
    others = [text for other in FILES if other != name for text in texts_of(corpus[other])]
    assert runs(texts_of(corpus[name]), 6) & runs(others, 6) == set()


def test_counts_are_those_on_the_card(corpus, card):
    rows = re.findall(r"^\| (train|dev|test|contrast) \| (.+) \|$", card.text, flags=re.MULTILINE)
    stated = {split: [int(number.replace(",", "")) for number in numbers.split(" | ")] for split, numbers in rows}
    counted = {}
    for name, sentences in corpus.items():
        both = sum("LOCATION2" in sentence["text"] for sentence in sentences)
        silent = sum(not sentence["opinions"] for sentence in sentences)
        labels = Counter(o["sentiment"] for sentence in sentences for o in sentence["opinions"])
        pairs = 4 * (len(sentences) + both)
        none = pairs - labels.total()
        key = name.removeprefix("sentihood-")
        counted[key] = [len(sentences), both, silent, pairs, none, labels["Positive"], labels["Negative"]]
    assert stated == counted


def test_phrases_and_patterns_are_as_many_as_the_card_says(card, phrases, patterns):
    prose = " ".join(card.text.split())
    distinct = {phrase for header in phrases for phrase in phrases[header]}
    assert f"has {len(distinct):,} phrases" in prose
    names = ("NAMING", "FOLLOWING", "GOOD_AND_BAD", "COMPARISONS", "ALIKE", "MENTIONS", "UNKNOWN")
    kinds = [getattr(patterns, name) for name in names]
    kinds += [*patterns.ONE_PLACE.values(), *patterns.TWO_PLACES.values()]
    assert f"has {len({pattern for kind in kinds for pattern in kind})} patterns" in prose


def test_examples_on_the_card_are_in_the_corpus(corpus, card):
    example = json.loads(re.search(r"```json\n(.+?)```", card.text, flags=re.DOTALL)[1])
    assert example in corpus["sentihood-train"]
    for phrase in re.search(r'one thing about one aspect: "(.+?)", "(.+?)"\.', " ".join(card.text.split())).groups():
        assert any(phrase in sentence["text"] for sentence in corpus["sentihood-train"])


def test_card_metadata(card):
    assert card.data.license == "cc0-1.0"
    assert card.data.language == ["en"]
    assert card.data.task_categories == ["text-classification"]
    assert card.data.size_categories == ["1K<n<10K"]


def test_folder_loads_as_a_dataset_with_the_splits_of_the_card(corpus, folder, tmp_path, card):
    loaded = load_dataset(str(folder), "default", cache_dir=str(tmp_path))
    sizes = {split: rows.num_rows for split, rows in loaded.items()}
    assert f"# => {sizes}" in card.text
    assert loaded["validation"][0]["text"] == corpus["sentihood-dev"][0]["text"]
    contrast = load_dataset(str(folder), "contrast", split="test", cache_dir=str(tmp_path))
    assert f"# => {len(contrast)} {contrast[0]['text']}" in card.text
