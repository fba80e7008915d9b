"""Several contexts of a text in one pass, (B, K) context ids, against the texts K times over; and shared layers."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from transformers import BertConfig, BertForSequenceClassification

from modeling_qacg_bert import CGBertForSequenceClassification, QACGBertForSequenceClassification

MODELS = {"qacg": QACGBertForSequenceClassification, "cg": CGBertForSequenceClassification}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
K = 5
LAYERS = 3
NUM_CONTEXT_LAYERS = pytest.mark.parametrize("num_context_layers", [None, 2, 1], ids=["all", "2", "1"])
BACKENDS = pytest.mark.parametrize("backend", ["eager", "sdpa"])
PADDINGS = pytest.mark.parametrize("padding", [None, "left", "right"], ids=["no_padding", "left", "right"])


@pytest.fixture
def make_batches(make_batch):
    """The same questions twice: each text with its K contexts, and each text K times with one context."""

    def make(batch_size: int = 3, num_tokens: int = 9, padding: str | None = None):
        together = make_batch(batch_size, num_tokens, padding)
        generator = torch.Generator().manual_seed(2)
        together["context_ids"] = torch.randint(8, (batch_size, K), generator=generator)
        together["labels"] = torch.randint(3, (batch_size, K), generator=generator)
        apart = {
            name: tensor.flatten() if name in ("context_ids", "labels") else tensor.repeat_interleave(K, dim=0)
            for name, tensor in together.items()
        }
        return together, apart

    return make


def unlabelled(batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in batch.items() if name != "labels"}


@NUM_CONTEXT_LAYERS
@BACKENDS
@PADDINGS
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_outputs_and_gradients_are_those_of_each_context_alone(
    kind, make_model, make_batches, num_context_layers, backend, padding, training
):
    model = make_model(
        kind, backend, num_hidden_layers=LAYERS, num_context_layers=num_context_layers, **WITHOUT_DROPOUT
    )
    model.double().train(training)
    together, apart = make_batches(padding=padding)
    outputs, gradients = [], []
    for batch in (together, apart):
        model.zero_grad()
        outputs.append(model(**batch))
        outputs[-1].loss.backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
    assert outputs[0].logits.shape == (3, K, 3)
    torch.testing.assert_close(outputs[0].logits.flatten(0, 1), outputs[1].logits)
    torch.testing.assert_close(outputs[0].loss, outputs[1].loss)
    for name, gradient in gradients[1].items():
        torch.testing.assert_close(gradients[0][name], gradient, msg=lambda m, name=name: f"{name}: {m}")


@NUM_CONTEXT_LAYERS
def test_states_and_weights_of_every_context(kind, make_model, make_batches, num_context_layers):
    model = make_model(kind, num_hidden_layers=LAYERS, num_context_layers=num_context_layers).bert
    together, apart = (unlabelled(batch) for batch in make_batches(padding="right"))
    show = {"output_hidden_states": True, "output_attentions": True}
    with torch.no_grad():
        given, expected = model(**together, **show), model(**apart, **show)
    guided = num_context_layers or LAYERS
    shared = LAYERS - guided
    assert given.last_hidden_state.shape == (3, K, 9, 32)
    assert given.pooler_output.shape == (3, K, 32)
    assert len(given.hidden_states) == LAYERS + 1
    assert len(given.attentions) == LAYERS
    for name in ("last_hidden_state", "pooler_output"):
        torch.testing.assert_close(given[name].flatten(0, 1), expected[name])
    of_guided = ("self_attentions", "quasi_attentions", "quasi_gates") if kind == "qacg" else ()
    for name in ("hidden_states", "attentions", *of_guided):
        num_shared = {"hidden_states": shared + 1, "attentions": shared}.get(name, 0)
        assert len(given[name]) == num_shared + guided
        for number, (a, b) in enumerate(zip(given[name], expected[name], strict=True)):
            if number < num_shared:  # once for each text
                assert a.shape[0] == 3
                torch.testing.assert_close(a.repeat_interleave(K, dim=0), b)
            else:
                assert a.shape[:2] == (3, K)
                torch.testing.assert_close(a.flatten(0, 1), b)


@NUM_CONTEXT_LAYERS
def test_what_the_first_guided_layer_reads(kind, make_model, make_batches, num_context_layers):
    model = make_model(kind, num_hidden_layers=LAYERS, num_context_layers=num_context_layers)
    batch, _ = make_batches(padding="right")
    with torch.no_grad():
        given = model(**batch, output_shared_states=True)
        expected = model(**batch, output_hidden_states=True)
    torch.testing.assert_close(given.logits, expected.logits)
    assert torch.equal(given.shared_states, expected.hidden_states[LAYERS - (num_context_layers or LAYERS)])
    assert given.hidden_states is None
    assert expected.shared_states is None


def test_a_single_column_is_one_context(kind, make_model, make_batch):
    model, batch = make_model(kind), make_batch(padding="left")
    column = {**batch, "context_ids": batch["context_ids"][:, None], "labels": batch["labels"][:, None]}
    with torch.no_grad():
        expected, given = model(**batch), model(**column)
    torch.testing.assert_close(given.logits[:, 0], expected.logits)
    torch.testing.assert_close(given.loss, expected.loss)


def test_contexts_without_a_label_do_not_count(kind, make_model, make_batches):
    model = make_model(kind)
    together, apart = make_batches()
    together["labels"][0, 2:] = -100
    has_label = together["labels"].flatten() != -100
    alone = {name: tensor[has_label] for name, tensor in apart.items()}
    with torch.no_grad():
        torch.testing.assert_close(model(**together).loss, model(**alone).loss)


def test_labels_of_another_shape_are_refused(kind, make_model, make_batches):
    together, apart = make_batches()
    with pytest.raises(ValueError, match=r"labels has shape \(15,\): .* context of each text, shape \(3, 5\)"):
        make_model(kind)(**{**together, "labels": apart["labels"]})


def test_the_layers_below_are_berts(kind, make_model, make_batch):
    """With one guided layer, what enters it is what BERT itself computes."""
    model = make_model(kind, num_hidden_layers=LAYERS, num_context_layers=1)
    fields = {
        name: value
        for name, value in model.config.to_dict().items()
        if name in BertConfig.__dataclass_fields__ and name not in ("architectures", "model_type")
    }
    bert = BertForSequenceClassification(BertConfig(**fields)).eval()
    loading = bert.load_state_dict(model.state_dict(), strict=False)
    assert not loading.missing_keys
    new = {name for name in loading.unexpected_keys if not name.startswith("bert.context_embeddings")}
    assert new
    assert all(name.startswith("bert.encoder.layer.2.attention.self.") for name in new)
    batch = unlabelled(make_batch(padding="right"))
    with torch.no_grad():
        given = model(**batch, output_hidden_states=True).hidden_states
        del batch["context_ids"]
        expected = bert(**batch, output_hidden_states=True).hidden_states
    for a, b in zip(given[:-1], expected[:-1], strict=True):
        torch.testing.assert_close(a, b)
    assert (given[-1] - expected[-1]).abs().max() > 1e-3


def test_a_shared_layer_runs_once_for_each_text(kind, make_model, make_batches):
    model = make_model(kind, num_hidden_layers=LAYERS, num_context_layers=1)
    rows = {}
    for number, layer in enumerate(model.bert.encoder.layer):
        layer.register_forward_hook(lambda _, inputs, output, number=number: rows.update({number: output[0].shape[0]}))
    with torch.no_grad():
        model(**make_batches()[0])
    assert rows == {0: 3, 1: 3, 2: 3 * K}


@pytest.mark.slow
@BACKENDS
def test_compiled_once_for_all_numbers_of_texts(kind, make_model, make_batches, backend):
    torch.compiler.reset()
    model = make_model(kind, backend, num_hidden_layers=LAYERS, num_context_layers=2)
    counter = CompileCounter()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=counter)
    with torch.no_grad():
        for batch_size, length in [(3, 7), (2, 5), (4, 12), (5, 40)]:
            batch = unlabelled(make_batches(batch_size, length, padding="right")[0])
            torch.testing.assert_close(compiled(**batch).logits, model(**batch).logits, rtol=0, atol=1e-5)
    assert counter.frame_count == 1
    torch.compiler.reset()


def test_with_gradient_checkpointing(kind, make_model, make_batches):
    model = make_model(kind, "sdpa", num_hidden_layers=LAYERS, num_context_layers=2, **WITHOUT_DROPOUT).train()
    together, _ = make_batches(padding="left")
    gradients = []
    for checkpointed in (False, True):
        if checkpointed:
            model.gradient_checkpointing_enable()
        model.zero_grad()
        model(**together).loss.backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, msg=lambda m, name=name: f"{name}: {m}")


def test_shared_layers_survive_saving(kind, make_model, make_batches, tmp_path):
    model = make_model(kind, num_hidden_layers=LAYERS, num_context_layers=1)
    model.save_pretrained(tmp_path)
    loaded = MODELS[kind].from_pretrained(tmp_path).eval()
    assert loaded.config.num_context_layers == 1
    batch = make_batches()[0]
    with torch.no_grad():
        torch.testing.assert_close(loaded(**batch).logits, model(**batch).logits)
