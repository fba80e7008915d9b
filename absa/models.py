"""Families of models: what to import, and models with all of the weights that they start from."""

import importlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields as fields_of
from inspect import signature
from typing import Any

import numpy as np
import torch
from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars
from transformers import (
    CONFIG_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.logging import disable_progress_bar, get_verbosity, set_verbosity, set_verbosity_error

from absa.commands import reason
from datasets_scripts.source_files import shorten
from modeling_qacg_bert.configuration_qacg_bert import positions_of

logger = logging.getLogger(__name__)
ENCODERS = ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "modernbert", "mpnet", "deberta-v2")
# Each model_type, and the package whose import registers its classes with the Auto classes.
FAMILIES = {
    "qacg_bert": "modeling_qacg_bert",
    "cg_bert": "modeling_qacg_bert",
    "qacg": "modeling_qacg_bert",
    "cg": "modeling_qacg_bert",
    **dict.fromkeys(ENCODERS, "transformers"),
    "bart": "transformers",
    "t5": "transformers",
    "global_context": "modeling_global_context",
    "af_lstm": "modeling_af_lstm",
    "pointer_absa": "modeling_generative_absa",
    "scalar_mix": "modeling_scalar_mix",
}
for _package in FAMILIES.values():
    importlib.import_module(_package)

# Fields of a configuration that belong to a checkpoint's own head or file, not to what is built on it.
OF_THE_FILE = {"model_type", "architectures", "auto_map", "transformers_version", "num_contexts"}
OF_THE_FILE |= {"calibration_temperature", "likeness_calibration"}
OF_THE_HEAD = ("num_labels", "problem_type", "id2label", "label2id")
OF_TRANSFORMERS = ("dtype", "is_encoder_decoder", "return_dict", "output_attentions")
NOT_OVERRIDDEN = {*OF_THE_FILE, *OF_THE_HEAD, *OF_TRANSFORMERS, "encoder_config", "backbone_config"}
LAYER = re.compile(r"\blayers?\.(\d+)\.")


def takes(model: PreTrainedModel | type[PreTrainedModel], name: str) -> bool:
    """Whether a model, or its class, has an input of this name."""
    return name in signature(model.forward).parameters


def head_of(auto_class: type) -> str:
    """What the names of an Auto class's models end in: ForTokenClassification."""
    return auto_class.__name__.removeprefix("AutoModel")


def classifier_of(model_type: str, auto_class: type = AutoModelForSequenceClassification) -> type[PreTrainedModel]:
    """The class of a family's model for the task that an Auto class stands for.

    Raises:
        ValueError: if the family has none.
    """
    models, generates = auto_class._model_mapping, auto_class is AutoModelForSeq2SeqLM
    able = {name: models.get(CONFIG_MAPPING[name], None) for name in FAMILIES}
    # An encoder-decoder of Transformers has heads of other tasks too, which no task here is made for.
    able = {name: one for name, one in able.items() if one and generates >= one.config_class.is_encoder_decoder}
    if (found := able.get(model_type)) is None:
        choices = ", ".join(able)
        raise ValueError(f"model_type={model_type} has no model {head_of(auto_class)}: choose one of {choices}")
    return found


@contextmanager
def loading(argument: str, name: str) -> Iterator[None]:
    """Makes what goes wrong in loading a checkpoint name the argument, its value and the remedy."""
    try:
        yield
    except (ImportError, MemoryError, torch.OutOfMemoryError):  # no fault of the checkpoint
        raise
    except OSError as error:
        raise FileNotFoundError(
            f"{argument}={name} is no folder with a model, and the Hub did not give it: check the name or network "
            f"({str(error).splitlines()[0]})"
        ) from error
    except Exception as error:  # of many classes: configuration, tokenizer, weights, pickle
        told = f"{argument}={name} cannot be loaded ({reason(error)}): copy it again, or give another"
        raise ValueError(told) from error


@contextmanager
def quietly() -> Iterator[None]:
    """Without Transformers' report of missing weights, which are checked here, and its progress bars of weights."""
    downloads_have_bars = not are_progress_bars_disabled()
    disable_progress_bar()
    if downloads_have_bars:
        enable_progress_bars()
    # Not of the logger that reports: with a level of its own, it has each layer listed as not sharded.
    verbosity = get_verbosity()
    set_verbosity_error()
    try:
        yield
    finally:
        set_verbosity(verbosity)


def refuse_weights(name: str, faults: Mapping[str, Iterable[str]], remedy: str):
    """Refuses a checkpoint some of whose weights would be random or lost.

    Args:
        name: argument and value, as the user gave them.
        faults: what is wrong with the checkpoint, and names of the weights of which that is so.
    """
    for fault, keys in faults.items():
        if keys := sorted(keys):
            listed = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
            raise ValueError(f"{name} {fault} {len(keys)} weights: {listed}. {remedy}")


def check_tokenizer(name: str, tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig):
    """A tokenizer knows words, unlike one made from a folder without tokenizer files, and no more than the model."""
    vocab_size = config.get_text_config(encoder=True).vocab_size
    if not len(tokenizer.all_special_tokens) < len(tokenizer) <= vocab_size:
        raise ValueError(
            f"the tokenizer of {name} has {len(tokenizer)} tokens, the model {vocab_size}: put the files of "
            "the model's own tokenizer (tokenizer.json or vocab.txt) beside its weights"
        )
    if not tokenizer.is_fast and (hasattr(config, "grammar") or not config.is_encoder_decoder):
        raise ValueError(f"the tokenizer of {name} tells no words of its tokens: give a model with a fast tokenizer")


def auto_class_of(argument: str, name: str, auto_classes: Iterable[type]) -> type:
    """Which of some Auto classes stands for the task that a checkpoint was trained for; the first, where none does.

    Raises:
        FileNotFoundError, ValueError: as `load_classifier`.
    """
    with loading(argument, name):
        config = AutoConfig.from_pretrained(name)
    for auto_class in (auto_classes := list(auto_classes)):
        models = auto_class._model_mapping
        if type(config) in models and models[type(config)].__name__ in (config.architectures or ()):
            return auto_class
    return auto_classes[0]


def load_classifier(
    argument: str, name: str, auto_class: type = AutoModelForSequenceClassification, **options
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A trained classifier of texts or tokens, in evaluation mode, and its tokenizer.

    Args:
        argument: what the user calls the checkpoint, for the error.
        name: its folder or Hub id.
        auto_class: of its task.
        options: of `from_pretrained` of the model.
    Raises:
        FileNotFoundError: if it is not there, or not as safetensors: a pickle can run code.
        ValueError: if it is of another task, cannot be read, or its weights or tokenizer are not those of its
            configuration.
    """
    with loading(argument, name):
        config = AutoConfig.from_pretrained(name)
    if type(config) not in auto_class._model_mapping:
        held = ", ".join(config.architectures or [config.model_type])
        raise ValueError(
            f"{argument}={name} holds a {held}, and only a model {head_of(auto_class)} can be used here: "
            "examples/predict.py, examples/annotate.py and absa.load take every family"
        )
    with loading(argument, name), quietly():
        model, found = auto_class.from_pretrained(
            name, use_safetensors=True, ignore_mismatched_sizes=True, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(name, padding_side="right")  # as `load_tokenizer`
    faults = {
        "has, beside those of its configuration,": found["unexpected_keys"],
        "lacks": found["missing_keys"],
        "has other sizes in": [key for key, *_ in found["mismatched_keys"]],
    }
    remedy = "Its answers would be random: give a checkpoint that examples/run_absa.py has trained, or train it again"
    refuse_weights(f"{argument}={name}", faults, remedy)
    check_tokenizer(f"{argument}={name}", tokenizer, model.config)
    labels = list(model.config.id2label.values())
    if len(set(labels)) < len(labels):  # answers are by label
        raise ValueError(f"{argument}={name} has the labels {labels}: give each a name of its own")
    return model.eval(), tokenizer


def build_config(
    model_type: str,
    backbone: str | None,
    described: Mapping[str, Any],
    *,
    overrides: str | None = None,
    revision: str = "main",
) -> PreTrainedConfig:
    """The configuration of a classifier over a backbone, or over static word embeddings.

    Args:
        model_type: one of `FAMILIES`.
        backbone: folder or Hub id of a BERT, or of a model of `model_type` trained before; None for word embeddings.
        described: the fields that the data decides, such as contexts and labels, and those of word embeddings.
        overrides: `"field=value,field=value"`, over the backbone's.
        revision: branch, tag or commit of a Hub backbone.
    Raises:
        FileNotFoundError, ValueError: naming the argument, and the field that does not fit.
    """
    fields = {} if backbone is None else fields_of_backbone(model_type, backbone, described, revision)
    described = {**described, **of_both(fields, described)}
    fields |= described
    overriding = parse_overrides(model_type, overrides)
    for name in overriding.keys() & described.keys():
        raise ValueError(f"config_overrides={overrides} has {name}, which the data decides: leave it out")
    try:
        return CONFIG_MAPPING[model_type](**fields | overriding)
    except Exception as error:  # of several classes, for a wrong type or for values that contradict each other
        of_overrides = f" with config_overrides={shorten(overrides)}" if overrides else ""
        origin = "word_vectors" if backbone is None else f"model_name_or_path={backbone}"
        raise ValueError(f"{origin}{of_overrides} gives no {model_type}: {reason(error)}") from error


def fields_of_backbone(
    model_type: str, backbone: str, described: Mapping[str, Any], revision: str = "main"
) -> dict[str, Any]:
    """What a backbone decides of the configuration of a classifier over it.

    Raises:
        FileNotFoundError, ValueError: if it cannot be loaded, or is of another kind or of other data.
    """
    with loading("model_name_or_path", backbone):
        backbone_config = AutoConfig.from_pretrained(backbone, revision=revision)
    config_class = CONFIG_MAPPING[model_type]
    of_backbone = next(iter(config_class.sub_configs), None)
    if of_backbone and not isinstance(backbone_config, config_class):
        fields = {of_backbone: backbone_config}
    elif issubclass(config_class, type(backbone_config)):
        fields = {name: value for name, value in backbone_config.to_dict().items() if name not in OF_THE_FILE}
    else:
        kinds = dict.fromkeys(getattr(kind, "model_type", "") for kind in reversed(config_class.__mro__))
        raise ValueError(
            f"model_name_or_path={backbone} holds a {backbone_config.model_type}: a {model_type} starts from a "
            f"{' or a '.join(filter(None, kinds))}"
        )
    if fields.get("aspects") or fields.get("context_source") == "text":  # trained before
        fields.setdefault("symmetric_targets", False)  # of a baseline that was saved before there were such
        before, asked = ({"context_source": "id", **given} for given in (fields, described))
        free = {"none_label", "label2id", *of_both(fields, described)}
        for name in asked:
            if name not in free and before.get(name) != asked[name]:
                raise ValueError(
                    f"model_name_or_path={backbone} was trained with {name}={before.get(name)}, the data asks for "
                    f"{asked[name]}: train from the BERT below it, or bring data and arguments into its terms"
                )
        return fields
    return {name: value for name, value in fields.items() if name not in OF_THE_HEAD}


def of_both(fields: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, Any]:
    """What holds for two trainings of a model that reads its contexts in words; nothing of other models.

    Targets and aspects are those of both. The labels are those of the first, where they have all of the second's.
    """
    if not fields.get("context_source") == described.get("context_source") == "text":
        return {}
    both = {
        name: list(dict.fromkeys([*(fields.get(name) or ()), *(described[name] or ())])) or None
        for name in ("targets", "aspects")
    }
    if {*described["label2id"]} <= {*fields["id2label"].values()}:
        both |= {name: fields[name] for name in ("id2label", "label2id", "none_label")}
    return both


def parse_overrides(model_type: str, overrides: str | None) -> dict[str, Any]:
    """`"field=value,field=value"` with values as JSON has them, or words.

    Raises:
        ValueError: if a part is no assignment, or a configuration of this type has no such field.
    """
    known = {field.name for field in fields_of(CONFIG_MAPPING[model_type])} - NOT_OVERRIDDEN
    chosen = {}
    for assignment in overrides.split(",") if overrides else ():
        name, equals, value = assignment.partition("=")
        if not equals or name not in known:
            raise ValueError(
                f"config_overrides={shorten(overrides)}: {shorten(assignment)!r} is no field=value of a {model_type}"
            )
        try:
            chosen[name] = json.loads(value)
        except ValueError:
            chosen[name] = value
    return chosen


def load_tokenizer(backbone: str, config: PreTrainedConfig, revision: str = "main") -> PreTrainedTokenizerBase:
    """The tokenizer of a backbone, which pads on the right: models read their answer off the first position.

    Raises:
        ValueError: if it is not the backbone's own.
    """
    with loading("model_name_or_path", backbone):
        tokenizer = AutoTokenizer.from_pretrained(backbone, revision=revision, padding_side="right")
    check_tokenizer(f"model_name_or_path={backbone}", tokenizer, config)
    return tokenizer


def load_model(
    backbone: str,
    config: PreTrainedConfig,
    attn_implementation: str | None,
    revision: str = "main",
    auto_class: type = AutoModelForSequenceClassification,
) -> PreTrainedModel:
    """A model with all of the backbone's weights; only what the backbone does not have is new.

    So is a pooler that its checkpoint lacks; `new_weights` of the model names what such a pooler has.

    Raises:
        FileNotFoundError, ValueError: if it cannot be loaded; names the weights of the backbone that are missing and
            would stay random, have another size, or lie beyond its layers and would be lost.
    """
    with loading("model_name_or_path", backbone), quietly():
        backbone_config = AutoConfig.from_pretrained(backbone, revision=revision)
        of_text = backbone_config.get_text_config(encoder=True)
        num_layers = of_text.num_hidden_layers
        of_text.num_hidden_layers = config.get_text_config(encoder=True).num_hidden_layers
        with torch.device("meta"):
            asked = config if type(config) is type(backbone_config) else backbone_config  # of its layers on both sides
            of_backbone = AutoModel.from_config(asked).state_dict().keys()
        model, found = classifier_of(config.model_type, auto_class).from_pretrained(
            backbone,
            config=config,
            attn_implementation=attn_implementation,
            dtype=torch.float32,
            revision=revision,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    prefix = f"{model.base_model_prefix}."
    model.new_weights = {key for key in found["missing_keys"] if ".pooler." in f".{key}"}
    faults = {
        "has other sizes than the configuration in": [
            key for key, *_ in found["mismatched_keys"] if key.removeprefix(prefix) in of_backbone
        ],
        "lacks, so that they would be random,": [
            key for key in {*found["missing_keys"]} - model.new_weights if key.removeprefix(prefix) in of_backbone
        ],
        f"has, beyond the {num_layers} layers of its config.json,": [
            key for key in found["unexpected_keys"] if (layer := LAYER.search(key)) and int(layer[1]) >= num_layers
        ],
    }
    remedy = "Give a complete one of as many subtasks and labels; config_overrides=num_hidden_layers=N drops layers"
    refuse_weights(f"model_name_or_path={backbone}", faults, remedy)
    if new := sorted(model.new_weights):
        logger.warning("model_name_or_path=%s lacks %s, which start from random numbers", backbone, ", ".join(new))
    # The mean loss over a batch is taken in the model, for BERT's class too, whatever its keyword arguments suggest.
    model.accepts_loss_kwargs = False
    return model


def new_model(
    config: PreTrainedConfig, vectors: np.ndarray | None, auto_class: type = AutoModelForSequenceClassification
) -> PreTrainedModel:
    """A model over static word embeddings; all else is new.

    Args:
        config: without a backbone.
        vectors: of the words, (words, size); None where they are new too.
        auto_class: of the task.
    Raises:
        ValueError: if new vectors would stay as they are.
    """
    model = auto_class.from_config(config, dtype=torch.float32)
    if vectors is not None:
        with torch.no_grad():
            model.get_input_embeddings().weight.copy_(torch.from_numpy(vectors))
    elif hasattr(model.base_model, "embeddings") and not model.get_input_embeddings().weight.requires_grad:
        raise ValueError(
            "word_vectors=random would stay random: give --config_overrides trainable_embeddings=true, or word vectors"
        )
    model.accepts_loss_kwargs = False  # as in `load_model`
    return model


def most_tokens(wanted: int, config: PreTrainedConfig) -> int:
    """So many tokens as are wanted, and no more than a model has positions."""
    return min(wanted, positions_of(config.get_text_config(encoder=True)) or wanted)
