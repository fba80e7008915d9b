"""Targets that are words of their texts: any words, each in its place."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig, PreTrainedTokenizerBase

from absa.tasks.base import Rows
from absa.tasks.rows import PLACES
from modeling_qacg_bert import Contexts, encode
from modeling_qacg_bert.processing_qacg_bert import Origins, Word


def contexts_of(rows: Rows) -> Contexts:
    """What some rows ask about, whatever others do."""
    return Contexts(*(tuple(dict.fromkeys(rows[column])) for column in ("target", "aspect")))


def encode_rows(
    tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig, rows: Rows, **options: Any
) -> dict[str, list]:
    """Rows of text, target, aspect and the places of the targets as pairs of the text and an auxiliary sentence.

    Args:
        config: of the model. Where it has a `target_token_type`, the tokens of targets with a place have that type.
        rows: their columns.
        options: of `encode`.
    Returns:
        What `encode` returns without the ids of contexts, and `words`.
    Raises:
        ValueError: as `encode`; if the place of a target has no word that is read.
    """
    columns = (rows["text"], rows["target"], rows["aspect"])
    features = encode(tokenizer, contexts_of(rows), *columns, origins=list(map(Origins.of, rows["text"])), **options)
    del features["context_ids"]
    token_type = getattr(config, "target_token_type", None)
    for number, words in enumerate(features["words"]):
        start, end = (rows[column][number] for column in PLACES)
        if start is None:
            continue
        own = tokens_in(words, start, end)
        if not own:
            raise ValueError(
                f"target {rows['target'][number]!r} of row {number} has no word where it stands, or stands in what is "
                "not read of its text: raise max_length, or leave the row out"
            )
        if token_type is not None:
            for token in own:
                features["token_type_ids"][number][token] = token_type
    return features


def tokens_in(words: Sequence[Word | None], start: int, end: int) -> list[int]:
    """Numbers of the tokens whose words have characters in [start, end)."""
    return [number for number, word in enumerate(words) if word is not None and word.start < end and word.end > start]
