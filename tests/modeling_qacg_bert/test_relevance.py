"""Relevance of tokens and words: against gradients taken by hand, and what the pipeline makes of it."""

import builtins
import copy

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode
from modeling_qacg_bert.encoding_qacg_bert import TOKENS
from modeling_qacg_bert.processing_qacg_bert import Origins, Word
from modeling_qacg_bert.relevance_qacg_bert import attention_of_words, merged, relevance_of_words, token_relevance

CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety"))
NAMES = {"targets": list(CONTEXTS.targets), "aspects": list(CONTEXTS.aspects), "num_contexts": None}
LABELS = {"id2label": {0: "none", 1: "positive", 2: "negative"}}
TEXT = "LOCATION1 is safe, but LOCATION2 is unaffordable!"


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture(scope="module")
def make_classifier(make_model, tokenizer):
    def make(kind: str, **changes):
        fields = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, **NAMES, **changes}
        if kind == "bert":
            torch.manual_seed(0)
            sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
            config = BertConfig(**sizes, **fields, **LABELS, initializer_range=0.2, auxiliary_sentence=True)
            return BertForSequenceClassification(config).eval()
        return make_model(kind, "sdpa", **fields)

    return make


def random_inputs(make_batch, kind: str, padding: str):
    batch = make_batch(3, 9, padding)
    labels = batch.pop("labels")
    if kind == "bert":
        del batch["context_ids"]
    is_text = batch["attention_mask"].bool() & (batch["token_type_ids"] == 0)
    return batch, labels, is_text


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("model_kind", ["qacg", "cg", "bert"])
def test_gradient_is_the_squared_gradient_of_each_row(make_classifier, make_batch, model_kind: str, padding: str):
    model = make_classifier(model_kind)
    batch, labels, is_text = random_inputs(make_batch, model_kind, padding)
    found = token_relevance(model, batch, labels, is_text)
    assert found.shape == (3, 9)
    assert all(parameter.grad is None for parameter in model.parameters())
    for row in range(3):
        own = {name: tensor[row : row + 1] for name, tensor in batch.items()}
        embeddings = model.bert.embeddings.word_embeddings(own.pop("input_ids")).detach().requires_grad_()
        model(inputs_embeds=embeddings, **own).logits[0, labels[row]].backward()
        model.zero_grad()
        expected = (embeddings.grad[0] ** 2).sum(-1)
        assert expected.max() > 1e-4
        torch.testing.assert_close(found[row], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("model_kind", ["qacg", "cg", "bert"])
def test_integrated_gradients_are_complete(make_classifier, make_batch, model_kind: str):
    model = make_classifier(model_kind)
    batch, labels, is_text = random_inputs(make_batch, model_kind, "right")
    found = token_relevance(model, batch, labels, is_text, "integrated_gradients")
    assert (found[~is_text] == 0).all()
    with torch.no_grad():
        logits = model(**batch).logits
        without = model(**{**batch, "input_ids": batch["input_ids"].masked_fill(is_text, 0)}).logits
    expected = (logits - without).gather(1, labels[:, None])[:, 0]
    assert expected.abs().min() > 0.01
    torch.testing.assert_close(found.sum(-1), expected, rtol=0.01, atol=0)


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients"])
@pytest.mark.parametrize("auxiliary_sentence", [True, False])
def test_words_have_the_relevance_of_their_tokens(make_classifier, tokenizer, method: str, auxiliary_sentence: bool):
    model = make_classifier("qacg")
    texts = [TEXT, "LOCATION1", "LOCATION1 is near"]
    asked = (texts, ["LOCATION1"] * 3, ["price", "safety", "general"])
    rows = encode(
        tokenizer,
        CONTEXTS,
        *asked,
        auxiliary_sentence=auxiliary_sentence,
        origins=[Origins.of(text) for text in texts],
    )
    labels = [2, 0, 1]
    found = relevance_of_words(model, tokenizer, rows, labels, method, batch_size=2)
    for row, text in enumerate(texts):
        own = {
            name: torch.tensor(rows[name][row : row + 1]) for name in ("input_ids", "token_type_ids", "context_ids")
        }
        is_text = torch.tensor([[word is not None for word in rows["words"][row]]])
        tokens = token_relevance(model, own, torch.tensor([labels[row]]), is_text, method)[0][is_text[0]]
        tokens = tokens / tokens.abs().max()
        assert sum(found[row].values()) == pytest.approx(tokens.sum().item(), abs=1e-4)
        words = [text[word.start : word.end] for word in found[row]]
        assert words == {0: text_words(TEXT), 1: ["LOCATION1"], 2: ["LOCATION1", "is", "near"]}[row]
    # "LOCATION1" is three tokens, the first of the text.
    first = next(iter(found[0]))
    own = [number for number, word in enumerate(rows["words"][0]) if word == first]
    assert own == [1, 2, 3]


def text_words(text: str) -> list[str]:
    """Words and punctuation of a text whose words are letters and digits."""
    return text.replace(",", " ,").replace("!", " !").split()


def test_merged():
    a, b = Word(0, 4), Word(5, 9)
    assert merged([None, a, a, b, None], [9.0, 0.5, -2.0, 1.0, 9.0]) == {a: -0.75, b: 0.5}
    assert merged([None, a], [1.0, 0.0]) == {a: 0.0}
    assert merged([None], [1.0]) == {}


@pytest.fixture
def pipe(make_classifier, tokenizer):
    return AspectSentimentPipeline(model=make_classifier("qacg", **LABELS), tokenizer=tokenizer)


def test_the_pipeline_explains_what_it_answers(pipe):
    plain = pipe(TEXT, return_all=True)
    explained = pipe(TEXT, return_all=True, explain=True, batch_size=3)
    assert len(explained) == 8
    for answer, other in zip(explained, plain, strict=True):
        words = answer.pop("words")
        assert answer["label"] == other["label"]
        assert answer["score"] == pytest.approx(other["score"], abs=1e-5)
        assert [word["word"] for word in words] == text_words(TEXT)
        for word in words:
            assert list(word) == ["word", "start", "end", "relevance"]
            assert TEXT[word["start"] : word["end"]] == word["word"]
            assert type(word["relevance"]) is float
        assert max(word["relevance"] for word in words) >= 1 - 1e-6  # of several tokens it may be more
    signed = pipe(TEXT, return_all=True, explain="integrated_gradients")
    assert any(word["relevance"] < 0 for answer in signed for word in answer["words"])
    assert [list(answer) for answer in pipe([TEXT], explain=True)[0]] == [
        [*other, "words"] for other in plain if other["label"] != "none"
    ]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("kind", "changes"), [("qacg", {}), ("qacg", {"num_context_layers": 1}), ("cg", {}), ("bert", {})]
)
def test_attention_of_the_first_token_to_words(make_classifier, tokenizer, kind: str, changes: dict, side: str):
    model = make_classifier(kind, **changes)
    assert model.config._attn_implementation == "sdpa"
    texts = ["LOCATION1 is near", TEXT]
    rows = encode(
        tokenizer, CONTEXTS, texts, ["LOCATION1"] * 2, ["price"] * 2, origins=[Origins.of(text) for text in texts]
    )
    tokenizer = with_padding_side(tokenizer, side)
    found = attention_of_words(model, tokenizer, rows)
    assert model.config._attn_implementation == "sdpa"
    model.set_attn_implementation("eager")
    inputs = tokenizer.pad({name: rows[name] for name in TOKENS}, padding_side="right", return_tensors="pt")
    if kind != "bert":
        inputs["context_ids"] = torch.tensor(rows["context_ids"])
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    for row, text in enumerate(texts):
        assert "LOCATION1" in [text[word.start : word.end] for word in found[row]]
        for word, values in found[row].items():
            tokens = [number for number, of_token in enumerate(rows["words"][row]) if of_token == word]
            for layer in range(2):
                expected = outputs.attentions[layer][row, :, 0, tokens].mean(-1)
                assert values["attention"][layer] == pytest.approx(expected.tolist(), abs=1e-5)
            if kind != "qacg":
                assert list(values) == ["attention"]
            elif changes:
                assert values["quasi_term"][0] == [0.0] * 4
            if kind == "qacg":
                expected -= outputs.self_attentions[-1][row, :, 0, tokens].mean(-1)
                assert expected.abs().max() > 1e-2
                assert values["quasi_term"][-1] == pytest.approx(expected.tolist(), abs=1e-5)


def with_padding_side(tokenizer, side: str):
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.padding_side = side
    return tokenizer


def test_the_pipeline_shows_its_attention(pipe):
    (first, *_) = pipe(TEXT, return_all=True, explain="attention")
    assert [word["word"] for word in first["words"]] == text_words(TEXT)
    assert all(list(word) == ["word", "start", "end", "attention", "quasi_term"] for word in first["words"])
    assert [len(layer) for layer in first["words"][0]["attention"]] == [4, 4]


def test_words_stand_where_the_user_wrote_them(pipe):
    text = "\U0001f642 Cafe\u0301 near  King\u2019s Cross is  dear\u2014but Camden isn't \u2764\ufe0f"
    names = {"King's Cross": "LOCATION1", "Camden": "LOCATION2"}
    for answer in pipe(text, targets=names, return_all=True, explain=True):
        found = [word["word"] for word in answer["words"]]
        assert found == [
            *("\U0001f642", "Cafe\u0301", "near", "King\u2019s Cross", "is", "dear", "\u2014", "but", "Camden"),
            *("isn", "'", "t", "\u2764\ufe0f"),
        ]
        assert [text[word["start"] : word["end"]] for word in answer["words"]] == found


def test_words_of_sentences_stand_where_the_user_wrote_them(pipe):
    text = "Caf\u00e9s near King's Cross are dear. \U0001f642 Safe?\nBut  Camden isn't."
    names = {"King's Cross": "LOCATION1", "Camden": "LOCATION2"}
    options = {"aspects": ["price"], "split_sentences": True, "return_all": True, "explain": True}
    first, second = pipe(text, targets=names, **options)
    for answer, ends in ((first, ("Caf\u00e9s", "?")), (second, ("But", "."))):
        assert (answer["words"][0]["word"], answer["words"][-1]["word"]) == ends
        assert all(text[word["start"] : word["end"]] == word["word"] for word in answer["words"])
        assert answer["start"] == answer["words"][0]["start"]
        assert answer["end"] == answer["words"][-1]["end"]


def test_a_name_that_is_no_placeholder_is_one_word(make_classifier, tokenizer):
    changes = {"targets": ["camden market"], "aspects": ["price"], **LABELS}
    pipe = AspectSentimentPipeline(model=make_classifier("qacg", **changes), tokenizer=tokenizer)
    (answer,) = pipe("The Lock is dear", targets={"the lock": "camden market"}, return_all=True, explain=True)
    assert [word["word"] for word in answer["words"]] == ["The Lock", "is", "dear"]


def test_a_question_a_long_text_and_one_with_nothing_to_read(pipe):
    answer = pipe({"text": "nothing", "target": "LOCATION1", "aspect": "price"}, explain=True)
    assert [word["word"] for word in answer["words"]] == ["nothing"]
    long = "LOCATION1 " + "is dear " * 100
    for answer in pipe(long, return_all=True, explain=True):
        assert answer["truncated"]
        assert long.startswith(" ".join(word["word"] for word in answer["words"]))
    assert pipe(" ", explain=True) == []


def test_other_words_for_explain(pipe):
    with pytest.raises(
        ValueError, match="explain='gradients': give True or one of gradient, integrated_gradients, attention"
    ):
        pipe(TEXT, explain="gradients")


def test_without_captum(pipe, monkeypatch):
    def refuse(name, *arguments, **options):
        if name.split(".")[0] == "captum":
            raise ImportError(name)
        return imported(name, *arguments, **options)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert len(pipe(TEXT, return_all=True)) == 8
    with pytest.raises(ImportError, match="explain needs Captum: pip install captum"):
        pipe(TEXT, return_all=True, explain=True)
