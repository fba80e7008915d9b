"""What holds for any text whatever: of processing, of names, of the pipeline."""

import random
from itertools import pairwise

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode, written_target, written_text
from modeling_qacg_bert.names_qacg_bert import OwnNames
from modeling_qacg_bert.processing_qacg_bert import PLACEHOLDER, Origins, is_readable, written_with_origins
from modeling_qacg_bert.sentences_qacg_bert import passages, sentences

# Any code point, lone surrogates among them, which JSON can hold; and what the project itself looks for in texts.
PIECES = ("LOCATION1", "LOCATION2", "location - 1", "Camden", "King's Cross", "\N{RIGHT SINGLE QUOTATION MARK}s", " ")
PIECES += ("\u0301", "\N{ZERO WIDTH JOINER}", "\U0001f642", "[SEP]", "[PAD]", "\n", "is dear")
ANY_TEXT = st.text(st.characters(codec=None))
TEXT = st.one_of(ANY_TEXT, st.lists(st.one_of(st.sampled_from(PIECES), ANY_TEXT), max_size=8).map("".join))
READABLE = TEXT.filter(is_readable)
NAMES = {"Camden": "LOCATION1", "King's Cross": "LOCATION2", "Cross": "LOCATION1"}
CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety"))
often = settings(max_examples=150, deadline=None, derandomize=True)
seldom = settings(often, max_examples=30, suppress_health_check=[HealthCheck.too_slow])


def paired(text: str) -> str:
    """With pairs of surrogates as the character they are, and lone ones as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_defined(text: str) -> str:
    """Placeholders as they are written, and runs of blanks as one."""
    return " ".join(PLACEHOLDER.sub(lambda found: f" {written_target(found[0])} ", paired(text)).split())


@given(TEXT)
@often
@example("\tLOCATION1\n")
@example("LOCATION1\u0301LOCATION2")
@example("\ud83d\ude42 \ud800")
def test_writing_is_done_once_and_knows_where_everything_comes_from(text: str):
    written = written_text(text)
    assert written_text(written) == written
    assert written == as_defined(text)
    origins = written_with_origins(Origins.of(text))
    assert origins.text == written
    assert origins.source == text
    assert len(origins.spans) == len(written)
    last = (0, 0)
    for character, (start, end) in zip(written, origins.spans, strict=True):
        if character == " ":  # one for a run of them, with those that are put around a placeholder
            continue
        assert last[0] <= start < end <= len(text)
        assert (start, end) == last or last[1] <= start  # the same characters, or later ones
        last = (start, end)
        if PLACEHOLDER.fullmatch(text[start:end]) is None:
            assert character == paired(text[start:end])


@given(TEXT)
@often
def test_names_are_replaced_where_they_stand(text: str):
    names = OwnNames(NAMES)
    if any(target in names.pattern.sub(" ", text) for target in ("LOCATION1", "LOCATION2")):
        return  # refused: see test_names.py
    for name in names.in_text(text):
        about = names.text_about(name, text)
        assert NAMES[name] in about
        origins = names.origins_about(name, text)
        assert origins.text == about
        standing_for = {text[start:end].casefold() for start, end in origins.spans if end - start > 1}
        assert all(names.pattern.fullmatch(word) for word in standing_for)


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@given(st.lists(st.tuples(READABLE, st.sampled_from(list(CONTEXTS))), max_size=4), st.integers(24, 64))
@often
def test_rows_are_as_many_as_questions_and_fit(tokenizer, questions: list, max_length: int):
    texts, pairs = ([question[part] for question in questions] for part in (0, 1))
    targets, aspects = ([pair[part] for pair in pairs] for part in (0, 1))
    rows = encode(
        tokenizer,
        CONTEXTS,
        texts,
        targets,
        aspects,
        max_length=max_length,
        mark_read=True,
        origins=list(map(Origins.of, texts)),
    )
    assert {len(column) for column in rows.values()} == {len(questions)}
    assert [CONTEXTS.pair(context_id) for context_id in rows["context_ids"]] == pairs
    for row, (text, pair) in enumerate(questions):
        ids = rows["input_ids"][row]
        assert len(ids) <= max_length
        sentence = tokenizer(CONTEXTS.auxiliary_sentence(*pair), add_special_tokens=False)["input_ids"]
        assert ids[-len(sentence) - 1 :] == [*sentence, tokenizer.sep_token_id]
        num_text = rows["token_type_ids"][row].count(0)
        is_text = [0 < place < num_text - 1 for place in range(len(ids))]  # behind [CLS], before [SEP]
        assert [word is not None for word in rows["words"][row]] == is_text
        words = [word for word in rows["words"][row] if word is not None]
        distinct = list(dict.fromkeys(words))
        for word, following in pairwise([*distinct, (len(text), None)]):
            assert word.start < word.end <= following[0]
            found = text[word.start : word.end]
            assert found == found.strip()


@given(TEXT, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=4))
@often
def test_sentences_and_passages_leave_out_blanks_only(text: str, lengths: list):
    if not is_readable(text):
        return
    first = len(text) - len(text.lstrip())
    mentions = [(first + at, min(first + at + length, len(text))) for at, length in lengths if first + at < len(text)]
    for spans in (sentences(text), passages(text, mentions)):
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert all(is_readable(text[start:end]) and text[start:end].strip() == text[start:end] for start, end in spans)
        if spans:
            kept = "".join(text[start:end] for start, end in spans)
            assert "".join(kept.split()) == "".join(text.split())


@pytest.fixture(scope="module")
def pipe(make_checkpoint):
    folder = make_checkpoint(0.3)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    return AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(folder))


@given(st.lists(TEXT, max_size=5), st.integers(1, 9), st.randoms(use_true_random=False))
@seldom
def test_the_pipeline_answers_any_texts_in_order(pipe, texts: list[str], batch_size: int, order: random.Random):
    answers = pipe(texts, return_all=True, batch_size=batch_size)
    assert len(answers) == len(texts)
    for text, own in zip(texts, answers, strict=True):
        about = dict.fromkeys((answer["target"], answer["aspect"]) for answer in own)
        assert list(about) == (CONTEXTS.in_text(text) if is_readable(text) else [])
        for answer in own:
            assert sum(answer["probabilities"].values()) == pytest.approx(1)
            assert answer["label"] in answer["probabilities"]
    shuffled = list(range(len(texts)))
    order.shuffle(shuffled)
    for number, own in zip(shuffled, pipe([texts[number] for number in shuffled], return_all=True), strict=True):
        assert [answer["score"] for answer in own] == pytest.approx(
            [answer["score"] for answer in answers[number]], abs=1e-5
        )


@given(TEXT, st.sampled_from(list(CONTEXTS)), st.sampled_from([True, "attention"]))
@seldom
def test_the_pipeline_explains_any_text(pipe, text: str, pair: tuple[str, str], explain: bool | str):
    question = {"text": text, "target": pair[0], "aspect": pair[1]}
    if not is_readable(text):
        with pytest.raises(ValueError, match="something to read"):
            pipe(question, explain=explain)
        return
    words = pipe(question, explain=explain)["words"]
    assert all(text[word["start"] : word["end"]] == word["word"] for word in words)
    places = [(word["start"], word["end"]) for word in words]
    assert places == sorted(places)
    values = [word["relevance" if explain is True else "attention"] for word in words]
    assert torch.tensor(values).isfinite().all()
