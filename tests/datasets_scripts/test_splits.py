import pytest

from datasets_scripts import load_absa_dataset
from datasets_scripts.splits import drop_shared_texts, held_out, normalize_text


def distinct_texts(rows):
    return {normalize_text(text) for text in rows["text"]}


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


def test_sentihood_shares_34_texts_between_train_and_test(sentihood_dir, rows_cache):
    splits = load_absa_dataset("sentihood", data_dir=sentihood_dir, cache_dir=rows_cache)
    assert len(distinct_texts(splits["train"]) & distinct_texts(splits["test"])) == 34


@pytest.mark.parametrize("name", ["sentihood", "semeval2014"])
def test_deduplicate_leaves_no_shared_text(shared_dir, rows_cache, name):
    arguments = {"data_dir": shared_dir / "data" / name, "cache_dir": rows_cache}
    if name == "semeval2014":
        arguments["validation_fraction"] = 0.1
    before = load_absa_dataset(name, **arguments)
    after = load_absa_dataset(name, **arguments, deduplicate=True)
    train, validation, test = (distinct_texts(after[split]) for split in ("train", "validation", "test"))
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert after["test"].num_rows == before["test"].num_rows
    assert train == distinct_texts(before["train"]) - distinct_texts(before["validation"]) - test


def test_what_is_held_out_depends_on_keys_and_seed_only():
    keys = [str(number) for number in range(20)]
    chosen = held_out(keys, 0.25, seed=3)
    assert len(chosen) == 5
    assert held_out(keys[::-1], 0.25, seed=3) == chosen != held_out(keys, 0.25, seed=4)
    # Without two keys that were kept, the same five are the smallest still (0.28 * 18 = 5.04).
    kept = [key for key in keys if key not in chosen]
    assert held_out([key for key in keys if key not in kept[:2]], 0.28, seed=3) == chosen
