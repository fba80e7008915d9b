"""Transformers' own classifiers, around each encoder, that read the question behind the text."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

import absa
from absa import models
from absa.calibration import multiply_none
from absa.cards import model_card
from absa.tasks.describing import describe
from absa.training import optimisation
from modeling_qacg_bert import Contexts

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SIZES |= {"initializer_range": 0.2, "pad_token_id": 0, "max_position_embeddings": 64}
BEHIND_PADDING = {**SIZES, "max_position_embeddings": 65}  # of 64 tokens
SMALL_BERT = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 64}
ENCODERS = {
    "roberta": BEHIND_PADDING,
    "xlm-roberta": BEHIND_PADDING,
    "electra": {**SIZES, "embedding_size": 16},
    "distilbert": {**SMALL_BERT, "initializer_range": 0.2},
    "modernbert": {**SIZES, "local_attention": 8, "global_attn_every_n_layers": 2},
    "mpnet": {**SIZES, "max_position_embeddings": 66, "pad_token_id": 1},  # as all of them have it
    "deberta-v2": {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
}
HEADS = ("classifier.", "pre_classifier.", "head.", "pooler.")  # beside the encoder, which has a prefix
CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety"))
LABELS = ["none", "positive", "negative"]
TEXTS = ["LOCATION1 is safe but dear", "LOCATION2 and LOCATION1 is far, LOCATION1 cheap"]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[] if name in ("roberta", "distilbert", "mpnet") else [pytest.mark.slow])
        for name in ENCODERS
    ],
)
def backbone(request, tiny_bert: Path, tmp_path_factory) -> Path:
    """An encoder, with BERT's tokenizer; the folder has the name of its model_type."""
    folder, tokenizer = tmp_path_factory.mktemp("encoder") / request.param, AutoTokenizer.from_pretrained(tiny_bert)
    torch.manual_seed(0)
    config = AutoConfig.for_model(request.param, vocab_size=len(tokenizer), **ENCODERS[request.param])
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def start(backbone: Path):
    """The classifier that training starts from."""

    def load(folder: Path = backbone, **described):
        config = models.build_config(backbone.name, str(folder), describe(CONTEXTS, LABELS, **described))
        torch.manual_seed(0)
        return models.load_model(str(folder), config, None).eval()

    return load


def test_new_is_the_head_alone(backbone: Path, start):
    model, weights = start(), load_file(backbone / "model.safetensors")
    for name, parameter in model.named_parameters():
        assert optimisation.is_new(name, model) is name.startswith(HEADS), name
        if not optimisation.is_new(name, model):
            assert torch.equal(parameter, weights[name.removeprefix(f"{model.base_model_prefix}.")]), name
    groups = optimisation.parameter_groups(model, [], 0.0, 1.0, 3.0, 0.5)
    assert {3.0, 0.5, 0.25, 0.125} <= {group["lr"] for group in groups}
    with pytest.raises(ValueError, match=f"reset_pooler=true, and a {type(model).__name__} has no pooler"):
        optimisation.reset_pooler(model)


def test_none_is_the_last_layers(start):
    model = start()
    inputs = {"input_ids": torch.tensor([[2, 5, 6, 3]])}
    with torch.no_grad():
        before = model(**inputs).logits
        multiply_none(model, 0.25)
        torch.testing.assert_close(model(**inputs).logits, before + torch.tensor([[np.log(0.25), 0, 0]]).float())
    model.config.none_label = None
    with pytest.raises(ValueError, match="none_factor is for models with a label for what a text does not speak of"):
        multiply_none(model, 0.25)


def test_an_encoder_that_is_not_whole(backbone: Path, start, tmp_path: Path):
    folder = Path(shutil.copytree(backbone, tmp_path / "backbone"))
    weights, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    of_last = sorted(name for name in weights if ".1." in name and name.endswith("weight"))
    save_file({name: w for name, w in weights.items() if name != of_last[0]}, folder / "model.safetensors")
    with pytest.raises(ValueError, match=f"lacks, so that they would be random, 1 weights: .*{of_last[0]}"):
        start(folder)
    save_file(weights, folder / "model.safetensors")
    layers = {name: 1 for name in ("num_hidden_layers", "n_layers") if name in config}
    (folder / "config.json").write_text(json.dumps({**config, **layers, "layer_types": None}))
    with pytest.raises(ValueError, match=r"has, beyond the 1 layers of its config.json, \d+ weights"):
        start(folder)
    with pytest.raises(ValueError, match=f"holds a {backbone.name}: a qacg_bert starts from a bert or a qacg_bert"):
        models.build_config("qacg_bert", str(backbone), describe(CONTEXTS, LABELS))


def test_what_is_trained_answers_as_it_was_scored(backbone: Path, tiny_sentihood: Path, tmp_path: Path, run_here):
    data = ("--data_dir", tiny_sentihood)
    run_here(
        *("examples/run_absa.py", "--model_type", backbone.name, "--model_name_or_path", backbone, *data),
        *("--symmetric_targets", "true", "--num_train_epochs", "1", "--learning_rate", "5e-3", "--r_drop", "true"),
        *("--layer_decay", "0.9", "--new_learning_rate", "1e-2", "--bf16", "false", "--output_dir", tmp_path / "run"),
    )
    folder = tmp_path / "run" / "seed-42"
    table = pd.read_parquet(folder / "test_probabilities.parquet")
    probabilities = table.filter(like="p_").to_numpy()
    assert np.ptp(probabilities, axis=0).max() > 1e-3, "rows this alike would prove little"
    run_here("examples/evaluate_checkpoint.py", folder, *data, "--output_dir", tmp_path / "again")
    again = pd.read_parquet(tmp_path / "again" / "test_probabilities.parquet").filter(like="p_")
    np.testing.assert_allclose(again, probabilities, atol=1e-5)
    read = absa.load(str(folder))
    read.pipe.model.config.calibration_temperature = 1.0  # the stored probabilities are the model's own
    text_of = {str(one["id"]): one["text"] for one in json.loads((tiny_sentihood / "sentihood-test.json").read_text())}
    rows = table[["id", "target", "aspect"]].itertuples(index=False)
    questions = [{"text": text_of[number], "target": target, "aspect": aspect} for number, target, aspect in rows]
    answers = pd.DataFrame([answer["probabilities"] for answer in read.pipe(questions)])[LABELS]
    np.testing.assert_allclose(answers, probabilities, atol=1e-5)


def test_answers_about_any_words_and_their_explanation(backbone: Path, start, tmp_path: Path):
    model, tokenizer = start(context_source="text"), AutoTokenizer.from_pretrained(backbone)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    read = absa.load(str(tmp_path))
    (answers,) = read.pipe(TEXTS[:1], targets=["safe"], aspects=["price", "noise at night"], return_all=True)
    assert [(one["aspect"], one["in_training"]) for one in answers] == [("price", True), ("noise at night", False)]
    closed = start()
    closed.save_pretrained(tmp_path)
    pipe = absa.load(str(tmp_path)).pipe
    assert len(pipe(TEXTS[1], return_all=True)) == 8
    answer = {"text": TEXTS[0], "target": "LOCATION1", "aspect": "price"}
    weights = [word["attention"] for word in pipe(answer, explain="attention")["words"]]
    assert np.shape(weights) == (5, 2, 4)  # words, layers, heads
    assert np.ptp(weights) > 0
    card = model_card(closed, tokenizer, None, "alice/m", "mit")
    assert "-pair, the baseline without context guidance" in card
    assert "- at most 64 tokens" in card


@pytest.mark.slow
def test_exported(start, tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'qacg-bert[onnx]'")
    from absa.onnx import export, largest_difference

    model = start()
    export(model, tmp_path / "model.onnx")
    assert largest_difference(model, tmp_path / "model.onnx") < 1e-4
