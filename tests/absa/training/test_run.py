"""absa/training/run.py, by examples/run_absa.py as a user runs it."""

import json
import math
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa import calibration
from absa.metrics.sentihood import sentihood_scores
from absa.tasks.classification import CollatorOfTexts, warn_of_one_answer
from absa.training import run, sampling
from absa.training import trainer as trainers
from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode

SCRIPT = "examples/run_absa.py"
NO_DROPOUT = ("--config_overrides", "hidden_dropout_prob=0")  # two processes draw other masks than one
MAIN_SCORES = ["strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc"]


def test_writes_results_probabilities_and_checkpoint(finished_run):
    folder, printed = finished_run
    results = json.loads((folder / "all_results.json").read_text())
    assert results["main_scores"] == MAIN_SCORES
    assert set(results["seeds"]) == {"1", "2"}
    values = [results["seeds"][seed]["test"]["aspect_auc"] for seed in ("1", "2")]
    mean = sum(values) / 2
    assert results["summary"]["aspect_auc"]["mean"] == pytest.approx(mean)
    # Sample standard deviation of two values: |a - b| / sqrt(2)
    assert results["summary"]["aspect_auc"]["std"] == pytest.approx(abs(values[0] - values[1]) / math.sqrt(2))
    for name in MAIN_SCORES:
        assert name in printed
    one = results["seeds"]["1"]["test"]
    assert one["strict_accuracy_low"] <= one["strict_accuracy"] <= one["strict_accuracy_high"]

    table = pd.read_parquet(folder / "seed-1" / "test_probabilities.parquet")
    assert list(table.columns) == ["id", "target", "aspect", "label", "p_none", "p_positive", "p_negative"]
    scores = sentihood_scores(
        table["id"].tolist(),
        table["target"].tolist(),
        table["aspect"].tolist(),
        table["label"].tolist(),
        table[["p_none", "p_positive", "p_negative"]].to_numpy(),
    )
    assert scores["strict_accuracy"] == pytest.approx(results["seeds"]["1"]["test"]["strict_accuracy"], abs=1e-12)


def test_a_token_in_the_environment_goes_into_no_file(finished_run):
    """`finished_run` was given one in HF_TOKEN."""
    folder, printed = finished_run
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"training_args.bin", "results.json", "all_results.json", "config.json"}
    assert not [path for path in files if b"NeverShowThis" in path.read_bytes()]
    assert "NeverShowThis" not in printed


def test_checkpoint_gives_the_probabilities_it_was_scored_by(finished_run, tiny_sentihood: Path):
    folder = finished_run[0] / "seed-2"
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert model.config.targets == ["LOCATION1", "LOCATION2"]
    assert model.config.aspects == ["general", "price", "transit-location", "safety"]
    assert model.config.id2label == {0: "none", 1: "positive", 2: "negative"}
    text_of = {str(s["id"]): s["text"] for s in json.loads((tiny_sentihood / "sentihood-test.json").read_text())}
    table = pd.read_parquet(folder / "test_probabilities.parquet")
    questions = [
        {"text": text_of[number], "target": target, "aspect": aspect}
        for number, target, aspect in table[["id", "target", "aspect"]].itertuples(index=False)
    ]
    temperature = model.config.calibration_temperature
    model.config.calibration_temperature = 1.0  # the stored probabilities are the model's own
    answers = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(questions)
    probabilities = pd.DataFrame([answer["probabilities"] for answer in answers])
    columns = ["none", "positive", "negative"]
    np.testing.assert_allclose(probabilities[columns], table[[f"p_{name}" for name in columns]], atol=1e-5, rtol=0)

    validation = pd.read_parquet(folder / "validation_probabilities.parquet")
    logits = np.log(validation[[f"p_{name}" for name in columns]].to_numpy())
    gold = [columns.index(label) for label in validation["label"]]
    assert temperature == pytest.approx(calibration.helpful_temperature(logits, gold), rel=1e-3)
    assert len(Contexts.from_config(model.config)) == model.config.num_contexts == 8


def test_texts_with_all_contexts_in_one_pass(tmp_path: Path, recipe: Path, tiny_sentihood: Path, run_here):
    """The stored probabilities, read in batches of texts, are those of each question asked alone."""
    folder = tmp_path / "run" / "seed-42"
    run_here(
        *(SCRIPT, recipe, "--auxiliary_sentence", "false", "--contexts_together", "true"),
        *("--num_context_layers", "1", "--num_train_epochs", "1", "--output_dir", tmp_path / "run"),
    )
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert (model.config.num_context_layers, model.config.num_hidden_layers) == (1, 2)
    table = pd.read_parquet(folder / "test_probabilities.parquet")
    sentences = json.loads((tiny_sentihood / "sentihood-test.json").read_text())
    text_of = {str(sentence["id"]): sentence["text"] for sentence in sentences}
    columns = [table[name].tolist() for name in ("target", "aspect")]
    rows = encode(
        AutoTokenizer.from_pretrained(folder),
        Contexts.from_config(model.config),
        [text_of[number] for number in table["id"]],
        *columns,
        auxiliary_sentence=False,
    )
    expected = []
    for number in range(len(table)):
        row = {name: torch.tensor([column[number]]) for name, column in rows.items()}
        with torch.no_grad():
            expected.append(model(**row).logits[0].softmax(-1).numpy())
    given = table[["p_none", "p_positive", "p_negative"]].to_numpy()
    np.testing.assert_allclose(given, np.stack(expected), atol=1e-5, rtol=0)


def test_a_batch_of_texts_has_a_label_for_each_context_and_none_for_the_filling(tiny_bert: Path):
    collate = CollatorOfTexts(AutoTokenizer.from_pretrained(tiny_bert), pad_to_multiple_of=8)
    batch = collate(
        [
            {"input_ids": [2, 5, 3], "attention_mask": [1, 1, 1], "context_ids": [4, 6], "labels": [1, 0]},
            {"input_ids": [2, 3], "attention_mask": [1, 1], "context_ids": [7, 5, 1], "labels": [0, 2, 0]},
        ]
    )
    assert batch["input_ids"].shape == (2, 8)
    assert batch["context_ids"].tolist() == [[4, 6, 0], [7, 5, 1]]
    assert batch["labels"].tolist() == [[1, 0, -100], [0, 2, 0]]


def test_checkpoint_is_the_best_on_validation(finished_run):
    folder = finished_run[0] / "seed-1"
    result = json.loads((folder / "results.json").read_text())
    evaluations = [entry for entry in result["training"]["model"]["log"] if "eval_strict_accuracy" in entry]
    best = max(evaluations, key=lambda entry: entry["eval_strict_accuracy"])
    assert len(evaluations) == 2
    assert result["training"]["model"]["best_step"] == best["step"]
    assert result["validation"]["strict_accuracy"] == pytest.approx(best["eval_strict_accuracy"])


def test_finished_seeds_are_kept_and_other_arguments_refused(finished_run, recipe: Path, run_script, run_in_process):
    folder, printed = finished_run
    results = folder / "seed-1" / "results.json"
    written = results.stat().st_mtime_ns
    again = run_script(SCRIPT, recipe, "--output_dir", folder, "--seeds", "1", "2")
    assert again.stdout.endswith(printed[printed.index("test, %") :])
    assert results.stat().st_mtime_ns == written
    with pytest.raises(ValueError, match=r"was 0\.005 and is now 0\.0001.*: give another --output_dir"):
        run_in_process(run.main, [str(recipe), "--output_dir", str(folder), "--learning_rate", "1e-4"])


def test_figures_are_of_all_seeds_that_are_there(finished_run, tmp_path: Path, recipe: Path, run_here):
    folder = shutil.copytree(finished_run[0], tmp_path / "run")
    before = (folder / "all_results.json").read_text()
    (folder / "all_results.json").unlink()
    assert "\ntest, %" in run_here(SCRIPT, recipe, "--output_dir", folder, "--seeds", "2")
    assert (folder / "all_results.json").read_text() == before


def test_stopped_run_goes_on_to_the_same_numbers_and_an_oracle_changes_none(
    tmp_path: Path, finished_run, recipe: Path, stops
):
    told = stops(4, recipe, "--output_dir", tmp_path / "run", "--seeds", "1", "--oracle", "true")
    assert [stop["status"] for stop in told] == [
        -signal.SIGKILL,
        -signal.SIGKILL,
        128 + signal.SIGTERM,
        -signal.SIGKILL,
    ]
    name = "seed-1/model.safetensors"
    assert (tmp_path / "run" / name).read_bytes() == (finished_run[0] / name).read_bytes()
    name = "seed-1/test_probabilities.parquet"
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "run" / name), pd.read_parquet(finished_run[0] / name), check_exact=True
    )

    with_oracle, without = (
        json.loads((folder / "seed-1" / "results.json").read_text()) for folder in (tmp_path / "run", finished_run[0])
    )
    log, best_step = (with_oracle["training"]["model"][name] for name in ("log", "best_step"))
    logged = [entry["loss"] for entry in log if "loss" in entry]
    assert logged == [entry["loss"] for entry in without["training"]["model"]["log"] if "loss" in entry]
    assert len(set(logged)) > 20
    by_step = {entry["step"]: entry["test_strict_accuracy"] for entry in log if "test_strict_accuracy" in entry}
    assert sorted(by_step) == sorted(entry["step"] for entry in log if "eval_loss" in entry)
    assert by_step[best_step] == with_oracle["test"]["strict_accuracy"] == without["test"]["strict_accuracy"]
    assert with_oracle["oracle"]["strict_accuracy"] == max(by_step.values())
    assert "oracle" not in without
    protocols = [
        json.loads((folder / "all_results.json").read_text())["protocol"]
        for folder in (tmp_path / "run", finished_run[0])
    ]
    assert ["nothing was chosen by that" in protocol for protocol in protocols] == [True, False]


def losses(folder: Path) -> list[float]:
    log = json.loads((folder / "seed-42" / "results.json").read_text())["training"]["model"]["log"]
    return [entry["loss"] for entry in log if "loss" in entry]


@pytest.fixture(scope="module")
def run_of_one_process(tmp_path_factory, recipe: Path, run_script) -> Path:
    folder = tmp_path_factory.mktemp("one") / "run"
    run_script(SCRIPT, recipe, "--output_dir", folder, *NO_DROPOUT)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("launch_file", ["cpu_2_processes", "fsdp"])
def test_two_processes_have_the_loss_curve_of_one(
    tmp_path: Path, run_of_one_process: Path, recipe: Path, run_script, repo_root: Path, launch_file: str
):
    """Same rows in the same global batches of 8; what differs is the order of float32 sums, so 1e-4 of the loss.

    The 96 rows are a multiple of 8: of others, several processes repeat some to fill the last batch.
    """
    launch = yaml.safe_load((repo_root / "configuration" / "accelerate" / f"{launch_file}.yaml").read_text())
    (tmp_path / "launch.yaml").write_text(yaml.safe_dump({**launch, "num_processes": 2, "use_cpu": True}))
    launcher = (sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch")
    run_script(
        *("--config_file", tmp_path / "launch.yaml"),
        *(SCRIPT, recipe, "--output_dir", tmp_path / "two", "--per_device_train_batch_size", "4", *NO_DROPOUT),
        launcher=launcher,
    )
    one, two = losses(run_of_one_process), losses(tmp_path / "two")
    assert len(one) == 24  # 16 sentences, 8 of them with two targets: 96 rows, 12 batches of 8, two epochs
    assert one[0] - one[-1] > 0.2, "the curve is flat: equality would show nothing"
    assert two == pytest.approx(one, rel=1e-4)
    weights, expected = (
        load_file(run / "seed-42" / "model.safetensors") for run in (tmp_path / "two", run_of_one_process)
    )
    assert {name: tensor.shape for name, tensor in weights.items()} == {
        name: tensor.shape for name, tensor in expected.items()
    }


@pytest.mark.parametrize(
    "options",
    [
        (
            *("--model_type", "cg_bert", "--auxiliary_sentence", "false"),
            *("--class_balanced_sampling", "true", "--r_drop", "true"),
        ),
        ("--model_type", "bert", "--class_weighted_loss", "true", "--label_smoothing_factor", "0.1"),
        (
            *("--model_type", "qacg_bert", "--bf16", "true", "--gradient_checkpointing", "true"),
            *("--layer_decay", "0.8", "--new_learning_rate", "1e-2"),
        ),
    ],
    ids=[
        "cg-bert, no auxiliary sentence, balanced, r-drop",
        "bert-pair, weighted",
        "qacg-bert, bf16, checkpointing, rates",
    ],
)
def test_other_models_and_switches(tmp_path: Path, recipe: Path, run_here, options):
    run_here(SCRIPT, recipe, *options, "--num_train_epochs", "1", "--output_dir", tmp_path / "run")
    config = json.loads((tmp_path / "run" / "seed-42" / "config.json").read_text())
    assert config["model_type"] == options[1]
    assert config["auxiliary_sentence"] is ("--auxiliary_sentence" not in options)
    assert 0 <= json.loads((tmp_path / "run" / "all_results.json").read_text())["summary"]["aspect_auc"]["mean"] <= 1


def test_bert_single_trains_one_model_a_context(tmp_path: Path, tiny_bert: Path, run_here):
    rows = ["text,aspect,label"]
    for i in range(8):
        rows += [
            f"text {i} is {word},{aspect},{label}"
            for word, aspect, label in [
                ("cheap", "price", "good"),
                ("dear", "price", "bad"),
                ("safe", "safety", "good"),
            ]
        ]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(rows))
    run_here(
        *(SCRIPT, "--dataset", "custom", "--train_file", file, "--validation_file", file, "--model_type", "bert"),
        *("--auxiliary_sentence", "false", "--model_name_or_path", tiny_bert),
        *("--num_train_epochs", "1", "--output_dir", tmp_path / "run"),
    )
    folder = tmp_path / "run" / "seed-42"
    assert sorted(path.parent.name for path in folder.glob("*/model.safetensors")) == ["price", "safety"]
    assert json.loads((folder / "price" / "config.json").read_text())["aspects"] == ["price"]  # all that it knows
    table = pd.read_parquet(folder / "validation_probabilities.parquet")
    assert len(table) == 24
    assert table[["p_good", "p_bad"]].notna().all(axis=None)
    assert json.loads((tmp_path / "run" / "all_results.json").read_text())["split"] == "validation"


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_the_label_of_absent_pairs_has_any_name(tmp_path: Path, tiny_bert: Path, run_here, model_type: str):
    """It is none to the metric, to the calibration and to the pipeline of what was trained."""
    file = tmp_path / "own.csv"
    rows = [
        f"text {i} is {word}\n"
        for i in range(6)
        for word in ("cheap,price,good", "dear,price,bad", "safe,safety,good")
    ]
    file.write_text("".join(["text,aspect,label\n", *rows]))
    run_here(
        *(SCRIPT, "--dataset", "custom", "--train_file", file, "--validation_file", file, "--absent_label", "silent"),
        *("--model_type", model_type, "--model_name_or_path", tiny_bert),
        *("--num_train_epochs", "1", "--output_dir", tmp_path / "run"),
    )
    folder = tmp_path / "run" / "seed-42"
    results = json.loads((folder / "results.json").read_text())
    assert "presence_recall" in results["validation"]
    assert "present" in results["calibration"]["validation"]["after"]
    pipe = AspectSentimentPipeline(
        model=AutoModelForSequenceClassification.from_pretrained(folder),
        tokenizer=AutoTokenizer.from_pretrained(folder),
    )
    for answer in pipe("text 1 is cheap", return_all=True):
        assert answer["present"] == pytest.approx(1 - answer["probabilities"]["silent"])
        assert list(answer["sentiment"]) == ["good", "bad"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["missing.yaml"], "recipe missing.yaml does not exist"),
        (["{recipe}", "--data_dir", "no/such/folder"], "no/such/folder"),
        (["{recipe}", "--model_name_or_path", "{bert_without_pooler}"], "bert.pooler.dense.weight"),
        (["{recipe}", "--model_name_or_path", "no/such/bert"], "model_name_or_path=no/such/bert is no folder"),
        (["{recipe}", "--metric", "semeval2014"], "metric=semeval2014 scores the labels"),
        (["{recipe}", "--data_version", "v2"], "version='v2' does not apply to 'sentihood'"),
        (["{recipe}", "--model_name_or_path", "{no_tokenizer}"], "put the files of the model's own tokenizer"),
        (["{recipe}", "--metric_for_best_model", "f1"], "metric_for_best_model=f1 is no score of this data"),
        (["{recipe}", "--max_length", "9"], "max_length=9 leaves no room"),
        (
            ["{recipe}", "--model_type=bert", "--auxiliary_sentence=false", "--contexts_together=true"],
            "contexts_together=true with BertForSequenceClassification",
        ),
        (["{recipe}", "--r_drop=true", "--class_weighted_loss=true"], "r_drop=true with class_weighted_loss=true"),
        (["{recipe}", "--oracle=true", "--model_type=bert", "--auxiliary_sentence=false"], "oracle=true needs"),
        (["{recipe}", "--oracle=true", "--metric_for_best_model=loss"], "oracle=true needs"),
        (["--dataset", "sentihod"], "sentihod"),
        (["configuration/recipes/own_data.yaml"], "dataset=custom without data: give --train_file, a csv or jsonl"),
    ],
    ids=lambda value: "-".join(value)[:60] if isinstance(value, list) else "",
)
def test_errors_name_what_is_wrong(
    tmp_path: Path,
    recipe: Path,
    tiny_bert: Path,
    bert_without_pooler: Path,
    run_in_process,
    options: list[str],
    message: str,
):
    no_tokenizer = tmp_path / "no_tokenizer"
    no_tokenizer.mkdir()
    for file in ("config.json", "model.safetensors"):
        (no_tokenizer / file).write_bytes((tiny_bert / file).read_bytes())
    places = {"recipe": recipe, "bert_without_pooler": bert_without_pooler, "no_tokenizer": no_tokenizer}
    words = [word.format(**places) for word in options]
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        run_in_process(run.main, [*words, "--output_dir", str(tmp_path / "run")])
    assert message in str(error.value)


def test_a_folder_where_nothing_was_trained_is_free_and_other_data_is_refused(tmp_path: Path):
    check_same_run = partial(run.check_same_run, own=tmp_path / "seed-1")
    check_same_run(tmp_path, {"model_name_or_path": "no/such", "data_sha256": "a"})
    check_same_run(tmp_path, {"model_name_or_path": "bert", "data_sha256": "a"})  # the first never began
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "seed-1" / "results.json").touch()
    check_same_run(tmp_path, {"model_name_or_path": "bert", "data_sha256": "a"})
    with pytest.raises(ValueError, match=r"data_sha256 was 'a' and is now 'b'"):
        check_same_run(tmp_path, {"model_name_or_path": "bert", "data_sha256": "b"})
    with pytest.raises(ValueError, match="control was None and is now 'context_in_input'"):
        check_same_run(tmp_path, {"model_name_or_path": "bert", "data_sha256": "a", "control": "context_in_input"})


def test_resumed_order_knows_its_epoch_behind_the_wrappers_of_a_distributed_run():
    trainer = SimpleNamespace(order=sampling.TrainingOrder([5] * 8, None, 4, True, seed=1))
    trainers.EpochOfTheOrder(trainer).on_epoch_begin(None, SimpleNamespace(epoch=3.5), None)
    assert trainer.order.epoch == 3


def test_bert_single_needs_rows_of_every_context(tmp_path: Path, tiny_bert: Path, run_in_process):
    (tmp_path / "own.csv").write_text("text,target,aspect,label\na,A,food,good\nb,A,food,bad\nc,B,price,good\n")
    file = str(tmp_path / "own.csv")
    words = ["--dataset", "custom", "--train_file", file, "--validation_file", file, "--model_type", "bert"]
    words += ["--auxiliary_sentence", "false", "--model_name_or_path", str(tiny_bert)]
    with pytest.raises(ValueError, match="train has no row of target 'A' and aspect 'price'"):
        run_in_process(run.main, [*words, "--output_dir", str(tmp_path / "run")])


def test_a_model_that_answers_the_same_to_everything_is_warned_of(caplog):
    warn, names = warn_of_one_answer, ["none", "good", "bad"]
    warn("test", np.array([0, 0, 1]), [0, 1, 1], names)
    warn("test", np.array([0, 0, 0]), [0, 0, 0], names)  # and should
    assert not caplog.messages
    warn("test", np.array([0, 0, 0]), [0, 1, 2], names)
    (message,) = caplog.messages
    assert message.startswith("test: the model answers 'none' to all 3 rows")
    assert "configuration/recipes/own_data.yaml" in message


def test_the_labels_are_counted_before_training(finished_run):
    printed = finished_run[1]
    assert [line.split() for line in printed.splitlines()[:6]] == [
        ["train", "validation", "test"],
        ["none", "80", "80", "80"],
        ["positive", "8", "8", "8"],
        ["negative", "8", "8", "8"],
        ["rows", "96", "96", "96"],
        ["texts", "16", "16", "16"],
    ]
    assert printed.splitlines()[6].startswith("8 pairs of target and aspect; targets: LOCATION1, LOCATION2; aspects: ")
