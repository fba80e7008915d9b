"""Words of a text with their places, and their pieces."""

from collections.abc import Sequence

import regex
from transformers import PreTrainedTokenizerBase

LETTERS = r"[\w\p{M}\u200c\u200d]"  # with the marks and joiners of a script, as of Hindi and Thai
CLITIC = rf"['\u2019](?:s|re|ve|ll|d|m)(?!{LETTERS})"
NOT = rf"n['\u2019]t(?!{LETTERS})"
INNER = rf"{LETTERS}+(?:[-.&]{LETTERS}+)*"
SEEN = r"(?:\p{RI}{2}|\S(?:[\p{M}\p{Emoji_Modifier}]|\u200d\p{So})*)"  # as one sign: a flag, a family of emoji
WORDS = {
    "english": regex.compile(rf"{INNER}(?={NOT})|{NOT}|{CLITIC}|{INNER}|\.\.\.|--|{SEEN}", regex.IGNORECASE),
    "whitespace": regex.compile(r"\S+"),
    "characters": regex.compile(SEEN),
}


def split_words(text: str, splitting: str) -> list[tuple[int, int]]:
    """[start, end) of each word of a text.

    Args:
        splitting: "english" for words as treebanks have them, with n't and 's apart, - . & inside of words, ... and --
            as one and all other punctuation alone; "whitespace"; or "characters".
    """
    return [found.span() for found in WORDS[splitting].finditer(text)]


def without_surrogates(word: str) -> str:
    """Pairs of surrogates as one character, lone ones as U+FFFD: JSON can hold them, but a tokenizer takes none."""
    return word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def marked(words: Sequence, given: tuple[int, int], marks: tuple = ("[", "]")) -> list:
    """Words, or what stands for each, with marks around those of a given target, [first, one behind the last)."""
    start, end = given
    return [*words[:start], marks[0], *words[start:end], marks[1], *words[end:]]


def encode_words(
    tokenizer: PreTrainedTokenizerBase,
    words: Sequence[str],
    max_words: int,
    max_length: int,
    given: tuple[int, int] | None = None,
) -> dict[str, list | bool | int]:
    """Encodes a sentence of which the words are known; the same for training and inference.

    Args:
        tokenizer: a fast tokenizer.
        words: of the sentence; blank ones and control characters have no piece, and cannot be pointed to.
        max_words: the most words, `config.max_words`.
        max_length: the most pieces. A longer sentence loses its last words, each as a whole.
        given: [first word, one behind the last) of a given target. It is `marked`; marks cannot be pointed to.
    Returns:
        `input_ids` and `attention_mask`; `word_ids`, the number of each piece's word, -1 for special tokens;
        `num_words`, how many words were read; and `truncated`, whether words were left out.
    """
    kept = [without_surrogates(word) for word in words[:max_words]]
    numbers = list(range(len(kept)))
    if given is not None:
        kept, numbers = marked(kept, given), marked(numbers, given, (-1, -1))
    # With the blank before it, which is a part of a word's first piece for BART and RoBERTa: without the blank they
    # would read the insides of words.
    kept = [f" {word}" if word.strip() else word for word in kept]
    encoded = tokenizer(kept, is_split_into_words=True, truncation=True, max_length=max_length)
    overflowing = encoded.encodings[0].overflowing
    if overflowing:
        kept = kept[: next(number for number in overflowing[0].word_ids if number is not None)]
        encoded = tokenizer(kept, is_split_into_words=True, truncation=True, max_length=max_length)
    num_words = sum(number >= 0 for number in numbers[: len(kept)])
    return {
        "input_ids": encoded["input_ids"],
        "attention_mask": encoded["attention_mask"],
        "word_ids": [-1 if place is None else numbers[place] for place in encoded.word_ids()],
        "num_words": num_words,
        "truncated": num_words < len(words),
    }


__all__ = ["encode_words", "split_words", "without_surrogates"]
