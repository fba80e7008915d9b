"""A training run: one model a seed, its checkpoint chosen on the validation split, the test split read once.

    python -m absa.training.run RECIPE --data_dir DIR --seeds 1 2 3

is what `examples/run_absa.py` does. A recipe (YAML or JSON) holds any of the arguments; the command line overrides it.
Run again, the same command goes on where it was stopped.
"""

import hashlib
import json
import logging
import signal
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import torch
import transformers
from accelerate import PartialState
from datasets import Dataset, disable_progress_bars
from scipy.special import softmax
from transformers import DataCollatorWithPadding, PreTrainedConfig, set_seed

from absa.commands import user_errors
from absa.models import build_config, load_model, load_tokenizer, reset_pooler, resolve_backbone
from absa.tasks.classification import Rows, Task, choose, make_task, table_of_labels
from absa.tasks.collating import CollatorOfTexts
from absa.training import checkpoints
from absa.training.arguments import (
    ABSATrainingArguments,
    DataArguments,
    ModelArguments,
    check_balance,
    check_contexts,
    check_r_drop,
    parse_arguments,
)
from absa.training.calibration import calibration_errors, helpful_temperature
from absa.training.optimisation import balanced_loss
from absa.training.results import PROTOCOL, summarise, table, write_json, write_probabilities
from absa.training.trainer import ABSATrainer, ScoreTestSplit, compute_in_float32, predict
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import Contexts, encode, encode_together

logger = logging.getLogger("run_absa")

STOPPED = 128 + signal.SIGTERM  # the exit status of a run that was told to stop, as shells have it
LOCKS = f"seed-*/{checkpoints.LOCK}"
DATASETS_WITH_A_METRIC = ("sentihood", "semeval2014")
BOOTSTRAP = 1000  # resamples of the sentences for the 95% intervals of results.json: <score>_low and <score>_high
# Arguments of the Trainer that cannot change the result; a run goes on only where all others are as they were.
HARMLESS_ARGUMENTS = (
    "output_dir",
    "run_name",
    "disable_tqdm",
    "report_to",
    "save_total_limit",
    "use_cpu",
    "local_rank",
)
HARMLESS_PREFIXES = ("logging_", "log_", "hub_", "push_to_hub", "dataloader_", "trackio_", "ddp_")
# Those that all_results.json names.
RECIPE_ARGUMENTS = (
    "num_train_epochs",
    "max_steps",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "learning_rate",
    "new_learning_rate",
    "layer_decay",
    "r_drop",
    "label_smoothing_factor",
    "lr_scheduler_type",
    "warmup_steps",
    "weight_decay",
    "max_grad_norm",
    "optim",
    "bf16",
    "fp16",
    "mixed_precision",
    "metric_for_best_model",
    "train_sampling_strategy",
)


def load_task(arguments: DataArguments) -> Task:
    """The data set that the arguments ask for."""
    if arguments.dataset == "custom" and arguments.train_file is None and arguments.data_dir is None:
        raise ValueError("dataset=custom without data: give --train_file, a csv or jsonl file, or --data_dir")
    files = {"train": arguments.train_file, "validation": arguments.validation_file, "test": arguments.test_file}
    data = load_absa_dataset(
        arguments.dataset,
        data_dir=arguments.data_dir,
        data_files={split: name for split, name in files.items() if name} or None,
        deduplicate=arguments.deduplicate,
        absent_label=arguments.absent_label,
        version=arguments.data_version,
        **(
            {"validation_fraction": arguments.validation_fraction, "validation_seed": arguments.validation_seed}
            if arguments.dataset == "semeval2014"
            else {}
        ),
    )
    metric = arguments.metric or (arguments.dataset if arguments.dataset in DATASETS_WITH_A_METRIC else "absa")
    return make_task(
        data, metric, arguments.validation_fraction, arguments.validation_seed, arguments.absent_label or "none"
    )


def features(
    split: str,
    rows: Rows,
    label_names: list[str],
    tokenizer,
    config: PreTrainedConfig,
    together: bool,
) -> tuple[Dataset, list[list[int]]]:
    """A split as the model of this configuration reads it, without padding, and the rows behind each of its entries.

    With `together` an entry is a text, whose `context_ids` and `labels` are lists.
    """
    arguments = (tokenizer, Contexts.from_config(config), rows["text"], rows["target"], rows["aspect"])
    options = {"max_length": tokenizer.model_max_length, "mark_read": True}
    labels = gold(rows, label_names)
    try:
        if together:
            columns, numbers = encode_together(*arguments, **options)
            labels = [[labels[number] for number in own] for own in numbers]
        else:
            columns = encode(*arguments, auxiliary_sentence=config.auxiliary_sentence, **options)
            numbers = [[number] for number in range(len(labels))]
    except ValueError as error:
        raise ValueError(f"{split} split: {error}") from error
    num_truncated = sum(read is not None for read in columns.pop("read"))
    if num_truncated:
        logger.warning(
            "%s: the ends of %d rows are cut at %d tokens", split, num_truncated, tokenizer.model_max_length
        )
    if config.model_type == "bert":
        del columns["context_ids"]
    return Dataset.from_dict({**columns, "labels": labels}), numbers


def longest_first(rows: Dataset) -> np.ndarray:
    """Numbers of the rows by falling length: read in this order, the rows of a batch need little padding."""
    return np.argsort([-len(ids) for ids in rows["input_ids"]], kind="stable")


def gold(rows: Rows, label_names: list[str]) -> list[int]:
    """Class numbers of the rows' labels."""
    return [label_names.index(label) for label in rows["label"]]


def train_one(
    folder: Path,
    splits: dict[str, Rows],
    task: Task,
    seed: int,
    pair: tuple[str, str] | None,
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    training_arguments: ABSATrainingArguments,
) -> tuple[dict[str, np.ndarray], dict]:
    """Trains a model on splits["train"], chooses its checkpoint on splits["validation"] and saves it in `folder`.

    With a (target, aspect) pair that is all the model knows, and accuracy on its rows chooses its checkpoint. The
    saved configuration holds the temperature that calibrates the model on the validation split, 1 if none helps.

    Returns:
        Logits (rows, labels) for each split but train, in float32 whatever the training had, and what is known of
        the training.
    """
    set_seed(seed)
    contexts = task.contexts if pair is None else Contexts((pair[0],) if pair[0] else (), (pair[1],))
    backbone = resolve_backbone(model_arguments.model_name_or_path)
    config = build_config(
        model_arguments.model_type,
        backbone,
        contexts,
        task.label_names,
        auxiliary_sentence=data_arguments.auxiliary_sentence,
        symmetric_targets=data_arguments.symmetric_targets,
        none_label=task.none_label,
        num_context_layers=model_arguments.num_context_layers,
        preset=model_arguments.model_preset,
        overrides=model_arguments.config_overrides,
        revision=model_arguments.model_revision,
    )
    tokenizer = load_tokenizer(backbone, config, model_arguments.model_revision)
    tokenizer.model_max_length = min(data_arguments.max_length, config.max_position_embeddings)
    model = load_model(backbone, config, model_arguments.attn_implementation, model_arguments.model_revision)
    if model_arguments.reset_pooler:
        reset_pooler(model)
    encoded, numbers = {}, {}
    for name, rows in splits.items():
        encoded[name], numbers[name] = features(
            name, rows, task.label_names, tokenizer, config, data_arguments.contexts_together
        )
        if name != "train":
            order = longest_first(encoded[name])
            encoded[name], numbers[name] = encoded[name].select(order), [numbers[name][entry] for entry in order]
    validation_labels = gold(splits["validation"], task.label_names)

    select_by = "accuracy" if pair is not None else training_arguments.metric_for_best_model or task.select_by

    def scores_of(name: str, predictions: np.ndarray) -> dict[str, float]:
        logits = by_row(predictions, numbers[name])
        if pair is not None:
            return {"accuracy": float((logits.argmax(-1) == validation_labels).mean())}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="audit_")  # undefined in early epochs, and not shown here
            scores = task.score_rows(splits[name], softmax(logits, axis=-1))
        wanted = {*task.main_scores, select_by.removeprefix("eval_")}
        return {name: score for name, score in scores.items() if name in wanted}

    arguments = one_seed(training_arguments, folder, seed, select_by)
    trainer = ABSATrainer(
        model=model,
        args=arguments,
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"],
        data_collator=(CollatorOfTexts if data_arguments.contexts_together else DataCollatorWithPadding)(
            tokenizer, pad_to_multiple_of=8 if arguments.bf16 else None
        ),
        processing_class=tokenizer,
        compute_metrics=lambda prediction: scores_of("validation", prediction.predictions),
        balance_labels=data_arguments.class_balanced_sampling,
        compute_loss_func=balanced_loss(
            gold(splits["train"], task.label_names), len(task.label_names), arguments.label_smoothing_factor
        )
        if data_arguments.class_weighted_loss
        else None,
    )
    if data_arguments.oracle:
        trainer.add_callback(ScoreTestSplit(lambda: scores_of("test", predict(trainer, encoded["test"]))))
    last_checkpoint = checkpoints.last_complete(folder)
    if last_checkpoint is not None:
        logger.warning("going on from %s", last_checkpoint)
    trained = trainer.train(resume_from_checkpoint=last_checkpoint and str(last_checkpoint))
    if trainer.stop.agreed():
        logger.warning("stopped after step %d; run the same command again to go on", trainer.state.global_step)
        raise SystemExit(STOPPED)
    compute_in_float32(trainer)
    logits = {
        name: by_row(predict(trainer, entries), numbers[name]) for name, entries in encoded.items() if name != "train"
    }
    temperature = helpful_temperature(logits["validation"], validation_labels)
    model.config.calibration_temperature = temperature
    with checkpoints.writing(folder, arguments.should_save):
        trainer.save_model(folder)
    best = trainer.state.best_global_step
    return logits, {
        "best_step": best,
        "calibration_temperature": temperature,
        "steps": trainer.state.global_step,
        # Of a run that was stopped the Trainer knows the time since then only.
        "train_runtime_s": trained.metrics["train_runtime"] if last_checkpoint is None else None,
        "log": trainer.state.log_history,
    }


def by_row(predictions: np.ndarray, numbers: list[list[int]]) -> np.ndarray:
    """Logits (rows, labels) from those of entries, (entries, labels) or (entries, most contexts, labels)."""
    predictions = predictions.reshape(len(numbers), -1, predictions.shape[-1])
    logits = np.empty((sum(map(len, numbers)), predictions.shape[-1]))
    for own, of_entry in zip(numbers, predictions, strict=True):
        logits[own] = of_entry[: len(own)]
    return logits


def one_seed(arguments: ABSATrainingArguments, folder: Path, seed: int, select_by: str) -> ABSATrainingArguments:
    """The arguments of one training run of one seed."""
    values = {name: getattr(arguments, name) for name, spec in arguments.__dataclass_fields__.items() if spec.init}
    values |= {"output_dir": str(folder), "seed": seed, "data_seed": seed, "remove_unused_columns": False}
    values["metric_for_best_model"] = select_by
    values["greater_is_better"] = not values["metric_for_best_model"].endswith("loss")
    values["dataloader_pin_memory"] = torch.accelerator.is_available()
    return ABSATrainingArguments(**values)


def run_seed(seed: int, folder: Path, task: Task, *arguments) -> dict:
    """Trains and tests with one seed; BERT-single trains one model a context and puts their answers together."""
    model_arguments, data_arguments, training_arguments = arguments
    if model_arguments.model_type == "bert" and not data_arguments.auxiliary_sentence:
        parts = {"-".join(filter(None, pair)): pair for pair in task.contexts}
        check_parts(task, parts.values())
    else:
        parts = {"": None}

    logits, calibrated = (
        {name: np.full((len(rows["id"]), len(task.label_names)), np.nan) for name, rows in task.splits.items()}
        for _ in range(2)
    )
    training = {}
    for part, pair in parts.items():
        numbers = {name: rows_about(rows, pair) for name, rows in task.splits.items()}
        splits = {name: choose(rows, numbers[name]) for name, rows in task.splits.items()}
        answers, training[part or "model"] = train_one(folder / part, splits, task, seed, pair, *arguments)
        for name, answer in answers.items():
            logits[name][numbers[name]] = answer
            calibrated[name][numbers[name]] = answer / training[part or "model"]["calibration_temperature"]

    result = {"seed": seed, "training": training, "calibration": {}}
    for name, rows in task.splits.items():
        if name != "train":
            probabilities = softmax(logits[name], axis=-1)
            result[name] = task.score_rows(rows, probabilities, BOOTSTRAP)
            labels = gold(rows, task.label_names)
            result["calibration"][name] = {
                "before": calibration_errors(logits[name], labels, task.label_names, task.none_label),
                "after": calibration_errors(calibrated[name], labels, task.label_names, task.none_label),
            }
            if PartialState().is_main_process:
                warn_of_one_answer(name, probabilities.argmax(-1), labels, task.label_names)
                write_probabilities(folder / f"{name}_probabilities.parquet", rows, probabilities, task.label_names)
    if data_arguments.oracle:
        select_by = (training_arguments.metric_for_best_model or task.select_by).removeprefix("eval_")
        result["oracle"] = best_on_test(training["model"]["log"], select_by)
    return result


def warn_of_one_answer(split: str, answers: np.ndarray, labels: list[int], label_names: list[str]):
    """Says it, with the remedy, where a model answers the same to all rows of a split, (rows,), and should not."""
    if len(set(labels)) > 1 and len(only := set(answers.tolist())) == 1:
        logger.warning(
            "%s: the model answers %r to all %d rows, so it is of no use yet; train it for longer "
            "(--num_train_epochs, or --max_steps where the recipe has that), or as "
            "configuration/recipes/own_data.yaml does",
            split,
            label_names[only.pop()],
            len(labels),
        )


def best_on_test(log: Iterable[Mapping], select_by: str) -> dict[str, float] | None:
    """The test scores of the evaluation that is best by one of them, with its step: too good, only to compare with.

    None if there was no evaluation.
    """
    scored = [entry for entry in log if f"test_{select_by}" in entry]
    if not scored:
        return None
    entry = max(scored, key=lambda entry: entry[f"test_{select_by}"])
    return {name.removeprefix("test_"): value for name, value in entry.items() if name != "epoch"}


def check_oracle(task: Task, model_arguments: ModelArguments, data_arguments: DataArguments, select_by: str | None):
    """There is a test split, and one model with the scores to choose its checkpoint by."""
    if not data_arguments.oracle:
        return
    if "test" not in task.splits:
        raise ValueError("oracle=true without a test split: give test_file, or leave it out")
    if model_arguments.model_type == "bert" and not data_arguments.auxiliary_sentence:
        raise ValueError(
            "oracle=true with BERT-single, whose models choose their checkpoints one by one: leave it out"
        )
    if select_by is not None and select_by.removeprefix("eval_") == "loss":
        raise ValueError("oracle=true with metric_for_best_model=loss: give a score, or leave it out")


def check_scores(task: Task, metric_for_best_model: str | None):
    """Scores of the validation split exist, the one that is to choose the checkpoint among them; before training."""
    rows = task.splits["validation"]
    uniform = np.full((len(rows["id"]), len(task.label_names)), 1 / len(task.label_names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is undefined for uniform answers
        scores = task.score_rows(rows, uniform)
    if metric_for_best_model is not None and metric_for_best_model.removeprefix("eval_") not in {*scores, "loss"}:
        raise ValueError(
            f"metric_for_best_model={metric_for_best_model} is no score of this data: give loss or one of "
            f"{', '.join(task.main_scores)}"
        )


def check_parts(task: Task, pairs: Iterable[tuple[str, str]]):
    """Each context needs rows to train a model on and to choose its checkpoint by, which is known before training."""
    for pair in pairs:
        for name in ("train", "validation"):
            if not rows_about(task.splits[name], pair):
                raise ValueError(
                    f"{name} has no row of target {pair[0]!r} and aspect {pair[1]!r}: BERT-single trains one model a "
                    "context; add rows (--absent_label makes them) or give --auxiliary_sentence true"
                )


def rows_about(rows: Rows, pair: tuple[str, str] | None) -> list[int]:
    """Numbers of the rows with this (target, aspect); of all rows for None."""
    pairs = zip(rows["target"], rows["aspect"], strict=True)
    return [number for number, row_pair in enumerate(pairs) if pair is None or row_pair == pair]


def check_same_run(output_dir: Path, described: dict, own: Path):
    """A folder holds one run: started again with other arguments or data, it would mix two.

    Its own seed's folder is this process's, see `checkpoints.only_here`.
    """
    record = output_dir / "arguments.json"
    begun = (
        any(output_dir.glob("seed-*/**/trainer_state.json"))
        or any(output_dir.glob("seed-*/results.json"))
        or any(checkpoints.is_taken(lock.parent) for lock in output_dir.glob(LOCKS) if lock.parent != own)
    )
    if not (record.is_file() and begun):
        write_json(record, described)
        return
    before, now = json.loads(record.read_text(encoding="utf-8")), json.loads(json.dumps(described, default=str))
    # A run of an earlier version does not name what has been added since: it had the default.
    specs = [spec for kind in (ModelArguments, DataArguments, ABSATrainingArguments) for spec in fields(kind)]
    before = {spec.name: spec.default for spec in specs} | before
    # A run of study/controls.py has a control, one of this script has none.
    changed = [name for name in {**now, "control": None} if name != "seeds" and before.get(name) != now.get(name)]
    if changed:
        differences = "; ".join(f"{name} was {before.get(name)!r} and is now {now.get(name)!r}" for name in changed)
        raise ValueError(f"output_dir={output_dir} holds another run ({differences}): give another --output_dir")


def digest(splits: Mapping[str, Rows]) -> str:
    """SHA-256 of the rows of all splits."""
    return hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()


def main(argv: list[str]):
    model_arguments, data_arguments, training_arguments = parse_arguments(argv)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    disable_progress_bars()
    state = PartialState()
    if not state.is_main_process:
        transformers.utils.logging.set_verbosity_error()
    if len(set(data_arguments.seeds)) != len(data_arguments.seeds):
        raise ValueError(f"seeds={data_arguments.seeds} holds a seed twice: its run would count double")

    check_contexts(model_arguments, data_arguments)
    check_balance(data_arguments)
    check_r_drop(data_arguments, training_arguments)
    task = load_task(data_arguments)
    check_scores(task, training_arguments.metric_for_best_model)
    check_oracle(task, model_arguments, data_arguments, training_arguments.metric_for_best_model)
    if state.is_main_process:
        print(table_of_labels(task), flush=True)
    output_dir = Path(training_arguments.output_dir)
    described = {**asdict(model_arguments), **asdict(data_arguments)}
    described |= {name: getattr(training_arguments, name) for name in RECIPE_ARGUMENTS}
    described["world_size"] = training_arguments.world_size
    all_arguments = {
        name: value
        for name, value in training_arguments.to_dict().items()
        if name not in HARMLESS_ARGUMENTS and not name.startswith(HARMLESS_PREFIXES)
    }

    for seed in data_arguments.seeds:
        folder = output_dir / f"seed-{seed}"
        finished = folder / "results.json"
        with checkpoints.only_here(folder) if state.is_main_process else nullcontext():
            if state.is_main_process:
                run = {**all_arguments, **described, "data_sha256": digest(task.splits)}
                check_same_run(output_dir, run, folder)
            if not finished.is_file():
                result = run_seed(seed, folder, task, model_arguments, data_arguments, training_arguments)
                if state.is_main_process:
                    write_json(finished, result)
                state.wait_for_everyone()
            if state.is_main_process:  # the best is saved beside, the rest has served
                for checkpoint in list(folder.glob("**/checkpoint-*")):
                    checkpoints.remove(checkpoint)

    if not state.is_main_process:
        return
    tested = "test" if "test" in task.splits else "validation"
    with checkpoints.alone(output_dir):  # so that of two commands that end at once the last one finds all seeds
        files = [json.loads(file.read_text(encoding="utf-8")) for file in output_dir.glob("seed-*/results.json")]
        results = {result["seed"]: result for result in sorted(files, key=lambda result: result["seed"])}
        scores = {
            seed: {name: float("nan") if score is None else score for name, score in result[tested].items()}
            for seed, result in results.items()
        }
        summary = summarise(scores)
        write_json(
            output_dir / "all_results.json",
            {
                "protocol": PROTOCOL["oracle" if data_arguments.oracle else tested],
                "split": tested,
                "main_scores": task.main_scores,
                "arguments": {**described, "seeds": list(results)},
                "summary": summary,
                "seeds": {seed: {k: v for k, v in one.items() if k != "training"} for seed, one in results.items()},
            },
        )
    print(table(summary, task.main_scores, tested, len(scores)))
    print(f"checkpoints, probabilities and all scores: {output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
