"""Looks for files that a reader of `readers.py` answers with anything but rows or an error of its own.

    make fuzz SECONDS=60 READERS="custom_csv semeval2014"

Atheris makes files out of the seeds and keeps those that reach new code of ours, or of json, csv and yaml, as they are
in Python. A file that shows a defect is left under build/fuzz/READER/findings; when it is fixed it belongs into
tests/fuzz/findings/READER, and with what becomes of it into FINDINGS of test_readers.py, which gives it to the reader
from then on.
"""

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "fuzz"
CODE = ["absa", "datasets_scripts", "convert_checkpoint", "tables", "json", "csv", "yaml"]
LIMITS = ["-max_len=4096", "-rss_limit_mb=4096", "-timeout=20"]  # bytes of a file; what a file may take, in MB and s


def fuzz(name: str, seconds: int, log: Path):
    """Runs in a process of its own, which ends with it, and whose errors go into the log."""
    import atheris

    with log.open("w") as output:
        os.dup2(output.fileno(), sys.stderr.fileno())
    with atheris.instrument_imports(include=CODE):
        from readers import READERS, give

    for kept in ("corpus", "findings", "seeds"):
        (BUILD / name / kept).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(READERS[name].seeds):
        (BUILD / name / "seeds" / str(number)).write_bytes(seed)
    options = [*LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={BUILD / name}/findings/"]
    starts = [BUILD / name / "corpus", BUILD / name / "seeds", HERE / "findings" / name]
    with tempfile.TemporaryDirectory() as working:
        atheris.Setup(
            [sys.argv[0], "-print_final_stats=1", *options, *(str(start) for start in starts if start.is_dir())],
            lambda content: give(READERS[name], Path(working), content),
        )
        atheris.Fuzz()


def main():
    from readers import READERS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", metavar="reader", help=f"of {', '.join(READERS)} (default: all of them)")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader (default: 60)")
    arguments = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    found = False
    for name in arguments.readers or READERS:
        log = BUILD / f"{name}.log"
        process = multiprocessing.get_context("spawn").Process(target=fuzz, args=(name, arguments.seconds, log))
        process.start()
        process.join()
        written = log.read_text(errors="replace")
        (files,) = re.findall(r"number_of_executed_units: (\d+)", written) or ["0"]
        reached = (re.findall(r"cov: (\d+)", written) or ["0"])[-1]
        found = found or process.exitcode != 0
        finding = f", A FINDING: see {log}" if process.exitcode else ""
        print(f"{name}: {int(files):,} files, {reached} places reached{finding}", flush=True)
    sys.exit(found)


if __name__ == "__main__":
    main()
