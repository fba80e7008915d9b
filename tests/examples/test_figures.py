"""The figures of examples/paper, drawn as a user draws them."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

import absa
from datasets_scripts.tag_schemes import label_names
from modeling_global_context import GlobalContextForTokenClassification
from modeling_scalar_mix import ScalarMixForSequenceClassification

FIGURES = ("relevance", "weights", "tokens", "negative_share", "lowest_words")


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    """It answers positive to everything."""
    return make_checkpoint(label_bias=[0.0, 9.0, 0.0])


def test_figures(checkpoint: Path, tiny_sentihood: Path, tmp_path: Path, run_here):
    options = ("--data_dir", tiny_sentihood, "--output_dir", tmp_path / "figures", "--num_examples", "6")
    chosen = ("--layer", "2", "--head", "3")
    printed = run_here("examples/paper/figures.py", checkpoint, *options, *chosen)
    assert printed.splitlines()[-1] == f"figures and numbers: {tmp_path / 'figures'}"
    for name in FIGURES:
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "figures" / f"{name}.svg").read_text()
    numbers = json.loads((tmp_path / "figures" / "figures.json").read_text())
    assert set(numbers) == set(FIGURES)
    assert [len(panel["relevance"]) for panel in numbers["relevance"]] == [4, 8]
    for panel in numbers["relevance"]:
        for relevance in panel["relevance"].values():
            assert len(relevance) == len(panel["words"])
            assert max(relevance) == 1
    assert numbers["weights"]["questions"] == 6
    assert (numbers["tokens"]["layer"], numbers["tokens"]["head"]) == (2, 3)
    assert numbers["tokens"]["words"][:3] == ["LOCATION1", "is", "a"]
    assert all(0 < value < 1 for value in numbers["tokens"]["self_attention"])
    assert np.shape(numbers["negative_share"]) == (2, 4)
    assert set(numbers["lowest_words"]) == {"general", "price", "transit-location", "safety"}
    assert all(math.isfinite(entry["mean"]) for words in numbers["lowest_words"].values() for entry in words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", "3"), "layer=3: give 1 to 2"),
        (("--head", "0"), "head=0: give 1 to 4"),
        (("--aspect", "noise"), "aspect 'noise' is unknown"),
        (("--texts", "nothing here"), "texts 'nothing here': the model says that it speaks of nothing"),
    ],
)
def test_what_cannot_be_drawn(checkpoint: Path, tiny_sentihood: Path, tmp_path: Path, run_here, options, message: str):
    with pytest.raises(ValueError, match=message):
        run_here(
            "examples/paper/figures.py", checkpoint, "--data_dir", tiny_sentihood, "--output_dir", tmp_path, *options
        )


@pytest.fixture
def save_tagger(tiny_bert: Path, tmp_path: Path):
    """Saves a tagger with random gates, or another."""

    def save(**fields) -> Path:
        torch.manual_seed(0)
        labels = dict(enumerate(label_names(["POS", "NEG"], "BIEOS")))
        fields = {"lstm_size": 12, "initializer_range": 1.0, "id2label": labels, **fields}
        model = GlobalContextForTokenClassification.from_pretrained(tiny_bert, **fields)
        model.save_pretrained(tmp_path / "tagger")
        AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path / "tagger")
        return tmp_path / "tagger"

    return save


def test_gates(save_tagger, tmp_path: Path, run_here):
    tagger, folder = save_tagger(), tmp_path / "figures"
    texts = ("The price isn't fair.", "safe")
    printed = run_here(
        "examples/paper/gates.py", tagger, "--texts", *texts, "--output_dir", folder, "--divisions", "5"
    )
    assert printed.splitlines()[-1] == f"figure and numbers: {folder}"
    assert (folder / "gates.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "gates.svg").read_text()
    one, other = json.loads((folder / "gates.json").read_text())
    assert one["words"] == ["The", "price", "is", "n't", "fair", "."]
    assert other["words"] == ["safe"]
    assert one["divisions"] == [[1, 3], [4, 6], [7, 8], [9, 10], [11, 12]]
    model = GlobalContextForTokenClassification.from_pretrained(tagger)
    encoded = AutoTokenizer.from_pretrained(tagger)(one["words"], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        gates = model(**encoded, output_gates=True).gates
    position = encoded.word_ids().index(4)  # of "fair"
    for name, gate in zip(("hidden", "global"), gates, strict=True):
        assert np.shape(one[name]) == (5, 6)
        assert one[name][2][4] == pytest.approx(gate[0, position, 6:8].mean().item())
    assert one["hidden"] != one["global"]


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"interaction": "none"}, (), "has no gates: give a tagger with a global context"),
        ({"context_gates": False}, (), "has no gates"),
        ({}, ("--divisions", "13"), "divisions=13: give 1 to 12"),
        ({}, ("--texts", " "), "texts ' ': it has no words"),
    ],
)
def test_gates_that_cannot_be_drawn(save_tagger, tmp_path: Path, run_here, fields: dict, options, message: str):
    with pytest.raises(ValueError, match=message):
        run_here("examples/paper/gates.py", save_tagger(**fields), "--output_dir", tmp_path, *options)


@pytest.fixture
def mixed_run(tiny_bert: Path, tmp_path: Path):
    """Saves a finished run of scalar mixes whose w have these values, one seed each; None for a control."""

    def save(name: str, *weights: list[float] | None) -> Path:
        for seed, of_seed in enumerate(weights):
            model = ScalarMixForSequenceClassification.from_pretrained(
                tiny_bert, mix="last" if of_seed is None else "learned", special_token_ids=[2, 3]
            )
            if of_seed is not None:
                with torch.no_grad():
                    model.model.mix.weights.copy_(torch.tensor(of_seed))
            model.save_pretrained(tmp_path / name / f"seed-{seed}")
            AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(tmp_path / name / f"seed-{seed}")
        results = {"main_scores": ["f1"], "summary": {"f1": {"mean": 0.5, "std": 0.01}}}
        results["seeds"] = {str(seed): {} for seed in range(len(weights))}
        (tmp_path / name / "all_results.json").write_text(json.dumps(results))
        return tmp_path / name

    return save


def test_layers(mixed_run, tmp_path: Path, run_here):
    runs = mixed_run("learned", [0.0, 0.0, 0.0], [math.log(2), 0.0, 0.0]), mixed_run("last", None)
    printed = run_here("examples/paper/layers.py", *runs, "--output_dir", tmp_path / "figures")
    assert printed.splitlines() == [
        *(f"{run}: f1 50.0 (1.0)" for run in runs),
        f"figure and numbers: {tmp_path / 'figures'}",
    ]
    assert (tmp_path / "figures" / "layers.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "figures" / "layers.svg").read_text()
    numbers = json.loads((tmp_path / "figures" / "layers.json").read_text())
    learned, last = (numbers[str(run)] for run in runs)
    assert learned["s"]["mean"] == pytest.approx([5 / 12, 7 / 24, 7 / 24])
    assert learned["s"]["std"][0] == pytest.approx((1 / 2 - 1 / 3) / 2**0.5)
    assert sum(learned["contribution"]["mean"]) == pytest.approx(1)
    assert last["s"] == {"mean": [0, 0, 1], "std": [0, 0, 0]} == last["contribution"]
    assert last["gamma"] == {"mean": 1, "std": 0}


def test_layers_that_cannot_be_drawn(finished_run, tmp_path: Path, run_here):
    for run, message in ((tmp_path, "has no all_results.json"), (finished_run[0], "which mixes no layers")):
        with pytest.raises(ValueError, match=message):
            run_here("examples/paper/layers.py", run, "--output_dir", tmp_path / "figures")


TEXT = "The wine list is long, but the pasta was cold."


def test_words_that_models_attend_to(save_word_model, tmp_path: Path, run_here):
    models = [save_word_model(TEXT), save_word_model(TEXT, architecture="atae_lstm", initializer_range=1.0)]
    words = ("--texts", TEXT, "--targets", "pasta", "wine list", "--output_dir", tmp_path / "figures")
    printed = run_here("examples/paper/word_attention.py", *models, *words)
    assert printed.splitlines()[-1] == f"figure and numbers: {tmp_path / 'figures'}"
    assert (tmp_path / "figures" / "word_attention.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "figures" / "word_attention.svg").read_text()
    first, second = json.loads((tmp_path / "figures" / "word_attention.json").read_text())
    assert (first["target"], second["target"]) == ("wine list", "pasta")
    for number, name in enumerate(("AF-LSTM (CONV)", "ATAE-LSTM")):
        question = {"text": TEXT, "target": "wine list"}
        answer = absa.load(str(models[number])).pipe(question, explain="attention")
        assert first["models"][number] == f"{name}: {answer['label']}"
        assert first["attention"][number] == pytest.approx([word["attention"] for word in answer["words"]])
    with pytest.raises(ValueError, match=r"targets=\['soup'\]: no text has one of them"):
        run_here("examples/paper/word_attention.py", models[0], "--targets", "soup")
