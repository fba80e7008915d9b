"""The model behind the demo: what is asked, of which names, and what it says where it cannot be."""

import pytest
import torch

from modeling_qacg_bert import AspectSentimentPipeline, Contexts

ASPECTS = ["general", "price", "transit-location", "safety"]


@pytest.fixture(scope="module")
def asker(space, pipe):
    return space("asking").Asker(pipe)


def asked_about(asked) -> list[str]:
    return list(dict.fromkeys(answer["target"] for answer in asked.answers))


def test_names_are_found_given_or_the_models_own(asker):
    assert asked_about(asker.ask("Camden is dear, not like Soho", [], ASPECTS)) == ["Camden", "Soho"]
    assert asked_about(asker.ask("LOCATION2 is dear, not like Soho", [], ASPECTS)) == ["LOCATION2"]
    asked = asker.ask("LOCATION2 is dear, not like soho", ["Soho", "LOCATION2", "Leeds", "Soho"], ["price"])
    assert asked.targets == {"Soho": "LOCATION1", "LOCATION2": "LOCATION2", "Leeds": "LOCATION1"}
    assert asked_about(asked) == ["Soho", "LOCATION2"]
    assert asked.missing == ["Leeds"]
    assert {answer["aspect"] for answer in asked.answers} == {"price"}


def test_answers_and_explanations_are_the_pipelines(asker, pipe):
    text = "Camden, Soho and Bow: Soho is far"
    targets = {"Camden": "LOCATION1", "Soho": "LOCATION2", "Bow": "LOCATION1"}
    asked = asker.ask(text, list(targets), ASPECTS)
    assert asked.answers == pipe([text], targets=targets, return_all=True)[0]
    for method in ("gradient", "integrated_gradients"):
        answer = asker.explain(asked, "Bow", "safety", method)
        question = {"text": text, "target": "Bow", "aspect": "safety"}
        relevance = pipe(question, targets=targets, explain=method)["words"]
        attention = pipe(question, targets=targets, explain="attention")["words"]
        assert answer["words"] == [one | other for one, other in zip(relevance, attention, strict=True)]
    layer, head = asker.most_subtracting(answer)
    taken = torch.tensor([word["quasi_term"] for word in answer["words"]]).clamp(max=0).sum(0)  # (L, h)
    assert taken[layer - 1, head - 1] == taken.min() < 0


def test_many_texts(asker):
    texts = ["Camden is dear", "", "no name", "LOCATION1 is far", *["Soho is dull"] * 40]
    found = list(asker.ask_all(texts, [], ["price"]))
    assert [asked.text for asked in found] == texts
    assert [asked_about(asked) for asked in found] == [["Camden"], [], [], ["LOCATION1"], *[["Soho"]] * 40]


@pytest.mark.parametrize("model_type", ["cg_bert", "bert"])
def test_models_without_targets_and_without_quasi_attention(space, tiny_bert, example, model_type: str):
    backbones = example("backbones")
    config = backbones.build_config(
        model_type, str(tiny_bert), Contexts((), ("food", "price")), ["none", "positive", "negative"]
    )
    torch.manual_seed(0)
    model = backbones.load_model(str(tiny_bert), config, "sdpa").eval()
    pipe = AspectSentimentPipeline(model=model, tokenizer=backbones.load_tokenizer(str(tiny_bert), config))
    asker = space("asking").Asker(pipe)
    asked = asker.ask("The soup is cheap", [], ["food"])
    assert [(answer["target"], answer["aspect"]) for answer in asked.answers] == [("", "food")]
    answer = asker.explain(asked, "", "food", "gradient")
    assert asker.most_subtracting(answer) == (2, 1)
    drawing = space("drawing")
    assert "food: " in drawing.table(asked.answers, [])
    assert drawing.attention(answer, 2, 1).count("+0.0000") == len(answer["words"]) == 4


@pytest.mark.parametrize(
    ("text", "names", "aspects", "told"),
    [
        ("\n \u200b", [], ASPECTS, "There is nothing to read"),
        ("dear but safe", [], ASPECTS, "No name was found in the text: write what to ask about"),
        ("Soho is dear", ["Leeds", "Bow"], ASPECTS, "Leeds, Bow does not stand in the text"),
        ("Soho is dear", [f"name{number}" for number in range(9)], ASPECTS, "9 names to ask about: give 8 at most"),
        ("Soho is dear", [], [], "Choose an aspect"),
        ("Soho " * 1001, [], ASPECTS, "The text has 5,005 characters: give 5,000 at most"),
        ("Soho and LOCATION1", ["Soho"], ASPECTS, "the text holds 'LOCATION1'"),
    ],
)
def test_what_cannot_be_asked(asker, text: str, names: list[str], aspects: list[str], told: str):
    with pytest.raises(ValueError, match=told):
        asker.ask(text, names, aspects)
