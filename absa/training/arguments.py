"""What a training run is asked for: dataclasses, from a recipe and the command line, checked."""

import argparse
import logging
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from transformers import CONFIG_MAPPING, Seq2SeqTrainingArguments

from absa.commands import make_parser, parse_words, reason, recipe_words
from absa.models import FAMILIES, classifier_of, parse_overrides, takes
from absa.packages import GLOVE, MINILM, MPNET
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.tasks.arguments import ARGUMENTS, ClassificationArguments, DataArguments
from absa.word_vectors import RANDOM
from datasets_scripts.source_files import shorten

logger = logging.getLogger(__name__)

BERT = "google-bert/bert-base-uncased"
# Arguments of the Trainer that a run answers for itself, and what to do instead.
NOT_TAKEN = {
    "seed": "give --seeds",
    "data_seed": "give --seeds",
    "load_best_model_at_end": "the checkpoint that is tested is the one chosen on the validation split",
    "resume_from_checkpoint": "the same command, given again, goes on where it stopped",
    "save_only_model": "a run that is stopped could not go on from such checkpoints",
    "dataloader_drop_last": "each row of a split is answered and scored",
    "bf16_full_eval": "what is chosen is scored in float32",
    "fp16_full_eval": "what is chosen is scored in float32",
}
# What a recipe says of its own data set alone.
OF_THE_DATA = (
    *("data_dir", "data_version", "data_config", "train_file", "validation_file", "test_file", "absent_label"),
    *("dev_split", "dev_seed", "labels", "tags", "columns", "tag_column", "separator", "mixture", "data_dirs"),
    *("metric", "metric_for_best_model"),
)


@dataclass
class ModelArguments:
    """Which model, from which weights."""

    task: str = field(default="classification", metadata={"choices": list(ARGUMENTS), "help": "What is trained for."})
    model_type: str = field(
        default="qacg_bert",
        metadata={
            "choices": list(FAMILIES),
            "help": "qacg_bert and cg_bert are the paper's; bert is BERT-pair with auxiliary sentences and "
            "BERT-single, one model for each context, without, and roberta, mpnet and so on are the same around other "
            "encoders; af_lstm, over word vectors, is AF-LSTM and its baselines; scalar_mix reads a learned mix of "
            "all layers of any encoder.",
        },
    )
    model_name_or_path: str | None = field(
        default=None,
        metadata={
            "help": f"Hub id or folder of a BERT, or {MINILM} for the one inside that PyPI package; another encoder, "
            f"such as {MPNET}, for a model_type that takes any; {{seed}} in it is each seed's own number (default: "
            f"{BERT})."
        },
    )
    word_vectors: str | None = field(
        default=None,
        metadata={
            "help": "In place of an encoder, static word embeddings that start from these: a file of GloVe, word2vec "
            f"or fastText, {MINILM}, {GLOVE}, or {RANDOM}."
        },
    )
    mean_of: list[str] | None = field(
        default=None,
        metadata={
            "help": "Folders or Hub ids of one or more models that were trained from the same weights, such as the "
            "seeds of a run: the model has the mean of their weights (a model soup) without the aspects that the data "
            "does not name, and nothing is trained; {seed} as above."
        },
    )
    model_revision: str = field(default="main", metadata={"help": "Branch, tag or commit of a Hub model."})
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
            "help": "Attention backend; triton, one kernel for both halves, needs a CUDA device (default: sdpa, "
            "or eager for an encoder without it).",
        },
    )

    def __post_init__(self):
        # For its error, where the family has no model for the task.
        classifier_of(self.model_type, ARGUMENTS[self.task].auto_class)
        config_class = CONFIG_MAPPING[self.model_type]
        # An encoder's embeddings have a size of their own too (ELECTRA).
        has_words = hasattr(config_class, "embedding_size") and not hasattr(config_class, "num_hidden_layers")
        if self.word_vectors is None:
            if has_words and "encoder_config" not in config_class.sub_configs:
                raise ValueError(f"model_type={self.model_type} has no encoder: give --word_vectors, such as {MINILM}")
            self.model_name_or_path = self.model_name_or_path or (None if self.mean_of else BERT)
        elif self.model_name_or_path is not None:
            raise ValueError(
                f"word_vectors={self.word_vectors} with model_name_or_path={self.model_name_or_path}: word vectors "
                "take the place of an encoder; leave one out"
            )
        elif not has_words:
            raise ValueError(f"word_vectors={self.word_vectors}: a {self.model_type} has an encoder; leave it out")
        parse_overrides(self.model_type, self.all_overrides)  # for its errors, before anything is loaded

    @property
    def all_overrides(self) -> str | None:
        """`config_overrides` with the number of guided layers."""
        layers = f"num_context_layers={self.num_context_layers}" if self.num_context_layers is not None else None
        return ",".join(filter(None, (self.config_overrides, layers))) or None

    @property
    def attention(self) -> str | None:
        """`attn_implementation` for `from_pretrained`, to which None is sdpa where the encoder has it, else eager."""
        return None if self.attn_implementation == "sdpa" else self.attn_implementation

    def of_seed(self, seed: int) -> "ModelArguments":
        """These with the number of a seed for {seed} in the paths of models, such as what `denoise.py` has saved."""
        start, models = self.model_name_or_path, self.mean_of
        return replace(
            self,
            model_name_or_path=start and start.replace("{seed}", str(seed)),
            mean_of=models and [name.replace("{seed}", str(seed)) for name in models],
        )


@dataclass
class ABSATrainingArguments(Seq2SeqTrainingArguments):
    """The Trainer's arguments with the paper's values as defaults and the checkpoint chosen on validation data."""

    _VALID_DICT_FIELDS = (*Seq2SeqTrainingArguments._VALID_DICT_FIELDS, "learning_rates")

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
    learning_rates: dict | str | None = field(
        default=None,
        metadata={
            "help": "Peak learning rates of modules of the model, in place of the others, and 0 for what is not "
            'trained: \'{"lstm": 1e-3, "encoder.embeddings": 0}\' (default: none).'
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
    teachers: list[str] | None = field(
        default=None,
        metadata={
            "help": "Folders or Hub ids of trained classifiers with the same labels: learn the mean of their "
            "probabilities for the training rows in place of the labels (default: the labels)."
        },
    )
    warmup_steps: float = field(default=0.1, metadata={"help": "Steps, or below 1 their fraction (default: 0.1)."})
    weight_decay: float = field(default=0.01, metadata={"help": "Of all but biases and LayerNorm (default: 0.01)."})
    l2: float | None = field(
        default=None,
        metadata={
            "help": "Weight of the sum of the squares of all trained weights in the loss; the optimizer is then Adam, "
            "and there is no weight_decay (default: none, AdamW)."
        },
    )
    eval_strategy: str = field(default="epoch", metadata={"help": "When validation data is scored (default: epoch)."})
    save_strategy: str = field(default="epoch", metadata={"help": "As eval_strategy (default: epoch)."})
    patience: int | None = field(
        default=None,
        metadata={
            "help": "Stop after so many evaluations without a better score on the validation split (default: never)."
        },
    )
    save_total_limit: int | None = field(
        default=2, metadata={"help": "Checkpoints kept, the best and the last among them (default: 2)."}
    )
    load_best_model_at_end: bool = field(default=True, metadata={"help": "Test the best checkpoint (default: True)."})
    train_sampling_strategy: str = field(
        default="group_by_length",
        metadata={
            "choices": ["random", "group_by_length"],
            "help": "Rows of like length share a batch (the default).",
        },
    )
    seeds: list[int] = field(
        default_factory=lambda: [42],
        metadata={"help": "One training run each; the table has mean (std) (default: 42)."},
    )
    init_seed: int | None = field(
        default=None,
        metadata={
            "help": "Seed of the weights that are new, the same for all seeds: so that the mean of their weights is a "
            "model (default: each seed has its own)."
        },
    )
    none_factor: float | None = field(
        default=None,
        metadata={
            "help": "Multiply the probability that a text does not speak of what is asked by this, after "
            "training, such as 0.25 to find more of what texts say (default: as trained)."
        },
    )
    oracle: bool = field(
        default=False,
        metadata={
            "help": "Score the test split at every evaluation too, and report what choosing the checkpoint on it "
            "would show (oracle in results.json). Nothing is chosen by it."
        },
    )
    logging_steps: float = field(default=50, metadata={"help": "Steps between two logs of the loss (default: 50)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)  # a bool from __post_init__ on

    def __post_init__(self):
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds={self.seeds} holds a seed twice: its run would count double")
        if self.r_drop and self.label_smoothing_factor:
            raise ValueError(
                f"r_drop=true with label_smoothing_factor={self.label_smoothing_factor}: each is a loss of its own; "
                "leave one out"
            )
        if self.l2 is not None and self.l2 < 0:
            raise ValueError(f"l2={self.l2}: a weight of at least 0")
        if self.none_factor is not None and self.none_factor <= 0:
            raise ValueError(f"none_factor={self.none_factor}: a number above 0, such as 0.25")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience={self.patience}: a number of evaluations, at least 1")
        if self.hub_token is not None:  # which is not shown, either
            raise ValueError("hub_token would be saved beside the checkpoints: set HF_TOKEN, or run `hf auth login`")
        # Without an accelerator the Trainer takes bf16 only where the CPU is asked for by name.
        self.use_cpu = self.use_cpu or not torch.accelerator.is_available()
        device_type = "cpu" if self.use_cpu else torch.accelerator.current_accelerator().type
        self.bf16 = use_bfloat16("false" if self.fp16 and self.bf16 == "auto" else self.bf16, device_type)
        # None stands for the data set's own score (`one_seed` puts it in); the Trainer would make it the loss.
        metric_for_best_model = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric_for_best_model


class Arguments(NamedTuple):
    """All that a training run is asked for."""

    model: ModelArguments
    data: DataArguments
    training: ABSATrainingArguments


def parse_arguments(argv: list[str]) -> Arguments:
    """As `parse_all`, of a training run."""
    return parse_all(argv)[0]


def parse_all(argv: list[str], *others: type) -> tuple:
    """Arguments from a recipe, if the first word names one, and from the command line, which wins.

    Args:
        others: dataclasses of further arguments.
    Returns:
        `Arguments`, and one of each of the others.
    Raises:
        FileNotFoundError, ValueError: if the recipe is missing, cannot be read or holds an unknown name, or a value is
            out of its range.
    """
    recipe_file, recipe = None, {}
    if argv and argv[0].endswith((".yaml", ".yml", ".json")):
        recipe_file, *argv = argv
        recipe = read_recipe(recipe_file)
    task = first_look(argv, "--task") or recipe.get("task", ModelArguments.task)
    # The parser refuses another task.
    parser = make_parser(ModelArguments, ARGUMENTS.get(task, DataArguments), ABSATrainingArguments, *others)
    unknown = sorted(recipe.keys() - {action.dest for action in parser._actions})
    if unknown:
        raise ValueError(
            f"recipe {recipe_file} holds {shorten(unknown)}, which are no arguments of task={task}: see --help"
        )
    # Of an argument given twice the last counts.
    words = [*recipe_words(for_dataset(recipe, first_look(argv, "--dataset"))), *argv]
    model, data, training, *further = parse_words(parser, words)
    for name, remedy in NOT_TAKEN.items():
        value = getattr(training, name)
        if value != ABSATrainingArguments.__dataclass_fields__[name].default:
            raise ValueError(f"{name}={value} has no effect here: {remedy}")
    if training.greater_is_better == (training.metric_for_best_model or "loss").endswith("loss"):
        remedy = "losses are better when they are less, all scores when they are greater"
        raise ValueError(f"greater_is_better={training.greater_is_better} has no effect here: {remedy}")
    if isinstance(data, ClassificationArguments) and data.symmetric_targets is None:
        reads_contexts = takes(classifier_of(model.model_type), "context_ids")
        data.symmetric_targets = reads_contexts and data.context_source == "text"
    return Arguments(model, data, training), *further


def read_recipe(file: str) -> dict[str, Any]:
    """The arguments in a YAML or JSON file. Its scalars are texts, as on the command line: `no` stays `no`.

    Raises:
        FileNotFoundError, ValueError: naming the file.
    """
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
        recipe = yaml.load(text, yaml.BaseLoader)  # of JSON too, which is YAML
        names = [key.value for key, _ in yaml.compose(text).value] if isinstance(recipe, dict) else []
    except FileNotFoundError:
        raise FileNotFoundError(f"recipe {file} does not exist: see configuration/recipes") from None
    except (ValueError, TypeError, yaml.YAMLError) as error:
        raise ValueError(f"recipe {file} cannot be read: {reason(error)}; see configuration/recipes") from error
    if not isinstance(recipe, dict):
        raise ValueError(f"recipe {file} is no mapping of arguments to values: see configuration/recipes")
    if repeated := [name for name in recipe if names.count(name) > 1]:
        raise ValueError(f"recipe {file} gives {shorten(repeated)} more than once: keep one")
    return recipe


def first_look(argv: list[str], option: str) -> str | None:
    """The value of one option among words that are parsed later."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(option, dest="value")
    return parser.parse_known_args(argv)[0].value


def for_dataset(recipe: dict[str, Any], wanted: str | None) -> dict[str, Any]:
    """A recipe without what it says of its own data, if the command line names another data set."""
    own = None if recipe.get("mixture") else recipe.get("dataset", DataArguments.dataset)
    left_out = [name for name in OF_THE_DATA if recipe.get(name) is not None]
    if wanted is None or wanted == own or not left_out:
        return recipe
    told = ", ".join(f"{name}={shorten(recipe[name])}" for name in left_out)
    logger.warning("dataset=%s: of the recipe, which is for %s, %s is left out", wanted, own or "a mixture", told)
    return {name: value for name, value in recipe.items() if name not in left_out}
