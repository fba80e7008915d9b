"""Static word vectors, and the tokenizer of the words that have one.

gensim reads the same files, but stops at the words with blanks of GloVe 840B, takes NaN, and keeps whole files in
memory.
"""

import gzip
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

import numpy as np
import pandas as pd
from safetensors import safe_open
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from absa.packages import GLOVE, MINILM, PREFIX, folder_of
from datasets_scripts.source_files import shorten

RANDOM = "random"
PADDING, UNKNOWN = "[PAD]", "[UNK]"
EXTRA_WORDS = 50_000  # of a file, beside those of the training texts; files have frequent words first
UNKNOWN_RANGE = 0.05


class Aliases(NamedTuple):
    """What sources call a word that the tokenizer writes in another way."""

    of_words: str
    of_pieces: str
    """in a vocabulary of WordPieces"""


class Words(NamedTuple):
    """What a vocabulary is made of."""

    texts: Iterable[str]
    """the training texts, or their words"""
    normalizer: Normalizer
    pre_tokenizer: PreTokenizer
    aliases: Mapping[str, Aliases] = MappingProxyType({})
    """of words that are in the vocabulary in any case; what a source has under such a word itself is another's"""
    has_pairs: bool = False
    """whether models read pairs of texts, whose words `token_type_ids` tell apart"""

    def tokens(self, text: str) -> list[str]:
        """A text as the tokenizer cuts it."""
        normalized = self.normalizer.normalize_str(text)
        return [token for token, _ in self.pre_tokenizer.pre_tokenize_str(normalized)]


class Entry(NamedTuple):
    """A word of a source."""

    word: str
    values: Sequence[str] | np.ndarray
    """its vector, of numbers or of texts for numbers"""
    place: str
    """where it stands, for errors"""


def words_and_vectors(source: str, words: Words) -> tuple[PreTrainedTokenizerBase, np.ndarray | None]:
    """A tokenizer of whole words, and the vector of each.

    The vocabulary is the words of the training texts, those with aliases, and the first `EXTRA_WORDS` words of the
    source that are none of these and that the tokenizer can give: with a lower-casing one, those in lower case.
    Padding and unknown words have zeros; training words that the source lacks have small random numbers, the same in
    every run.

    Args:
        source: GloVe's text format (`word number number ...`), that of word2vec and fastText (behind a line `count
            size`), either perhaps with gzip (.gz), word2vec's binary format (.bin), a package with word vectors, or
            "random".
        words: of which texts, and how these are cut.
    Returns:
        The tokenizer, which Transformers saves and loads, and the vectors of its tokens, (tokens, size), or None for
        "random".
    Raises:
        FileNotFoundError, ValueError: if there is no such source, or its vectors are of several sizes or not numbers.
    """
    known = dict.fromkeys(chain(chain.from_iterable(map(words.tokens, words.texts)), words.aliases))
    known.pop(UNKNOWN, None)
    vectors = {}
    if source != RANDOM:
        entries = renamed(
            entries_of(source, known),
            {word: of.of_pieces if source == MINILM else of.of_words for word, of in words.aliases.items()},
        )
        vectors = choose_vectors(entries, known, lambda word: words.tokens(word) == [word])
        if not vectors:
            raise ValueError(f"word_vectors={source} holds no word that the tokenizer gives: give another")
    tokens = [PADDING, UNKNOWN, *known, *(word for word in vectors if word not in known)]
    tokenizer = Tokenizer(WordLevel({token: number for number, token in enumerate(tokens)}, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = words.normalizer, words.pre_tokenizer
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PADDING,
        unk_token=UNKNOWN,
        model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if words.has_pairs else [])],
    )
    if source == RANDOM:
        return fast, None
    size = len(next(iter(vectors.values())))
    matrix = np.zeros((len(tokens), size), np.float32)
    for number, token in enumerate(tokens[2:], start=2):
        matrix[number] = vectors[token] if token in vectors else drawn_vector(token, size)
    return fast, matrix


def drawn_vector(word: str, size: int) -> np.ndarray:
    """Uniform random numbers that depend on the word alone, (size,)."""
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).uniform(-UNKNOWN_RANGE, UNKNOWN_RANGE, size)


def renamed(entries: Iterable[Entry], aliases: Mapping[str, str]) -> Iterator[Entry]:
    """Entries, those of aliases under the words that they stand for too, and none that was under these before.

    Args:
        aliases: by word.
    """
    words = {alias: word for word, alias in aliases.items()}
    for entry in entries:
        if entry.word in words:
            yield entry._replace(word=words[entry.word])
        if entry.word not in aliases:
            yield entry


def choose_vectors(
    entries: Iterable[Entry], known: Collection[str], is_token: Callable[[str], bool]
) -> dict[str, np.ndarray]:
    """Vectors of known words, and of the first `EXTRA_WORDS` others that are tokens.

    Of several entries of a word the first counts.

    Raises:
        ValueError: naming the place of a vector that is not of finite numbers.
    """
    vectors, num_extra = {}, 0
    for word, values, place in entries:
        is_extra = word not in known
        if word in vectors or (is_extra and (num_extra == EXTRA_WORDS or not is_token(word))):
            continue
        try:
            vector = np.asarray(values, np.float32)
        except ValueError as error:
            raise ValueError(f"{place}: the vector of {shorten(word)!r} is not of numbers ({error})") from error
        if not np.isfinite(vector).all():
            raise ValueError(f"{place}: the vector of {shorten(word)!r} is not finite: mend the file, or give another")
        vectors[word] = vector
        num_extra += is_extra
    return vectors


def entries_of(source: str, known: Collection[str]) -> Iterator[Entry]:
    """The words of a source, in its order."""
    if source == MINILM:
        return read_minilm(known)
    if source == GLOVE:
        return read_glove_package()
    if source.startswith(PREFIX) or not Path(source).is_file():
        raise FileNotFoundError(
            f"word_vectors={source} is no file: give one of GloVe, word2vec or fastText, {MINILM}, {GLOVE} or {RANDOM}"
        )
    return read_binary(source) if source.removesuffix(".gz").endswith(".bin") else read_text(source)


def read_minilm(known: Collection[str]) -> Iterator[Entry]:
    """The known words, each with the mean of its WordPieces, and the WordPieces."""
    folder = folder_of(MINILM) / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with safe_open(folder / "model.safetensors", "numpy") as weights:
        embeddings = weights.get_tensor("embeddings.word_embeddings.weight")
    words = [*known, *sorted(tokenizer.vocab, key=tokenizer.vocab.get)]
    parts = tokenizer(words, add_special_tokens=False, return_attention_mask=False)["input_ids"]
    for word, numbers in zip(words, parts, strict=True):
        if numbers:  # control characters have none
            yield Entry(word, embeddings[numbers].mean(axis=0), MINILM)


def read_glove_package() -> Iterator[Entry]:
    """The words of GloVe 6B with vectors of 50 numbers."""
    folder = folder_of(GLOVE) / "data"
    words = pd.read_parquet(folder / "glove_6B_index.parquet")["index"]
    vectors = np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    for word, vector in zip(words, vectors, strict=True):
        yield Entry(word, vector, GLOVE)


def opened(file: str) -> BinaryIO:
    return gzip.open(file) if file.endswith(".gz") else open(file, "rb")


def read_text(file: str) -> Iterator[Entry]:
    """The words of a text file. Words may have blanks inside, as some of GloVe 840B have."""
    with opened(file) as lines:  # of bytes, since words may hold other characters that end lines
        size = None
        for number, line in enumerate(lines, start=1):
            line, place = line.decode(errors="replace").rstrip("\r\n "), f"{file}, line {number}"
            if size is None:
                fields = line.split(" ")
                if len(fields) == 2 and all(field.isdecimal() for field in fields):  # word2vec's header
                    size = int(fields[1])
                    continue
                size = len(fields) - 1
            word, *values = line.rsplit(" ", size)
            if not values or len(values) < size or is_number(word.rpartition(" ")[2] if " " in word else ""):
                raise ValueError(
                    f"{place}: {shorten(line)!r} is no word and {size} numbers, which the first line promises: mend "
                    "the file, or give another"
                )
            yield Entry(word, values, place)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_binary(file: str) -> Iterator[Entry]:
    """The words of a file in word2vec's binary format: a line `count size`, then each word, a blank and numbers."""
    with opened(file) as stream:
        header = stream.readline(100).split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            raise ValueError(
                f"{file} does not begin with a line of two numbers, as word2vec's binary files do: give the text "
                "file (.vec of fastText)"
            )
        count, size = map(int, header)
        for number in range(1, count + 1):
            word = b"".join(iter(lambda: stream.read(1).removesuffix(b" "), b""))  # up to a blank
            values = stream.read(4 * size)
            if len(values) < 4 * size:
                raise ValueError(f"{file} ends in word {number} of {count}: copy it again")
            word = word.decode(errors="replace").lstrip("\n")
            yield Entry(word, np.frombuffer(values, "<f4"), f"{file}, word {number}")
