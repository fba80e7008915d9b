"""The Trainer, with this project's order of rows, learning rates, R-Drop, whole checkpoints and looks at the test
split."""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import SequentialSampler
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from absa.losses import divergence, twice
from absa.training import checkpoints
from absa.training.optimisation import parameter_groups
from absa.training.sampling import TrainingOrder

AGREE_EVERY = 10  # steps; telling all processes of a SIGTERM makes each wait for its device


class EpochOfTheOrder(TrainerCallback):
    """Tells the order its epoch: the Trainer does not reach it behind the wrappers of a resumed, distributed run."""

    def __init__(self, trainer: "ABSATrainer"):
        self.trainer = trainer

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.trainer.order.set_epoch(int(state.epoch or 0))


class SaveAndStop(TrainerCallback):
    """On SIGTERM the step is brought to its end, saved, and training stops, on all processes after the same step.

    One process stops after the step that it is in, several at the next multiple of `AGREE_EVERY` or end of an epoch.
    (The Trainer's own `enable_jit_checkpoint` saves in the middle of a step, on each process when its signal comes.)
    """

    def __init__(self, trainer: "ABSATrainer"):
        self.accelerator = trainer.accelerator
        self.told = False
        self.stopped = False

    def on_train_begin(self, args, state, control, **kwargs):
        self.before = signal.signal(signal.SIGTERM, self._note)

    def on_train_end(self, args, state, control, **kwargs):
        signal.signal(signal.SIGTERM, self.before)

    def _note(self, signum, frame):
        self.told = True

    def agreed(self) -> bool:
        """Whether any process was told to stop."""
        if self.accelerator.num_processes == 1:
            return self.told
        return bool(self.accelerator.reduce(torch.tensor(float(self.told), device=self.accelerator.device)))

    def on_step_end(self, args, state, control, **kwargs):
        if self.accelerator.num_processes > 1 and state.global_step % AGREE_EVERY:
            return
        if self.agreed() and state.epoch != int(state.epoch):
            self.stopped = control.should_save = control.should_training_stop = True

    def on_epoch_end(self, args, state, control, **kwargs):
        if self.stopped:  # in the middle of it: what is done at its end is done when the run has gone on
            control.should_log = control.should_evaluate = control.should_save = False
        elif self.agreed() and state.global_step < state.max_steps:
            self.stopped = control.should_save = control.should_training_stop = True


class ScoreTestSplit(TrainerCallback):
    """Puts the scores of the test split into the log after every evaluation, under the names `test_<score>`."""

    def __init__(self, score: Callable[[], Mapping[str, float]]):
        self.score = score

    def on_evaluate(self, args, state, control, **kwargs):
        # Reading a split draws a number, after which dropout would draw others than without this callback.
        with torch.random.fork_rng(devices=[]):
            scores = {f"test_{name}": score for name, score in self.score().items()}
        state.log_history.append({"epoch": state.epoch, "step": state.global_step, **scores})


class ABSATrainer(Trainer):
    """The Trainer with this project's order of training rows, learning rates, R-Drop and checkpoints.

    Evaluation rows keep their order.
    """

    def __init__(self, *args, balance_labels: bool, **kwargs):
        super().__init__(*args, **kwargs)
        if self.args.r_drop and self.compute_loss_func is not None:
            raise ValueError("r_drop=true with class_weighted_loss=true: each is a loss of its own; leave one out")
        self.balance_labels = balance_labels
        # The Trainer would remove checkpoints before a new one is whole and, at the end, all but the best.
        self.checkpoint_limit, self.args.save_total_limit = self.args.save_total_limit, None
        self.add_callback(EpochOfTheOrder(self))
        self.stop = SaveAndStop(self)
        self.add_callback(self.stop)

    def _get_train_sampler(self, train_dataset=None) -> TrainingOrder:
        rows = train_dataset if train_dataset is not None else self.train_dataset
        self.order = TrainingOrder(
            lengths=[len(ids) for ids in rows["input_ids"]],
            labels=rows["labels"][:] if self.balance_labels else None,
            batch_size=self.args.train_batch_size * self.args.world_size,
            group_by_length=self.args.train_sampling_strategy == "group_by_length",
            seed=self.args.seed,
        )
        return self.order

    def get_optimizer_cls_and_kwargs(self, args, model=None):
        optimizer, options = super().get_optimizer_cls_and_kwargs(args, model)
        if args.new_learning_rate is not None or args.layer_decay != 1:
            options["params"] = parameter_groups(
                model,
                self.get_decay_parameter_names(model),
                args.weight_decay,
                args.learning_rate,
                args.new_learning_rate,
                args.layer_decay,
            )
        return optimizer, options

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """As the Trainer; while it trains with `r_drop`, of the batch shown twice, which has outputs of 2B rows."""
        if not (self.args.r_drop and model.training):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        loss, outputs = super().compute_loss(model, twice(inputs), True, num_items_in_batch)
        loss = loss + divergence(outputs.logits, inputs["labels"])
        return (loss, outputs) if return_outputs else loss

    def _save_checkpoint(self, model, trial):
        """As the Trainer, but older checkpoints are removed only when this one is whole.

        Raises:
            OSError: if it cannot be written; those before it stay.
        """
        folder = Path(self._get_output_dir(trial=trial))
        checkpoint = folder / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        with checkpoints.writing(checkpoint, self.args.should_save):
            super()._save_checkpoint(model, trial)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            with checkpoints.writing(checkpoint, self.args.should_save):
                checkpoints.mark_complete(checkpoint)
            checkpoints.keep(folder, self.checkpoint_limit, self.state.best_model_checkpoint)

    def _get_eval_sampler(self, eval_dataset) -> SequentialSampler:
        # The Trainer's own would group these rows by length too, and their predictions come back in that order.
        return SequentialSampler(eval_dataset)


def compute_in_float32(trainer: Trainer):
    """Takes the mixed precision of its training from a model, which answers from now on as the pipeline has it."""
    for name in ("forward", "_original_forward"):  # on the instance: Accelerate's, which computes under autocast
        vars(trainer.model).pop(name, None)


def predict(trainer: Trainer, entries: Sequence[Mapping]) -> np.ndarray:
    """Logits of the entries, (entries, labels) or (entries, most contexts, labels), without scoring them."""
    compute_metrics, trainer.compute_metrics = trainer.compute_metrics, None
    try:
        return trainer.predict(entries).predictions
    finally:
        trainer.compute_metrics = compute_metrics
