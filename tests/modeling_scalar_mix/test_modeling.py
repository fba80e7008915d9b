"""What the mix depends on, what is trained, and what it says that it has learned."""

import pytest
import torch
from torch.optim import SGD


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"layer_norm": True}], ids=["plain", "layer_norm"])
def test_a_row_does_not_depend_on_its_batch(make_model, make_batch, changes: dict):
    model, batch = make_model(**changes).double(), make_batch()
    expected = model(**batch).logits
    for row, length in enumerate(batch["attention_mask"].sum(1).tolist()):
        alone = {name: value[row : row + 1, :length] for name, value in batch.items() if name != "labels"}
        torch.testing.assert_close(model(**alone).logits[0], expected[row], rtol=0, atol=1e-12)
    torch.testing.assert_close(model(**make_batch("left")).logits, expected, rtol=0, atol=1e-12)


@torch.no_grad()
def test_what_the_mean_leaves_out(make_model, make_batch):
    """Padding and special tokens; a row with nothing else has the bias of the classifier for an answer."""
    model, batch = make_model(), make_batch()
    outputs = model.model(**{name: value for name, value in batch.items() if name != "labels"})
    for row, states, pooled in zip(batch["input_ids"], *outputs.to_tuple()[:2], strict=True):
        torch.testing.assert_close(pooled, states[row > 2].mean(dim=0))
    empty = model(input_ids=torch.tensor([[1, 2, 2]])).logits[0]
    torch.testing.assert_close(empty, model.classifier.bias)


@torch.no_grad()
def test_embeddings_in_place_of_ids(make_model, make_batch):
    """Special tokens are known by their embeddings then, as explanations need it."""
    model, batch = make_model(), make_batch()
    embedded = model.get_input_embeddings()(batch["input_ids"])
    others = {name: value for name, value in batch.items() if name != "input_ids"}
    torch.testing.assert_close(model(inputs_embeds=embedded, **others).logits, model(**batch).logits)
    for inputs in ({}, {"input_ids": batch["input_ids"], "inputs_embeds": embedded}):
        with pytest.raises(ValueError, match="exactly one of input_ids and inputs_embeds"):
            model(**inputs)


@torch.no_grad()
def test_controls(make_model, make_batch):
    """Uniform is what learning starts from; of the last layer alone the encoder's output is left."""
    batch = make_batch()
    learned, uniform, last = (make_model(mix=mix) for mix in ("learned", "uniform", "last"))
    learned.model.mix.weights.zero_()
    for model in (uniform, last):
        assert "model.mix.weights" not in model.state_dict()
        model.load_state_dict(learned.state_dict(), strict=False)
    torch.testing.assert_close(uniform(**batch).logits, learned(**batch).logits)
    del batch["labels"]
    states = last.model.encoder(**batch).last_hidden_state
    torch.testing.assert_close(last.model(**batch).last_hidden_state, last.model.mix.gamma * states)
    assert not torch.allclose(last(**batch).logits, uniform(**batch).logits)


def test_a_frozen_encoder_is_not_trained(make_model, make_batch):
    """ELMo's use: only the mix and what stands above it learn; dropout below stays off."""
    model, batch = make_model(freeze_encoder=True), make_batch()
    model.model.encoder.config.hidden_dropout_prob = 0.5
    for module in model.model.encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    model.train()
    assert model.training
    assert model.model.mix.training
    assert not any(module.training for module in model.model.encoder.modules())
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trained == {"model.mix.weights", "model.mix.gamma", "classifier.weight", "classifier.bias"}
    before = {name: value.clone() for name, value in model.state_dict().items()}
    loss = model(**batch).loss
    assert torch.equal(model(**batch).loss, loss)
    loss.backward()
    SGD(model.parameters(), lr=0.1).step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == trained


def test_the_penalty_draws_shares_together(make_model, make_batch):
    model, batch = make_model(mix_l2=100.0), make_batch()
    far = model.model.mix.shares().std().item()
    optimizer = SGD([model.model.mix.weights], lr=1e-3)
    for _ in range(20):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    assert model.model.mix.shares().std().item() < 0.1 * far


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"layer_norm": True}, {"mix": "last"}], ids=["plain", "layer_norm", "last"])
def test_what_was_learned_is_told(make_model, make_batch, changes: dict):
    model, batch = make_model(**changes), make_batch()
    del batch["labels"]
    found = model.layer_weights()
    assert found.keys() == {"s", "gamma"}
    assert len(found["s"]) == 3
    assert sum(found["s"]) == pytest.approx(1)
    assert found["gamma"] == model.model.mix.gamma.item()
    contribution = model.layer_weights(**batch)["contribution"]
    is_word = batch["input_ids"] > 2
    layers = model(**batch, output_hidden_states=True).hidden_states
    sizes = [layer[is_word].square().mean().sqrt().item() for layer in layers]
    if "layer_norm" in changes:  # all layers have one size, so that the shares say it all
        sizes = [1.0] * 3
    sized = [share * size for share, size in zip(found["s"], sizes, strict=True)]
    assert contribution == pytest.approx([one / sum(sized) for one in sized], rel=1e-4)
    if "mix" in changes:
        assert contribution == [0, 0, 1]


def test_learning_finds_the_layer_that_knows(make_model):
    """Labels that can be read off the embeddings; the layers above are noise to them."""
    torch.manual_seed(1)
    model = make_model(freeze_encoder=True)
    with torch.no_grad():
        model.model.mix.weights.zero_()
        model.model.mix.gamma.fill_(1)
        for layer in model.model.encoder.encoder.layer:
            layer.output.LayerNorm.weight.zero_()  # all texts look alike above the embeddings
    ids = torch.randint(5, 60, (64, 4))
    labels = torch.where((ids == 7).any(1) | (ids < 25).sum(1).gt(1), 1, 0)
    optimizer = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad], lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    assert model.layer_weights()["s"][0] > 0.8
