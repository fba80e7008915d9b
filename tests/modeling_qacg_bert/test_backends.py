"""The backends agree over data types and padding, and padding changes nothing."""

import pytest
import torch

TOLERANCE = {  # of logits around 1; bfloat16 has 8 bits, which two layers of rounding use up
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.bfloat16: {"rtol": 5e-2, "atol": 1e-1},
}
DTYPES = pytest.mark.parametrize("dtype", list(TOLERANCE), ids=["float32", "bfloat16"])
PADDINGS = pytest.mark.parametrize("padding", [None, "left", "right"], ids=["no_padding", "left", "right"])


@DTYPES
@PADDINGS
def test_sdpa_equals_eager(kind, make_model, make_batch, dtype, padding):
    batch = make_batch(padding=padding)
    with torch.no_grad():
        eager, sdpa = (make_model(kind, backend).to(dtype)(**batch).logits for backend in ("eager", "sdpa"))
    torch.testing.assert_close(sdpa, eager, **TOLERANCE[dtype])


@DTYPES
@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_low_precision_is_near_float32(kind, make_model, make_batch, backend, dtype):
    batch = make_batch(padding="right")
    with torch.no_grad():
        expected = make_model(kind, backend)(**batch).logits
        actual = make_model(kind, backend).to(dtype)(**batch).logits
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.float(), expected, **TOLERANCE[dtype])


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_a_mask_of_ones_is_no_mask(kind, make_model, make_batch, backend):
    model, batch = make_model(kind, backend), make_batch()
    with torch.no_grad():
        logits = model(**batch).logits
        masked = model(**batch, attention_mask=torch.ones_like(batch["input_ids"])).logits
    torch.testing.assert_close(masked, logits, **TOLERANCE[torch.float32])


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("padding", ["left", "right"])
def test_padding_changes_nothing(kind, make_model, make_batch, backend, padding):
    model, batch = make_model(kind, backend), make_batch(padding=padding)
    # Without its own positions a left-padded text would stand at later positions than alone.
    position_ids = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        together = model(**batch, position_ids=position_ids, output_hidden_states=True)
        for row, is_token in enumerate(batch["attention_mask"].bool()):
            alone = model(
                input_ids=batch["input_ids"][row, is_token][None],
                token_type_ids=batch["token_type_ids"][row, is_token][None],
                context_ids=batch["context_ids"][row][None],
                output_hidden_states=True,
            )
            torch.testing.assert_close(
                together.hidden_states[-1][row, is_token], alone.hidden_states[-1][0], **TOLERANCE[torch.float32]
            )
            if padding == "right":  # the pooler reads position 0, which is padding otherwise
                torch.testing.assert_close(together.logits[row], alone.logits[0], **TOLERANCE[torch.float32])


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_what_stands_at_padded_positions_is_never_read(kind, make_model, make_batch, backend):
    model, batch = make_model(kind, backend), make_batch(padding="right")
    other = {**batch, "input_ids": batch["input_ids"].where(batch["attention_mask"].bool(), 7)}
    assert not torch.equal(other["input_ids"], batch["input_ids"])
    with torch.no_grad():
        torch.testing.assert_close(model(**other).logits, model(**batch).logits, rtol=0, atol=0)
