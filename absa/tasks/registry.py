"""The tasks by name."""

from absa.tasks.base import Task
from absa.tasks.classification import Classification
from absa.tasks.tagging import Tagging

TASKS: dict[str, type[Task]] = {"classification": Classification, "tagging": Tagging}
