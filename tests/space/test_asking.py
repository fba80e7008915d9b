"""The model behind the demo: what is asked, of which names, and what it says where it cannot be."""

import pytest
import torch

import asking
import kinds
from absa import models as backbones
from absa.tasks.classification import describe
from modeling_qacg_bert import AspectSentimentPipeline, Contexts

ASPECTS = ["general", "price", "transit-location", "safety"]


@pytest.fixture(scope="module")
def asker(pipe):
    return kinds.ContextGuided(pipe)


def asked_about(asked) -> list[str]:
    return list(dict.fromkeys(answer.target for answer in asked.answers))


def record(answer: dict, text: str) -> asking.Answer:
    """An answer of the pipeline, with the place of its name."""
    start = text.index(answer["target"])
    return asking.Answer(target_start=start, target_end=start + len(answer["target"])).told(answer)


def test_names_are_found_given_or_the_models_own(asker):
    assert asked_about(asker.ask("Camden is dear, not like Soho", [], ASPECTS)) == ["Camden", "Soho"]
    assert asker.ask("Camden is dear", [], ASPECTS).guessed
    assert asked_about(asker.ask("LOCATION2 is dear, not like Soho", [], ASPECTS)) == ["LOCATION2"]
    asked = asker.ask("LOCATION2 is dear, not like soho", ["Soho", "LOCATION2", "Leeds", "Soho"], ["price"])
    assert asker.mapping(asked.names) == {"Soho": "LOCATION1", "LOCATION2": "LOCATION2", "Leeds": "LOCATION1"}
    assert not asked.guessed
    assert asked_about(asked) == ["Soho", "LOCATION2"]
    assert asked.notes == ["Not in the text: Leeds."]
    assert {answer.aspect for answer in asked.answers} == {"price"}


def test_answers_and_explanations_are_the_pipelines(asker, pipe):
    text = "Camden, Soho and Bow: Soho is far"
    targets = {"Camden": "LOCATION1", "Soho": "LOCATION2", "Bow": "LOCATION1"}
    asked = asker.ask(text, list(targets), ASPECTS)
    assert asked.answers == [record(answer, text) for answer in pipe([text], targets=targets, return_all=True)[0]]
    question = {"text": text, "target": "Bow", "aspect": "safety"}
    (answer,) = (one for one in asked.answers if (one.target, one.aspect) == ("Bow", "safety"))
    for method in ("gradient", "integrated_gradients"):
        explained = asker.explain(asked, answer, method)
        words = pipe(question, targets=targets, explain=method)["words"]
        assert explained.words == [(word["start"], word["end"], word["relevance"]) for word in words]
        assert explained.method == method
    explained = asker.explain(asked, answer)
    assert [text[word.start : word.end] for word in explained.words] == ["Camden", "Soho", "and", "Soho", "is", "far"]
    without = pipe({**question, "text": "Camden, Soho and Bow: Soho is "}, targets=targets)
    lost = answer.score - without["probabilities"][answer.label]
    assert explained.words[-1].value == pytest.approx(lost, abs=1e-5)
    attended = explained.attention
    words = pipe(question, targets=targets, explain="attention")["words"]
    assert attended.words == [word["word"] for word in words]
    assert attended.whole.tolist() == torch.tensor([word["attention"] for word in words]).tolist()
    assert attended.quasi_term.tolist() == torch.tensor([word["quasi_term"] for word in words]).tolist()
    layer, head = attended.most_subtracting()
    taken = attended.quasi_term.clamp(max=0).sum(0)  # (L, h)
    assert taken[layer - 1, head - 1] == taken.min() < 0


def test_names_are_those_that_the_pipeline_finds(asker):
    """Two blanks, another apostrophe, and what only looks like one of the model's own targets."""
    text = "St.  John and Camden are dear, St Mary\N{RIGHT SINGLE QUOTATION MARK}s and LOCATION12 are cheap"
    asked = asker.ask(text, ["St. John", "St Mary's", "Camden"], ["price"])
    assert asked_about(asked) == ["St. John", "St Mary's", "Camden"]
    assert asked.notes == []
    assert asked_about(asker.ask("Camden and LOCATION12 are dear", [], ["price"])) == ["Camden", "LOCATION12"]


def test_a_name_is_no_part_of_a_longer_one(asker):
    asked = asker.ask("Soho Square is dear, Soho is not", ["Soho", "Soho Square"], ["price"])
    assert [(one.target, one.target_start) for one in asked.answers] == [("Soho", 21), ("Soho Square", 0)]


def test_what_is_not_asked_or_read_is_said(asker):
    names = ["Acton", "Balham", "Clapham", "Dalston", "Ealing", "Fulham", "Greenwich", "Hackney", "Islington"]
    asked = asker.ask(" and ".join(names), [], ["price"])
    assert asked_about(asked) == names[:8]
    assert asked.notes[0] == "Not asked about: Islington. 8 names are the most."
    assert asker.ask("Soho " + "is dear " * 60, [], ["price"]).notes == [
        "The text is too long for the model: its end was not read."
    ]
    cut = asker.ask("Soho " + "is dear " * 60 + "but not Leeds", ["Soho", "Leeds"], ["price"])
    assert asked_about(cut) == ["Soho"]
    assert cut.notes[1] == "Not asked about, since only the end names it: Leeds."
    with pytest.raises(ValueError, match="Leeds stands only where the text is too long for the model: shorten it"):
        asker.ask("it is dear " * 60 + "in Leeds", ["Leeds"], ["price"])


def test_many_texts(asker):
    texts = ["Camden is dear", "", "no name", "Bow and Camden", *["Soho is dull"] * 40]
    found = [[one.target for one in answers] for answers in asker.ask_all(texts, ["Camden", "Soho"], ["price"])]
    assert found == [["Camden"], [], [], ["Camden"], *[["Soho"]] * 40]
    found = asker.ask_all(["Camden is dear", "LOCATION1 is far"], [], ["price"])  # the model's own
    assert [[one.target for one in answers] for answers in found] == [[], ["LOCATION1"]]
    assert list(asker.ask_all(["", "no name"], ["Soho"], ["price"])) == [[], []]
    with pytest.raises(ValueError, match="Write the names to ask about, as the texts of the file have them"):
        asker.ask_all(["Camden is dear"], [], ["price"])


@pytest.mark.parametrize(
    ("text", "told"), [("Soho " * 1001, "the text has 5,005 characters"), ("Soho and LOCATION1", "the text holds")]
)
def test_a_row_that_is_at_fault_is_named_before_the_model_is_asked(asker, monkeypatch, text: str, told: str):
    monkeypatch.setattr(type(asker.pipe), "__call__", lambda *_, **__: pytest.fail("the model was asked"))
    with pytest.raises(ValueError, match=rf"(?i)^Row 31: {told}"):
        list(asker.ask_all([*["Soho is dull"] * 30, text], ["Soho"], ["price"]))


@pytest.mark.parametrize("model_type", ["cg_bert", "bert"])
def test_models_without_targets_and_without_quasi_attention(tiny_bert, model_type: str):
    config = backbones.build_config(
        model_type, str(tiny_bert), describe(Contexts((), ("food", "price")), ["none", "positive", "negative"])
    )
    torch.manual_seed(0)
    model = backbones.load_model(str(tiny_bert), config, "sdpa").eval()
    pipe = AspectSentimentPipeline(model=model, tokenizer=backbones.load_tokenizer(str(tiny_bert), config))
    asker = kinds.ContextGuided(pipe)
    assert [len(answers) for answers in asker.ask_all(["\u200b", "soup"], [], ["food"])] == [0, 1]
    asked = asker.ask("The soup is cheap", [], ["food"])
    assert [(answer.target, answer.aspect) for answer in asked.answers] == [(None, "food")]
    explained = asker.explain(asked, asked.answers[0], "gradient")
    assert not explained.attention.quasi_term.any()
    assert explained.attention.whole.shape == (4, 2, 4)
    assert explained.attention.most_subtracting() == (2, 1)


@pytest.mark.parametrize(
    ("text", "names", "aspects", "told"),
    [
        ("\n \u200b", [], ASPECTS, "There is nothing to read"),
        ("Soho is dear", ["Leeds", "Bow"], ASPECTS, "Leeds, Bow does not stand in the text"),
        ("Soho is dear", [f"name{number}" for number in range(9)], ASPECTS, "9 names to ask about: give 8 at most"),
        ("Soho is dear", [], [], "Choose an aspect"),
        ("Soho is dear", ["S" * 101], ASPECTS, "A name has 101 characters: give 100 at most"),
        ("Soho " * 1001, [], ASPECTS, "The text has 5,005 characters: give 5,000 at most"),
        ("Soho and LOCATION1", ["Soho"], ASPECTS, "the text holds 'LOCATION1'"),
    ],
)
def test_what_cannot_be_asked(asker, text: str, names: list[str], aspects: list[str], told: str):
    with pytest.raises(ValueError, match=told):
        asker.ask(text, names, aspects)


def test_integrated_gradients_of_a_long_text_are_refused(asker):
    asked = asker.ask("Soho is " + "very " * 100 + "dear", [], ["price"])
    with pytest.raises(ValueError, match="Integrated gradients take 100 words at most: choose another"):
        asker.explain(asked, asked.answers[0], "integrated_gradients")
    assert asker.explain(asked, asked.answers[0], "gradient").words


def test_a_model_that_reads_aspects_in_words_is_asked_about_any(tiny_bert):
    described = describe(Contexts((), ("price",)), ["none", "positive"], context_source="text")
    config = backbones.build_config("qacg_bert", str(tiny_bert), described)
    model = backbones.load_model(str(tiny_bert), config, "sdpa").eval()
    tokenizer = backbones.load_tokenizer(str(tiny_bert), config)
    asker = kinds.ContextGuided(AspectSentimentPipeline(model=model, tokenizer=tokenizer))
    assert asker.takes_words
    asked = asker.ask("The fish is dear", ["fish"], ["price", "noise at night"])
    assert [(one.target, one.aspect) for one in asked.answers] == [
        ("fish", None),
        (None, "price"),
        (None, "noise at night"),
    ]
    assert [one.target_start for one in asked.answers] == [4, None, None]
    explained = asker.explain(asked, asked.answers[0])
    assert [(word.start, word.end) for word in explained.words] == [(0, 3), (9, 11), (12, 16)]
    with pytest.raises(ValueError, match="9 aspects of your own: give 8 at most"):
        asker.ask("The fish is dear", [], [f"aspect {number}" for number in range(9)])
    with pytest.raises(ValueError, match="A name has 101 characters"):
        asker.ask("The fish is dear", [], ["a" * 101])
