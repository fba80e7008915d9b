"""Training on what teachers answer: their form, the file of their answers, and what does not fit."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from transformers import AutoModelForSequenceClassification

from absa.models import load_classifier
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.training.distillation import answers_of_teacher

SCRIPT = "examples/run_absa.py"
TOGETHER = ("--auxiliary_sentence", "false", "--contexts_together", "true", "--num_context_layers", "1")
PROBABILITIES = ["p_none", "p_positive", "p_negative"]


@pytest.fixture(scope="module")
def teachers(finished_run, recipe: Path, run_script, tmp_path_factory) -> list[Path]:
    """QACG-BERT with auxiliary sentences, whose temperature is not 1, and without, which reads less of a text."""
    pair = Path(shutil.copytree(finished_run[0] / "seed-1", tmp_path_factory.mktemp("teachers") / "pair"))
    config = json.loads((pair / "config.json").read_text())
    (pair / "config.json").write_text(json.dumps({**config, "calibration_temperature": 3.0}))
    folder = tmp_path_factory.mktemp("teachers") / "run"
    words = (*TOGETHER, "--num_train_epochs", "1", "--max_length", "20", "--output_dir", folder)
    run_script(SCRIPT, recipe, *words)
    return [pair, folder / "seed-42"]


def losses(folder: Path) -> list[float]:
    log = json.loads((folder / "seed-42" / "results.json").read_text())["training"]["model"]["log"]
    return [entry["loss"] for entry in log if "loss" in entry]


@pytest.mark.parametrize(
    "options",
    [
        ("--model_type", "bert", "--r_drop", "true"),
        pytest.param(TOGETHER, marks=pytest.mark.slow),
        pytest.param(("--context_source", "text", "--symmetric_targets", "true"), marks=pytest.mark.slow),
    ],
    ids=["pair, R-Drop", "together", "in words"],
)
def test_a_student_learns_their_mean(
    tmp_path: Path, recipe: Path, teachers, tiny_sentihood: Path, run_here, options: tuple[str, ...]
):
    words = (SCRIPT, recipe, *options, "--max_steps", "30", "--teachers", *teachers)
    run_here(*words, "--output_dir", tmp_path / "run")
    file = tmp_path / "run" / "teacher_probabilities.parquet"
    kept = pd.read_parquet(file)
    assert set(kept[PROBABILITIES].dtypes) == {np.dtype("float32")}
    # Each is asked as it was trained: what evaluating it writes, at its temperature.
    expected = []
    for number, teacher in enumerate(teachers):
        scores = tmp_path / f"scores-{number}"
        run_here(
            *("examples/evaluate_checkpoint.py", teacher, "--data_dir", tiny_sentihood, "--split", "train"),
            *("--output_dir", scores),
        )
        table = pd.read_parquet(scores / "train_probabilities.parquet")
        assert table[["id", "target", "aspect", "label"]].equals(kept[["id", "target", "aspect", "label"]])
        temperature = json.loads((teacher / "config.json").read_text())["calibration_temperature"]
        scaled = table[PROBABILITIES].to_numpy() ** (1 / temperature)
        expected.append(scaled / scaled.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(kept[PROBABILITIES], np.mean(expected, axis=0), atol=1e-5)
    assert np.abs(expected[0] - expected[1]).max() > 0.05, "teachers this alike would prove little"
    found = losses(tmp_path / "run")
    least = -(kept[PROBABILITIES] * np.log(kept[PROBABILITIES])).sum(axis=1).mean()
    assert least - 0.05 < np.mean(found[-6:]) < found[0] - 0.05


def test_a_run_that_goes_on_reads_what_it_has_kept(tmp_path: Path, recipe: Path, teachers, run_here, monkeypatch):
    words = (SCRIPT, recipe, "--max_steps", "6", "--teachers", *teachers, "--output_dir")
    run_here(*words, tmp_path / "run")
    (tmp_path / "again").mkdir()
    for name in ("arguments.json", "teacher_probabilities.parquet"):
        shutil.copy(tmp_path / "run" / name, tmp_path / "again")
    monkeypatch.setattr("absa.training.distillation.answers_of_teacher", None)  # which is not asked
    run_here(*words, tmp_path / "again")
    one, two = (tmp_path / name / "seed-42" for name in ("run", "again"))
    for name in ("model.safetensors", "test_probabilities.parquet"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    # Teachers are known by their content: they may lie elsewhere, but not be others.
    moved = [shutil.copytree(teacher, tmp_path / f"teacher-{number}") for number, teacher in enumerate(teachers)]
    again = (SCRIPT, recipe, "--max_steps", "6", "--teachers", *moved, "--output_dir", tmp_path / "run")
    run_here(*again)
    config = json.loads((moved[1] / "config.json").read_text())
    (moved[1] / "config.json").write_text(json.dumps({**config, "calibration_temperature": 9.0}))
    with pytest.raises(ValueError, match=r"teachers_sha256 was .* give another --output_dir"):
        run_here(*again)


def test_a_teacher_that_knows_more_labels_and_an_order_of_its_own(
    tmp_path: Path, teachers, tiny_bert: Path, tiny_sentihood: Path, run_here
):
    """Of a mixture: its answers are among the labels of the data."""
    labels = {"far": "neutral", "nice": "positive"}
    rows = [f"text {n} is {word},,food,{label}" for n in range(4) for word, label in labels.items()]
    (tmp_path / "own.csv").write_text("\n".join(["text,target,aspect,label", *rows]))
    mixture = [
        {"dataset": "custom", "train_file": str(tmp_path / "own.csv"), "validation_fraction": 0.5, "name": "own"},
        {"dataset": "sentihood", "data_dir": str(tiny_sentihood)},
    ]
    words = ("--model_type", "bert", "--model_name_or_path", tiny_bert, "--mixture", json.dumps(mixture))
    run_here(SCRIPT, *words, "--num_train_epochs", "1", "--output_dir", tmp_path / "mixture")
    teacher = tmp_path / "mixture" / "seed-42"
    model = AutoModelForSequenceClassification.from_pretrained(teacher)
    assert list(model.config.id2label.values()) == ["neutral", "positive", "none", "negative"]
    arguments = ClassificationArguments(data_dir=str(tiny_sentihood))
    answers = answers_of_teacher(str(teacher), Classification.load(arguments), arguments, 8)
    assert answers.shape == (96, 3)
    np.testing.assert_allclose(answers.sum(axis=1), 1)
    started = ("--model_type", "bert", "--model_name_or_path", teacher, "--context_source", "text", "--max_steps", "2")
    run_here(
        *(SCRIPT, *started, "--data_dir", tiny_sentihood, "--teachers", teacher, teachers[0]),
        *("--output_dir", tmp_path / "run"),
    )
    student, _ = load_classifier("model", str(tmp_path / "run" / "seed-42"))
    assert student.config.num_labels == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--class_weighted_loss", "true"), "with class_weighted_loss=true: each is a loss of its own"),
        (("--label_smoothing_factor", "0.1"), r"with label_smoothing_factor=0.1: each is a loss of its own"),
        (("--model_type", "bert", "--auxiliary_sentence", "false"), r"needs one model for all contexts \(not BERT-"),
        (("--dataset", "custom", "--train_file", "{own}", "--validation_fraction", "0.5"), r"data \['bad', 'good'\]"),
    ],
    ids=["weighted", "smoothed", "single", "labels"],
)
def test_what_teachers_do_not_fit(tmp_path: Path, recipe: Path, teachers, run_here, options, told):
    rows = ("a b,price,bad", "a c,price,good", "a d,price,bad", "a e,price,good")
    (tmp_path / "own.csv").write_text("\n".join(["text,aspect,label", *rows]))
    words = [word.format(own=tmp_path / "own.csv") for word in options]
    with pytest.raises(ValueError, match=told):
        run_here(SCRIPT, recipe, *words, "--teachers", *teachers, "--output_dir", tmp_path / "run")
    assert not (tmp_path / "run" / "arguments.json").exists(), "the folder is free for another run"


def test_teachers_are_for_classification(tmp_path: Path, teachers, tiny_laptop14: Path, tiny_bert: Path, run_here):
    words = ("configuration/recipes/laptop14_minilm.yaml", "--data_dir", tiny_laptop14)
    words += ("--model_name_or_path", tiny_bert)
    with pytest.raises(ValueError, match=r"teachers=.* is for task=classification without mixture: leave it out"):
        run_here(SCRIPT, *words, "--teachers", *teachers, "--output_dir", tmp_path / "run")


@pytest.mark.slow
def test_two_processes_have_the_loss_curve_of_one(tmp_path: Path, recipe: Path, teachers, run_script, repo_root: Path):
    launch = yaml.safe_load((repo_root / "configuration" / "accelerate" / "cpu_2_processes.yaml").read_text())
    (tmp_path / "launch.yaml").write_text(yaml.safe_dump({**launch, "num_processes": 2, "use_cpu": True}))
    launcher = (sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch")
    words = ("--config_overrides", "hidden_dropout_prob=0.0", "--num_train_epochs", "1", "--teachers", *teachers)
    run_script(SCRIPT, recipe, *words, "--output_dir", tmp_path / "one")
    run_script(
        *("--config_file", tmp_path / "launch.yaml", SCRIPT, recipe, *words),
        *("--per_device_train_batch_size", "4", "--output_dir", tmp_path / "two"),
        launcher=launcher,
    )
    one, two = (pd.read_parquet(tmp_path / name / "teacher_probabilities.parquet") for name in ("one", "two"))
    np.testing.assert_allclose(two[PROBABILITIES], one[PROBABILITIES], atol=1e-6)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-4)
