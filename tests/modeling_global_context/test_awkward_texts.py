"""Awkward texts in a stranger's process: where answers stand, and that their probabilities are such."""

import random
from itertools import pairwise

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from modeling_global_context import labels_of

PIECES = [
    *("the battery life", "is nice,", "but", "dull!", "safe", "near", "cheap", "dear.", "it", "LOCATION1"),
    *("isn't", "Can\u2019t", "they\u2019ll", "o'clock", "'quoted'", "\u201ccurly\u201d", "rock'n'roll", "''", '""'),
    *("1,000.50", "$1,000/day", "3\u00bd", "10%", "24/7", "U.S.", "best-seller", "--", "...", "?!?!", "#tag"),
    *("\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\u2764\ufe0f"),  # emoji
    *("\U0001f1e9\U0001f1ea", "1\ufe0f\u20e3", "\ufe0f", "\u200d", "\u200b", "\ufeff", "\u00ad", "\u2028", "\u0085"),
    *("cafe\u0301", "e\u0301\u0302\u0323", "\u0301", "Z\u0351\u036b\u0343a\u034a\u0365l\u0367", "\u0130stanbul"),
    *("\u05e9\u05dc\u05d5\u05dd", "\u202e\u05d0\u202c", "\u0627\u0644\u0633\u0639\u0631", "\u200fabc\u200e"),
    *("\u0915\u094d\u0937\u093f", "\u0e44\u0e17\u0e22\u0e14\u0e35", "\uac00\u1100\u1161", "\u4e2d\u6587", "\u5b57"),
    *("\U00020000\U0002a6d6", "\U0001d54f\U0001d4ea", "\U00010348", "\U0010ffff", "\ue000", "\ufffd"),  # astral
    *("\uff26\uff55\uff4c\uff4c", "\uff11\uff10\uff05", "\ufb01ne", "\u1e9e\u00df", "\u210c", "\u2460", "\u3000"),
    *("\x00", "a\x00b", "\x07\x1b[0m", "\x7f", "\x80\x9f", "<b>bold</b>", "&amp;&nbsp;", "</s>", "[SEP]", "[MASK]"),
    *("x" * 300, "ab\u0301" * 80, "-" * 70, "http://a.b/c?d=e&f=%20", "\\n\\t", "{}", "%s", "`code`", "|", "@user"),
]  # fmt: skip
BETWEEN = [" ", " ", " ", "", "  ", "\n", "\t", "\r\n", "\u00a0", "\u200b"]
BLANK = ["", " ", "\n\t\r\n", "\u3000\u00a0", "\x00", "\x00 \x07", "\ufe0f", "\u200b \u200d", "\ufeff"]
ENCODER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
ENCODER |= {"initializer_range": 0.5}


def awkward_texts(count: int) -> list[str]:
    """Blank ones, texts of thousands of words, and for the rest some pieces side by side; always the same."""
    generator = random.Random(0)
    texts = list(BLANK)
    for number in range(count - len(texts)):
        length = 2000 if number % 500 == 0 else generator.randrange(1, 20)
        texts.append("".join(generator.choice(PIECES) + generator.choice(BETWEEN) for _ in range(length)))
    return texts


def check_places(text: str, places: list[tuple[int, int]]):
    """They are in the text, in order, and share no character."""
    assert all(0 <= start < end <= len(text) for start, end in places), (text, places)
    assert all(end <= start for (_, end), (start, _) in pairwise(places)), (text, places)


def check_terms(texts: list[str], answered: list[list[dict]]):
    """Answers of "aspect-term-sentiment"."""
    for text, answers in zip(texts, answered, strict=True):
        check_places(text, [(answer["target_start"], answer["target_end"]) for answer in answers])
        for answer in answers:
            assert text[answer["target_start"] : answer["target_end"]] == answer["target"]
            assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-5)
            assert sum(answer["sentiment"].values()) == pytest.approx(1, abs=1e-5)
            assert all(-1e-9 <= probability <= 1 + 1e-9 for probability in answer["probabilities"].values())
            assert answer["label"] == max(answer["sentiment"], key=answer["sentiment"].get)
            assert answer["score"] == answer["probabilities"][answer["label"]]


def check_groups(texts: list[str], answered: list[list[dict]]):
    """Answers of "token-classification" with an aggregation_strategy; `word` is the tokenizer's, not the text's."""
    for text, groups in zip(texts, answered, strict=True):
        check_places(text, [(group["start"], group["end"]) for group in groups])
        assert all(0 < group["score"] <= 1 + 1e-6 for group in groups)


def byte_level_tokenizer(texts: list[str]) -> PreTrainedTokenizerBase:
    """As RoBERTa's: a character of several bytes may be several tokens, and a token begins with a blank."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts[:300], trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=True)
    names = {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **names, cls_token="<s>", sep_token="</s>", model_max_length=64
    )


@pytest.mark.parametrize(
    ("tokens", "scheme", "crf", "count"),
    [
        pytest.param("bert", "BIEOS", False, 3000, marks=pytest.mark.slow),
        pytest.param("bytes", "BIO", True, 3000, marks=pytest.mark.slow),
    ],
)
def test_a_stranger_gets_places_in_his_own_texts(
    tokens, scheme, crf, count, tiny_bert, make_model, stranger, tmp_path
):
    texts = awkward_texts(count)
    if tokens == "bert":
        tokenizer, encoder = AutoTokenizer.from_pretrained(tiny_bert), BertConfig
    else:
        tokenizer, encoder = byte_level_tokenizer(texts), RobertaConfig
    encoder = encoder(**ENCODER, vocab_size=len(tokenizer), max_position_embeddings=66)
    model = make_model(encoder, labels=labels_of(scheme, ["POS", "NEG"]), crf=crf)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    pipelines = {"aspect-term-sentiment": {}, "token-classification": {"aggregation_strategy": "first"}}
    batch = {"input_ids": torch.ones(1, 2, dtype=torch.long)}
    report, _ = stranger(tmp_path, batch, AutoModelForTokenClassification, pipelines, texts)
    terms, groups = report["answers"].values()
    check_terms(texts, terms)
    check_groups(texts, groups)
    assert min(sum(map(bool, terms)), sum(map(bool, groups))) > 0.9 * (count - len(BLANK))  # texts with answers
    assert not any(answers for text, answers in zip(texts, terms, strict=True) if not text.strip())
