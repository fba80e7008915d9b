"""Runs scripts in processes of their own that need not import libraries again: forks of this one, which has.

    python -P forks.py MODULE ...

Each line of its input asks for one, as JSON: {"words", "environment", "directory", "timeout", "printed"}. What the
script prints goes to `stdout` and `stderr` in the folder `printed`; the line that answers is its exit status.
"""

import json
import os
import runpy
import signal
import sys
from importlib import import_module
from pathlib import Path


def asked() -> dict:
    """What is asked of this process, once it is a fork; the first process answers, and never returns."""
    for line in sys.stdin:
        if not (child := os.fork()):
            return json.loads(line)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, flush=True)
    raise SystemExit


for name in sys.argv[1:]:
    import_module(name)
request = asked()
signal.alarm(request["timeout"])
os.chdir(request["directory"])
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number, name in ((1, "stdout"), (2, "stderr")):
    os.dup2(os.open(Path(request["printed"]) / name, os.O_WRONLY | os.O_CREAT), number)
os.environ.clear()
os.environ.update(request["environment"])
sys.argv = request["words"]
sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
runpy.run_path(sys.argv[0], run_name="__main__")
