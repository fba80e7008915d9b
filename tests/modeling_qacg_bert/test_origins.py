"""What the characters a model reads stand for in the user's text: on thousands of texts of awkward pieces."""

import random
import re

import pytest
from transformers import AutoTokenizer

from modeling_qacg_bert import Contexts, encode, written_target, written_text
from modeling_qacg_bert.processing_qacg_bert import PLACEHOLDER, Origins, is_readable, written_with_origins

PIECES = [
    *("LOCATION1", "LOCATION_2", "ENTITY3", "TARGET", "1", "a", "safe", "unsafe", "don't", "-", "!", "\u2014"),
    *(" ", "  ", "\t", "\n", "\x1c", "\x85", "\u3000", "\u200b", "\u200d", "\x00"),
    *(
        "\xe9",
        "e\u0301",
        "a\u0308\u0323",
        "\u0130",
        "\ufb01",
        "\u4e2d",
        "\U0001f642",
        "\u2764\ufe0f",
        "\ud83d",
        "\ude00",
    ),
]
NUM_TEXTS = 3000


def texts() -> list[str]:
    generator = random.Random(0)
    return ["".join(generator.choices(PIECES, k=generator.randint(1, 10))) for _ in range(NUM_TEXTS)]


def paired(text: str) -> str:
    """With pairs of surrogates as the character they are, and lone ones as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_defined(text: str) -> str:
    """Placeholders as they are written, and runs of blanks as one."""
    text = paired(text)
    return " ".join(PLACEHOLDER.sub(lambda found: f" {written_target(found[0])} ", text).split())


def test_written_texts_and_their_origins():
    for text in texts():
        found = written_with_origins(Origins.of(text))
        assert found.text == written_text(text) == as_defined(text), ascii(text)
        assert len(found.spans) == len(found.text)
        last = (0, 0)
        for character, (start, end) in zip(found.text, found.spans, strict=True):
            if character == " ":  # one for a run of them, with those that are put around a placeholder
                continue
            assert last[0] <= start < end <= len(text), ascii(text)
            assert (start, end) == last or last[1] <= start, ascii(text)  # the same characters, or later ones
            last = (start, end)
            if PLACEHOLDER.fullmatch(text[start:end]) is None:
                assert character == paired(text[start:end]), ascii(text)


@pytest.mark.parametrize("case", ["LOCATION1", "a LOCATION1 b", "aLOCATION1b", "\tLOCATION1\n"])
def test_a_placeholder_is_one_origin(case: str):
    found = written_with_origins(Origins.of(case))
    place = re.search("location - 1", found.text)
    assert {case[start:end] for start, end in found.spans[place.start() : place.end()]} == {"LOCATION1"}


def test_words_are_in_order_apart_and_cover_their_tokens(tiny_bert):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    contexts = Contexts(("LOCATION1",), ("price",))
    readable = [text for text in texts() if is_readable(text)]
    assert len(readable) > 0.9 * NUM_TEXTS
    size = len(readable)
    rows = encode(
        tokenizer,
        contexts,
        readable,
        ["LOCATION1"] * size,
        ["price"] * size,
        max_length=64,
        origins=[Origins.of(text) for text in readable],
    )
    for text, words, ids, segments in zip(
        readable, rows["words"], rows["input_ids"], rows["token_type_ids"], strict=True
    ):
        special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        is_text = [segment == 0 and token not in special for segment, token in zip(segments, ids, strict=True)]
        assert [word is not None for word in words] == is_text, ascii(text)
        distinct = list(dict.fromkeys(word for word in words if word is not None))
        for word, following in zip(distinct, [*distinct[1:], (len(text), None)], strict=True):
            assert word.start < word.end <= following[0], ascii(text)
            found = text[word.start : word.end]
            assert is_readable(written_text(found)), ascii(text)
            assert found == found.strip(), ascii(text)
