"""Fine-tunes QACG-BERT, CG-BERT or BERT for (targeted) aspect-based sentiment analysis and tests it once.

    python examples/run_absa.py configuration/recipes/sentihood_minilm.yaml --data_dir DIR --seeds 1 2 3
    accelerate launch --config_file configuration/accelerate/cpu_2_processes.yaml examples/run_absa.py RECIPE

A recipe (YAML or JSON) holds any of the arguments; the command line overrides it. Run again, the same command goes on
where it was stopped.
"""

import json
import logging
import sys
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers
import yaml
from accelerate import PartialState
from datasets import Dataset
from torch.utils.data import SequentialSampler
from transformers import (
    AutoTokenizer,
    DataCollatorWithPadding,
    HfArgumentParser,
    PreTrainedConfig,
    Trainer,
    TrainingArguments,
    set_seed,
)

from backbones import MINILM, build_config, load_model, resolve_backbone
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import encode
from results import PROTOCOL, summarise, table, write_json, write_probabilities
from sampling import TrainingOrder
from tasks import Rows, Task, choose, make_task

logger = logging.getLogger("run_absa")

METRIC_OF_DATASET = {"sentihood": "sentihood", "semeval2014": "semeval2014"}
BOOTSTRAP = 1000  # resamples of the sentences for the 95% intervals of results.json: <score>_low and <score>_high
# Arguments of the Trainer that change the result: a run that is continued must have been started with the same.
RECIPE_ARGUMENTS = (
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "learning_rate",
    "lr_scheduler_type",
    "warmup_steps",
    "weight_decay",
    "max_grad_norm",
    "optim",
    "bf16",
    "fp16",
    "metric_for_best_model",
    "train_sampling_strategy",
)


# Arguments of the Trainer that this script answers for itself, and what to do instead.
NOT_TAKEN = {
    "seed": "give --seeds",
    "data_seed": "give --seeds",
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
    config_overrides: str | None = field(
        default=None,
        metadata={"help": "Fields of the configuration, e.g. context_initializer_range=0.0498,gate_bias=true."},
    )
    attn_implementation: str = field(
        default="sdpa", metadata={"choices": ["sdpa", "eager"], "help": "Attention backend (default: sdpa)."}
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
    max_length: int = field(default=512, metadata={"help": "Most tokens of a row; texts are cut, contexts never."})
    class_balanced_sampling: bool = field(
        default=False, metadata={"help": "Draw training rows so that each label is as frequent as any other."}
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
        # Without an accelerator the Trainer takes bf16 only where the CPU is asked for by name.
        self.use_cpu = self.use_cpu or not torch.accelerator.is_available()
        # None stands for the data set's own score (`one_seed` puts it in); the Trainer would make it the loss.
        metric_for_best_model = self.metric_for_best_model
        super().__post_init__()
        self.metric_for_best_model = metric_for_best_model


class ABSATrainer(Trainer):
    """The Trainer with this project's order of training rows."""

    def __init__(self, *args, balance_labels: bool, **kwargs):
        super().__init__(*args, **kwargs)
        self.balance_labels = balance_labels

    def _get_train_sampler(self, train_dataset=None) -> TrainingOrder:
        rows = train_dataset if train_dataset is not None else self.train_dataset
        return TrainingOrder(
            lengths=[len(ids) for ids in rows["input_ids"]],
            labels=rows["labels"][:] if self.balance_labels else None,
            batch_size=self.args.train_batch_size * self.args.world_size,
            group_by_length=self.args.train_sampling_strategy == "group_by_length",
            seed=self.args.seed,
        )

    def _get_eval_sampler(self, eval_dataset) -> SequentialSampler:
        # The Trainer's own would group these rows by length too, and their predictions come back in that order.
        return SequentialSampler(eval_dataset)


def parse_arguments(argv: list[str]) -> tuple[ModelArguments, DataArguments, ABSATrainingArguments]:
    """Arguments from a recipe, if the first word names one, and from the command line, which wins.

    Raises:
        FileNotFoundError, ValueError: if the recipe is missing, is no mapping or holds an unknown name.
    """
    parser = HfArgumentParser((ModelArguments, DataArguments, ABSATrainingArguments))
    if argv and argv[0].endswith((".yaml", ".yml", ".json")):
        recipe_file = Path(argv.pop(0))
        if not recipe_file.is_file():
            raise FileNotFoundError(f"recipe {recipe_file} does not exist: see configuration/recipes")
        recipe = yaml.safe_load(recipe_file.read_text(encoding="utf-8"))  # JSON is YAML too
        if not isinstance(recipe, dict):
            raise ValueError(f"recipe {recipe_file} is no mapping of arguments to values")
        known = {action.dest for action in parser._actions}
        unknown = sorted(set(recipe) - known)
        if unknown:
            raise ValueError(f"recipe {recipe_file} holds {unknown}, which are no arguments: see --help")
        parser.set_defaults(**recipe)
    model, data, training = parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    for name, remedy in NOT_TAKEN.items():
        if getattr(training, name) != ABSATrainingArguments.__dataclass_fields__[name].default:
            raise ValueError(f"{name}={getattr(training, name)} has no effect here: {remedy}")
    return model, data, training


def load_task(arguments: DataArguments) -> Task:
    """The data set that the arguments ask for."""
    files = {"train": arguments.train_file, "validation": arguments.validation_file, "test": arguments.test_file}
    data = load_absa_dataset(
        arguments.dataset,
        data_dir=arguments.data_dir,
        data_files={split: name for split, name in files.items() if name} or None,
        deduplicate=arguments.deduplicate,
        absent_label=arguments.absent_label,
        **(
            {"validation_fraction": arguments.validation_fraction, "validation_seed": arguments.validation_seed}
            if arguments.dataset == "semeval2014"
            else {}
        ),
    )
    metric = arguments.metric or METRIC_OF_DATASET.get(arguments.dataset, "absa")
    return make_task(data, metric, arguments.validation_fraction, arguments.validation_seed)


def features(rows: Rows, task: Task, tokenizer, config: PreTrainedConfig, max_length: int) -> Dataset:
    """Rows as the model of this configuration reads them, without padding."""
    columns = encode(
        tokenizer,
        task.contexts,
        rows["text"],
        rows["target"],
        rows["aspect"],
        auxiliary_sentence=config.auxiliary_sentence,
        max_length=min(max_length, config.max_position_embeddings),
    )
    if config.model_type == "bert":
        del columns["context_ids"]
    return Dataset.from_dict({**columns, "labels": [task.label_names.index(label) for label in rows["label"]]})


def longest_first(rows: Dataset) -> np.ndarray:
    """Numbers of the rows by falling length: read in this order, the rows of a batch need little padding."""
    return np.argsort([-len(ids) for ids in rows["input_ids"]], kind="stable")


def softmax(logits: np.ndarray) -> np.ndarray:
    """(rows, labels) -> probabilities in float64, (rows, labels)"""
    return torch.from_numpy(logits).double().softmax(-1).numpy()


def train_one(
    folder: Path,
    splits: dict[str, Rows],
    task: Task,
    seed: int,
    by_accuracy: bool,
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    training_arguments: ABSATrainingArguments,
) -> tuple[dict[str, np.ndarray], dict]:
    """Trains a model on splits["train"], chooses its checkpoint on splits["validation"] and saves it in `folder`.

    Returns:
        Probabilities (rows, labels) for each split but train, and what is known of the training.
    """
    set_seed(seed)
    backbone = resolve_backbone(model_arguments.model_name_or_path)
    config = build_config(
        model_arguments.model_type,
        backbone,
        task.contexts,
        task.label_names,
        auxiliary_sentence=data_arguments.auxiliary_sentence,
        preset=model_arguments.model_preset,
        overrides=model_arguments.config_overrides,
        revision=model_arguments.model_revision,
    )
    tokenizer = AutoTokenizer.from_pretrained(backbone, revision=model_arguments.model_revision)
    model = load_model(backbone, config, model_arguments.attn_implementation, model_arguments.model_revision)
    encoded = {
        name: features(rows, task, tokenizer, config, data_arguments.max_length) for name, rows in splits.items()
    }
    orders = {name: longest_first(rows) for name, rows in encoded.items() if name != "train"}
    encoded |= {name: encoded[name].select(order) for name, order in orders.items()}
    validation = choose(splits["validation"], orders["validation"])

    def compute_metrics(prediction) -> dict[str, float]:
        if by_accuracy:
            return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="audit_")  # undefined in early epochs, and not shown here
            scores = task.score_rows(validation, softmax(prediction.predictions))
        wanted = {*task.main_scores, arguments.metric_for_best_model.removeprefix("eval_")}
        return {name: score for name, score in scores.items() if name in wanted}

    arguments = one_seed(training_arguments, folder, seed, "accuracy" if by_accuracy else task.select_by)
    trainer = ABSATrainer(
        model=model,
        args=arguments,
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"],
        data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8 if arguments.bf16 else None),
        processing_class=tokenizer,
        compute_metrics=compute_metrics,
        balance_labels=data_arguments.class_balanced_sampling,
    )
    last_checkpoint = last_complete_checkpoint(folder)
    if last_checkpoint is not None:
        logger.warning("going on from %s", last_checkpoint)
    trained = trainer.train(resume_from_checkpoint=last_checkpoint)
    trainer.compute_metrics = None  # what follows is scored over all rows at once
    probabilities = {}
    for name, order in orders.items():
        probabilities[name] = np.empty((len(order), len(task.label_names)))
        probabilities[name][order] = softmax(trainer.predict(encoded[name]).predictions)
    trainer.save_model(folder)
    best = trainer.state.best_model_checkpoint
    return probabilities, {
        "best_step": int(best.rsplit("-", 1)[-1]) if best else trainer.state.global_step,
        "steps": trainer.state.global_step,
        "train_runtime_s": trained.metrics["train_runtime"],
        "log": trainer.state.log_history,
    }


def last_complete_checkpoint(folder: Path) -> str | None:
    """The checkpoint to go on from: the state is what the Trainer writes last, so one that was cut off has none."""
    states = folder.glob("checkpoint-*/trainer_state.json")
    folders = sorted((state.parent for state in states), key=lambda path: int(path.name.rsplit("-", 1)[-1]))
    return str(folders[-1]) if folders else None


def one_seed(arguments: ABSATrainingArguments, folder: Path, seed: int, select_by: str) -> ABSATrainingArguments:
    """The arguments of one training run of one seed."""
    values = {name: getattr(arguments, name) for name, spec in arguments.__dataclass_fields__.items() if spec.init}
    values |= {"output_dir": str(folder), "seed": seed, "data_seed": seed, "remove_unused_columns": False}
    values["metric_for_best_model"] = arguments.metric_for_best_model or select_by
    values["greater_is_better"] = not values["metric_for_best_model"].endswith("loss")
    values["dataloader_pin_memory"] = torch.accelerator.is_available()
    return ABSATrainingArguments(**values)


def run_seed(seed: int, folder: Path, task: Task, *arguments) -> dict:
    """Trains and tests with one seed; BERT-single trains one model a context and puts their answers together."""
    model_arguments, data_arguments, _ = arguments
    if model_arguments.model_type == "bert" and not data_arguments.auxiliary_sentence:
        parts = {"-".join(filter(None, pair)): pair for pair in task.contexts}
    else:
        parts = {"": None}

    probabilities = {
        name: np.full((len(rows["id"]), len(task.label_names)), np.nan) for name, rows in task.splits.items()
    }
    training = {}
    for part, pair in parts.items():
        numbers = {name: rows_about(rows, pair) for name, rows in task.splits.items()}
        splits = {name: choose(rows, numbers[name]) for name, rows in task.splits.items()}
        answers, training[part or "model"] = train_one(folder / part, splits, task, seed, pair is not None, *arguments)
        for name, answer in answers.items():
            probabilities[name][numbers[name]] = answer

    result = {"seed": seed, "training": training}
    for name, rows in task.splits.items():
        if name != "train":
            result[name] = task.score_rows(rows, probabilities[name], BOOTSTRAP)
            if PartialState().is_main_process:
                write_probabilities(
                    folder / f"{name}_probabilities.parquet", rows, probabilities[name], task.label_names
                )
    return result


def rows_about(rows: Rows, pair: tuple[str, str] | None) -> list[int]:
    """Numbers of the rows with this (target, aspect); of all rows for None."""
    pairs = zip(rows["target"], rows["aspect"], strict=True)
    return [number for number, row_pair in enumerate(pairs) if pair is None or row_pair == pair]


def check_same_run(output_dir: Path, described: dict):
    """A folder holds one run: started again with other arguments, it would mix two."""
    record = output_dir / "arguments.json"
    if not record.is_file():
        write_json(record, described)
        return
    before, now = json.loads(record.read_text(encoding="utf-8")), json.loads(json.dumps(described))
    changed = [name for name in now if name != "seeds" and before.get(name) != now[name]]
    if changed:
        differences = "; ".join(f"{name} was {before.get(name)!r} and is now {now[name]!r}" for name in changed)
        raise ValueError(f"output_dir={output_dir} holds another run ({differences}): give another --output_dir")


def main(argv: list[str]):
    model_arguments, data_arguments, training_arguments = parse_arguments(argv)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    state = PartialState()
    if not state.is_main_process:
        transformers.utils.logging.set_verbosity_error()
    if len(set(data_arguments.seeds)) != len(data_arguments.seeds):
        raise ValueError(f"seeds={data_arguments.seeds} holds a seed twice: its run would count double")

    task = load_task(data_arguments)
    output_dir = Path(training_arguments.output_dir)
    described = {**asdict(model_arguments), **asdict(data_arguments)}
    described |= {name: getattr(training_arguments, name) for name in RECIPE_ARGUMENTS}
    described["world_size"] = training_arguments.world_size
    if state.is_main_process:
        check_same_run(output_dir, described)

    results = {}
    for seed in data_arguments.seeds:
        folder = output_dir / f"seed-{seed}"
        finished = folder / "results.json"
        if not finished.is_file():
            result = run_seed(seed, folder, task, model_arguments, data_arguments, training_arguments)
            if state.is_main_process:
                write_json(finished, result)
            state.wait_for_everyone()
        results[seed] = json.loads(finished.read_text(encoding="utf-8"))

    if not state.is_main_process:
        return
    tested = "test" if "test" in task.splits else "validation"
    scores = {
        seed: {name: float("nan") if score is None else score for name, score in result[tested].items()}
        for seed, result in results.items()
    }
    summary = summarise(scores)
    write_json(
        output_dir / "all_results.json",
        {
            "protocol": PROTOCOL,
            "split": tested,
            "main_scores": task.main_scores,
            "arguments": described,
            "summary": summary,
            "seeds": {seed: {k: v for k, v in result.items() if k != "training"} for seed, result in results.items()},
        },
    )
    print(table(summary, task.main_scores, tested, len(scores)))
    print(f"checkpoints, probabilities and all scores: {output_dir}")


if __name__ == "__main__":
    main(sys.argv[1:])
