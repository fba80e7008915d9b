"""The pipelines: words of texts, answers and where they stand, probabilities, batches, and groups of BIEOS tags."""

import copy
from itertools import chain, pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset
from transformers import (
    AutoTokenizer,
    BertConfig,
    RobertaConfig,
    RobertaTokenizer,
    TokenClassificationPipeline,
)

from modeling_global_context import (
    AspectTermSentimentPipeline,
    TaggingPipeline,
    encode_words,
    labels_of,
    spans_of,
    split_words,
)

TYPES = ["POS", "NEG", "NEU"]
TEXTS = [
    "the battery life is nice, but dull",
    "safe",
    "",
    "cheap and near and far and dear, it's not nice!",
    " \n\t",
    "near far cheap dear " * 3,
]
ENCODER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture(scope="module")
def make_pipe(tokenizer, make_model):
    """A pipeline whose model finds terms of all kinds here and there."""

    def make(scheme: str = "BIEOS", types=TYPES, **changes) -> AspectTermSentimentPipeline:
        encoder = BertConfig(**ENCODER, vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.5)
        parameters = {name: changes.pop(name) for name in ("decoding", "batch_size") if name in changes}
        model = make_model(encoder, labels=labels_of(scheme, types), **changes)
        with torch.no_grad():
            starts = torch.tensor([label[0] in "BS" for label in model.config.labels])
            model.classifier.bias += 1.5 * starts
        return AspectTermSentimentPipeline(model=model, tokenizer=tokenizer, **parameters)

    return make


@pytest.fixture(scope="module")
def pipes(make_pipe):
    return {(scheme, crf): make_pipe(scheme, crf=crf) for scheme, crf in product(["BIEOS", "BIO"], [False, True])}


def test_an_answer(make_pipe):
    (answer, *_) = make_pipe()(TEXTS[3])
    assert list(answer) == [
        *("target", "target_start", "target_end", "aspect", "label", "score", "present", "sentiment"),
        *("probabilities", "truncated"),
    ]
    assert TEXTS[3][answer["target_start"] : answer["target_end"]] == answer["target"] != ""
    assert answer["aspect"] == ""
    assert list(answer["probabilities"]) == ["positive", "negative", "neutral", "none"]
    assert list(answer["sentiment"]) == ["positive", "negative", "neutral"]
    assert sum(answer["probabilities"].values()) == pytest.approx(1)
    assert sum(answer["sentiment"].values()) == pytest.approx(1)
    assert answer["score"] == pytest.approx(answer["sentiment"][answer["label"]] * answer["present"])
    assert answer["probabilities"][answer["label"]] == answer["score"]
    assert answer["truncated"] is False


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60), st.sampled_from(["constrained", "greedy"]))
def test_a_target_is_what_stands_at_its_place(pipes, text, decoding):
    for pipe in pipes.values():
        before = 0
        for answer in pipe(text, decoding=decoding):
            assert text[answer["target_start"] : answer["target_end"]] == answer["target"] != ""
            assert before <= answer["target_start"]
            before = answer["target_end"]


def test_words_of_byte_level_tokenizers_stand_behind_a_blank():
    """RoBERTa's tokenizer, which adds no blank to words that are handed over one by one."""
    vocabulary = {token: number for number, token in enumerate(["<s>", "</s>", "<pad>", "<unk>", "<mask>"])}
    for token in [*"Ġsoup", "Ġs", "ou", "Ġsou", "Ġsoup", "so", "sou", "soup"]:
        vocabulary.setdefault(token, len(vocabulary))
    merges = [("Ġ", "s"), ("o", "u"), ("Ġs", "ou"), ("Ġsou", "p"), ("s", "ou"), ("sou", "p")]
    tokenizer = RobertaTokenizer(vocab=vocabulary, merges=merges)
    encoded = encode_words(tokenizer, ["soup", "soup"], 16)
    assert tokenizer.convert_ids_to_tokens(encoded["input_ids"]) == ["<s>", "Ġsoup", "Ġsoup", "</s>"]
    assert encoded["word_mask"] == [0, 1, 1, 0]


@pytest.mark.parametrize("decoding", ["constrained", "greedy"])
@pytest.mark.parametrize("crf", [False, True])
@pytest.mark.parametrize("scheme", ["BIEOS", "BIO"])
def test_probabilities_are_those_of_the_formulas(naive, make_pipe, scheme, crf, decoding):
    """By enumeration of all tags of a sentence: that its span has exactly these borders and this type."""
    pipe = make_pipe(scheme, ["POS", "NEG"], crf=crf, calibration_temperature=1.7, decoding=decoding)
    model, num_found = pipe.model, 0
    labels = model.config.labels
    for text in ("dear near far", "is safe", "cheap dull and", "nice nice far", "but near", "and far is", "nice"):
        row = encode_words(pipe.tokenizer, text.split(), 64)
        inputs = {name: torch.tensor([row[name]]) for name in ("input_ids", "attention_mask", "token_type_ids")}
        with torch.no_grad():
            emissions = model(**inputs).emissions[0][torch.tensor(row["word_mask"]).bool()].double() / 1.7
        chain = [part / 1.7 for part in model.chain(emissions)]
        field = naive.NaiveField(emissions, *chain)
        for answer in pipe(text):
            num_found += 1
            first, last = (
                text[: answer[place]].count(" ") for place in ("target_start", "target_end")
            )  # numbers of words
            for type_, name in (("POS", "positive"), ("NEG", "negative")):

                def is_this(path, span=(first, last + 1, type_)):
                    return span in spans_of([labels[number] for number in path], scheme)

                expected = field.probability(is_this).item()
                assert answer["probabilities"][name] == pytest.approx(expected, abs=1e-9)
    assert num_found > 2


def test_temperature_moves_probabilities_and_no_term(make_pipe):
    cold, hot = make_pipe(), make_pipe(calibration_temperature=3.0)
    for before, after in zip(cold(TEXTS[3]), hot(TEXTS[3]), strict=True):
        assert (before["target"], before["label"]) == (after["target"], after["label"])
        assert before["score"] > after["score"]


def test_types_without_another_name_keep_their_own(make_pipe):
    answers = make_pipe("BIO", ["PER", "POS"], polarities={"POS": "place"})(TEXTS)
    assert {name for of_text in answers for answer in of_text for name in answer["sentiment"]} == {"PER", "place"}


@pytest.mark.parametrize("crf", [False, True])
def test_batches_change_no_answer(make_pipe, crf):
    pipe = make_pipe(crf=crf)
    expected = [pipe(text) for text in TEXTS]
    assert expected[2] == expected[4] == []
    for batch_size in (1, 2, 32):
        for given_, wanted in zip(pipe(TEXTS, batch_size=batch_size), expected, strict=True):
            assert [answer["target_start"] for answer in given_] == [answer["target_start"] for answer in wanted]
            for one, other in zip(given_, wanted, strict=True):
                assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


def test_the_tokenizers_padding_side_changes_no_answer(make_pipe):
    right, left = make_pipe(), make_pipe()
    left.tokenizer = copy.deepcopy(left.tokenizer)
    left.tokenizer.padding_side = "left"
    expected, given = right(TEXTS), left(TEXTS)
    assert sum(map(len, expected)) > 2
    for one, other in zip(chain(*given), chain(*expected), strict=True):
        assert one["target_start"] == other["target_start"]
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


class Texts(Dataset):
    def __len__(self):
        return len(TEXTS)

    def __getitem__(self, number):
        return TEXTS[number]


def test_inputs(make_pipe):
    pipe = make_pipe()
    expected = pipe(TEXTS)
    assert pipe(tuple(TEXTS)) == expected
    assert list(pipe(text for text in TEXTS)) == list(pipe(Texts())) == expected
    assert pipe([]) == []
    assert list(pipe(iter([]))) == []


def test_words_instead_of_a_text(make_pipe):
    pipe = make_pipe()
    words = ["cheap", "and", "near", ",", "", "it", "is", "dear"]
    answers = pipe({"words": words})
    assert pipe([{"words": words}]) == [answers]
    assert answers
    for answer in answers:
        assert " ".join(words)[answer["target_start"] : answer["target_end"]] == answer["target"]
    assert pipe({"words": []}) == []


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (["safe", 3], r"input 1: it is 3 \(int\)"),
        (["safe", None], "input 1: it is None"),
        ({"text": "safe"}, r'input 0: it is .*give a text or \{"words"'),
        ({"words": "safe"}, "input 0"),
        ({"words": ["safe", 3]}, "input 0"),
        (b"safe", "the input is b'safe'"),
        (3, "the input is 3"),
    ],
    ids=str,
)
def test_inputs_that_are_no_texts_are_refused(make_pipe, inputs, said):
    with pytest.raises(ValueError, match=said):
        make_pipe()(inputs)


def test_an_error_comes_behind_the_answers_before_it(make_pipe):
    pipe = make_pipe()
    answers = pipe(iter([*TEXTS, 3]))
    assert [next(answers) for _ in TEXTS] == pipe(TEXTS)
    with pytest.raises(ValueError, match="input 6"):
        next(answers)


def test_a_table_is_refused(make_pipe):
    import pandas as pd

    with pytest.raises(ValueError, match="table"):
        make_pipe()(pd.DataFrame({"text": TEXTS}))


def test_parameters(make_pipe):
    pipe = make_pipe()
    with pytest.raises(TypeError, match="theme"):
        pipe("safe", theme="dark")
    with pytest.raises(ValueError, match="decoding='beam'"):
        pipe("safe", decoding="beam")
    with pytest.raises(ValueError, match="batch_size=0"):
        pipe("safe", batch_size=0)
    assert make_pipe(decoding="greedy")(TEXTS) == pipe(TEXTS, decoding="greedy") != pipe(TEXTS)


def test_labels_without_spans_are_refused(tokenizer, make_model):
    with pytest.raises(ValueError, match="token-classification"):
        AspectTermSentimentPipeline(model=make_model(labels=["NN", "VB"]), tokenizer=tokenizer)


def test_the_end_of_a_long_text_is_not_read(make_pipe):
    pipe = make_pipe()
    text = "dear near far cheap " * 30
    answers = pipe(text)
    assert answers
    assert all(answer["truncated"] for answer in answers)
    assert max(answer["target_end"] for answer in answers) <= len(" ".join(text.split()[:62]))
    assert pipe("x" * 90) == []  # one word, which is longer than the model reads


def test_answers_of_a_broken_model_are_refused(make_pipe):
    pipe = make_pipe()
    torch.nn.init.constant_(pipe.model.classifier.bias, float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        pipe("safe")


def test_words_and_their_tokens(tokenizer):
    row = encode_words(tokenizer, ["dear", "\ufe0f", "xyz", "", "far"], 64)
    tokens = tokenizer.convert_ids_to_tokens(row["input_ids"])
    assert tokens == ["[CLS]", "dear", "x", "##y", "##z", "far", "[SEP]"]
    assert row["word_mask"] == [0, 1, 1, 0, 0, 1, 0]
    assert row["word_numbers"] == [0, 2, 4]
    assert row["truncated"] is False


@pytest.mark.parametrize(("max_length", "num_words"), [(7, 3), (6, 2), (5, 2), (4, 2), (3, 1)])
def test_no_word_is_cut_in_half(tokenizer, max_length, num_words):
    row = encode_words(tokenizer, ["dear", "far", "xyz", "near"], max_length)
    assert row["word_numbers"] == list(range(num_words))
    assert len(row["input_ids"]) <= max_length
    assert row["truncated"] is True


@pytest.mark.parametrize(
    ("splitting", "text", "words"),
    [
        ("english", "Isn't it the U.S. best-seller?", "Is n't it the U.S . best-seller ?"),
        ("english", "It's 1,000/day, can't wait...", "It 's 1,000/day , ca n't wait . . ."),
        ("english", "they\u2019ll 'quote' o'clock", "they \u2019ll ' quote ' o ' clock"),
        ("english", "cafe\u0301s cost $5", "cafe\u0301s cost $ 5"),
        ("english", "n't well-don't", "n't well-do n't"),
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
    st.text(alphabet=st.sampled_from("ab'nt.-, s\u0301é\u200d\U0001f44d\u0600"), max_size=30),
    st.sampled_from(["english", "characters"]),
)
def test_words_cover_all_but_blanks(text, splitting):
    spans = split_words(text, splitting)
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def fixed_tagger(make_model, tokenizer, labels, tags, **changes):
    """A model that gives each word of the vocabulary one tag, whatever stands beside it."""
    model = make_model(
        None, labels=labels, vocab_size=len(tokenizer), embedding_size=len(labels), use_bilstm=False,
        interaction="none", **changes,
    )  # fmt: skip
    with torch.no_grad():
        model.model.embeddings.weight.zero_()
        for word, tag in tags.items():
            model.model.embeddings.weight[tokenizer.convert_tokens_to_ids(word), labels.index(tag)] = 9.0
        model.classifier.weight.copy_(torch.eye(len(labels)))
        model.classifier.bias.copy_(4 * torch.eye(len(labels))[0])
    return model


GROUPED = [("POS", "safe and near"), ("NEG", "far"), ("POS", "cheap"), ("POS", "nice")]


@pytest.mark.parametrize("scheme", ["BIEOS", "BIO"])
@pytest.mark.parametrize("crf", [False, True])
def test_groups_of_the_token_classification_pipeline(make_model, tokenizer, scheme, crf):
    labels = labels_of(scheme, ["POS", "NEG"])
    tags = {"safe": "B-POS", "and": "I-POS", "near": "E-POS", "far": "S-NEG", "cheap": "S-POS", "nice": "S-POS"}
    if scheme == "BIO":
        tags = {word: tag.replace("S-", "B-").replace("E-", "I-") for word, tag in tags.items()}
    model = fixed_tagger(make_model, tokenizer, labels, tags, crf=crf)
    for strategy in ("simple", "first"):
        groups = TaggingPipeline(model=model, tokenizer=tokenizer, aggregation_strategy=strategy)
        text = "is safe and near far is cheap nice"
        assert [(one["entity_group"], text[one["start"] : one["end"]]) for one in groups(text)] == GROUPED
    assert [answer["target"] for answer in AspectTermSentimentPipeline(model=model, tokenizer=tokenizer)(text)] == [
        target for _, target in GROUPED
    ]


def test_parts_of_speech_need_nothing_of_ours(make_model, tokenizer):
    model = fixed_tagger(make_model, tokenizer, ["NN", "VB"], {"location": "NN", "is": "VB"})
    tagged = TokenClassificationPipeline(model=model, tokenizer=tokenizer)("location is")
    assert [(one["word"], one["entity"]) for one in tagged] == [("location", "NN"), ("is", "VB")]


def test_positions_behind_that_of_padding(tokenizer, make_model):
    """RoBERTa has so many fewer for a text; the tokenizer does not say it."""
    own = copy.deepcopy(tokenizer)
    own.model_max_length = 1000
    encoder = RobertaConfig(**ENCODER, vocab_size=len(own), max_position_embeddings=20, pad_token_id=0)
    pipe = AspectTermSentimentPipeline(model=make_model(encoder, labels=labels_of("BIO", TYPES)), tokenizer=own)
    assert pipe._max_length == 19
    pipe("near far cheap dear " * 9)
