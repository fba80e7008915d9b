"""What holds of every architecture: padding, batches and places change no answer, and bad rows are named."""

import warnings

import pytest
import torch

from modeling_af_lstm import AFLstmConfig, AFLstmForSequenceClassification

ARCHITECTURES = ["af_lstm", "lstm", "td_lstm", "at_lstm", "atae_lstm", "nbow", "majority"]
ASPECT_BLIND = ["lstm", "at_lstm", "nbow", "majority"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(params=ARCHITECTURES)
def model(request, make_model) -> AFLstmForSequenceClassification:
    return make_model(request.param).double()


@torch.no_grad()
def test_side_and_content_of_padding_change_nothing(model, make_batch):
    expected = model(**make_batch("right"))
    for side in ("right", "left"):
        batch = make_batch(side)
        is_padding = batch["attention_mask"] == 0
        batch["input_ids"][is_padding] = 9
        for types in (0, 1, 2):
            batch["token_type_ids"][is_padding] = types
            found = model(**batch)
            torch.testing.assert_close(found.logits, expected.logits, **EXACT)
            torch.testing.assert_close(found.loss, expected.loss, **EXACT)


@torch.no_grad()
def test_a_row_is_answered_alike_alone_and_among_others(model, make_batch):
    batch = make_batch()
    del batch["labels"]
    expected = model(**batch).logits
    order = torch.tensor([4, 2, 0, 5, 3, 1])
    torch.testing.assert_close(
        model(**{name: value[order] for name, value in batch.items()}).logits, expected[order], **EXACT
    )
    for row, length in enumerate(batch["attention_mask"].sum(1)):
        alone = {name: value[row : row + 1, :length] for name, value in batch.items()}
        torch.testing.assert_close(model(**alone).logits[0], expected[row], **EXACT)
        del alone["attention_mask"]
        torch.testing.assert_close(model(**alone).logits[0], expected[row], **EXACT)


@torch.no_grad()
def test_text_and_aspect_are_told_apart_by_their_types_alone(model):
    behind = model(torch.tensor([[3, 5, 2, 7, 5, 2]]), token_type_ids=torch.tensor([[0, 0, 0, 0, 1, 1]])).logits
    before = model(torch.tensor([[5, 2, 3, 5, 2, 7]]), token_type_ids=torch.tensor([[1, 1, 0, 0, 0, 0]])).logits
    within = model(torch.tensor([[3, 5, 5, 2, 2, 7]]), token_type_ids=torch.tensor([[0, 0, 1, 0, 1, 0]])).logits
    torch.testing.assert_close(before, behind, **EXACT)
    torch.testing.assert_close(within, behind, **EXACT)


@torch.no_grad()
def test_which_answers_depend_on_the_aspect(model, make_batch):
    """Rows 0 and 1 ask about one text."""
    logits = model(**make_batch()).logits
    is_blind = model.config.architecture in ASPECT_BLIND
    assert torch.allclose(logits[0], logits[1], rtol=0, atol=1e-12) == is_blind


@torch.no_grad()
def test_only_td_lstm_asks_where_the_target_is(model, make_batch):
    batch = make_batch(marked=True)
    marked = model(**batch).logits
    batch["token_type_ids"][0, :7] = torch.tensor([0, 0, 0, 0, 2, 2, 0])
    is_moved = (model(**batch).logits - marked).abs().amax(1) > 1e-6
    assert is_moved.tolist() == [model.config.architecture == "td_lstm"] + 5 * [False]


@torch.no_grad()
def test_td_lstm_takes_the_first_place_of_the_aspect(make_model, make_batch):
    """In row 0 the aspect, words 5 and 2, stands in the text twice; words between two marks belong to the target."""
    model, batch = make_model("td_lstm"), make_batch()
    unmarked = model(**batch).logits
    torch.testing.assert_close(
        model(**{**batch, **make_batch(marked=True), "input_ids": batch["input_ids"]}).logits, unmarked
    )
    batch["token_type_ids"][0, :7] = torch.tensor([0, 2, 0, 0, 0, 2, 0])
    apart = model(**batch).logits
    batch["token_type_ids"][0, :7] = torch.tensor([0, 2, 2, 2, 2, 2, 0])
    torch.testing.assert_close(model(**batch).logits, apart)


def test_every_parameter_gets_a_gradient(model, make_batch):
    model.train()(**make_batch()).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # What AT-LSTM adds to the scores of all words alike, the softmax takes away.
        assert name == "encoder.attention.aspect.weight" or parameter.grad.abs().max() > 0, name


def test_without_weights_attention_is_uniform(make_model, make_batch):
    model, batch = make_model().double(), make_batch()
    torch.nn.init.zeros_(model.encoder.attention.association.weight)
    del batch["labels"]
    found = model.encoder(**batch, output_attentions=True)
    is_text = batch["attention_mask"].bool() & (batch["token_type_ids"] == 0)
    share = is_text.double() / is_text.sum(1, keepdim=True)
    torch.testing.assert_close(found.attentions, share, **EXACT)
    means = (found.last_hidden_state * share[..., None]).sum(1)
    torch.testing.assert_close(found.pooler_output, means, **EXACT)


def test_parameters_are_as_many_as_the_paper_has():
    """But for the second bias of PyTorch's LSTM."""
    found = {}
    for architecture in ("lstm", "af_lstm", "at_lstm", "atae_lstm", "td_lstm", "nbow"):
        with torch.device("meta"):
            model = AFLstmForSequenceClassification(AFLstmConfig(architecture=architecture, num_labels=3))
        counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
        words = counts.pop("encoder.embeddings.weight")
        assert words == 50_000 * 300
        second = sum(count for name, count in counts.items() if name.endswith("bias_hh_l0"))
        found[architecture] = (sum(counts.values()), sum(counts.values()) - second)
    assert found == {
        "lstm": (723_303, 722_103),
        "af_lstm": (813_603, 812_403),
        "at_lstm": (1_083_903, 1_082_703),
        "atae_lstm": (1_443_903, 1_442_703),
        "td_lstm": (1_446_603, 1_444_203),
        "nbow": (903, 903),
    }
    with torch.device("meta"):
        fused = AFLstmForSequenceClassification(AFLstmConfig(use_last_state=True, num_labels=3))
    assert fused.num_parameters(only_trainable=True) == 992_403 + 1_200


def test_initial_weights(make_config):
    torch.manual_seed(0)
    model = AFLstmForSequenceClassification(make_config("td_lstm", vocab_size=400, embedding_size=50, hidden_size=40))
    for lstm in (model.encoder.lstm, model.encoder.right_lstm):
        assert lstm.bias_ih_l0.tolist() == [0.0] * 40 + [1.0] * 40 + [0.0] * 80
        assert lstm.bias_hh_l0.eq(0).all()
        assert 0.95 * (6 / 200) ** 0.5 < lstm.weight_hh_l0.abs().max() <= (6 / 200) ** 0.5
    assert 0.9 * (6 / 83) ** 0.5 < model.classifier.weight.abs().max() <= (6 / 83) ** 0.5
    assert model.classifier.bias.eq(0).all()
    assert model.encoder.embeddings.weight[0].eq(0).all()
    assert model.encoder.embeddings.weight[1:].std().item() == pytest.approx(1, rel=0.05)


@torch.no_grad()
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("association", ["mul", "corr", "conv"])
@pytest.mark.parametrize("normalization", ["none", "batch"])
def test_half_precision(make_model, make_batch, association, normalization, dtype):
    model = make_model(association=association, normalization=normalization, use_last_state=True)
    expected = model(**make_batch()).logits
    # oneDNN's LSTM is not made for half precision on every CPU.
    with torch.backends.mkldnn.flags(enabled=False), torch.autocast("cpu", dtype):
        found = model(**make_batch()).logits
    torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)
    torch.testing.assert_close(model.to(dtype)(**make_batch()).logits.float(), expected, rtol=0.05, atol=0.05)


@torch.no_grad()
@pytest.mark.parametrize("place", ["representation", "states"])
def test_dropout_where_the_configuration_says(make_model, make_batch, place):
    model, batch = make_model(dropout_place=place), make_batch()
    del batch["labels"]
    expected = model.encoder(**batch)
    model.train()
    found = model.encoder(**batch)
    assert torch.equal(found.pooler_output, expected.pooler_output) == (place == "representation")
    is_kept = found.last_hidden_state != 0
    scale = 2 if place == "states" else 1
    assert torch.equal(found.last_hidden_state[is_kept], scale * expected.last_hidden_state[is_kept])
    assert (model(**batch).logits - model(**batch).logits).abs().max() > 1e-3


def test_majority_answers_with_the_shares_of_the_labels(make_model, make_batch):
    model, batch = make_model("majority"), make_batch()
    model.classifier.fit([0, 2, 2, 2, 2, 0, 0])
    shares = torch.tensor([4, 1, 5]) / 10
    torch.testing.assert_close(model(**batch).logits, shares.log().expand(6, -1))
    model.classifier.fit(torch.tensor([1, 1, 0, 0]))
    assert model(**batch).logits.argmax(-1).eq(0).all()  # of equals the first


def test_either_ids_or_embeddings(model, make_batch):
    batch = make_batch(marked=True)
    del batch["labels"]
    batch["token_type_ids"][4] = torch.tensor([2, 1] + 9 * [0])
    ids = batch.pop("input_ids")
    if model.config.architecture != "majority":
        embedded = model.get_input_embeddings()(ids)
        torch.testing.assert_close(model(inputs_embeds=embedded, **batch).logits, model(ids, **batch).logits)
    with pytest.raises(ValueError, match="exactly one"):
        model(**batch)


def test_outputs_that_are_asked_for(make_model, make_batch):
    outputs = make_model()(**make_batch())
    assert list(outputs) == ["loss", "logits"]
    outputs = make_model()(**make_batch(), output_attentions=True, output_hidden_states=True)
    assert outputs.attentions.shape == (6, 11)
    assert outputs.hidden_states.shape == outputs.memory.shape == (6, 11, 5)
    configured = make_model(output_attentions=True, output_hidden_states=True)(**make_batch())
    assert list(configured) == list(outputs)


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "majority"])
def test_rows_without_a_text_are_named(make_model, make_batch, architecture):
    batch = make_batch()
    batch["token_type_ids"][[1, 4]] = 1
    with pytest.raises(ValueError, match=r"no word of the text in rows \[1, 4\]"):
        make_model(architecture)(**batch)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rows_without_an_aspect_are_named(make_model, make_batch, architecture):
    batch = make_batch()
    batch["attention_mask"][2] *= batch["token_type_ids"][2] != 1
    model = make_model(architecture)
    if architecture in ("lstm", "nbow", "majority"):
        assert model(**batch).logits.isfinite().all()
        return
    missing = "target" if architecture == "td_lstm" else "word of the aspect"
    with pytest.raises(ValueError, match=rf"no {missing} in rows \[2\]"):
        model(**batch)


def test_rows_without_a_target_are_named(make_model, make_batch):
    model, batch = make_model("td_lstm"), make_batch()
    batch["input_ids"][3, 4] = 11  # the aspect
    with pytest.raises(ValueError, match=r"no target in rows \[3\]: mark it by 2"):
        model(**batch)
    embedded = model.get_input_embeddings()(batch.pop("input_ids"))
    with pytest.raises(ValueError, match=r"inputs_embeds without a target in rows \[0, 1, 2, 3, 4, 5\]"):
        model(inputs_embeds=embedded, **batch)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["af_lstm", "lstm", "atae_lstm", "nbow"])
def test_an_onnx_file_takes_batches_of_any_size(make_model, make_batch, architecture, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = make_model(architecture, **{"association_backend": "direct"} if architecture == "af_lstm" else {})
    batch = make_batch()
    del batch["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (),
            tmp_path / "model.onnx",
            kwargs={name: value[:2] for name, value in batch.items()},
            dynamic_shapes={name: {0: torch.export.Dim("batch", max=64)} for name in batch},
            dynamo=True,
            verbose=False,
        )
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    logits = session.run(None, {name: value.numpy() for name, value in batch.items()})[0]
    torch.testing.assert_close(torch.from_numpy(logits), model(**batch).logits.detach(), rtol=1e-5, atol=1e-5)
