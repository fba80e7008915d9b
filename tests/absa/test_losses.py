"""The loss of R-Drop, as the Trainer computes it, against the formula."""

from pathlib import Path

import pytest
import torch
from torch import nn

from absa import models
from absa.training.arguments import ABSATrainingArguments
from absa.training.trainer import ABSATrainer

BATCH = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 11, 12, 3, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
    "context_ids": torch.tensor([1, 6]),
    "labels": torch.tensor([0, 2]),
}


@pytest.fixture
def make_trainer(tiny_classifier: Path, tmp_path: Path):
    def make(**options):
        model = models.classifier_of("qacg_bert").from_pretrained(tiny_classifier)
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.3
        torch.manual_seed(0)
        nn.init.normal_(model.classifier.weight)  # so that the logits show
        arguments = ABSATrainingArguments(
            output_dir=str(tmp_path), eval_strategy="no", load_best_model_at_end=False, r_drop=True, **options
        )
        return ABSATrainer(model=model, args=arguments)

    return make


@pytest.mark.parametrize("together", [False, True])
def test_loss(make_trainer, together: bool):
    trainer, batch = make_trainer(), dict(BATCH)
    if together:  # (B, K), the last context of the second text without a label
        batch |= {"context_ids": torch.tensor([[1, 2], [6, 0]]), "labels": torch.tensor([[0, 1], [2, -100]])}

    torch.manual_seed(1)
    loss = trainer.compute_loss(trainer.model.train(), batch)
    torch.manual_seed(1)
    logits = trainer.model(**{name: torch.cat([value, value]) for name, value in batch.items()}).logits
    asked = batch["labels"] >= 0
    p, q = (half[asked].softmax(-1) for half in logits.chunk(2))  # (rows, labels)
    labels = batch["labels"][asked][:, None]
    cross_entropy = -torch.cat([p, q]).gather(-1, torch.cat([labels, labels])).log().mean()
    kl = ((p - q) * (p / q).log()).sum(-1).mean() / 2  # KL(p, q) + KL(q, p) = Σ (p - q) log(p / q)
    assert kl > 1e-4
    torch.testing.assert_close(loss, cross_entropy + kl)


def test_evaluation_shows_rows_once(make_trainer):
    trainer = make_trainer()
    plain = trainer.model.eval()(**BATCH)
    loss, outputs = trainer.compute_loss(trainer.model, dict(BATCH), return_outputs=True)
    torch.testing.assert_close(loss, plain.loss)
    assert outputs.logits.shape == (2, 3)


def test_steps_that_gather_gradients_divide_the_whole_loss(make_trainer):
    """With gradient accumulation the divergence weighs as much beside the cross-entropy as without."""
    gradients = []
    for steps in (1, 4):
        trainer = make_trainer(gradient_accumulation_steps=steps)
        trainer.current_gradient_accumulation_steps = steps
        torch.manual_seed(1)
        trainer.training_step(trainer.model, dict(BATCH), num_items_in_batch=torch.tensor(2 * steps))
        gradients.append(trainer.model.classifier.weight.grad * steps)
    torch.testing.assert_close(*gradients)
