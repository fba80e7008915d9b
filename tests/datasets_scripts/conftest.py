"""Fixtures of the data set tests."""

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def sentihood_dir(shared_dir: Path) -> Path:
    return shared_dir / "data" / "sentihood"


@pytest.fixture(scope="session")
def semeval2014_dir(shared_dir: Path) -> Path:
    return shared_dir / "data" / "semeval2014"


@pytest.fixture(scope="session")
def rows_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the tests that only read: each data set is built once."""
    return tmp_path_factory.mktemp("rows_cache")


@pytest.fixture
def write_sentihood(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder in SentiHood's format; each split is a list of (text, [(target, aspect, sentiment), ...])."""

    def write(folder: str = "sentihood_source", **splits: list) -> Path:
        directory = tmp_path / folder
        directory.mkdir(exist_ok=True)
        default = [("LOCATION1 is fine", [("LOCATION1", "general", "Positive")])]
        for split in ("train", "dev", "test"):
            records = [
                {
                    "opinions": [
                        {"sentiment": sentiment, "aspect": aspect, "target_entity": target}
                        for target, aspect, sentiment in opinions
                    ],
                    "id": number,
                    "text": text,
                }
                for number, (text, opinions) in enumerate(splits.get(split, default))
            ]
            (directory / f"sentihood-{split}.json").write_text(json.dumps(records), encoding="utf-8")
        return directory

    return write


@pytest.fixture
def write_semeval(tmp_path: Path) -> Callable[..., Path]:
    """Writes a folder in SemEval's format; `train` and `test` are the content of <sentences>."""

    def write(train: str | None = None, test: str | None = None) -> Path:
        default = '<sentence id="1"><text>Fine soup.</text></sentence>'
        directory = tmp_path / "semeval_source"
        directory.mkdir(exist_ok=True)
        for name, content in (("Restaurants_Train.xml", train), ("Restaurants_Test_Gold.xml", test)):
            document = f"<?xml version='1.0'?>\n<sentences>\n{default if content is None else content}\n</sentences>"
            (directory / name).write_text(document, encoding="utf-8")
        return directory

    return write


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves a folder over HTTP on this machine and returns its address."""
    servers = []

    class QuietHandler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_error(500) if "broken" in self.path else super().do_GET()

    def start(folder: Path) -> str:
        handler = functools.partial(QuietHandler, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
