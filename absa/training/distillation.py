"""Distillation: a model learns what trained ones, its teachers, answer to the training rows (Hinton et al., 2015).

Its loss is the cross-entropy to the mean of their probabilities. Each teacher's are calibrated by its own temperature,
so that one that is too sure does not outvote the others. Hinton et al. add the labels with a small weight. Here it is
0: the teachers were fitted to the labels of these rows, so that their answers hold them already.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from accelerate import PartialState
from scipy.special import softmax

from absa.models import load_classifier
from absa.tasks.arguments import DataArguments
from absa.tasks.base import Entries, Task
from absa.tasks.classification import Classification
from absa.tasks.rows import write_probabilities
from absa.training.arguments import Arguments
from absa.training.evaluation import answers_of, check_labels

logger = logging.getLogger(__name__)

TAUGHT = "teacher_probabilities"  # column of the training entries, and name of the file in the run's folder


def check_teachable(task: Task, parts: Sequence[Task], arguments: Arguments):
    """What is trained can learn from probabilities, and its teachers are there and have its labels.

    Raises:
        FileNotFoundError, ValueError: if not, or if it learns from its labels in another way; as `load_classifier`.
    """
    teachers = f"teachers={' '.join(arguments.training.teachers)}"
    if not isinstance(task, Classification):
        raise ValueError(f"{teachers} is for task=classification without mixture: leave it out")
    if len(parts) > 1:
        raise ValueError(f"{teachers} needs one model for all contexts (not BERT-single): leave it out")
    for name, value in (
        ("class_weighted_loss", arguments.data.class_weighted_loss),
        ("label_smoothing_factor", arguments.training.label_smoothing_factor),
    ):
        if value:
            raise ValueError(f"{teachers} with {name}={str(value).lower()}: each is a loss of its own; leave one out")
    for checkpoint in arguments.training.teachers:
        check_labels(checkpoint, load_classifier("teachers", checkpoint)[0].config, task)


def answers_of_teacher(checkpoint: str, task: Classification, arguments: DataArguments, batch_size: int) -> np.ndarray:
    """Calibrated probabilities of a trained classifier for the training rows, (rows, labels), asked in its own form.

    Raises:
        ValueError: if it does not know what the rows ask.
    """
    model, tokenizer = load_classifier("teachers", checkpoint, dtype="float32")
    # What a text is asked together is a matter of speed, and not all forms can be.
    own = replace(arguments, contexts_together=False, max_length=tokenizer.model_max_length)
    try:
        asked = check_labels(checkpoint, model.config, replace(task, model_labels=None))
        logits = answers_of(model, tokenizer, asked, "train", own, batch_size)
    except ValueError as error:
        raise ValueError(f"teachers={checkpoint}: {error}") from error
    return softmax(logits / getattr(model.config, "calibration_temperature", 1.0), axis=-1)


def answers_of_teachers(task: Classification, arguments: Arguments) -> np.ndarray:
    """Mean probabilities of the training rows, (rows, labels) in float32.

    They are computed once for all seeds of a run, and kept as teacher_probabilities.parquet in its folder.
    """
    file = Path(arguments.training.output_dir) / f"{TAUGHT}.parquet"
    columns = [f"p_{name}" for name in task.label_names]
    if file.is_file():
        return pd.read_parquet(file)[columns].to_numpy(np.float32)
    logger.warning("%d training rows are asked of the teachers", len(task.splits["train"]["id"]))
    batch_size = arguments.training.per_device_eval_batch_size
    checkpoints = arguments.training.teachers
    answers = [answers_of_teacher(name, task, arguments.data, batch_size) for name in checkpoints]
    mean = np.mean(answers, axis=0, dtype=np.float64).astype(np.float32)
    state = PartialState()
    if state.is_main_process:
        written = file.with_name(f".{file.name}.{os.getpid()}.partial")  # another seed may be asking them too
        write_probabilities(written, task.splits["train"], mean, task.label_names)
        written.replace(file)
    state.wait_for_everyone()
    return mean


def with_teachers(entries: Entries, task: Classification, arguments: Arguments) -> Entries:
    """Training entries with what teachers answer to their rows, in the order of the model's labels."""
    answers = answers_of_teachers(task, arguments)
    labels = task.model_labels or task.label_names
    targets = np.zeros((len(answers), len(labels)), np.float32)
    targets[:, [labels.index(name) for name in task.label_names]] = answers
    is_together = isinstance(entries.dataset[0]["labels"], list)
    column = [targets[own if is_together else own[0]].tolist() for own in entries.rows_of]
    return replace(entries, dataset=entries.dataset.add_column(TAUGHT, column))
