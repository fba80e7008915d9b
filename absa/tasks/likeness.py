"""How likely a text speaks of an aspect that was in no training, learnt from those that were."""

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from absa.tasks.base import Task
from modeling_qacg_bert.likeness_qacg_bert import likeness


def calibrate_likeness(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tasks: Sequence[Task]
) -> dict[str, list[float] | None]:
    """The `likeness_calibration` of a model that reads aspects in words, by the validation rows about named aspects.

    None where no row says that a text does not speak of an aspect, or where texts that speak of one are no more like
    it than others; nothing of another model.
    """
    if getattr(model.config, "context_source", "id") != "text" or not hasattr(model.config, "likeness_calibration"):
        return {}
    asked, speak = ([], [], []), []
    for task in tasks:
        if task.contexts is not None and task.none_label is not None:
            rows = task.splits["validation"]
            for column, name in zip(asked, ("text", "target", "aspect"), strict=True):
                column += rows[name]
            speak += [label != task.none_label for label in rows["label"]]
    if len(set(speak)) < 2:
        return {"likeness_calibration": None}
    found = likeness(model, tokenizer, *asked).double().numpy()
    # Scaled for the optimizer: the cosines of some encoders are all near 1.
    middle, spread = found.mean(), found.std() or 1.0
    fitted = LogisticRegression(C=np.inf).fit(((found - middle) / spread)[:, None], speak)
    slope = float(fitted.coef_[0, 0] / spread)
    intercept = float(fitted.intercept_[0] - slope * middle)
    return {"likeness_calibration": [slope, intercept] if slope > 0 else None}
