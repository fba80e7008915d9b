"""The Trainer, with this project's order of rows, learning rates, R-Drop, going on and looks at the test split."""

import json
import logging
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch.utils.data import SequentialSampler
from transformers import GenerationMixin, PreTrainedModel, Seq2SeqTrainer, Trainer, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import sort_checkpoints

from absa.calibration import bias_of_none, multiply_none
from absa.losses import among_own_labels, cross_entropy_to, divergence, masked_cross_entropy, twice
from absa.training.arguments import ABSATrainingArguments
from absa.training.optimisation import parameter_groups
from absa.training.sampling import TrainingOrder

logger = logging.getLogger(__name__)

STOPPED = 128 + signal.SIGTERM  # the exit status of a run that was told to stop, as shells have it
AGREE_EVERY = 10  # steps; telling all processes of a SIGTERM makes each wait for its device


class EpochOfTheOrder(TrainerCallback):
    """Tells the order its epoch: the Trainer does not reach it behind the wrappers of a resumed, distributed run."""

    def __init__(self, trainer: "ABSATrainer"):
        self.trainer = trainer

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.trainer.order.set_epoch(int(state.epoch or 0))


class SaveAndStop(TrainerCallback):
    """After SIGTERM a checkpoint is saved, and all processes end after the same step, with the status `STOPPED`.

    One process ends after the step that it is in, several at the next multiple of `AGREE_EVERY` or end of an epoch.
    (The Trainer's own `enable_jit_checkpoint` saves in the middle of a step, on each process when its signal comes.)
    """

    def __init__(self, accelerator: Accelerator):
        self.accelerator = accelerator
        self.told = self.stops = False

    def on_train_begin(self, args, state, control, **kwargs):
        find_best(state, args.output_dir)

    def note(self, signum, frame):
        self.told = True

    def agreed(self) -> bool:
        """Whether any process was told to stop."""
        told = torch.tensor(float(self.told), device=self.accelerator.device)
        return bool(self.accelerator.reduce(told))

    def on_step_end(self, args, state, control, **kwargs):
        if self.accelerator.num_processes > 1 and state.global_step % AGREE_EVERY:
            return
        # What is due at the end of an epoch, or of all steps, must be done first.
        if state.epoch != int(state.epoch) and state.global_step < state.max_steps and self.agreed():
            self.stops = control.should_save = True

    def on_epoch_end(self, args, state, control, **kwargs):
        if state.global_step < state.max_steps and self.agreed():
            self.stops = control.should_save = True

    def on_save(self, args, state, control, **kwargs):
        if self.stops:
            self._stop(state)

    def on_train_end(self, args, state, control, **kwargs):
        if self.agreed():
            self._stop(state)

    def _stop(self, state):
        logger.warning("stopped after step %d; run the same command again to go on", state.global_step)
        raise SystemExit(STOPPED)


class ScoreTestSplit(TrainerCallback):
    """Puts the scores of the test split into the log after every evaluation, under the names `test_<score>`."""

    def __init__(self, score: Callable[[], Mapping[str, float]]):
        self.score = score

    def on_evaluate(self, args, state, control, **kwargs):
        # Reading a split draws a number, after which dropout would draw others than without this callback.
        with torch.random.fork_rng(devices=[]):
            scores = {f"test_{name}": score for name, score in self.score().items()}
        state.log_history.append({"epoch": state.epoch, "step": state.global_step, **scores})


class ABSATrainer(Seq2SeqTrainer):
    """The Trainer with this project's order of training rows, learning rates, R-Drop and way of going on.

    Evaluation rows keep their order.

    Args:
        balance_labels: whether training rows are drawn so that each label is as frequent as any other.
        label_masks: of rows of several data sets, which their `dataset_ids` number, the labels that each data set has,
            (data sets, labels).
        weights: of these data sets, see `TrainingOrder`.
    """

    order_class = TrainingOrder

    def __init__(
        self,
        *args,
        balance_labels: bool = False,
        label_masks: Sequence[Sequence[bool]] | None = None,
        weights: Sequence[float] | None = None,
        sequences_of: Callable | None = None,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        self.balance_labels = balance_labels
        self.label_masks = None if label_masks is None else torch.tensor(label_masks)
        self.weights = weights
        self.sequences = None
        if sequences_of is not None:
            self.sequences = sequences_of(self.model.config, self.processing_class)
            self.sequences.prepare(self.model)
        if self.args.none_factor is not None and self.is_fsdp_enabled:
            raise ValueError("none_factor needs a whole model, which FSDP gives no process: leave one out")
        if isinstance(self.model, GenerationMixin) and self.is_fsdp_enabled:
            raise ValueError("no generator is trained under FSDP, which cannot generate: launch with ddp.yaml")
        self.add_callback(EpochOfTheOrder(self))

    def go_on(self) -> float | None:
        """Trains from the last whole checkpoint, if there is one; returns the seconds, None where there was.

        Raises:
            SystemExit: on SIGTERM, see `SaveAndStop`.
            FileNotFoundError: if the best checkpoint of an earlier start is gone.
        """
        last_checkpoint = last_whole(self.args.output_dir)
        if last_checkpoint is not None:
            logger.warning("going on from %s", last_checkpoint)
            state = TrainerState.load_from_json(Path(last_checkpoint) / TRAINER_STATE_NAME)
            if has_stopped_early(state):  # to train on would be to ask the patience once more
                find_best(state, self.args.output_dir)
                self.state = state
                self._load_best_model()
                return None
        stop = SaveAndStop(self.accelerator)
        self.add_callback(stop)
        before = signal.signal(signal.SIGTERM, stop.note)
        try:
            trained = self.train(resume_from_checkpoint=last_checkpoint)
        finally:
            signal.signal(signal.SIGTERM, before)
        return trained.metrics["train_runtime"] if last_checkpoint is None else None

    def lengths_of(self, rows) -> list[int]:
        """Of training rows, by which batches are made."""
        return [len(ids) for ids in rows["input_ids"]]

    def _get_train_sampler(self, train_dataset=None) -> TrainingOrder:
        rows = train_dataset if train_dataset is not None else self.train_dataset
        self.order = self.order_class(
            lengths=self.lengths_of(rows),
            labels=rows["labels"][:] if self.balance_labels else None,
            batch_size=self.args.train_batch_size * self.args.world_size,
            group_by_length=self.args.train_sampling_strategy == "group_by_length",
            seed=self.args.seed,
            dataset_ids=rows["dataset_ids"][:] if self.weights is not None else None,
            weights=self.weights,
        )
        return self.order

    def _get_eval_sampler(self, eval_dataset) -> SequentialSampler:
        # The Trainer's own would group these rows by length too, and their predictions come back in that order.
        return SequentialSampler(eval_dataset)

    def evaluation_loop(self, *args, **kwargs):
        # Seq2SeqTrainer's `gather` keeps the rows that several processes repeat to fill the last batch.
        self.gather_function = self.accelerator.gather_for_metrics
        return super().evaluation_loop(*args, **kwargs)

    def get_decay_parameter_names(self, model) -> list[str]:
        """As the Trainer, without the parameters that a model exempts."""
        exempt = getattr(model, "no_weight_decay", ())
        return [name for name in super().get_decay_parameter_names(model) if not name.endswith(exempt)]

    def get_optimizer_cls_and_kwargs(self, args, model=None):
        optimizer, options = super().get_optimizer_cls_and_kwargs(args, model)
        decayed, weight_decay = self.get_decay_parameter_names(model), args.weight_decay
        if args.l2 is not None:
            optimizer = torch.optim.Adam  # which adds `weight_decay` times a weight to its gradient, as AdamW does not
            decayed, weight_decay = dict(model.named_parameters()), 2 * args.l2
        if args.new_learning_rate is not None or args.layer_decay != 1 or args.learning_rates or args.l2 is not None:
            options["params"] = parameter_groups(
                model,
                decayed,
                weight_decay,
                args.learning_rate,
                args.new_learning_rate,
                args.layer_decay,
                args.learning_rates,
            )
        return optimizer, options

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """As the Trainer; while it trains with `r_drop`, of the batch shown twice, which has outputs of 2B rows.

        Rows with `dataset_ids` are answered among the labels of their data set; those with `teacher_probabilities`
        learn these in place of their labels.
        """
        inputs.pop("sentence", None)  # by which answers are written and read
        is_twice = self.args.r_drop and model.training
        shown = twice(inputs) if is_twice else inputs
        if "dataset_ids" in shown:
            shown, label_mask = dict(shown), self.label_masks.to(self.args.device)[shown["dataset_ids"]]
            labels = shown.pop("labels")
            del shown["dataset_ids"]
            outputs = model(**shown)
            loss = masked_cross_entropy(outputs["logits"], labels, label_mask)
            outputs["logits"] = among_own_labels(outputs["logits"], label_mask)
        elif "teacher_probabilities" in shown:
            shown = dict(shown)
            probabilities, labels = shown.pop("teacher_probabilities"), shown.pop("labels")
            outputs = model(**shown)
            loss = cross_entropy_to(probabilities, outputs["logits"], labels)
        else:
            loss, outputs = super().compute_loss(model, shown, True, num_items_in_batch)
        if is_twice:
            loss = loss + divergence(outputs["logits"], inputs["labels"])
        return (loss, outputs) if return_outputs else loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None, **options):
        """As the Trainer; of what a model generates also the log-probabilities of all that could have come."""
        if self.sequences is None:
            return super().prediction_step(model, inputs, prediction_loss_only, ignore_keys, **options)
        inputs, options = self.sequences.before(self.model, self._prepare_inputs(inputs), self._gen_kwargs)
        loss, sequences, labels = super().prediction_step(model, inputs, prediction_loss_only, ignore_keys, **options)
        return loss, self.sequences.after(self.model, inputs, sequences), labels

    def _save_rng_state(self, output_dir):
        """As the Trainer. All processes have written then, and trainer_state.json is the last file of a checkpoint."""
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()


def check_fit(model: PreTrainedModel, args: ABSATrainingArguments, options: Mapping[str, Any]):
    """Refuses what is not for a model: another loss in the place of its own that has a part which it would lose, and
    a `none_factor`.

    Args:
        options: those of `ABSATrainer`.
    Raises:
        ValueError: naming the part, or as `bias_of_none`.
    """
    if args.none_factor is not None:
        bias_of_none(model)
    others = options.get("compute_loss_func"), options.get("label_masks"), args.label_smoothing_factor, args.teachers
    if any(others) and (mix_l2 := getattr(model.config, "mix_l2", 0)):
        raise ValueError(
            f"mix_l2={mix_l2} is a part of the model's own loss, in whose place class_weighted_loss, "
            "label_smoothing_factor, mixture and teachers have another: leave one out"
        )


def has_stopped_early(state: TrainerState) -> bool:
    """Whether a checkpoint was saved at the evaluation at which a callback stopped the training."""
    control = state.stateful_callbacks["TrainerControl"]["args"]
    return control["should_training_stop"] and state.global_step < state.max_steps


def find_best(state: TrainerState, folder: str):
    """Has the state name the best checkpoint by where the run's folder lies now, which may have been moved.

    Raises:
        FileNotFoundError: if it is gone: another would be tested in its place.
    """
    if state.best_global_step:
        best = Path(folder) / f"checkpoint-{state.best_global_step}"
        if not best.is_dir():
            raise FileNotFoundError(f"{best}, the best checkpoint, is missing: remove {folder} to train anew")
        state.best_model_checkpoint = str(best)


def last_whole(folder: str) -> str | None:
    """The checkpoint to go on from. Those that were not written to their end are removed."""
    for checkpoint in reversed(sort_checkpoints(folder)):
        try:
            json.loads((Path(checkpoint) / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
            return checkpoint
        except (OSError, ValueError):
            logger.warning("%s was not written to its end: it is removed", checkpoint)
            shutil.rmtree(checkpoint, ignore_errors=True)
    return None


def make_ready(trainer: ABSATrainer):
    """Has a model answer as the pipeline will: without the mixed precision of its training, with its `none_factor`."""
    for name in ("forward", "_original_forward"):  # on the instance: Accelerate's, which computes under autocast
        vars(trainer.model).pop(name, None)
    trainer.accelerator.native_amp = False  # which wraps a model that was not trained here when it is first asked
    if trainer.args.none_factor is not None:
        multiply_none(trainer.model, trainer.args.none_factor)


def predict(trainer: Trainer, entries: Sequence[Mapping]) -> np.ndarray | tuple[np.ndarray, ...]:
    """What the model answers to the entries, as the task takes it, without scoring it."""
    compute_metrics, trainer.compute_metrics = trainer.compute_metrics, None
    try:
        return trainer.predict(entries).predictions
    finally:
        trainer.compute_metrics = compute_metrics
