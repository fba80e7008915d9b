"""Outputs and gradients against `naive.py`, in float64, for every variant of the paper and both of its ablations."""

from itertools import product

import pytest
import torch

from modeling_global_context import GlobalContextModel

NO_DROPOUT = {"gate_dropout": 0.0, "context_dropout": 0.0, "attention_dropout": 0.0}
CONTEXTS = {
    f"{direction}-{'gates' if gates else 'no_gates'}-{fusion}": {
        "context_direction": direction,
        "context_gates": gates,
        "context_fusion": fusion,
    }
    for direction, gates, fusion in product(["cross", "same"], [True, False], ["sum", "concat"])
}
PLAIN = {"interaction": "none"}
ATTENTION = {"interaction": "attention"}
VARIANTS = {
    "encoder": {"use_bilstm": False, **PLAIN},
    "bilstm": PLAIN,
    "bilstm-2_layers": {"num_lstm_layers": 2, **CONTEXTS["cross-gates-sum"]},
    "bilstm-crf": {"crf": True, **PLAIN},
    "bilstm-attention": ATTENTION,
    "bilstm-attention-no_norm": {"attention_norm": False, **ATTENTION},
    "encoder-attention": {"use_bilstm": False, "num_attention_heads": 2, **ATTENTION},
    "bilstm-context-crf": {"crf": True, **CONTEXTS["cross-gates-sum"]},
    "encoder-first_state": {"use_bilstm": False, "context_source": "first"},
    **{f"bilstm-context-{name}": changes for name, changes in CONTEXTS.items()},
    **{f"encoder-context-{name}": {"use_bilstm": False, **changes} for name, changes in CONTEXTS.items()},
}
LABELS = ["O", "B-POS", "I-POS"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def objective(loss: torch.Tensor, states: list[torch.Tensor]) -> torch.Tensor:
    """The loss of the labels plus numbers that depend on each state."""
    return loss + sum((of_row * torch.linspace(-1, 1, of_row.numel()).view_as(of_row)).sum() for of_row in states)


@pytest.mark.parametrize("padding", ["right", "left", None], ids=lambda side: f"{side}_padding")
@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_and_gradients_are_the_naive_ones(naive, make_model, make_batch, variant, padding):
    # The encoder is Transformers' own, so that static embeddings stand for what it gives.
    model = make_model(None, labels=LABELS, **NO_DROPOUT, **VARIANTS[variant]).double().train()
    batch = make_batch(num_tokens=5, padding=padding)
    batch["labels"] = torch.where(batch["labels"] >= 0, batch["labels"] % 3, -100)
    batch["labels"][0, 1] = -100  # a token that is no word's first
    mask = batch["attention_mask"].bool()

    parameters = {name: parameter.detach().clone().requires_grad_() for name, parameter in model.named_parameters()}
    tagger = naive.NaiveTagger(model.config, parameters)
    rows = []
    for ids, is_real in zip(batch["input_ids"], mask, strict=True):
        rows.append(tagger([parameters["model.embeddings.weight"][token] for token in ids[is_real]]))
    labels = [row[is_real] for row, is_real in zip(batch["labels"], mask, strict=True)]
    if model.config.crf:
        chain = [parameters[f"crf.{name}"] for name in ("start_transitions", "transitions", "end_transitions")]
        likelihoods = [
            naive.NaiveField(row["emissions"][gold >= 0], *chain).log_likelihood(gold[gold >= 0].tolist())
            for row, gold in zip(rows, labels, strict=True)
        ]
        expected_loss = -torch.stack(likelihoods).mean()
    else:
        emissions, gold = torch.cat([row["emissions"] for row in rows]), torch.cat(labels)
        of_words = emissions.log_softmax(-1)[gold >= 0]
        expected_loss = -of_words.gather(1, gold[gold >= 0, None]).mean()
    objective(expected_loss, [row["states"] for row in rows]).backward()

    model_outputs = model.model(batch["input_ids"], batch["attention_mask"], output_gates=True)
    states = model_outputs.last_hidden_state
    outputs = model(**batch)
    torch.testing.assert_close(outputs.loss, expected_loss, **EXACT)
    for number, (row, is_real) in enumerate(zip(rows, mask, strict=True)):
        torch.testing.assert_close(states[number][is_real], row["states"], **EXACT)
        torch.testing.assert_close(outputs.emissions[number][is_real], row["emissions"], **EXACT)
        assert outputs.emissions[number].isfinite().all()
        if row["global_state"] is not None:
            torch.testing.assert_close(outputs.global_state[number], row["global_state"], **EXACT)
        if row["gate_hidden"] is not None:
            of_row = [gate[number][is_real] for gate in model_outputs.gates]
            torch.testing.assert_close(of_row, [row["gate_hidden"], row["gate_global"]], **EXACT)

    objective(outputs.loss, [row[is_real] for row, is_real in zip(states, mask, strict=True)]).backward()
    for name, parameter in model.named_parameters():
        expected = parameters[name].grad
        assert expected is not None, name
        torch.testing.assert_close(parameter.grad, expected, **EXACT, msg=lambda m, n=name: f"gradient of {n}: {m}")


@torch.no_grad()
def test_an_encoder_gives_what_is_read_instead_of_embeddings(make_config, make_batch):
    """Eq. 1: the last states of the encoder, nothing between it and the BiLSTM."""
    torch.manual_seed(0)
    model = GlobalContextModel(make_config()).eval()
    reader = GlobalContextModel(make_config(None, embedding_size=16)).eval()
    reader.load_state_dict(model.state_dict(), strict=False)
    batch = make_batch(padding="right")
    del batch["labels"]
    encoded = model.encoder(**batch).last_hidden_state
    expected = reader(inputs_embeds=encoded, attention_mask=batch["attention_mask"]).last_hidden_state
    torch.testing.assert_close(model(**batch).last_hidden_state, expected, rtol=0, atol=0)
