"""Saving and loading: what is saved, what is new, and word vectors."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModel, AutoModelForSequenceClassification

from modeling_af_lstm import AFLstmForSequenceClassification, AFLstmModel

ARCHITECTURES = ["af_lstm", "lstm", "td_lstm", "at_lstm", "atae_lstm", "nbow", "majority"]
STRANGER = """
import json, sys
for name in ("absa", "modeling_af_lstm", "modeling_qacg_bert"):
    sys.modules[name] = None  # importing it fails
from transformers import AutoModel, pipeline
pipe = pipeline("text-classification", model=sys.argv[1], trust_remote_code=True, top_k=None)
found = [type(one) for one in (pipe.model, AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True))]
answers = pipe([dict(text=text, text_pair=aspect) for text, aspect in json.loads(sys.argv[2])])
print(json.dumps([[f"{one.__module__.partition('.')[0]} {one.__name__}" for one in found], answers]))
"""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_round_trip(make_model, make_batch, architecture, tmp_path):
    model, batch = make_model(architecture), make_batch()
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert type(loaded) is AFLstmForSequenceClassification
    assert not any(report.values())
    assert loaded.config.to_diff_dict() == model.config.to_diff_dict()
    assert torch.equal(loaded(**batch).logits, model(**batch).logits)
    del batch["labels"]
    headless = AutoModel.from_pretrained(tmp_path)
    assert type(headless) is AFLstmModel
    assert torch.equal(headless(**batch).pooler_output, model.encoder(**batch).pooler_output)


def test_statistics_of_a_batch_are_saved(make_model, make_batch, tmp_path):
    model = make_model(normalization="batch").train()
    model(**make_batch())
    model.eval().save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.encoder.normalization.states.num_batches_tracked == 1
    assert torch.equal(loaded(**make_batch()).logits, model(**make_batch()).logits)


@pytest.mark.parametrize("architecture", ["td_lstm", "majority"])
def test_weights_that_are_missing_are_initialised(make_model, architecture, tmp_path):
    """Models are made without memory and filled from the file; an LSTM keeps a list of its weights besides."""
    model = make_model(architecture)
    saved = {
        name: value for name, value in model.state_dict().items() if name.startswith(("encoder.emb", "encoder.lstm"))
    }
    model.config.save_pretrained(tmp_path)
    save_file(saved, tmp_path / "model.safetensors", metadata={"format": "pt"})
    loaded, report = AFLstmForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert report["missing_keys"] == model.state_dict().keys() - saved.keys()
    for name, value in saved.items():
        assert torch.equal(loaded.state_dict()[name], value), name
    assert loaded.classifier.bias.eq(0).all()
    if architecture == "td_lstm":
        right = loaded.encoder.right_lstm
        assert right.bias_ih_l0.tolist() == [0.0] * 5 + [1.0] * 5 + [0.0] * 10
        assert 0.3 < right.weight_hh_l0.abs().max() <= (6 / 25) ** 0.5
        for lstm in (loaded.encoder.lstm, right):
            assert all(one is other for one, other in zip(lstm.parameters(), lstm._flat_weights, strict=True))


@pytest.mark.parametrize("is_trainable", [False, True], ids=["frozen", "trainable"])
def test_word_vectors_are_trained_if_the_configuration_says_so(make_model, make_batch, is_trainable, tmp_path):
    model = make_model(trainable_embeddings=is_trainable)
    model.save_pretrained(tmp_path)
    loaded = AFLstmForSequenceClassification.from_pretrained(tmp_path)
    for one in (model, loaded, loaded.train()):
        one(**make_batch()).loss.backward()
        gradient = one.get_input_embeddings().weight.grad
        if is_trainable:
            assert gradient[0].eq(0).all()
            assert gradient[1:].abs().max() > 0
        else:
            assert gradient is None
        assert one.encoder.lstm.weight_ih_l0.grad.abs().max() > 0


def test_more_words(make_model, make_batch, tmp_path):
    model = make_model(trainable_embeddings=False)
    torch.nn.init.zeros_(model.get_input_embeddings().weight[0].data)
    before = model(**make_batch()).logits
    model.resize_token_embeddings(20)
    embeddings = model.get_input_embeddings()
    assert embeddings.weight.shape == (20, 5)
    assert embeddings.weight[0].eq(0).all()
    assert (embeddings.padding_idx, embeddings.weight.requires_grad) == (0, False)
    assert torch.equal(model(**make_batch()).logits, before)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.config.vocab_size == 20
    assert torch.equal(loaded(**make_batch()).logits, before)


@pytest.mark.slow
def test_a_stranger_asks_with_pairs(make_model, tokenizer, tmp_path):
    """Another process, an empty cache of code, no package of ours."""
    model = make_model(id2label={0: "positive", 1: "negative", 2: "neutral"})
    model.save_pretrained(tmp_path / "saved")
    tokenizer.save_pretrained(tmp_path / "saved")
    pairs = [("the battery life is good", "battery life"), ("the screen is very dull", "screen")]
    finished = subprocess.run(
        [sys.executable, "-c", STRANGER, tmp_path / "saved", json.dumps(pairs)],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
        | {"HF_MODULES_CACHE": str(tmp_path / "modules")},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
    found, answers = json.loads(finished.stdout.splitlines()[-1])
    assert found == ["transformers_modules AFLstmForSequenceClassification", "transformers_modules AFLstmModel"]
    for pair, of_pair in zip(pairs, answers, strict=True):
        expected = model(**tokenizer(*pair, return_tensors="pt")).logits.softmax(-1)[0].tolist()
        assert {one["label"]: one["score"] for one in of_pair} == pytest.approx(
            dict(zip(model.config.id2label.values(), expected, strict=True)), abs=1e-6
        )
