"""examples/convert_checkpoint.py, run as a user runs it; parity with the released code is in test_golden.py."""

import json
import math
import os
import pickle
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import convert_checkpoint as script
import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, BertTokenizer

from modeling_qacg_bert import CGBertForSequenceClassification, QACGBertForSequenceClassification

TARGETS = ["LOCATION1", "LOCATION2"]
ASPECTS = ["general", "price", "transit-location", "safety"]
LABELS = ["none", "positive", "negative"]
FIELDS = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.3,
    "attention_probs_dropout_prob": 0.2,
    "max_position_embeddings": 20,
    "type_vocab_size": 2,
    "initializer_range": 0.05,
}


def released_weights(projection: tuple[int, int] = (8, 8), gate_bias: bool = False) -> dict[str, torch.Tensor]:
    """Random weights under the names of the released code; H = 16, d = 8, 8 contexts, 3 labels."""
    shapes = {
        "bert.context_embeddings.weight": (8, 16),
        "bert.embeddings.word_embeddings.weight": (30, 16),
        "bert.embeddings.position_embeddings.weight": (20, 16),
        "bert.embeddings.token_type_embeddings.weight": (2, 16),
        "bert.embeddings.LayerNorm.gamma": (16,),
        "bert.embeddings.LayerNorm.beta": (16,),
    }
    linears = {"bert.pooler.dense": (16, 16), "bert.pooler.attention_gate.0": (32, 16), "classifier": (3, 16)}
    for number in range(2):
        linears[f"bert.encoder.context_layer.{number}"] = (16, 32)
        layer = f"bert.encoder.layer.{number}"
        for name in ("query", "key", "value"):
            linears[f"{layer}.attention.self.{name}"] = (16, 16)
        for name in ("context_for_q", "context_for_k"):
            linears[f"{layer}.attention.self.{name}"] = projection
        linears |= {
            f"{layer}.attention.output.dense": (16, 16),
            f"{layer}.intermediate.dense": (24, 16),
            f"{layer}.output.dense": (16, 24),
        }
        for part in ("attention.output", "output"):
            shapes[f"{layer}.{part}.LayerNorm.gamma"] = shapes[f"{layer}.{part}.LayerNorm.beta"] = (16,)
        for gate in ("q_query", "q_context", "k_key", "k_context"):
            name = f"{layer}.attention.self.lambda_{gate}_layer"
            shapes[f"{name}.weight"] = (1, 8)
            if gate_bias:
                shapes[f"{name}.bias"] = (1,)
    for name, shape in linears.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def attention_parameters(model) -> dict[str, torch.Tensor]:
    prefix = "bert.encoder.layer.1.attention.self."
    return {name.removeprefix(prefix): x for name, x in model.state_dict().items() if name.startswith(prefix)}


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    """Paths of a checkpoint: config (written), and weights, output_dir (not)."""
    (tmp_path / "config.json").write_text(json.dumps(FIELDS), encoding="utf-8")
    return {
        "config": tmp_path / "config.json",
        "weights": tmp_path / "weights.safetensors",
        "output_dir": tmp_path / "converted",
    }


def arguments_of(files: dict[str, Path], kind: str = "qacg") -> list[str]:
    return ["--kind", kind, *(word for name, path in files.items() for word in (f"--{name}", str(path)))]


def run(repo_root: Path, arguments: list[str]) -> subprocess.CompletedProcess:
    command = [sys.executable, str(repo_root / "examples" / "convert_checkpoint.py"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(repo_root)}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_safetensors_with_names_and_tokenizer(files, repo_root, tmp_path):
    weights = released_weights(gate_bias=True)
    save_file(weights, files["weights"])
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "safe"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "tokenizer")
    names = ["--targets", *TARGETS, "--aspects", *ASPECTS, "--labels", *LABELS]
    finished = run(repo_root, [*arguments_of(files), *names, "--tokenizer", str(tmp_path / "tokenizer")])
    assert finished.returncode == 0, finished.stderr
    # The unused weights: 32 * 16 + 32 = 544.
    assert "left out bert.pooler.attention_gate.*: 544 numbers that no output" in finished.stdout
    assert "wrote QACGBertForSequenceClassification to" in finished.stdout
    assert "2 layers, 8 contexts, 3 labels" in finished.stdout
    assert (files["output_dir"] / "tokenizer.json").is_file()

    model = AutoModelForSequenceClassification.from_pretrained(files["output_dir"])
    config = model.config
    assert type(model) is QACGBertForSequenceClassification
    assert (config.model_type, config.targets, config.aspects) == ("qacg_bert", TARGETS, ASPECTS)
    assert config.id2label == dict(enumerate(LABELS))
    assert {name: getattr(config, name) for name in FIELDS} == FIELDS
    assert (config.context_projection, config.gate_bias, config.num_contexts) == ("head", True, 8)
    assert config.auxiliary_sentence is True
    ours = attention_parameters(model)
    theirs = {
        name.removeprefix("bert.encoder.layer.1.attention.self."): x
        for name, x in weights.items()
        if "layer.1." in name
    }
    context_layer = weights["bert.encoder.context_layer.1.weight"]
    assert torch.equal(ours["context_matrix.from_context.weight"], context_layer[:, :16])
    assert torch.equal(ours["context_matrix.from_hidden.weight"], context_layer[:, 16:])
    assert torch.equal(ours["context_matrix.from_context.bias"], weights["bert.encoder.context_layer.1.bias"])
    assert torch.equal(ours["context_query.weight"], theirs["context_for_q.weight"])
    assert torch.equal(ours["context_key.bias"], theirs["context_for_k.bias"])
    assert torch.equal(ours["query_gate.from_hidden.weight"], theirs["lambda_q_query_layer.weight"])
    assert torch.equal(ours["query_gate.from_context.weight"], theirs["lambda_q_context_layer.weight"])
    assert torch.equal(ours["key_gate.from_hidden.weight"], theirs["lambda_k_key_layer.weight"])
    assert torch.equal(ours["key_gate.from_context.weight"], theirs["lambda_k_context_layer.weight"])
    key_biases = theirs["lambda_k_key_layer.bias"] + theirs["lambda_k_context_layer.bias"]
    assert torch.equal(ours["key_gate.from_hidden.bias"], key_biases)
    norm = model.bert.encoder.layer[1].attention.output.LayerNorm
    assert torch.equal(norm.weight, weights["bert.encoder.layer.1.attention.output.LayerNorm.gamma"])
    assert torch.equal(norm.bias, weights["bert.encoder.layer.1.attention.output.LayerNorm.beta"])


def test_a_pickle_with_wrappers(files, repo_root):
    weights = released_weights()
    files["weights"] = files["weights"].with_suffix(".bin")
    torch.save({"epoch": 3, "model": {f"module.{name}": x for name, x in weights.items()}}, files["weights"])
    finished = run(repo_root, [*arguments_of(files, "cg"), "--no_auxiliary_sentence"])
    assert finished.returncode == 0, finished.stderr
    assert "wrote CGBertForSequenceClassification to" in finished.stdout
    model = AutoModelForSequenceClassification.from_pretrained(files["output_dir"])
    assert type(model) is CGBertForSequenceClassification
    assert (model.config.gate_bias, model.config.auxiliary_sentence) == (False, False)
    assert torch.equal(model.classifier.weight, weights["classifier.weight"])


@pytest.mark.parametrize("wrapper", ["model", "state_dict", "model_state_dict", None])
def test_wrappers(files, wrapper):
    weights = released_weights()
    path = files["weights"].with_suffix(".pt")
    torch.save({wrapper: weights} if wrapper else weights, path)
    read = script.read_weights(path)
    assert read.keys() == weights.keys()
    assert all(torch.equal(read[name], weights[name]) for name in weights)


def test_hidden_projections():
    weights = released_weights(projection=(16, 16))
    config = script.build_config("qacg", FIELDS, weights)
    assert config.context_projection == "hidden"
    converted = script.convert_state_dict(weights, config)
    name = "bert.encoder.layer.0.attention.self.{}.weight"
    assert torch.equal(converted[name.format("context_query")], weights[name.format("context_for_q")])


def test_a_projection_whose_output_every_head_gets():
    weights = released_weights(projection=(8, 16))
    config = script.build_config("qacg", FIELDS, weights)
    assert config.context_projection == "hidden"
    converted = script.convert_state_dict(weights, config)
    for part in ("weight", "bias"):
        ours = converted[f"bert.encoder.layer.0.attention.self.context_query.{part}"]
        theirs = weights[f"bert.encoder.layer.0.attention.self.context_for_q.{part}"]
        assert torch.equal(ours[:8], theirs)
        assert torch.equal(ours[8:], theirs)


def block_diagonal() -> dict[str, torch.Tensor]:
    """H x H projections whose heads share one d x d block."""
    weights = released_weights(projection=(16, 16))
    for name, tensor in weights.items():
        if ".context_for_" in name:
            block = tensor[:8] if tensor.dim() == 1 else tensor[:8, :8]
            weights[name] = block.repeat(2) if tensor.dim() == 1 else torch.block_diag(block, block)
    return weights


def test_compaction_of_projections_that_the_heads_share():
    weights = block_diagonal()
    config = script.build_config("qacg", FIELDS, weights, context_projection="head")
    converted = script.convert_state_dict(weights, config)
    for part in ("weight", "bias"):
        ours = converted[f"bert.encoder.layer.1.attention.self.context_key.{part}"]
        theirs = weights[f"bert.encoder.layer.1.attention.self.context_for_k.{part}"]
        assert torch.equal(ours, theirs[:8] if part == "bias" else theirs[8:, 8:])


@pytest.mark.parametrize(
    ("part", "index"), [("weight", (0, 15)), ("weight", (9, 9)), ("bias", (8,))], ids=["off_diagonal", "block", "bias"]
)
def test_compaction_of_projections_that_differ(part, index):
    weights = block_diagonal()
    name = f"bert.encoder.layer.1.attention.self.context_for_k.{part}"
    weights[name][index] += 1e-3
    config = script.build_config("qacg", FIELDS, weights, context_projection="head")
    with pytest.raises(ValueError, match=f"context_projection=head, but {name} is not one 8-row block repeated"):
        script.convert_state_dict(weights, config)


@pytest.mark.parametrize(
    ("fields", "names", "message"),
    [
        ({"vocab_size": 31}, {}, "vocab_size=31 in the configuration, but vocab_size=30 in the weights"),
        ({"num_hidden_layers": 12}, {}, "num_hidden_layers=12 in the configuration, but num_hidden_layers=2"),
        ({"num_attention_heads": 4}, {}, "num_attention_heads=4 in the configuration, but num_attention_heads=2"),
        ({"intermediate_size": 64}, {}, "intermediate_size=64 in the configuration, but intermediate_size=24"),
        ({"vocab_size": "30"}, {}, "vocab_size='30' in the configuration, but vocab_size=30 in the weights"),
        ({"hidden_size": "x" * 999}, {}, r"hidden_size='x{79}\.\.\. in the configuration, but"),
        (
            {"hidden_dropout_prob": "0.1"},
            {},
            "hidden_dropout_prob='0.1' in the configuration: give a number from 0 to 1",
        ),
        ({"hidden_dropout_prob": math.nan}, {}, "hidden_dropout_prob=nan in the configuration: give a number"),
        (
            {"attention_probs_dropout_prob": 5},
            {},
            "attention_probs_dropout_prob=5 in the configuration: give a number",
        ),
        ({"initializer_range": True}, {}, "initializer_range=True in the configuration: give a number"),
        ({}, {"labels": ["a", "a", "b"]}, r"labels=\['a', 'a', 'b'\]: give each a name of its own"),
        ({}, {"labels": ["a", " ", "b"]}, r"labels=\['a', ' ', 'b'\]: give each a name of its own"),
        ({}, {"targets": TARGETS, "aspects": ["a"] * 4}, "aspects=.*: give each a name of its own"),
        ({"num_labels": 5}, {}, "num_labels=5 in the configuration, but num_labels=3"),
        ({}, {"labels": ["yes", "no"]}, r"labels=\['yes', 'no'\] are 2 names, but num_labels=3 in the weights"),
        ({}, {"aspects": ASPECTS}, "targets=None and aspects=.* make 4 contexts, but num_contexts=8 in the weights"),
        ({}, {"targets": TARGETS}, "and aspects=None make 0 contexts, but num_contexts=8 in the weights"),
        ({}, {"context_projection": "hidden"}, "context_projection=hidden, but the weights have 8 x 8 projections"),
    ],
)
def test_configuration_and_weights_disagree(fields, names, message):
    with pytest.raises(ValueError, match=message):
        script.build_config("qacg", {**FIELDS, **fields}, released_weights(), **names)


def test_the_weights_decide_what_the_configuration_leaves_out():
    config = script.build_config("cg", {}, released_weights())
    sizes = {name: size for name, size in FIELDS.items() if not name.endswith(("prob", "act", "range"))}
    assert {name: getattr(config, name) for name in sizes} == sizes
    assert (config.num_contexts, config.num_labels) == (8, 3)


def test_weights_that_are_missing_or_unknown():
    weights = released_weights(gate_bias=True)
    config = script.build_config("qacg", FIELDS, weights)
    del weights["bert.pooler.dense.bias"], weights["bert.encoder.layer.1.attention.self.lambda_k_context_layer.bias"]
    weights["lstm.weight"] = torch.zeros(1)
    with pytest.raises(ValueError, match=r"weights missing: .*; unknown: ") as caught:
        script.convert_state_dict(weights, config)
    for name in ("bert.pooler.dense.bias", "layer.1.attention.self.lambda_k_context_layer.bias", "['lstm.weight']"):
        assert name in str(caught.value)


def test_weights_of_another_model():
    with pytest.raises(ValueError, match=r"the weights lack \[.*'bert.context_embeddings.weight'.*give a"):
        script.build_config("qacg", FIELDS, {"classifier.weight": torch.zeros(3, 16)})


def test_weights_of_another_shape():
    weights = released_weights()
    weights["bert.encoder.layer.1.output.dense.weight"] = torch.zeros(16, 23)
    config = script.build_config("qacg", FIELDS, weights)
    with pytest.raises(ValueError, match=r"layer.1.output.dense.weight gives .* shape \(16, 23\), .* \(16, 24\)"):
        script.convert_state_dict(weights, config)


class Malicious:
    """What a pickle does when it is loaded without care."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_that_would_run_code(tmp_path):
    touched = tmp_path / "touched"
    path = tmp_path / "weights.bin"
    torch.save({"classifier.weight": Malicious(touched)}, path)
    with pytest.raises(ValueError, match=r"weights.bin holds more than tensors, and what it holds was not run"):
        script.read_weights(path)
    path.write_bytes(pickle.dumps(Malicious(touched), protocol=2))
    with pytest.raises(ValueError, match=r"weights.bin holds more than tensors, and what it holds was not run"):
        script.read_weights(path)
    assert not touched.exists()
    pickle.loads(path.read_bytes())
    assert touched.exists()  # it is as malicious as it should be


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("weights.safetensors", b"not a header", "is no safetensors file"),
        ("weights.pt", b"", "is no file written by torch.save, or damaged"),
        ("weights.bin", b"PK\x03\x04 a broken archive", "is no file written by torch.save, or damaged"),
    ],
)
def test_damaged_weights(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        script.read_weights(tmp_path / name)


def flipped(content: bytes, seed: int) -> bytes:
    """With one bit changed, in the part of the file that says what it holds."""
    generator = random.Random(seed)
    damaged = bytearray(content)
    damaged[generator.randrange(8000)] ^= 1 << generator.randrange(8)
    return bytes(damaged)


@pytest.mark.parametrize("form", ["archive", "pickle", "safetensors"])
def test_bits_that_have_flipped(tmp_path, form):
    """Whatever class the reader's error is of: half a dozen classes are among these."""
    path = tmp_path / ("weights.safetensors" if form == "safetensors" else "weights.pt")
    if form == "safetensors":
        save_file(released_weights(), path)
    else:
        torch.save(released_weights(), path, _use_new_zipfile_serialization=form == "archive")
    content = path.read_bytes()
    num_refused = 0
    for seed in range(100):
        path.write_bytes(flipped(content, seed))
        try:
            script.read_weights(path)
        except ValueError as error:
            assert str(error).startswith(f"weights {path} ")  # noqa: PT017  # some are read: a name has changed, or a number
            num_refused += 1
    assert num_refused > 10


def test_weights_that_take_more_memory_than_the_file(tmp_path):
    weights = {"a": torch.zeros(1, 1).expand(2**40, 16)}
    torch.save(weights, tmp_path / "views.pt")
    with pytest.raises(ValueError, match=r"views.pt has .* as a view that repeats numbers: save it contiguous"):
        script.read_weights(tmp_path / "views.pt")
    torch.save({"a": torch.zeros(100_000)}, tmp_path / "whole.pt")
    with (
        zipfile.ZipFile(tmp_path / "whole.pt") as whole,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for entry in whole.infolist():
            packed.writestr(entry.filename, whole.read(entry))
    with pytest.raises(ValueError, match=r"packed.pt .*it unpacks to \d+ bytes, which torch.save does not pack"):
        script.read_weights(tmp_path / "packed.pt")
    header = b'{"a": {"dtype": "F32", "shape": [1099511627776], "data_offsets": [0, 4398046511104]}}'
    (tmp_path / "lie.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match=r"lie.safetensors is no safetensors file, or damaged"):
        script.read_weights(tmp_path / "lie.safetensors")


@pytest.mark.parametrize(
    ("tensor", "told"),
    [
        (torch.zeros(3, dtype=torch.int64), "torch.int64"),
        (torch.zeros(3, dtype=torch.bool), "torch.bool"),
        (torch.zeros(3, dtype=torch.complex64), "torch.complex64"),
        (torch.zeros(3).to_sparse(), "torch.float32, torch.sparse_coo"),
        (torch.zeros(3, device="meta"), "torch.float32, torch.strided, on meta"),
    ],
    ids=["int64", "bool", "complex", "sparse", "meta"],
)
def test_weights_that_are_no_dense_floats(tmp_path, tensor, told):
    torch.save({"classifier.bias": tensor}, tmp_path / "weights.pt")
    with pytest.raises(ValueError, match=f"weights.pt has classifier.bias as {told}.*: save it as dense floats"):
        script.read_weights(tmp_path / "weights.pt")


def test_a_name_with_and_without_its_wrapper(tmp_path):
    torch.save({"a": torch.zeros(1), "module.a": torch.ones(1)}, tmp_path / "weights.pt")
    with pytest.raises(ValueError, match=r"weights.pt has \['a'\] with and without module. before it: keep one"):
        script.read_weights(tmp_path / "weights.pt")


@pytest.mark.parametrize("name", ["folder", os.devnull, "pipe.pt", "pipe.safetensors"])
def test_weights_that_are_no_file(tmp_path, name):
    (tmp_path / "folder").mkdir()
    if name.startswith("pipe"):
        if not hasattr(os, "mkfifo"):
            pytest.skip("this system has no named pipes")
        os.mkfifo(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"weights .* is no regular file: give a"):
        script.read_weights(tmp_path / name)


@pytest.mark.parametrize("tensor", [torch.tensor(1.0), torch.ones(5), torch.ones(0, 16), torch.ones(2, 3, 4)])
@pytest.mark.parametrize(
    "name",
    [
        "bert.embeddings.word_embeddings.weight",
        "bert.encoder.layer.0.attention.self.lambda_q_query_layer.weight",
        "bert.encoder.layer.1.attention.self.lambda_q_context_layer.bias",
        "bert.encoder.layer.1.attention.self.context_for_k.bias",
        "bert.encoder.context_layer.1.weight",
        "classifier.bias",
    ],
)
def test_weights_of_other_dimensions(name, tensor):
    weights = {**released_weights(gate_bias=True), name: tensor}
    with pytest.raises(
        ValueError, match=rf"{name} .*the shape {re.escape(str(tuple(tensor.shape)))}.*: the checkpoint is"
    ):
        script.convert_state_dict(weights, script.build_config("qacg", FIELDS, weights))


def test_heads_that_do_not_fill_the_model():
    weights = released_weights()
    weights["bert.encoder.layer.0.attention.self.lambda_q_query_layer.weight"] = torch.ones(1, 32)
    with pytest.raises(ValueError, match="hidden_size=16 in the weights is not a multiple of their head size 32"):
        script.build_config("qacg", FIELDS, weights)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_weights_that_are_no_numbers(files, value):
    weights = {name: tensor.double() for name, tensor in released_weights().items()}
    weights["classifier.bias"][1] = value
    save_file(weights, files["weights"])
    with pytest.raises(ValueError, match=r"classifier.bias holds NaN, infinity or what is too large for float32"):
        script.main(arguments_of(files))
    assert not files["output_dir"].exists()


@pytest.mark.parametrize(
    "content", [[1, 2], {"a": 1}, {1: torch.zeros(2)}, torch.zeros(2)], ids=lambda x: type(x).__name__
)
def test_files_without_a_state_dict(tmp_path, content):
    torch.save(content, tmp_path / "weights.pt")
    with pytest.raises(ValueError, match="is no state dict: give a file with a tensor for each weight name"):
        script.read_weights(tmp_path / "weights.pt")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "cannot be read: Expecting"),
        (b"\xff", "cannot be read: 'utf-8' codec"),
        (b"[]", "is no mapping"),
        (b'{"vocab_size": 30, "vocab_size": 31}', "vocab_size occurs twice, as 30 and 31"),
    ],
)
def test_damaged_configuration(files, content, message):
    save_file(released_weights(), files["weights"])
    files["config"].write_bytes(content)
    with pytest.raises(ValueError, match=f"config .*{message}.*give the bert_config.json"):
        script.main(arguments_of(files))
    assert not files["output_dir"].exists()


@pytest.mark.parametrize("missing", ["weights", "config"])
def test_missing_files(files, missing):
    save_file(released_weights(), files["weights"])
    files[missing].unlink()
    with pytest.raises(FileNotFoundError, match=f"{missing} .* does not exist: give"):
        script.main(arguments_of(files))
    assert not files["output_dir"].exists()


def test_an_output_folder_that_is_not_empty(files):
    save_file(released_weights(), files["weights"])
    files["output_dir"].mkdir()
    (files["output_dir"] / "notes.txt").touch()
    with pytest.raises(ValueError, match="is not empty: give a new folder"):
        script.main(arguments_of(files))


def test_a_tokenizer_with_more_tokens_than_the_model(files, tmp_path):
    save_file(released_weights(), files["weights"])
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(str, range(26))]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "tokenizer")
    with pytest.raises(ValueError, match="has 31 tokens, but vocab_size=30 in the weights"):
        script.main([*arguments_of(files), "--tokenizer", str(tmp_path / "tokenizer")])
    assert not files["output_dir"].exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"model": {"type": "nope"}}', None])
def test_a_tokenizer_that_is_none(files, tmp_path, content):
    save_file(released_weights(), files["weights"])
    (tmp_path / "tokenizer").mkdir()
    if content is not None:
        (tmp_path / "tokenizer" / "tokenizer.json").write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer=.* cannot be loaded"):
        script.main([*arguments_of(files), "--tokenizer", str(tmp_path / "tokenizer")])
    with pytest.raises(FileNotFoundError, match="tokenizer=no/such is no folder"):
        script.main([*arguments_of(files), "--tokenizer", "no/such"])
    assert not files["output_dir"].exists()


def test_an_output_folder_that_cannot_be(files):
    save_file(released_weights(), files["weights"])
    files["output_dir"].touch()
    with pytest.raises(FileExistsError, match=r"output_dir=.*converted is a file: give a folder"):
        script.main(arguments_of(files))
    files["output_dir"] = files["output_dir"] / "below"
    with pytest.raises(
        OSError, match=r"output_dir=.*below cannot be written \((NotADirectory|FileExists)Error.*: give another"
    ):
        script.main(arguments_of(files))


@pytest.mark.parametrize("existed", [True, False])
def test_nothing_is_left_of_what_failed(files, monkeypatch, existed):
    """The folder is as it was, which may be one that cannot be removed, as a volume."""
    save_file(released_weights(), files["weights"])
    if existed:
        files["output_dir"].mkdir()

    def full(model, folder):
        (folder / "code").mkdir(parents=True)
        (folder / "config.json").write_text("{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(script.QACGBertForSequenceClassification, "save_pretrained", full)
    with pytest.raises(OSError, match=r"output_dir=.* cannot be written \(OSError: .*No space left.*make room"):
        script.main(arguments_of(files))
    assert files["output_dir"].exists() is existed
    assert not existed or not any(files["output_dir"].iterdir())
    assert not list(files["output_dir"].parent.glob(".converted*"))


def test_weights_that_share_their_numbers_are_read(tmp_path):
    shared = torch.randn(100, 100)
    torch.save({"module.a": shared, "module.b": shared.t()}, tmp_path / "tied.pt")
    weights = script.read_weights(tmp_path / "tied.pt")
    assert torch.equal(weights["a"], shared)
    assert torch.equal(weights["b"], shared.t())
