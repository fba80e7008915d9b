"""examples/convert_checkpoint.py; parity with the released code is in test_golden.py."""

import json
from collections.abc import Callable
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
ATTENTION = "bert.encoder.layer.1.attention.self."
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
    linears = {"bert.pooler.dense": (16, 16), "bert.pooler.attention_gate.0": (32, 16), "classifier": (3, 16)}
    shapes = {"bert.context_embeddings.weight": (8, 16)}
    norms = ["bert.embeddings"]
    for name, rows in (("word", 30), ("position", 20), ("token_type", 2)):
        shapes[f"bert.embeddings.{name}_embeddings.weight"] = (rows, 16)
    for number in range(2):
        layer = f"bert.encoder.layer.{number}"
        linears[f"bert.encoder.context_layer.{number}"] = (16, 32)
        linears |= {f"{layer}.attention.self.{name}": (16, 16) for name in ("query", "key", "value")}
        linears |= {f"{layer}.attention.self.context_for_{name}": projection for name in "qk"}
        linears[f"{layer}.attention.output.dense"] = (16, 16)
        linears |= {f"{layer}.intermediate.dense": (24, 16), f"{layer}.output.dense": (16, 24)}
        norms += [f"{layer}.attention.output", f"{layer}.output"]
        for gate in ("q_query", "q_context", "k_key", "k_context"):
            shapes[f"{layer}.attention.self.lambda_{gate}_layer.weight"] = (1, 8)
            if gate_bias:
                shapes[f"{layer}.attention.self.lambda_{gate}_layer.bias"] = (1,)
    shapes |= {f"{norm}.LayerNorm.{part}": (16,) for norm in norms for part in ("gamma", "beta")}
    for name, shape in linears.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


@pytest.fixture
def convert(tmp_path: Path) -> Callable:
    """Converts weights, or a file of them, with the other arguments as given; the folder of the checkpoint."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "safe"]
    BertTokenizer(vocab=dict(zip(words, range(6), strict=True))).save_pretrained(tmp_path / "tokenizer")

    def run(weights: dict[str, torch.Tensor] | Path, fields: dict = FIELDS, kind: str = "qacg", **options) -> Path:
        (tmp_path / "config.json").write_text(json.dumps(fields))
        if isinstance(weights, dict):
            save_file(weights, tmp_path / "weights.safetensors")
            weights = tmp_path / "weights.safetensors"
        given = {"tokenizer": str(tmp_path / "tokenizer"), "output_dir": tmp_path / "converted"} | options
        script.main(script.ConversionArguments(kind, str(tmp_path / "config.json"), weights, **given))
        return given["output_dir"]

    return run


def test_as_a_user_runs_it(tmp_path: Path, run_script, convert):
    weights = released_weights(gate_bias=True)
    convert(weights)  # for the files
    names = ["--targets", *TARGETS, "--aspects", *ASPECTS, "--labels", *LABELS]
    files = ["--config", tmp_path / "config.json", "--weights", tmp_path / "weights.safetensors"]
    words = ["--kind", "qacg", *files, "--tokenizer", tmp_path / "tokenizer", "--output_dir", tmp_path / "out", *names]
    assert "wrote QACGBertForSequenceClassification to" in run_script("examples/convert_checkpoint.py", *words).stdout
    again = run_script("examples/convert_checkpoint.py", *words, check=False)
    assert again.stderr.splitlines()[-1] == f"output_dir={tmp_path / 'out'} is not empty: give a new folder"

    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "out")
    config = model.config
    assert type(model) is QACGBertForSequenceClassification
    assert (config.targets, config.aspects, config.id2label) == (TARGETS, ASPECTS, dict(enumerate(LABELS)))
    assert {name: getattr(config, name) for name in FIELDS} == FIELDS
    assert (config.context_projection, config.gate_bias, config.num_contexts) == ("head", True, 8)
    ours = {name.removeprefix(ATTENTION): tensor for name, tensor in model.state_dict().items()}
    theirs = {name.removeprefix(ATTENTION): tensor for name, tensor in weights.items()}
    context_layer = weights["bert.encoder.context_layer.1.weight"]
    norm = "bert.encoder.layer.1.attention.output.LayerNorm"
    for name, expected in {
        "context_matrix.from_context.weight": context_layer[:, :16],
        "context_matrix.from_hidden.weight": context_layer[:, 16:],
        "context_matrix.from_context.bias": weights["bert.encoder.context_layer.1.bias"],
        "context_query.weight": theirs["context_for_q.weight"],
        "context_key.bias": theirs["context_for_k.bias"],
        "query_gate.from_hidden.weight": theirs["lambda_q_query_layer.weight"],
        "query_gate.from_context.weight": theirs["lambda_q_context_layer.weight"],
        "key_gate.from_hidden.weight": theirs["lambda_k_key_layer.weight"],
        "key_gate.from_context.weight": theirs["lambda_k_context_layer.weight"],
        "key_gate.from_hidden.bias": theirs["lambda_k_key_layer.bias"] + theirs["lambda_k_context_layer.bias"],
        f"{norm}.weight": weights[f"{norm}.gamma"],
        f"{norm}.bias": weights[f"{norm}.beta"],
    }.items():
        assert torch.equal(ours[name], expected), name


@pytest.mark.parametrize("wrapper", ["state_dict", None])
def test_a_pickle_with_wrappers(tmp_path: Path, convert, wrapper: str | None):
    weights = released_weights()
    prefixed = {f"module.{name}": tensor for name, tensor in weights.items()}
    torch.save({"epoch": 3, wrapper: prefixed} if wrapper else prefixed, tmp_path / "weights.bin")
    folder = convert(tmp_path / "weights.bin", kind="cg", auxiliary_sentence=False)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert type(model) is CGBertForSequenceClassification
    assert (model.config.gate_bias, model.config.auxiliary_sentence) == (False, False)
    assert torch.equal(model.classifier.weight, weights["classifier.weight"])


@pytest.mark.parametrize("part", ["weight", "bias"])
@pytest.mark.parametrize("rows", [16, 8])  # of H x H, or of d x H, whose output every head gets
def test_hidden_projections(rows: int, part: str):
    weights = released_weights(projection=(rows, 16))
    config = script.build_config("qacg", FIELDS, weights)
    assert config.context_projection == "hidden"
    theirs = weights[f"{ATTENTION}context_for_q.{part}"]
    ours = script.convert_state_dict(weights, config)[f"{ATTENTION}context_query.{part}"]
    assert torch.equal(ours, torch.cat([theirs] * (16 // rows)))


def block_diagonal() -> dict[str, torch.Tensor]:
    """H x H projections whose heads share one d x d block."""
    weights = released_weights(projection=(16, 16))
    for name, tensor in weights.items():
        if ".context_for_" in name:
            block = tensor[:8] if tensor.dim() == 1 else tensor[:8, :8]
            weights[name] = block.repeat(2) if tensor.dim() == 1 else torch.block_diag(block, block)
    return weights


@pytest.mark.parametrize("part", ["weight", "bias"])
def test_compaction_of_projections_that_the_heads_share(part: str):
    weights = block_diagonal()
    config = script.build_config("qacg", FIELDS, weights, context_projection="head")
    ours = script.convert_state_dict(weights, config)[f"{ATTENTION}context_key.{part}"]
    theirs = weights[f"{ATTENTION}context_for_k.{part}"]
    assert torch.equal(ours, theirs[:8] if part == "bias" else theirs[8:, 8:])


@pytest.mark.parametrize(("part", "index"), [("weight", (0, 15)), ("weight", (9, 9)), ("bias", (8,))])
def test_compaction_of_projections_that_differ(part: str, index: tuple):
    weights = block_diagonal()
    weights[f"{ATTENTION}context_for_k.{part}"][index] += 1e-3
    config = script.build_config("qacg", FIELDS, weights, context_projection="head")
    with pytest.raises(ValueError, match=f"context_projection=head, but the heads of {ATTENTION}context_for_k.{part}"):
        script.convert_state_dict(weights, config)


@pytest.mark.parametrize(
    ("missing", "fields", "options", "told"),
    [
        (None, {"vocab_size": 31}, {}, "size mismatch for bert.embeddings.word_embeddings.weight"),
        (None, {"num_hidden_layers": 1}, {}, "Unexpected key.*encoder.layer.1.attention"),
        (None, {"num_hidden_layers": 3}, {}, "Missing key.*encoder.layer.2.attention"),
        (None, {}, {"labels": ["yes", "no"]}, "size mismatch for classifier.weight"),
        (None, {}, {"labels": ["a", "a", "b"]}, r"labels \['a', 'a', 'b'\]: give each a name of its own"),
        (None, {}, {"tokenizer": "no/such"}, "tokenizer=no/such is no folder with"),
        (f"{ATTENTION}lambda_k_context_layer.bias", {}, {}, "Missing key.*key_gate.from_hidden.bias"),
        (f"{ATTENTION}lambda_k_key_layer.bias", {}, {}, "Missing key.*key_gate.from_hidden.bias"),
        ("bert.context_embeddings.weight", {}, {}, r"the weights lack \['bert.context_embeddings.weight'\]: give"),
    ],
)
def test_what_does_not_fit(convert, missing: str | None, fields: dict, options: dict, told: str):
    weights = released_weights(gate_bias=True)
    weights.pop(missing, None)
    with pytest.raises((ValueError, FileNotFoundError), match=f"(?s){told}"):
        convert(weights, FIELDS | fields, **options)


def test_a_pickle_that_would_run_code(convert, tmp_path: Path, harmful):
    torch.save({"classifier.weight": harmful}, tmp_path / "weights.bin")
    with pytest.raises(ValueError, match=r"weights=.*weights.bin .*cannot be loaded .UnpicklingError"):
        convert(tmp_path / "weights.bin")
    assert not harmful.touched.exists()
