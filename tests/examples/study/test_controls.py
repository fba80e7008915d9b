"""What the controls of the study change."""

from pathlib import Path

import pytest
import torch

BATCH = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 11, 12, 3, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
    "context_ids": torch.tensor([1, 6]),
    "labels": torch.tensor([0, 2]),
}


@pytest.fixture
def model(example, tiny_classifier: Path):
    """With context embeddings and logits that show."""
    model = example("backbones").MODEL_CLASSES["qacg_bert"].from_pretrained(tiny_classifier)
    torch.manual_seed(0)
    for weight in (model.bert.context_embeddings.weight, model.classifier.weight):
        torch.nn.init.normal_(weight)
    return model


def test_context_in_the_input_embeddings(study, model):
    plain = model.eval()(**BATCH).logits
    study("controls").context_in_input(model)
    logits = model(**BATCH).logits
    assert (logits - plain).abs().max() > 0.1
    segments = model.bert.embeddings.token_type_embeddings  # added to the same embeddings, one row at a time
    for row in range(2):
        with torch.no_grad():
            context = model.bert.context_embeddings(BATCH["context_ids"][row : row + 1], 1)
            segments.weight += context
            hooks, segments._forward_hooks = segments._forward_hooks, {}
            expected = model(**{name: value[row : row + 1] for name, value in BATCH.items()}).logits
            segments._forward_hooks = hooks
            segments.weight -= context
        torch.testing.assert_close(logits[row : row + 1], expected, atol=1e-5, rtol=0)


def test_what_controls_do_not_go_with(study, model):
    controls = study("controls")
    controls.context_in_input(model.eval())
    with pytest.raises(ValueError, match="context_in_input with contexts_together=true"):
        model(input_ids=BATCH["input_ids"], context_ids=torch.tensor([[1, 2], [6, 0]]))


def test_unknown_control(study):
    with pytest.raises(ValueError, match="control=context_in_output: give one of context_in_input"):
        study("controls").main(["context_in_output"])
