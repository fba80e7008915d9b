"""What a trained model answers to a split of data."""

import tempfile
from dataclasses import replace
from typing import Any

from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from absa.models import most_tokens
from absa.tasks.arguments import DataArguments
from absa.tasks.base import Task
from absa.training.arguments import ABSATrainingArguments
from absa.training.trainer import ABSATrainer


def check_labels(checkpoint: str, config: PreTrainedConfig, task: Task) -> Task:
    """The task with its labels in the order of the model's; of a model that is told in words what it is asked, the
    labels of the data may be some of its own.

    Raises:
        ValueError: if they are others: each score would be of another label.
    """
    every = [config.id2label[number] for number in range(config.num_labels)]
    labels = getattr(config, "labels", every)  # of a model that generates none, although a configuration has some
    if getattr(config, "context_source", "id") == "text" and set(task.label_names) <= set(labels):
        return task.of_model(labels)
    task = task.with_labels(labels)
    if labels != task.label_names:
        raise ValueError(
            f"checkpoint={checkpoint} has the labels {labels}, the data {task.label_names}: give the data that it was "
            "trained for, with the same options (such as --absent_label, --scheme or --subtasks)"
        )
    return task


def answers_of(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    task: Task,
    split: str,
    arguments: DataArguments,
    batch_size: int,
    **generation: Any,
) -> Any:
    """What a model answers to the rows of a split, see `Task.answers`.

    Args:
        generation: how a model that generates does it, see its `generate`.
    Raises:
        ValueError: if the data asks for something that the model does not know.
    """
    # No more of a text than in training, which the tokenizer remembers.
    tokenizer.model_max_length = min(tokenizer.model_max_length, most_tokens(arguments.max_length, model.config))
    if hasattr(arguments, "context_source"):  # which the model has decided
        arguments = replace(arguments, context_source=getattr(model.config, "context_source", "id"))
    entries = task.entries(split, arguments, tokenizer, model.config)
    with tempfile.TemporaryDirectory() as folder:
        options = ABSATrainingArguments(
            folder,
            eval_strategy="no",
            save_strategy="no",
            load_best_model_at_end=False,
            bf16="false",
            per_device_eval_batch_size=batch_size,
            remove_unused_columns=False,
            dataloader_pin_memory=False,
            predict_with_generate=task.generates,
            report_to=[],
        )
        of_task = task.trainer_options(arguments, tokenizer, options)
        trainer = ABSATrainer(model, options, processing_class=tokenizer, **of_task)
        return task.answers(split, entries, trainer.predict(entries.dataset, **generation).predictions)
