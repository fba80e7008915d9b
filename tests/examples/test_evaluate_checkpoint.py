"""examples/evaluate_checkpoint.py: the scores of a checkpoint are those that training has found for it."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

SCRIPT = "examples/evaluate_checkpoint.py"


def test_scores_are_those_of_training(finished_run, tiny_sentihood: Path, tmp_path: Path, run_here):
    seed = finished_run[0] / "seed-1"
    printed = run_here(SCRIPT, seed, "--data_dir", tiny_sentihood, "--output_dir", tmp_path / "scores")
    trained = json.loads((seed / "results.json").read_text())["test"]
    assert json.loads((tmp_path / "scores" / "scores.json").read_text()) == trained
    score, low, high = (100 * trained[f"strict_accuracy{end}"] for end in ("", "_low", "_high"))
    assert f"{score:.1f} [{low:.1f}, {high:.1f}]" in printed
    found, expected = (
        pd.read_parquet(folder / "test_probabilities.parquet") for folder in (tmp_path / "scores", seed)
    )
    pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-6)


def test_no_more_of_a_text_is_read_than_in_training(finished_run, tiny_sentihood: Path, tmp_path: Path, run_here):
    short = shutil.copytree(finished_run[0] / "seed-1", tmp_path / "short")
    AutoTokenizer.from_pretrained(short, model_max_length=14).save_pretrained(short)
    read = {}
    for name, seed, words in (
        ("remembered", short, ()),
        ("told", finished_run[0] / "seed-1", ("--max_length", "14")),
        ("whole", finished_run[0] / "seed-1", ()),
    ):
        run_here(SCRIPT, seed, *words, "--data_dir", tiny_sentihood, "--output_dir", tmp_path / name)
        read[name] = pd.read_parquet(tmp_path / name / "test_probabilities.parquet").filter(like="p_").to_numpy()
    assert (read["remembered"] == read["told"]).all()
    assert (read["told"] != read["whole"]).any()


def test_what_cannot_be_scored(finished_run, tiny_sentihood: Path, tmp_path: Path, run_here):
    seed = finished_run[0] / "seed-1"
    with pytest.raises(ValueError, match=r"split=dev: the data has train, validation, test"):
        run_here(SCRIPT, seed, "--data_dir", tiny_sentihood, "--split", "dev")
    (tmp_path / "train.csv").write_text(
        "text,target,aspect,label\nLOCATION1 is dear,LOCATION1,price,bad\nb,,price,good\n"
    )
    (tmp_path / "test.csv").write_text("text,target,aspect,label\nLOCATION1 is dear,LOCATION1,price,bad\n")
    with pytest.raises(ValueError, match=r"labels \['none', .*, the data \['bad', 'good'\]"):
        run_here(SCRIPT, seed, "--dataset", "custom", "--data_dir", tmp_path, "--validation_fraction", "0.5")


def test_scores_of_a_tagger_are_those_of_training(finished_tagger, tiny_laptop14: Path, tmp_path: Path, run_here):
    seed = finished_tagger / "seed-42"
    words = ("--data_config", "laptop14", "--data_dir", tiny_laptop14, "--output_dir", tmp_path / "scores")
    printed = run_here(SCRIPT, *words, seed)
    trained = json.loads((seed / "results.json").read_text())["test"]
    assert json.loads((tmp_path / "scores" / "scores.json").read_text()) == trained
    assert trained["count_predicted"] > 0, "answers of nothing would prove little"
    score, low, high = (100 * trained[f"micro_f1{end}"] for end in ("", "_low", "_high"))
    assert f"micro_f1             {score:.1f} [{low:.1f}, {high:.1f}]" in printed
    found, expected = (pd.read_parquet(folder / "test_tags.parquet") for folder in (tmp_path / "scores", seed))
    pd.testing.assert_frame_equal(found, expected)


@torch.no_grad()
def test_a_tagger_whose_labels_stand_in_another_order(finished_tagger, tiny_laptop14: Path, tmp_path: Path, run_here):
    # Data sets number the same types in several orders: scores go by the names.
    seed = finished_tagger / "seed-42"
    shutil.copytree(seed, tmp_path / "model")
    model = AutoModelForTokenClassification.from_pretrained(seed)
    order = list(reversed(range(model.config.num_labels)))
    names = [model.config.id2label[label] for label in order]
    model.config.id2label, model.config.label2id = dict(enumerate(names)), {name: n for n, name in enumerate(names)}
    model.classifier.weight.copy_(model.classifier.weight[order])
    model.classifier.bias.copy_(model.classifier.bias[order])
    model.save_pretrained(tmp_path / "model")
    words = ("--data_config", "laptop14", "--data_dir", tiny_laptop14, "--output_dir", tmp_path / "scores")
    run_here(SCRIPT, *words, tmp_path / "model")
    scores, trained = (
        json.loads(file.read_text()) for file in (tmp_path / "scores" / "scores.json", seed / "results.json")
    )
    assert scores == pytest.approx(trained["test"], abs=1e-6)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dataset", "sentihood"], "dataset=sentihood is for task=classification; task=tagging takes e2e_absa, co"),
        (
            ["--data_config", "laptop14", "--scheme", "BIO"],
            r"has the labels \['O', 'B-POS', 'I-POS', 'E-POS', .* data",
        ),
    ],
)
def test_what_a_tagger_cannot_be_scored_on(tiny_tagger: Path, tiny_laptop14: Path, run_here, words, told):
    with pytest.raises(ValueError, match=told):
        run_here(SCRIPT, tiny_tagger, *words, "--data_dir", tiny_laptop14)


def test_a_classifier_is_not_scored_on_tags(tiny_classifier: Path, run_here):
    with pytest.raises(ValueError, match="dataset=e2e_absa is for task=tagging; task=classification takes sentihood"):
        run_here(SCRIPT, tiny_classifier, "--dataset", "e2e_absa")
