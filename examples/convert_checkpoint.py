"""Turns a checkpoint trained with the code that Wu & Ong released into one that `from_pretrained` loads.

    python examples/convert_checkpoint.py --kind qacg --config bert_config.json --weights checkpoint.bin \
        --output_dir converted --targets LOCATION1 LOCATION2 --aspects general price transit-location safety \
        --labels none positive negative --tokenizer google-bert/bert-base-uncased

The configuration is the `bert_config.json` the model was trained with. What it leaves out is read off the weights, and
what it says must agree with them.
"""

import pickle
import re
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from absa.commands import make_parser, parse_words, user_errors
from absa.models import loading
from absa.settings import class_and_reason, read_settings
from datasets_scripts.source_files import quoted, shorten
from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

CONFIGS = {"qacg": QACGBertConfig, "cg": CGBertConfig}
MODELS = {"qacg_bert": QACGBertForSequenceClassification, "cg_bert": CGBertForSequenceClassification}

# Fields of the released bert_config.json that the weights say nothing about. `hidden_act` is not among them: the
# released code computes the exact GELU whatever that field says.
KEPT_FIELDS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")

SIZES = {  # field: (weight, its axis)
    "vocab_size": ("bert.embeddings.word_embeddings.weight", 0),
    "hidden_size": ("bert.embeddings.word_embeddings.weight", 1),
    "max_position_embeddings": ("bert.embeddings.position_embeddings.weight", 0),
    "type_vocab_size": ("bert.embeddings.token_type_embeddings.weight", 0),
    "intermediate_size": ("bert.encoder.layer.0.intermediate.dense.weight", 0),
    "num_contexts": ("bert.context_embeddings.weight", 0),
    "num_labels": ("classifier.weight", 0),
    "head_size": ("bert.encoder.layer.0.attention.self.lambda_q_query_layer.weight", 1),
}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
CONTEXT_QUERY = "bert.encoder.layer.0.attention.self.context_for_q.weight"

# The released pooler carries the weights of an attention over the tokens that its forward pass never computes.
UNUSED = "bert.pooler.attention_gate."

LAYER = re.compile(r"bert\.encoder\.layer\.(\d+)\.")
GATE_BIAS = re.compile(r"\.lambda_\w+\.bias$")

RENAMES = (  # ours, theirs
    (r"LayerNorm\.weight$", "LayerNorm.gamma"),
    (r"LayerNorm\.bias$", "LayerNorm.beta"),
    (r"layer\.(\d+)\.attention\.self\.context_matrix\.\w+\.(weight|bias)$", r"context_layer.\1.\2"),
    (r"context_query\.", "context_for_q."),
    (r"context_key\.", "context_for_k."),
    (r"query_gate\.from_hidden\.", "lambda_q_query_layer."),
    (r"query_gate\.from_context\.", "lambda_q_context_layer."),
    (r"key_gate\.from_hidden\.", "lambda_k_key_layer."),
    (r"key_gate\.from_context\.", "lambda_k_context_layer."),
)


@dataclass
class ConversionArguments:
    """What to convert, and the names that the released files do not hold."""

    kind: str = field(metadata={"choices": ["qacg", "cg"], "help": "Which of the two models the weights are of."})
    config: str = field(metadata={"help": "JSON file with the configuration of the released code."})
    weights: str = field(metadata={"help": "Its weights: .safetensors, or .bin/.pt/.pth as torch.save writes them."})
    output_dir: str = field(metadata={"help": "Folder for the converted checkpoint; new or empty."})
    targets: list[str] | None = field(
        default=None, metadata={"help": "Names of the targets, in the order of the context ids (default: none)."}
    )
    aspects: list[str] | None = field(
        default=None, metadata={"help": "Names of the aspects, in the order of the context ids (default: none)."}
    )
    labels: list[str] | None = field(
        default=None, metadata={"help": "Names of the labels, in the order of their ids (default: LABEL_0, ...)."}
    )
    auxiliary_sentence: bool = field(
        default=True, metadata={"help": "Whether the model was trained with the context in words behind the text."}
    )
    context_projection: str | None = field(
        default=None,
        metadata={
            "choices": ["head", "hidden"],
            "help": "head: store H x H projections whose heads are all the same as d x d (default: as they are).",
        },
    )
    tokenizer: str | None = field(
        default=None, metadata={"help": "Folder or Hub id of the tokenizer, copied beside the model (default: none)."}
    )


def read_weights(path: str | Path) -> dict[str, torch.Tensor]:
    """Weights by name, without the wrappers that training code puts around them.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is no file of weights, or a pickle that holds anything but plain data; no code in it is run.
    """
    path = Path(path)
    if not path.is_file():
        fault = "is no regular file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"weights {path} {fault}: give a .safetensors, .bin, .pt or .pth file")
    try:
        weights = load_file(path) if path.suffix == ".safetensors" else _load_pickle(path)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"weights {path} holds more than tensors, and what it holds was not run, or is damaged: save "
            "model.state_dict() alone, or convert a safetensors file"
        ) from error
    except Exception as error:  # of many classes: what damaged files lead the readers to, too little memory among them
        kind = "safetensors file" if path.suffix == ".safetensors" else "file written by torch.save"
        raise ValueError(
            f"weights {path} is no {kind}, or damaged ({class_and_reason(error)}): copy it again"
        ) from error
    for wrapper in ("model", "state_dict", "model_state_dict"):
        if isinstance(weights, dict) and isinstance(weights.get(wrapper), dict):
            weights = weights[wrapper]
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in weights.items()
    ):
        raise ValueError(f"weights {path} is no state dict: give a file with a tensor for each weight name")
    for name, tensor in weights.items():
        if tensor.dtype not in FLOATS or tensor.layout != torch.strided or tensor.is_meta:
            raise ValueError(
                f"weights {path} has {shorten(name)} as {tensor.dtype}, {tensor.layout}, on {tensor.device}: save "
                "dense floats"
            )
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            # A copy of a view that repeats one number may be of any size.
            raise ValueError(f"weights {path} has {shorten(name)} as a view that repeats numbers: save it contiguous")
    unwrapped = [name.removeprefix("module.") for name in weights]  # DataParallel's prefix
    repeated = [name for name, count in Counter(unwrapped).items() if count > 1]
    if repeated:
        raise ValueError(f"weights {path} has {_listed(repeated)} with and without module. before it: keep one")
    return dict(zip(unwrapped, weights.values(), strict=True))


def _load_pickle(path: Path):
    """What torch.save has written, if it takes no more memory than the file has bytes."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            num_bytes = sum(entry.file_size for entry in archive.infolist())
        if num_bytes > path.stat().st_size:
            raise ValueError(f"it unpacks to {num_bytes} bytes, which torch.save does not pack")
    return torch.load(path, map_location="cpu", weights_only=True)


def _listed(names: list[str]) -> str:
    return f"{names[:5]}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def build_config(
    kind: str,
    fields: dict,
    state_dict: dict[str, torch.Tensor],
    *,
    targets: list[str] | None = None,
    aspects: list[str] | None = None,
    labels: list[str] | None = None,
    auxiliary_sentence: bool = True,
    context_projection: str | None = None,
) -> QACGBertConfig | CGBertConfig:
    """Our configuration of a released checkpoint.

    Args:
        kind: "qacg" or "cg".
        fields: the released configuration, or the part of it that is known.
        state_dict: the released weights; they decide every size.
        targets, aspects, labels: names, in the order of their ids.
        auxiliary_sentence: whether the model was trained with auxiliary sentences.
        context_projection: "head" or "hidden"; None for what the shapes of the weights say.
    Raises:
        ValueError: if `fields` or the names disagree with the weights, or the weights are not of this model.
    """
    missing = sorted({CONTEXT_QUERY, *(weight for weight, _ in SIZES.values())} - set(state_dict))
    if missing:
        raise ValueError(f"the weights lack {missing}: give a checkpoint of the released CG-BERT or QACG-BERT")
    for name in {CONTEXT_QUERY, *(weight for weight, _ in SIZES.values())}:
        if state_dict[name].dim() != 2 or not state_dict[name].numel():
            raise ValueError(
                f"{name} has the shape {tuple(state_dict[name].shape)}, where a matrix is wanted: the checkpoint is "
                "damaged or of another model"
            )
    sizes = {name: state_dict[weight].shape[axis] for name, (weight, axis) in SIZES.items()}
    head_size = sizes.pop("head_size")
    if sizes["hidden_size"] % head_size:
        raise ValueError(
            f"hidden_size={sizes['hidden_size']} in the weights is not a multiple of their head size {head_size}: the "
            "checkpoint is damaged or of another model"
        )
    sizes["num_attention_heads"] = sizes["hidden_size"] // head_size
    sizes["num_hidden_layers"] = len({layer[1] for layer in map(LAYER.match, state_dict) if layer})
    for name, size in sizes.items():
        if fields.get(name, size) != size:
            raise ValueError(
                f"{name}={quoted(fields[name])} in the configuration, but {name}={size} in the weights: give the "
                "configuration that the weights were trained with"
            )

    for name in KEPT_FIELDS:
        value = fields.get(name, 0.0)
        if isinstance(value, bool) or not isinstance(value, float | int) or not 0 <= value <= 1:
            raise ValueError(f"{name}={shorten(repr(value))} in the configuration: give a number from 0 to 1")

    for argument, names in (("targets", targets), ("aspects", aspects), ("labels", labels)):
        if names and (len(set(names)) != len(names) or not all(name.strip() for name in names)):
            raise ValueError(f"{argument}={shorten(names)}: give each a name of its own")
    if labels and len(labels) != sizes["num_labels"]:
        raise ValueError(
            f"labels={shorten(labels)} are {len(labels)} names, but num_labels={sizes['num_labels']} in the weights: "
            "name each, in the order of their ids"
        )
    named_contexts = len(targets or [""]) * len(aspects or [])
    if (targets or aspects) and named_contexts != sizes["num_contexts"]:
        raise ValueError(
            f"targets={shorten(targets)} and aspects={shorten(aspects)} make {named_contexts} contexts, but "
            f"num_contexts={sizes['num_contexts']} in the weights: name all, in the order of their ids"
        )
    # Some versions of the released QACG-BERT have one (d, H) weight, whose output every head gets.
    stored = "head" if state_dict[CONTEXT_QUERY].shape == (head_size, head_size) else "hidden"
    if (stored, context_projection) == ("head", "hidden"):
        raise ValueError(
            f"context_projection=hidden, but the weights have {head_size} x {head_size} projections: leave it out"
        )

    num_labels = sizes.pop("num_labels")
    labels = labels or [f"LABEL_{label_id}" for label_id in range(num_labels)]
    return CONFIGS[kind](
        **sizes,
        **{name: float(fields[name]) for name in KEPT_FIELDS if name in fields},
        id2label=dict(enumerate(labels)),
        label2id={label: label_id for label_id, label in enumerate(labels)},
        targets=targets,
        aspects=aspects,
        auxiliary_sentence=auxiliary_sentence,
        context_projection=context_projection or stored,
        gate_bias=any(map(GATE_BIAS.search, state_dict)),
    )


def convert_state_dict(
    state_dict: dict[str, torch.Tensor], config: QACGBertConfig | CGBertConfig
) -> dict[str, torch.Tensor]:
    """The weights of a released checkpoint under our names.

    Args:
        state_dict: the released weights.
        config: what `build_config` makes of them.
    Returns:
        A tensor for each parameter of the classifier.
    Raises:
        ValueError: if weights are missing, unknown, of another shape or not finite, or are to be shared by the heads
            and differ.
    """
    with torch.device("meta"):
        parameters = MODELS[config.model_type](config).state_dict()
    released = {name: _released_name(name) for name in parameters}
    needed = set(released.values())
    if config.gate_bias:  # each gate of the released code has two biases, which add up
        needed |= {name.replace("_context_layer.weight", "_context_layer.bias") for name in needed}
    missing = sorted(needed - set(state_dict))
    unknown = sorted(name for name in set(state_dict) - needed if not name.startswith(UNUSED))
    if missing or unknown:
        raise ValueError(
            f"weights missing: {_listed(missing)}; unknown: {_listed(unknown)}. Give a "
            "checkpoint of the released CG-BERT or QACG-BERT"
        )

    converted = {}
    for name, parameter in parameters.items():
        tensor = state_dict[released[name]]
        if tensor.dim() != parameter.dim():
            raise _shape_error(released[name], tensor, name, parameter)
        if name.endswith("context_matrix.from_context.weight"):
            tensor = tensor[:, : config.hidden_size]
        elif name.endswith("context_matrix.from_hidden.weight"):
            tensor = tensor[:, config.hidden_size :]
        elif name.endswith("gate.from_hidden.bias"):
            second = _released_name(name.replace("from_hidden", "from_context"))
            if state_dict[second].shape != parameter.shape:
                raise _shape_error(second, state_dict[second], name, parameter)
            tensor = tensor + state_dict[second]
        elif re.search(r"\.context_(query|key)\.", name):
            tensor = _context_projection(released[name], tensor, config)
        if tensor.shape != parameter.shape:
            raise _shape_error(released[name], tensor, name, parameter)
        if not tensor.float().isfinite().all():  # as float32, which the model has
            raise ValueError(
                f"{released[name]} holds NaN, infinity or what is too large for float32: the checkpoint is damaged, "
                "or its training diverged; give an earlier one"
            )
        converted[name] = tensor.clone()
    return converted


def _shape_error(released: str, tensor: torch.Tensor, name: str, parameter: torch.Tensor) -> ValueError:
    return ValueError(
        f"{released} gives {name} the shape {tuple(tensor.shape)}, but the other weights ask for "
        f"{tuple(parameter.shape)}: the checkpoint is damaged or of another model"
    )


def _released_name(name: str) -> str:
    for ours, theirs in RENAMES:
        name = re.sub(ours, theirs, name)
    return name


def _context_projection(name: str, tensor: torch.Tensor, config: QACGBertConfig | CGBertConfig) -> torch.Tensor:
    """A weight or bias of a context projection in the size that `config.context_projection` asks for."""
    num_heads = config.num_attention_heads
    head_size = config.hidden_size // num_heads
    if config.context_projection == "hidden":
        # Weight (d, H) and bias (d,): what they give goes to every head.
        return torch.cat([tensor] * num_heads) if len(tensor) == head_size else tensor
    if len(tensor) != config.hidden_size:
        return tensor
    if tensor.dim() == 1:
        shared = tensor[:head_size]
        repeated = torch.cat([shared] * num_heads)
    else:
        shared = tensor[:head_size, :head_size]
        repeated = torch.block_diag(*[shared] * num_heads)
    if not torch.equal(tensor, repeated):
        raise ValueError(
            f"context_projection=head, but {name} is not one {head_size}-row block repeated for each head with zeros "
            "elsewhere: leave context_projection out"
        )
    return shared


def save(output_dir: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None):
    """Saves beside a folder that is new or empty, checks that what was saved loads, and puts it there.

    Raises:
        OSError: if it cannot be written; there is nothing of it then.
    """
    try:
        output_dir.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=output_dir.parent, prefix=f".{output_dir.name[:100]}-") as folder:
            saved = Path(folder)
            model.save_pretrained(saved)
            if tokenizer:
                tokenizer.save_pretrained(saved)
            loaded = AutoModelForSequenceClassification.from_pretrained(saved).state_dict()
            differing = [name for name, tensor in model.state_dict().items() if not torch.equal(tensor, loaded[name])]
            if differing:
                raise RuntimeError(f"{_listed(differing)} load otherwise")
            output_dir.mkdir(exist_ok=True)
            for file in saved.iterdir():
                shutil.move(file, output_dir)
    except Exception as error:
        raise OSError(
            f"output_dir={output_dir} cannot be written ({class_and_reason(error)}): give another folder, or make room"
        ) from error


def main(argv: list[str]):
    """Converts and saves."""
    (arguments,) = parse_words(make_parser(ConversionArguments), argv)
    output_dir = Path(arguments.output_dir)
    if output_dir.exists() and not output_dir.is_dir():
        raise FileExistsError(f"output_dir={output_dir} is a file: give a folder")
    if output_dir.exists() and any(output_dir.iterdir()):
        raise ValueError(f"output_dir={output_dir} is not empty: give a new folder")
    state_dict = read_weights(arguments.weights)
    config = build_config(
        arguments.kind,
        read_settings("config ", arguments.config, "give the bert_config.json of the checkpoint"),
        state_dict,
        targets=arguments.targets,
        aspects=arguments.aspects,
        labels=arguments.labels,
        auxiliary_sentence=arguments.auxiliary_sentence,
        context_projection=arguments.context_projection,
    )
    converted = convert_state_dict(state_dict, config)
    model = MODELS[config.model_type](config)
    model.load_state_dict(converted)

    tokenizer = None
    if arguments.tokenizer:
        with loading("tokenizer", arguments.tokenizer):
            tokenizer = AutoTokenizer.from_pretrained(arguments.tokenizer)
        if not len(tokenizer.all_special_tokens) < len(tokenizer) <= config.vocab_size:
            raise ValueError(
                f"tokenizer={arguments.tokenizer} has {len(tokenizer)} tokens, but vocab_size={config.vocab_size} in "
                "the weights: give the tokenizer that the model was trained with"
            )
    save(output_dir, model, tokenizer)

    unused = [tensor.numel() for name, tensor in state_dict.items() if name.startswith(UNUSED)]
    if unused:
        print(f"left out {UNUSED}*: {sum(unused):,} numbers that no output of the released code depends on")
    print(
        f"wrote {type(model).__name__} to {output_dir}: {config.num_hidden_layers} layers, {config.num_contexts} "
        f"contexts, {config.num_labels} labels, {model.num_parameters():,} parameters"
    )


if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
