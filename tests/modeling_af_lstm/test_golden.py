"""Against numbers computed by loops over the definitions, and by ABSA-PyTorch, all in float64."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from modeling_af_lstm import AFLstmConfig, AFLstmForSequenceClassification
from modeling_af_lstm.associations_af_lstm import ASSOCIATIONS

EXACT = {"rtol": 0, "atol": 1e-12}
GRADIENTS = {"rtol": 0, "atol": 1e-8}  # of the loops: central differences
BATCHED = [f"af_lstm_{name}_{kind}" for name in ("conv", "corr") for kind in ("batch", "even", "unit", "unit_ball")]
LAST = [f"af_lstm_{association}_last_state" for association in ("mul", "corr", "conv")]
MODELS = ["af_lstm_mul", "af_lstm_corr", "af_lstm_conv", *LAST, *BATCHED, "af_lstm_conv_projected"]
MODELS += ["nbow", "lstm", "td_lstm", "at_lstm", "atae_lstm", "atae_lstm_projected"]
NAMES = {  # theirs, ours
    "embed.weight": "embeddings.weight",
    **{f"{theirs}.RNN": ours for theirs, ours in (("lstm", "lstm"), ("lstm_l", "lstm"), ("lstm_r", "right_lstm"))},
    "dense": "classifier",
}


@pytest.fixture
def read(shared_dir: Path) -> Callable[[str], tuple[dict[str, dict[str, torch.Tensor]], dict[str, str]]]:
    """The groups of a golden file, each a dict of tensors by name, and its metadata."""

    def load(name: str):
        groups = {"weights": {}, "inputs": {}, "outputs": {}, "gradients": {}}
        with safe_open(shared_dir / "golden" / "af_lstm" / f"{name}.safetensors", "pt") as tensors:
            for key in tensors.keys():  # noqa: SIM118 - safe_open is no mapping
                group, _, rest = key.partition(".")
                groups.setdefault(group, {})[rest] = tensors.get_tensor(key)
            return groups, tensors.metadata()

    return load


def model_of(config: AFLstmConfig, weights: dict[str, torch.Tensor]) -> AFLstmForSequenceClassification:
    model = AFLstmForSequenceClassification(config).double().eval()
    named = {
        name if name.startswith("classifier.") else f"encoder.{name}": value.requires_grad_(False)
        for name, value in weights.items()
    }
    counters = {name: value for name, value in model.state_dict().items() if name.endswith("num_batches_tracked")}
    model.load_state_dict({**named, **counters})
    return model


def config_of(metadata: dict[str, str], **fields) -> AFLstmConfig:
    sizes = {name: int(metadata[name]) for name in ("vocab_size", "num_labels", "embedding_size")}
    return AFLstmConfig(**sizes, trainable_embeddings=True, **fields)


def rows_of(inputs: dict[str, torch.Tensor], side: str, by: str) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The labelled aspects of all sentences as pairs, and where each word of a sentence stands in its pair.

    Args:
        side: of the padding.
        by: "aspect" for the words of the aspect behind the text, "target" for the target's place in the text.
    """
    asked = (inputs["labels"] >= 0).nonzero().tolist()
    rows = []
    for sentence, number in asked:
        text = inputs["input_ids"][sentence][inputs["attention_mask"][sentence] > 0].tolist()
        aspect = inputs["aspect_ids"][sentence, number][inputs["aspect_mask"][sentence, number] > 0].tolist()
        start, end = inputs["target_spans"][sentence, number].tolist()
        types = [2 if by == "target" and start <= at < end else 0 for at in range(len(text))]
        rows.append((text + aspect, types + [1] * len(aspect), len(text)))
    longest = max(len(ids) for ids, *_ in rows)
    batch = {name: torch.zeros(len(rows), longest, dtype=torch.long) for name in ("input_ids", "token_type_ids")}
    batch["attention_mask"] = torch.zeros_like(batch["input_ids"])
    words = torch.zeros(len(rows), inputs["input_ids"].shape[1], dtype=torch.long)
    for row, (ids, types, num_words) in enumerate(rows):
        first = 0 if side == "right" else longest - len(ids)
        place = slice(first, first + len(ids))
        batch["input_ids"][row, place] = torch.tensor(ids)
        batch["token_type_ids"][row, place] = torch.tensor(types)
        batch["attention_mask"][row, place] = 1
        words[row, :num_words] = torch.arange(first, first + num_words)
    return {**batch, "labels": inputs["labels"][inputs["labels"] >= 0]}, words


@pytest.mark.parametrize("backend", ASSOCIATIONS)
@pytest.mark.parametrize("name", ["conv", "corr"])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 17, 50])
def test_associations(read, backend, name, d):
    groups, _ = read("operators")
    tensors = groups[f"d{d}"]
    h, s = tensors["h"].requires_grad_(), tensors["s"].requires_grad_()
    found = ASSOCIATIONS[backend][name](h, s)
    torch.testing.assert_close(found, tensors[name], **EXACT)
    found.backward(tensors["grad_output"])
    torch.testing.assert_close(h.grad, tensors[f"{name}_grad_h"], **EXACT)
    torch.testing.assert_close(s.grad, tensors[f"{name}_grad_s"], **EXACT)
    in_float32 = ASSOCIATIONS[backend][name](h.float(), s.float())
    torch.testing.assert_close(in_float32.double(), tensors[name], rtol=0, atol=1e-5 * d)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize(
    ("name", "backend"),
    [(name, "fft") for name in MODELS] + [(name, "direct") for name in MODELS if "_conv" in name or "_corr" in name],
)
def test_models(read, name, backend, side):
    groups, metadata = read(name)
    inputs, outputs = groups["inputs"], groups["outputs"]
    fields = {"architecture": metadata["kind"]}
    if metadata["kind"] != "nbow":
        fields["hidden_size"] = int(metadata["hidden_size"])
    if metadata["kind"] == "af_lstm":
        fields |= {"association": metadata["association"], "normalization": metadata["normalization"]}
        fields["use_last_state"] = metadata["use_last_state"] == "true"
        fields["association_backend"] = backend
    model = model_of(config_of(metadata, **fields), groups["weights"])
    batch, words = rows_of(inputs, side, "target" if metadata["kind"] == "td_lstm" else "aspect")
    found = model(**batch, output_attentions=True, output_hidden_states=True)

    is_asked = inputs["labels"] >= 0
    is_word = inputs["attention_mask"].bool()[is_asked.nonzero()[:, 0]]  # (rows, n)
    torch.testing.assert_close(found.logits, outputs["logits"][is_asked], **EXACT)
    torch.testing.assert_close(found.loss, outputs["loss"].squeeze(), **EXACT)
    assert ("memory" in outputs) == (found.memory is not None)
    assert ("attentions" in outputs) == (found.attentions is not None)
    compared = {"attentions": found.attentions, "memory": found.memory, "states": found.hidden_states}
    for key in compared.keys() & outputs.keys():
        expected = outputs[key]
        if key == "states" and metadata["kind"] != "atae_lstm":
            expected = expected[:, None].expand(-1, is_asked.shape[1], -1, -1)  # the same for all aspects
        value, expected = compared[key], expected[is_asked]
        for row, places in enumerate(words):
            of_text = places[is_word[row]]
            torch.testing.assert_close(value[row, of_text], expected[row, is_word[row]], **EXACT)
            others = torch.ones(value.shape[1], dtype=torch.bool).index_fill(0, of_text, False)
            assert value[row, others].eq(0).all()

    found.loss.backward()
    parameters = {key.removeprefix("encoder."): value for key, value in model.named_parameters()}
    assert parameters.keys() == groups["gradients"].keys()
    for key, parameter in parameters.items():
        torch.testing.assert_close(parameter.grad, groups["gradients"][key], **GRADIENTS, msg=key)


@pytest.mark.parametrize("name", ["lstm", "td_lstm"])
def test_models_of_absa_pytorch(read, name):
    groups, metadata = read(f"absa_pytorch_{name}")

    def ours(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        renamed = {}
        for key, value in tensors.items():
            prefix = next(prefix for prefix in sorted(NAMES, key=len, reverse=True) if key.startswith(prefix))
            renamed[NAMES[prefix] + key.removeprefix(prefix)] = value
        return renamed

    inputs = groups["inputs"]
    config = config_of(metadata, architecture=name, hidden_size=5, embedding_projection=False)
    model = model_of(config, ours(groups["weights"]))
    batch = {"input_ids": inputs["input_ids"], "attention_mask": inputs["input_ids"].ne(0).long()}
    if name == "td_lstm":
        places = torch.arange(batch["input_ids"].shape[1])
        start, end = inputs["target_spans"].T[..., None]
        batch["token_type_ids"] = torch.where((start <= places) & (places < end), 2, 0)
    found = model(**batch, labels=inputs["labels"])
    torch.testing.assert_close(found.logits, groups["outputs"]["logits"], **EXACT)
    torch.testing.assert_close(found.loss, groups["outputs"]["loss"].squeeze(), **EXACT)
    found.loss.backward()
    gradients = ours(groups["gradients"])
    for key, parameter in model.named_parameters():
        expected = gradients[key.removeprefix("encoder.")]
        if key == "encoder.embeddings.weight":
            expected = expected.index_fill(0, torch.tensor([0]), 0)  # theirs has no padding
        torch.testing.assert_close(parameter.grad, expected, **EXACT, msg=key)
