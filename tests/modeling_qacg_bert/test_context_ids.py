"""Inputs that do not fit are refused in words, and what `output_attentions` and `return_dict` give."""

import re
import subprocess
import sys

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoTokenizer, pipeline

from modeling_qacg_bert.contexts_qacg_bert import ContextEmbedding


@pytest.mark.parametrize(
    ("context_ids", "message"),
    [
        (None, r"context_ids is missing: .*; or pass a tensor of integers from 0 to 7, one for each of the 3 texts"),
        (torch.tensor(1), r"context_ids has shape \(\): pass integers from 0 to 7.* shape \(3,\)"),
        (torch.tensor([0, 1]), r"context_ids has shape \(2,\): pass .* shape \(3,\)"),
        (torch.tensor([[0, 1, 2]]), r"context_ids has shape \(1, 3\): pass .* shape \(3,\), or K .* shape \(3, K\)"),
        (torch.zeros(3, 0, dtype=torch.long), r"context_ids has shape \(3, 0\): pass .* shape \(3, K\)"),
        (torch.zeros(3, 1, 1, dtype=torch.long), r"context_ids has shape \(3, 1, 1\): pass"),
        (torch.tensor([0.0, 1.0, 2.0]), r"context_ids has dtype torch.float32: pass .* dtype torch.int64"),
        (torch.tensor([True, False, True]), r"context_ids has dtype torch.bool: pass"),
        (torch.tensor([0, -1, 7]), r"context_ids holds \[-1\]: pass integers from 0 to 7"),
        (torch.tensor([8, 0, 100]), r"context_ids holds \[8, 100\]: pass integers from 0 to 7"),
    ],
    ids=["missing", "scalar", "too_few", "row", "no_contexts", "3d", "float", "bool", "negative", "too_large"],
)
def test_context_ids_that_do_not_fit(kind, make_model, make_batch, context_ids, message):
    with pytest.raises(ValueError, match=message):
        make_model(kind)(**{**make_batch(), "context_ids": context_ids})


def test_the_pipeline_that_the_hub_suggests_names_the_right_one(kind, make_model, tiny_bert):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    pipe = pipeline("text-classification", model=make_model(kind, vocab_size=len(tokenizer)), tokenizer=tokenizer)
    remedy = 'context_ids is missing: for texts use pipeline("aspect-sentiment", model=..., trust_remote_code=True)'
    with pytest.raises(ValueError, match=re.escape(remedy)):
        pipe("LOCATION1 is dear")


def test_context_ids_of_32_bits(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    narrow = {**batch, "context_ids": batch["context_ids"].int()}
    torch.testing.assert_close(model(**narrow).logits, model(**batch).logits, rtol=0, atol=0)


def test_the_context_decides(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    other = {**batch, "context_ids": (batch["context_ids"] + 1) % 8}
    assert ((model(**other).logits - model(**batch).logits).abs().amax(dim=1) > 1e-3).all()


class OnCuda(torch.Tensor):
    """Numbers that say that they are on a CUDA device."""

    is_cuda = True


class NothingIsRead(TorchDispatchMode):
    """Fails where a number of a tensor is read, for which a device would have to be waited for."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        assert function is not torch.ops.aten._local_scalar_dense.default
        return function(*arguments, **(options or {}))


def test_on_a_gpu_ids_are_checked_without_waiting_for_it():
    embedding = ContextEmbedding(8, 4)
    with NothingIsRead():
        embedded = embedding(torch.tensor([0, 7]).as_subclass(OnCuda), 2)
    torch.testing.assert_close(embedded.as_subclass(torch.Tensor), embedding.weight[[0, 7]])
    for bad in ([3, 8], [3, -1]):
        with pytest.raises(RuntimeError, match="context_ids out of range: pass 0 to 7"):
            embedding(torch.tensor(bad).as_subclass(OnCuda), 2)


LAST_BATCH = """
import torch
from modeling_qacg_bert.contexts_qacg_bert import ContextEmbedding
print(ContextEmbedding(8, 4).cuda()(torch.tensor([3, 8]).cuda(), 2).cpu())
"""


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_an_id_out_of_range_in_the_last_batch_is_an_error(repo_root):
    run = subprocess.run([sys.executable, "-c", LAST_BATCH], cwd=repo_root, capture_output=True, text=True)
    assert run.returncode
    assert not run.stdout
    assert "context_ids out of range: pass 0 to 7" in run.stderr
    assert "device-side assert" in run.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attention_mask": torch.ones(3, 6)},
            r"attention_mask has shape \(3, 6\): pass one number for each token, shape \(3, 7\)",
        ),
        ({"attention_mask": torch.ones(3, 1, 1, 7)}, r"attention_mask has shape \(3, 1, 1, 7\)"),
        ({"inputs_embeds": torch.zeros(3, 7, 32)}, r"exactly one of input_ids and inputs_embeds"),
        ({"input_ids": None}, r"exactly one of input_ids and inputs_embeds"),
        (
            {"input_ids": torch.ones(3, 41, dtype=torch.long)},
            r"41 tokens, but max_position_embeddings=40: truncate the text",
        ),
    ],
    ids=["mask_too_short", "mask_4d", "ids_and_embeddings", "neither", "too_many_tokens"],
)
def test_inputs_that_do_not_fit(kind, make_model, make_batch, changes, message):
    with pytest.raises(ValueError, match=message):
        make_model(kind)(**{**make_batch(), **changes})


def test_embeddings_stand_for_ids(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch()
    expected = model(**batch).logits
    embeddings = model.get_input_embeddings()(batch.pop("input_ids"))
    torch.testing.assert_close(model(**batch, inputs_embeds=embeddings).logits, expected, rtol=0, atol=0)


def test_sdpa_shows_the_weights_of_eager(kind, make_model, make_batch):
    batch = make_batch(padding="right")
    eager, sdpa = (make_model(kind, backend)(**batch, output_attentions=True) for backend in ("eager", "sdpa"))
    plain = make_model(kind, "sdpa")(**batch)
    torch.testing.assert_close(sdpa.logits, plain.logits)
    assert plain.get("attentions") is None
    names = [name for name in eager if name.endswith(("attentions", "gates"))]
    assert len(names) == {"qacg": 4, "cg": 1}[kind]
    for name in names:
        assert len(sdpa[name]) == 2
        for a, b in zip(sdpa[name], eager[name], strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def test_what_the_weights_are_made_of(make_model, make_batch):
    batch = make_batch(padding="right")
    outputs = make_model("qacg")(**batch, output_attentions=True)
    padded = (batch["attention_mask"] == 0)[:, None, None, :]
    for attention, self_attention, quasi, gate in zip(
        outputs.attentions, outputs.self_attentions, outputs.quasi_attentions, outputs.quasi_gates, strict=True
    ):
        assert attention.shape == self_attention.shape == quasi.shape == (3, 4, 7, 7)
        assert gate.shape == (3, 4, 7, 1)
        torch.testing.assert_close(attention, self_attention + gate * quasi)  # eq. 4
        torch.testing.assert_close(self_attention.sum(-1), torch.ones(3, 4, 7))
        assert attention.masked_select(padded).eq(0).all()
        assert quasi.masked_select(padded).eq(0).all()
        assert quasi.masked_select(~padded).gt(0).all()
        assert gate.abs().max() <= 1


def test_the_configuration_may_ask_for_weights_and_hidden_states(kind, make_model, make_batch):
    outputs = make_model(kind, output_attentions=True, output_hidden_states=True)(**make_batch())
    assert len(outputs.attentions) == 2
    assert len(outputs.hidden_states) == 3


def test_an_argument_overrides_the_configuration(kind, make_model, make_batch):
    model = make_model(kind, output_attentions=True)
    assert model(**make_batch(), output_attentions=False).get("attentions") is None


@pytest.mark.parametrize("how", ["argument", "configuration"])
def test_tuples(kind, make_model, make_batch, how):
    model = make_model(kind, return_dict=how != "configuration")
    arguments = {"return_dict": False} if how == "argument" else {}
    batch = make_batch()
    expected = make_model(kind)(**batch)
    loss, logits = model(**batch, **arguments)
    torch.testing.assert_close(loss, expected.loss)
    torch.testing.assert_close(logits, expected.logits)
    del batch["labels"]
    (logits,) = model(**batch, **arguments)
    torch.testing.assert_close(logits, expected.logits)


def test_loss_is_the_mean_cross_entropy(kind, make_model, make_batch):
    batch = make_batch()
    outputs = make_model(kind)(**batch)
    by_hand = -sum(row.log_softmax(-1)[label] for row, label in zip(outputs.logits, batch["labels"], strict=True)) / 3
    torch.testing.assert_close(outputs.loss, by_hand)
