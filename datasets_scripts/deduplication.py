"""Texts that stand in more than one split."""


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
