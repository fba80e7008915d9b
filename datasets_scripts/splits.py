"""Which texts of a data set belong to which split."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence


def normalize_text(text: str) -> str:
    """The text with case folded and each run of whitespace as one blank, none at the ends.

    Two texts that normalize to the same are one and the same input to an uncased model.
    """
    return " ".join(text.split()).casefold()


def drop_shared_texts(splits: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """Drop from train what also stands in validation or test, and from validation what also stands in test.

    Args:
        splits: records with a `text`, by split ("train", "validation", "test"; any may be missing). Texts are
            compared by `normalize_text`. Repetitions within a split are kept.

    Raises:
        ValueError: nothing is left of a split.
    """
    kept, seen = {}, set()
    for split in ("test", "validation", "train"):
        if split not in splits:
            continue
        kept[split] = [record for record in splits[split] if normalize_text(record["text"]) not in seen]
        if not kept[split]:
            raise ValueError(f"deduplicate=True leaves nothing of {split!r}: all its texts stand in a later one")
        seen.update(normalize_text(record["text"]) for record in splits[split])
    return {split: kept[split] for split in splits}


def held_out(keys: Iterable[str], fraction: float, seed: int) -> set[str]:
    """The part of distinct keys, ids or texts, that is held out of training: round(fraction * their number) of them.

    Those with the smallest SHA-256 of "seed:key" are held out. So the choice depends neither on the order of the keys
    nor on a random generator, and data that differ in a few keys differ in a few that are held out.

    Raises:
        ValueError: none would be held out, or none kept.
    """
    distinct = ranked(keys, seed)
    count = round(fraction * len(distinct))
    if not 0 < count < len(distinct):
        raise ValueError(
            f"validation_fraction={fraction} of {len(distinct)} training texts is {count}: choose one that leaves a "
            "text in train and in validation, or give validation data"
        )
    return set(distinct[:count])


def held_out_rows(keys: Sequence[str], count: int, seed: int) -> set[str]:
    """The keys whose rows are held out, chosen as by `held_out`: as many keys as give at least so many rows.

    Args:
        keys: (rows,) the key of each row; rows with one key stay together.

    Raises:
        ValueError: that would hold out all rows.
    """
    num_rows = Counter(keys)
    chosen, num_held_out = set(), 0
    for key in ranked(keys, seed):
        if num_held_out >= count:
            return chosen
        chosen.add(key)
        num_held_out += num_rows[key]
    raise ValueError(f"{count} of {len(keys)} training rows are to be held out, which leaves none; give more data")


def ranked(keys: Iterable[str], seed: int) -> list[str]:
    """The distinct keys, those with the smallest SHA-256 of "seed:key" first."""
    return sorted(set(keys), key=lambda key: hashlib.sha256(f"{seed}:{key}".encode()).digest())


def hold_out(splits: dict[str, list[dict]], fraction: float, seed: int) -> dict[str, list[dict]]:
    """Make a validation split of the part of the training sentences whose ids are `held_out`; none if that is 0.

    Args:
        splits: sentences, dicts with `id`, by split.
    """
    if fraction == 0:
        return splits
    ids = [sentence["id"] for sentence in splits["train"]]
    return part_train(splits, ids, held_out(ids, fraction, seed))


def part_train(
    splits: dict[str, list[dict]], keys: Sequence[str], validation_keys: Collection[str]
) -> dict[str, list[dict]]:
    """Make a validation split of the training records whose keys, one for each record, are among the given ones."""
    parts = {"train": [], "validation": []}
    for key, record in zip(keys, splits["train"], strict=True):
        parts["validation" if key in validation_keys else "train"].append(record)
    return parts | {split: records for split, records in splits.items() if split != "train"}
