"""absa/models.py: pretrained weights to start from, and trained classifiers that are loaded."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, BertConfig, BertForSequenceClassification, RobertaConfig

from absa import models
from absa.tasks.classification import describe
from absa.training import optimisation
from modeling_qacg_bert import Contexts, QACGConfig
from modeling_scalar_mix import ScalarMixConfig

CONTEXTS = Contexts(("LOCATION1", "LOCATION2"), ("price", "safety"))
LABELS = ["none", "positive", "negative"]
DESCRIBED = describe(CONTEXTS, LABELS)


@pytest.mark.parametrize("model_type", ["qacg_bert", "cg_bert", "bert"])
def test_config_holds_backbone_contexts_and_labels(tiny_bert, model_type):
    config = models.build_config(model_type, str(tiny_bert), describe(CONTEXTS, LABELS, auxiliary_sentence=False))
    assert config.model_type == model_type
    assert config.hidden_size == 32
    assert (config.targets, config.aspects) == (["LOCATION1", "LOCATION2"], ["price", "safety"])
    assert config.auxiliary_sentence is False
    assert config.id2label == {0: "none", 1: "positive", 2: "negative"}
    if models.takes(models.classifier_of(model_type), "context_ids"):
        assert config.num_contexts == 4


def test_overrides(tiny_bert):
    overrides = f"context_initializer_range={math.exp(-3)},context_projection=hidden,gate_initializer_range=1e-2"
    config = models.build_config("qacg_bert", str(tiny_bert), DESCRIBED, overrides=overrides)
    assert config.gate_initializer_range == 0.01  # whose default, None, says nothing of its type
    assert config.context_projection == "hidden"
    assert config.context_initializer_range == math.exp(-3)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ("num_attention_heads=5", "hidden_size=32 is not a multiple of num_attention_heads=5"),
        ("auxiliary_sentence=false", "config_overrides=.* has auxiliary_sentence, which the data decides"),
        ("model_type=bert", "'model_type=bert' is no field=value of a qacg_bert"),
        ("gate_bias", "'gate_bias' is no field=value"),
        ("num_hidden_layers=3", "lacks, so that they would be random, 16 weights"),
        ("vocab_size=120", "has other sizes than the configuration in 1 weights: bert.embeddings.word_embeddings"),
    ],
)
def test_overrides_that_make_no_model(tiny_bert, overrides: str, told: str):
    def build():
        config = models.build_config("qacg_bert", str(tiny_bert), DESCRIBED, overrides=overrides)
        return models.load_model(str(tiny_bert), config, "sdpa")

    with pytest.raises(ValueError, match=told):
        build()


@pytest.mark.parametrize(
    ("kind", "overrides", "told"),
    [
        ("t5", "d_ff=32", "has other sizes than the configuration in .* encoder.block.0"),
        ("t5", "num_layers=2", "lacks, so that they would be random, .* encoder.block.1"),
        ("bart", "decoder_layers=2", "lacks, so that they would be random, .* model.decoder.layers.1"),
        ("bart", "encoder_ffn_dim=32", "has other sizes than the configuration in .* model.encoder.layers.0"),
    ],
)
def test_overrides_that_make_no_model_of_texts(make_text_model, kind: str, overrides: str, told: str):
    backbone = str(make_text_model(kind, ["nice price"]))
    config = models.build_config(kind, backbone, {"tasks": ["ate"]}, overrides=overrides)
    with pytest.raises(ValueError, match=told):
        models.load_model(backbone, config, "sdpa", auto_class=AutoModelForSeq2SeqLM)


def test_overrides_may_leave_out_upper_layers(tiny_bert):
    config = models.build_config("qacg_bert", str(tiny_bert), DESCRIBED, overrides="num_hidden_layers=1")
    assert len(models.load_model(str(tiny_bert), config, "sdpa").bert.encoder.layer) == 1


def test_pointers_go_on_to_another_subtask(tiny_bert, tmp_path):
    def load(backbone, tasks: list[str]):
        config = models.build_config("pointer_absa", str(backbone), {"tasks": tasks})
        return models.load_model(str(backbone), config, "sdpa", auto_class=AutoModelForSeq2SeqLM)

    model = load(tiny_bert, ["aesc"])
    model.save_pretrained(tmp_path)
    continued = load(tmp_path, ["aste"])
    assert continued.config.tasks == ["aste"]
    for (name, before), (_, after) in zip(model.named_parameters(), continued.named_parameters(), strict=True):
        assert torch.equal(before, after), name
    with pytest.raises(ValueError, match=r"in 2 weights: .* Give a complete one of as many subtasks"):
        load(tmp_path, ["aste", "aesc"])


def test_another_architecture_is_refused(tmp_path):
    RobertaConfig().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds a roberta: a qacg_bert starts from a bert"):
        models.build_config("qacg_bert", str(tmp_path), DESCRIBED)


def test_continued_training_keeps_the_meaning_of_the_contexts(tiny_bert, tmp_path):
    config = models.build_config("qacg_bert", str(tiny_bert), DESCRIBED)
    model = models.load_model(str(tiny_bert), config, "sdpa")
    model.save_pretrained(tmp_path)
    continued = models.load_model(str(tmp_path), models.build_config("qacg_bert", str(tmp_path), DESCRIBED), "sdpa")
    for (name, before), (_, after) in zip(model.named_parameters(), continued.named_parameters(), strict=True):
        assert torch.equal(before, after), name
    with pytest.raises(ValueError, match="was trained with symmetric_targets=False, the data asks for True"):
        models.build_config("qacg_bert", str(tmp_path), describe(CONTEXTS, LABELS, symmetric_targets=True))
    with pytest.raises(ValueError, match=r"was trained with aspects=\['price', 'safety'\]"):
        models.build_config("qacg_bert", str(tmp_path), describe(Contexts(CONTEXTS.targets, ("noise",)), LABELS))


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_continued_training_of_a_model_that_reads_contexts_in_words(tiny_bert, tmp_path, model_type):
    """It knows the names of both trainings, and means the same by its labels."""
    described = describe(CONTEXTS, LABELS, context_source="text")
    model = models.load_model(str(tiny_bert), models.build_config(model_type, str(tiny_bert), described), "sdpa")
    model.config.update({"calibration_temperature": 1.5, "likeness_calibration": [8.0, -3.0]})
    model.save_pretrained(tmp_path)
    own = Contexts((), ("noise", CONTEXTS.aspects[0]))
    config = models.build_config(model_type, str(tmp_path), describe(own, LABELS, context_source="text"))
    assert config.targets == list(CONTEXTS.targets)
    assert config.aspects == [*CONTEXTS.aspects, "noise"]
    assert getattr(config, "calibration_temperature", 1.0) == 1.0  # those were fitted to the answers of before
    assert getattr(config, "likeness_calibration", None) is None
    continued = models.load_model(str(tmp_path), config, "sdpa")
    for (name, before), (_, after) in zip(model.named_parameters(), continued.named_parameters(), strict=True):
        assert torch.equal(before, after), name
    fewer = models.build_config(model_type, str(tmp_path), describe(own, LABELS[:0:-1], context_source="text"))
    assert fewer.id2label == model.config.id2label
    with pytest.raises(ValueError, match="was trained with id2label="):
        models.build_config(model_type, str(tmp_path), describe(own, [*LABELS, "mixed"], context_source="text"))
    with pytest.raises(ValueError, match="was trained with context_source=text, the data asks for id"):
        models.build_config(model_type, str(tmp_path), describe(own, LABELS))


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_a_pooler_that_is_reset_keeps_the_size_of_its_input(tiny_bert: Path, model_type):
    model = models.load_model(str(tiny_bert), models.build_config(model_type, str(tiny_bert), DESCRIBED), "sdpa")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    optimisation.reset_pooler(model)
    weight = model.bert.pooler.dense.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(len(weight)))
    changed = {name for name, value in model.state_dict().items() if not value.equal(before[name])}
    assert changed <= {"bert.pooler.dense.weight", "bert.pooler.dense.bias"}


@pytest.mark.parametrize("model_type", ["qacg_bert", "cg_bert", "bert", "qacg", "cg"])
def test_a_pooler_that_the_backbone_lacks_is_new(bert_without_pooler: Path, model_type: str, caplog):
    """Of a checkpoint with a masked-language-model head; all else that is the encoder's is loaded."""
    config = models.build_config(model_type, str(bert_without_pooler), DESCRIBED)
    model = models.load_model(str(bert_without_pooler), config, "sdpa")
    encoder = "model.encoder" if model_type in ("qacg", "cg") else "bert"
    pooler = {f"{encoder}.pooler.dense.{name}" for name in ("weight", "bias")}
    assert f"lacks {', '.join(sorted(pooler))}, which start from random numbers" in caplog.text
    assert pooler <= {name for name, _ in model.named_parameters() if optimisation.is_new(name, model)}
    loaded = model.state_dict()
    for name, weights in load_file(bert_without_pooler / "model.safetensors").items():
        if name.startswith("bert."):
            assert torch.equal(loaded[f"{encoder}{name.removeprefix('bert')}"], weights), name


@pytest.mark.parametrize("model_type", ["qacg_bert", "bert"])
def test_another_head_of_the_backbone_is_left_behind(tiny_bert, tmp_path, model_type: str):
    config = BertConfig.from_pretrained(tiny_bert, num_labels=5, problem_type="multi_label_classification")
    saved = BertForSequenceClassification(config)
    saved.save_pretrained(tmp_path)
    model = models.load_model(str(tmp_path), models.build_config(model_type, str(tmp_path), DESCRIBED), "sdpa")
    assert model.classifier.out_features == 3
    assert model.config.problem_type is None
    assert torch.equal(model.bert.pooler.dense.weight, saved.bert.pooler.dense.weight)
    # The Trainer divides the loss by the accumulated steps only where a model does not ask for the item count.
    assert model.accepts_loss_kwargs is False


@pytest.fixture
def backbone(tiny_bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert, tmp_path / "backbone"))


def start(backbone: Path):
    """All that training does with a backbone."""
    config = models.build_config("qacg_bert", str(backbone), DESCRIBED)
    models.load_tokenizer(str(backbone), config)
    return models.load_model(str(backbone), config, "sdpa")


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def change_config(folder: Path, **fields):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def remove_tokenizer(folder: Path):
    for file in folder.glob("tokenizer*"):
        file.unlink()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda folder: change_config(folder, num_hidden_layers=1),
            r"has, beyond the 1 layers of its config.json, 16 weights: encoder.layer.1",
        ),
        (lambda folder: change_config(folder, vocab_size=10), "has 99 tokens, the model 10: put"),
        (
            lambda folder: change_weights(folder, lambda w: w.pop("encoder.layer.0.output.dense.bias")),
            "lacks, so that",
        ),
        (remove_tokenizer, "put the files of the model's own tokenizer"),
        (lambda folder: (folder / "config.json").write_text("[]"), r"cannot be loaded \("),
        (lambda folder: (folder / "tokenizer.json").write_text('{"model": {}}'), r"cannot be loaded \("),
        (lambda folder: (folder / "model.safetensors").write_text("1234567"), r"cannot be loaded \("),
    ],
    ids=["layers", "vocabulary", "a weight", "no tokenizer", "config", "tokenizer", "weights"],
)
def test_a_backbone_that_is_not_whole(backbone: Path, change: Callable, told: str):
    change(backbone)
    with pytest.raises(ValueError, match=f"model_name_or_path=.* {told}") as caught:
        start(backbone)
    assert len(str(caught.value)) < 600


def test_a_backbone_in_a_pickle_is_taken_and_runs_nothing(backbone: Path, harmful):
    weights = load_file(backbone / "model.safetensors")
    (backbone / "model.safetensors").unlink()
    torch.save(weights, backbone / "pytorch_model.bin")
    assert torch.equal(start(backbone).bert.pooler.dense.weight, weights["pooler.dense.weight"])
    torch.save({**weights, "harmful": harmful}, backbone / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"model_name_or_path=.* cannot be loaded \(UnpicklingError"):
        start(backbone)
    assert not harmful.touched.exists()


@pytest.fixture
def checkpoint(tiny_classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_classifier, tmp_path / "checkpoint"))


def test_a_pickle_of_a_trained_classifier_is_not_opened(checkpoint: Path, harmful):
    weights = {**load_file(checkpoint / "model.safetensors"), "harmful": harmful}
    (checkpoint / "model.safetensors").unlink()
    torch.save(weights, checkpoint / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match=r"model=.* no file named model.safetensors"):
        models.load_classifier("model", str(checkpoint))
    assert not harmful.touched.exists()
    torch.load(checkpoint / "pytorch_model.bin", weights_only=False)
    assert harmful.touched.exists(), "the pickle is harmless, and the test shows nothing"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda folder: change_weights(folder, lambda w: w.pop("classifier.weight")), "lacks 1 weights: classifier.w"),
        (
            lambda folder: change_weights(folder, lambda w: w.update({"classifier.bias": torch.zeros(5)})),
            "has other sizes in 1 weights: classifier.bias",
        ),
        (
            lambda folder: change_config(folder, num_hidden_layers=1),
            r"has, beside those of its configuration, \d+ weights: bert.encoder.layer.1",
        ),
        (remove_tokenizer, "cannot be loaded .*tokenizer"),
        (
            lambda folder: change_config(folder, id2label={"0": "a", "1": "a", "2": "b"}),
            r"has the labels \['a', 'a', 'b'\]: give each a name of its own",
        ),
    ],
    ids=["missing", "size", "layers", "no tokenizer", "labels"],
)
def test_a_classifier_that_would_answer_at_random(checkpoint: Path, change: Callable, told: str):
    change(checkpoint)
    with pytest.raises(ValueError, match=f"model=.* {told}"):
        models.load_classifier("model", str(checkpoint))


def test_encoders_that_count_positions_behind_padding_read_fewer_tokens():
    roberta = RobertaConfig(max_position_embeddings=130, pad_token_id=1)
    wrapped = [QACGConfig(encoder_config=roberta), ScalarMixConfig(encoder_config=roberta)]
    assert [models.most_tokens(512, config) for config in (roberta, *wrapped)] == [128] * 3
    assert [config.max_position_embeddings for config in wrapped] == [128] * 2
    assert models.most_tokens(512, BertConfig(max_position_embeddings=130)) == 130
    assert models.most_tokens(20, roberta) == 20


def test_tokenizers_pad_on_the_right_whatever_was_saved(make_checkpoint):
    """Or a batch of training would be pooled at its padding."""
    checkpoint = make_checkpoint()
    AutoTokenizer.from_pretrained(checkpoint, padding_side="left").save_pretrained(checkpoint)
    assert AutoTokenizer.from_pretrained(checkpoint).padding_side == "left"
    model, tokenizer = models.load_classifier("model", str(checkpoint))
    for one in (tokenizer, models.load_tokenizer(str(checkpoint), model.config)):
        assert one.padding_side == "right"
