"""The pipeline: answers and where they stand, their probabilities, tasks, given aspect terms, batches."""

import copy
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, BertConfig, RobertaConfig

from absa.tasks.sequences import Indices
from modeling_generative_absa import AspectOpinionPipeline, encode_words

KEYS = ["target", "target_start", "target_end", "opinion", "opinion_start", "opinion_end"]
KEYS += ["label", "score", "probabilities", "truncated"]
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
    """A pipeline whose model says something of all kinds here and there."""

    def make(*tasks: str, **changes) -> AspectOpinionPipeline:
        encoder = BertConfig(**ENCODER, vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.5)
        parameters = {name: changes.pop(name) for name in ("task", "num_beams", "abstain_below") if name in changes}
        fields = {"max_words": 50, "max_tuples": 4, "tasks": list(tasks) or ["aste"]}
        model = make_model(encoder, **{**fields, **changes})
        with torch.no_grad():
            model.model.embeddings.classes.weight[1] *= -1  # so that few sequences end at once
        return AspectOpinionPipeline(model=model, tokenizer=tokenizer, **parameters)

    return make


@pytest.fixture(scope="module")
def pipe(make_pipe):
    return make_pipe()


def check(text: str, answers: list[dict], fields=("target", "opinion", "label")):
    for answer in answers:
        assert list(answer) == KEYS
        for field in ("target", "opinion"):
            place = slice(answer[f"{field}_start"], answer[f"{field}_end"])
            assert (answer[field] is not None) == (field in fields)
            if field in fields:
                assert text[place] == answer[field] != ""
        assert (answer["label"] is not None) == ("label" in fields) == (answer["probabilities"] is not None)
        if "label" in fields:
            assert answer["probabilities"][answer["label"]] == max(answer["probabilities"].values())
            assert list(answer["probabilities"]) == ["positive", "negative", "neutral"]
            assert sum(answer["probabilities"].values()) == pytest.approx(1)
        assert 0 < answer["score"] <= 1 + 1e-9
        assert isinstance(answer["truncated"], bool)


def test_answers(pipe):
    answered = pipe(TEXTS)
    assert sum(map(bool, answered)) >= 3
    assert answered[2] == answered[4] == []
    for text, answers in zip(TEXTS, answered, strict=True):
        check(text, answers)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_what_is_found_is_what_stands_at_its_place(pipe, text):
    check(text, pipe(text))


def test_a_corpus_of_awkward_texts(pipe):
    pieces = ["nice", "isn't", "\U0001f600\U0001f3fd", "\u00a0", "cafe\u0301", "\u4e2d\u6587", "\x00", "</s>", "[SEP]"]
    pieces += ["\ud83d", "\u200b", "far.", "\u05e9\u05dc", "...", " ", "\n"]
    generator = random.Random(0)
    texts = ["".join(generator.choices(pieces, k=generator.randrange(1, 25))) for _ in range(100)]
    texts.append("nice far " * 5000)
    answered = pipe(texts)
    assert sum(map(bool, answered)) > 60
    for text, answers in zip(texts, answered, strict=True):
        check(text, answers)
    assert answered[-1]
    assert all(answer["truncated"] for answer in answered[-1])


@pytest.mark.parametrize("num_beams", [1, 3])
def test_scores_are_products_of_probabilities_among_legal_indices(make_pipe, naive, num_beams):
    pipe = make_pipe(calibration_temperature=1.7, num_beams=num_beams)
    model, text = pipe.model, TEXTS[3].replace(",", "").replace("'s", "").replace("!", "")
    model.generation_config.length_penalty = 9.0  # else the beams end at once
    words = text.split()
    row = encode_words(pipe.tokenizer, words, 50, 64)
    inputs = {name: torch.tensor([row[name]]) for name in ("input_ids", "attention_mask", "word_ids")}
    answers = pipe(text)
    assert len(answers) > 1
    sequence = [0]
    offsets = [len(" ".join(words[:n])) + (n > 0) for n in range(len(words))]
    for answer in answers:
        score = 1.0
        for field in ("target", "opinion", "label"):
            if field == "label":
                indices = [2 + ["positive", "negative", "neutral"].index(answer["label"])]
            else:
                first = offsets.index(answer[f"{field}_start"])
                indices = [5 + first, 5 + first + len(answer[field].split()) - 1]
            for index in indices:
                logits = model(**inputs, decoder_input_ids=torch.tensor([sequence])).logits[0, -1] / 1.7
                legal = sorted(naive.legal(model.grammar, "aste", 1, sequence, list(range(len(words)))))
                probabilities = dict(zip(legal, logits[legal].softmax(0).tolist(), strict=True))
                score *= probabilities[index]
                sequence.append(index)
        assert answer["score"] == pytest.approx(score, rel=1e-4)
        by_label = [probabilities.get(2 + number, 0.0) for number in range(3)]
        assert list(answer["probabilities"].values()) == pytest.approx(by_label, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("task", "fields"),
    [("ate", ["target"]), ("ote", ["opinion"]), ("aesc", ["target", "label"]), ("aope", ["target", "opinion"])],
)
def test_a_model_of_triplets_answers_what_they_hold(pipe, task, fields):
    for text, triplets, answers in zip(TEXTS, pipe(TEXTS), pipe(TEXTS, task=task), strict=True):
        check(text, answers, fields)
        best = {}
        for triplet in triplets:
            key = tuple(triplet[f"{field}_start"] if field != "label" else triplet[field] for field in fields)
            key += tuple(triplet[f"{field}_end"] for field in fields if field != "label")
            best[key] = max(best.get(key, 0.0), triplet["score"])
        assert [answer["score"] for answer in answers] == pytest.approx(list(best.values()))


def test_tasks_of_a_model(make_pipe):
    pipe = make_pipe("ote", "aesc")
    check(TEXTS[0], pipe(TEXTS[0]), ["opinion"])
    check(TEXTS[0], pipe(TEXTS[0], task="aesc"), ["target", "label"])
    check(TEXTS[0], pipe(TEXTS[0], task="ate"), ["target"])
    assert make_pipe("ote", "aesc", task="aesc")(TEXTS) == pipe(TEXTS, task="aesc")
    with pytest.raises(ValueError, match="task='absa'"):
        make_pipe("ote", task="absa")
    for task in ("aste", "alsc", "absa"):
        with pytest.raises(ValueError, match=f"task='{task}': this model was trained for ote, aesc"):
            pipe(TEXTS[0], task=task)


def test_given_aspect_terms(make_pipe):
    text = TEXTS[0]
    asked = {"text": text, "target_start": 4, "target_end": 16}
    (answer,) = make_pipe("alsc")(asked)
    check(text, [answer], ["target", "label"])
    assert (answer["target"], answer["target_start"]) == ("battery life", 4)
    halves = {**asked, "target_start": 6, "target_end": 14}
    assert make_pipe("alsc")(halves) == [answer]  # widened to whole words
    asked = [{"text": TEXTS[3], "target_start": start, "target_end": start + 3} for start in range(40)]
    pipe = make_pipe("aoe")
    pipe.model.generation_config.min_new_tokens = 2  # untrained, it would end at once
    opinions = pipe(asked)
    assert all(opinions)
    for question, answers in zip(asked, opinions, strict=True):
        check(TEXTS[3], answers, ["target", "opinion"])
        for one in answers:
            assert one["target_start"] <= question["target_start"] + 1
            assert one["target_end"] >= question["target_end"] - 1
    found = make_pipe("ate")(TEXTS[3])
    assert [len(of_term) for of_term in make_pipe("alsc")([{"text": TEXTS[3], **term} for term in found])] == [
        1 for _ in found
    ]
    (of_words,) = make_pipe("alsc")({"words": text.split(), "target_start": 4, "target_end": 16})
    assert of_words["target"] == "battery life"
    far = {"text": "near " * 100 + "far", "target_start": 500, "target_end": 503}
    assert make_pipe("alsc")(far) == []  # it was not read


@pytest.mark.parametrize("mark_given", [True, False])
def test_given_aspect_terms_are_read_as_in_training(make_pipe, mark_given):
    pipe = make_pipe("alsc", mark_given=mark_given)
    read = pipe.preprocess({"text": "the soup was cold", "target_start": 4, "target_end": 8})
    row = Indices(pipe.model.config, pipe.tokenizer).inputs(["the", "soup", "was", "cold"], "alsc", (1, 2))
    assert row == {name: value for name, value in read.row.items() if name != "truncated"}
    assert len(row["input_ids"]) == len(pipe.tokenizer("the soup was cold").input_ids) + 2 * mark_given


@pytest.mark.parametrize("place", [(None, None), (4, None), ("4", "16"), (True, 3), (3, 4), (5, 5), (30, 99), (-3, 4)])
def test_an_aspect_term_that_is_none_is_refused(make_pipe, place):
    with pytest.raises(ValueError, match=r"input 0: .*target_start"):
        make_pipe("aoe")({"text": TEXTS[0], "target_start": place[0], "target_end": place[1]})


def test_abstaining(make_pipe):
    sure, unsure = (make_pipe(calibration_temperature=5.0, **given) for given in ({}, {"abstain_below": 0.5}))
    for one, other in zip(sure(TEXTS[3]), unsure(TEXTS[3]), strict=True):
        expected = one["label"] if one["probabilities"][one["label"]] >= 0.5 else None
        assert other == {**one, "label": expected}
    assert {answer["label"] for answer in unsure(TEXTS[3])} > {None}


@pytest.mark.parametrize("num_beams", [1, 3])
def test_batches_change_no_answer(make_pipe, num_beams):
    pipe = make_pipe(num_beams=num_beams)
    expected = [pipe(text) for text in TEXTS]
    for batch_size in (1, 2, 32):
        for found, wanted in zip(pipe(TEXTS, batch_size=batch_size), expected, strict=True):
            assert [{**one, "score": 0, "probabilities": 0} for one in found] == [
                {**one, "score": 0, "probabilities": 0} for one in wanted
            ]
            for one, other in zip(found, wanted, strict=True):
                assert one["score"] == pytest.approx(other["score"], abs=1e-5)
                assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


def test_the_sides_of_a_tokenizer_change_no_answer(make_pipe, tokenizer):
    pipe = make_pipe()
    expected = pipe([*TEXTS, "soup " * 60])
    left = copy.deepcopy(tokenizer)
    left.padding_side = left.truncation_side = "left"
    found = AspectOpinionPipeline(model=pipe.model, tokenizer=left)([*TEXTS, "soup " * 60])
    assert found == expected
    assert expected[-1][0]["truncated"]


def test_blanks_and_case_move_places_only(make_pipe):
    pipe = make_pipe()
    text = TEXTS[0]
    for before, changed in ((3, f"   {text}"), (0, text.upper())):  # the tokenizer lowers the case
        for one, other in zip(pipe(text), pipe(changed), strict=True):
            assert other["target_start"] == one["target_start"] + before
            assert other["target"].lower() == one["target"]
            assert other["score"] == pytest.approx(one["score"], abs=1e-6)


class Texts(Dataset):
    def __len__(self):
        return len(TEXTS)

    def __getitem__(self, number):
        return TEXTS[number]


def test_inputs(pipe):
    expected = pipe(TEXTS)
    assert pipe(tuple(TEXTS)) == expected
    assert list(pipe(text for text in TEXTS)) == list(pipe(Texts())) == expected
    assert pipe([]) == []
    assert list(pipe(iter([]))) == []
    assert pipe({"text": TEXTS[0]}) == expected[0]
    words = ["cheap", "and", "near", ",", "", "it", "is", "dear"]
    answers = pipe({"words": words})
    assert pipe([{"words": words}]) == [answers]
    check(" ".join(words), answers)
    assert pipe({"words": []}) == []


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (["safe", 3], r"input 1: it is 3 \(int\)"),
        (["safe", None], "input 1: it is None"),
        ({"words": "safe"}, "input 0: it is .*give a text"),
        ({"words": ["safe", 3]}, "input 0"),
        (b"safe", "the input is b'safe'"),
        (3, "the input is 3"),
    ],
    ids=str,
)
def test_inputs_that_are_no_texts_are_refused(pipe, inputs, said):
    with pytest.raises(ValueError, match=said):
        pipe(inputs)


def test_an_error_comes_behind_the_answers_before_it(pipe):
    answers = pipe(iter([*TEXTS, 3]))
    assert [next(answers) for _ in TEXTS] == pipe(TEXTS)
    with pytest.raises(ValueError, match="input 6"):
        next(answers)


def test_a_table_is_refused(pipe):
    import pandas as pd

    with pytest.raises(ValueError, match="table"):
        pipe(pd.DataFrame({"text": TEXTS}))


def test_parameters(pipe):
    with pytest.raises(TypeError, match="theme: no parameter of aspect-opinion-extraction"):
        pipe("safe", theme="dark")
    for name, value in (("num_beams", 0), ("num_beams", "4"), ("abstain_below", 2), ("batch_size", 0)):
        with pytest.raises(ValueError, match=f"{name}="):
            pipe("safe", **{name: value})


def test_answers_of_a_broken_model_are_refused(make_pipe):
    pipe = make_pipe()
    torch.nn.init.constant_(pipe.model.scores.query.weight, float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        pipe("safe and near")


@pytest.mark.slow
def test_a_stranger_gets_places_in_his_own_texts(pipe, stranger, tmp_path):
    pipe.model.save_pretrained(tmp_path)
    pipe.tokenizer.save_pretrained(tmp_path)
    batch = {name: torch.ones(1, 2, dtype=torch.long) for name in ("input_ids", "word_ids", "decoder_input_ids")}
    pipelines = {"aspect-opinion-extraction": {"num_beams": 2}}
    report, _ = stranger(tmp_path, batch, AutoModelForSeq2SeqLM, pipelines, TEXTS)
    (answered,) = report["answers"].values()
    assert sum(map(bool, answered)) >= 3
    for text, answers in zip(TEXTS, answered, strict=True):
        check(text, answers)


def test_positions_behind_that_of_padding(tokenizer, make_model):
    """RoBERTa has so many fewer for a text; the tokenizer does not say it."""
    own = copy.deepcopy(tokenizer)
    own.model_max_length = 1000
    encoder = RobertaConfig(**ENCODER, vocab_size=len(own), max_position_embeddings=20, pad_token_id=0)
    pipe = AspectOpinionPipeline(model=make_model(encoder, max_words=50, tasks=["aste"]), tokenizer=own)
    assert pipe._max_length == 19
    pipe("near far cheap dear " * 9)
