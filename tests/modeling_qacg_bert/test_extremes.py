"""Numbers stay finite: texts of 512 tokens or of padding alone, gates beyond the range of float16, long trainings."""

import pytest
import torch

from modeling_qacg_bert.layers_qacg_bert import ContextGate

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
BACKENDS = pytest.mark.parametrize("backend", ["eager", "sdpa"])
TRAINING = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
LONG = {"max_position_embeddings": 512}


def padded_batch(num_tokens: int, row: int = 0) -> dict[str, torch.Tensor]:
    """A whole text, one of three tokens before padding, one behind it, and one that is nothing but padding."""
    generator = torch.Generator().manual_seed(row)
    is_token = torch.ones(4, num_tokens, dtype=torch.long)
    is_token[1, 3:] = is_token[2, :-3] = is_token[3] = 0
    return {
        "input_ids": torch.randint(1, 60, (4, num_tokens), generator=generator) * is_token,
        "attention_mask": is_token,
        "context_ids": torch.tensor([0, 3, 5, 7]),
        "labels": torch.tensor([0, 1, 2, 0]),
    }


def assert_finite(model, outputs):
    assert outputs.logits.isfinite().all()
    assert outputs.loss.isfinite()
    outputs.loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert not [name for name, gradient in gradients.items() if gradient is None or not gradient.isfinite().all()]


@DTYPES
@BACKENDS
@TRAINING
def test_512_tokens_and_nothing_but_padding(kind, make_model, backend, dtype, training):
    model = make_model(kind, backend, **LONG).to(dtype).train(training)
    assert_finite(model, model(**padded_batch(512)))


@BACKENDS
def test_a_text_of_padding_changes_no_other(kind, make_model, backend):
    model, batch = make_model(kind, backend), padded_batch(9)
    with torch.no_grad():
        among = model(**batch).logits[:3]
        without = model(**{name: tensor[:3] for name, tensor in batch.items()}).logits
    torch.testing.assert_close(among, without, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1e4, 6e4])
@BACKENDS
@TRAINING
def test_gates_beyond_the_range_of_float16(kind, make_model, backend, training, size):
    """Both halves of a gate's logit overflow, to infinities of either sign."""
    model = make_model(kind, backend, gate_bias=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "_gate." in name:
                parameter.copy_(parameter.sign() * size)
    model, batch = model.half().train(training), padded_batch(21)
    assert_finite(model, model(**batch))


def test_a_gate_that_overflows_is_open_or_shut_as_in_float32():
    gate = ContextGate(head_size=8, bias=False)
    torch.nn.init.constant_(gate.from_hidden.weight, 6e4)
    torch.nn.init.constant_(gate.from_context.weight, 6e4)
    signs = torch.tensor([1.0, 1.0, -1.0, -1.0])[:, None].expand(4, 8)
    of_context = torch.tensor([1.0, 0.0, 0.0, -1.0])[:, None].expand(4, 8)
    expected = torch.sigmoid(gate(signs, of_context))
    assert expected.flatten().tolist() == [1, 1, 0, 0]
    torch.testing.assert_close(torch.sigmoid(gate.half()(signs.half(), of_context.half())), expected.half())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_a_long_training_in_half_precision(kind, make_model, dtype):
    """500 steps of texts of up to 512 tokens, each with one that is nothing but padding."""
    torch.manual_seed(0)
    model = make_model(kind, "sdpa", **LONG).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)
    losses, skipped = [], 0
    for step in range(500):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype):
            loss = model(**padded_batch((16, 48, 101, 233, 512)[step % 5], row=step % 5)).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        finite = all(parameter.grad.isfinite().all() for parameter in model.parameters())
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        assert finite is (scaler.get_scale() >= scale), (
            f"step {step}: the scaler skips what is not finite, nothing else"
        )
        skipped += not finite
        losses.append(loss.item())
    assert torch.tensor(losses).isfinite().all()
    assert all(parameter.isfinite().all() for parameter in model.parameters())
    assert skipped <= (5 if scaler.is_enabled() else 0)  # until the scale of 65,536 at the start has come down
    assert sum(losses[-5:]) < sum(losses[:5]) / 2
