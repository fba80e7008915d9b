"""Asks a classifier that `export_onnx.py` has exported, with onnxruntime and tokenizers alone: no PyTorch.

    python examples/predict_onnx.py outputs/onnx "LOCATION1 is dear but safe."

Prints the answer to each (target, aspect), whether the target occurs in the text or not.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def as_read(text: str, context: dict, placeholder: str) -> str:
    """The text as the model reads it about a context: "LOCATION1" becomes "location - 1"."""
    text = re.sub(context["exchanged"], lambda found: context["names"][found.lastgroup], text)
    text = re.sub(placeholder, lambda found: f" {found[1].lower()} - {found[2]} ", text)
    return " ".join(text.split())


folder, text = Path(sys.argv[1]), sys.argv[2]
if not (folder / "questions.json").is_file():
    sys.exit(f"{folder} has no questions.json: give a folder that examples/export_onnx.py has made of a classifier")
questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.enable_truncation(questions["max_length"], strategy="only_first")
model = onnxruntime.InferenceSession(folder / "model.onnx")
for context in questions["contexts"]:
    row = tokenizer.encode(as_read(text, context, questions["placeholder"]), context["auxiliary_sentence"])
    inputs = {"input_ids": [row.ids], "attention_mask": [row.attention_mask], "token_type_ids": [row.type_ids]}
    inputs["context_ids"] = [context["context_id"]]
    (logits,) = model.run(["logits"], {given.name: np.array(inputs[given.name]) for given in model.get_inputs()})
    odds = np.exp((logits[0] - logits.max()) / questions["temperature"])
    label = questions["labels"][odds.argmax()]
    print(f"{context['target']} {context['aspect']:<20} {label:<10} {odds.max() / odds.sum():.4f}")
