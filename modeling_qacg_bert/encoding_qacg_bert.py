"""The encoding of texts with contexts, the same for training and inference."""

from collections.abc import Iterable, Sequence

from .configuration_qacg_bert import positions_of
from .processing_qacg_bert import (
    Contexts,
    Origins,
    are_words,
    is_readable,
    words_of,
    written_text,
    written_with_origins,
)
from .questions_qacg_bert import shorten

TOKENS = ("input_ids", "token_type_ids", "attention_mask")  # what a tokenizer gives of a text
# Of a text only so many characters for each token are looked at: the memory of a tokenizer grows with all it is given.
# A token has some five; none has more, with its blank, but for a word of over 100 letters, which is one unknown token.
CHARACTERS_A_TOKEN = 101


def encode(
    tokenizer,
    contexts: Contexts,
    texts: Sequence[str],
    targets: Sequence[str | None],
    aspects: Sequence[str],
    *,
    auxiliary_sentence: bool = True,
    max_length: int = 512,
    mark_read: bool = False,
    mark_words: bool = False,
    origins: Iterable[Origins] | None = None,
) -> dict[str, list]:
    """Encodes texts with one context each; the same for training and inference.

    Args:
        tokenizer: a fast BERT tokenizer.
        contexts: the contexts of the model; of an open one with those that are asked about, see `Contexts.including`.
        texts, targets, aspects: as many of each; row i asks about (targets[i], aspects[i]) of texts[i].
        auxiliary_sentence: whether the context is written behind the text.
        max_length: the most tokens of a row. A longer text loses its end, the auxiliary sentence nothing; nor is
            more looked at than `CHARACTERS_A_TOKEN` for each of them.
        mark_read: whether to say in `read`, which no model takes, how many characters of a text in writing are read
            where it loses its end, None where it does not.
        origins: what the characters of each text stand for, for `words`, which no model takes.
    Returns:
        Lists of as many rows, without padding: `input_ids`, `token_type_ids`, `attention_mask` and `context_ids`. The
        `words` of a row are, for each token, what `words_of` finds.
    Raises:
        ValueError: if a text is no string or has nothing to read, a target or aspect is unknown, the lengths differ
            or `max_length` leaves no room for the text.
    """
    if not len(texts) == len(targets) == len(aspects):
        raise ValueError(f"{len(texts)} texts, {len(targets)} targets, {len(aspects)} aspects: give as many of each")
    context_ids = [contexts.id(target, aspect) for target, aspect in zip(targets, aspects, strict=True)]
    most_characters = CHARACTERS_A_TOKEN * max_length
    written, is_cut = [], []
    for row, (text, target) in enumerate(zip(texts, targets, strict=True)):
        if not isinstance(text, str):
            raise ValueError(f"text of row {row} is {text!r} ({type(text).__name__}): give a string")
        if not is_readable(text):
            raise ValueError(f"text of row {row} is {text!r}: give a text that is not empty")
        text = written_text(contexts.as_read(text, target)[0])
        written.append(text[:most_characters])
        is_cut.append(len(text) > most_characters)

    if auxiliary_sentence:
        asked = contexts if not contexts.is_open else {contexts.pair(context_id) for context_id in context_ids}
        sentences = {pair: contexts.auxiliary_sentence(*pair) for pair in asked}
        lengths = {sentence: len(tokenizer.tokenize(sentence)) for sentence in sentences.values()}
        longest = max(lengths, key=lengths.get, default="")
        taken = lengths.get(longest, 0) + tokenizer.num_special_tokens_to_add(pair=True)
        second = [sentences[contexts.pair(context_id)] for context_id in context_ids]
    else:
        longest, taken, second = "", tokenizer.num_special_tokens_to_add(pair=False), None
    if max_length <= taken:
        raise ValueError(
            f"max_length={max_length} leaves no room for the text: {taken} tokens go to the auxiliary sentence "
            f"{shorten(repr(longest))} and the special tokens; raise it to at least {taken + 1}, or ask in fewer words"
        )
    columns = {name: [] for name in TOKENS}
    read, is_word, words = [], [], []
    if written:
        encoded = tokenizer(
            written,
            second,
            truncation="only_first",
            max_length=max_length,
            padding=False,
            return_token_type_ids=True,
            return_attention_mask=True,
        )
        columns = {name: encoded[name] for name in columns}
        read = [
            _last_character(row) if cut or row.overflowing else None
            for cut, row in zip(is_cut, encoded.encodings, strict=True)
        ]
        if mark_words:
            is_word = [are_words(row, text) for row, text in zip(encoded.encodings, written, strict=True)]
        if origins is not None:  # one after the other, as what their characters stand for takes much memory
            words = [
                words_of(row, written_with_origins(text.replaced(*contexts.exchange(target))))
                for row, text, target in zip(encoded.encodings, origins, targets, strict=True)
            ]
    marks = {"read": read} if mark_read else {}
    marks |= {"is_word": is_word} if mark_words else {}
    marks |= {} if origins is None else {"words": words}
    return {**columns, "context_ids": context_ids, **marks}


def _last_character(encoding) -> int:
    """Where the last token of the first sequence of a `tokenizers.Encoding` ends."""
    ends = (end for (_, end), sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True) if sequence == 0)
    return max(ends, default=0)


def encode_together(
    tokenizer,
    contexts: Contexts,
    texts: Sequence[str],
    targets: Sequence[str | None],
    aspects: Sequence[str],
    *,
    max_length: int = 512,
    mark_read: bool = False,
    mark_words: bool = False,
) -> tuple[dict[str, list], list[list[int]]]:
    """Encodes each text once, with all contexts it is asked about: for models without auxiliary sentences.

    Args:
        As of `encode`.
    Returns:
        What `encode` returns, but with a row for each distinct text, in the order they first occur, and a list of
        context ids in each; and for each of these rows the numbers of the questions, in the order of its context ids.
        With symmetric targets a text has a row for each of them that it is asked about.
    Raises:
        ValueError: as `encode`.
    """
    if not len(texts) == len(targets) == len(aspects):
        raise ValueError(f"{len(texts)} texts, {len(targets)} targets, {len(aspects)} aspects: give as many of each")
    by_text = {}
    for number, (text, target) in enumerate(zip(texts, targets, strict=True)):
        by_text.setdefault((text, target if contexts.is_read_as_first(target) else None), []).append(number)
    numbers = list(by_text.values())
    rows = encode(
        tokenizer,
        contexts,
        [texts[first] for first, *_ in numbers],
        [targets[first] for first, *_ in numbers],
        [aspects[first] for first, *_ in numbers],
        auxiliary_sentence=False,
        max_length=max_length,
        mark_read=mark_read,
        mark_words=mark_words,
    )
    rows["context_ids"] = [[contexts.id(targets[number], aspects[number]) for number in own] for own in numbers]
    return rows, numbers


def encode_questions(
    config,
    tokenizer,
    contexts: Contexts,
    texts: Sequence[str],
    targets: Sequence[str | None],
    aspects: Sequence[str],
    *,
    mark_words: bool = False,
) -> tuple[dict[str, list], list[list[int]]]:
    """Encodes questions as a model reads them, each text as seldom as it can.

    Args:
        config: of the model, with contexts or, as that of BERT-pair, without.
        The others are as of `encode`.
    Returns:
        As `encode_together`: a text whose contexts the model reads from their ids or vectors alone is one row for all
        of them; others are a row for each question.
    """
    max_length = min(positions_of(config), tokenizer.model_max_length)
    options = {"max_length": max_length, "mark_read": True, "mark_words": mark_words}
    if hasattr(type(config), "num_contexts") and not config.auxiliary_sentence:
        return encode_together(tokenizer, contexts, texts, targets, aspects, **options)
    options["auxiliary_sentence"] = config.auxiliary_sentence
    rows = encode(tokenizer, contexts, texts, targets, aspects, **options)
    rows["context_ids"] = [[context_id] for context_id in rows["context_ids"]]
    return rows, [[number] for number in range(len(texts))]


def encode_contexts(
    tokenizer, contexts: Contexts, context_ids: Iterable[int], *, max_length: int = 512
) -> dict[int, list[int]]:
    """The token ids of contexts in words, with special tokens, for models with `context_source="text"`.

    Args:
        tokenizer: of the model.
        contexts: what the ids are of.
        context_ids: any number of them, of which some may be the same.
        max_length: the most tokens of a context.
    Raises:
        ValueError: if a context has neither target nor aspect, or more tokens.
    """
    distinct = list(dict.fromkeys(context_ids))
    sentences = [contexts.auxiliary_sentence(*contexts.pair(context_id)) for context_id in distinct]
    if not all(map(is_readable, sentences)):
        raise ValueError("a question has neither target nor aspect: give one of them, in words")
    encoded = tokenizer(sentences, verbose=False)["input_ids"] if sentences else []
    for sentence, tokens in zip(sentences, encoded, strict=True):
        if len(tokens) > max_length:
            raise ValueError(
                f"{shorten(repr(sentence))} has {len(tokens)} tokens, but {max_length=}: ask in fewer words"
            )
    return dict(zip(distinct, encoded, strict=True))
