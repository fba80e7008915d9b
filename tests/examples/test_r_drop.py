"""The loss of R-Drop, against the formula."""

from pathlib import Path

import pytest
import torch

BATCH = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 11, 12, 3, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
    "context_ids": torch.tensor([1, 6]),
    "labels": torch.tensor([0, 2]),
}


@pytest.mark.parametrize("together", [False, True])
def test_loss(example, tiny_classifier: Path, together: bool):
    model = example("backbones").MODEL_CLASSES["qacg_bert"].from_pretrained(tiny_classifier, hidden_dropout_prob=0.3)
    torch.manual_seed(0)
    torch.nn.init.normal_(model.classifier.weight)  # so that the logits show
    batch = dict(BATCH)
    if together:  # (B, K), the last context of the second text without a label
        batch |= {"context_ids": torch.tensor([[1, 2], [6, 0]]), "labels": torch.tensor([[0, 1], [2, -100]])}
    plain = model.eval()(**batch)
    example("r_drop").show_rows_twice(model)
    torch.testing.assert_close(model(**batch).loss, plain.loss)  # evaluation is as it was

    torch.manual_seed(1)
    loss = model.train()(**batch).loss
    torch.manual_seed(1)
    twice = {name: torch.cat([value, value]) for name, value in batch.items()}
    logits = type(model).forward(model, **twice).logits
    asked = batch["labels"] >= 0
    p, q = (half[asked].softmax(-1) for half in logits.chunk(2))  # (rows, labels)
    labels = batch["labels"][asked][:, None]
    cross_entropy = -torch.cat([p, q]).gather(-1, torch.cat([labels, labels])).log().mean()
    kl = ((p - q) * (p / q).log()).sum(-1).mean() / 2  # KL(p, q) + KL(q, p) = Σ (p - q) log(p / q)
    assert kl > 1e-4
    torch.testing.assert_close(loss, cross_entropy + kl)
