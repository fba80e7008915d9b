"""absa/tasks/english.py: words as NLTK and the authors of AF-LSTM cut them, and where they stand in the text."""

import pytest
from transformers import AutoTokenizer

from absa.tasks.english import english_words
from absa.word_vectors import RANDOM, words_and_vectors

# What nltk.word_tokenize gives, in lower case and without what is no letter or digit.
SENTENCES = {
    "I don't like it.": "i do nt like it",
    "They can't, and we cannot!": "they ca nt and we can not",
    "It\u2019s the chef's best; we've eaten, they're glad I'd come and I'll stay.": (
        "it s the chef s best we ve eaten they re glad i d come and i ll stay"
    ),
    'Top-notch A/C for $1,500 -- "wow"...': "topnotch ac for 1500 wow",
    "From 10:30 to 12:00, 100% (really) [sic] #1 @ home & away?": "from 1030 to 1200 100 really sic 1 home away",
    "Cr\u00e8me br\u00fbl\u00e9e": "creme brulee",
    "Windows\u00a07 or 8.1": "windows 7 or 81",
}


@pytest.mark.parametrize("text", SENTENCES)
def test_words_of_known_sentences(text: str):
    assert " ".join(english_words([]).tokens(text)) == SENTENCES[text]


@pytest.mark.parametrize("signs", ["...", "-", "\u2014", "'", "_", "*****", "\U0001f44d", "\u0940", "\u0301", "$ ' -"])
def test_signs_alone_are_an_unknown_word(signs: str):
    assert english_words([]).tokens(signs) == ["[UNK]"]


def test_a_text_without_a_word_has_the_unknown_one():
    tokenizer, _ = words_and_vectors(RANDOM, english_words(["...", "good"]))
    assert tokenizer.convert_ids_to_tokens(range(len(tokenizer)))[:3] == ["[PAD]", "[UNK]", "good"]
    encoded = tokenizer("...", "good")
    assert (encoded["input_ids"], encoded["token_type_ids"]) == ([1, 2], [0, 1])


def test_offsets_slice_the_text_and_the_tokenizer_is_saved_whole(tmp_path):
    text = "Cr\u00e8me br\u00fbl\u00e9e wasn't top-notch, it\u2019s $1,500!"
    tokenizer, _ = words_and_vectors(RANDOM, english_words([text]))
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        encoded = one(text, "br\u00fbl\u00e9e")
        assert one.decode(encoded["input_ids"]) == "creme brulee was nt topnotch it s 1500 brulee"
        places = [slice(*encoded.token_to_chars(token)) for token in range(8)]
        cut = ["Cr\u00e8me", "br\u00fbl\u00e9e", "was", "n't", "top-notch", "it", "s", "1,500"]
        assert [text[place] for place in places] == cut
        assert encoded["token_type_ids"] == [0] * 8 + [1]
