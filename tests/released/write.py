"""Writes a tiny checkpoint of each model, with what it answers, for the tests of later versions to load.

    python tests/released/write.py tests/released/0.1.0.zip

Run once for a release; what is written never changes again. It is an archive, since no one is to edit the code in it.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers import BertTokenizer

from modeling_qacg_bert import (
    AspectSentimentPipeline,
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

MODELS = {
    "qacg_bert": (QACGBertConfig, QACGBertForSequenceClassification),
    "cg_bert": (CGBertConfig, CGBertForSequenceClassification),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ["location", "price", "safety", "general", "transit", "is", "safe", "dear", "far", "and", "but"]
TEXTS = ["LOCATION1 is safe but dear", "LOCATION2 and LOCATION1 is far", "nothing"]


def write(folder: Path, model_type: str):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *LETTERS, *(f"##{letter}" for letter in LETTERS), *"-,.!?'", *WORDS]
    tokenizer = BertTokenizer(vocab={token: index for index, token in enumerate(vocabulary)}, model_max_length=64)
    config_class, model_class = MODELS[model_type]
    torch.manual_seed(0)
    config = config_class(
        vocab_size=len(vocabulary),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.2,
        context_initializer_range=0.2,
        gate_bias=True,
        targets=["LOCATION1", "LOCATION2"],
        aspects=["general", "price", "transit-location", "safety"],
        id2label={0: "none", 1: "positive", 2: "negative"},
        calibration_temperature=1.25,
    )
    model = model_class(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)

    batch = {
        "input_ids": torch.randint(1, len(vocabulary), (3, 9)),
        "token_type_ids": torch.randint(0, 2, (3, 9)),
        "attention_mask": torch.tensor([[1] * 9, [1] * 6 + [0] * 3, [0] * 2 + [1] * 7]),
        "context_ids": torch.tensor([0, 5, 7]),
    }
    with torch.no_grad():
        logits = model(**batch).logits
    save_file({**batch, "logits": logits}, folder / "expected.safetensors")
    answers = AspectSentimentPipeline(model=model, tokenizer=tokenizer)(TEXTS, return_all=True)
    expected = {"transformers": transformers.__version__, "texts": TEXTS, "answers": answers}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="the .zip to write, with a folder for each model")
    archive = parser.parse_args().archive
    if archive.exists():
        sys.exit(f"{archive} exists: a release is written once; name another version")
    with tempfile.TemporaryDirectory() as folder:
        for model_type in MODELS:
            write(Path(folder) / model_type, model_type)
        shutil.make_archive(str(archive.with_suffix("")), "zip", folder)


if __name__ == "__main__":
    main()
