"""absa/tasks/targets.py: what a model reads of SentiHood where its two targets have changed names."""

import re
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from absa import models
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.classification import Classification
from absa.tasks.describing import describe
from absa.tasks.targets import encode_split

OTHER = {"LOCATION1": "LOCATION2", "LOCATION2": "LOCATION1"}


@pytest.fixture(scope="module")
def task(shared_dir: Path) -> Classification:
    return Classification.load(ClassificationArguments(data_dir=str(shared_dir / "data" / "sentihood")))


@pytest.mark.parametrize(
    ("model_type", "auxiliary_sentence", "together"),
    [("bert", True, False), ("qacg_bert", True, False), ("qacg_bert", False, False), ("qacg_bert", False, True)],
    ids=["pair", "qacg-auxiliary", "qacg", "qacg-together"],
)
@pytest.mark.parametrize("source", ["id", "text"])
def test_symmetric_targets_may_change_names(
    tiny_bert: Path, task: Classification, model_type: str, auxiliary_sentence: bool, together: bool, source: str
):
    """The rows are the same, so that the answers are: the mean over an exchange has nothing to average."""
    rows, tokenizer = task.splits["test"], AutoTokenizer.from_pretrained(tiny_bert)
    rows = {name: column[:400] for name, column in rows.items()}
    exchanged = {
        **rows,
        "text": [re.sub(r"LOCATION[12](?!\d)", lambda found: OTHER[found[0]], text) for text in rows["text"]],
        "target": [OTHER[target] for target in rows["target"]],
    }
    assert exchanged["text"] != rows["text"]
    found = {}
    for symmetric in (True, False):
        described = describe(
            task.contexts,
            task.label_names,
            auxiliary_sentence=auxiliary_sentence,
            symmetric_targets=symmetric,
            context_source=source,
        )
        config = models.build_config(model_type, str(tiny_bert), described)
        one, other = (encode_split(tokenizer, config, each, False, together, 512)[0] for each in (rows, exchanged))
        found[symmetric] = one == other
    assert found == {True: True, False: False}
