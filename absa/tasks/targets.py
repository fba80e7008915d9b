"""Texts with what they are asked about, encoded: contexts of a model, or any words, in their places or not."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedConfig, PreTrainedTokenizerBase

from absa.tasks.base import Rows
from absa.tasks.rows import PLACES
from modeling_qacg_bert import Contexts, encode, encode_contexts, encode_together
from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.questions_qacg_bert import beginning


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
        What `encode` returns without the ids of contexts; `words`; and `target_is_read`, whether the place of the
        target, if it has one, has a word that is read.
    Raises:
        ValueError: as `encode`.
    """
    texts = list(map(beginning, rows["text"]))
    columns = (texts, rows["target"], rows["aspect"])
    features = encode(tokenizer, contexts_of(rows), *columns, origins=map(Origins.of, texts), **options)
    del features["context_ids"]
    token_type = getattr(config, "target_token_type", None)
    features["target_is_read"] = []
    for number, words in enumerate(features["words"]):
        start, end = (rows[column][number] for column in PLACES)
        own = [] if start is None else tokens_in(words, start, end)
        features["target_is_read"].append(start is None or bool(own))
        if token_type is not None:
            for token in own:
                features["token_type_ids"][number][token] = token_type
    return features


def encode_split(
    tokenizer: PreTrainedTokenizerBase,
    config: PreTrainedConfig,
    rows: Rows,
    have_places: bool,
    together: bool,
    max_length: int,
) -> tuple[dict[str, list], list[list[int]]]:
    """Rows as the model of a configuration reads them.

    Args:
        have_places: whether the targets are words of the texts.
        together: whether an entry is a text with all that it is asked about; else it is a row.
        max_length: the most tokens of a text.
    Returns:
        What `encode` returns for each entry; but of a model that reads its contexts in words their tokens,
        `context_input_ids`, in place of ids. And the numbers of the rows of each entry.
    Raises:
        ValueError: as `encode`; if the place of a target has no word that is read.
    """
    columns = (rows["text"], rows["target"], rows["aspect"])
    options = {"max_length": max_length, "mark_read": True}
    rows_of = [[number] for number in range(len(rows["text"]))]
    # A field of the configuration, where the model has contexts; else what the data has said of it.
    reads_contexts = hasattr(type(config), "context_source") and config.context_source == "text"
    if have_places and not reads_contexts:
        features = encode_rows(tokenizer, config, rows, **options)
        are_read = features.pop("target_is_read")
        if not all(are_read):
            number = are_read.index(False)
            raise ValueError(
                f"target {rows['target'][number]!r} of row {number} has no word where it stands, or stands in what is "
                "not read of its text: raise max_length, or leave the row out"
            )
        del features["words"]
        return features, rows_of
    contexts = Contexts.from_config(config).including(*columns[1:])
    if together:
        features, rows_of = encode_together(tokenizer, contexts, *columns, **options)
    else:
        features = encode(tokenizer, contexts, *columns, auxiliary_sentence=config.auxiliary_sentence, **options)
    if reads_contexts:
        del features["context_ids"]
        asked = [contexts.id(target, aspect) for target, aspect in zip(*columns[1:], strict=True)]
        tokens = encode_contexts(tokenizer, contexts, asked, max_length=max_length)
        of_rows = [tokens[context_id] for context_id in asked]
        features["context_input_ids"] = (
            [[of_rows[number] for number in own] for own in rows_of] if together else of_rows
        )
    return features, rows_of


def tokens_in(words: Sequence[Word | None], start: int, end: int) -> list[int]:
    """Numbers of the tokens whose words have characters in [start, end)."""
    return [number for number, word in enumerate(words) if word is not None and word.start < end and word.end > start]
