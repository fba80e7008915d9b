"""Words of texts, and their pieces."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from transformers import AutoTokenizer, RobertaTokenizer, T5Tokenizer

from datasets_scripts.words import word_offsets
from modeling_generative_absa import encode_words, split_words

RAW = {
    "14lap": ("Laptop_Train_v2.xml", "Laptops_Test_Gold.xml"),
    "14res": ("Restaurants_Train_v2.xml", "Restaurants_Test_Gold.xml"),
}


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.mark.parametrize(
    ("splitting", "text", "words"),
    [
        ("english", "Isn't it the U.S. best-seller?", "Is n't it the U.S . best-seller ?"),
        ("english", "It's 1,000/day, can't wait...", "It 's 1 , 000 / day , ca n't wait ..."),
        ("english", "they\u2019ll 'quote' -- R&D", "they \u2019ll ' quote ' -- R&D"),
        ("english", "cafe\u0301s cost $5", "cafe\u0301s cost $ 5"),
        ("english", "I'd n't well-don't", "I 'd n't well-do n't"),
        (
            "english",
            "\u0916\u093e\u0928\u093e \u0e44\u0e21\u0e48\u0e14\u0e35!",
            "\u0916\u093e\u0928\u093e \u0e44\u0e21\u0e48\u0e14\u0e35 !",
        ),
        ("english", "ok\U0001f44d\U0001f3fd\u2764\ufe0f", "ok \U0001f44d\U0001f3fd \u2764\ufe0f"),
        (
            "english",
            "\U0001f469\u200d\U0001f467\U0001f1ec\U0001f1e7",
            "\U0001f469\u200d\U0001f467 \U0001f1ec\U0001f1e7",
        ),
        ("whitespace", " It's  1,000/day,\n ok", "It's 1,000/day, ok"),
        ("characters", "中文 字e\u0301", "中 文 字 e\u0301"),
    ],
)
def test_words_of_a_text(splitting, text, words):
    assert [text[start:end] for start, end in split_words(text, splitting)] == words.split()


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab'nt.-& s\u0301é\u200d\U0001f44d\u0600"), max_size=30),
    st.sampled_from(["english", "characters"]),
)
def test_words_cover_all_but_blanks(text, splitting):
    spans = split_words(text, splitting)
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@given(st.text(st.sampled_from("abnNtTsS1_ -.&'\u2019\u00e9\u0301!\u2026\u00a0") | st.characters(), max_size=30))
def test_the_data_sets_cut_texts_alike(text):
    assert split_words(text, "english") == word_offsets(text)


def borders(words: list[str]) -> list[int]:
    """Places between words, blanks not counted."""
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    return places


@pytest.mark.parametrize(("domain", "same_sentences"), [("14lap", 96.3), ("14res", 97.5)])
def test_words_are_those_of_the_annotated_data(shared_dir, aste_v2, domain, same_sentences):
    """Shares of the sentences of ASTE-V2 that are found in SemEval's raw texts, and of the spans in them."""
    texts = {}
    for name in RAW[domain]:
        for element in etree.parse(shared_dir / "data" / "semeval2014" / name).iter("text"):
            texts.setdefault("".join(element.text.split()).lower(), element.text)
    sentences, spans = [], []
    for split in ("train", "dev", "test"):
        for words, tuples in aste_v2(domain, split):
            text = texts.get("".join(words).lower())
            if text is None:
                continue
            ours = [text[start:end] for start, end in split_words(text, "english")]
            sentences.append([word.lower() for word in ours] == [word.lower() for word in words])
            places, known = borders(words), set(borders(ours))
            for one in tuples:
                spans += [{places[start], places[end]} <= known for start, end in one[:2]]
    assert len(sentences) > 1300
    assert round(100 * sum(sentences) / len(sentences), 1) == same_sentences
    assert round(100 * sum(spans) / len(spans), 1) == 99.9


def test_words_and_their_pieces(tokenizer):
    row = encode_words(tokenizer, ["dear", "\ufe0f", "xyz", "", "far"], 50, 64)
    assert tokenizer.convert_ids_to_tokens(row["input_ids"]) == ["[CLS]", "dear", "x", "##y", "##z", "far", "[SEP]"]
    assert row["word_ids"] == [-1, 0, 2, 2, 2, 4, -1]
    assert (row["num_words"], row["truncated"]) == (5, False)
    assert row["attention_mask"] == [1] * 7


@pytest.mark.parametrize("add_prefix_space", [False, True])
def test_pieces_are_those_of_the_text_for_tokenizers_of_bytes(add_prefix_space):
    """BART's, which has a word behind a blank as another piece than one inside of a word."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "\u0120", "\u0120a", "\u0120b", "ab", "\u0120ab"]
    tokenizer = RobertaTokenizer(
        vocab={piece: number for number, piece in enumerate(pieces)},
        merges=[("\u0120", "a"), ("\u0120", "b"), ("a", "b"), ("\u0120a", "b")],
        add_prefix_space=add_prefix_space,
    )
    row = encode_words(tokenizer, ["ab", "", "a", "ba"], 50, 64)
    assert row["input_ids"] == tokenizer(" ab a ba").input_ids
    assert row["word_ids"] == [-1, 0, 2, 3, 3, -1]


def test_pieces_are_those_of_the_text_for_sentencepiece():
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -9.0), ("\u2581", -2.0), ("a", -3.0), ("b", -3.0)]
    tokenizer = T5Tokenizer(vocab=[*pieces, ("\u2581a", -1.0), ("\u2581ab", -1.0)])
    row = encode_words(tokenizer, ["ab", "", "a", "ba"], 50, 64)
    assert row["input_ids"] == tokenizer("ab a ba").input_ids
    assert row["word_ids"] == [0, 2, 3, 3, 3, -1]


@pytest.mark.parametrize(("max_length", "num_words"), [(7, 3), (6, 2), (5, 2), (4, 2), (3, 1), (2, 0)])
def test_no_word_is_cut_in_half(tokenizer, max_length, num_words):
    row = encode_words(tokenizer, ["dear", "far", "xyz", "near"], 50, max_length)
    assert max(row["word_ids"]) + 1 == row["num_words"] == num_words
    assert len(row["input_ids"]) <= max_length
    assert row["truncated"] is True


@pytest.mark.parametrize(
    ("max_length", "pieces", "word_ids"),
    [
        (64, "[CLS] dear [UNK] x ##y ##z far [UNK] near [SEP]", [-1, 0, -1, 1, 1, 1, 2, -1, 3, -1]),
        (9, "[CLS] dear [UNK] x ##y ##z far [UNK] [SEP]", [-1, 0, -1, 1, 1, 1, 2, -1, -1]),
        (6, "[CLS] dear [UNK] [SEP]", [-1, 0, -1, -1]),
    ],
)
def test_a_given_target_is_marked(tokenizer, max_length, pieces, word_ids):
    """This tokenizer knows no brackets."""
    row = encode_words(tokenizer, ["dear", "xyz", "far", "near"], 50, max_length, (1, 3))
    assert tokenizer.convert_ids_to_tokens(row["input_ids"]) == pieces.split()
    assert row["word_ids"] == word_ids
    assert (row["num_words"], row["truncated"]) == (max(word_ids) + 1, max_length < 64)
    assert row["attention_mask"] == [1] * len(word_ids)


def test_no_more_words_than_the_model_points_to(tokenizer):
    row = encode_words(tokenizer, ["dear"] * 5, 3, 64)
    assert (row["num_words"], max(row["word_ids"]), row["truncated"]) == (3, 2, True)
