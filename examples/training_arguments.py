"""What a training run is asked for: three dataclasses, from a recipe and the command line, checked."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
import yaml
from transformers import HfArgumentParser, TrainingArguments

from backbones import MINILM

# Arguments of the Trainer that this script answers for itself, and what to do instead.
NOT_TAKEN = {
    "seed": "give --seeds",
    "data_seed": "give --seeds",
    "load_best_model_at_end": "the checkpoint that is tested is the one chosen on the validation split",
    "do_train": "every run trains",
    "do_predict": "every run is tested",
    "resume_from_checkpoint": "the same command, given again, goes on where it stopped",
}


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
    contexts_together: bool = field(
        default=False,
        metadata={
            "help": "A row of a batch is a text with all the contexts it has rows for, in one pass; needs "
            "auxiliary_sentence=false and a model_type with contexts (default: a text with one context)."
        },
    )
    max_length: int = field(default=512, metadata={"help": "Most tokens of a row; texts are cut, contexts never."})
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

    def __post_init__(self):
        if not 0 < self.layer_decay <= 1:
            raise ValueError(f"layer_decay={self.layer_decay}: a factor above 0 and at most 1")
        if self.new_learning_rate is not None and self.new_learning_rate <= 0:
            raise ValueError(f"new_learning_rate={self.new_learning_rate}: a number above 0")
        # Without an accelerator the Trainer takes bf16 only where the CPU is asked for by name.
        self.use_cpu = self.use_cpu or not torch.accelerator.is_available()
        # None stands for the data set's own score (`one_seed` puts it in); the Trainer would make it the loss.
        metric_for_best_model = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric_for_best_model


def parse_arguments(argv: list[str]) -> tuple[ModelArguments, DataArguments, ABSATrainingArguments]:
    """Arguments from a recipe, if the first word names one, and from the command line, which wins.

    Raises:
        FileNotFoundError, ValueError: if the recipe is missing, is no mapping or holds an unknown name.
    """
    parser = HfArgumentParser((ModelArguments, DataArguments, ABSATrainingArguments))
    if argv and argv[0].endswith((".yaml", ".yml", ".json")):
        recipe_file, argv = Path(argv[0]), argv[1:]
        if not recipe_file.is_file():
            raise FileNotFoundError(f"recipe {recipe_file} does not exist: see configuration/recipes")
        try:
            content = recipe_file.read_text(encoding="utf-8-sig")
            recipe = json.loads(content) if recipe_file.suffix == ".json" else yaml.safe_load(content)
        except (ValueError, yaml.YAMLError, RecursionError) as error:
            raise ValueError(f"recipe {recipe_file} cannot be read: {error}") from error
        if not isinstance(recipe, dict):
            raise ValueError(f"recipe {recipe_file} is no mapping of arguments to values")
        known = {action.dest for action in parser._actions} - {"help"}
        unknown = sorted(map(str, set(recipe) - known))
        if unknown:
            raise ValueError(f"recipe {recipe_file} holds {unknown}, which are no arguments: see --help")
        argv = [*recipe_words(recipe), *argv]  # of an argument given twice the last counts
    model, data, training = parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    for name, remedy in NOT_TAKEN.items():
        if getattr(training, name) != ABSATrainingArguments.__dataclass_fields__[name].default:
            raise ValueError(f"{name}={getattr(training, name)} has no effect here: {remedy}")
    return model, data, training


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


def recipe_words(recipe: dict) -> list[str]:
    """A recipe as the words of a command, so that its values are checked like those."""
    words = []
    for name, value in recipe.items():
        if value is not None:
            values = value if isinstance(value, list) else [value]
            if any(isinstance(item, list) for item in values):
                raise ValueError(f"recipe: {name} is a list of lists, where it takes values")
            words += [f"--{name}", *(json.dumps(item) if isinstance(item, dict) else str(item) for item in values)]
    return words
