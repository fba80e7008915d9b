"""Runs scripts in processes of their own that need not import the libraries again: forks of this one, which has.

Each line of its input asks for one, as JSON: {"words", "environment", "folder", "timeout"}. What the script prints
goes to `stdout` and `stderr` in the folder; the line that answers is its exit status.
"""

import json
import os
import runpy
import signal
import sys
from pathlib import Path

import absa.predict
import absa.training.run  # noqa: F401


def asked() -> dict:
    """What is asked of this process, once it is a fork; the first process answers, and never returns."""
    for line in sys.stdin:
        if not (child := os.fork()):
            return json.loads(line)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, flush=True)
    raise SystemExit


request = asked()
signal.alarm(request["timeout"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number, name in ((1, "stdout"), (2, "stderr")):
    os.dup2(os.open(Path(request["folder"]) / name, os.O_WRONLY | os.O_CREAT), number)
os.environ.clear()
os.environ.update(request["environment"])
sys.argv = request["words"]
sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
runpy.run_path(sys.argv[0], run_name="__main__")
