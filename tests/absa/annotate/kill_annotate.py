"""Starts examples/annotate.py again and again and kills it, each time at another point, until it was killed 20 times.

    python tests/absa/annotate/kill_annotate.py CHECKPOINT INPUT OUTPUT_DIR

Each start is a fork of this process, which has imported everything and started no thread. Every other one is killed
from outside, at a random moment; the others kill themselves at a random step of writing their files: before a file is
on the disk, before or after it has got its name. Prints a JSON object for each kill.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from absa import annotate

KILLS = 20
SHARD_SIZE = 2
SECONDS_OF_A_FILE = 0.01  # that each takes at least: a fast machine must not come to the end before the last kill


def kill_oneself_at(step: int, after: bool):
    """SIGKILL at the step-th call that makes a file lasting: before the call, or after it."""
    calls = 0

    def wrapped(call):
        def counted(*arguments):
            nonlocal calls
            calls += 1
            if calls == step and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            call(*arguments)
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)

        return counted

    os.fsync, os.replace = wrapped(os.fsync), wrapped(os.replace)


def write_slowly():
    replace = os.replace

    def after_a_while(*arguments):
        time.sleep(SECONDS_OF_A_FILE)
        replace(*arguments)

    os.replace = after_a_while


def start(checkpoint: str, input_: str, output_dir: Path, at_step: tuple[int, bool] | None = None) -> int:
    """Process id of a child that annotates."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        write_slowly()
        if at_step is not None:
            kill_oneself_at(*at_step)
        annotate.main(
            annotate.AnnotateArguments(checkpoint, [input_], str(output_dir), return_all=True, shard_size=SHARD_SIZE)
        )
        status = 0
    finally:
        os._exit(status)


def complete(output_dir: Path) -> int:
    return len(list(output_dir.glob("annotations-*.parquet")))


def main(checkpoint: str, input_: str, output_dir: Path):
    generator = random.Random(0)
    for number in range(KILLS):
        before = complete(output_dir)
        if number % 2:
            pid = start(checkpoint, input_, output_dir, at_step=(generator.randint(1, 12), generator.random() < 0.3))
        else:
            pid = start(checkpoint, input_, output_dir)
            wanted = before + generator.randint(0, 2)
            deadline = time.monotonic() + 60
            while complete(output_dir) < wanted and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(generator.uniform(0, 0.05) if wanted > before else generator.uniform(0, 0.2))
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        print(
            json.dumps(
                {
                    "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
                    "before": before,
                    "after": complete(output_dir),
                    "partial": len(list(output_dir.glob(".*.partial"))),
                }
            )
        )
    os.waitpid(start(checkpoint, input_, output_dir), 0)  # to the end


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
