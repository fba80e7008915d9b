"""SetFit-ABSA as a baseline: the library's polarity model, asked about the aspect terms or categories of SemEval-2014.

    pip install '.[setfit,minilm]'
    python study/setfit_baseline.py --data_dir DIR --output_dir outputs/setfit --seeds 42 43 44

A run has the split, the encoder and the metric of the project's own classifiers, and examples/compare.py reads it.
The method is the library's (`setfit.span`, after Tunstall et al. 2022). A term is written before its text, with three
words on both sides; the encoder is trained on pairs of texts, to tell those of one label from those of two; then a
logistic regression reads the embeddings of all training rows. By default there are 582 steps of 16 pairs, which are as
many texts as six epochs have. The last step counts, and the validation split is not read.

Terms are given, so that the library's finder of terms, which needs a trained spaCy model, has no part in it. Words are
those of spaCy's blank English pipeline. Two things differ from the library: a term that cuts words is widened to whole
ones, where the library leaves it out; and a category stands before its text by its name, since it has no place in it.
"""

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from datasets import Dataset
from setfit import Trainer, TrainingArguments
from setfit.span import PolarityModel

from absa.commands import parse, user_errors
from absa.packages import MINILM, resolve_backbone
from absa.tasks.arguments import ClassificationArguments
from absa.tasks.base import BOOTSTRAP
from absa.tasks.classification import Classification
from absa.training.run import digest, each_seed, summarise_run

DATASET = "aspect_polarity"
PAIRS = 16  # of a step


@dataclass
class BaselineArguments:
    """On which data, and how long."""

    data_dir: str = field(metadata={"help": "Folder of the organisers' XML files."})
    output_dir: Path = field(metadata={"help": "Where answers, scores and models go."})
    data_config: str = field(
        default="restaurants_terms", metadata={"help": "Of aspect_polarity (default: restaurants_terms)."}
    )
    labels: int = field(default=3, metadata={"help": "3, or 2 without neutral (default: 3)."})
    seeds: list[int] = field(default_factory=lambda: [42], metadata={"help": "Of the trainings (default: 42)."})
    max_steps: int = field(default=582, metadata={"help": "Of the encoder's training (default: 582)."})
    train_rows: int | None = field(default=None, metadata={"help": "Only so many training rows (default: all)."})


def rows_of(task: Classification, split: str) -> list[dict[str, Any]]:
    columns = task.splits[split]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def written(model: PolarityModel, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as the model reads them: `three words before, term, three words behind:text`."""
    words_of, inputs = spacy.blank("en"), []
    for row in rows:
        if row["target_start"] is None:
            inputs.append(f"{row['aspect']}:{row['text']}")
            continue
        doc = words_of(row["text"])
        term = doc.char_span(row["target_start"], row["target_end"], alignment_mode="expand")
        inputs += model.prepend_aspects([doc], [[slice(term.start, term.end)]])
    return inputs


def probabilities(model: PolarityModel, inputs: list[str], labels: list[str]) -> np.ndarray:
    """(inputs, labels)."""
    order = [list(model.model_head.classes_).index(label) for label in labels]
    return model.predict_proba(inputs, as_numpy=True)[:, order]


def train(task: Classification, seed: int, arguments: BaselineArguments) -> tuple[PolarityModel, float]:
    """A trained model, and how many seconds that took."""
    rows = rows_of(task, "train")[: arguments.train_rows]
    model = PolarityModel.from_pretrained(resolve_backbone(MINILM))
    inputs, labels = written(model, rows), [row["label"] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            output_dir=folder,
            max_steps=arguments.max_steps,
            batch_size=PAIRS,
            seed=seed,
            save_strategy="no",
            report_to="none",
            show_progress_bar=False,
        )
        started = time.perf_counter()
        Trainer(model, args=options, train_dataset=Dataset.from_dict({"text": inputs, "label": labels})).train()
    return model, time.perf_counter() - started


def saved(model: PolarityModel, folder: Path) -> dict[str, float]:
    """The size of a model, which only the library can load, once it is saved in a folder."""
    model.save_pretrained(folder)
    in_head = model.model_head.coef_.size + model.model_head.intercept_.size
    return {
        "parameters": sum(weights.numel() for weights in model.model_body.parameters()) + in_head,
        "megabytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6,
    }


def main(arguments: BaselineArguments):
    of_data = {name: getattr(arguments, name) for name in ("data_dir", "data_config", "labels")}
    task = Classification.load(ClassificationArguments(dataset=DATASET, **of_data))
    print(task.overview(), flush=True)

    def train_seed(seed: int, folder: Path, begin) -> dict[str, Any]:
        begin()
        model, seconds = train(task, seed, arguments)
        log_probabilities = np.log(probabilities(model, written(model, rows_of(task, "test")), task.label_names))
        task.write_answers(folder, "test", log_probabilities)
        return {
            "seed": seed,
            "training": {"model": {"steps": arguments.max_steps, "train_runtime_s": seconds}},
            "test": task.score("test", log_probabilities, BOOTSTRAP),
            "size": saved(model, folder / "setfit"),
        }

    described = {"task": "classification", "model_type": "setfit", "dataset": DATASET, **asdict(arguments)}
    del described["output_dir"]  # the same run elsewhere is the same run
    each_seed(arguments, {**described, "data_sha256": digest(task.splits)}, train_seed)
    summarise_run(arguments.output_dir, task, described, oracle=False)


if __name__ == "__main__":
    with user_errors():
        main(parse(BaselineArguments))
