"""Texts a second and memory of examples/annotate.py, against a plain loop over lists: `pipe(list)`.

    python benchmarks/annotate.py CHECKPOINT --data_dir DIR --threads 2 --sizes 10000 100000

CHECKPOINT is a SentiHood classifier. DIR holds sentihood-test.json, whose texts are repeated as often as it takes. The
loop answers the texts of the first size in lists of `--rows_per_commit`, once before annotate.py and once after it, on
as many threads, and has the rate of both. The rate of annotate.py is that between its first line and its last.
Seconds are those of the whole process. Memory is the most that its processes held together, with Ray's own (PSS).
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
from threading import Event, Thread
from typing import NamedTuple

import pandas as pd
import psutil
import torch

from absa.commands import parse
from absa.opinions import to_table
from absa.precision import BFLOAT16_METADATA, BFloat16, use_bfloat16
from absa.predict import Predictor, load
from absa.timing import where
from datasets_scripts import load_absa_dataset
from timing import Threads, print_table

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
    sizes: list[int] = field(default_factory=lambda: [10_000, 100_000], metadata={"help": "Texts of the corpora."})
    rows_per_commit: int = field(default=2000, metadata={"help": "Texts of a file (default: 2000)."})
    bf16: BFloat16 = field(default="auto", metadata=BFLOAT16_METADATA)


class Measured(NamedTuple):
    """One run of annotate.py: its rows, seconds of the process, texts a second, and the most memory, in MB."""

    rows: pd.DataFrame
    seconds: float
    rate: float
    memory_mb: float


def annotate(arguments: BenchmarkArguments, texts: list[str], folder: Path) -> Measured:
    """Annotates texts in processes of their own."""
    folder.mkdir()
    corpus, output_dir = folder / "texts.jsonl", folder / "annotated"
    with open(corpus, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text, "id": number}) + "\n" for number, text in enumerate(texts))
    command = [sys.executable, str(ROOT / "examples" / "annotate.py"), arguments.checkpoint, str(corpus)]
    command += ["--output_dir", str(output_dir), "--return_all", "--workers", "1"]
    command += ["--cpus_per_worker", str(torch.get_num_threads())]
    command += ["--rows_per_commit", str(arguments.rows_per_commit), "--bf16", str(arguments.bf16).lower()]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    stopped, held = Event(), [0]

    def watch():
        while not stopped.wait(0.5):
            held.append(memory(psutil.Process(process.pid)))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    printed = []  # texts so far, and when they were said to be
    for line in process.stdout:
        if found := re.match(r"([\d,]+) texts(?!, [\d,]+ opinions)", line):
            printed.append((int(found[1].replace(",", "")), time.perf_counter()))
    stopped.set()
    if process.wait():
        sys.exit(f"annotate.py failed on {len(texts)} texts")
    seconds = time.perf_counter() - start
    thread.join()
    (first, then), (last, now) = printed[0], printed[-1]
    return Measured(pd.read_parquet(output_dir), seconds, (last - first) / (now - then), max(held) / 1e6)


def memory(process: psutil.Process) -> int:
    """Bytes of a process and all below it, where what they share counts once."""
    total = 0
    for one in (process, *process.children(recursive=True)):
        try:
            total += one.memory_full_info().pss
        except psutil.Error:  # it has ended
            continue
    return total


def loop(predictor: Predictor, texts: list[str], rows: int, bf16: bool) -> tuple[list, float]:
    """All opinions, and the seconds they take."""
    start, said = time.perf_counter(), []
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        for first in range(0, len(texts), rows):
            ids = range(first, min(first + rows, len(texts)))
            said += predictor(texts[first : first + rows], text_ids=ids)
    return [opinion for of_text in said for opinion in of_text], time.perf_counter() - start


def check(opinions: list, rows: pd.DataFrame) -> bool:
    """Whether the loop's opinions are annotate.py's; the ids are whole numbers."""
    expected = to_table(opinions).to_pandas()
    rows, expected = (
        frame.assign(text_id=frame["text_id"].astype(int)).sort_values(["text_id", "target", "aspect"])
        for frame in (rows, expected)
    )
    questions = [frame[["text_id", "target", "aspect"]].to_numpy().tolist() for frame in (rows, expected)]
    if questions[0] != questions[1]:
        sys.exit("annotate.py and the loop have answered other questions")
    same = int((rows["label"].to_numpy() == expected["label"].to_numpy()).sum())
    difference = abs(rows["score"].to_numpy() - expected["score"].to_numpy()).max()
    print(f"same labels {same:,} of {len(expected):,}, largest difference of a score {difference:.1e}")
    return same == len(expected) and difference <= TOLERANCE


def main(arguments: BenchmarkArguments):
    arguments.bf16 = use_bfloat16(arguments.bf16, "cpu")
    distinct = list(dict.fromkeys(load_absa_dataset("sentihood", data_dir=arguments.data_dir)["test"]["text"]))

    def texts(number: int) -> list[str]:
        return [distinct[index % len(distinct)] for index in range(number)]

    bits = "bfloat16" if arguments.bf16 else "float32"
    print(f"{bits}, {where('cpu')}")
    predictor = load(arguments.checkpoint, device="cpu", return_all=True)
    with tempfile.TemporaryDirectory() as folder:
        asked = (texts(arguments.sizes[0]), arguments.rows_per_commit, arguments.bf16)
        loop(predictor, asked[0][:200], *asked[1:])  # warm
        opinions, before = loop(predictor, *asked)
        measured = annotate(arguments, asked[0], Path(folder) / "first")
        _, after = loop(predictor, *asked)
        rate = 2 * len(asked[0]) / (before + after)
        for name, value in (("loop", rate), ("annotate.py", measured.rate)):
            print(f"{name:<12} {value:7.1f} texts/s")
        print(f"ratio        {measured.rate / rate:7.2f}")
        if not check(opinions, measured.rows) and bits == "float32":
            sys.exit(f"the two do not agree to {TOLERANCE}")

        def rows() -> Iterator[dict]:
            for size in arguments.sizes:
                run = (
                    measured
                    if size == arguments.sizes[0]
                    else annotate(arguments, texts(size), Path(folder) / f"{size}")
                )
                yield {
                    "texts": f"{size:,}",
                    "seconds": f"{run.seconds:.1f}",
                    "texts/s": f"{run.rate:.1f}",
                    "peak memory, MB": f"{run.memory_mb:.0f}",
                }

        print_table(rows())


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
