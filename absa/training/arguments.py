"""What a training run is asked for: three dataclasses, from a recipe and the command line, checked."""

import argparse
import json
import logging
from dataclasses import dataclass, field
from math import inf
from typing import Any, get_type_hints

import torch
from transformers import TrainingArguments

from absa.commands import make_parser, parse_words
from absa.models import MINILM, chosen_fields
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.settings import read_settings
from datasets_scripts.source_files import shorten

logger = logging.getLogger("run_absa")

# Arguments of the Trainer that this script answers for itself, and what to do instead.
NOT_TAKEN = {
    "seed": "give --seeds",
    "data_seed": "give --seeds",
    "load_best_model_at_end": "the checkpoint that is tested is the one chosen on the validation split",
    "do_train": "every run trains",
    "do_predict": "every run is tested",
    "resume_from_checkpoint": "the same command, given again, goes on where it stopped",
}

# What a recipe says of its own data set alone.
OF_THE_DATA = (
    *("data_dir", "data_version", "train_file", "validation_file", "test_file", "absent_label"),
    *("metric", "metric_for_best_model"),
)

# What is wanted of numbers that the Trainer takes as they are, and then fails late or trains to NaN.
NUMBERS = (
    ("a number above 0, but not infinity", lambda value: 0 < value < inf, ("num_train_epochs", "new_learning_rate")),
    (
        "a finite number of at least 0",
        lambda value: 0 <= value < inf,
        (
            "learning_rate",
            "warmup_steps",
            "weight_decay",
            "max_grad_norm",
            "adam_epsilon",
            "logging_steps",
            "eval_steps",
            "eval_delay",
            "save_steps",
            "neftune_noise_alpha",
            "dataloader_num_workers",
        ),
    ),
    ("a number from 0 to 1", lambda value: 0 <= value <= 1, ("label_smoothing_factor",)),
    ("a number from 0 to below 1", lambda value: 0 <= value < 1, ("adam_beta1", "adam_beta2")),
    ("a factor above 0 and at most 1", lambda value: 0 < value <= 1, ("layer_decay",)),
    (
        "at least 1",
        lambda value: value >= 1,
        ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"),
    ),
    ("at least 1, or -1 for num_train_epochs", lambda value: value >= 1 or value == -1, ("max_steps",)),
)


@dataclass
class ModelArguments:
    """Which model, from which weights."""

    model_type: str = field(
        default="qacg_bert",
        metadata={
            "choices": ["qacg_bert", "cg_bert", "bert"],
            "help": "qacg_bert and cg_bert are the paper's; bert is BERT-pair with auxiliary sentences and "
            "BERT-single, one model for each context, without.",
        },
    )
    model_name_or_path: str = field(
        default="google-bert/bert-base-uncased",
        metadata={"help": f"Hub id or folder of a BERT, or {MINILM} for the one inside that PyPI package."},
    )
    model_revision: str = field(default="main", metadata={"help": "Branch, tag or commit of a Hub model."})
    model_preset: str | None = field(
        default=None, metadata={"help": "JSON file of configuration/models with the context settings (default: none)."}
    )
    num_context_layers: int | None = field(
        default=None,
        metadata={
            "help": "Layers, from the top, that know the context; all contexts of a text share those below (default: "
            "all layers, as in the paper)."
        },
    )
    reset_pooler: bool = field(
        default=False,
        metadata={
            "help": "Start the pooler from orthogonal weights, for backbones that never trained theirs: sentence "
            "encoders such as MiniLM (default: the backbone's)."
        },
    )
    config_overrides: str | None = field(
        default=None,
        metadata={"help": "Fields of the configuration, e.g. context_initializer_range=0.0498,gate_bias=true."},
    )
    attn_implementation: str = field(
        default="sdpa",
        metadata={
            "choices": ["sdpa", "eager", "triton"],
            "help": "Attention backend; triton, one kernel for both halves, needs a CUDA device (default: sdpa).",
        },
    )

    def __post_init__(self):
        if self.num_context_layers is not None and self.num_context_layers < 1:
            raise ValueError(f"num_context_layers={self.num_context_layers}: at least 1")
        # For its errors, which are better known before anything is loaded.
        chosen_fields(self.model_type, self.model_preset, self.config_overrides)


@dataclass
class DataArguments:
    """Which data, and how it is shown to the model."""

    dataset: str = field(
        default="sentihood",
        metadata={"help": "sentihood, semeval2014, custom (own csv/jsonl), or a folder or Hub id of parquet files."},
    )
    data_dir: str | None = field(
        default=None, metadata={"help": "Folder with the data set's files (default: they are downloaded)."}
    )
    data_version: str | None = field(
        default=None,
        metadata={
            "choices": ["v1", "v2"],
            "help": "Training file of semeval2014: 3044 (v1, default) or 3041 sentences.",
        },
    )
    train_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    validation_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    test_file: str | None = field(default=None, metadata={"help": "csv or jsonl, with dataset=custom."})
    absent_label: str | None = field(
        default=None,
        metadata={"help": "Label of the pairs that own files have no row for (default: no such rows)."},
    )
    deduplicate: bool = field(default=False, metadata={"help": "Drop training texts that stand in another split."})
    validation_fraction: float = field(
        default=0.1, metadata={"help": "Part of the training texts held out where the data has no validation split."}
    )
    validation_seed: int = field(default=0, metadata={"help": "Seed of that choice, the same for all seeds of a run."})
    metric: str | None = field(
        default=None,
        metadata={
            "choices": ["sentihood", "semeval2014", "absa"],
            "help": "How predictions are scored (default: the data set's own, absa for others).",
        },
    )
    auxiliary_sentence: bool = field(
        default=True, metadata={"help": "Write the context behind the text: [SEP] location - 1 - price."}
    )
    symmetric_targets: bool = field(
        default=False,
        metadata={
            "help": "Read a text once for each target, as one about the first: what is learnt of one holds for all "
            "(default: once for all)."
        },
    )
    contexts_together: bool = field(
        default=False,
        metadata={
            "help": "A row of a batch is a text with all the contexts it has rows for, in one pass; needs "
            "auxiliary_sentence=false and a model_type with contexts (default: a text with one context)."
        },
    )
    max_length: int = field(
        default=512,
        metadata={
            "help": "Most tokens of a row, and no more than the model has positions; texts are cut, contexts never."
        },
    )
    class_balanced_sampling: bool = field(
        default=False, metadata={"help": "Draw training rows so that each label is as frequent as any other."}
    )
    class_weighted_loss: bool = field(
        default=False, metadata={"help": "Weigh training rows so that each label counts as much as any other."}
    )
    oracle: bool = field(
        default=False,
        metadata={
            "help": "Score the test split at every evaluation too, and report what choosing the checkpoint on it "
            "would show (oracle in results.json). Nothing is chosen by it."
        },
    )
    seeds: list[int] = field(
        default_factory=lambda: [42],
        metadata={"help": "One training run each; the table has mean (std) (default: 42)."},
    )

    def __post_init__(self):
        if self.max_length < 1:
            raise ValueError(f"max_length={self.max_length}: at least 1")
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"validation_fraction={self.validation_fraction}: a part, above 0 and below 1")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise ValueError(
                    f"seeds={shorten(self.seeds)}: {shorten(seed)} is no seed; give numbers from 0 to {2**32 - 1}"
                )


@dataclass
class ABSATrainingArguments(TrainingArguments):
    """The Trainer's arguments with the paper's values as defaults and the checkpoint chosen on validation data."""

    output_dir: str | None = field(
        default="outputs/run", metadata={"help": "One folder a seed, and all_results.json."}
    )
    num_train_epochs: float = field(default=25.0, metadata={"help": "Epochs (default: the paper's 25)."})
    per_device_train_batch_size: int = field(
        default=24, metadata={"help": "Rows of a step (default: the paper's 24)."}
    )
    per_device_eval_batch_size: int = field(default=64, metadata={"help": "Rows of an evaluation step (default: 64)."})
    learning_rate: float = field(default=2e-5, metadata={"help": "Peak learning rate (default: the paper's 2e-5)."})
    new_learning_rate: float | None = field(
        default=None,
        metadata={
            "help": "Peak learning rate of what the backbone has not: classifier, context embeddings, projections and "
            "gates (default: learning_rate)."
        },
    )
    layer_decay: float = field(
        default=1.0,
        metadata={
            "help": "Factor of the backbone's learning rate from one layer to the one below; the pooler has the whole "
            "rate, the embeddings the least (default: 1)."
        },
    )
    r_drop: bool = field(
        default=False,
        metadata={
            "help": "Show each row twice, and add to the loss how far dropout parts the two answers; it takes up to "
            "twice the time (default: False)."
        },
    )
    warmup_steps: float = field(default=0.1, metadata={"help": "Steps, or below 1 their fraction (default: 0.1)."})
    weight_decay: float = field(default=0.01, metadata={"help": "Of all but biases and LayerNorm (default: 0.01)."})
    eval_strategy: str = field(default="epoch", metadata={"help": "When validation data is scored (default: epoch)."})
    save_strategy: str = field(default="epoch", metadata={"help": "As eval_strategy (default: epoch)."})
    save_total_limit: int | None = field(
        default=1, metadata={"help": "Checkpoints kept beside the best (default: 1)."}
    )
    load_best_model_at_end: bool = field(default=True, metadata={"help": "Test the best checkpoint (default: True)."})
    train_sampling_strategy: str = field(
        default="group_by_length",
        metadata={
            "choices": ["random", "group_by_length"],
            "help": "Rows of like length share a batch (the default).",
        },
    )
    logging_steps: float = field(default=50, metadata={"help": "Steps between two logs of the loss (default: 50)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)  # a bool from __post_init__ on

    def __post_init__(self):
        for wanted, is_wanted, names in NUMBERS:
            for name in names:
                value = getattr(self, name)
                if value is not None and not is_wanted(value):
                    raise ValueError(f"{name}={shorten(value)}: {wanted}")
        # Without an accelerator the Trainer takes bf16 only where the CPU is asked for by name.
        self.use_cpu = self.use_cpu or not torch.accelerator.is_available()
        device_type = "cpu" if self.use_cpu else torch.accelerator.current_accelerator().type
        self.bf16 = use_bfloat16("false" if self.fp16 and self.bf16 == "auto" else self.bf16, device_type)
        # None stands for the data set's own score (`one_seed` puts it in); the Trainer would make it the loss.
        metric_for_best_model = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric_for_best_model
        if isinstance(self.lr_scheduler_kwargs, str):
            raise ValueError(f"lr_scheduler_kwargs={shorten(self.lr_scheduler_kwargs)}: a mapping, as in {{power: 2}}")


def parse_arguments(argv: list[str]) -> tuple[ModelArguments, DataArguments, ABSATrainingArguments]:
    """Arguments from a recipe, if the first word names one, and from the command line, which wins.

    Raises:
        FileNotFoundError, ValueError: if the recipe is missing or cannot be read, is no mapping or holds an unknown
            name, or a value is out of its range.
    """
    parser = make_parser(ModelArguments, DataArguments, ABSATrainingArguments)
    if argv and argv[0].endswith((".yaml", ".yml", ".json")):
        recipe_file, argv = argv[0], argv[1:]
        recipe = read_settings("recipe ", recipe_file, "see configuration/recipes")
        known = {action.dest for action in parser._actions} - {"help"}
        unknown = sorted(map(str, set(recipe) - known))
        if unknown:
            raise ValueError(f"recipe {recipe_file} holds {shorten(unknown)}, which are no arguments: see --help")
        check_texts(recipe_file, recipe)
        recipe = for_dataset(recipe, argv)
        argv = [*recipe_words(recipe), *argv]  # of an argument given twice the last counts
    model, data, training = parse_words(parser, argv)
    for name, remedy in NOT_TAKEN.items():
        if getattr(training, name) != ABSATrainingArguments.__dataclass_fields__[name].default:
            raise ValueError(f"{name}={getattr(training, name)} has no effect here: {remedy}")
    if training.hub_token is not None:  # which is not shown, either
        raise ValueError("hub_token would be saved beside the checkpoints: set HF_TOKEN, or run `hf auth login`")
    return model, data, training


def for_dataset(recipe: dict[str, Any], argv: list[str]) -> dict[str, Any]:
    """A recipe without what it says of its data, if the command line names another data set."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--dataset")
    own, wanted = recipe.get("dataset", DataArguments.dataset), parser.parse_known_args(argv)[0].dataset
    left_out = [name for name in OF_THE_DATA if recipe.get(name) is not None]
    if wanted in (None, own) or not left_out:
        return recipe
    told = ", ".join(f"{name}={shorten(recipe[name])}" for name in left_out)
    logger.warning("dataset=%s: of the recipe, which is for %s, %s is left out", wanted, own, told)
    return {name: value for name, value in recipe.items() if name not in left_out}


def check_contexts(model: ModelArguments, data: DataArguments):
    """What asks for contexts in one pass or in some layers only fits the model and the other arguments."""
    if model.model_type == "bert" and model.num_context_layers is not None:
        raise ValueError(
            f"num_context_layers={model.num_context_layers} with model_type=bert, which has no such layers: leave it "
            "out, or choose qacg_bert or cg_bert"
        )
    if not data.contexts_together:
        return
    if model.model_type == "bert" or data.auxiliary_sentence:
        raise ValueError(
            f"contexts_together=true with model_type={model.model_type} and auxiliary_sentence="
            f"{str(data.auxiliary_sentence).lower()}: a text has one form for all contexts only for qacg_bert and "
            "cg_bert without auxiliary sentences"
        )
    if data.class_balanced_sampling:
        raise ValueError(
            "class_balanced_sampling=true draws rows, contexts_together=true texts, which have rows of all labels: "
            "leave one out"
        )


def check_balance(data: DataArguments):
    """Labels are balanced once."""
    if data.class_weighted_loss and data.class_balanced_sampling:
        raise ValueError(
            "class_weighted_loss=true with class_balanced_sampling=true: each would balance what the other has "
            "balanced; leave one out"
        )


def check_r_drop(data: DataArguments, training: ABSATrainingArguments):
    """R-Drop adds to the loss that the model computes itself."""
    for name, value in (
        ("class_weighted_loss", data.class_weighted_loss),
        ("label_smoothing_factor", training.label_smoothing_factor),
    ):
        if training.r_drop and value:
            raise ValueError(f"r_drop=true with {name}={str(value).lower()}: each is a loss of its own; leave one out")


def check_texts(recipe_file: str, recipe: dict[str, Any]):
    """What YAML takes for something else does not become a text in other words: `no` would be the label False."""
    for arguments in (ModelArguments, DataArguments, ABSATrainingArguments):
        # Not those of `fields`, in which HfArgumentParser leaves str of `dict | str`.
        for name, kind in get_type_hints(arguments).items():
            value = recipe.get(name)
            (only, *others) = value if value and isinstance(value, list) else [value]
            if kind in (str, str | None) and (others or isinstance(only, bool | float | dict)):
                raise ValueError(
                    f"recipe {recipe_file} has {name}={shorten(value)}, a {type(value).__name__} where a text is "
                    f'wanted: put what you mean in quotes, as in {name}: "no"'
                )


def recipe_words(recipe: dict) -> list[str]:
    """A recipe as the words of a command, so that its values are checked like those."""
    words = []
    for name, value in recipe.items():
        if isinstance(value, list):
            if any(isinstance(item, list) for item in value):
                raise ValueError(f"recipe: {name} is a list of lists, where it takes values")
            words += [f"--{name}", *map(recipe_word, value)]
            if any(word.startswith("--") for word in map(recipe_word, value)):
                raise ValueError(f"recipe: {name}={shorten(value)} would begin another argument: leave out --")
        elif value is not None:
            words.append(f"--{name}={recipe_word(value)}")
    return words


def recipe_word(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool | dict) else str(value)
