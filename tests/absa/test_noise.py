"""Noise: word for word as defined, the same in any order, and never without what it needs."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absa.noise import (
    CORRUPTIONS,
    DELETED_SHARE,
    NOISES,
    WEIGHTS,
    Document,
    corrupt,
    lexicon_of,
    related_words,
    rotate,
    shuffle,
    words_of_spans,
)
from datasets_scripts import ASTEV2

WORDS = ["The", "soup", "was", "great", ".", "I", "came", "late", ".", "Cold", "tea", ",", "dear", "!"]
RELATED = {1, 3, 9, 10, 12}
often = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def cases(shared_dir):
    return json.loads((shared_dir / "golden" / "generative" / "noise.json").read_text())["cases"]


@pytest.mark.parametrize("name", [*WEIGHTS])
def test_golden_corruptions(cases, name):
    assert len(cases) == 15
    for case in cases:
        document = Document(case["id"], case["words"], case["related"])
        options = {"seed": case["seed"], "epoch": case["epoch"], "orders": (), "weights": {name: 1}}
        assert case["related"] or name != "mask_aspects" or case[name] == case["words"]
        assert corrupt(document, **options) == case[name]


def test_golden_order(cases):
    assert sum(case["shuffle"] != case["words"] for case in cases) > 3
    for case in cases:
        document = Document(case["id"], case["words"], case["related"])
        assert corrupt(document, seed=case["seed"], epoch=case["epoch"], weights={}) == case["shuffle"]


def test_each_draw_stands_alone():
    """Documents in another order, or some of them, have the same noise; another seed, epoch or id has another."""
    documents = [Document(str(number), WORDS, RELATED) for number in range(20)]
    noisy = {document.id: corrupt(document, seed=1, epoch=2) for document in documents}
    assert {document.id: corrupt(document, seed=1, epoch=2) for document in documents[::-2]}.items() <= noisy.items()
    assert len({tuple(words) for words in noisy.values()}) > 15
    for options in ({"seed": 2, "epoch": 2}, {"seed": 1, "epoch": 3}):
        others = [corrupt(document, **options) for document in documents]
        assert sum(words != noisy[document.id] for words, document in zip(others, documents, strict=True)) > 10


def test_weights():
    """Of many documents, which corruption they had: a mask for a word, a mask for several, none."""
    drawn = Counter()
    for number in range(2000):
        document = Document(str(number), [f"w{n}" for n in range(100)], {0, 99})
        noisy = corrupt(document, seed=0)
        drawn["delete" if "<mask>" not in noisy else "mask_aspects" if len(noisy) == 100 else "infill"] += 1
    shares = [drawn[name] / 2000 for name in ("mask_aspects", "infill", "delete")]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_without_aspects_the_other_corruptions_apply():
    noisy = [corrupt(Document(str(number), WORDS, ()), seed=0) for number in range(200)]
    assert sum(words == WORDS for words in noisy) < 50  # a deletion may drop none


def test_masks_are_those_of_the_tokenizer():
    document = Document("a", WORDS, RELATED)
    noisy = corrupt(document, seed=0, mask="[MASK]", orders=(), weights={"mask_aspects": 1})
    assert [number for number, word in enumerate(noisy) if word == "[MASK]"] == sorted(
        number for number, (word, old) in enumerate(zip(noisy, WORDS, strict=True)) if word != old
    )
    assert noisy.count("[MASK]") == 2  # 0.3 of 5, rounded up
    assert {number for number, word in enumerate(noisy) if word == "[MASK]"} <= RELATED


def test_the_control_masks_as_many_words_but_any():
    related, masked = {1, 3, 9, 10, 12}, Counter()
    for number in range(400):
        noisy = corrupt(Document(str(number), WORDS, related), seed=0, **NOISES["mask_uniform"])
        assert noisy.count("<mask>") == 2
        masked.update(place for place, word in enumerate(noisy) if word == "<mask>")
    assert masked.keys() == set(range(len(WORDS)))
    assert sum(masked[place] for place in related) / 800 == pytest.approx(5 / 14, abs=0.05)
    assert corrupt(Document("a", WORDS, ()), seed=0, **NOISES["mask_uniform"]) == WORDS


def test_the_control_of_the_default_differs_in_its_masks_alone():
    documents = [Document(str(number), [f"w{n}" for n in range(100)], {0, 99}) for number in range(200)]
    chosen, control = (
        [corrupt(document, seed=0, **NOISES[name]) for document in documents] for name in ("choice", "uniform")
    )
    assert chosen == [corrupt(document, seed=0) for document in documents]
    differ = [(one, other) for one, other in zip(chosen, control, strict=True) if one != other]
    assert len(differ) == pytest.approx(100, abs=20)
    assert all(len(one) == len(other) == 100 and other.count("<mask>") == 1 for one, other in differ)


@pytest.mark.parametrize("name", NOISES)
def test_every_noise_changes_something(name):
    assert any(corrupt(Document(str(number), WORDS, RELATED), seed=0, **NOISES[name]) != WORDS for number in range(9))


def test_related_words_move_with_their_sentences():
    for number in range(30):
        document = Document(str(number), WORDS, RELATED)
        ordered = corrupt(document, seed=0, weights={})
        masked = corrupt(document, seed=0, weights={"mask_aspects": 1})
        hidden = {word for word, noisy in zip(ordered, masked, strict=True) if noisy == "<mask>"}
        assert hidden <= {WORDS[position] for position in RELATED}
        assert ordered[5:9] == WORDS[5:9]  # without aspects: it stays


TEXTS = st.lists(st.sampled_from(["good", "soup", ".", "!"]), min_size=1, max_size=30)


@given(TEXTS, st.integers(0, 1000))
@often
def test_orders_keep_all_words(words, seed):
    related = {number for number, word in enumerate(words) if word == "soup"}
    for order in (shuffle, rotate):
        assert sorted(order(words, related, random.Random(seed))) == list(range(len(words)))
    start = rotate(words, related, random.Random(seed))[0]
    assert corrupt(Document("a", words, related), seed=seed, orders=("rotate",), weights={}) in [
        words[place:] + words[:place] for place in range(len(words))
    ]
    assert 0 <= start < len(words)


@given(TEXTS, st.integers(0, 1000))
@often
def test_corruptions_leave_something_and_add_nothing_but_masks(words, seed):
    related = {number for number, word in enumerate(words) if word == "soup"}
    for name in CORRUPTIONS:
        noisy = corrupt(Document("a", words, related), seed=seed, orders=(), weights={name: 1})
        assert noisy
        assert not Counter(word for word in noisy if word != "<mask>") - Counter(words)


def test_how_much_is_deleted_and_covered():
    deleted = covered = 0
    words = [str(number) for number in range(50)]
    for number in range(200):
        document = Document(str(number), words, ())
        deleted += 50 - len(corrupt(document, seed=0, orders=(), weights={"delete": 1}))
        infilled = corrupt(document, seed=0, orders=(), weights={"infill": 1})
        covered += 50 - sum(word != "<mask>" for word in infilled)
    assert deleted / 200 / 50 == pytest.approx(DELETED_SHARE, abs=0.01)
    assert covered / 200 == 15


@pytest.mark.parametrize(
    ("words", "options", "told"),
    [
        (WORDS, {"orders": ("turn",)}, r"'turn' is no noise: choose orders of \['shuffle', 'rotate'\], weights of"),
        (WORDS, {"weights": {"shuffle": 1}}, "'shuffle' is no noise: choose orders"),
        ([], {}, "document 'a' has no words: leave it out"),
    ],
)
def test_bad_input(words, options, told):
    with pytest.raises(ValueError, match=told):
        corrupt(Document("a", words, ()), seed=0, **options)


def test_lexicon():
    rows = [
        {"words": ["The", "Green", "tea"], "tuples": [{"target": (0, 3), "opinion": None}]},
        {"words": ["not", "bad", "!"], "tuples": [{"target": None, "opinion": (0, 3)}]},
        {"words": ["Late"], "tuples": []},
    ]
    assert lexicon_of(rows) == {"green", "tea", "not", "bad"}
    assert related_words(["Bad", ",", "the", "TEA"], lexicon_of(rows)) == {0, 3}


@pytest.mark.filterwarnings("ignore:.*tuples that repeat")
@pytest.mark.parametrize(("domain", "share", "words"), [("14lap", "20.7", "3.8"), ("14res", "24.9", "4.2")])
def test_share_of_related_words(shared_dir, domain, share, words):
    builder = ASTEV2(config_name=domain, data_dir=shared_dir / "data" / "aste_v2")
    rows = [row for split in builder.read_splits(builder.local_files).values() for row in split]
    related = sum(len(words_of_spans(row)) for row in rows)
    assert f"{100 * related / sum(len(row['words']) for row in rows):.1f}" == share
    assert f"{related / len(rows):.1f}" == words
    # A single sentence has no others to change places with.
    moved = sum(
        len({tuple(shuffle(row["words"], words_of_spans(row), random.Random(seed))) for seed in range(20)}) > 1
        for row in rows
    )
    assert moved == 9
