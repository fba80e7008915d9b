"""The demo: its modules, and a server of its own on a checkpoint that has seen no data."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from transformers import pipeline

LIMIT_S = 120  # for the server to start in


@pytest.fixture(scope="session")
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint(0.3, [0.0, 0.5, 0.3])


@pytest.fixture(scope="session")
def pipe(checkpoint: Path):
    return pipeline("aspect-sentiment", model=str(checkpoint), trust_remote_code=True)


@pytest.fixture(scope="session")
def start_app(repo_root: Path) -> Callable[[str | Path], subprocess.Popen]:
    def start(model: str | Path) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-u", "examples/space/app.py"],
            cwd=repo_root,
            env={**os.environ, "MODEL": str(model), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


@pytest.fixture(scope="session")
def server(start_app, checkpoint: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a running demo, and what it has printed so far."""
    process = start_app(checkpoint)
    killer = threading.Timer(LIMIT_S, process.kill)
    killer.start()
    printed = []
    for line in process.stdout:
        printed.append(line)
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        if address:
            break
    else:
        pytest.fail("the demo did not start: " + "".join(printed))
    killer.cancel()
    threading.Thread(target=lambda: printed.extend(process.stdout), daemon=True).start()
    yield address[0], printed
    process.terminate()
    process.wait()


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    program = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chrome")
    if program is None:
        pytest.skip("there is no Chromium on the path: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Without its sandbox, since it may have to run as root; it opens this server's pages only.
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()
