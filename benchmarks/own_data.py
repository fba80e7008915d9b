"""What `own_data.yaml` makes of few labelled texts: accuracy and time, as somebody with own csv files has them.

    OMP_NUM_THREADS=1 python benchmarks/own_data.py --sentihood_dir DIR --semeval2014_dir DIR

Random training sentences of SemEval-2014 (no targets) and SentiHood (two targets), whose opinions are positive or
negative, become a csv file without rows of the label none, which `--absent_label none` then makes. A fifth of them is
held out to choose the checkpoint, and 250 sentences of the test split are answered. Accuracy is of rows, strict
accuracy of (sentence, target) pairs; the accuracy of none is that of answering it to everything.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from datasets import ClassLabel, Dataset

from absa.commands import parse
from absa.training.results import percent
from datasets_scripts import load_absa_dataset
from timing import print_table

ROOT = Path(__file__).resolve().parents[1]

COMMAND = [sys.executable, ROOT / "examples/run_absa.py", ROOT / "configuration/recipes/own_data.yaml"]
CASES = (("semeval2014", 110), ("sentihood", 110), ("sentihood", 1500))  # data and training sentences
TEST_SENTENCES = 250


@dataclass
class OwnDataArguments:
    """Where the data are."""

    sentihood_dir: Path = field(metadata={"help": "Folder of SentiHood's JSON files."})
    semeval2014_dir: Path = field(metadata={"help": "Folder of SemEval-2014's XML files."})


def write_own_file(file: Path, rows: Dataset, most: int):
    """So many random sentences of a split as a csv file of (text, target, aspect, label), without the label none."""
    features = {name: feature for name, feature in rows.features.items() if isinstance(feature, ClassLabel)}
    named = rows.to_pandas().assign(**{name: feature.int2str(rows[name][:]) for name, feature in features.items()})
    said = named[(named["label"] != "none") & (named["aspect"] != "anecdotes")]
    plain = said.groupby("text")["label"].agg(lambda labels: set(labels) <= {"positive", "negative"})
    texts = sorted(plain.index[plain])
    chosen = random.Random(0).sample(texts, min(most, len(texts)))
    said[said["text"].isin(chosen)].to_csv(file, index=False, columns=["text", "target", "aspect", "label"])


def rows(arguments: OwnDataArguments) -> Iterator[dict]:
    """Mean scores of README's command over its one seed, and its seconds."""
    for name, count in CASES:
        splits = load_absa_dataset(name, data_dir=getattr(arguments, f"{name}_dir"))
        with tempfile.TemporaryDirectory() as folder:
            train, test, run = (Path(folder) / file for file in ("train.csv", "test.csv", "run"))
            write_own_file(train, splits["train"], count)
            write_own_file(test, splits["test"], TEST_SENTENCES)
            words = ["--train_file", train, "--test_file", test, "--absent_label", "none", "--output_dir", run]
            start = time.perf_counter()
            subprocess.run([*COMMAND, *words, "--disable_tqdm", "true"], check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            labels = pd.read_parquet(run / "seed-42" / "test_probabilities.parquet")["label"]
            summary = json.loads((run / "all_results.json").read_text(encoding="utf-8"))["summary"]
        shown = {score: percent([summary[score]["mean"]]) for score in ("accuracy", "strict_accuracy", "macro_f1")}
        floor = percent([(labels == "none").mean()])
        yield {"data": name, "sentences": count, **shown, "accuracy of none": floor, "seconds": f"{seconds:.0f}"}


if __name__ == "__main__":
    print_table(rows(parse(OwnDataArguments)))
