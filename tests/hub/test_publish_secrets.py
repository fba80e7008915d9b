"""No token in what examples/publish.py prints, whatever fails and whatever the Hub says, nor in what it uploads."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from huggingface_hub import constants

from absa import outside_text

TOKEN = "hf_" + "QWERTYUIOPASDFGHJKLZXCVBNMqwertyui"
OTHER_TOKEN = "secret-of-another-form"
METRIC = ("metric", "absa/metrics/evaluate_modules/sentihood")


@pytest.fixture
def telling_hub(hub, hub_server):
    """A Hub that says the token it was sent wherever it can: in warnings, and in what it answers of errors."""

    # Of a topic the library logs the first warning only. The address will not do: a later test may have its port.
    topic = uuid4().hex

    class Telling(hub_server._http.RequestHandlerClass):
        def send(self, reply):
            sent = self.headers.get("Authorization", "")
            headers = {**reply.headers, "X-HF-Warning": f"{topic}; you sent {sent}"}
            if reply.status >= 400:
                headers |= {"X-Error-Message": f"refused: {sent}", "X-Request-Id": sent.removeprefix("Bearer ")}
                reply = replace(reply, body=json.dumps({"error": f"{sent} is no good"}).encode())
            super().send(replace(reply, headers=headers))

    hub_server._http.RequestHandlerClass = Telling
    hub_server.tokens |= {TOKEN: "alice", OTHER_TOKEN: "alice"}
    return hub_server


@pytest.fixture
def printed(hub, connect, run_here, monkeypatch, capsys, caplog) -> Callable[..., str]:
    """All that the script prints and logs, in this process, with the message of its end."""

    def run(*words: str | Path, token: str = TOKEN) -> str:
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
        monkeypatch.setenv("HF_TOKEN", token)
        caplog.clear()
        try:
            out, end = run_here("examples/publish.py", *words), "was published"
        except SystemExit as error:
            out, end = "", str(error.code)
        captured = capsys.readouterr()
        return "\n".join([out, captured.out, captured.err, caplog.text, end])

    return run


@pytest.mark.parametrize("token", [TOKEN, OTHER_TOKEN])
@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("whoami", 401, "the token was refused"),
        ("whoami", 403, "the token may not write there"),
        ("create_repo", 409, "there is a repo of this name"),
        ("commit", 412, "the branch was changed in the meantime"),
        ("commit", 400, "TOKEN_REMOVED is no good"),
        ("commit", 500, "the Hub answered 500"),
        ("create_branch", 507, "the Hub answered 507"),
        ("commit", None, "the connection failed"),
    ],
)
def test_failures(telling_hub, printed, token: str, fault: str, status: int | None, message: str):
    telling_hub.fail_next(fault, status=status)
    told = printed(*METRIC, "alice/m", "--revision", "trial", token=token)
    assert message in told
    assert "you sent Bearer TOKEN_REMOVED" in told, "the library does not log warnings, and the test shows less"
    assert token not in told


def test_as_a_user_with_a_token_file_runs_it(telling_hub, hub_environment, repo_root, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    environment = {**hub_environment, "HF_TOKEN": "", "HF_TOKEN_PATH": str(tmp_path / "token")}
    telling_hub.fail_next("commit", status=507)
    finished = subprocess.run(
        [sys.executable, "examples/publish.py", *METRIC, "alice/m"],
        cwd=repo_root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 1
    assert finished.stderr.splitlines()[-1].startswith("repo_id=alice/m was not published, it is as it was")
    assert "Bearer TOKEN_REMOVED" in finished.stderr
    assert TOKEN not in finished.stdout + finished.stderr
    assert "Traceback" not in finished.stderr


def test_what_is_published(telling_hub, printed, tiny_classifier, tmp_path):
    shutil.copytree(tiny_classifier, tmp_path / "run" / "seed-1")
    arguments = {"dataset": "sentihood", "model_name_or_path": "bert", "hub_token": TOKEN}
    all_results = {
        "protocol": f"See https://alice:{TOKEN}@host/.",
        "split": "test",
        "main_scores": ["macro_f1"],
        "arguments": arguments,
        "summary": {"macro_f1": {"mean": 0.5, "std": None}},
        "seeds": {"1": {"test": {"macro_f1": 0.5}}},
    }
    (tmp_path / "run" / "all_results.json").write_text(json.dumps(all_results))
    (tmp_path / "run" / "seed-1" / "results.json").write_text(json.dumps({"seed": 1}))
    told = printed("model", tmp_path / "run", "alice/secret_m")
    assert "published as alice" in told
    assert TOKEN not in told
    files = telling_hub.files("model", "alice/secret_m")
    assert b"https://alice:TOKEN_REMOVED@host/" in files["README.md"]
    assert not [name for name, content in files.items() if TOKEN.encode() in content]


@pytest.mark.parametrize(
    "words",
    [
        ("--token", TOKEN, *METRIC, "alice/m"),
        (*METRIC, "alice/m", "--token", TOKEN),
        (*METRIC, TOKEN),
        ("metric", TOKEN, "alice/m"),
        (*METRIC, "alice/m", "--private", TOKEN),
        (*METRIC, "alice/m", "--revision", f"https://{TOKEN}@host"),
        (*METRIC, "alice/m", "--license", TOKEN),
    ],
    ids=["before", "behind", "as repo", "as folder", "as a switch", "as revision", "as licence"],
)
def test_a_token_on_the_command_line(telling_hub, printed, words: tuple):
    told = printed(*words, token=OTHER_TOKEN)
    assert "TOKEN_REMOVED" in told
    assert TOKEN not in told
    assert not telling_hub.requests


@pytest.mark.parametrize("token", ["{TOKEN}\x01", "{TOKEN}é", "{TOKEN} x", "{TOKEN}\n"])
def test_a_token_that_cannot_be_sent(telling_hub, printed, token: str):
    assert TOKEN not in printed(*METRIC, "alice/m", token=token.format(TOKEN=TOKEN))


def test_a_fault_of_the_script_itself(capsys):
    def fail():
        print(f"my {TOKEN}")
        print(f"your {TOKEN}", file=sys.stderr)
        raise KeyError(f"no {TOKEN}")

    with pytest.raises(SystemExit) as caught, outside_text.without_tokens():
        fail()
    assert str(caught.value).startswith("Traceback")
    assert str(caught.value).endswith("KeyError: 'no TOKEN_REMOVED'\n")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("my TOKEN_REMOVED\n", "your TOKEN_REMOVED\n")
