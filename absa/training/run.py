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
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import torch
import transformers
from accelerate import PartialState
from datasets import disable_progress_bars
from transformers import PreTrainedModel, PreTrainedTokenizerBase, set_seed

from absa.commands import user_errors
from absa.models import (
    build_config,
    classifier_of,
    load_model,
    load_tokenizer,
    reset_pooler,
    resolve_backbone,
)
from absa.tasks.arguments import ARGUMENTS, DataArguments
from absa.tasks.base import Rows, Task
from absa.tasks.registry import TASKS
from absa.training import checkpoints
from absa.training.arguments import ABSATrainingArguments, ModelArguments, parse_arguments
from absa.training.results import PROTOCOL, summarise, table, write_json
from absa.training.trainer import ABSATrainer, ScoreTestSplit, compute_in_float32, predict

logger = logging.getLogger(__name__)

STOPPED = 128 + signal.SIGTERM  # the exit status of a run that was told to stop, as shells have it
LOCKS = f"seed-*/{checkpoints.LOCK}"
# Arguments of the Trainer that cannot change the result; a run goes on only where all others are as they were.
HARMLESS_ARGUMENTS = (
    "output_dir",
    "seeds",
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
    "oracle",
)


def build(
    task: Task, model_arguments: ModelArguments, data_arguments: DataArguments
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that training starts from, and its tokenizer; what is new is drawn from PyTorch's generator."""
    backbone, revision = resolve_backbone(model_arguments.model_name_or_path), model_arguments.model_revision
    config = build_config(
        model_arguments.model_type,
        backbone,
        task.described(data_arguments),
        overrides=model_arguments.all_overrides,
        revision=revision,
    )
    tokenizer = load_tokenizer(backbone, config, revision)
    tokenizer.model_max_length = min(data_arguments.max_length, config.max_position_embeddings)
    model = load_model(backbone, config, model_arguments.attn_implementation, revision)
    if model_arguments.reset_pooler:
        reset_pooler(model)
    return model, tokenizer


def train_one(
    folder: Path,
    task: Task,
    seed: int,
    select_by: str,
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    training_arguments: ABSATrainingArguments,
    prepare: Callable[[PreTrainedModel], None] | None,
) -> tuple[dict[str, np.ndarray], dict]:
    """Trains a model on the training split, chooses its checkpoint on the validation split and saves it in `folder`.

    Returns:
        Its answers to each split but train, computed in float32 whatever the training had, and what is known of the
        training. The saved configuration holds what `task.calibrate` has found.
    """
    set_seed(seed)
    model, tokenizer = build(task, model_arguments, data_arguments)
    if prepare is not None:
        prepare(model)
    entries = {split: task.entries(split, data_arguments, tokenizer, model.config) for split in task.splits}

    def scores_of(split: str, predictions: np.ndarray) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="audit_")  # undefined in early epochs, and not shown here
            scores = task.score(split, task.answers(entries[split], predictions))
        wanted = {*task.main_scores, select_by.removeprefix("eval_")}
        return {name: score for name, score in scores.items() if name in wanted}

    arguments = one_seed(training_arguments, folder, seed, select_by)
    trainer = ABSATrainer(
        model=model,
        args=arguments,
        train_dataset=entries["train"].dataset,
        eval_dataset=entries["validation"].dataset,
        processing_class=tokenizer,
        compute_metrics=lambda prediction: scores_of("validation", prediction.predictions),
        **task.trainer_options(data_arguments, tokenizer, arguments),
    )
    if training_arguments.oracle:
        trainer.add_callback(ScoreTestSplit(lambda: scores_of("test", predict(trainer, entries["test"].dataset))))
    last_checkpoint = checkpoints.last_complete(folder)
    if last_checkpoint is not None:
        logger.warning("going on from %s", last_checkpoint)
    trained = trainer.train(resume_from_checkpoint=last_checkpoint and str(last_checkpoint))
    if trainer.stop.agreed():
        logger.warning("stopped after step %d; run the same command again to go on", trainer.state.global_step)
        raise SystemExit(STOPPED)
    compute_in_float32(trainer)
    answers = {
        split: task.answers(entries[split], predict(trainer, entries[split].dataset))
        for split in task.splits
        if split != "train"
    }
    calibration = task.calibrate(answers["validation"])
    model.config.update(calibration)
    with checkpoints.writing(folder, arguments.should_save):
        trainer.save_model(folder)
    return answers, {
        "best_step": trainer.state.best_global_step,
        **calibration,
        "steps": trainer.state.global_step,
        # Of a run that was stopped the Trainer knows the time since then only.
        "train_runtime_s": trained.metrics["train_runtime"] if last_checkpoint is None else None,
        "log": trainer.state.log_history,
    }


def one_seed(arguments: ABSATrainingArguments, folder: Path, seed: int, select_by: str) -> ABSATrainingArguments:
    """The arguments of one training run of one seed."""
    values = {name: getattr(arguments, name) for name, spec in arguments.__dataclass_fields__.items() if spec.init}
    values |= {"output_dir": str(folder), "seed": seed, "data_seed": seed, "remove_unused_columns": False}
    values["metric_for_best_model"] = select_by
    values["greater_is_better"] = not values["metric_for_best_model"].endswith("loss")
    values["dataloader_pin_memory"] = torch.accelerator.is_available()
    return ABSATrainingArguments(**values)


def run_seed(
    seed: int,
    folder: Path,
    task: Task,
    parts: Mapping[str, Task],
    model_arguments: ModelArguments,
    data_arguments: DataArguments,
    training_arguments: ABSATrainingArguments,
    prepare: Callable[[PreTrainedModel], None] | None,
) -> dict:
    """Trains and tests with one seed the models of the task's parts."""
    trained, training = [], {}
    for name, part in parts.items():
        select_by = (training_arguments.metric_for_best_model if part is task else None) or part.select_by
        answers, training[name or "model"] = train_one(
            folder / name, part, seed, select_by, model_arguments, data_arguments, training_arguments, prepare
        )
        trained.append((part, answers, training[name or "model"]))
    result = {"seed": seed, "training": training, **task.results(folder, trained)}
    if training_arguments.oracle:
        select_by = (training_arguments.metric_for_best_model or task.select_by).removeprefix("eval_")
        result["oracle"] = best_on_test(training["model"]["log"], select_by)
    return result


def best_on_test(log: Iterable[Mapping], select_by: str) -> dict[str, float] | None:
    """The test scores of the evaluation that is best by one of them, with its step: too good, only to compare with.

    None if there was no evaluation.
    """
    scored = [entry for entry in log if f"test_{select_by}" in entry]
    if not scored:
        return None
    entry = max(scored, key=lambda entry: entry[f"test_{select_by}"])
    return {name.removeprefix("test_"): value for name, value in entry.items() if name != "epoch"}


def check_scores(task: Task, num_models: int, arguments: ABSATrainingArguments):
    """The score that is to choose the checkpoint exists, and with an oracle a test split; before training."""
    select_by = (arguments.metric_for_best_model or task.select_by).removeprefix("eval_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is undefined for the same answer to all rows
        scores = task.score("validation", task.no_answers("validation"))
    if select_by not in {*scores, "loss"}:
        raise ValueError(
            f"metric_for_best_model={select_by} is no score of this data: give loss or one of "
            f"{', '.join(task.main_scores)}"
        )
    if arguments.oracle and ("test" not in task.splits or num_models > 1 or select_by == "loss"):
        raise ValueError(
            "oracle=true needs a test split, one model for all contexts (not BERT-single) and a score other than loss "
            "to choose by: leave it out"
        )


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
    kinds = (ModelArguments, *ARGUMENTS.values(), ABSATrainingArguments)
    before = {spec.name: spec.default for kind in kinds for spec in fields(kind) if spec.name in now} | before
    changed = sorted(name for name in (before.keys() | now.keys()) - {"seeds"} if before.get(name) != now.get(name))
    if changed:
        differences = "; ".join(f"{name} was {before.get(name)!r} and is now {now.get(name)!r}" for name in changed)
        raise ValueError(f"output_dir={output_dir} holds another run ({differences}): give another --output_dir")


def digest(splits: Mapping[str, Rows]) -> str:
    """SHA-256 of the rows of all splits."""
    return hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()


def main(argv: list[str], prepare: Callable[[PreTrainedModel], None] | None = None, **recorded):
    """Trains, for each seed, what the words of a command ask for.

    Args:
        argv: the words, see `parse_arguments`.
        prepare: changes a model before it is trained.
        recorded: names of this change in arguments.json: a folder holds runs of one kind.
    """
    model_arguments, data_arguments, training_arguments = parse_arguments(argv)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    disable_progress_bars()
    state = PartialState()
    if not state.is_main_process:
        transformers.utils.logging.set_verbosity_error()
    task = TASKS[model_arguments.task].load(data_arguments)
    model_class = classifier_of(model_arguments.model_type)
    task.check(data_arguments, model_class)
    parts = task.parts(data_arguments, model_class)
    check_scores(task, len(parts), training_arguments)
    if state.is_main_process:
        print(task.overview(), flush=True)
    output_dir = Path(training_arguments.output_dir)
    described = {**asdict(model_arguments), **asdict(data_arguments)}
    described |= {name: getattr(training_arguments, name) for name in RECIPE_ARGUMENTS}
    described["world_size"] = training_arguments.world_size
    all_arguments = {
        name: value
        for name, value in training_arguments.to_dict().items()
        if name not in HARMLESS_ARGUMENTS and not name.startswith(HARMLESS_PREFIXES)
    }

    for seed in training_arguments.seeds:
        folder = output_dir / f"seed-{seed}"
        finished = folder / "results.json"
        with checkpoints.only_here(folder) if state.is_main_process else nullcontext():
            if state.is_main_process:
                run = {**all_arguments, **described, "data_sha256": digest(task.splits), **recorded}
                check_same_run(output_dir, run, folder)
            if not finished.is_file():
                result = run_seed(
                    seed, folder, task, parts, model_arguments, data_arguments, training_arguments, prepare
                )
                if state.is_main_process:
                    write_json(finished, result)
                state.wait_for_everyone()
            if state.is_main_process:  # the best is saved beside, the rest has served
                for checkpoint in list(folder.glob("**/checkpoint-*")):
                    checkpoints.remove(checkpoint)

    if state.is_main_process:
        split = "test" if "test" in task.splits else "validation"
        protocol = PROTOCOL["oracle" if training_arguments.oracle else split]
        summarise_run(output_dir, split, protocol, task.main_scores, described)


def summarise_run(output_dir: Path, split: str, protocol: str, main_scores: list[str], described: dict):
    """Writes all_results.json, and prints the table, of all seeds whose results lie in a run's folder."""
    with checkpoints.alone(output_dir):  # so that of two commands that end at once the last one finds all seeds
        files = [json.loads(file.read_text(encoding="utf-8")) for file in output_dir.glob("seed-*/results.json")]
        results = {result["seed"]: result for result in sorted(files, key=lambda result: result["seed"])}
        scores = {
            seed: {name: float("nan") if score is None else score for name, score in result[split].items()}
            for seed, result in results.items()
        }
        summary = summarise(scores)
        all_results = {
            "protocol": protocol,
            "split": split,
            "main_scores": main_scores,
            "arguments": {**described, "seeds": list(results)},
            "summary": summary,
            "seeds": {seed: {k: v for k, v in one.items() if k != "training"} for seed, one in results.items()},
        }
        write_json(output_dir / "all_results.json", all_results)
    print(table(summary, main_scores, split, len(scores)))
    print(f"checkpoints, probabilities and all scores: {output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
