"""Contexts and their names, the auxiliary sentence, and encoding."""

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import ByteLevel, Metaspace, Split
from transformers import BertTokenizer

from modeling_qacg_bert import Contexts, encode, encode_together, written_aspect, written_target, written_text
from modeling_qacg_bert.processing_qacg_bert import Origins, Word, words_of, written_with_origins

TARGETS = ("LOCATION1", "LOCATION2")
ASPECTS = ("general", "price", "transit-location", "safety")
SENTIHOOD = Contexts(TARGETS, ASPECTS)
RESTAURANTS = Contexts((), ("price", "anecdotes/miscellaneous", "food"))
WORDS = """
    [PAD] [UNK] [CLS] [SEP] [MASK] location - 1 2 general price transit safety anecdotes miscellaneous food
    is safe and dear the a very . ' s t but not ##s ##r
"""


@pytest.fixture
def tokenizer(tmp_path) -> BertTokenizer:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS.split()), encoding="utf-8")
    return BertTokenizer(str(tmp_path / "vocab.txt"))


def read(tokenizer: BertTokenizer, ids: list[int]) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(ids))


def test_ids_and_pairs_are_one_to_one():
    assert len(SENTIHOOD) == 8
    assert list(SENTIHOOD) == [(target, aspect) for target in TARGETS for aspect in ASPECTS]
    for context_id, pair in enumerate(SENTIHOOD):
        assert SENTIHOOD.id(*pair) == context_id
        assert SENTIHOOD.pair(context_id) == pair
    assert SENTIHOOD.id("LOCATION2", "price") == 5  # 1 * 4 aspects + 1


def test_ids_without_targets():
    assert list(RESTAURANTS) == [("", "price"), ("", "anecdotes/miscellaneous"), ("", "food")]
    assert RESTAURANTS.id(None, "food") == RESTAURANTS.id("", "food") == 2
    assert RESTAURANTS.pair(2) == ("", "food")


@pytest.mark.parametrize(
    ("contexts", "pair", "message"),
    [
        (
            SENTIHOOD,
            ("LOCATION3", "price"),
            r"target 'LOCATION3' is unknown: give one of \['LOCATION1', 'LOC",
        ),
        (SENTIHOOD, (None, "price"), r"target '' is unknown: give one of"),
        (SENTIHOOD, ("LOCATION1", "food"), r"aspect 'food' is unknown: give one of \['general', 'price'"),
        (RESTAURANTS, ("LOCATION1", "food"), r"target 'LOCATION1' is unknown: give no target"),
    ],
    ids=["target", "no_target", "aspect", "needless_target"],
)
def test_unknown_names(contexts, pair, message):
    with pytest.raises(ValueError, match=message):
        contexts.id(*pair)


@pytest.mark.parametrize("context_id", [-1, 8])
def test_unknown_ids(context_id):
    with pytest.raises(ValueError, match=f"context id {context_id} is unknown: give one of 0 to 7"):
        SENTIHOOD.pair(context_id)


def test_contexts_of_a_configuration(make_config, kind):
    config = make_config(kind, targets=list(TARGETS), aspects=list(ASPECTS))
    assert Contexts.from_config(config) == SENTIHOOD
    with pytest.raises(ValueError, match=f"this {kind}_bert names no aspects: set config.targets and config.aspects"):
        Contexts.from_config(make_config(kind))
    with pytest.raises(ValueError, match="aspects is empty"):
        Contexts(TARGETS, ())


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("LOCATION1 is safe", ["LOCATION1"]),
        ("LOCATION2 is dear, LOCATION1 is not", ["LOCATION1", "LOCATION2"]),
        ("in LOCATION1t and aLOCATION2", ["LOCATION1", "LOCATION2"]),
        ("LOCATION10 is not LOCATION2", ["LOCATION2"]),
        ("location1 is a word like any other", []),
        ("", []),
    ],
)
def test_placeholders_in_a_text(text, targets):
    assert SENTIHOOD.in_text(text) == [(target, aspect) for target in targets for aspect in ASPECTS]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("I moved to bath.", ["Bath"]),
        ("a bathroom in King's Cross", ["King's Cross"]),
        ("BATH, king's cross", ["Bath", "King's Cross"]),
        ("Kings Cross", []),
    ],
)
def test_names_in_a_text(text, targets):
    assert Contexts(("Bath", "King's Cross"), ("price",)).in_text(text) == [(target, "price") for target in targets]


def test_without_targets_every_text_has_every_context():
    assert RESTAURANTS.in_text("nothing of it") == list(RESTAURANTS)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("LOCATION1's safe", "location - 1 's safe"),
        ("  in LOCATION1t,\tLOCATION2\n ", "in location - 1 t, location - 2"),
        ("LOCATION10", "location - 10"),  # whether a model knows it or not
        (" Bath  is dear", "Bath is dear"),
        ("\ud83d \ud83d\ude00 \ude00", "\ufffd \U0001f600 \ufffd"),
    ],
)
def test_text_as_the_model_reads_it(text, written):
    assert written_text(text) == written


@pytest.mark.parametrize(
    ("contexts", "pair", "sentence"),
    [
        (SENTIHOOD, ("LOCATION1", "transit-location"), "location - 1 - transit location"),
        (SENTIHOOD, ("LOCATION2", "price"), "location - 2 - price"),
        (Contexts(("King's Cross",), ("price",)), ("King's Cross", "price"), "King's Cross - price"),
        (RESTAURANTS, (None, "price"), "price"),
        (RESTAURANTS, ("", "anecdotes/miscellaneous"), "anecdotes miscellaneous"),
    ],
)
def test_auxiliary_sentence(contexts, pair, sentence):
    assert contexts.auxiliary_sentence(*pair) == sentence


def test_written_names():
    assert written_target("TARGET_12") == "target - 12"
    assert written_target("Bath") == "Bath"
    assert written_aspect("FOOD#STYLE_OPTIONS") == "FOOD STYLE OPTIONS"


def test_encoding_of_a_pair(tokenizer):
    rows = encode(tokenizer, SENTIHOOD, ["LOCATION1 is safe", "LOCATION2"], ["LOCATION1", "LOCATION2"], ["price"] * 2)
    assert [read(tokenizer, ids) for ids in rows["input_ids"]] == [
        "[CLS] location - 1 is safe [SEP] location - 1 - price [SEP]",
        "[CLS] location - 2 [SEP] location - 2 - price [SEP]",
    ]
    assert rows["token_type_ids"] == [[0] * 7 + [1] * 6, [0] * 5 + [1] * 6]
    assert rows["attention_mask"] == [[1] * 13, [1] * 11]
    assert rows["context_ids"] == [1, 5]


def test_encoding_without_auxiliary_sentence(tokenizer):
    rows = encode(tokenizer, SENTIHOOD, ["LOCATION1 is safe"], ["LOCATION1"], ["safety"], auxiliary_sentence=False)
    assert read(tokenizer, rows["input_ids"][0]) == "[CLS] location - 1 is safe [SEP]"
    assert rows["token_type_ids"] == [[0] * 7]
    assert rows["context_ids"] == [3]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_long_text_is_cut_and_its_auxiliary_sentence_is_not(tokenizer, aspect):
    rows = encode(tokenizer, SENTIHOOD, ["the " * 5000, "the"], ["LOCATION2"] * 2, [aspect] * 2, mark_read=True)
    ids = rows["input_ids"][0]
    assert len(ids) == 512
    ending = f" [SEP] location - 2 - {written_aspect(aspect)} [SEP]"
    num_words = 511 - len(ending.split())  # all that [CLS] and the ending leave
    assert read(tokenizer, ids) == "[CLS]" + " the" * num_words + ending
    assert rows["read"] == [len("the " * num_words) - 1, None]


def test_least_max_length(tokenizer):
    # The longest auxiliary sentence, "location - 1 - transit location", has 6 tokens, and there are 3 special ones.
    arguments = (tokenizer, SENTIHOOD, ["the the"], ["LOCATION1"], ["price"])
    with pytest.raises(ValueError, match=r"max_length=9 leaves no room for the text: 9 tokens .* at least 10"):
        encode(*arguments, max_length=9)
    (ids,) = encode(*arguments, max_length=10)["input_ids"]
    # "price" makes 5 tokens, so both words fit.
    assert read(tokenizer, ids) == "[CLS] the the [SEP] location - 1 - price [SEP]"
    (ids,) = encode(*arguments[:-1], ["transit-location"], max_length=10)["input_ids"]
    # One word is left, though the auxiliary sentence is the longer part.
    assert read(tokenizer, ids) == "[CLS] the [SEP] location - 1 - transit location [SEP]"
    with pytest.raises(ValueError, match="max_length=2 leaves no room"):
        encode(*arguments, auxiliary_sentence=False, max_length=2)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["the", ""], r"text of row 1 is '': give a text that is not empty"),
        (["the", " \n\t "], r"text of row 1 is ' \\n\\t ': give a text that is not empty"),
        (["the", "\x00\u200b\u202e"], r"text of row 1 is '\\x00\\u200b\\u202e': give a text that is not empty"),
        ([None, "the"], r"text of row 0 is None \(NoneType\): give a string"),
        (["the", 3.5], r"text of row 1 is 3.5 \(float\): give a string"),
        (["the"], "1 texts, 2 targets, 2 aspects: give as many of each"),
    ],
    ids=["empty", "blank", "unseen", "none", "number", "too_few"],
)
def test_texts_that_cannot_be_read(tokenizer, texts, message):
    with pytest.raises(ValueError, match=message):
        encode(tokenizer, SENTIHOOD, texts, ["LOCATION1"] * 2, ["price"] * 2)


UNUSUAL_TEXTS = {
    "nul": "a\x00b",
    "emoji": "\U0001f600 safe \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "hebrew": "\u05de\u05e7\u05d5\u05dd \u05d1\u05d8\u05d5\u05d7",
    "right_to_left_marks": "\u202eLOCATION1\u202c",
    "replacement_character": "a\ufffdb",
    "zero_width_space": "safe\u200band",
    "lone_surrogate": "safe \ud83d and \ude00",
    "chinese": "\u5b89\u5168",
    "special_token": "[SEP] price",
}


@pytest.mark.parametrize("text", UNUSUAL_TEXTS.values(), ids=list(UNUSUAL_TEXTS))
def test_unusual_texts_are_encoded(tokenizer, text):
    rows = encode(tokenizer, SENTIHOOD, [text], ["LOCATION1"], ["price"])
    tokens = read(tokenizer, rows["input_ids"][0])
    assert tokens.startswith("[CLS] ")
    assert tokens.endswith(" [SEP] location - 1 - price [SEP]")
    assert rows["token_type_ids"][0][-6:] == [1] * 6
    assert len(rows["token_type_ids"][0]) == len(rows["attention_mask"][0]) == len(rows["input_ids"][0])


def test_encoding_of_no_rows(tokenizer):
    nothing = {"input_ids": [], "token_type_ids": [], "attention_mask": [], "context_ids": []}
    assert encode(tokenizer, SENTIHOOD, [], [], []) == nothing
    assert encode(tokenizer, SENTIHOOD, [], [], [], mark_read=True) == {**nothing, "read": []}


def test_a_text_is_encoded_once_with_all_its_contexts(tokenizer):
    texts = ["LOCATION1 is safe", "LOCATION2 is dear", "LOCATION1 is safe"]
    targets, aspects = ["LOCATION1", "LOCATION2", "LOCATION1"], ["price", "price", "safety"]
    rows, numbers = encode_together(tokenizer, SENTIHOOD, texts, targets, aspects, mark_read=True)
    assert numbers == [[0, 2], [1]]
    assert rows["context_ids"] == [[1, 3], [5]]
    apart = encode(tokenizer, SENTIHOOD, texts, targets, aspects, auxiliary_sentence=False)
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        assert rows[name] == apart[name][:2]
    assert rows["read"] == [None, None]


def test_together_as_alone_bad_input_is_refused(tokenizer):
    with pytest.raises(ValueError, match="1 texts, 2 targets, 1 aspects"):
        encode_together(tokenizer, SENTIHOOD, ["a"], ["LOCATION1", "LOCATION2"], ["price"])
    with pytest.raises(ValueError, match="aspect 'noise' is unknown"):
        encode_together(tokenizer, SENTIHOOD, ["a", "a"], ["LOCATION1", "LOCATION1"], ["price", "noise"])
    with pytest.raises(ValueError, match="text of row 0 is ' '"):
        encode_together(tokenizer, SENTIHOOD, [" "], ["LOCATION1"], ["price"])


SYMMETRIC = Contexts(TARGETS, ASPECTS, symmetric_targets=True)


@pytest.mark.parametrize("together", [False, True])
def test_symmetric_targets_change_places_with_the_first(tokenizer, together: bool):
    texts = ["LOCATION1 is not LOCATION2", "LOCATION2 is not LOCATION1"]
    way = encode_together if together else encode
    rows = [
        way(tokenizer, SYMMETRIC, [text], [target], ["price"]) for text, target in zip(texts, TARGETS, strict=True)
    ]
    assert rows[0] == rows[1]
    other = way(tokenizer, SYMMETRIC, texts[:1], ["LOCATION2"], ["price"])
    assert other != rows[0]
    assert SYMMETRIC.id("LOCATION2", "price") == SYMMETRIC.id("LOCATION1", "price") == 1


def test_with_symmetric_targets_a_text_is_a_row_for_each(tokenizer):
    text = "LOCATION1 is dear and LOCATION2 is safe"
    targets, aspects = ["LOCATION1", "LOCATION2", "LOCATION1", "LOCATION2"], ["price", "price", "safety", "safety"]
    rows, numbers = encode_together(tokenizer, SYMMETRIC, [text] * 4, targets, aspects)
    assert numbers == [[0, 2], [1, 3]]
    assert rows["context_ids"] == [[1, 3], [1, 3]]
    assert [read(tokenizer, ids) for ids in rows["input_ids"]] == [
        "[CLS] location - 1 is dear and location - 2 is safe [SEP]",
        "[CLS] location - 2 is dear and location - 1 is safe [SEP]",
    ]


def test_the_auxiliary_sentence_is_of_the_target_as_it_is_read(tokenizer):
    rows = encode(tokenizer, SYMMETRIC, ["LOCATION2 is safe"], ["LOCATION2"], ["price"])
    assert read(tokenizer, rows["input_ids"][0]) == "[CLS] location - 1 is safe [SEP] location - 1 - price [SEP]"


def test_symmetric_names_of_any_kind():
    contexts = Contexts(("Camden", "Camden Town", "LOCATION1"), ("price",), symmetric_targets=True)
    text = "camden is no Camden Town, Camdenville no LOCATION12"
    assert contexts.as_read(text, "Camden") == (text, "Camden")
    assert contexts.as_read(text, "Camden Town") == (
        "Camden Town is no Camden, Camdenville no LOCATION12",
        "Camden",
    )
    assert contexts.as_read("LOCATION1, not location1", "LOCATION1") == ("Camden, not location1", "Camden")
    assert Contexts((), ("price",), symmetric_targets=True).as_read(text, None) == (text, None)
    with pytest.raises(ValueError, match="target 'Soho' is unknown"):
        contexts.id("Soho", "price")


class Counting(BertTokenizer):
    """Keeps what it is given."""

    def __call__(self, texts, *arguments, **options):
        self.given = texts
        return super().__call__(texts, *arguments, **options)


@pytest.mark.parametrize("unit", ["is dear ", "a.", "\u00e9 ", "x" * 90 + " "])
def test_of_a_very_long_text_no_more_is_looked_at_than_can_be_read(tokenizer, unit: str):
    """The row is that of the whole text; what the tokenizer is given does not grow with it."""
    text = "  " * 5000 + unit * (200_000 // len(unit))
    sentence = SENTIHOOD.auxiliary_sentence("LOCATION1", "price")
    whole = tokenizer(written_text(text), sentence, truncation="only_first", max_length=40)
    tokenizer.__class__ = Counting
    rows = encode(tokenizer, SENTIHOOD, [text], ["LOCATION1"], ["price"], max_length=40, mark_read=True)
    assert 0 < rows["read"][0] <= 101 * 40
    assert rows["input_ids"] == [whole["input_ids"]]
    assert [len(one) for one in tokenizer.given] == [101 * 40]


def test_what_is_left_out_after_a_very_long_word_is_said(tokenizer):
    text = "x" * 9999 + " dear"
    rows = encode(tokenizer, SENTIHOOD, [text], ["LOCATION1"], ["price"], max_length=40, mark_read=True)
    assert rows["read"] == [101 * 40]
    assert tokenizer.unk_token_id in rows["input_ids"][0]


@pytest.mark.parametrize(("pre_tokenizer", "blank"), [(ByteLevel(add_prefix_space=False), "Ġ"), (Metaspace(), "▁")])
def test_a_blank_before_a_word_is_no_part_of_it(pre_tokenizer, blank: str):
    """As ModernBERT's and DeBERTa-v2's tokenizers count it; DeBERTa's also has pieces that are a blank alone."""
    pieces = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    pieces.pre_tokenizer = pre_tokenizer
    text = "LOCATION1 is\t dear"
    written = written_with_origins(Origins.of(text))
    encoding = pieces.encode(written.text)
    assert blank in "".join(token for token, _ in pre_tokenizer.pre_tokenize_str(written.text))
    assert any(written.text[start].isspace() for start, _ in encoding.offsets), "the tokenizer counts it"
    words = dict.fromkeys(words_of(encoding, written))
    assert [text[word.start : word.end] for word in words] == ["LOCATION1", "is", "dear"]
    alone = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    alone.pre_tokenizer = Split(" ", "isolated")
    assert words_of(alone.encode("a b"), Origins.of("a b")) == [Word(0, 1), None, Word(2, 3)]
