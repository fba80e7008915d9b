"""The demo: its modules, and a server of its own on a checkpoint that has seen no data."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from transformers import pipeline

import load


@pytest.fixture(scope="session")
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint(0.3, [0.0, 0.5, 0.3])


@pytest.fixture(scope="session")
def pipe(checkpoint: Path):
    return pipeline("aspect-sentiment", model=str(checkpoint), trust_remote_code=True)


@pytest.fixture(scope="session")
def server(checkpoint: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a running demo, and what it has printed so far."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        process, address, printed = load.start_demo(checkpoint)
    yield address, printed
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
