"""Outputs and gradients against `naive.py`, in float64: for what the golden files lack, pairs padded on either side,
targets marked by their token type, and projections."""

import pytest
import torch

PROJECTED = {"hidden_size": 4}
VARIANTS = {
    "af_lstm-mul-unit": {"association": "mul", "normalization": "unit"},
    "af_lstm-corr-unit_ball-direct": {
        "association": "corr",
        "normalization": "unit_ball",
        "association_backend": "direct",
    },
    "af_lstm-conv-batch-last_state": {"normalization": "batch", "use_last_state": True, **PROJECTED},
    "af_lstm-corr": {"association": "corr", **PROJECTED},
    "lstm": {},
    "lstm-projected": PROJECTED,
    "td_lstm": {},
    "td_lstm-projected": PROJECTED,
    "td_lstm-not_projected": {"embedding_projection": False, **PROJECTED},
    "at_lstm": PROJECTED,
    "atae_lstm": PROJECTED,
    "nbow": {},
    "majority": {},
}
EXACT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("marked", [False, True], ids=["aspect_in_text", "marked_target"])
@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_and_gradients_are_the_naive_ones(naive, make_model, make_batch, variant, padding, marked):
    model = make_model(variant.partition("-")[0], **VARIANTS[variant]).double()
    batch = make_batch(padding, marked)
    state = {name: value.detach().clone() for name, value in model.state_dict().items()}
    parameters = {name: state[name].requires_grad_() for name, _ in model.named_parameters()}
    one_by_one = naive.NaiveModel(model.config, {**state, **parameters})
    rows, losses = [], []
    for ids, mask, types, label in zip(*batch.values(), strict=True):
        ids, types = ids[mask > 0].tolist(), types[mask > 0].tolist()
        text = [word for word, of_word in zip(ids, types, strict=True) if of_word != 1]
        aspect = ids[len(text) :]
        marks = [place for place, of_word in enumerate(types) if of_word == 2]
        if not marks:
            first = next(at for at in range(len(text)) if text[at : at + len(aspect)] == aspect)
            marks = range(first, first + len(aspect))
        rows.append(one_by_one(text, aspect, (marks[0], marks[-1] + 1)))
        if label >= 0:
            losses.append(-rows[-1]["logits"].log_softmax(-1)[label])
    torch.stack(losses).mean().backward()

    found = model(**batch, output_attentions=True, output_hidden_states=True)
    torch.testing.assert_close(found.loss, torch.stack(losses).mean(), **EXACT)
    is_text = batch["attention_mask"].bool() & (batch["token_type_ids"] != 1)
    compared = {"states": found.hidden_states, "attentions": found.attentions, "memory": found.memory}
    for number, row in enumerate(rows):
        torch.testing.assert_close(found.logits[number], row.pop("logits"), **EXACT)
        for name, expected in row.items():
            torch.testing.assert_close(compared[name][number, is_text[number]], expected, **EXACT)
            assert compared[name][number, ~is_text[number]].eq(0).all()
    found.loss.backward()
    for name, parameter in model.named_parameters():
        expected = parameters[name].grad
        assert expected is not None, name
        torch.testing.assert_close(parameter.grad, expected, **EXACT, msg=lambda m, n=name: f"gradient of {n}: {m}")
