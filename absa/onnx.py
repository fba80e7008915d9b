"""ONNX files of a classifier, for batches and texts of any size, and what it takes to ask them without PyTorch.

The inputs are those of the model: `input_ids`, `attention_mask` and, where the model takes them, `token_type_ids`,
(batch, length), and `context_ids`, (batch,). The output is `logits`, (batch, labels).
"""

import json
import logging
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import onnxscript  # noqa: F401  # what torch.onnx writes with
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from absa.models import most_tokens, takes
from absa.predict import takes_any_words
from modeling_qacg_bert import Contexts, with_fixed_contexts
from modeling_qacg_bert.configuration_qacg_bert import positions_of
from modeling_qacg_bert.processing_qacg_bert import PLACEHOLDER

BATCHES = ((1, 5), (2, 64), (7, 33), (32, 16))  # (batch, length) to compare; none is the one that is traced
SEED = 0


def random_batch(model: PreTrainedModel, batch_size: int, length: int) -> dict[str, torch.Tensor]:
    """Inputs of these sizes whose rows, but the first, are padded by up to half.

    Every other token is of the second sequence, where the model has types for them.
    """
    generator = torch.Generator().manual_seed(SEED)

    def draw(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator)

    mask = torch.ones(batch_size, length, dtype=torch.long)
    for row in range(1, batch_size):
        mask[row, length - int(draw(0, length // 2 + 1, 1)) :] = 0
    of_encoder = model.config.get_text_config()
    second = min(1, max(getattr(of_encoder, "type_vocab_size", 2) - 1, 0))
    batch = {
        "input_ids": draw(0, of_encoder.vocab_size, batch_size, length) * mask,
        "attention_mask": mask,
        "token_type_ids": (torch.arange(length) % 2 * second).repeat(batch_size, 1),
    }
    if takes(model, "context_ids"):
        batch["context_ids"] = draw(0, model.config.num_contexts, batch_size)
    return {name: value for name, value in batch.items() if takes(model, name)}


def with_names(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, aspects: list[str] | None
) -> PreTrainedModel:
    """The model to export, whose configuration names all that it is asked about.

    Args:
        aspects: of a model that is asked about any words, those to export; None for those of its training.
    Raises:
        ValueError: if there is no name, or the model has its own; if it cannot be exported for texts of any length.
    """
    config = model.config
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        raise ValueError(
            f"a {type(model).__name__} with an LSTM cannot be exported for texts of any length: ask it by absa.load"
        )
    if takes_any_words(model):
        config.aspects = aspects or getattr(config, "aspects", None)
        if not config.aspects:
            raise ValueError("aspects is empty, and this model's training named none: give words, such as price")
        return model
    if Contexts.from_config(config).is_open:
        return with_fixed_contexts(model, tokenizer, aspects)
    if aspects:
        raise ValueError(f"aspects={' '.join(aspects)}: this model has its own; leave them out")
    return model


@contextmanager
def quiet():
    """Without what the exporters say of packages and steps that are not needed here."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def export(model: PreTrainedModel, file: Path):
    """Writes a classifier, in eval mode, as one ONNX file."""
    sizes = torch.export.Dim("batch"), torch.export.Dim("length", max=positions_of(model.config))
    batch = random_batch(model, 3, 11)
    with quiet(), sdpa_kernel(SDPBackend.MATH):  # what it is made of in the file, where others lay tensors out so too
        torch.onnx.export(
            model,
            (),
            file,
            kwargs=batch,
            input_names=list(batch),
            output_names=["logits"],
            dynamic_shapes={name: dict(enumerate(sizes[: value.dim()])) for name, value in batch.items()},
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def session(file: Path, threads: int | None = None) -> onnxruntime.InferenceSession:
    """A model to run on the CPU; the threads are as many as PyTorch's unless given."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or torch.get_num_threads()
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


@torch.no_grad()
def largest_difference(model: PreTrainedModel, file: Path) -> float:
    """The most that a logit of an ONNX file is away from the model's, over `BATCHES` that fit the model."""
    onnx_model = session(file)
    differences = []
    for batch_size, length in BATCHES:
        batch = random_batch(model, batch_size, most_tokens(length, model.config))
        (logits,) = onnx_model.run(["logits"], {name: value.numpy() for name, value in batch.items()})
        differences.append(np.abs(logits - model(**batch).logits.numpy()).max())
    return float(max(differences))


def quantise(file: Path, to: Path):
    """Weights of matrix products and embeddings in 8 bits, one scale a column; all else stays in float32."""
    model = onnx.load(file)
    # Shapes that the exporter noted before it transposed weights; onnxruntime infers them anew.
    del model.graph.value_info[:]
    with quiet():
        quantize_dynamic(
            model, to, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul", "Gather"]
        )


def write_questions(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, file: Path):
    """Writes, as JSON, how texts and contexts become inputs, and logits answers: see examples/predict_onnx.py.

    labels: names, in the order of the logits.
    temperature: what logits are divided by.
    max_length: most tokens of a text with its auxiliary sentence.
    placeholder: pattern of masked targets ("LOCATION1"), which are written "location - 1".
    contexts: of each its target, aspect, context_id and auxiliary_sentence (null where the model reads none). With
        symmetric targets, `exchanged` is the pattern of the names that are exchanged in the text, and `names` has for
        each group of the pattern what stands there instead.
    """
    config = model.config
    contexts = Contexts.from_config(config)
    asked = []
    for target, aspect in contexts:
        context_id = contexts.id(target, aspect)
        exchanged, replacement = contexts.exchange(target)
        asked.append(
            {
                "target": target,
                "aspect": aspect,
                "context_id": context_id,
                "auxiliary_sentence": contexts.auxiliary_sentence(*contexts.pair(context_id))
                if config.auxiliary_sentence
                else None,
                "exchanged": exchanged.pattern,
                "names": {
                    found.lastgroup: replacement(found) for found in exchanged.finditer(" ".join(contexts.targets))
                },
            }
        )
    questions = {
        "labels": [config.id2label[number] for number in range(config.num_labels)],
        "temperature": getattr(config, "calibration_temperature", 1.0),
        "max_length": most_tokens(tokenizer.model_max_length, config),
        "placeholder": PLACEHOLDER.pattern,
        "contexts": asked,
    }
    file.write_text(json.dumps(questions, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
