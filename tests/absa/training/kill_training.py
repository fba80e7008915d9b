"""Starts examples/run_absa.py again and again and stops it, each time at another point, as often as it is told to.

    python tests/absa/training/kill_training.py TIMES WORDS...

WORDS are those of the script. Each start is a fork of this process, which has imported everything and started no
thread. In turn it is killed after a random step; killed while it writes a checkpoint, at a random call that puts
something of it on the disk: before it, after it, or when half of the file is there; and told to stop after a random
step. Prints a JSON object for each; the last start goes on to the end.
"""

import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import transformers.modeling_utils
from transformers import TrainerCallback, TrainerState
from transformers.trainer import DEFAULT_CALLBACKS

from absa.training import checkpoints
from absa.training import run as run_absa
from absa.training.trainer import ABSATrainer

CALLS = 9  # that write a checkpoint, a little more than there are


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class SignalAfterSteps(TrainerCallback):
    def __init__(self, number: int, steps: int):
        self.number, self.left = number, steps

    def on_step_end(self, args, state, control, **kwargs):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)


def kill_while_writing(call: int, when: str):
    """SIGKILL at a call within the writing of the next checkpoint, or when that is over."""
    calls, writing = 0, None

    def counted(function: Callable) -> Callable:
        def wrapped(*arguments, **options):
            nonlocal calls
            calls += writing is not None
            is_the_one = writing is not None and calls == call
            if is_the_one and when == "before":
                die()
            result = function(*arguments, **options)
            if is_the_one:
                if when == "half":
                    cut_newest_file_in(writing)
                die()
            return result

        return wrapped

    def save_checkpoint(self, *arguments):
        nonlocal writing
        writing = Path(self._get_output_dir(trial=None))
        save(self, *arguments)
        die()

    save, ABSATrainer._save_checkpoint = ABSATrainer._save_checkpoint, save_checkpoint
    transformers.modeling_utils.safe_save_file = counted(transformers.modeling_utils.safe_save_file)
    torch.save = counted(torch.save)
    TrainerState.save_to_json = counted(TrainerState.save_to_json)
    os.replace, shutil.rmtree = counted(os.replace), counted(shutil.rmtree)


def cut_newest_file_in(folder: Path):
    files = [path for path in folder.glob("checkpoint-*/**/*") if path.is_file()]
    newest = max(files, key=lambda path: path.stat().st_mtime_ns)
    os.truncate(newest, newest.stat().st_size // 2)


def start(words: list[str], prepare: Callable[[], None]) -> int:
    """Exit status of a child that trains; that of a killed one is below 0."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            prepare()
            run_absa.main(words)
            status = 0
        except SystemExit as stopped:
            status = stopped.code
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(times: int, words: list[str]):
    folder = Path(words[words.index("--output_dir") + 1]) / f"seed-{words[words.index('--seeds') + 1]}"
    generator = random.Random(0)
    for number in range(times):
        steps, call = generator.randint(1, 5), generator.randint(1, CALLS)
        prepare = (
            partial(DEFAULT_CALLBACKS.append, SignalAfterSteps(signal.SIGKILL, steps)),
            partial(kill_while_writing, call, generator.choice(("before", "after", "half"))),
            partial(DEFAULT_CALLBACKS.append, SignalAfterSteps(signal.SIGTERM, steps)),
        )[number % 3]
        status = start(words, prepare)
        there = checkpoints.checkpoints(folder)
        whole = [path.name for path in there if checkpoints.is_complete(path)]
        print(json.dumps({"status": status, "whole": whole, "cut_off": len(there) - len(whole)}))
    status = start(words, lambda: None)
    if status != 0:
        raise SystemExit(f"the last start, which nothing disturbed, ended with {status}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
