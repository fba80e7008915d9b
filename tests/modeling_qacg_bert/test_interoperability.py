"""The models under torch.compile, torch.export, PEFT, gradient checkpointing, device maps and half precision."""

import copy
import pickle

import pytest
import torch
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from torch._dynamo.testing import CompileCounter

from modeling_qacg_bert import CGBertForSequenceClassification, QACGBertForSequenceClassification

MODELS = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
# What BERT does not have: trained whole beside adapters, since it starts from random weights.
NEW_MODULES = ["context_embeddings", "context_matrix", "context_query", "context_key", "query_gate", "key_gate"]


def unlabelled(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in batch.items() if name != "labels"}


def gradients(model, batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    return loss.detach(), {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


@pytest.fixture(autouse=True)
def _nothing_compiled():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_compiled_in_one_graph_and_once_for_all_sizes(kind, make_model, make_batch, backend):
    model = make_model(kind, backend)
    counter = CompileCounter()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=counter)
    with torch.no_grad():
        for batch_size, length in [(3, 7), (2, 5), (4, 12), (5, 40), (7, 23), (3, 38)]:
            batch = unlabelled(make_batch(batch_size, length, padding="right"))
            torch.testing.assert_close(compiled(**batch).logits, model(**batch).logits, rtol=0, atol=1e-5)
    assert counter.frame_count == 1


@pytest.mark.slow
def test_compiled_training_step_has_the_same_gradients(kind, make_model, make_batch):
    model = make_model(kind, "sdpa", **WITHOUT_DROPOUT).train()
    batch = make_batch(padding="left")
    expected_loss, expected = gradients(model, batch)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    loss, given = gradients(compiled, batch)
    torch.testing.assert_close(loss, expected_loss)
    for name, gradient in expected.items():
        torch.testing.assert_close(given[f"_orig_mod.{name}"], gradient, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
def test_exported_for_any_size(kind, make_model, make_batch, backend):
    model = make_model(kind, backend)
    traced = unlabelled(make_batch(padding="right"))
    sizes = torch.export.Dim("batch"), torch.export.Dim("length", max=40)
    dynamic = {name: dict(enumerate(sizes[: tensor.dim()])) for name, tensor in traced.items()}
    exported = torch.export.export(model, (), traced, dynamic_shapes=dynamic).module()
    for batch_size, length, padding in [(1, 4, "right"), (6, 33, "left"), (4, 40, "right")]:
        batch = unlabelled(make_batch(batch_size, length, padding))
        torch.testing.assert_close(exported(**batch).logits, model(**batch).logits, rtol=0, atol=1e-6)


def test_lora_adapters_are_trained_saved_and_merged(kind, make_model, make_batch, tmp_path):
    model = make_model(kind, "sdpa", **WITHOUT_DROPOUT)
    batch = make_batch(6, 9, padding="right")
    before = copy.deepcopy(model.state_dict())
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=4,
        target_modules=["query", "value"],
        modules_to_save=[*NEW_MODULES, "classifier"],
    )
    adapted = get_peft_model(model, config)
    trained = {name for name, parameter in adapted.named_parameters() if parameter.requires_grad}
    new = [name for name in before if any(f".{module}." in f".{name}" for module in [*NEW_MODULES, "classifier"])]
    for name in new:  # every weight that BERT does not have stays trainable
        module = name.rpartition(".")[0]
        assert any(module in one.replace(".modules_to_save.default", "") for one in trained), name
    assert all(".lora_" in name or ".modules_to_save." in name for name in trained)

    optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=1e-2)
    adapted.train()
    losses = []
    for _ in range(15):
        loss = adapted(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]

    adapted.eval()
    with torch.no_grad():
        expected = adapted(**unlabelled(batch)).logits
    adapted.save_pretrained(tmp_path)
    reloaded = PeftModel.from_pretrained(make_model(kind, "sdpa", **WITHOUT_DROPOUT), tmp_path).eval()
    merged = adapted.merge_and_unload()
    assert type(merged) is MODELS[kind]
    after = merged.state_dict()
    assert set(after) == set(before)
    for name in before:
        adapts = any(f"self.{module}." in name and name.endswith("weight") for module in ("query", "value"))
        changed = not torch.equal(before[name], after[name])
        assert changed is (adapts or name in new) or name.endswith("bias"), name
    with torch.no_grad():
        torch.testing.assert_close(reloaded(**unlabelled(batch)).logits, expected)
        torch.testing.assert_close(merged(**unlabelled(batch)).logits, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("device_map", ["cpu", "auto", {"": "cpu"}], ids=str)
def test_device_maps(kind, make_model, make_batch, device_map, tmp_path):
    model = make_model(kind, "sdpa")
    model.save_pretrained(tmp_path)
    loaded = MODELS[kind].from_pretrained(tmp_path, device_map=device_map)
    batch = {name: tensor.to(loaded.device) for name, tensor in unlabelled(make_batch(padding="right")).items()}
    with torch.no_grad():
        expected = model(**unlabelled(make_batch(padding="right"))).logits
        torch.testing.assert_close(loaded(**batch).logits.cpu(), expected, rtol=0, atol=1e-5)


# Of logits of about 1, whose weights and steps are rounded to 8 and 11 bits.
TOLERANCES = {torch.bfloat16: 0.15, torch.float16: 0.02}


@pytest.mark.parametrize("backend", ["eager", "sdpa"])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_half_precision(kind, make_model, make_batch, dtype, backend, tmp_path):
    model = make_model(kind, backend)
    model.save_pretrained(tmp_path)
    half = MODELS[kind].from_pretrained(tmp_path, dtype=dtype, attn_implementation=backend)
    assert {parameter.dtype for parameter in half.parameters()} == {dtype}
    for padding in (None, "left", "right"):
        batch = unlabelled(make_batch(padding=padding))
        with torch.no_grad():
            logits = half(**batch).logits
            expected = model(**batch).logits
        assert logits.dtype == dtype
        torch.testing.assert_close(logits.float(), expected, rtol=0, atol=TOLERANCES[dtype])


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle])
def test_copies(kind, make_model, make_batch, copied):
    model = make_model(kind)
    batch = unlabelled(make_batch())
    with torch.no_grad():
        assert torch.equal(copied(model)(**batch).logits, model(**batch).logits)
