"""Rows about words that texts are like."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from absa.tasks import similar
from absa.tasks.classification import Classification
from absa.tasks.similar import embedded, similarities, with_similar_words, words_of_texts
from absa.training.arguments import parse_arguments

TEXTS = ["cheap fish", "loud", "rude waiter, loud room", "A and B"]
WORDS = ["calm", "cheap", "costs", "noise", "staff"]
SCORES = np.array(
    [[0.2, 6.0, 5.0, 0.0, 1.0], [4.0, 0.0, 0.0, 5.0, 0.0], [2.0, 1.0, 0.0, 1.6, 9.0], [2.0, 0.3, 1.5, 0.0, -1]]
)
ROWS = {
    "id": ["1", "1", "2", "2", "3", "3", "4", "4", "4", "4"],
    "text": [TEXTS[0]] * 2 + [TEXTS[1]] * 2 + [TEXTS[2]] * 2 + [TEXTS[3]] * 4,
    "target": [""] * 6 + ["A", "A", "B", "B"],
    "aspect": ["food", "place"] * 5,
    "label": ["good", "none", "none", "none", "bad", "good", "bad", "bad", "none", "none"],
}


def test_rows_about_words(monkeypatch):
    monkeypatch.setattr(similar, "words_of_texts", lambda texts, names: WORDS)
    monkeypatch.setattr(similar, "similarities", lambda texts, words: SCORES[list(map(TEXTS.index, texts))])
    columns = with_similar_words(ROWS, 2, "none", ["food"])
    rows = list(zip(*columns.values(), strict=True))
    assert [row for row in rows if row[3] in ("food", "place")] == list(zip(*ROWS.values(), strict=True))
    asked = {}
    for number, (_, text, target, aspect, label) in enumerate(rows):
        if aspect in WORDS:
            asked.setdefault((text, target), []).append((aspect, label))
            assert {row[1:3] for row in rows[number - 1 : number + 1]} == {(text, target)}  # beside the text's own
    assert {words: sorted(of_words) for words, of_words in asked.items()} == {
        # "cheap" is in the text; the others that it does not speak of are below 0.3
        (TEXTS[0], ""): [("calm", "none"), ("costs", "good"), ("noise", "none")],
        # nothing is said of a known aspect, so what is said of others has no label
        (TEXTS[1], ""): asked[TEXTS[1], ""],
        # the two opinions disagree
        (TEXTS[2], ""): [("costs", "none")],
        # of A and not of B
        (TEXTS[3], "A"): [("calm", "bad"), ("noise", "none"), ("staff", "none")],
        (TEXTS[3], "B"): [("calm", "none"), ("noise", "none"), ("staff", "none")],
    }
    assert len(asked[TEXTS[1], ""]) == 2
    assert set(asked[TEXTS[1], ""]) < {("cheap", "none"), ("costs", "none"), ("staff", "none")}
    assert with_similar_words(ROWS, 2, "none", ["food"]) == columns  # drawn once and for all
    assert len(with_similar_words(ROWS, 0, "none", ["food"])["id"]) == len(ROWS["id"])


def test_words_that_a_text_has_come_last(monkeypatch):
    monkeypatch.setattr(similar, "words_of_texts", lambda texts, names: ["cheap"])
    monkeypatch.setattr(similar, "similarities", lambda texts, words: np.array([[6.0]]))
    rows = {name: column[:1] for name, column in ROWS.items()}
    assert with_similar_words(rows, 1, "none", [])["aspect"] == ["food", "cheap"]


def test_words_of_texts():
    texts = ["The price of LOCATION1's beer, the beer", "pricey Beer", "a beer-garden", "Beer priced so so", "don't"]
    assert words_of_texts([*texts, "gardens"], ["PRICE RANGE"]) == ["beer"]
    assert words_of_texts(texts * 4, ["price"]) == ["beer", "garden"]  # no stop words, and none of fewer letters


def test_similarity_is_of_the_text_and_of_its_nearest_word(tiny_bert: Path):
    texts, words = ["price far", "good", "bad near good", "1"], ["price", "good", "far"]
    model, tokenizer = AutoModel.from_pretrained(tiny_bert).eval(), AutoTokenizer.from_pretrained(tiny_bert)

    @torch.no_grad()
    def vector(text: str) -> torch.Tensor:
        return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)

    def cosine(one: str, other: str) -> float:
        return torch.nn.functional.cosine_similarity(vector(one), vector(other), dim=0).item()

    whole = np.array([[cosine(text, word) for word in words] for text in texts])
    nearest = np.array([[max(cosine(one, word) for one in text.split()) for word in words] for text in texts])
    both = sum((scores - scores.mean(0)) / scores.std(0) for scores in (whole, nearest))
    expected = (both - both.mean(0)) / both.std(0)
    np.testing.assert_allclose(similarities(texts, words, str(tiny_bert)), expected, atol=1e-4)
    vectors = embedded(str(tiny_bert), ["price", "good", "price"])
    assert {text: round(float(one @ one), 5) for text, one in vectors.items()} == {"price": 1, "good": 1}


def test_it_is_for_training_rows_about_named_aspects(tmp_path: Path, monkeypatch):
    lines = [
        "text,aspect,label",
        *(f"{text},food,{label}" for text, label in (("fish", "good"), ("loud", "none")) * 9),
    ]
    (file := tmp_path / "train.csv").write_text("\n".join(lines), encoding="utf-8")
    files = [f"--{split}_file={file}" for split in ("train", "validation", "test")]
    words = ["--dataset=custom", "--model_type=qacg_bert", *files]

    def load(*more: str) -> Classification:
        return Classification.load(parse_arguments([*words, *more]).data)

    monkeypatch.setattr(similar, "words_of_texts", lambda texts, names: list(names))
    monkeypatch.setattr(similar, "similarities", lambda texts, words: np.zeros((len(texts), len(words))))
    plain, task = load("--context_source=text"), load("--context_source=text", "--similar_words=1")
    assert len(task.splits["train"]["id"]) == 2 * len(plain.splits["train"]["id"])
    assert task.splits["train"]["aspect"][:2] == ["food", "food"]  # the names of aspects are told
    assert {name: rows for name, rows in task.splits.items() if name != "train"} == {
        name: rows for name, rows in plain.splits.items() if name != "train"
    }
    assert (task.contexts, task.label_names) == (plain.contexts, plain.label_names)
    with pytest.raises(ValueError, match=r"similar_words=2 with context_source=id: .* give --context_source text"):
        load("--similar_words=2")
    with pytest.raises(ValueError, match="similar_words=-1: give a number of words, 0 for none"):
        load("--context_source=text", "--similar_words=-1")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="similar_words=1: no word stands in 4 training texts"):
        load("--context_source=text", "--similar_words=1")
    file.write_text("\n".join(line.replace("none", "bad") for line in lines), encoding="utf-8")
    with pytest.raises(ValueError, match="similar_words=1 is for data with rows about aspects that a text does not"):
        load("--context_source=text", "--similar_words=1")
