"""The tasks by name."""

from absa.tasks.base import Task
from absa.tasks.classification import Classification

TASKS: dict[str, type[Task]] = {"classification": Classification}
