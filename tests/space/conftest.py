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
from modeling_qacg_bert import Contexts

WORDS = "Camden is dear but safe, and near Soho. The soup was cold!"


@pytest.fixture(scope="session")
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint(0.3, [0.0, 1.2, 1.0])


@pytest.fixture(scope="session")
def pipe(checkpoint: Path):
    return pipeline("aspect-sentiment", model=str(checkpoint), trust_remote_code=True)


@pytest.fixture(scope="session")
def make_model(tiny_bert: Path, tmp_path_factory) -> Callable[..., Path]:
    """A checkpoint of a classifier that may be asked about any words, or about the aspects of some contexts."""

    def make(model_type: str, contexts: Contexts | None = None) -> Path:
        described = describe(contexts, ["positive", "negative", "neutral"], none_label=None)
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
def folders(checkpoint, tiny_tagger, make_generator, save_word_model, make_model) -> dict[str, Path]:
    """A checkpoint of each kind."""
    return {
        "places": checkpoint,
        "tagger": tiny_tagger,
        "generator": make_generator("aste"),
        "given": make_generator("alsc"),
        "af_lstm": save_word_model(WORDS),
        "td_lstm": save_word_model(WORDS, architecture="td_lstm"),
        "bert": make_model("bert"),
        "scalar_mix": make_model("scalar_mix"),
        "food": make_model("qacg_bert", Contexts((), ("food", "price"))),
    }


@pytest.fixture(scope="session")
def server(folders: dict[str, Path]) -> Iterator[tuple[str, list[str]]]:
    """The address of a running demo with some of them, and what it has printed so far."""
    models = ", ".join(f"{name}={folders[name]}" for name in ("places", "tagger", "generator", "af_lstm", "food"))
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


@pytest.fixture
def open_page(browser, server):
    """Opens the demo; it may load nothing from elsewhere, and no error may reach the console."""
    contexts = []

    def opened(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("request", lambda request: _note_request(page, server[0], request.url))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda line: page.problems.append(line.text) if line.type == "error" else None)
        page.goto(server[0])
        page.get_by_label("Text", exact=True).wait_for()
        return page

    yield opened
    for context in contexts:
        assert [page.problems for page in context.pages] == [[]] * len(context.pages)
        context.close()
    assert "Traceback" not in "".join(server[1])


def _note_request(page, own: str, url: str):
    if not url.startswith((own, "data:", "blob:")):
        page.problems.append(f"loads {url}")
