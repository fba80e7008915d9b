"""Targets that are words of the texts: the data set aspect_polarity, trained and asked as a user does."""

import json
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, pipeline, set_seed

import absa
from absa.tasks.classification import Classification
from absa.training.arguments import parse_arguments
from absa.training.run import build

THINGS = ["soup", "tea", "room", "wine list"]
WORDS = {"good": "positive", "nice": "positive", "bad": "negative", "awful": "negative", "so so": "neutral"}
CATEGORIES = {"soup": "food", "tea": "food", "room": "ambience", "wine list": "price"}
VOCABULARY = ["the", "is", "but", "soup", "tea", "room", "wine", "list", "good", "nice", "bad", "awful", "so"]


def sentence(number: int, one: str, is_one: str, other: str, is_other: str) -> str:
    text = f"The {one} is {is_one}, but the {other} is {is_other}."
    terms = "".join(
        f'<aspectTerm term="{term}" polarity="{WORDS[word]}" from="{start}" to="{start + len(term)}"/>'
        for term, word, start in ((one, is_one, 4), (other, is_other, text.index(other, text.index("but"))))
    )
    category = f'<aspectCategory category="{CATEGORIES[one]}" polarity="{WORDS[is_one]}"/>'
    return (
        f'<sentence id="{number}"><text>{text}</text><aspectTerms>{terms}</aspectTerms>'
        f"<aspectCategories>{category}</aspectCategories></sentence>"
    )


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> list[str]:
    """Of a command, without model, output_dir and config_overrides. Many texts have the same thing twice."""
    folder = tmp_path_factory.mktemp("aspect_polarity")
    pairs = [*permutations(THINGS, 2), ("tea", "tea")]
    everything = [sentence(number, a, x, b, y) for number, ((a, b), x, y) in enumerate(product(pairs, WORDS, WORDS))]
    for name, sentences in (("Train_v2", everything), ("Test_Gold", everything[::7])):
        content = f"<sentences>{''.join(sentences)}</sentences>"
        (folder / f"Restaurants_{name}.xml").write_text(content, encoding="utf-8")
    rows = zip(VOCABULARY, np.random.default_rng(0).normal(size=(len(VOCABULARY), 12)).tolist(), strict=True)
    lines = (" ".join([word, *map(str, vector)]) for word, vector in rows)
    (folder / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    words = ["configuration/recipes/af_lstm_restaurants_terms.yaml", f"--data_dir={folder}", "--dev_split=none"]
    return [*words, f"--word_vectors={folder / 'vectors.txt'}", "--num_train_epochs=12", "--learning_rate=1e-2"]


def load(words: list[str], *more: str) -> tuple[Classification, object]:
    arguments = parse_arguments([*words[1:], "--dataset=aspect_polarity", "--model_type=af_lstm", *more])
    return Classification.load(arguments.data), arguments


@pytest.mark.parametrize(
    "architecture", ["af_lstm", *(pytest.param(name, marks=pytest.mark.slow) for name in ("td_lstm", "lstm"))]
)
def test_it_learns_and_answers(architecture: str, words, run_here, tmp_path: Path):
    overrides = f"--config_overrides=architecture={architecture},hidden_size=24,dropout=0"
    run_here("examples/run_absa.py", *words, overrides, f"--output_dir={tmp_path}")
    folder = tmp_path / "seed-42"
    scores = json.loads((folder / "results.json").read_text())["test"]
    if architecture == "lstm":  # which cannot know what it is asked about
        assert scores["accuracy"] <= scores["ceiling_sentence_accuracy"] < 0.7
        return
    text = "The room is nice, but the wine list is awful."
    read = absa.load(str(folder))
    opinions = read(text, targets=["wine list", "room", "tea"])
    asked = [(one.target, one.target_start, one.target_end, one.aspect, one.label) for one in opinions]
    assert asked == [("room", 4, 8, None, "positive"), ("wine list", 26, 35, None, "negative")]
    if architecture == "td_lstm":  # which knows the places, even of the same word
        assert scores["accuracy"] == 1
        assert [one.label for one in read("The tea is bad, but the tea is good.", targets=["tea"])] == [
            "negative",
            "positive",
        ]
    else:
        assert scores["mixed_accuracy"] > 0.8
        assert [one.aspect for one in read(text, aspects=["room", "wine"])] == ["room", "wine"]
        with pytest.raises(ValueError, match=r"aspect 'price' .*: the model's vocabulary has no piece of it"):
            read(text, aspects=["room", "price"])


def test_own_files_of_terms(words, tiny_bert: Path, run_here, tmp_path: Path):
    """From XML to SetFit's rows to a model that is asked about words that it has not seen."""
    (folder,) = (word.removeprefix("--data_dir=") for word in words if word.startswith("--data_dir="))
    source, train_file = f"{folder}/Restaurants_Test_Gold.xml", tmp_path / "train.csv"
    run_here("examples/convert_data.py", source, train_file, "--to", "setfit")
    own = ("configuration/recipes/own_data.yaml", "--data_config=terms", "--context_source=text", "--bf16=false")
    quick = ("--max_steps=2", "--eval_steps=1", "--save_steps=1", "--model_name_or_path", tiny_bert)
    data = ("--train_file", train_file, "--output_dir", tmp_path / "run")
    run_here("examples/run_absa.py", *own, *quick, *data)
    read = absa.load(str(tmp_path / "run" / "seed-42"))
    (opinion,) = read("The fish was good.", targets=["fish"])
    assert opinion.target == "fish"
    assert opinion.label in {"positive", "negative", "neutral"}


def test_targets_are_marked_in_their_place(words):
    task, arguments = load(words, "--data_config=restaurants_terms")
    set_seed(1)
    model, tokenizer = build(task, arguments.model, arguments.data)
    assert (task.contexts, model.config.aspects, model.config.targets) == (None, None, None)
    assert not model.get_input_embeddings().weight.requires_grad
    dataset = task.entries("train", arguments.data, tokenizer, model.config).dataset
    rows = task.splits["train"]
    number = next(n for n, row in enumerate(rows["text"]) if row == "The tea is bad, but the tea is good.")
    for row, start in ((number, 4), (number + 1, 24)):
        assert (rows["target_start"][row], rows["label"][row]) == (start, "negative" if start == 4 else "positive")
        tokens = tokenizer.convert_ids_to_tokens(dataset[row]["input_ids"])
        assert " ".join(tokens) == "the tea is bad but the tea is good tea"
        assert dataset[row]["token_type_ids"] == [2 if at == (1 if start == 4 else 6) else 0 for at in range(9)] + [1]


def test_categories_are_an_inventory(words):
    task, arguments = load(words, "--data_config=restaurants_categories", "--labels=2")
    assert list(task.contexts) == [
        ("", name) for name in ("price", "anecdotes/miscellaneous", "food", "ambience", "service")
    ]
    assert (task.label_names, task.select_by) == (["positive", "negative"], "accuracy")
    set_seed(1)
    model, tokenizer = build(task, arguments.model, arguments.data)
    dataset = task.entries("train", arguments.data, tokenizer, model.config).dataset
    assert model.config.aspects == [name for _, name in task.contexts]
    assert {type_ for types in dataset["token_type_ids"] for type_ in types} == {0, 1}
    assert {"anecdotes", "miscellaneous"} <= tokenizer.get_vocab().keys()


def test_majority_is_fitted(words, run_here, tmp_path: Path):
    options = ("--word_vectors=random", "--config_overrides=architecture=majority", f"--output_dir={tmp_path}")
    run_here("examples/run_absa.py", *words, *options)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "seed-42")
    task, _ = load(words, "--data_config=restaurants_terms")
    counts = np.array([task.splits["train"]["label"].count(name) + 1 for name in task.label_names])
    shares = model(torch.tensor([[2]])).logits[0].softmax(-1)
    assert shares.tolist() == pytest.approx((counts / counts.sum()).tolist())
    scores = json.loads((tmp_path / "seed-42" / "results.json").read_text())["test"]
    assert scores["accuracy"] == scores["floor_majority_accuracy"]


def test_bert_reads_pairs_too(words, run_here, tiny_bert: Path, tmp_path: Path):
    others = [word for word in words[1:] if not word.startswith("--word_vectors")]
    options = ["--model_type=bert", "--dataset=aspect_polarity", "--data_config=restaurants_terms", "--bf16=false"]
    options += [f"--model_name_or_path={tiny_bert}", "--num_train_epochs=1", f"--output_dir={tmp_path}"]
    run_here("examples/run_absa.py", *others, *options)
    folder = tmp_path / "seed-42"
    text = "The room is nice, but the wine list is awful."
    (opinion,) = absa.load(str(folder))(text, targets=["wine list"])
    assert (opinion.target, opinion.target_start) == ("wine list", 26)
    pipe = pipeline("text-classification", model=str(folder), top_k=None)
    temperature = AutoModelForSequenceClassification.from_pretrained(folder).config.calibration_temperature
    raw = {one["label"]: one["score"] for one in pipe([{"text": text, "text_pair": "wine list"}])[0]}
    calibrated = np.array([raw[label] for label in opinion.probabilities]) ** (1 / temperature)
    assert list(opinion.probabilities.values()) == pytest.approx((calibrated / calibrated.sum()).tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--auxiliary_sentence=false"],
            "targets of aspect_polarity are words of the texts.* give --auxiliary",
        ),
        (["--word_vectors=random"], "word_vectors=random would stay random: give --config_overrides trainable_emb"),
        (["--max_length=4"], "train split: target 'tea' of row 1 has no word where it stands, or stands in what is"),
        (["--dev_seed=1"], "dev_seed=1 with dev_split='none'"),
        (["--l2=-1"], "l2=-1.0: a weight of at least 0"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_is_refused(options, told, words, run_here, tmp_path: Path):
    with pytest.raises(ValueError, match=told):
        run_here("examples/run_absa.py", *words, *options, f"--output_dir={tmp_path}")


def test_word_vectors_are_needed():
    with pytest.raises(ValueError, match="model_type=af_lstm has no encoder: give --word_vectors, such as package:gt"):
        parse_arguments(["--model_type=af_lstm"])


def test_models_of_contexts_are_refused(words, run_here, tiny_bert: Path, tmp_path: Path):
    options = ["--dataset=aspect_polarity", "--data_config=restaurants_terms", f"--model_name_or_path={tiny_bert}"]
    others = [word for word in words[1:] if not word.startswith("--word_vectors")]
    with pytest.raises(ValueError, match=r"words of the texts, .* a model_type that takes no context_ids"):
        run_here("examples/run_absa.py", *others, *options, f"--output_dir={tmp_path}")


def test_terms_of_other_texts_are_learnt_to_be_absent(words):
    task, _ = load(words, "--data_config=restaurants_terms", "--absent_terms=2")
    plain, _ = load(words, "--data_config=restaurants_terms")
    assert (task.label_names, task.none_label) == (["none", *plain.label_names], "none")
    for split in ("train", "validation", "test"):
        rows, before = (
            list(zip(*(of_split[name] for name in ("text", "target", "label")), strict=True))
            for of_split in (task.splits[split], plain.splits[split])
        )
        assert [row for row in rows if row[-1] != "none"] == before
        assert len(rows) > len(before)
        assert not [row for row in rows if row[-1] == "none" and row[1] in row[0]]
    keys = list(zip(*(task.splits["test"][name] for name in ("id", "target")), strict=True))
    assert len(set(keys)) < len(keys)  # texts that have a term twice
    is_right = np.arange(len(keys)) % 3 > 0
    right = [task.label_names.index(label) for label in task.splits["test"]["label"]]
    logits = np.eye(len(task.label_names))[(right + ~is_right) % len(task.label_names)]
    assert task.score("test", logits)["accuracy"] == pytest.approx(is_right.mean())
    with pytest.raises(ValueError, match="absent_terms=2 is for data whose targets are words of its texts"):
        load(words, "--data_config=restaurants_categories", "--absent_terms=2")
    with pytest.raises(ValueError, match="absent_terms=-1: give a number of terms, 0 for none"):
        load(words, "--data_config=restaurants_terms", "--absent_terms=-1")


def test_aspects_are_left_out_of_training(words):
    of_categories = ["--data_config=restaurants_categories", "--context_source=text", "--unseen_aspects"]
    task, _ = load(words, *of_categories, "food", "price")
    assert [aspect for _, aspect in task.contexts] == ["anecdotes/miscellaneous", "ambience", "service"]
    assert set(task.splits["train"]["aspect"]) == set(task.splits["validation"]["aspect"]) == {"ambience"}
    assert set(task.splits["test"]["aspect"]) == {"food", "price", "ambience"}
    assert "macro_f1" in task.main_scores  # of any aspects
    with pytest.raises(ValueError, match="unseen_aspects=noise: give some of price, anecdotes"):
        load(words, *of_categories, "noise")
    with pytest.raises(ValueError, match=r"unseen_aspects=price .* service are all: leave some to learn from"):
        load(words, *of_categories, "price", "anecdotes/miscellaneous", "food", "ambience", "service")
    with pytest.raises(ValueError, match="unseen_aspects=food with context_source=id"):
        load(words, "--unseen_aspects", "food")


def test_terms_are_left_out_of_training_by_their_words(words):
    of_terms = ["--data_config=restaurants_terms", "--context_source=text", "--absent_terms=2", "--unseen_aspects"]
    task, _ = load(words, *of_terms, "TEA", "list")
    terms = {split: {target.lower() for target in rows["target"]} for split, rows in task.splits.items()}
    assert terms["test"] >= {"tea", "wine list", "room"}
    assert terms["train"] == terms["validation"] == terms["test"] - {"tea", "wine list"}
    with pytest.raises(ValueError, match="unseen_aspects=oom: no target in training says it; leave it out"):
        load(words, *of_terms, "tea", "oom")  # of "room"
