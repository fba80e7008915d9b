"""absa/losses.py: R-Drop, probabilities in place of labels, and labels that some rows do not have, by the Trainer,
against the formulas.
"""

from pathlib import Path

import pytest
import torch
from torch import nn

from absa import models
from absa.losses import among_own_labels, cross_entropy_to, divergence, masked_cross_entropy
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


MASK = torch.tensor([[1, 1, 0, 0, 1], [1, 1, 1, 1, 1], [0, 0, 1, 1, 0]]).bool()
LABELS = {"rows": torch.tensor([4, 0, 3]), "texts": torch.tensor([[4, 0], [2, -100], [3, 2]])}


@pytest.mark.parametrize("kind", ["rows", "texts"])
def test_each_row_is_answered_among_its_labels(kind: str):
    labels = LABELS[kind]
    torch.manual_seed(0)
    logits = (3 * torch.randn(*labels.shape, 5, dtype=torch.float64)).requires_grad_()
    loss = masked_cross_entropy(logits, labels, MASK)
    loss.backward()
    found, logits.grad = logits.grad, None

    costs = []
    for row, own in enumerate(MASK):
        for logits_of_one, label in zip(logits[row].view(-1, 5), labels[row].view(-1), strict=True):
            if label >= 0:
                costs.append(logits_of_one[own].logsumexp(0) - logits_of_one[label])
    expected = sum(costs) / len(costs)
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(found, logits.grad)
    assert found.movedim(0, -2)[..., ~MASK].eq(0).all()
    with torch.no_grad():
        plain = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
        torch.testing.assert_close(masked_cross_entropy(logits, labels, torch.ones_like(MASK)), plain)


def test_r_drop_among_own_labels():
    torch.manual_seed(0)
    logits = torch.randn(6, 5, requires_grad=True)
    loss = divergence(among_own_labels(logits, torch.cat([MASK, MASK])), LABELS["rows"])
    loss.backward()
    found, logits.grad = logits.grad, None
    costs = []
    for row, own in enumerate(MASK):
        p, q = (logits[number][own].softmax(-1) for number in (row, row + 3))
        costs.append(((p - q) * (p / q).log()).sum() / 2)
    expected = sum(costs) / 3
    expected.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(found, logits.grad)


@pytest.mark.parametrize("r_drop", [False, True])
def test_the_trainer_takes_data_sets_out_of_a_batch(make_trainer, r_drop: bool):
    trainer = make_trainer()
    trainer.args.r_drop = r_drop
    trainer.label_masks = torch.tensor([[True, True, True], [True, False, True]])
    batch = {**BATCH, "dataset_ids": torch.tensor([0, 1])}
    torch.manual_seed(1)
    loss, outputs = trainer.compute_loss(trainer.model.train(), batch, return_outputs=True)
    torch.manual_seed(1)
    shown = {name: torch.cat([value, value]) if r_drop else value for name, value in BATCH.items()}
    logits = trainer.model(**shown).logits
    mask = trainer.label_masks[torch.cat([batch["dataset_ids"]] * (1 + r_drop))]
    expected = masked_cross_entropy(logits, shown["labels"], mask)
    if r_drop:
        expected = expected + divergence(among_own_labels(logits, mask), BATCH["labels"])
    torch.testing.assert_close(loss, expected)
    assert outputs.logits.softmax(-1)[~mask].eq(0).all()
    assert batch.keys() == {*BATCH, "dataset_ids"}


@pytest.mark.parametrize("together", [False, True])
def test_cross_entropy_to_probabilities(together: bool):
    generator = torch.Generator().manual_seed(0)
    shape = (2, 3, 3) if together else (4, 3)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
    p = torch.randn(shape, generator=generator, dtype=torch.float64).softmax(-1)
    labels = torch.tensor([[0, 2, -100], [1, -100, -100]]) if together else torch.tensor([0, 2, 1, 1])
    loss = cross_entropy_to(p.float(), logits, labels)
    q, asked = logits.detach().softmax(-1), labels >= 0
    number = int(asked.sum())
    torch.testing.assert_close(loss.item(), float(-(p * q.log()).sum(-1)[asked].sum() / number), rtol=1e-6, atol=0)
    loss.backward()
    expected = (q - p) * asked[..., None] / number  # of a softmax; nothing where there is no label
    torch.testing.assert_close(logits.grad, expected, rtol=1e-5, atol=1e-7)
    onehot = nn.functional.one_hot(labels.clamp(min=0), 3).float()
    plain = nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
    torch.testing.assert_close(cross_entropy_to(onehot, logits, labels), plain.float())


@pytest.mark.parametrize("r_drop", [False, True])
def test_loss_of_a_batch_with_teachers(make_trainer, r_drop: bool):
    trainer = make_trainer()
    trainer.args.r_drop = r_drop
    p = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    torch.manual_seed(1)
    loss = trainer.compute_loss(trainer.model.train(), {**BATCH, "teacher_probabilities": p})
    torch.manual_seed(1)
    times = 2 if r_drop else 1
    shown = {name: torch.cat([value] * times) for name, value in BATCH.items()}
    logits = trainer.model(**shown).logits
    expected = -(torch.cat([p] * times) * logits.log_softmax(-1)).sum(-1).mean()
    if r_drop:
        expected = expected + divergence(logits, BATCH["labels"])
    torch.testing.assert_close(loss, expected)
