"""absa/open_questions.py: answers to questions about any words."""

import pandas as pd
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import absa
from absa.predict import PredictorOfOpenQuestions

TEXT = "The soup wasn't bad; soups are dear, the wine list too."


@pytest.fixture(scope="module")
def folder(save_word_model) -> str:
    return str(save_word_model(TEXT))


@pytest.fixture(scope="module")
def read(folder):
    return absa.load(folder, batch_size=2)


def test_the_answers_are_those_of_the_model(folder, read):
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = [TEXT, "The wine list is bad.", "soup"]
    opinions = read(texts, aspects=["price", "wine list"], text_ids=["a", "b", "c"])
    assert [[(one.text_id, one.aspect, one.target) for one in of_text] for of_text in opinions] == [
        [(id_, aspect, None) for aspect in ("price", "wine list")] for id_ in "abc"
    ]
    for text, of_text in zip(texts, opinions, strict=True):
        for opinion in of_text:
            logits = model(**tokenizer(text, opinion.aspect, return_tensors="pt")).logits[0]
            expected = dict(zip(("positive", "neutral", "negative"), (logits / 2).softmax(-1).tolist(), strict=True))
            assert opinion.probabilities == pytest.approx(expected, abs=1e-6)
            assert opinion.score == max(opinion.probabilities.values()) == opinion.probabilities[opinion.label]


def test_targets_are_asked_where_they_stand(read):
    opinions = read([TEXT, "Nothing", " "], targets=["wine list", "SOUP", "tea"])
    found = [(one.target, one.target_start, one.target_end, one.aspect) for one in opinions[0]]
    assert found == [("soup", 4, 8, None), ("wine list", 41, 50, None)]
    assert opinions[1:] == [[], []]
    opinions = read(TEXT, targets=["soup"], aspects=["price", "taste"])
    assert [(one.target, one.aspect) for one in opinions] == [("soup", "price"), ("soup", "taste")]
    assert read.why_silent("Nothing", ["tea", "soup"]) == "names none of tea, soup"
    assert read.why_silent(" ", ["tea"]) == "has nothing to read"


def test_a_question_gives_one_answer(read):
    (opinion,) = read({"text": TEXT, "aspect": "price"})
    assert (opinion.target, opinion.aspect) == (None, "price")
    places = [
        (one.target_start, one.target_end)
        for asked in ({}, {"target_start": 4, "target_end": 8})
        for one in read({"text": TEXT, "target": "soup", **asked})
    ]
    assert places == [(4, 8), (4, 8)]
    assert read({"text": TEXT, "target": "tea"})[0].target_start is None


def test_the_place_of_a_target_counts(save_word_model):
    text = "soup is dear and soup bad"
    first, second = absa.load(str(save_word_model(TEXT, architecture="td_lstm")))(text, targets=["soup"])
    assert (first.target_start, second.target_start) == (0, 17)
    assert first.probabilities != second.probabilities


def test_attention_of_words(folder, read):
    text = "Cr\u00e8me wasn't  dear\u2026 LOCATION1"
    (answer,) = read.pipe([text, "soup"], aspects=["price"], explain="attention")[0]
    found = [text[word["start"] : word["end"]] for word in answer["words"]]
    assert found == [word["word"] for word in answer["words"]] == ["Cr\u00e8me", "was", "n't", "dear", "LOCATION1"]
    tokenizer, model = (one.from_pretrained(folder) for one in (AutoTokenizer, AutoModelForSequenceClassification))
    inputs = tokenizer("Cr\u00e8me wasn't dear\u2026 location - 1", "price", return_tensors="pt")
    weights = model(**inputs, output_attentions=True).attentions[0].tolist()
    expected = [*weights[:4], weights[4] + weights[5]]
    assert [word["attention"] for word in answer["words"]] == pytest.approx(expected, abs=1e-6)
    assert sum(expected) == pytest.approx(1, abs=1e-5)


def test_the_end_of_a_long_text_is_not_read(folder, caplog):
    read = absa.load(folder, aspects=["price"])
    read.pipe.tokenizer.model_max_length = 6
    assert [answer["truncated"] for (answer,) in read.pipe([TEXT, "soup"])] == [True, False]
    read([TEXT, "soup"], text_ids=["a", "b"])
    assert caplog.messages == [
        "1 of 2 texts are longer than the model reads, the first is a: their ends were not read"
    ]
    caplog.clear()
    read.pipe.model.config.none_label = read.pipe(TEXT)[0]["label"]
    assert read(TEXT) == []
    assert len(caplog.messages) == 1  # of answers that are left out too
    read.pipe.model.config.none_label = None
    soup, wine_list = read(TEXT, targets=["soup", "wine list"])
    assert soup.label is not None
    assert (wine_list.target, wine_list.target_start) == ("wine list", 41)
    assert wine_list.label is wine_list.score is wine_list.probabilities is None
    assert absa.load(folder, explain="attention").pipe({"text": TEXT, "target": "soup"})["words"]


def test_a_model_of_several_data_sets_is_asked_what_its_training_asked(save_word_model, caplog):
    """And anything else: what its training asked is said of each answer."""
    names = {"context_source": "text", "targets": ["LOCATION1", "LOCATION2"], "aspects": ["price", "taste"]}
    read = absa.load(str(save_word_model(TEXT, **names)))
    assert isinstance(read, PredictorOfOpenQuestions)

    def asked(text: str, **parameters) -> list[tuple]:
        answers = read.pipe(text, **parameters)
        return [
            tuple(answer[name] for name in ("target", "target_start", "aspect", "in_training")) for answer in answers
        ]

    assert asked(TEXT) == [("", None, "price", True), ("", None, "taste", True)]
    assert asked("LOCATION2 is dear, is LOCATION2?") == [
        ("LOCATION2", None, "price", True),
        ("LOCATION2", None, "taste", True),
    ]
    assert asked(TEXT, aspects=["noise", "Price"]) == [("", None, "noise", False), ("", None, "Price", True)]
    assert asked(TEXT, targets=["soup"]) == [("soup", 4, "", None)]  # of no aspect
    assert asked("LOCATION1 is dear", targets=["LOCATION1"], aspects=["noise"]) == [("LOCATION1", 0, "noise", False)]
    assert [aspect for _, _, aspect, _ in asked("LOCATION1 is dear", targets=["LOCATION1"])] == ["price", "taste"]
    assert read.pipe({"text": TEXT, "aspect": "noise"})["in_training"] is False
    assert asked(" ") == []
    for _ in range(2):
        read([TEXT, TEXT], aspects=["noise", "price", "night"])
    assert caplog.messages == ["not in the model's training, so that answers are less sure: noise, night"]


def test_none_is_said_where_it_is_asked_for(save_word_model):
    def labels(answers: list[dict]) -> list[str]:
        return [answer["label"] for answer in answers]

    asked = {"aspects": ["price", "soup"]}
    folder = str(save_word_model(TEXT))
    (best,) = set(labels(absa.load(folder).pipe(TEXT, **asked)))
    read = absa.load(str(save_word_model(TEXT, none_label=best)), **asked)
    assert labels(read.pipe(TEXT)) == [] == read(TEXT)
    assert labels(read.pipe(TEXT, return_all=True)) == [best, best]
    assert len(read(TEXT, **read.all_answers)) == 2
    assert read.pipe({"text": TEXT, "aspect": "price"})["label"] == best


def test_places_of_a_table_with_gaps(read):
    """Which pandas makes floats of."""
    rows = pd.DataFrame({"text": TEXT, "target": ["soup", "list"], "target_start": [4, None], "target_end": [8, None]})
    placed, found = read.pipe(rows.to_dict("records"))
    assert (placed["target_start"], placed["target_end"], found["target_start"]) == (4, 8, TEXT.index("list"))


@pytest.mark.parametrize(
    ("input_", "parameters", "told"),
    [
        (TEXT, {}, r"input 0: a text alone asks nothing, as the model knows no names: give targets="),
        (5, {"aspects": ["price"]}, r"input 0: it is 5 \(int\): give a text or a question"),
        (TEXT, {"aspects": "price"}, "aspects='price': give a list of words"),
        (TEXT, {"targets": {"Camden": "LOCATION1"}}, "targets={'Camden': 'LOCATION1'}: give a list of words"),
        (TEXT, {"aspects": ["price"], "return_all": "yes"}, "return_all='yes': give True or False"),
        ({"text": TEXT}, {}, r"input 0: it has the keys \['text'\]: a question needs a target or an aspect too"),
        ({"text": " ", "aspect": "price"}, {}, "input 0: its text is ' '"),
        (
            {"text": TEXT, "target": "soup", "target_start": 5, "target_end": 8},
            {},
            r"input 0: its target is 'soup' \(str\), and text\[5:8\] is another",
        ),
        (
            {"text": TEXT, "target": TEXT[-5:], "target_start": -5, "target_end": len(TEXT)},
            {},
            r"and text\[-5:\d+\] is another",
        ),
    ],
)
def test_what_is_no_question(input_, parameters, told, read):
    with pytest.raises(ValueError, match=told):
        read([input_], **parameters)


@pytest.mark.parametrize(
    ("inputs", "parameters", "told"),
    [
        (pd.DataFrame({"text": [TEXT]}), {}, "the input is .*DataFrame"),
        (None, {}, "the input is None"),
        ([TEXT], {"batch_size": 0}, "batch_size=0: give a number of questions"),
        ([TEXT], {"aspects": ["price", ""]}, "aspects has ''"),
        (
            [TEXT],
            {"aspects": ["price", "价格"]},
            r"input 0: aspect '价格' \(str\): the model's vocabulary has no piece of",
        ),
    ],
)
def test_what_is_no_input(inputs, parameters, told, read):
    with pytest.raises(ValueError, match=told):
        read(inputs, **{"aspects": ["price"], **parameters})


def test_an_aspect_is_asked_about_once(read):
    assert len(read(TEXT, aspects=["price", "price"])) == 1


def test_a_model_of_places_asks_for_targets(save_word_model):
    read = absa.load(str(save_word_model(TEXT, architecture="td_lstm")))
    with pytest.raises(ValueError, match=r"give an aspect that stands in the text \(absa.load: targets=\[...\]\)"):
        read(TEXT, aspects=["price"])


def test_what_has_no_such_parameter(folder, read, save_word_model):
    with pytest.raises(TypeError, match="split_sentences: no parameter, there are targets, aspects, return_all, expl"):
        read(TEXT, split_sentences=True)
    with pytest.raises(ValueError, match="is a AFLstmForSequenceClassification; decoding: no parameter"):
        absa.load(folder, decoding="free")
    with pytest.raises(ValueError, match=r"explain='attention': an opinion has no weights of words; ask \.pipe"):
        read(TEXT, aspects=["price"], explain="attention")
    with pytest.raises(ValueError, match="explain='gradient': give 'attention'"):
        read.pipe(TEXT, aspects=["price"], explain="gradient")
    with pytest.raises(ValueError, match="explain='attention' with a AFLstmForSequenceClassification without"):
        absa.load(str(save_word_model(TEXT, architecture="lstm"))).pipe(TEXT, aspects=["price"], explain="attention")
