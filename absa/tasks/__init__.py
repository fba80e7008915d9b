"""What models are trained for: each task says how its rows become batches, and its outputs scores."""

from absa.tasks.base import Task
from absa.tasks.classification import Classification

TASKS: dict[str, type[Task]] = {"classification": Classification}
