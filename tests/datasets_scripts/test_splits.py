import pytest

from datasets_scripts.splits import drop_shared_texts, held_out, hold_out, normalize_text


def test_normalize_text():
    assert normalize_text("  A \t b\nSTRASSE ") == normalize_text("a b straße") == "a b strasse"


def test_drop_shared_texts():
    def records(*texts):
        return [{"text": text} for text in texts]

    splits = {
        "train": records("in test", "in validation", "in all", "own", "own"),
        "validation": records("In validation", "in all", "in both later"),
        "test": records("in  test", "in all", "in both later", "in test"),
    }
    assert drop_shared_texts(splits) == {
        "train": records("own", "own"),
        "validation": records("In validation"),
        "test": splits["test"],
    }
    with pytest.raises(ValueError, match="deduplicate=True leaves nothing of 'train'"):
        drop_shared_texts({"train": records("A"), "test": records("a")})


def test_what_is_held_out_depends_on_keys_and_seed_only():
    keys = [str(number) for number in range(20)]
    chosen = held_out(keys, 0.25, seed=3)
    assert len(chosen) == 5
    assert held_out(keys[::-1], 0.25, seed=3) == chosen != held_out(keys, 0.25, seed=4)
    # Without two keys that were kept, the same five are the smallest still (0.28 * 18 = 5.04).
    kept = [key for key in keys if key not in chosen]
    assert held_out([key for key in keys if key not in kept[:2]], 0.28, seed=3) == chosen


def test_hold_out():
    splits = {split: [{"id": f"{split}{number}"} for number in range(10)] for split in ("train", "test")}
    held = hold_out(splits, 0.2, seed=0)
    assert {split: len(sentences) for split, sentences in held.items()} == {"train": 8, "validation": 2, "test": 10}
    assert sorted(held["train"] + held["validation"], key=str) == splits["train"]
    assert hold_out(splits, 0, seed=0) == splits


@pytest.mark.parametrize(("fraction", "count"), [(-0.1, -1), (0.01, 0), (1, 10), (2.0, 20)])
def test_hold_out_of_nothing_or_all(fraction, count):
    with pytest.raises(ValueError, match=rf"validation_fraction={fraction} of 10 training texts is {count}: choose"):
        hold_out({"train": [{"id": str(number)} for number in range(10)]}, fraction, seed=0)
