"""Several data sets at once: own files with different aspects and labels, trained and asked as a user does."""

import json
import logging
import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from scipy.special import log_softmax
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertForSequenceClassification,
    TrainerCallback,
)
from transformers.trainer import DEFAULT_CALLBACKS

import absa
from absa import cards
from absa.calibration import FOLDS, cross_entropy, label_calibration_error
from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import Entries
from absa.tasks.classification import Classification
from absa.tasks.mixture import Mixture
from absa.training.arguments import parse_arguments
from absa.training.run import build, main
from modeling_qacg_bert import QACGBertForSequenceClassification

SCRIPT, EVALUATE = "examples/run_absa.py", "examples/evaluate_checkpoint.py"
FOOD = {"nice": "good", "dull": "bad"}
TOWN = {
    "safe": ("safety", "good"),
    "dangerous": ("safety", "bad"),
    "cheap": ("price", "mixed"),
    "dear": ("price", "bad"),
}
LABELS = ["good", "bad", "none", "mixed"]
SHORT = ("--num_train_epochs", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """food has the aspects food and general, and no test split; town has price and safety, and labels of its own."""
    folder = tmp_path_factory.mktemp("own")
    for split, number in (("train", 16), ("dev", 8)):
        rows = [
            f"{split} {n} it is {word},{('food', 'general')[n % 2]},{label}"
            for n in range(number)
            for word, label in FOOD.items()
        ]
        write(folder / "food" / f"{split}.csv", rows)
    for split, number in (("train", 12), ("dev", 6), ("test", 6)):
        rows = [
            f"{split} {n} but {word},{aspect},{label}" for n in range(number) for word, (aspect, label) in TOWN.items()
        ]
        write(folder / "town" / f"{split}.csv", rows)
    return folder


def write(file: Path, rows: list[str]):
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(["text,aspect,label", *rows]), encoding="utf-8")


@pytest.fixture(scope="module")
def recipe(folder: Path, tiny_bert: Path) -> Path:
    file = folder / "recipe.yaml"
    file.write_text(f"""
model_type: bert
model_name_or_path: {tiny_bert}
mixture:
  - {{dataset: custom, name: food, weight: 1.5}}
  - {{dataset: custom, name: town, data_dir: {folder}/town, absent_label: none}}
data_dirs:
  food: {folder}/food
num_train_epochs: 15
per_device_train_batch_size: 8
learning_rate: 2e-3
bf16: false
logging_steps: 1
""")
    return file


@pytest.fixture(scope="module")
def arguments(recipe: Path):
    return parse_arguments([str(recipe)])


@pytest.fixture(scope="module")
def mixture(arguments) -> Mixture:
    return Mixture.load(arguments.data)


@pytest.fixture(scope="module")
def finished(recipe: Path, tmp_path_factory) -> Path:
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("finished")
    main([str(recipe), f"--output_dir={folder}"])
    return folder


def test_labels_and_aspects_are_those_of_all(mixture: Mixture, arguments):
    assert mixture.label_names == LABELS
    assert mixture.main_scores == ["food_macro_f1", "town_macro_f1", "mean"]
    described = mixture.described(arguments.data)
    assert described["aspects"] == ["food", "general", "safety", "price"]
    assert (described["targets"], described["none_label"], described["context_source"]) == (None, "none", "text")
    assert list(described["id2label"].values()) == LABELS
    assert list(mixture.splits) == ["train", "validation", "test"]
    assert mixture.splits["train"]["dataset"] == ["food"] * 32 + ["town"] * 96  # two aspects of each of 48 texts
    assert mixture.splits["test"]["dataset"] == ["town"] * 48
    assert {len(column) for column in mixture.splits["train"].values()} == {128}


def test_rows_are_answered_among_the_labels_of_their_data_set(mixture: Mixture, arguments):
    model, tokenizer = build(mixture, arguments.model, arguments.data)
    options = mixture.trainer_options(arguments.data, tokenizer, arguments.training)
    assert options["label_masks"] == [[True, True, False, False], [True, True, True, True]]
    assert options["weights"] == [1.5, 1.0]
    entries = mixture.entries("train", arguments.data, tokenizer, model.config)
    rows = mixture.splits["train"]
    assert [LABELS[label] for label in entries.dataset["labels"]] == rows["label"]
    assert entries.dataset["dataset_ids"][:] == [0] * 32 + [1] * 96
    assert entries.rows_of == [[number] for number in (*range(32), *range(96))]
    for number in (3, 40):
        pair = tokenizer(rows["text"][number], rows["aspect"][number])["input_ids"]
        assert entries.dataset[number]["input_ids"] == pair


def test_scores_are_those_of_the_single_data_sets(mixture: Mixture):
    """From predictions in another order than that of the rows, as the longest entries come first."""
    random, predictions, dataset_ids, rows_of, expected = np.random.default_rng(0), [], [], [], {}
    for number, (name, task) in enumerate(mixture.tasks.items()):
        labels = task.gold("validation")
        logits = random.normal(size=(len(labels), 4))
        own = [LABELS.index(label) for label in task.label_names]
        of_task = task.score("validation", logits[:, own], bootstrap=10)
        expected |= {f"{name}_{score}": value for score, value in of_task.items()}
        order = random.permutation(len(labels))
        predictions.append(logits[order])
        dataset_ids += [number] * len(labels)
        rows_of += [[row] for row in order]
    entries = Entries(Dataset.from_dict({"dataset_ids": dataset_ids}), rows_of)
    answers = mixture.answers("validation", entries, np.concatenate(predictions))
    scores = mixture.score("validation", answers, bootstrap=10)
    mean = (scores["food_macro_f1"] + scores["town_macro_f1"]) / 2
    assert scores == pytest.approx({**expected, "mean": mean}, nan_ok=True)
    assert answers["food"].shape == (16, 2)


def test_one_temperature_by_all_rows(mixture: Mixture):
    """Rows are right in 4 of 5 cases and say 99.8 % and more: they are too sure by the same in both data sets."""
    answers, costs = {}, []
    for name, task in mixture.tasks.items():
        labels = np.array(task.gold("validation"))
        said = np.where(np.arange(len(labels)) % 5 == 0, (labels + 1) % len(task.label_names), labels)
        answers[name] = 8.0 * np.eye(len(task.label_names))[said]
        costs.append((answers[name], labels))

    def cost(temperature: float) -> float:
        return sum(-log_softmax(own / temperature, -1)[np.arange(len(labels)), labels].sum() for own, labels in costs)

    found = mixture.calibrate(answers)["calibration_temperature"]
    grid = np.linspace(1, 12, 400)
    assert found == pytest.approx(grid[np.argmin([cost(temperature) for temperature in grid])], abs=0.05)
    assert found > 2
    logits, labels = mixture._pooled("validation", answers)
    assert cross_entropy(logits, labels) == pytest.approx(cost(1) / len(labels))
    assert label_calibration_error(logits, labels) > 0.1
    parts = np.array_split(np.isneginf(logits).any(-1), FOLDS)  # rows of food, which lacks labels
    assert all(part.mean() == pytest.approx(16 / 64, abs=0.07) for part in parts), "a fold is of one data set"


def test_a_run(finished: Path, capsys):
    results = json.loads((finished / "all_results.json").read_text())
    assert results["main_scores"] == ["town_macro_f1", "mean"], "food has no test split"
    own = results["seeds"]["42"]
    assert own["test"]["mean"] == own["test"]["town_macro_f1"] > 0.3
    validation = own["validation"]
    assert validation["mean"] == (validation["food_macro_f1"] + validation["town_macro_f1"]) / 2 > 0.6
    assert list(own["calibration"]["validation"]["after"]) == [
        *("label", "food_label", "town_label", "town_present", "town_sentiment"),
    ]
    seed = finished / "seed-42"
    log = json.loads((seed / "results.json").read_text())["training"]["model"]
    assert log["steps"] == 15 * (48 + 96) // 8
    assert max(entry["eval_mean"] for entry in log["log"] if "eval_mean" in entry) == validation["mean"]
    assert {path.relative_to(seed).as_posix() for path in seed.glob("**/*.parquet")} == {
        f"{name}_probabilities.parquet" for name in ("food/validation", "town/validation", "town/test")
    }
    food = pd.read_parquet(seed / "food" / "validation_probabilities.parquet")
    assert list(food)[-3:] == ["label", "p_good", "p_bad"]
    np.testing.assert_allclose(food["p_good"] + food["p_bad"], 1, rtol=0, atol=1e-6)
    model = AutoModelForSequenceClassification.from_pretrained(seed)
    text = AutoTokenizer.from_pretrained(seed)("dev 3 it is dull", "general", return_tensors="pt")
    expected = model(**text).logits[0, :2].softmax(-1).tolist()
    assert food[["p_good", "p_bad"]].to_numpy()[7] == pytest.approx(expected, abs=1e-5)


def test_told_to_stop_it_goes_on(recipe: Path, folder: Path, tmp_path: Path, run_here, monkeypatch):
    """In the first epoch and in the second, whose rows are others; with the data in another folder."""

    class ToldToStop(TrainerCallback):
        steps: ClassVar[list[int]] = [7, 25]

        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step in self.steps:
                self.steps.remove(state.global_step)
                os.kill(os.getpid(), signal.SIGTERM)

    words = [SCRIPT, recipe, "--num_train_epochs", "3", "--config_overrides", "hidden_dropout_prob=0.1"]
    run_here(*words, "--output_dir", tmp_path / "undisturbed")
    monkeypatch.setattr("transformers.trainer.DEFAULT_CALLBACKS", [*DEFAULT_CALLBACKS, ToldToStop])
    for _ in range(2):
        with pytest.raises(SystemExit):
            run_here(*words, "--output_dir", tmp_path / "stopped")
    (tmp_path / "moved").symlink_to(folder / "food")
    run_here(*words, "--output_dir", tmp_path / "stopped", "--data_dirs", json.dumps({"food": f"{tmp_path}/moved"}))
    for name in ("model.safetensors", "town/test_probabilities.parquet"):
        found, expected = (tmp_path / run / "seed-42" / name for run in ("stopped", "undisturbed"))
        assert found.read_bytes() == expected.read_bytes()
    changed = json.dumps([{"dataset": "custom", "name": "food", "weight": 3}])
    with pytest.raises(ValueError, match=r"mixture was .* and is now"):
        run_here(*words, "--output_dir", tmp_path / "stopped", "--mixture", changed)


def test_one_data_set_is_trained_as_without_a_mixture(recipe: Path, folder: Path, tiny_bert, tmp_path: Path, run_here):
    one = [{"dataset": "custom", "name": "town", "data_dir": str(folder / "town"), "absent_label": "none"}]
    words = ["--model_type=bert", f"--model_name_or_path={tiny_bert}", "--num_train_epochs=2", "--learning_rate=2e-3"]
    words += ["--bf16=false", "--r_drop=true", "--config_overrides=hidden_dropout_prob=0.1"]
    run_here(SCRIPT, *words, f"--mixture={json.dumps(one)}", f"--output_dir={tmp_path}/mixture")
    single = [f"--data_dir={folder}/town", "--dataset=custom", "--absent_label=none"]
    run_here(SCRIPT, *words, *single, f"--output_dir={tmp_path}/single")
    found, expected = (
        json.loads((tmp_path / run / "seed-42/results.json").read_text()) for run in ("mixture", "single")
    )
    for split in ("validation", "test"):
        scores = {f"town_{name}": value for name, value in expected[split].items()}
        assert found[split] == {**scores, "mean": expected[split]["macro_f1"]}
        for side in ("before", "after"):
            errors = {f"town_{kind}": error for kind, error in expected["calibration"][split][side].items()}
            assert found["calibration"][split][side] == pytest.approx({**errors, "label": errors["town_label"]})
    temperatures = [one["training"]["model"]["calibration_temperature"] for one in (found, expected)]
    assert temperatures[0] == temperatures[1]


def test_evaluation_is_among_the_labels_of_the_data(finished: Path, folder: Path, tmp_path: Path, run_here):
    seed = finished / "seed-42"
    trained = json.loads((seed / "results.json").read_text())["validation"]
    own = {"food": [], "town": ["--absent_label", "none"]}
    for name, options in own.items():
        words = ["--dataset", "custom", "--data_dir", folder / name, "--output_dir", tmp_path / name, *options]
        run_here(EVALUATE, seed, "--split", "validation", *words)
        scores = json.loads((tmp_path / name / "scores.json").read_text())
        assert {f"{name}_{score}": value for score, value in scores.items()}.items() <= trained.items()
        found, expected = (
            pd.read_parquet(place / "validation_probabilities.parquet") for place in (tmp_path / name, seed / name)
        )
        pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-6)
    # Data with another aspect, and with the labels in another order.
    write(tmp_path / "other" / "train.csv", ["this is dull,noise,bad", "this is nice,noise,good"] * 2)
    run_here(EVALUATE, seed, "--split", "train", "--dataset", "custom", "--data_dir", tmp_path / "other",
             "--output_dir", tmp_path / "scores", "--validation_fraction", "0.5")  # fmt: skip
    assert list(pd.read_parquet(tmp_path / "scores" / "train_probabilities.parquet"))[-2:] == ["p_bad", "p_good"]
    write(tmp_path / "unknown" / "train.csv", ["this is dull,noise,awful", "this is nice,noise,good"])
    with pytest.raises(ValueError, match=r"has the labels \['good', 'bad', 'none', 'mixed'\], the data \['awful', 'g"):
        run_here(EVALUATE, seed, "--split", "train", "--dataset", "custom", "--data_dir", tmp_path / "unknown",
                 "--validation_fraction", "0.5")  # fmt: skip


def test_it_is_asked_about_any_aspect(finished: Path):
    read = absa.load(str(finished / "seed-42"), return_all=True)
    assert [one.aspect for one in read("it is dull")] == ["food", "general", "safety", "price"]
    answers = read.pipe("it is dull", aspects=["noise", "food"])
    assert [(answer["aspect"], answer["in_training"]) for answer in answers] == [("noise", False), ("food", True)]
    assert [list(answer["probabilities"]) for answer in answers] == [LABELS] * 2
    (opinion,) = read({"text": "it is dull", "aspect": "noise"})
    assert opinion.label == max(opinion.probabilities, key=opinion.probabilities.get)
    assert not hasattr(opinion, "in_training")


def test_the_card_names_all_data_sets(finished: Path, folder: Path):
    seed = finished / "seed-42"
    model, tokenizer = load_classifier("model", str(seed))
    card = cards.model_card(model, tokenizer, cards.facts_of_run(seed), "alice/tiny", "mit")
    for said in ("fine-tuned on own data with", "- aspects: food, general, safety, price; training had these",
                 "| town macro f1 |", "| mean |", "mixture:\n- dataset: custom\n", "dataset: mixture\n"):  # fmt: skip
        assert said in card
    assert str(folder) not in card


def test_contexts_in_words_all_of_a_text_in_one_pass(recipe: Path, folder: Path, tmp_path: Path, run_here):
    """Entries are texts: 32 of food, each with one aspect, and 48 of town, each with two."""
    words = ("--model_type", "qacg_bert", "--auxiliary_sentence", "false", "--contexts_together", "true")
    run_here(SCRIPT, recipe, *words, *SHORT, "--r_drop", "true", "--output_dir", tmp_path)
    results = json.loads((tmp_path / "seed-42" / "results.json").read_text())
    assert results["training"]["model"]["steps"] == (48 + 48) // 8
    assert 0 < results["validation"]["mean"] < 1
    own = ("--dataset", "custom", "--data_dir", folder / "town", "--absent_label", "none")
    run_here(EVALUATE, tmp_path / "seed-42", *own, "--output_dir", tmp_path / "scores")
    scores = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert {f"town_{name}": score for name, score in scores.items()}.items() <= results["test"].items()
    answers = absa.load(str(tmp_path / "seed-42")).pipe("it is dull", aspects=["noise", "food"], return_all=True)
    assert [answer["in_training"] for answer in answers] == [False, True]


def test_places_and_aspects_in_one_mixture(folder: Path, tmp_path: Path, tiny_bert: Path, arguments):
    """Terms that are words of the texts, and named aspects: a target with its place, and none."""
    sentence = '<sentence id="{}"><text>The soup is {}.</text><aspectTerms><aspectTerm term="soup" polarity="{}" '
    sentence += 'from="4" to="8"/></aspectTerms></sentence>'
    for name, number in (("Train_v2", 8), ("Test_Gold", 2)):
        sentences = [
            sentence.format(f"{name}{n}", f"{name} {n}", ("positive", "negative")[n % 2]) for n in range(number)
        ]
        file = tmp_path / f"Restaurants_{name}.xml"
        file.write_text(f"<sentences>{''.join(sentences)}</sentences>", encoding="utf-8")
    terms = {"dataset": "aspect_polarity", "data_config": "restaurants_terms", "data_dir": str(tmp_path)}
    entries = [
        {**terms, "dev_split": "none"},
        {"dataset": "custom", "name": "food", "data_dir": f"{folder}/food"},
    ]
    data = ClassificationArguments(mixture=entries)
    mixture = Mixture.load(data)
    assert list(mixture.tasks) == ["aspect_polarity_restaurants_terms", "food"]
    assert mixture.parts(data, BertForSequenceClassification) == {"": mixture}
    assert mixture.described(data)["aspects"] == ["food", "general"]
    assert mixture.label_names == ["positive", "neutral", "negative", "good", "bad"]
    model, tokenizer = build(mixture, arguments.model, data)
    dataset = mixture.entries("train", data, tokenizer, model.config).dataset
    own = len(mixture.tasks["aspect_polarity_restaurants_terms"].splits["train"]["id"])
    written = tokenizer.batch_decode(dataset["input_ids"][:])
    assert written[0].endswith("[SEP] soup [SEP]")
    assert written[own].endswith("[SEP] food [SEP]")
    assert mixture.splits["train"]["target_start"] == [4] * own + [None] * 32


def test_texts_that_another_data_set_holds_out_are_left_out(tmp_path: Path, caplog):
    for name, rows in {
        "train": ["A garden - lovely,a,good", "b,a,bad", "c,a,bad", "t,a,good"],
        "other": ["x,a,good", "y,a,bad"],
        "dev": ["d,a,good", "T,a,bad"],
        "other_dev": ["a  GARDEN (lovely!),a,good", "x,a,good"],
        "test": ["t,a,good"],
    }.items():
        write(tmp_path / f"{name}.csv", rows)

    def load(**files: str) -> Mixture:
        files = {"train": "train", "validation": "dev", **files}
        one = {f"{split}_file": f"{tmp_path}/{name}.csv" for split, name in files.items()}
        names = (("train", "other"), ("validation", "other_dev"), ("test", "test"))
        other = {f"{split}_file": f"{tmp_path}/{name}.csv" for split, name in names}
        entries = [{"dataset": "custom", "name": "one", **one}, {"dataset": "custom", "name": "other", **other}]
        return Mixture.load(ClassificationArguments(mixture=entries))

    with caplog.at_level(logging.WARNING):
        mixture = load()
    texts = {name: [rows["text"] for rows in task.splits.values()] for name, task in mixture.tasks.items()}
    assert texts["one"] == [["b", "c"], ["d"]]
    assert texts["other"] == [["x", "y"], ["a  GARDEN (lovely!)", "x"], ["t"]], "within one, deduplicate does that"
    assert caplog.messages == [
        "one: 2 of 4 train rows are left out, whose texts other data sets hold out",
        "one: 1 of 2 validation rows are left out, whose texts other data sets hold out",
    ]
    with pytest.raises(ValueError, match="one: another data set of the mixture holds out all validation texts"):
        load(validation="test")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"wait": 2}, r"entry 2 \(own\): wait is no key of an entry: see docs/training.md"),
        ({"max_length": 9}, r"entry 2 \(own\): max_length is no key of an entry: say it once"),
        ({"weight": "much"}, r"entry 2 \(own\): argument --weight: invalid float value: 'much'"),
        ({"weight": 0}, r"entry 2 \(own\): weight=0.0: give a number above 0"),
        ({"weight": "nan"}, r"entry 2 \(own\): weight=nan: give a number above 0"),
        ({"deduplicate": "perhaps"}, r"entry 2 \(own\): argument --deduplicate: Truthy value expected"),
        ({"metric": "bleu"}, r"entry 2 \(own\): argument --metric: invalid choice: 'bleu'"),
        ({"train_file": ["a.csv", "b.csv"]}, r"entry 2 \(own\): train_file=\['a.csv', 'b.csv'\]: give one value"),
        ({"dataset": "conll"}, r"entry 2 \(own\): dataset=conll is for task=tagging"),
        ({"dataset": None}, r"entry 2 \(own\) has no dataset"),
        ({"name": "sentihood"}, "mixture has the name sentihood twice"),
        ({"name": "a/b"}, "name='a/b': give letters, digits and underscores"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_an_entry_that_does_not_fit(entry: dict, told: str):
    mixture = [{"dataset": "sentihood"}, {"dataset": "custom", "name": "own", **entry}]
    with pytest.raises(ValueError, match=told):
        parse_arguments([f"--mixture={json.dumps(mixture)}"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--train_file=own.csv"], "train_file='own.csv' with mixture: write it into the entry"),
        (["--class_weighted_loss=true"], "class_weighted_loss with mixture"),
        (["--class_balanced_sampling=true"], "class_balanced_sampling with mixture"),
        (["--data_dirs={\"own\": \"DIR\"}"], "data_dirs has own, the mixture sentihood: give one of these"),
        (["--unseen_aspects=price"], r"unseen_aspects=\['price'\] with mixture: write it into the entry"),
        (["--data_dirs=DIR"], "data_dirs='DIR': give JSON, such as"),
        (["--mixture=[]"], r"mixture=\[\]: give a list of data sets, such as"),
        (["--mixture=sentihood"], "mixture='sentihood': give JSON, such as"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)  # fmt: skip
def test_what_a_mixture_is_not_given_with(words: list[str], told: str):
    with pytest.raises(ValueError, match=told):
        parse_arguments(['--mixture=[{"dataset": "sentihood"}]', *words])


def test_an_entry_may_leave_aspects_out_of_training():
    mixture = [{"dataset": "sentihood", "unseen_aspects": ["price", "safety"]}, {"dataset": "semeval2014"}]
    entries = parse_arguments([f"--mixture={json.dumps(mixture)}"]).data.entries
    assert [entry.unseen_aspects for entry in entries.values()] == [["price", "safety"], None]


def test_folders_are_of_a_mixture():
    with pytest.raises(ValueError, match=r"data_dirs=.* without mixture: one data set has --data_dir"):
        parse_arguments(["--data_dirs={}"])


def test_another_data_set_takes_the_place_of_a_recipes_mixture(recipe: Path, caplog):
    data = parse_arguments([str(recipe), "--dataset=sentihood"]).data
    assert (data.dataset, data.mixture, data.data_dirs, data.context_source) == ("sentihood", None, None, "id")
    assert "dataset=sentihood: of the recipe, which is for a mixture, mixture=[{" in caplog.text


def test_a_fault_of_a_data_set_names_it(tmp_path: Path):
    write(tmp_path / "train.csv", ["nice,food,good", "dull,food,bad"])
    absent = {"dataset": "custom", "name": "absent", "train_file": str(tmp_path / "no.csv")}
    with pytest.raises(FileNotFoundError, match=r"absent of the mixture: .*no.csv"):
        Mixture.load(ClassificationArguments(mixture=[absent]))
    small = {"dataset": "custom", "name": "small", "train_file": str(tmp_path / "train.csv")}
    with pytest.raises(ValueError, match=r"small of the mixture: validation_fraction=0.1 of 2 training texts is 0"):
        Mixture.load(ClassificationArguments(mixture=[small]))


def test_one_label_for_what_a_text_does_not_speak_of(folder: Path):
    food = {"dataset": "custom", "name": "food", "data_dir": str(folder / "food"), "absent_label": "silent"}
    town = {"dataset": "custom", "name": "town", "data_dir": str(folder / "town"), "absent_label": "none"}
    with pytest.raises(
        ValueError, match=r"mixture has the labels 'silent' of food and 'none' of town .* absent_label"
    ):
        Mixture.load(ClassificationArguments(mixture=[food, town]))


def test_a_model_that_is_not_asked_in_words(mixture: Mixture, arguments, monkeypatch):
    def parts(model_class: type, **options):
        return mixture.parts(replace(arguments.data, **options), model_class)

    assert parts(QACGBertForSequenceClassification, auxiliary_sentence=False, symmetric_targets=True) == {"": mixture}
    with pytest.raises(ValueError, match="auxiliary_sentence=false: the model would not know what it is asked"):
        parts(BertForSequenceClassification, auxiliary_sentence=False)
    with pytest.raises(
        ValueError, match="symmetric_targets=true with context_source=text and BertForSequenceClassification"
    ):
        parts(BertForSequenceClassification, symmetric_targets=True)
    monkeypatch.setattr(QACGBertForSequenceClassification, "config_class", SimpleNamespace())
    with pytest.raises(ValueError, match=r"which knows its contexts by ids: .* such as bert or qacg_bert"):
        parts(QACGBertForSequenceClassification)
    smoothed = SimpleNamespace(label_smoothing_factor=0.1)
    with pytest.raises(ValueError, match=r"label_smoothing_factor=0.1 with mixture"):
        mixture.trainer_options(arguments.data, None, smoothed)


def test_public_data_sets(shared_dir: Path):
    """Their own labels, aspects and metrics, and SentiHood's targets."""
    entries = [{"dataset": name, "data_dir": str(shared_dir / "data" / name)} for name in ("semeval2014", "sentihood")]
    data = ClassificationArguments(mixture=entries)
    mixture = Mixture.load(data)
    described = mixture.described(data)
    assert mixture.label_names == ["none", "positive", "neutral", "negative", "conflict"]
    assert described["targets"] == ["LOCATION1", "LOCATION2"]
    aspects = "price anecdotes food ambience service general transit-location safety"
    assert described["aspects"] == aspects.split()
    assert mixture.main_scores == ["semeval2014_f1", "sentihood_strict_accuracy", "mean"]
    single = {name: Classification.load(entry) for name, entry in data.entries.items()}
    answers = {}
    for name, task in single.items():
        assert mixture.tasks[name].splits == task.splits, "the data sets have no text in common"
        rows = len(task.splits["test"]["id"])
        answers[name] = np.random.default_rng(0).normal(size=(rows, len(task.label_names)))
    scores = mixture.score("test", answers)
    for name, task in single.items():
        expected = {f"{name}_{score}": value for score, value in task.score("test", answers[name]).items()}
        assert expected.items() <= scores.items()


@pytest.mark.parametrize(
    "options",
    [
        ("--model_type", "bert", "--symmetric_targets", "true", "--r_drop", "true"),
        ("--model_type", "qacg_bert", "--auxiliary_sentence", "false", "--contexts_together", "true"),
    ],
    ids=["pair", "qacg"],
)
def test_contexts_by_ids_are_those_of_all(recipe: Path, folder: Path, tmp_path: Path, run_here, options):
    """Where all data sets name their aspects, a mixture needs no contexts in words."""
    run_here(SCRIPT, recipe, *options, "--context_source", "id", *SHORT, "--output_dir", tmp_path / "run")
    seed = tmp_path / "run" / "seed-42"
    config = json.loads((seed / "config.json").read_text())
    assert config["aspects"] == ["food", "general", "safety", "price"]
    assert config.get("context_source", "id") == "id"
    assert config.get("num_contexts", 4) == 4
    data = ("--dataset", "custom", "--data_dir", folder / "town", "--absent_label", "none")
    with pytest.raises(ValueError, match=r"has the labels \['good', 'bad', 'none', 'mixed'\], the data \['none'"):
        run_here(EVALUATE, seed, *data)
    kept = pd.read_parquet(seed / "town" / "test_probabilities.parquet")
    answers = absa.load(str(seed)).pipe("test 0 but safe", return_all=True)
    assert [answer["aspect"] for answer in answers] == config["aspects"]
    first = {"text": "test 0 but safe", "aspect": kept["aspect"][0]}
    probabilities = absa.load(str(seed)).pipe(first)["probabilities"]
    temperature = config["calibration_temperature"]
    scaled = np.array([probabilities[label] for label in ("none", "good", "bad", "mixed")]) ** temperature
    expected = kept[["p_none", "p_good", "p_bad", "p_mixed"]].to_numpy()[0]
    np.testing.assert_allclose(scaled / scaled.sum(), expected, atol=1e-5)


def test_contexts_by_ids_are_named(mixture: Mixture, arguments):
    by_ids = replace(arguments.data, context_source="id")
    assert "context_source" not in mixture.described(by_ids)
    assert mixture.parts(replace(by_ids, symmetric_targets=True), BertForSequenceClassification) == {"": mixture}
    terms = replace(mixture, tasks={**mixture.tasks, "food": replace(mixture.tasks["food"], contexts=None)})
    with pytest.raises(ValueError, match="targets of mixture are words of the texts"):
        terms.parts(by_ids, QACGBertForSequenceClassification)


def test_contexts_of_its_own(arguments):
    """The model is asked by other names, and rows, scores and files keep those of the data set."""
    entries = [{**entry, "own_contexts": entry["name"] == "food"} for entry in arguments.data.mixture]
    data = ClassificationArguments(mixture=entries, data_dirs=arguments.data.data_dirs, context_source="id")
    mixture = Mixture.load(data)
    aspects = mixture.described(data)["aspects"]
    assert aspects == ["food (food)", "general (food)", "safety", "price"]
    assert "aspects: food (food), general (food)" in mixture.overview()
    model, tokenizer = build(mixture, replace(arguments.model, model_type="qacg_bert"), data)
    read = mixture.entries("train", data, tokenizer, model.config).dataset["context_ids"][:]
    rows = mixture.splits["train"]
    assert set(rows["aspect"]) == {"food", "general", "safety", "price"}
    for name, aspect, number in zip(rows["dataset"], rows["aspect"], read, strict=True):
        assert aspects[number] == (f"{aspect} (food)" if name == "food" else aspect)
    in_words = ClassificationArguments(mixture=entries, data_dirs=arguments.data.data_dirs)
    with pytest.raises(ValueError, match="own_contexts of food with context_source=text"):
        mixture.parts(in_words, BertForSequenceClassification)


def test_own_contexts_are_of_data_that_names_its_aspects(shared_dir: Path):
    entry = {
        "dataset": "mams",
        "data_config": "term_rows",
        "own_contexts": True,
        "data_dir": f"{shared_dir}/data/mams",
    }
    with pytest.raises(ValueError, match="mams_term_rows of the mixture: own_contexts is for data that names"):
        Mixture.load(ClassificationArguments(mixture=[entry]))


def test_of_a_mixture_the_mean_keeps_the_aspects_of_one_data_set(recipe: Path, folder: Path, tmp_path: Path, run_here):
    """Its answers about them are those of a mean that keeps all, and the mean of one seed has those of the seed."""
    both = [{"dataset": "custom", "absent_label": "none", "name": name} for name in ("town", "plain")]
    both[0]["own_contexts"] = True
    folders = json.dumps(dict.fromkeys(("plain", "town"), str(folder / "town")))
    words = ("--model_type", "qacg_bert", "--context_source", "id", *SHORT, "--init_seed", "0")
    mixed = ("--mixture", json.dumps(both), "--data_dirs", folders)
    run_here(SCRIPT, recipe, *words, *mixed, "--seeds", "1", "2", "--output_dir", tmp_path / "run")
    seeds, out = [tmp_path / "run" / f"seed-{seed}" for seed in (1, 2)], "--output_dir"
    run_here(SCRIPT, recipe, *words, *mixed, "--mean_of", *seeds, out, tmp_path / "all")
    data = ("--dataset", "custom", "--data_dir", folder / "town", "--absent_label", "none")
    run_here(SCRIPT, recipe, *words, *data, "--mean_of", *seeds, out, tmp_path / "kept")
    run_here(SCRIPT, recipe, *words, *data, "--mean_of", seeds[0], out, tmp_path / "kept of one")
    for all_aspects, some in ((tmp_path / "all/seed-42", "kept"), (seeds[0], "kept of one")):
        every, kept = (absa.load(str(one)).pipe for one in (all_aspects, tmp_path / some / "seed-42"))
        assert every.model.config.aspects == ["safety (town)", "price (town)", "safety", "price"]
        assert (kept.model.config.aspects, kept.model.config.num_contexts) == (["safety", "price"], 2)
        for one in (every, kept):
            one.model.config.calibration_temperature = 1.0  # by the rows of other data
        text = "test 0 but safe"
        expected = [answer["probabilities"] for answer in every(text, aspects=["safety", "price"], return_all=True)]
        assert [answer["probabilities"] for answer in kept(text, return_all=True)] == expected
