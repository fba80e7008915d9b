"""A training run: one model a seed, its checkpoint chosen on the validation split, the test split read once.

    python -m absa.training.run RECIPE --data_dir DIR --seeds 1 2 3

is what `examples/run_absa.py` does. A recipe (YAML or JSON) holds any of the arguments; the command line overrides it.
Run again, the same command goes on where it was stopped.
"""

import hashlib
import json
import logging
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import transformers
from accelerate import PartialState
from datasets import disable_progress_bars
from filelock import FileLock
from transformers import AutoConfig, EarlyStoppingCallback, PreTrainedModel, PreTrainedTokenizerBase, set_seed

from absa.averaging import average, keep_aspects
from absa.commands import user_errors
from absa.metrics.ratios import DegenerateScoreWarning
from absa.models import build_config, classifier_of, load_model, load_tokenizer, most_tokens, new_model
from absa.packages import resolve_backbone
from absa.tasks.arguments import DataArguments
from absa.tasks.base import Rows, Task
from absa.tasks.registry import load_task
from absa.training.arguments import ABSATrainingArguments, Arguments, ModelArguments, parse_arguments
from absa.training.distillation import check_teachable, with_teachers
from absa.training.evaluation import check_labels
from absa.training.optimisation import freeze, reset_pooler
from absa.training.results import PROTOCOL, summarise, table, write_json
from absa.training.trainer import ABSATrainer, ScoreTestSplit, check_fit, make_ready, predict
from absa.word_vectors import words_and_vectors

Prepare = Callable[[PreTrainedModel], None]

LOCK = ".lock"
# Arguments of the Trainer that cannot change the result; a run goes on only where all others are as they were.
HARMLESS = {"output_dir", "seeds", "run_name", "disable_tqdm", "report_to", "save_total_limit", "use_cpu"}
HARMLESS_PREFIXES = ("logging_", "log_", "hub_", "push_to_hub", "dataloader_", "trackio_", "ddp_", "local_")


def build(
    task: Task, model_arguments: ModelArguments, data_arguments: DataArguments
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that training starts from, and its tokenizer; what is new is drawn from PyTorch's generator."""
    if model_arguments.mean_of is not None:
        model, tokenizer = average(model_arguments.mean_of)
        if not isinstance(model, classifier_of(asked := model_arguments.model_type, task.auto_class)):
            raise ValueError(f"mean_of has models of the type {model.config.model_type}, not model_type={asked}")
        keep_aspects(model, task.described(data_arguments).get("aspects"))
    elif model_arguments.word_vectors is None:
        model, tokenizer = build_on_backbone(task, model_arguments, data_arguments)
    else:
        model, tokenizer = build_on_words(task, model_arguments, data_arguments)
    tokenizer.model_max_length = most_tokens(data_arguments.max_length, model.config)
    if model_arguments.reset_pooler and not model_arguments.mean_of:
        reset_pooler(model)
    return model, tokenizer


def build_on_backbone(
    task: Task, model_arguments: ModelArguments, data_arguments: DataArguments
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A model with the weights of an encoder, and the encoder's tokenizer."""
    backbone, revision = resolve_backbone(model_arguments.model_name_or_path), model_arguments.model_revision
    config = build_config(
        model_arguments.model_type,
        backbone,
        task.described(data_arguments),
        overrides=model_arguments.all_overrides,
        revision=revision,
    )
    tokenizer = load_tokenizer(backbone, config, revision)
    if getattr(config, "special_token_ids", ()) is None:
        # Those around and between the two texts of a pair.
        config.special_token_ids = sorted(set(tokenizer("", "")["input_ids"]))
    model = load_model(backbone, config, model_arguments.attention, revision, task.auto_class)
    if hasattr(model.base_model, "start_classes"):
        before = AutoConfig.from_pretrained(backbone, revision=revision)
        # A model of the same family has trained its classes: only others start from their words.
        if not isinstance(before, type(config)) or before.grammar.classes != config.grammar.classes:
            model.base_model.start_classes(tokenizer)
    return model, tokenizer


def build_on_words(
    task: Task, model_arguments: ModelArguments, data_arguments: DataArguments
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A model with static word embeddings, and a tokenizer of the words of the training split and of their source."""
    tokenizer, vectors = words_and_vectors(model_arguments.word_vectors, task.words())
    size = {} if vectors is None else {"embedding_size": vectors.shape[1]}
    config = build_config(
        model_arguments.model_type,
        None,
        {
            **task.described(data_arguments),
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            **size,
        },
        overrides=model_arguments.all_overrides,
    )
    return new_model(config, vectors, task.auto_class), tokenizer


def one_seed(
    arguments: ABSATrainingArguments, folder: Path, seed: int, task: Task, select_by: str
) -> ABSATrainingArguments:
    """The arguments of one training run of one seed."""
    return replace(
        arguments,
        output_dir=str(folder),
        seed=seed,
        data_seed=seed,
        remove_unused_columns=False,
        predict_with_generate=task.generates,
        metric_for_best_model=select_by,
        greater_is_better=None,  # the Trainer's choice
        restore_callback_states_from_checkpoint=arguments.patience is not None,
        dataloader_pin_memory=torch.accelerator.is_available(),
    )


def train_one(
    folder: Path, task: Task, seed: int, select_by: str, arguments: Arguments, begin: Prepare
) -> tuple[dict[str, Any], dict]:
    """Trains a model on the training split, chooses its checkpoint on the validation split and saves it in `folder`.

    Args:
        begin: is told of the model when all that training needs is there.
    Returns:
        Its answers to each split but train, computed in float32 whatever the training had, and what is known of the
        training. The saved configuration holds what `task.calibrate` has found.
    """
    # The Trainer sets the seed anew, of all that is drawn in training.
    set_seed(seed if arguments.training.init_seed is None else arguments.training.init_seed)
    of_seed = arguments.model.of_seed(seed)
    model, tokenizer = build(task, of_seed, arguments.data)
    if of_seed.mean_of or getattr(model.config, "context_source", "id") == "text":  # perhaps trained with more labels
        task = check_labels((of_seed.mean_of or [of_seed.model_name_or_path])[0], model.config, task)
    entries = {split: task.entries(split, arguments.data, tokenizer, model.config) for split in task.splits}
    training_arguments = one_seed(arguments.training, folder, seed, task, select_by)
    options = task.trainer_options(arguments.data, tokenizer, training_arguments)
    check_fit(model, training_arguments, options)
    freeze(model, training_arguments.learning_rates)
    begin(model)
    if training_arguments.teachers and not of_seed.mean_of:
        entries["train"] = with_teachers(entries["train"], task, arguments)
        training_arguments = replace(training_arguments)  # which sets up its precision anew, after the teachers'

    def scores_of(split: str, predictions) -> dict[str, float]:
        with warnings.catch_warnings():
            # Scores that are undefined in early epochs; those of the chosen checkpoint are told.
            warnings.simplefilter("ignore", DegenerateScoreWarning)
            scores = task.score(split, task.answers(split, entries[split], predictions))
        wanted = {*task.main_scores, select_by.removeprefix("eval_")}
        return {name: score for name, score in scores.items() if name in wanted}

    trainer = ABSATrainer(
        model=model,
        args=training_arguments,
        train_dataset=entries["train"].dataset,
        eval_dataset=entries["validation"].dataset,
        processing_class=tokenizer,
        compute_metrics=lambda prediction: scores_of("validation", prediction.predictions),
        **options,
    )
    if training_arguments.patience is not None:
        trainer.add_callback(EarlyStoppingCallback(training_arguments.patience))
    if training_arguments.oracle:
        trainer.add_callback(ScoreTestSplit(lambda: scores_of("test", predict(trainer, entries["test"].dataset))))
    classifier = getattr(model, "classifier", None)
    seconds = 0.0
    if hasattr(classifier, "fit"):  # how frequent labels are: there is nothing to optimise
        classifier.fit(entries["train"].dataset["labels"][:])
    elif not of_seed.mean_of:
        seconds = trainer.go_on()
    make_ready(trainer)
    answers = {
        split: task.answers(split, entries[split], predict(trainer, entries[split].dataset))
        for split in task.splits
        if split != "train"
    }
    calibration = task.calibrate(answers["validation"])
    if not trainer.is_fsdp_enabled:  # which gives no process a whole model to ask
        calibration |= task.calibrate_unknown(trainer.model, tokenizer)
    model.config.update(calibration)
    trainer.save_model(folder)
    return answers, {
        "best_step": trainer.state.best_global_step,
        **calibration,
        "steps": trainer.state.global_step,
        "train_runtime_s": seconds,
        "log": trainer.state.log_history,
    }


def run_seed(
    seed: int, folder: Path, task: Task, parts: Mapping[str, Task], arguments: Arguments, begin: Prepare
) -> dict:
    """Trains and tests with one seed the models of the task's parts."""
    trained, training = [], {}
    for name, part in parts.items():
        select_by = (arguments.training.metric_for_best_model if part is task else None) or part.select_by
        answers, known = train_one(folder / name, part, seed, select_by, arguments, begin)
        trained.append((part, answers, known))
        training[name or "model"] = known
    result = {"seed": seed, "training": training, **task.results(folder, trained)}
    if arguments.training.oracle:
        result["oracle"] = best_on_test(training["model"]["log"], select_by.removeprefix("eval_"))
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


def refuse_another_run(record: Path, described: Mapping):
    """A folder holds one run: started again with other arguments or data, it would mix two.

    Args:
        record: what `described` the run in the folder when its training began, if it did.
    Raises:
        ValueError: naming what has changed.
    """
    if not record.is_file():
        return
    before, now = json.loads(record.read_text(encoding="utf-8")), json.loads(json.dumps(described, default=str))
    have_digests = {"data_dir", "data_dirs", "teachers", "mean_of"}  # wherever they lie
    named = {*before, *now} - have_digests - {"seeds"}
    changed = sorted(name for name in named if before.get(name) != now.get(name))
    # What the code that began the run did not know of does nothing where it is off.
    changed = [name for name in changed if name in before or now[name]]
    if changed:
        differences = "; ".join(f"{name} was {before.get(name)!r} and is now {now.get(name)!r}" for name in changed)
        raise ValueError(f"output_dir={record.parent} holds another run ({differences}): give another --output_dir")


def digest(splits: Mapping[str, Rows]) -> str:
    """SHA-256 of the rows of all splits."""
    return hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()


def digest_of_start(arguments: ModelArguments) -> str | None:
    """SHA-256 of the user's own files that training starts from: word vectors, or the weights in a folder.

    None where there are none, or each seed has its own; packages and the Hub have versions.
    """
    start = Path(arguments.word_vectors or arguments.model_name_or_path or "package:")
    return digest_of_files([start] if start.is_file() else start.glob("*.safetensors"))


def digest_of_trained(checkpoint: str) -> str:
    """SHA-256 of the weights in a folder and of what says how they are asked; the name of a Hub's model."""
    patterns = ("*.safetensors", "config.json", "tokenizer*")
    return digest_of_files(chain.from_iterable(map(Path(checkpoint).glob, patterns))) or checkpoint


def digest_of_files(files: Iterable[Path]) -> str | None:
    """SHA-256 of the content of files, in the order of their names; None where there are none."""
    found = hashlib.sha256()
    for file in (files := sorted(files)):
        with file.open("rb") as content:
            found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest() if files else None


def decisive(arguments: ABSATrainingArguments) -> dict:
    """The arguments that a result depends on."""
    return {
        name: value
        for name, value in arguments.to_dict().items()
        if name not in HARMLESS and not name.startswith(HARMLESS_PREFIXES)
    }


def each_seed(
    arguments: ABSATrainingArguments, run: Mapping, train: Callable[[int, Path, Callable[[], None]], Mapping]
):
    """Trains with each seed that has no results.json yet; nothing else works in its folder meanwhile.

    Args:
        run: what describes the run, with its data, for `refuse_another_run`.
        train: from a seed, its folder and what it calls when training begins, to what results.json says.
    Raises:
        ValueError: if the folder holds another run.
    """
    state, record = PartialState(), Path(arguments.output_dir) / "arguments.json"
    if state.is_main_process:
        refuse_another_run(record, run)

    def begin():
        if state.is_main_process:
            with FileLock(record.with_name(LOCK)):  # commands for other seeds may begin at once
                refuse_another_run(record, run)
                write_json(record, run)

    for seed in arguments.seeds:
        folder = record.with_name(f"seed-{seed}")
        finished = folder / "results.json"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCK, timeout=0) if state.is_main_process else nullcontext():
            if not finished.is_file():
                result = train(seed, folder, begin)
                if state.is_main_process:
                    write_json(finished, result)
                state.wait_for_everyone()
            if state.is_main_process:  # what counts is saved beside, the rest has served
                for checkpoint in list(folder.glob("**/checkpoint-*")):
                    shutil.rmtree(checkpoint, ignore_errors=True)


def main(argv: list[str], prepare: Prepare | None = None, **recorded):
    """Trains, for each seed, what the words of a command ask for.

    Args:
        argv: the words, see `parse_arguments`.
        prepare: changes a model before it is trained.
        recorded: names of this change in arguments.json: a folder holds runs of one kind.
    """
    arguments = parse_arguments(argv)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    disable_progress_bars()
    state = PartialState()
    if not state.is_main_process:
        transformers.utils.logging.set_verbosity_error()
    task = load_task(arguments.data)
    parts = task.parts(arguments.data, classifier_of(arguments.model.model_type, task.auto_class))
    if arguments.training.oracle and ("test" not in task.splits or len(parts) > 1):
        raise ValueError("oracle=true needs a test split and one model for all contexts (not BERT-single)")
    if arguments.training.teachers:
        check_teachable(task, parts.values(), arguments)
    if state.is_main_process:
        print(task.overview(), flush=True)
    output_dir = Path(arguments.training.output_dir)
    described = {**asdict(arguments.model), **asdict(arguments.data), "world_size": arguments.training.world_size}
    digests = {"data_sha256": digest(task.splits), "start_sha256": digest_of_start(arguments.model)}
    for name, models in (("teachers", arguments.training.teachers), ("mean_of", arguments.model.mean_of)):
        if models:
            digests[f"{name}_sha256"] = list(map(digest_of_trained, models))
    run = {**decisive(arguments.training), **described, **digests, **recorded}

    def train(seed: int, folder: Path, begin: Callable[[], None]) -> dict:
        def begin_with(model: PreTrainedModel):
            begin()
            if prepare is not None:
                prepare(model)

        return run_seed(seed, folder, task, parts, arguments, begin_with)

    each_seed(arguments.training, run, train)
    if state.is_main_process:
        usual = decisive(ABSATrainingArguments())
        described |= {name: value for name, value in decisive(arguments.training).items() if value != usual[name]}
        summarise_run(output_dir, task, described, arguments.training.oracle)


def summarise_run(output_dir: Path, task: Task, described: dict, oracle: bool):
    """Writes all_results.json, and prints the table, of all seeds whose results lie in a run's folder."""
    split = "test" if "test" in task.splits else "validation"
    with FileLock(output_dir / LOCK):  # so that of two commands that end at once the last one finds all seeds
        files = [json.loads(file.read_text(encoding="utf-8")) for file in output_dir.glob("seed-*/results.json")]
        results = {result["seed"]: result for result in sorted(files, key=lambda result: result["seed"])}
        summary = summarise({seed: result[split] for seed, result in results.items()})
        main_scores = [name for name in task.main_scores if name in summary]  # a data set may have no test split
        all_results = {
            "protocol": PROTOCOL["oracle" if oracle else split],
            "split": split,
            "main_scores": main_scores,
            "arguments": {**described, "seeds": list(results)},
            "summary": summary,
            "seeds": {seed: {k: v for k, v in one.items() if k != "training"} for seed, one in results.items()},
        }
        write_json(output_dir / "all_results.json", all_results)
    print(table(summary, main_scores, split, len(results)))
    print(f"checkpoints, probabilities and all scores: {output_dir}")


if __name__ == "__main__":
    with user_errors():
        main(sys.argv[1:])
