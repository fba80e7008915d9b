"""Contexts in words: their vectors against a loop, texts with them against vectors given, and questions about any."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertModel

from absa.losses import twice
from absa.tasks.collating import CollatorOfContexts
from modeling_qacg_bert import (
    AspectSentimentPipeline,
    CGConfig,
    CGForSequenceClassification,
    Contexts,
    QACGConfig,
    QACGForSequenceClassification,
    encode,
    encode_contexts,
    encode_together,
    with_fixed_contexts,
)
from modeling_qacg_bert.contexts_qacg_bert import vectors_of
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning

ANY_ENCODER = {"qacg": (QACGConfig, QACGForSequenceClassification), "cg": (CGConfig, CGForSequenceClassification)}
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TARGETS, ASPECTS = ["LOCATION1", "LOCATION2"], ["price", "safety"]
LABELS = {0: "none", 1: "positive", 2: "negative"}
CONTEXTS = {  # of three, of which one is padded
    "context_input_ids": torch.tensor([[2, 7, 8, 3], [2, 9, 3, 0], [2, 11, 12, 3]]),
    "context_attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]]),
}


@pytest.fixture(params=["on_bert", "on_any_encoder"])
def model(request, kind, make_model):
    """Of both kinds, the older and the one around any encoder, with two guided layers of three."""
    changes = {"context_source": "text", "num_context_layers": 2, "context_initializer_range": 0.2}
    if request.param == "on_bert":
        return make_model(kind, "sdpa", **SIZES, **NO_DROPOUT, **changes).double()
    config_class, model_class = ANY_ENCODER[kind]
    torch.manual_seed(0)
    encoder = BertConfig(**SIZES, **NO_DROPOUT, vocab_size=60, max_position_embeddings=40, initializer_range=0.2)
    return model_class(config_class(encoder_config=encoder, num_labels=3, **changes)).eval().double()


def bert_inside(model) -> BertModel:
    """The encoder of a model, as Transformers has it."""
    encoder = getattr(model.base_model, "encoder", None)
    state = encoder.state_dict() if isinstance(encoder, BertModel) else model.base_model.state_dict()
    bert = BertModel(BertConfig(**SIZES, vocab_size=60, max_position_embeddings=40))
    bert.load_state_dict(state, strict=False)
    return bert.eval().double()


def test_a_vector_is_made_of_what_the_bare_encoder_says_of_the_words(model):
    words, bert = model.base_model.context_of_words, bert_inside(model)
    with torch.no_grad():
        given = model.base_model.embed_contexts(**CONTEXTS)
        for ids, mask, vector in zip(*CONTEXTS.values(), given, strict=True):
            states = bert(ids[None, : mask.sum()]).last_hidden_state[0]
            mean = sum(states) / len(states)
            hidden = torch.tanh(words.dense.weight @ mean + words.dense.bias)
            torch.testing.assert_close(vector, words.projection.weight @ hidden + words.projection.bias)


@pytest.mark.parametrize("padding", [None, "left", "right"])
def test_texts_are_told_the_vectors_of_their_contexts(model, make_batch, padding):
    """Outputs and gradients: rows of the table in any shape, and the same vectors given; a text alone, or K times."""
    batch = {**make_batch(3, 9, padding), "labels": torch.tensor([[0, 1], [2, 2], [1, 0]])}
    together = {**batch, **CONTEXTS, "context_ids": torch.tensor([[0, 1], [2, 2], [1, 0]])}
    apart = {name: value.repeat_interleave(2, dim=0) for name, value in batch.items()}
    apart |= {**CONTEXTS, "context_ids": together["context_ids"].flatten(), "labels": batch["labels"].flatten()}
    found = {}
    for way, inputs in (("together", together), ("apart", apart), ("given", None)):
        model.zero_grad()
        if inputs is None:
            embeds = model.base_model.embed_contexts(**CONTEXTS)[together["context_ids"]]
            inputs = {name: value for name, value in batch.items() if name != "context_ids"}
            inputs["context_embeds"] = embeds
        outputs = model(**inputs)
        outputs.loss.backward()
        gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
        found[way] = outputs.logits.reshape(6, 3).detach(), outputs.loss.detach(), gradients
    assert all(gradient.abs().sum() > 0 for name, gradient in gradients.items() if "context_of_words" in name)
    assert not found["together"][0][0].allclose(found["together"][0][1])
    for way in ("apart", "given"):
        torch.testing.assert_close(found[way], found["together"])


def test_an_embedding_may_be_replaced_by_vectors(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    expected = model(**batch).logits
    vectors = model.bert.context_embeddings.weight[batch.pop("context_ids")]
    torch.testing.assert_close(model(**batch, context_embeds=vectors).logits, expected)


def test_what_a_model_is_told_must_fit(model, kind, make_model):
    texts = {"input_ids": torch.tensor([[5, 6], [7, 8]])}
    ids, vectors = torch.tensor([0, 1]), torch.zeros(2, 32, dtype=torch.double)
    with pytest.raises(ValueError, match="context_input_ids is missing"):
        model(**texts, context_ids=ids)
    with pytest.raises(ValueError, match=r"context_ids holds \[3\]: pass integers from 0 to 2"):
        model(**texts, **CONTEXTS, context_ids=torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="context_ids is missing"):
        model(**texts, **CONTEXTS)
    with pytest.raises(ValueError, match="context_embeds beside context_ids"):
        model(**texts, context_ids=ids, context_embeds=vectors)
    with pytest.raises(ValueError, match=r"context_embeds has shape \(1, 32\): pass a vector for each of the 2 texts"):
        model(**texts, context_embeds=vectors[:1])
    with pytest.raises(ValueError, match='context_source="id": this model takes context_ids alone'):
        make_model(kind)(**texts, **CONTEXTS, context_ids=ids)


def test_contexts_are_not_divided_among_devices(model):
    """By torch.nn.DataParallel, which would give a device other contexts than its texts are about."""
    texts = {"input_ids": torch.tensor([[5, 6], [7, 8]]), "context_ids": torch.tensor([0, 1])}
    replica = model.base_model._replicate_for_data_parallel()
    with pytest.raises(ValueError, match="or several with accelerate launch"):
        replica.contexts_of_texts(2, texts["context_ids"], *CONTEXTS.values(), None)


def test_padding_is_on_the_right_of_contexts(make_pipe, tiny_bert):
    """Whatever the tokenizer's side: to the left of words it would move their positions."""
    model, tokenizer = make_pipe().model, AutoTokenizer.from_pretrained(tiny_bert, padding_side="left")
    contexts = Contexts((), ("price", "noise at night"), is_open=True)
    tokens = encode_contexts(tokenizer, contexts, [0, 1])
    batch = CollatorOfContexts(tokenizer)([{"input_ids": [2, 3], "context_input_ids": ids} for ids in tokens.values()])
    for row, ids in zip(batch["context_input_ids"].tolist(), tokens.values(), strict=True):
        assert row[: len(ids)] == ids
    together, alone = (vectors_of(model, tokenizer, contexts, ids)[0] for ids in ([0, 1], [0]))
    torch.testing.assert_close(together, alone)


def test_rows_shown_twice_have_contexts_of_their_own():
    """R-Drop: the same contexts, at another place of the table, for another dropout."""
    ids = torch.tensor([[0, 2], [1, 1]])
    shown = twice({"input_ids": torch.tensor([[5], [6]]), "context_ids": ids, **CONTEXTS})
    assert shown["context_ids"].tolist() == [[0, 2], [1, 1], [3, 5], [4, 4]]
    told = shown["context_input_ids"][shown["context_ids"]]
    assert torch.equal(told[:2], told[2:])


OPEN = Contexts(tuple(TARGETS), tuple(ASPECTS), is_open=True)


def test_open_contexts_take_in_others():
    asked = OPEN.including(["fish", "LOCATION1", None], ["noise at night", "price"])
    assert (asked.targets, asked.aspects) == ((*TARGETS, "fish", ""), (*ASPECTS, "noise at night"))
    assert asked.pair(asked.id("fish", "noise at night")) == ("fish", "noise at night")
    assert Contexts((), ("food",), is_open=True).including([""], ["view"]).targets == ()
    assert Contexts(("LOCATION1",), ("price",)).including(["fish"], ["view"]) == Contexts(("LOCATION1",), ("price",))
    with pytest.raises(ValueError, match="aspect 3: give words"):
        OPEN.including([], [3])


def test_words_of_a_text_are_not_exchanged(tiny_bert):
    """What is learnt of one placeholder holds for the other, and a fish stays a fish."""
    contexts = Contexts(tuple(TARGETS), tuple(ASPECTS), symmetric_targets=True, is_open=True).including(["fish"], [])
    assert contexts.as_read("LOCATION2 has fish", "fish") == ("LOCATION2 has fish", "fish")
    assert contexts.as_read("LOCATION2 has fish", "LOCATION2") == ("LOCATION1 has fish", "LOCATION1")
    assert contexts.pair(contexts.id("fish", "price")) == ("fish", "price")
    assert contexts.pair(contexts.id("LOCATION2", "price")) == ("LOCATION1", "price")
    asked = ["fish", "LOCATION1", "LOCATION2", None, "safe", "LOCATION2"]
    own = contexts.including(asked, [])
    _, numbers = encode_together(AutoTokenizer.from_pretrained(tiny_bert), own, ["fish"] * 6, asked, ["price"] * 6)
    assert numbers == [[0, 3, 4], [1], [2, 5]]
    of_aspects = Contexts((), ("price",), symmetric_targets=True, is_open=True)  # whose training had no target
    for one in (of_aspects, of_aspects.including(["LOCATION2"], []), of_aspects.including(["fish", "LOCATION2"], [])):
        assert one.as_read("fish at LOCATION2", "LOCATION2") == ("fish at LOCATION2", "LOCATION2")


def test_contexts_are_encoded_once(tiny_bert):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    contexts = OPEN.including([], ["transit-location"])
    price, transit = contexts.id("LOCATION1", "price"), contexts.id("LOCATION2", "transit-location")
    encoded = encode_contexts(tokenizer, contexts, [transit, price, transit])
    read = {number: " ".join(tokenizer.convert_ids_to_tokens(ids)) for number, ids in encoded.items()}
    assert read == {
        price: "[CLS] location - 1 - price [SEP]",
        transit: "[CLS] location - 2 - transit location [SEP]",
    }
    with pytest.raises(ValueError, match=r"transit.* tokens, but max_length=4: ask in fewer words"):
        encode_contexts(tokenizer, contexts, [transit], max_length=4)
    assert encode_contexts(tokenizer, contexts, []) == {}
    nothing = OPEN.including([""], [""])
    with pytest.raises(ValueError, match="neither target nor aspect"):
        encode_contexts(tokenizer, nothing, [nothing.id("", "")])


@pytest.fixture(scope="module")
def make_pipe(make_model, tiny_bert):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)

    def make(kind: str = "qacg", **changes):
        fields = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "id2label": LABELS}
        fields |= {"targets": TARGETS, "aspects": ASPECTS, "num_contexts": None, "context_source": "text", **changes}
        return AspectSentimentPipeline(model=make_model(kind, "sdpa", **fields), tokenizer=tokenizer)

    return make


TEXTS = ["LOCATION1 is safe", "the fish is dear", "LOCATION2 is far and LOCATION1 is near", ""]


@pytest.mark.parametrize("batch_size", [1, 3, 50])
@pytest.mark.parametrize(
    "changes",
    [{}, {"auxiliary_sentence": False, "num_context_layers": 1}, {"symmetric_targets": True}],
    ids=["pair", "together", "symmetric"],
)
def test_answers_are_those_of_each_question_alone(kind, make_pipe, changes, batch_size):
    pipe = make_pipe(kind, **changes)
    model, tokenizer = pipe.model, pipe.tokenizer
    aspects = ["price", "noise at night"]
    answered = pipe(TEXTS, aspects=aspects, return_all=True, batch_size=batch_size)
    asked = [[(answer["target"], answer["aspect"], answer["in_training"]) for answer in own] for own in answered]
    about = [["LOCATION1"], [""], TARGETS, []]
    assert asked == [[(t, a, a == "price") for t in own for a in aspects] for own in about]
    for text, own in zip(TEXTS, answered, strict=True):
        for answer in own:
            pair = answer["target"], answer["aspect"]
            contexts = Contexts.from_config(model.config).including(*([name] for name in pair))
            way = encode if model.config.auxiliary_sentence else encode_together
            rows = way(tokenizer, contexts, [text], *([name] for name in pair))
            rows = rows if way is encode else rows[0]
            (tokens,) = encode_contexts(tokenizer, contexts, [contexts.id(*pair)]).values()
            with torch.no_grad():
                inputs = {name: torch.tensor(rows[name]) for name in ("input_ids", "token_type_ids", "attention_mask")}
                logits = model(
                    **inputs, context_input_ids=torch.tensor([tokens]), context_ids=torch.tensor([0])
                ).logits
            expected = dict(zip(LABELS.values(), logits[0].softmax(-1).tolist(), strict=True))
            assert answer["probabilities"] == pytest.approx(expected, abs=1e-5)
            assert pipe({"text": text, "target": pair[0], "aspect": pair[1]})["probabilities"] == pytest.approx(
                expected, abs=1e-5
            )


def test_any_words_may_be_asked_about(make_pipe):
    pipe = make_pipe()
    found = pipe("The fish is nice, the tea is not", targets=["fish", "tea", "soup"], return_all=True)
    assert [(one["target"], one["aspect"]) for one in found] == [(t, a) for t in ("fish", "tea") for a in ASPECTS]
    assert pipe({"text": "nice fish", "target": "fish"})["aspect"] == ""
    assert {one["aspect"] for one in pipe("nice", aspects=iter(["view", "view", "a b"]), return_all=True)} == {
        "view",
        "a b",
    }
    mapped = pipe("Camden is safe", targets={"Camden": "LOCATION1"}, aspects=["noise"], return_all=True)
    assert [(one["target"], one["aspect"]) for one in mapped] == [("Camden", "noise")]
    with pytest.warns(NoTargetWarning, match="give them as they are written in the texts"):
        assert pipe("nice", targets=["soup"]) == []
    lone = pipe("nice", aspects=["\ud83c\udf77 wine", "\ud800 a"], return_all=True)  # as JSON can hold them
    assert [one["aspect"] for one in lone] == ["\ud83c\udf77 wine", "\ud800 a"]
    assert "in_training" not in make_pipe(context_source="id")("LOCATION1", return_all=True)[0]
    assert pipe({"text": "nice fish", "target": "fish"})["in_training"] is None  # of no aspect
    dashed = make_pipe(aspects=["transit-location"])("nice", aspects=["Transit location", "transit"], return_all=True)
    assert [one["in_training"] for one in dashed] == [True, False]  # by what the model reads, without its sign
    of_aspects = make_pipe(targets=None)
    assert [one["aspect"] for one in of_aspects("nice fish", return_all=True)] == ASPECTS
    asked = {"targets": ["fish"], "return_all": True}
    assert [(one["target"], one["aspect"]) for one in of_aspects("nice fish", **asked)] == [("fish", "")]
    assert [one["aspect"] for one in of_aspects("nice fish", aspects=["taste"], **asked)] == ["taste"]
    with pytest.raises(ValueError, match=r"'LOCATION1'}: this model takes words, give \['Camden'\]"):
        of_aspects("Camden is safe", targets={"Camden": "LOCATION1"})
    of_terms = make_pipe(targets=None, aspects=None)
    assert [(one["target"], one["aspect"]) for one in of_terms("nice fish", targets=["fish"], return_all=True)] == [
        ("fish", "")
    ]


def test_a_word_of_the_text_is_spoken_of(make_pipe):
    pipe = make_pipe(targets=None)
    with torch.no_grad():
        pipe.model.classifier.bias[0] += 100  # of none
    assert pipe("nice fish", targets=["fish"], aspects=["taste"]) == []
    (answer,) = pipe("nice fish", targets=["fish"])
    assert answer == pipe({"text": "nice fish", "target": "fish"})
    assert (answer["present"], answer["probabilities"]["none"]) == (1, 0)
    assert answer["score"] == answer["sentiment"][answer["label"]] == answer["probabilities"][answer["label"]]
    for text in ("nice tea", "selfish"):
        assert pipe({"text": text, "target": "fish"})["label"] == "none"  # of a word that it has not
    assert pipe({"text": "selfish", "target": "fish", "target_start": 3})["present"] == 1  # as a tagger may find it


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"inputs": "nice", "aspects": "view"}, r"aspects='view': give a list, \['view'\]"),
        ({"inputs": "nice", "aspects": [""]}, r"aspects has '' \(str\): give words"),
        ({"inputs": "nice", "aspects": ["-"]}, r"aspects has '-' \(str\): give words"),
        ({"inputs": "nice", "targets": [3]}, r"targets has 3 \(int\): give words"),
        ({"inputs": {"text": "nice", "aspect": " "}}, "target and aspect are empty"),
        ({"inputs": {"text": "nice"}}, "needs aspect too"),
        ({"inputs": {"text": "", "aspect": "view"}}, "needs a text with something to read"),
        ({"inputs": "nice", "aspects": ["view", "ἰχθύς"]}, "the model's vocabulary has no piece of it"),
        ({"inputs": {"text": "nice", "aspect": "ἰχθύς"}}, r"aspect 'ἰχθύς' \(str\): the model's vocabulary has no"),
    ],
)
def test_what_is_no_question(make_pipe, asked, message):
    with pytest.raises(ValueError, match=message):
        make_pipe()(**asked)


@pytest.mark.parametrize("explain", ["gradient", "integrated_gradients", "attention"])
def test_answers_are_explained(make_pipe, explain):
    """As an answer to each question alone: a batch has texts of several contexts."""
    pipe = make_pipe(auxiliary_sentence=False)
    asked = {"aspects": ["view", "price"], "return_all": True, "explain": explain}
    together = [answer for own in pipe(TEXTS[:3], **asked) for answer in own]
    alone = [
        pipe({"text": text, "target": answer["target"], "aspect": answer["aspect"]}, explain=explain)
        for text, count in zip(TEXTS, (2, 2, 4), strict=False)
        for answer in pipe(text, **asked)[:count]
    ]
    assert len(together) == len(alone) == 8
    for given, expected in zip(together, alone, strict=True):
        assert [word["word"] for word in given["words"]] == [word["word"] for word in expected["words"]]
        for values in ("relevance", "attention"):
            for one, other in zip(given["words"], expected["words"], strict=True):
                if values in one:
                    torch.testing.assert_close(torch.tensor(one[values]), torch.tensor(other[values]))


def test_contexts_may_be_fixed(kind, make_pipe):
    pipe = make_pipe(kind, auxiliary_sentence=False)
    fixed = with_fixed_contexts(pipe.model, pipe.tokenizer, ["view", "price"])
    assert (fixed.config.context_source, fixed.config.num_contexts) == ("id", 4)
    closed = AspectSentimentPipeline(model=fixed, tokenizer=pipe.tokenizer)
    expected = pipe(TEXTS[2], aspects=["view", "price"], return_all=True)
    for answer, other in zip(closed(TEXTS[2], return_all=True), expected, strict=True):
        assert (answer["target"], answer["aspect"]) == (other["target"], other["aspect"])
        assert answer["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
    assert pipe.model.config.context_source == "text"
    again = with_fixed_contexts(pipe.model.train(), pipe.tokenizer, ["view", "price"])
    assert pipe.model.training
    assert not again.training
    assert torch.equal(again.bert.context_embeddings.weight, fixed.bert.context_embeddings.weight)
    with pytest.raises(ValueError, match="a name occurs twice"):
        with_fixed_contexts(pipe.model, pipe.tokenizer, ["view", "view"])
    with pytest.raises(ValueError, match=r"aspects='view': give a list, \['view'\]"):
        with_fixed_contexts(pipe.model, pipe.tokenizer, "view")
    with pytest.raises(ValueError, match="ForSequenceClassification does not read its contexts in words"):
        with_fixed_contexts(fixed, pipe.tokenizer, ["view"])


STRANGER = """
import json, sys
from transformers import pipeline
pipe = pipeline("aspect-sentiment", model=sys.argv[1], trust_remote_code=True)
print(json.dumps(pipe("the fish is dear", aspects=["noise at night"], return_all=True)))
"""


def test_a_stranger_asks_about_any_aspect(make_pipe, tmp_path: Path):
    """In a process without this package."""
    pipe = make_pipe()
    pipe.save_pretrained(tmp_path / "model")
    environment = {"HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HUB_OFFLINE": "1", "PATH": ""}
    command = [sys.executable, "-c", STRANGER, str(tmp_path / "model")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    (expected,) = pipe("the fish is dear", aspects=["noise at night"], return_all=True)
    (answer,) = json.loads(done.stdout.splitlines()[-1])
    assert answer["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)
    assert answer["in_training"] is False
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model")
    assert again.config.context_source == "text"
    assert not hasattr(again.bert, "context_embeddings")
