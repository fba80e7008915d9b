"""Memory for input that is too long: a text for the pipeline, and files that annotate.py reads.

    python benchmarks/memory.py CHECKPOINT

Each case in a process of its own: "before" is its peak before it reads anything, "peak" when it has read all.
"""

import gzip
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from absa.commands import parse
from absa.models import load_classifier
from absa.text_files import find_files, read_chunks
from modeling_qacg_bert import AspectSentimentPipeline
from timing import print_table

MEGABYTE = 1_000_000
TEXT = "text"


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a classifier that knows LOCATION1."})
    megabytes: int = field(default=100, metadata={"help": "Of the longest line; of the others in proportion."})
    case: str | None = field(default=None, metadata={"help": f"{TEXT}, or a file (default: a text and three files)."})


def write_files(folder: Path, megabytes: int) -> list[Path]:
    """A line that is too long, as it is and packed, and a small parquet file of long texts."""
    files = [folder / name for name in ("line.jsonl", "packed.jsonl.gz", "texts.parquet")]
    files[0].write_bytes(b'{"text": "' + b"x" * (megabytes * MEGABYTE // 2) + b'"}\n')
    files[1].write_bytes(gzip.compress(b"0" * (megabytes * MEGABYTE), compresslevel=1))
    pq.write_table(pa.table({"text": ["a" * MEGABYTE] * (6 * megabytes)}), files[2], compression="zstd")
    return files


def peak() -> int:
    """MB of this process; `getrusage` would count what its parent had."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def measure(arguments: BenchmarkArguments, case: str | Path) -> dict[str, str]:
    """A row of the table."""
    if case == TEXT:
        model, tokenizer = load_classifier("checkpoint", arguments.checkpoint)
        pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
        pipe("LOCATION1 is dear")
        text = "LOCATION1 " + "a b " * (arguments.megabytes * MEGABYTE // 100)
        before, start = peak(), time.perf_counter()
        pipe(text, return_all=True)
        name = f"a text of {len(text) / MEGABYTE:.1f} MB"
    else:
        before, start = peak(), time.perf_counter()
        (file,) = find_files([str(case)])
        for chunk in read_chunks(file, "text", None, most_rows=2000):
            assert chunk.num_rows == 1
        name = Path(case).name
    seconds = time.perf_counter() - start
    return {"input": name, "seconds": f"{seconds:.1f}", "MB before": before, "MB at the peak": peak()}


def main(arguments: BenchmarkArguments):
    fresh = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1)
    with tempfile.TemporaryDirectory() as folder, fresh:
        cases = [arguments.case] if arguments.case else [TEXT, *write_files(Path(folder), arguments.megabytes)]
        print_table(fresh.map(partial(measure, arguments), cases))


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
