"""Against numbers of the authors' code, of pytorch-crf and of an enumeration, all in float64."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from modeling_global_context import GlobalContextConfig
from modeling_global_context.crf_global_context import (
    ConditionalRandomField,
    log_marginals,
    log_partition,
    log_score,
    viterbi,
)
from modeling_global_context.layers_global_context import BiLSTM, GlobalContext, SelfAttention, global_state_of

EXACT = {"rtol": 0, "atol": 1e-10}


@pytest.fixture
def read(shared_dir: Path):
    """The groups of a golden file, each a dict of tensors by name."""

    def load(name: str) -> tuple[dict[str, torch.Tensor], ...]:
        groups = {"weights": {}, "inputs": {}, "outputs": {}, "gradients": {}}
        with safe_open(shared_dir / "golden" / "global_context" / f"{name}.safetensors", "pt") as tensors:
            for key in tensors.keys():  # noqa: SIM118 - safe_open is no mapping
                group, _, rest = key.partition(".")
                groups[group][rest] = tensors.get_tensor(key)
        return tuple(groups.values())

    return load


def config(**changes) -> GlobalContextConfig:
    return GlobalContextConfig(vocab_size=2, **{"embedding_size": 12, "lstm_size": 12, **changes})


def with_weights(module: torch.nn.Module, weights: dict[str, torch.Tensor], prefix: str) -> torch.nn.Module:
    own = {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
    module.double().eval().load_state_dict(own)
    return module


def real(lengths: torch.Tensor, num_tokens: int = 7) -> torch.Tensor:
    return torch.arange(num_tokens) < lengths[:, None]


def assert_gradients(module: torch.nn.Module, gradients: dict[str, torch.Tensor], prefix: str):
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[f"{prefix}{name}"], **EXACT, msg=name)


def test_context_module(read):
    weights, inputs, outputs, gradients = read("context_module")
    context = with_weights(GlobalContext(config()), weights, "context.")
    states = inputs["H"].requires_grad_()
    halves = [inputs[name].requires_grad_() for name in ("backward_first", "forward_last")]
    joined, (gate_hidden, gate_global) = context(states, torch.cat(halves, dim=-1))
    torch.testing.assert_close(joined, outputs["O"], **EXACT)
    torch.testing.assert_close(gate_hidden, outputs["gate_hidden"], **EXACT)
    torch.testing.assert_close(gate_global, outputs["gate_global"], **EXACT)
    same, _ = context(states, torch.cat(halves[::-1], dim=-1))
    torch.testing.assert_close(same, outputs["O.same_direction"], **EXACT)
    without_gates = GlobalContext(config(context_gates=False)).eval()
    for name, order in (("O", halves), ("O.same_direction", halves[::-1])):
        added, gates = without_gates(states, torch.cat(order, dim=-1))
        torch.testing.assert_close(added, outputs[f"{name}.without_weights"], **EXACT)
        assert gates is None

    (joined * inputs["loss_coefficients"]).sum().backward()
    torch.testing.assert_close(states.grad, gradients["H"], **EXACT)
    torch.testing.assert_close(halves[0].grad, gradients["backward_first"], **EXACT)
    torch.testing.assert_close(halves[1].grad, gradients["forward_last"], **EXACT)
    assert_gradients(context, gradients, "context.")


def test_tagger_head(read):
    weights, inputs, outputs, gradients = read("tagger_head")
    settings = config(embedding_size=10)
    lstm = with_weights(BiLSTM(settings), weights, "lstm.")
    context = with_weights(GlobalContext(settings), weights, "context.")
    classifier = with_weights(torch.nn.Linear(12, 5), weights, "classifier.")
    mask = real(inputs["lengths"])
    encoded = inputs["z"].requires_grad_()

    states = lstm(encoded, mask)
    global_state = global_state_of(states, mask, settings)
    joined, gates = context(states, global_state)
    logits = classifier(joined)
    found = {"H": states, "O": joined, "gate_hidden": gates[0], "gate_global": gates[1], "logits": logits}
    found["logits.bilstm_only"] = classifier(states)
    same = global_state_of(states, mask, config(embedding_size=10, context_direction="same"))
    found["logits.same_direction"] = classifier(context(states, same)[0])
    for name, value in found.items():
        torch.testing.assert_close(value[mask], outputs[name][mask], **EXACT, msg=lambda m, n=name: f"{n}: {m}")
    torch.testing.assert_close(global_state, outputs["G"], **EXACT)
    assert (global_state - outputs["not_ours.G.head_as_written"]).abs().max() > 0.01
    released = outputs["not_ours.logits.release_unpacked"]
    torch.testing.assert_close(logits[0], released[0], **EXACT)  # no padding in this row
    assert (logits[1] - released[1])[mask[1]].abs().max() > 0.01

    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), inputs["labels"].flatten())
    torch.testing.assert_close(loss, outputs["loss"][0], **EXACT)
    loss.backward()
    torch.testing.assert_close(encoded.grad[mask], gradients["z"][mask], **EXACT)
    for module, prefix in ((lstm, "lstm."), (context, "context."), (classifier, "classifier.")):
        assert_gradients(module, gradients, prefix)


def test_context_on_an_encoder(read):
    weights, inputs, outputs, _ = read("encoder_context")
    settings = config(use_bilstm=False)
    context = with_weights(GlobalContext(settings), weights, "context.")
    mask = real(inputs["lengths"])
    global_state = global_state_of(inputs["Z"], mask, settings)
    torch.testing.assert_close(global_state, outputs["G"], **EXACT)
    joined, _ = context(inputs["Z"], global_state)
    torch.testing.assert_close(joined[mask], outputs["O"][mask], **EXACT)
    assert (joined - outputs["not_ours.O.release"])[mask].abs().max() > 0.01


def test_self_attention(read):
    weights, inputs, outputs, gradients = read("self_attention")
    weights = {name.replace("in_proj_", "in_proj."): value for name, value in weights.items()}
    settings = config(interaction="attention", num_attention_heads=3)
    attention = with_weights(SelfAttention(settings), weights, "attention.")
    mask = real(inputs["lengths"])
    states = inputs["H"].requires_grad_()
    attended = attention(states, mask)
    torch.testing.assert_close(attended[mask], outputs["O"][mask], **EXACT)
    assert (attended - outputs["not_ours.O.padding_attended"])[mask].abs().max() > 0.01
    (attended * inputs["loss_coefficients"])[mask].sum().backward()
    torch.testing.assert_close(states.grad[mask], gradients["H"][mask], **EXACT)
    attention.norm = torch.nn.Identity()
    torch.testing.assert_close(attention(states, mask)[mask], outputs["O.without_norm"][mask], **EXACT)


def test_crf(read):
    weights, inputs, outputs, gradients = read("crf")
    crf = with_weights(ConditionalRandomField(4), weights, "crf.")
    emissions, lengths = inputs["emissions"].requires_grad_(), inputs["lengths"]
    mask = real(lengths, 5)
    chain = crf.chain(emissions)
    partition = log_partition(emissions, lengths, chain)
    torch.testing.assert_close(partition, outputs["log_partition"], **EXACT)
    likelihood = log_score(emissions, inputs["tags"], lengths, chain) - partition
    torch.testing.assert_close(likelihood, outputs["log_likelihood"], **EXACT)
    marginals = log_marginals(emissions, lengths, chain).exp()
    torch.testing.assert_close(marginals[mask], outputs["marginals"][mask], **EXACT)
    best = viterbi(emissions, lengths, chain)
    assert torch.equal(best[mask], outputs["viterbi"][mask])
    assert best[~mask].eq(-100).all()
    torch.testing.assert_close(log_score(emissions, best, lengths, chain), outputs["viterbi_score"], **EXACT)
    (-likelihood.sum()).backward()
    torch.testing.assert_close(emissions.grad[mask], gradients["emissions"][mask], **EXACT)
    assert_gradients(crf, gradients, "crf.")
