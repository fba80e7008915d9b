"""absa/tasks/generation.py: sentences with tuples become sequences, and what is generated becomes scores."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer

import absa
from absa.models import build_config, classifier_of
from absa.tasks.arguments import GenerationArguments
from absa.tasks.collating import NO_LABEL, CollatorOfSequences
from absa.tasks.generation import Generation, GenerationAnswers, GenerationEntries
from absa.training.arguments import ABSATrainingArguments
from absa.training.trainer import ABSATrainer
from datasets_scripts import load_absa_dataset
from datasets_scripts.subtasks import SUBTASKS
from modeling_generative_absa import TASKS

SENTENCES = {
    "train": [
        "the pasta is good but the wine was bad####[([6], [8], 'NEG'), ([1], [3], 'POS')]",
        "we waited####[]",
        f"{'a ' * 60}nice soup####[([61], [60], 'POS')]",  # both behind the most tokens
    ],
    "dev": ["nice soup####[([1], [0], 'POS')]"],
    "test": ["the apple pie is dear and nice####[([1, 2], [4], 'NEG'), ([1, 2], [6], 'NEG')]", "no soup####[]"],
}
PIE = {"target": (1, 3), "opinion": (4, 5), "label": "negative"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("aste_v2")
    (folder / "14res").mkdir()
    for split, lines in SENTENCES.items():
        (folder / "14res" / f"{split}_triplets.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def load(data_dir: Path):
    def load(*subtasks: str) -> tuple[Generation, GenerationArguments]:
        arguments = GenerationArguments(data_dir=str(data_dir), data_config="14res", subtasks=list(subtasks))
        return Generation.load(arguments), arguments

    return load


@pytest.fixture
def entries_of(load, tiny_bert: Path):
    """The entries of a split for subtasks, and their task."""

    def entries_of(split: str, *subtasks: str) -> tuple[GenerationEntries, Generation]:
        task, arguments = load(*subtasks)
        config = build_config("pointer_absa", str(tiny_bert), task.described(arguments))
        tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
        return task.entries(split, arguments, tokenizer, config), task

    return entries_of


def generated(entries: GenerationEntries, labels: list[list[int]], probability: float = 0.5) -> tuple:
    """Predictions of these indices behind the prompts, each with this probability."""
    prompts = entries.dataset["decoder_prompt_ids"]
    longest, vocab_size = max(map(len, labels)), entries.sequences.config.grammar.vocab_size
    sequences = np.full((len(labels), len(prompts[0]) + longest + 2), NO_LABEL)
    log_probabilities = np.full((len(labels), longest, vocab_size), np.log(1e-9))
    for number, (prompt, indices) in enumerate(zip(prompts, labels, strict=True)):
        sequences[number, : len(prompt) + len(indices)] = [*prompt, *indices]
        for step, index in enumerate(indices):
            log_probabilities[number, step, [index, (index + 1) % vocab_size]] = np.log([probability, 1 - probability])
    return sequences, log_probabilities


def test_rows_have_the_fields_that_models_generate():
    assert SUBTASKS.keys() == TASKS.keys()
    for name, (given, found) in SUBTASKS.items():
        assert (bool(given), found) == (TASKS[name].is_given, TASKS[name].fields)


def test_rows_and_overview(load):
    task, arguments = load("aste")
    assert task.label_names == ["positive", "negative"]
    assert task.described(arguments)["id2label"] == {0: "positive", 1: "negative"}
    assert task.splits["test"]["tuples"] == [[PIE, {**PIE, "opinion": (6, 7)}], []]
    table = [line.split() for line in task.overview().splitlines()]
    assert table[1:4] == [["rows", "3", "1", "2"], ["empty", "1", "0", "1"], ["tuples", "3", "1", "2"]]
    assert task.select_by == "f1"
    asked, _ = load("alsc", "aoe")
    assert asked.splits["test"]["target"] == [(1, 3), (1, 3)]  # one row for each of the two
    assert asked.main_scores == ["alsc/accuracy", "alsc/macro_f1", "alsc/mixed_accuracy"]


def test_tagged_terms_are_generated_with_their_labels(tiny_laptop14: Path):
    arguments = GenerationArguments(
        dataset="e2e_absa", data_config="laptop14", data_dir=str(tiny_laptop14), subtasks=["aesc"]
    )
    tagged = load_absa_dataset("e2e_absa", "laptop14", data_dir=tiny_laptop14)["test"]
    rows = Generation.load(arguments).splits["test"]
    assert (rows["id"], rows["words"]) == (tagged["id"][:], tagged["tokens"][:])
    names = tagged.features["tags"].feature.names
    of_tags = [[names[tag] for tag in tags] for tags in tagged["tags"]]
    assert sum(map(len, rows["tuples"])) == sum(tag[0] in "BS" for tags in of_tags for tag in tags) > 0
    with pytest.raises(ValueError, match=r"subtask='aste': none of \d+ tuples states target with opinion"):
        Generation.load(replace(arguments, subtasks=["aste"]))


def test_sequences_are_those_of_the_grammar(entries_of, caplog):
    entries, _ = entries_of("train", "aste")
    assert entries.rows_of == [[0], [1], [2]]
    word = entries.sequences.config.grammar.first_word
    # Sorted by the aspect term; positive is 2, negative 3.
    pasta, wine = [word + 1, word + 1, word + 3, word + 3, 2], [word + 6, word + 6, word + 8, word + 8, 3]
    assert entries.dataset["labels"][0] == [*pasta, *wine, 1]
    assert entries.dataset["labels"][1] == [1]
    assert entries.dataset["labels"][2] == [1], "what is not read is not learnt"
    assert "train: the ends of 1 sentences are cut at 64 tokens or 256 words; 0 rows cannot be answered" in caplog.text


def test_batches_are_padded_on_the_right(entries_of, tiny_bert: Path):
    entries, _ = entries_of("test", "aste")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert, padding_side="left")
    batch = CollatorOfSequences(tokenizer)(list(entries.dataset))
    shorter = len(entries.dataset["input_ids"][1])
    assert batch["attention_mask"][1].tolist() == [1] * shorter + [0] * (batch["input_ids"].shape[1] - shorter)
    assert batch["word_ids"][1, shorter:].eq(-1).all()
    assert batch["labels"][1].tolist() == [1] + [NO_LABEL] * 10
    assert batch["decoder_prompt_ids"].tolist() == [[0], [0]]


def test_a_target_that_is_not_read_is_not_asked_about(entries_of, caplog):
    entries, task = entries_of("train", "aoe")
    assert entries.rows_of == [[0], [1]]
    assert len(task.splits["train"]["id"]) == 3
    assert "1 rows cannot be answered" in caplog.text
    answers = task.answers("train", entries, generated(entries, entries.dataset["labels"]))
    assert answers.tuples[2] == []
    assert task.score("train", answers)["recall"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("subtasks", [("aste",), ("aesc", "ate"), ("alsc",), ("aoe",), ("ote", "aope", "aste")])
def test_what_is_gold_has_the_highest_scores(entries_of, subtasks):
    entries, task = entries_of("test", *subtasks)
    answers = task.answers("test", entries, generated(entries, entries.dataset["labels"]))
    scores = task.score("test", answers)
    undefined = {name for name in task.main_scores if name.endswith("mixed_accuracy")}  # no sentence has two labels
    assert {scores[name] for name in task.main_scores if name not in undefined} == {1.0}
    assert all(math.isnan(scores[name]) for name in undefined)
    assert not any(answers.are_invalid)


def test_words_without_pieces_are_not_learnt(tmp_path: Path, tiny_bert: Path, caplog):
    (tmp_path / "train.txt").write_text(
        "the price is dear \ufffd####[([1], [3, 4], 'NEG'), ([1], [3], 'NEG')]\n\ufffd good####[([0], [1], 'POS')]\n"
    )
    data = load_absa_dataset("aste_v2", "own", data_files={"train": tmp_path / "train.txt"}, cache_dir=tmp_path)
    data["validation"] = data["train"]
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    for subtask, lengths in (("aste", [6, 1]), ("aoe", [3])):
        task, arguments = Generation.of(data, [subtask], 0.0, 0), GenerationArguments(subtasks=[subtask])
        config = build_config("pointer_absa", str(tiny_bert), task.described(arguments))
        entries = task.entries("train", arguments, tokenizer, config)
        assert [len(labels) for labels in entries.dataset["labels"]] == lengths
    assert "1 rows cannot be answered" in caplog.text


def test_a_subtask_that_the_model_has_not_learnt(load, tiny_bert: Path):
    task, arguments = load("aste")
    config = build_config("pointer_absa", str(tiny_bert), task.described(arguments))
    task, arguments = load("aesc", "ote")
    with pytest.raises(ValueError, match="subtasks=aesc ote: this model was trained for aste"):
        task.entries("test", arguments, AutoTokenizer.from_pretrained(tiny_bert), config)


def test_scores_of_what_is_wrong(entries_of):
    entries, task = entries_of("test", "aste")
    word = entries.sequences.config.grammar.first_word
    right, wrong, cut = [word + 1, word + 2, word + 4, word + 4, 3], [word, word, word + 4, word + 4, 3], [word + 1]
    labels = {0: [*right, *wrong, *cut], 1: [*right[:4], 2, 1]}
    given = [labels[row] for (row,) in entries.rows_of]
    answers = task.answers("test", entries, generated(entries, given))
    assert answers.tuples[0] == [PIE, {"target": (0, 1), "opinion": (4, 5), "label": "negative"}]
    assert answers.tuples[1] == [], "a span of words that the sentence has not"
    assert answers.are_invalid == [True, True]
    scores = task.score("test", answers)
    assert (scores["precision"], scores["recall"], scores["invalid_share"]) == (0.5, 0.5, 1.0)
    assert (scores["ate_precision"], scores["ate_recall"]) == (0.5, 1.0)
    assert task.are_right("test", answers).tolist() == [True, False]
    np.testing.assert_allclose(answers.scores(1.0), 0.5**5, rtol=1e-5)


def test_the_temperature_is_that_of_tuples(entries_of):
    """Forty tuples of five steps, each step given 0.99, of which one in two is right."""
    _, task = entries_of("validation", "aste")
    num, vocabulary = 40, 12
    log_probabilities = np.full((5 * num, vocabulary), np.log(1e-30))
    log_probabilities[:, 3], log_probabilities[:, 4] = np.log(0.99), np.log(0.01)
    gold = task.splits["validation"]["tuples"][0][0]
    tuples = [[gold if number % 2 else {**gold, "label": "negative"} for number in range(num)]]
    steps = {"chosen": np.full(5 * num, 3), "tuple_of": np.repeat(np.arange(num), 5)}
    answers = GenerationAnswers(tuples, [False], log_probabilities, **steps)
    temperature = task.calibrate(answers)["calibration_temperature"]
    assert answers.scores(1.0)[0] == pytest.approx(0.99**5)
    assert answers.scores(temperature)[0] == pytest.approx(0.5, abs=0.01)
    assert task.calibrate(answers._replace(tuples=[[gold] * num]))["calibration_temperature"] < 1
    nothing = GenerationAnswers([[]], [False], log_probabilities[:0], np.array([], int), np.array([], int))
    assert task.calibrate(nothing) == {"calibration_temperature": 1.0}
    assert len(nothing.scores(2.0)) == 0


def test_answers_are_written_beside_gold(entries_of, tmp_path: Path):
    entries, task = entries_of("test", "aste")
    task.write_answers(tmp_path, "test", task.answers("test", entries, generated(entries, [[1], [1]])))
    rows = pd.read_parquet(tmp_path / "test_tuples.parquet")
    assert rows["id"].tolist() == task.splits["test"]["id"]
    assert [len(tuples) for tuples in rows["predicted"]] == [0, 0]
    first = rows["tuples"][0][0]
    assert (first["target"].tolist(), first["opinion"].tolist(), first["label"]) == ([1, 3], [4, 5], "negative")


@pytest.mark.parametrize(
    ("subtasks", "told"),
    [
        (["asqp"], "subtasks=asqp: choose of ate, ote, alsc, aoe, aesc, aope, aste"),
        (["aste", "aoe"], r"subtasks=aste aoe: some are given a target \(alsc, aoe\) and some find it"),
    ],
)
def test_subtasks_that_there_are_not(subtasks, told):
    with pytest.raises(ValueError, match=told):
        GenerationArguments(subtasks=subtasks)


def test_r_drop(entries_of, tiny_bert: Path, tmp_path: Path):
    entries, task = entries_of("train", "aste")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    arguments = ABSATrainingArguments(str(tmp_path), r_drop=True, eval_strategy="no", load_best_model_at_end=False)
    torch.manual_seed(0)
    model = classifier_of("pointer_absa", task.auto_class)(entries.sequences.config).train()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # so that dropout shows
    options = task.trainer_options(None, tokenizer, arguments)
    trainer = ABSATrainer(model=model, args=arguments, processing_class=tokenizer, **options)
    batch = trainer.data_collator([entries.dataset[number] for number in range(3)])
    torch.manual_seed(1)
    loss = trainer.compute_loss(model, dict(batch))
    torch.manual_seed(1)
    logits = model(**{name: torch.cat([value, value]) for name, value in batch.items() if name != "sentence"}).logits
    steps = batch["labels"] >= 0
    p, q = (half[steps].log_softmax(-1) for half in logits.chunk(2))  # (indices, V)
    labels = batch["labels"][steps][:, None]
    cross_entropy = -torch.cat([p, q]).gather(-1, torch.cat([labels, labels])).mean()
    # Σ (p - q) log(p / q), where words that a sentence does not have have no part.
    kl = ((p.exp() - q.exp()) * (p - q)).sum(-1).mean() / 2
    assert kl > 1e-4
    torch.testing.assert_close(loss, cross_entropy + kl)


def test_what_cannot_be_trained(load, tmp_path: Path):
    task, arguments = load("aste")
    with pytest.raises(ValueError, match="bert has no model ForSeq2SeqLM: choose one of bart, t5, pointer_absa"):
        classifier_of("bert", arguments.auto_class)
    with pytest.raises(ValueError, match=r"label_smoothing_factor=0.1 is not for task=generation: leave it out"):
        task.trainer_options(arguments, None, ABSATrainingArguments(str(tmp_path), label_smoothing_factor=0.1))
    with pytest.raises(ValueError, match="word_vectors with task=generation"):
        task.words()


def test_a_run_learns_and_its_model_answers(finished_generator: Path, tiny_aste: Path, tmp_path: Path, run_here):
    seed = finished_generator / "seed-42"
    results = json.loads((seed / "results.json").read_text())
    assert results["test"]["f1"] > 0.5
    assert results["test"]["invalid_share"] == 0
    assert 0 <= results["calibration"]["test"]["after"]["tuple"] <= 1
    rows = pd.read_parquet(seed / "test_tuples.parquet")
    answered = absa.load(str(seed))([" ".join(words) for words in rows["words"]])
    for words, expected, opinions in zip(rows["words"], rows["predicted"], answered, strict=True):
        assert [(one.target, one.opinion, one.label) for one in opinions] == [
            (*(" ".join(words[slice(*one[span])]) for span in ("target", "opinion")), one["label"]) for one in expected
        ]
    words = ("--data_config", "14res", "--data_dir", tiny_aste, "--output_dir", tmp_path / "scores")
    printed = run_here("examples/evaluate_checkpoint.py", seed, *words)
    scores = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert scores == pytest.approx(results["test"], nan_ok=True, abs=1e-6)
    assert f"f1                   {100 * scores['f1']:.1f}" in printed
    written, expected = (pd.read_parquet(folder / "test_tuples.parquet") for folder in (tmp_path / "scores", seed))
    for of_row, others, tuples in zip(
        written.pop("scores"), expected.pop("scores"), written["predicted"], strict=True
    ):
        assert of_row.tolist() == pytest.approx(others.tolist(), abs=1e-6)
        assert len(of_row) == len(tuples)
    assert written.to_json() == expected.to_json()
    with pytest.raises(ValueError, match=r"has the labels .*, the data \[\]: give the data .* --subtasks"):
        run_here("examples/evaluate_checkpoint.py", seed, *words, "--subtasks", "ate")


@pytest.mark.parametrize("subtask", ["alsc", "aoe"])
def test_a_run_of_given_targets(subtask: str, tiny_bert: Path, tiny_aste: Path, tmp_path: Path, run_here):
    words = (f"configuration/recipes/{subtask}_14res_minilm.yaml", "--model_name_or_path", tiny_bert)
    words += ("--config_overrides", "decoder_layers=1,decoder_heads=4", "--data_dir", tiny_aste, "--bf16", "false")
    words += ("--learning_rate", "3e-3", "--learning_rates", "{}", "--num_train_epochs", "1")
    run_here("examples/run_absa.py", *words, "--output_dir", tmp_path / "run")
    seed = tmp_path / "run" / "seed-42"
    rows = pd.read_parquet(seed / "test_tuples.parquet")
    assert len(rows) == 24, "one for each target"
    read = absa.load(str(seed), targets=["price", "location"])
    for _, of_sentence in rows.groupby("id"):
        words = of_sentence["words"].iloc[0]
        predicted = [
            (target[0], one["label"] or " ".join(words[slice(*one["opinion"])]))
            for target, tuples in zip(of_sentence["target"], of_sentence["predicted"], strict=True)
            for one in tuples
        ]
        places = {"price": 3, "location": 7}
        assert [(places[one.target], one.label or one.opinion) for one in read(" ".join(words))] == predicted
