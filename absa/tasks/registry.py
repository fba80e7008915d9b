"""The tasks by name."""

from transformers import PreTrainedModel

from absa.models import auto_class_of
from absa.tasks.arguments import DataArguments
from absa.tasks.base import Task
from absa.tasks.classification import Classification
from absa.tasks.generation import Generation
from absa.tasks.mixture import Mixture
from absa.tasks.tagging import Tagging
from datasets_scripts.documents import all_texts

TASKS: dict[str, type[Task]] = {"classification": Classification, "tagging": Tagging, "generation": Generation}


def load_task(arguments: DataArguments) -> Task:
    """The data that the arguments ask for: one data set, or several."""
    held_out = all_texts(arguments.held_out)
    task = (Mixture if getattr(arguments, "mixture", None) else TASKS[arguments.task]).load(arguments)
    task = task.without_texts_like(held_out) if held_out else task
    if share := getattr(arguments, "joined_texts", 0):  # of texts that nothing holds out
        task = task.with_joined_texts(share, bool(arguments.symmetric_targets))
    return task


def task_of(argument: str, checkpoint: str) -> str:
    """The name of the task that a checkpoint was trained for.

    Args:
        argument: what the user calls the checkpoint, for the error.
        checkpoint: its folder or Hub id.
    Raises:
        FileNotFoundError, ValueError: if there is no such checkpoint.
    """
    names = {task.auto_class: name for name, task in TASKS.items()}
    return names[auto_class_of(argument, checkpoint, names)]


def task_for(model: PreTrainedModel) -> str:
    """The name of the task that a model's head is for."""
    return next(
        name
        for name, task in TASKS.items()
        if task.auto_class._model_mapping.get(type(model.config), None) is type(model)
    )
