"""What the controls of the study change."""

import json
from pathlib import Path

import pytest
import torch

import controls
from absa import models

BATCH = {
    "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 11, 12, 3, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]]),
    "context_ids": torch.tensor([1, 6]),
    "labels": torch.tensor([0, 2]),
}


@pytest.fixture
def model(tiny_classifier: Path):
    """With context embeddings and logits that show."""
    model = models.classifier_of("qacg_bert").from_pretrained(tiny_classifier)
    torch.manual_seed(0)
    for weight in (model.bert.context_embeddings.weight, model.classifier.weight):
        torch.nn.init.normal_(weight)
    return model


def test_context_in_the_input_embeddings(model):
    plain = model.eval()(**BATCH).logits
    controls.context_in_input(model)
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


def test_the_average_is_shown_and_the_weights_are_trained(model):
    first = model.classifier.weight
    controls.moving_average(model, decay=0.75)
    weights = [first.detach().clone()]
    expected = weights[0]
    for epoch in range(2):
        for step in range(3):
            model.train()(**BATCH)
            torch.testing.assert_close(first.detach(), weights[-1])  # it goes on with the weights themselves
            with torch.no_grad():
                first += 1 + step
            weights.append(first.detach().clone())
            expected = 0.75 * expected + 0.25 * weights[-1]
        for _ in range(2):  # asked twice, it is the same average
            model.eval()  # and not only for what calls the whole model: generation asks its encoder
            torch.testing.assert_close(model.state_dict()["classifier.weight"], expected, msg=f"epoch {epoch}")
            logits = model(**BATCH).logits
    with torch.no_grad():  # as at the end of a training, where the best checkpoint is loaded
        first.zero_()
    assert (model(**BATCH).logits - logits).abs().max() > 0.1
    assert not first.any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:audit_")  # so little trained, a model may say none to everything
def test_what_is_saved_is_the_average_that_was_chosen(tiny_bert: Path, tiny_sentihood: Path, tmp_path: Path, run_here):
    words = ["--dataset", "sentihood", "--data_dir", tiny_sentihood, "--model_name_or_path", tiny_bert, "--seeds", "1"]
    words += ["--num_train_epochs", "2", "--per_device_train_batch_size", "8", "--learning_rate", "5e-3"]
    words += ["--bf16", "false"]  # the log's scores would be of the training's precision, and the results' of float32
    logs = {}
    for name, script in {
        "plain": ["examples/run_absa.py"],
        "average": ["study/controls.py", "moving_average"],
    }.items():
        run_here(*script, *words, "--output_dir", tmp_path / name)
        result = json.loads((tmp_path / name / "seed-1" / "results.json").read_text())
        training = result["training"]["model"]
        logs[name] = {entry["step"]: entry for entry in training["log"] if "eval_loss" in entry}
        chosen = logs[name][training["best_step"]]
        for score in ("strict_accuracy", "macro_f1", "aspect_auc"):
            assert result["validation"][score] == pytest.approx(chosen[f"eval_{score}"], abs=1e-6), name
    assert logs["average"].keys() == logs["plain"].keys()
    for step, entry in logs["average"].items():  # far behind the weights, which move fast
        assert abs(entry["eval_loss"] - logs["plain"][step]["eval_loss"]) > 1e-3


def test_a_moving_average_that_was_stopped(tmp_path: Path):
    (tmp_path / "seed-42" / "LOCATION1-price" / "checkpoint-3").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"moving_average cannot go on from the checkpoints in .*seed-42: remove it"):
        controls.main(["moving_average", "--output_dir", str(tmp_path)])
