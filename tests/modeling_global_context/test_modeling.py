"""What holds of every tagger: padding and batches change no answer, every parameter learns, a CRF is a field."""

import warnings

import pytest
import torch
from torch.nn.functional import pad
from transformers import BertConfig

from modeling_global_context import GlobalContextModel
from modeling_global_context.layers_global_context import BiLSTM, GlobalContext

VARIANTS = {
    "encoder": {"use_bilstm": False, "interaction": "none"},
    "bilstm": {"interaction": "none"},
    "bilstm-context": {},
    "bilstm-context-crf": {"crf": True},
    "bilstm-same-concat": {"context_direction": "same", "context_fusion": "concat"},
    "bilstm-no_gates": {"context_gates": False},
    "bilstm-attention": {"interaction": "attention"},
    "encoder-context": {"use_bilstm": False},
    "encoder-first": {"use_bilstm": False, "context_source": "first"},
    "static-context": {"encoder": None},
}


@pytest.fixture(params=VARIANTS)
def model(request, make_model):
    return make_model(**VARIANTS[request.param])


@torch.no_grad()
@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_and_what_stands_there_change_nothing(model, make_batch, side):
    batch = make_batch()
    expected = model(**batch)
    widths, tokens = ((0, 4), slice(0, 7)) if side == "right" else ((4, 0), slice(4, None))
    padded = {name: pad(value, widths, value=-100 * (name == "labels")) for name, value in batch.items()}
    padded["input_ids"][padded["attention_mask"] == 0] = 9
    if side == "left" and model.config.encoder_config is not None:
        padded["position_ids"] = (padded["attention_mask"].cumsum(-1) - 1).clamp(min=0)
    found = model(**padded)
    torch.testing.assert_close(found.logits[:, tokens], expected.logits, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.loss, expected.loss, rtol=1e-5, atol=1e-6)
    assert found.logits.isfinite().all()
    if expected.global_state is not None:
        torch.testing.assert_close(found.global_state, expected.global_state, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_a_sentence_is_answered_alike_alone_and_among_others(model, make_batch):
    batch = make_batch(padding="right")
    expected = model(**batch).logits
    order = torch.tensor([2, 0, 1])
    shuffled = model(**{name: value[order] for name, value in batch.items()}).logits
    torch.testing.assert_close(shuffled, expected[order], rtol=1e-5, atol=1e-6)
    for row, length in enumerate(batch["attention_mask"].sum(1)):
        alone = model(**{name: value[row : row + 1, :length] for name, value in batch.items()}).logits
        torch.testing.assert_close(alone[0], expected[row, :length], rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_holes_in_the_mask_are_no_positions(make_model, make_batch):
    model = make_model(None)
    batch = make_batch()
    del batch["labels"]
    holes = torch.tensor([1, 0, 1, 1, 0, 0, 1]).bool()
    expected = model(batch["input_ids"][:, holes]).logits
    found = model(batch["input_ids"], attention_mask=holes.long().expand(3, -1)).logits
    torch.testing.assert_close(found[:, holes], expected, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_the_last_real_token_counts(make_model, make_batch):
    model = make_model(None)
    batch = make_batch(padding="right")
    before = model(**batch).global_state
    batch["input_ids"][1, 4] = 1 + batch["input_ids"][1, 4] % 50
    after = model(**batch).global_state
    assert (after[1] - before[1]).abs().max() > 1e-3
    assert torch.equal(after[[0, 2]], before[[0, 2]])


def test_every_parameter_gets_a_gradient(model, make_batch):
    model.train()(**make_batch(padding="right")).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # To add a number to all scores before a softmax changes nothing, so that a bias of keys has no gradient.
        if not name.endswith("key.bias"):
            assert parameter.grad.abs().max() > 0, name


def test_gates_from_halves_are_those_of_the_concatenation(make_config):
    torch.manual_seed(0)
    context = GlobalContext(make_config(gate_dropout=1e-300, context_dropout=0.0)).double()
    states, global_state = torch.randn(2, 5, 12, dtype=torch.float64), torch.randn(2, 12, dtype=torch.float64)
    concatenated, _ = context.train()(states, global_state)
    halves, _ = context.eval()(states, global_state)
    torch.testing.assert_close(halves, concatenated, rtol=0, atol=1e-12)


def test_gradients_by_differences(make_config):
    torch.manual_seed(0)
    context = GlobalContext(make_config(lstm_size=4)).double().eval()
    names, parameters = zip(*context.named_parameters(), strict=True)
    inputs = [torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)]
    inputs += [torch.randn_like(parameter) for parameter in parameters]

    def joined(states, global_state, *weights):
        return torch.func.functional_call(context, dict(zip(names, weights, strict=True)), (states, global_state))[0]

    assert torch.autograd.gradcheck(joined, [value.requires_grad_() for value in inputs])


def test_a_bilstm_gives_zeros_at_padding(make_config):
    torch.manual_seed(0)
    mask = torch.tensor([[1, 1, 0], [0, 0, 1]]).bool()
    states = BiLSTM(make_config())(torch.randn(2, 3, 16), mask)
    assert states[~mask].eq(0).all()
    assert states[mask].abs().min() > 0


def test_a_row_without_tokens_is_refused(model, make_batch):
    batch = make_batch()
    batch["attention_mask"][1] = 0
    with pytest.raises(ValueError, match=r"no token in the rows \[1\]"):
        model(**batch)


def test_either_ids_or_embeddings(make_model, make_batch):
    model, ids = make_model(), make_batch()["input_ids"]
    embedded = model.get_input_embeddings()(ids)
    torch.testing.assert_close(model(inputs_embeds=embedded).logits, model(ids).logits)
    with pytest.raises(ValueError, match="exactly one"):
        model(ids, inputs_embeds=embedded)
    with pytest.raises(ValueError, match="exactly one"):
        model()


def test_outputs_that_are_asked_for(make_model, make_batch):
    model = make_model()
    model.set_attn_implementation("eager")
    outputs = model(**make_batch(), output_gates=True, output_attentions=True, output_hidden_states=True)
    assert [gate.shape for gate in outputs.gates] == [(3, 7, 12)] * 2
    assert outputs.attentions[0].shape == (3, 2, 7, 7)
    assert [states.shape for states in outputs.hidden_states] == [(3, 7, 16)] * 2
    outputs = model(**make_batch())
    assert outputs.gates is outputs.attentions is outputs.hidden_states is None
    assert outputs.predictions is None
    assert torch.equal(outputs.logits, outputs.emissions)


@torch.no_grad()
def test_dropout_where_the_configuration_says(make_model, make_batch):
    for name in ("encoder_dropout", "classifier_dropout", "gate_dropout", "context_dropout"):
        rates = dict.fromkeys(("gate_dropout", "context_dropout"), 0.0)
        model = make_model(**{**rates, name: 0.5}).train()
        assert (model(**make_batch()).logits - model(**make_batch()).logits).abs().max() > 1e-3, name
    model = make_model(**rates).train()
    assert torch.equal(model(**make_batch()).logits, model(**make_batch()).logits)


@torch.no_grad()
def test_a_field_answers_at_words(make_model, make_batch):
    model = make_model(crf=True)
    batch = make_batch(padding="right")
    word_mask = batch["attention_mask"] * torch.tensor([0, 1, 1, 0, 1, 1, 0])
    outputs = model(batch["input_ids"], batch["attention_mask"], word_mask=word_mask)
    is_word = word_mask.bool()
    torch.testing.assert_close(outputs.logits.exp().sum(-1)[is_word], torch.ones(int(is_word.sum())))
    assert torch.equal(outputs.logits[~is_word], outputs.emissions[~is_word])
    assert outputs.predictions[~is_word].eq(-100).all()
    assert outputs.predictions[is_word].ge(0).all()
    tags = model.decode(outputs.emissions, word_mask, constrained=False)
    assert [model.config.label2id[tag] for row in tags for tag in row] == outputs.predictions[is_word].tolist()
    assert [len(row) for row in tags] == is_word.sum(1).tolist()

    labels = batch["labels"].where(is_word, -100)
    with_labels = model(batch["input_ids"], batch["attention_mask"], labels=labels)
    assert torch.equal(with_labels.logits, outputs.logits)  # without a mask words are where labels are
    partly = labels.clone()
    partly[0, 1] = -100
    some_labelled = model(batch["input_ids"], batch["attention_mask"], labels=partly, word_mask=word_mask)
    assert torch.equal(some_labelled.predictions, outputs.predictions)
    assert some_labelled.loss < with_labels.loss  # one word less to get right
    everywhere = model(batch["input_ids"], batch["attention_mask"])
    assert torch.equal(everywhere.predictions == -100, batch["attention_mask"] == 0)
    in_training = model.train()(batch["input_ids"], batch["attention_mask"], word_mask=word_mask)
    assert in_training.predictions is None
    assert in_training.logits is in_training.emissions


@torch.no_grad()
def test_decoding_without_a_field_is_the_best_label_of_each_word(make_model, make_batch):
    model = make_model()
    batch = make_batch(padding="right")
    outputs = model(**batch)
    best = outputs.logits.argmax(-1)
    tags = model.decode(outputs.emissions, batch["attention_mask"], constrained=False)
    for row, is_real, found in zip(best, batch["attention_mask"].bool(), tags, strict=True):
        assert found == [model.config.id2label[label] for label in row[is_real].tolist()]
    assert [len(row) for row in model.decode(outputs.emissions)] == [7, 7, 7]


def test_constraints_of_the_field_hold_in_training_too(make_model, make_batch):
    free, constrained = (make_model(crf=True, crf_constraints=constraints) for constraints in (False, True))
    batch = make_batch()
    batch["labels"][:] = 0  # outside: well-formed
    assert constrained(**batch).loss < free(**batch).loss
    assert constrained.decode(constrained(**batch).emissions, constrained=False) == free.decode(
        free(**batch).emissions, constrained=True
    )


@torch.no_grad()
def test_a_field_is_computed_in_float32_under_autocast(make_model, make_batch):
    model = make_model(crf=True, initializer_range=0.1)
    batch = make_batch(padding="right")
    expected = model(**batch)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(**batch)
    assert found.loss.dtype == found.logits.dtype == torch.float32
    emissions = found.emissions
    with torch.autocast("cpu", torch.bfloat16):
        logits, _ = model.marginals_and_best(emissions, batch["labels"] != -100)
    torch.testing.assert_close(logits, model.marginals_and_best(emissions, batch["labels"] != -100)[0])
    torch.testing.assert_close(found.loss, expected.loss, rtol=0.05, atol=0)


def test_gradient_checkpointing_changes_no_gradient(make_model, make_batch):
    gradients = []
    for checkpointing in (False, True):
        model = make_model(gate_dropout=0.0, context_dropout=0.0).train()
        if checkpointing:
            model.gradient_checkpointing_enable()  # the name that Transformers had first
        model(**make_batch()).loss.backward()
        gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, msg=name)


@pytest.mark.parametrize("encoder", ["bert", None])
def test_more_tokens(make_model, encoder, tmp_path):
    model = make_model(encoder)
    model.resize_token_embeddings(70)
    assert model(torch.tensor([[69, 3]])).logits.isfinite().all()
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    assert len(loaded.get_input_embeddings().weight) == 70


def test_parameters_are_as_many_as_the_paper_has(make_config):
    """A BiLSTM of 600, gates and self-attention on BERT-base."""
    base = BertConfig(num_hidden_layers=1, vocab_size=10)
    counted = {}
    for interaction in ("context", "attention"):
        config = make_config(base, lstm_size=600, interaction=interaction, num_attention_heads=6)
        with torch.device("meta"):
            model = GlobalContextModel(config)
        for name in ("lstm", interaction):
            counted[name] = sum(parameter.numel() for parameter in getattr(model, name).parameters())
        assert not hasattr(model.encoder, "pooler") or model.encoder.pooler is None
    assert counted == {"lstm": 2_568_000, "context": 1_441_200, "attention": 1_443_600}


def test_an_onnx_file_takes_batches_of_any_size(make_model, tmp_path):
    """Of sentences of one length, without padding: an LSTM is read step by step."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model = make_model()
    example = torch.randint(1, 60, (2, 7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (),
            tmp_path / "model.onnx",
            kwargs={"input_ids": example},
            dynamic_shapes={"input_ids": {0: torch.export.Dim("batch", max=64)}},
            dynamo=True,
            verbose=False,
        )
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for batch_size in (1, 5):
        ids = torch.randint(1, 60, (batch_size, 7))
        logits = session.run(None, {"input_ids": ids.numpy()})[0]
        torch.testing.assert_close(torch.from_numpy(logits), model(ids).logits.detach(), rtol=1e-5, atol=1e-5)
