"""Looks for files that a reader of `readers.py` answers with anything but rows or an error of its own.

    make fuzz SECONDS=60 READERS="custom_csv semeval2014"

Atheris makes files out of the seeds and keeps those that reach new code of ours, or of json, csv and yaml, as they are
in Python. A file that shows a defect is left under build/fuzz/READER/findings; when it is fixed it belongs into
tests/fuzz/findings/READER, and with what becomes of it into FINDINGS of test_readers.py, which gives it to the reader
from then on.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "fuzz"
OURS = ["absa", "datasets_scripts", "convert_checkpoint", "tables"]
READ_BY = ["json", "csv", "yaml"]
LONGEST = 4096  # bytes of a file
MEGABYTES = 4096  # a reader that takes more memory is a finding
SECONDS_OF_A_FILE = 20  # or more time


def fuzz(name: str, seconds: int):
    """Runs in a process of its own, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=[*OURS, *READ_BY]):
        from readers import READERS, give

    reader = READERS[name]
    folder = BUILD / name
    for kept in ("corpus", "findings", "seeds"):
        (folder / kept).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(reader.seeds):
        (folder / "seeds" / str(number)).write_bytes(seed)
    options = {
        "max_total_time": seconds,
        "max_len": LONGEST,
        "rss_limit_mb": MEGABYTES,
        "timeout": SECONDS_OF_A_FILE,
        "artifact_prefix": f"{folder / 'findings'}/",
        "print_final_stats": 1,
    }
    starts = [folder / "corpus", folder / "seeds", HERE / "findings" / name]
    with tempfile.TemporaryDirectory() as working:
        atheris.Setup(
            [
                sys.argv[0],
                *(f"-{option}={value}" for option, value in options.items()),
                *(str(start) for start in starts if start.is_dir()),
            ],
            lambda content: give(reader, Path(working), content),
        )
        atheris.Fuzz()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", help="which (default: all of them)")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader (default: 60)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone:
        return fuzz(arguments.readers[0], arguments.seconds)

    from readers import READERS

    if unknown := set(arguments.readers) - set(READERS):
        parser.error(f"readers {sorted(unknown)} are unknown: give some of {', '.join(READERS)}")
    found = False
    for name in arguments.readers or READERS:
        BUILD.mkdir(parents=True, exist_ok=True)
        log = BUILD / f"{name}.log"
        with log.open("w") as output:
            words = [sys.executable, __file__, name, "--seconds", str(arguments.seconds), "--alone"]
            status = subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
        written = log.read_text(errors="replace")
        runs = re.search(r"number_of_executed_units: (\d+)", written)
        reached = re.findall(r"cov: (\d+)", written)
        found = found or status != 0
        print(
            f"{name}: {int(runs[1]) if runs else 0:,} files, {reached[-1] if reached else 0} places reached"
            + (f", A FINDING: see {log}" if status else ""),
            flush=True,
        )
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
