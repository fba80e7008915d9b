"""Pairs of text and aspect as Transformers' own tokenizers, collator, pipeline and Trainer make them."""

from itertools import permutations

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import DataCollatorWithPadding, Trainer, TrainingArguments, pipeline

from modeling_af_lstm import AFLstmConfig, AFLstmForSequenceClassification
from modeling_qacg_bert import Contexts, encode

PAIRS = [
    ("the battery life is good", "battery life"),
    ("good", "screen"),
    ("the screen is very dull but good", "screen"),
]


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_standard_pipeline_answers_pairs(make_model, tokenizer, side):
    model = make_model(id2label={0: "positive", 1: "negative", 2: "neutral"})
    tokenizer.padding_side = side
    asked = [{"text": text, "text_pair": aspect} for text, aspect in PAIRS]
    pipe = pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None)
    answers = pipe(asked, batch_size=3)
    for pair, of_pair in zip(PAIRS, answers, strict=True):
        expected = model(**tokenizer(*pair, return_tensors="pt")).logits.softmax(-1)[0]
        assert {one["label"]: one["score"] for one in of_pair} == pytest.approx(
            {model.config.id2label[number]: value for number, value in enumerate(expected.tolist())}, abs=1e-6
        )


@torch.no_grad()
def test_aspects_are_read_as_auxiliary_sentences(make_model, tokenizer):
    """`absa` encodes texts so, and hands on the ids of the contexts, which other models read."""
    model, contexts = make_model(), Contexts((), ("battery-life", "screen"))
    texts = ["the battery life is good", "the battery life is good", "very dull"]
    aspects = ["battery-life", "screen", "screen"]
    rows = encode(tokenizer, contexts, texts, ["", "", ""], aspects)
    batch = DataCollatorWithPadding(tokenizer)(Dataset.from_dict(rows).to_list())
    assert "context_ids" in batch
    for text, aspect, logits in zip(texts, ["battery life", "screen", "screen"], model(**batch).logits, strict=True):
        torch.testing.assert_close(model(**tokenizer(text, aspect, return_tensors="pt")).logits[0], logits)


def mixed_rows() -> list[tuple[str, str, int]]:
    """Texts with a good and a bad aspect, each asked about both: from the text alone every second answer is right."""
    rows = []
    for one, other in permutations(["battery", "screen", "life"], 2):
        for good, bad in (("good", "bad"), ("good", "dull")):
            for begin in ("the", "very the"):
                rows += [
                    (f"{begin} {one} is {good} but the {other} is {bad}", one, 1),
                    (f"{begin} {one} is {good} but the {other} is {bad}", other, 0),
                    (f"{begin} {one} is {bad} but the {other} is very {good}", one, 0),
                    (f"{begin} {one} is {bad} but the {other} is very {good}", other, 1),
                ]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "changes"),
    [
        ("af_lstm", {"association": "mul"}),
        ("af_lstm", {"association": "corr"}),
        ("af_lstm", {"association": "conv"}),
        ("atae_lstm", {}),
        ("td_lstm", {}),
        ("lstm", {}),
        ("at_lstm", {}),
        ("nbow", {}),
        ("majority", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value.values()),
)
def test_who_learns_what_depends_on_the_aspect(tokenizer, architecture, changes, tmp_path):
    sizes = {}
    if architecture != "majority":
        sizes = {"embedding_size": 16, "trainable_embeddings": True, "dropout": 0.0}
    if architecture not in ("majority", "nbow"):
        sizes["hidden_size"] = 16
    torch.manual_seed(0)
    model = AFLstmForSequenceClassification(
        AFLstmConfig(architecture=architecture, vocab_size=len(tokenizer), num_labels=2, **sizes, **changes)
    )
    texts, aspects, labels = zip(*mixed_rows(), strict=True)
    rows = Dataset.from_dict({**tokenizer(texts, aspects), "labels": labels})
    arguments = TrainingArguments(
        tmp_path,
        num_train_epochs=40,
        per_device_train_batch_size=16,
        learning_rate=0.01,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
    )
    trainer = Trainer(model, arguments, train_dataset=rows, data_collator=DataCollatorWithPadding(tokenizer))
    trainer.train()
    answers = trainer.predict(rows).predictions.argmax(-1)
    accuracy = (answers == np.array(labels)).mean()
    if architecture in ("af_lstm", "atae_lstm", "td_lstm"):
        assert accuracy > 0.95
    else:
        assert accuracy == 0.5
