"""Texts a second of examples/annotate.py: against a plain pipeline loop, and over corpora of growing size.

    python benchmarks/annotate.py CHECKPOINT --data_dir DIR --sizes 1000 10000 100000

CHECKPOINT is a SentiHood classifier, DIR holds sentihood-test.json, whose texts are repeated as often as it takes. The
loop calls the pipeline with one text at a time; it and annotate.py work on as many threads, in processes of their own
one after the other. Seconds of annotate.py are those of the whole process, with its start, and apart those of the
annotating; memory is the most that its process held.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch

from absa.commands import parse
from absa.models import load_classifier
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from datasets_scripts import load_absa_dataset
from modeling_qacg_bert import AspectSentimentPipeline
from timing import Threads, print_table, where

ROOT = Path(__file__).resolve().parents[1]

TOLERANCE = 1e-5


@dataclass
class BenchmarkArguments(Threads):
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a SentiHood classifier."})
    data_dir: str = field(
        default=str(ROOT / "datasets_scripts" / "sample_corpus"),
        metadata={"help": "Folder of the SentiHood files (default: the sample corpus)."},
    )
    sizes: list[int] = field(
        default_factory=lambda: [1000, 10_000, 100_000], metadata={"help": "Texts of the corpora."}
    )
    loop_texts: int = field(default=500, metadata={"help": "Texts that the loop is given, too (default: 500)."})
    shard_size: int = field(default=5000, metadata={"help": "Texts of a shard (default: 5000)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)


class Measured(NamedTuple):
    """One run of annotate.py: its rows, seconds with and without its start, and the most memory, in MB."""

    rows: pd.DataFrame
    total_s: float
    annotating_s: float
    memory_mb: float


def annotate(arguments: BenchmarkArguments, texts: list[str], folder: Path) -> Measured:
    """Annotates texts in a process of its own."""
    folder.mkdir()
    corpus, output_dir, printed = folder / "texts.jsonl", folder / "annotated", folder / "printed"
    with open(corpus, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    command = [sys.executable, str(ROOT / "examples" / "annotate.py"), arguments.checkpoint, str(corpus)]
    command += ["--output_dir", str(output_dir), "--return_all"]
    command += ["--shard_size", str(arguments.shard_size), "--bf16", str(arguments.bf16).lower()]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), "ACCELERATE_USE_CPU": "true"}
    start = time.perf_counter()
    with open(printed, "w") as file:
        process = subprocess.Popen(command, stdout=file, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    total_s = time.perf_counter() - start
    if status:
        sys.exit(f"annotate.py failed on {len(texts)} texts")
    # Kilobytes, but for macOS, where they are bytes.
    memory_mb = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    annotating_s = float(re.search(r"texts in ([\d.]+) s", printed.read_text())[1])
    files = sorted(output_dir.glob("annotations-*.parquet"))
    return Measured(pd.concat(map(pd.read_parquet, files), ignore_index=True), total_s, annotating_s, memory_mb)


def loop(arguments: BenchmarkArguments, texts: list[str]) -> tuple[list[dict], float]:
    """All answers to texts that are asked about one by one, and the seconds it takes."""
    model, tokenizer = load_classifier("checkpoint", arguments.checkpoint, dtype=torch.float32)
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer, device="cpu", return_all=True)
    for text in texts[:20]:
        pipe(text)
    start = time.perf_counter()
    answers = [answer for text in texts for answer in pipe(text)]
    return answers, time.perf_counter() - start


def check(answers: list[dict], rows: pd.DataFrame):
    """The loop's answers are annotate.py's."""
    if [(answer["target"], answer["aspect"]) for answer in answers] != list(
        rows[["target", "aspect"]].itertuples(index=False, name=None)
    ):
        sys.exit("annotate.py and the loop have answered other questions")
    labels = list(answers[0]["probabilities"])
    given = torch.tensor(rows[[f"probability_{label}" for label in labels]].to_numpy())
    expected = torch.tensor([list(answer["probabilities"].values()) for answer in answers])
    same = sum(answer["label"] == label for answer, label in zip(answers, rows["label"], strict=True))
    difference = (given - expected).abs().max().item()
    print(f"same labels {same} of {len(answers)}, largest difference of a probability {difference:.1e}")
    return same == len(answers) and difference <= TOLERANCE


def main(arguments: BenchmarkArguments):
    arguments.bf16 = use_bfloat16(arguments.bf16, "cpu")
    distinct = list(dict.fromkeys(load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"]["text"]))

    def texts(number: int) -> list[str]:
        return [distinct[index % len(distinct)] for index in range(number)]

    bits, count = "bfloat16" if arguments.bf16 else "float32", arguments.loop_texts
    print(f"{bits}, {where('cpu')}\n")
    with tempfile.TemporaryDirectory() as folder:
        answers, loop_s = loop(arguments, texts(count))
        measured = annotate(arguments, texts(count), Path(folder) / "loop")
        print(f"{count} texts, {len(answers)} questions")
        for name, seconds in (("loop", loop_s), ("annotate.py", measured.annotating_s)):
            print(f"{name:<12} {seconds:7.1f} s  {count / seconds:7.1f} texts/s")
        print(f"ratio        {loop_s / measured.annotating_s:7.2f}")
        if not check(answers, measured.rows) and bits == "float32":
            sys.exit(f"the two do not agree to {TOLERANCE}")

        def rows() -> Iterator[dict]:
            for size in arguments.sizes:
                measured = annotate(arguments, texts(size), Path(folder) / str(size))
                yield {
                    "texts": f"{size:,}",
                    "seconds": f"{measured.total_s:.1f}",
                    "of them annotating": f"{measured.annotating_s:.1f}",
                    "texts/s annotating": f"{size / measured.annotating_s:.1f}",
                    "peak memory, MB": f"{measured.memory_mb:.0f}",
                }

        print_table(rows())


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
