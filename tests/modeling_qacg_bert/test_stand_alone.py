"""What was saved, loaded by a stranger: another process and folder, an empty cache of code, no package of ours."""

import pytest
import torch
from datasets import Dataset
from transformers import AutoTokenizer, Trainer, TrainingArguments

from modeling_qacg_bert import AspectSentimentPipeline

TEXTS = ["LOCATION1 is safe but dear", "LOCATION2 and LOCATION1 is far", "nothing"]
NAMES = {"qacg": "QACGBert", "cg": "CGBert"}


@pytest.fixture
def trained(kind, make_model, tiny_bert, make_batch, tmp_path):
    """A classifier with its tokenizer, and the checkpoint that a Trainer wrote of it."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    model = make_model(
        kind,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        targets=["LOCATION1", "LOCATION2"],
        aspects=["general", "price", "transit-location", "safety"],
        id2label={0: "none", 1: "positive", 2: "negative"},
        calibration_temperature=1.5,
    )
    rows = Dataset.from_dict({name: tensor.tolist() for name, tensor in make_batch(4).items()})
    arguments = TrainingArguments(
        tmp_path, max_steps=2, save_steps=1, use_cpu=True, report_to=[], disable_tqdm=True, learning_rate=1e-3
    )
    Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer).train()
    return model.eval(), tokenizer, tmp_path / "checkpoint-2"


@pytest.mark.parametrize(
    "written_by",
    [
        "save_pretrained",
        pytest.param("trainer", marks=pytest.mark.slow),
        pytest.param("pipeline", marks=pytest.mark.slow),
    ],
)
def test_a_stranger_gets_what_was_saved(kind, trained, written_by, make_batch, stranger, tmp_path):
    model, tokenizer, checkpoint = trained
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    if written_by == "save_pretrained":
        checkpoint = tmp_path / "saved"
        model.save_pretrained(checkpoint)
        tokenizer.save_pretrained(checkpoint)
    elif written_by == "pipeline":
        checkpoint = tmp_path / "saved"
        pipe.save_pretrained(checkpoint)
    batch = make_batch(padding="right")
    del batch["labels"]
    report, tensors = stranger(checkpoint, batch, TEXTS)

    name = NAMES[kind]
    classes = [f"{name}Config", f"{name}ForSequenceClassification", f"{name}Model", "AspectSentimentPipeline"]
    assert report["classes"] == classes
    assert report["packages"] == ["transformers_modules"]
    # Bit by bit it is compared with what the same file gives here: the last bits of a product depend on where in
    # memory a weight begins, which is another place for a weight that was trained than for one that was loaded.
    loaded = type(model).from_pretrained(checkpoint, attn_implementation="eager")
    for name_of_weight, weight in model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name_of_weight])
    with torch.no_grad():
        assert torch.equal(tensors["logits"], loaded(**batch).logits)
        assert torch.equal(tensors["pooler_output"], loaded.bert(**batch).pooler_output)
        torch.testing.assert_close(tensors["logits"], model(**batch).logits)
    assert report["answers"] == report["answers_of_what_was_saved_again"]
    for given, expected in zip(report["answers"], pipe(TEXTS, return_all=True), strict=True):
        assert [answer["label"] for answer in given] == [answer["label"] for answer in expected]
        for one, other in zip(given, expected, strict=True):
            assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
    assert [len(answers) for answers in report["answers"]] == [4, 8, 0]
