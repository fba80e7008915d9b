"""The demo: its modules, and a server of its own on checkpoints that have seen no data."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from transformers import pipeline

import load
from absa import models as backbones
from absa.tasks.classification import describe

WORDS = "Camden is dear but safe, and near Soho. The soup was cold!"


@pytest.fixture(scope="session")
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint(0.3, [0.0, 1.2, 1.0])


@pytest.fixture(scope="session")
def pipe(checkpoint: Path):
    return pipeline("aspect-sentiment", model=str(checkpoint), trust_remote_code=True)


@pytest.fixture(scope="session")
def make_pair_model(tiny_bert: Path, tmp_path_factory) -> Callable[[str], Path]:
    """A checkpoint of a classifier of pairs that may be asked about any words."""

    def make(model_type: str) -> Path:
        described = describe(None, ["positive", "negative", "neutral"], none_label=None)
        config = backbones.build_config(model_type, str(tiny_bert), described)
        torch.manual_seed(0)
        model = backbones.load_model(str(tiny_bert), config, "sdpa")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.2 * torch.randn_like(parameter)
        folder = tmp_path_factory.mktemp(model_type)
        model.save_pretrained(folder)
        backbones.load_tokenizer(str(tiny_bert), config).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def folders(checkpoint, tiny_tagger, make_generator, save_word_model, make_pair_model) -> dict[str, Path]:
    """A checkpoint of each kind."""
    return {
        "places": checkpoint,
        "tagger": tiny_tagger,
        "generator": make_generator("aste"),
        "given": make_generator("alsc"),
        "af_lstm": save_word_model(WORDS),
        "td_lstm": save_word_model(WORDS, architecture="td_lstm"),
        "bert": make_pair_model("bert"),
        "scalar_mix": make_pair_model("scalar_mix"),
    }


@pytest.fixture(scope="session")
def server(folders: dict[str, Path]) -> Iterator[tuple[str, list[str]]]:
    """The address of a running demo with some of them, and what it has printed so far."""
    models = ", ".join(f"{name}={folders[name]}" for name in ("places", "tagger", "generator", "af_lstm"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("OMP_NUM_THREADS", "1")
        process, address, printed = load.start_demo(models)
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
