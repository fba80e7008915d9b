"""Memory for input that is too long: a text for the pipeline, and files that annotate.py reads.

    python benchmarks/memory.py CHECKPOINT

Each case in a process of its own: "before" is its peak before it reads anything, "peak" when it has read all.
"""

import gzip
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from absa.commands import parse
from absa.models import load_classifier
from absa.text_files import find_files, read_chunks
from modeling_qacg_bert import AspectSentimentPipeline

MEGABYTE = 1_000_000
TEXT = "text"


@dataclass
class BenchmarkArguments:
    """What to measure."""

    checkpoint: str = field(metadata={"help": "Folder or Hub id of a classifier that knows LOCATION1."})
    megabytes: int = field(default=100, metadata={"help": "Of the longest line; of the others in proportion."})
    case: str | None = field(default=None, metadata={"help": f"Measure here: {TEXT}, or a file (default: all cases)."})


def write_files(folder: Path, megabytes: int) -> list[Path]:
    """A line that is too long, as it is and packed, and a small parquet file of long texts."""
    line = b'{"text": "' + b"x" * (megabytes * MEGABYTE // 2) + b'"}\n'
    (folder / "line.jsonl").write_bytes(line)
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(b"0" * (megabytes * MEGABYTE), compresslevel=1))
    table = pa.table({"text": ["a" * MEGABYTE] * (6 * megabytes)})
    with pq.ParquetWriter(folder / "texts.parquet", table.schema, compression="zstd") as writer:
        writer.write_table(table)
    return sorted(folder.iterdir())


def peak() -> int:
    """MB of this process; `getrusage` would count what its parent had."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def measure(arguments: BenchmarkArguments):
    """Prints a row for one case."""
    if arguments.case == TEXT:
        model, tokenizer = load_classifier("checkpoint", arguments.checkpoint)
        pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
        pipe("LOCATION1 is dear")
        text = "LOCATION1 " + "a b " * (arguments.megabytes * MEGABYTE // 100)
        before, start = peak(), time.perf_counter()
        pipe(text, return_all=True)
        name = f"a text of {len(text) / MEGABYTE:.1f} MB"
    else:
        before, start = peak(), time.perf_counter()
        (file,) = find_files([arguments.case])
        for chunk in read_chunks(file, "text", None, most_rows=2000):
            assert chunk.num_rows == 1
        name = Path(arguments.case).name
    print(f"| {name} | {time.perf_counter() - start:.1f} | {before} | {peak()} |")


def main(arguments: BenchmarkArguments):
    if arguments.case is not None:
        measure(arguments)
        return
    print("| input | seconds | MB before | MB at the peak |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in (TEXT, *write_files(Path(folder), arguments.megabytes)):
            words = (arguments.checkpoint, "--megabytes", str(arguments.megabytes), "--case", str(case))
            subprocess.run([sys.executable, __file__, *words], check=True)


if __name__ == "__main__":
    main(parse(BenchmarkArguments, "checkpoint"))
