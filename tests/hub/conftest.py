"""Fixtures for tests that publish to a Hub and read from it: the server of `hub_server.py`, or the real Hub.

With HF_TOKEN and HUB_TEST_NAMESPACE both set, the same tests run against the real Hub, in that namespace, and delete
the repos they made. Tests that need a Hub that fails, or that look at what it was asked, are then skipped.
"""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer
from huggingface_hub import HfApi, close_session, constants

# What a test's own environment decides; whatever the machine has set of it is dropped.
VARIABLES_OF_THE_LIBRARIES = ("HF_", "HUGGING", "TRANSFORMERS_", "HUB_TEST_")


@dataclass(frozen=True)
class Hub:
    endpoint: str
    token: str
    namespace: str
    server: Any = None
    """The `HubServer`, or None on the real Hub."""


@pytest.fixture
def hub():
    token, namespace = os.environ.get("HF_TOKEN"), os.environ.get("HUB_TEST_NAMESPACE")
    if token and namespace:
        yield Hub(constants.HUGGINGFACE_CO_URL_HOME.rstrip("/"), token, namespace)
        return
    with HubServer(tokens={"hf_alice_token": "alice", "hf_bob_token": "bob"}) as server:
        yield Hub(server.endpoint, "hf_alice_token", "alice", server)


@pytest.fixture
def hub_server(hub: Hub):
    """The `HubServer`, for tests that no other Hub will do for."""
    if hub.server is None:
        pytest.skip("the real Hub neither fails on request nor has a second user or tells what it was asked")
    return hub.server


@pytest.fixture
def connect(hub: Hub, monkeypatch) -> Callable[..., HfApi]:
    """An `HfApi` of this process, also where HF_HUB_OFFLINE was set when huggingface_hub was imported.

    `connect()` has the namespace's token, `connect(token=False)` none.
    """
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    if hub.server:
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
    close_session()  # One that an earlier test opened has its own idea of proxies.
    yield lambda token=hub.token: HfApi(endpoint=hub.endpoint, token=token)
    close_session()


@pytest.fixture
def hub_environment(hub: Hub, tmp_path: Path) -> dict[str, str]:
    """Environment of a process whose Hugging Face libraries talk to `hub` and to nothing else, with empty caches."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLES_OF_THE_LIBRARIES)}
    home = tmp_path / "hf_home"
    chosen = {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": hub.token,
        "HF_HOME": str(home),
        "HF_MODULES_CACHE": str(home / "modules"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    if hub.server:
        chosen |= {"HF_HUB_DISABLE_XET": "1", "no_proxy": "127.0.0.1"}
    return inherited | chosen


@pytest.fixture
def repo_id(hub: Hub, request) -> Callable[..., str]:
    """Names a repo that does not exist yet, and deletes it afterwards where it would stay."""
    named = []

    def name(repo_type: str = "model", stem: str = "test") -> str:
        named.append((repo_type, f"{hub.namespace}/{stem}_{uuid.uuid4().hex[:8]}"))
        return named[-1][1]

    if hub.server is None:
        api = request.getfixturevalue("connect")()
        yield name
        for repo_type, repo in named:
            api.delete_repo(repo, repo_type=repo_type, missing_ok=True)
    else:
        yield name
