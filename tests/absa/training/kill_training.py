"""Starts examples/run_absa.py again and again and kills it while it writes a checkpoint, each time at another point.

    python tests/absa/training/kill_training.py WORDS...

WORDS are those of the script. Each start is a fork of this process, which has imported everything and started no
thread; it is killed at a random one of the moments at which Python opens, makes or removes something of a checkpoint.
Prints how many checkpoints were there after each kill, and how many of them were whole; ends with the run.
"""

import json
import os
import random
import signal
import sys
from pathlib import Path

from absa.training import run

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "shutil.rmtree"}


def kill_at(number: int):
    """SIGKILL at one of the events that change a checkpoint."""
    left = number

    def count(event: str, arguments: tuple):
        nonlocal left
        reads = event == "open" and not (arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if event in EVENTS and "checkpoint-" in str(arguments[0]) and not reads:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def is_whole(checkpoint: Path) -> bool:
    try:
        return bool(json.loads((checkpoint / "trainer_state.json").read_text()))
    except (OSError, ValueError):
        return False


def main(words: list[str]):
    output_dir = Path(words[words.index("--output_dir") + 1])
    generator = random.Random(0)
    while True:
        number = generator.randint(1, 40)
        pid = os.fork()
        if not pid:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            kill_at(number)
            run.main(words)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 0:
            return
        if status != -signal.SIGKILL:
            raise SystemExit(f"a start that was to be killed ended with {status}")
        there = list(output_dir.glob("seed-*/checkpoint-*"))
        print(json.dumps({"there": len(there), "whole": sum(map(is_whole, there))}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
