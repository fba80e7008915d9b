"""Publishing by the command line and by `push_to_hub`, through the real client, and what a stranger gets of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from absa import hub as publishing
from modeling_qacg_bert import AspectSentimentPipeline

TEXTS = ["LOCATION1 is safe but dear", "LOCATION2 and LOCATION1 is far", "nothing"]
BATCH = {
    "input_ids": torch.arange(20, 40).view(2, 10),
    "attention_mask": torch.tensor([[1] * 10, [1] * 7 + [0] * 3]),
    "context_ids": torch.tensor([0, 5]),
}


@pytest.fixture
def publish(hub_environment, repo_root):
    """Runs examples/publish.py; the last line on stderr is what a user reads of a failure."""

    def run(*words, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
        finished = subprocess.run(
            [sys.executable, "examples/publish.py", *map(str, words)],
            cwd=repo_root,
            env={**hub_environment, **environment},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert (finished.returncode == 0) is check, finished.stderr[-3000:]
        return finished

    return run


@pytest.fixture
def printed_by_publish(hub, connect, run_here, monkeypatch):
    """The words of `publish`, in this process, which takes a tenth of the time; returns what it printed."""

    def run(*words) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(constants, "ENDPOINT", hub.endpoint)
            patch.setenv("HF_TOKEN", hub.token)
            return run_here("examples/publish.py", *words)

    return run


@pytest.fixture
def publish_here(hub, connect, repo_root, monkeypatch):
    """`publish` in this process; returns the error's message, if there is one."""
    monkeypatch.chdir(repo_root)
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_TOKEN", hub.token)

    def run(kind: str, folder: Path, repo_id: str, **options) -> str | None:
        try:
            publishing.main(publishing.PublishArguments(kind, str(folder), repo_id, **options))
        except publishing.PublishError as error:
            return str(error)
        return None

    return run


@pytest.fixture
def checkpoint(make_checkpoint) -> Path:
    return make_checkpoint()


def local_answers(checkpoint: Path) -> tuple[torch.Tensor, list]:
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint, attn_implementation="eager")
    with torch.no_grad():
        logits = model(**BATCH).logits
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    pipe = AspectSentimentPipeline(model=model, tokenizer=AutoTokenizer.from_pretrained(checkpoint))
    return logits, pipe(TEXTS, return_all=True)


def assert_same_labels(given: list, expected: list):
    for one, other in zip(given, expected, strict=True):
        assert [answer["label"] for answer in one] == [answer["label"] for answer in other]
        for mine, theirs in zip(one, other, strict=True):
            assert mine["probabilities"] == pytest.approx(theirs["probabilities"], abs=1e-6)


def commits(api, name: str, revision: str = "main", repo_type: str = "model") -> list[str]:
    return [commit.commit_id for commit in api.list_repo_commits(name, revision=revision, repo_type=repo_type)]


def published_commit(printed: str) -> str:
    return printed.split("/tree/")[1].split()[0]


@pytest.mark.slow
def test_a_published_model_answers_a_stranger_as_it_answers_here(
    publish, printed_by_publish, checkpoint, connect, repo_id, stranger, hub_environment
):
    api, name = connect(), repo_id()
    first = publish("model", checkpoint, name).stdout
    sha = published_commit(first)
    assert f'revision="{sha}"' in first
    assert len(commits(api, name)) == 2, "one commit beside the one that makes a repo"
    assert commits(api, name)[0] == sha
    logits, answers = local_answers(checkpoint)
    pinned = {"revision": sha, "code_revision": sha}
    report, tensors = stranger(name, BATCH, TEXTS, hub_environment, **pinned)
    assert report["packages"] == ["transformers_modules"]
    assert torch.equal(tensors["logits"], logits)
    assert_same_labels(report["answers"], answers)
    assert_same_labels(report["answers_of_what_was_saved_again"], answers)

    assert "nothing has changed" in printed_by_publish("model", checkpoint, name)
    assert commits(api, name)[0] == sha

    # Another version: main has its answers, the old commit the old ones.
    weights = checkpoint / "model.safetensors"
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    with torch.no_grad():
        model.classifier.bias += torch.tensor([3.0, 0.0, -3.0])
    model.save_pretrained(checkpoint)
    assert load_file(weights)["classifier.bias"][0] > 2
    second = published_commit(printed_by_publish("model", checkpoint, name))
    assert commits(api, name)[:2] == [second, sha]
    report, tensors = stranger(name, BATCH, TEXTS, hub_environment)
    assert torch.equal(tensors["logits"], local_answers(checkpoint)[0])
    _, tensors = stranger(name, BATCH, TEXTS, hub_environment, **pinned)
    assert torch.equal(tensors["logits"], logits)


@pytest.mark.slow
def test_the_readme_on_loading_from_the_hub(
    printed_by_publish, checkpoint, repo_id, repo_root, hub_environment, tmp_path
):
    name = repo_id()
    sha = published_commit(printed_by_publish("model", checkpoint, name))
    blocks = re.findall(r"```python\n(.*?)```", (repo_root / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    (snippet,) = (block for block in blocks if "USER/MODEL" in block)
    script = snippet.replace("USER/MODEL", name).replace("COMMIT", sha)
    assert sha in script
    finished = subprocess.run(
        [sys.executable, "-c", script + "print(pipe('LOCATION1 is safe', return_all=True)[0]['aspect'])"],
        cwd=tmp_path,
        env=hub_environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert finished.stdout.splitlines()[-1] == "general"


@pytest.mark.slow
def test_push_to_hub_of_a_model_and_of_a_pipeline(
    checkpoint, connect, hub, repo_id, stranger, hub_environment, repo_root
):
    names = {"model": repo_id(), "pipe": repo_id()}
    script = f"""
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from modeling_qacg_bert import AspectSentimentPipeline
model = AutoModelForSequenceClassification.from_pretrained({str(checkpoint)!r})
tokenizer = AutoTokenizer.from_pretrained({str(checkpoint)!r})
model.push_to_hub({names["model"]!r})
tokenizer.push_to_hub({names["model"]!r})
AspectSentimentPipeline(model=model, tokenizer=tokenizer).push_to_hub({names["pipe"]!r}, private=True)
"""
    finished = subprocess.run(
        [sys.executable, "-c", script], cwd=repo_root, env=hub_environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert connect().repo_info(names["pipe"]).private
    for name in names.values():
        report, tensors = stranger(name, BATCH, TEXTS, hub_environment)
        assert report["packages"] == ["transformers_modules"]
        assert torch.equal(tensors["logits"], local_answers(checkpoint)[0])
        files = connect().list_repo_files(name)
        assert not [file for file in files if "/" in file or file.endswith((".bin", ".pt"))]


@pytest.mark.slow
def test_data_and_metric(printed_by_publish, connect, repo_id, repo_root, hub_environment, tmp_path):
    data, metric = repo_id("dataset"), repo_id("space")
    sha = published_commit(printed_by_publish("dataset", "datasets_scripts/sample_corpus", data))
    assert len(commits(connect(), data, repo_type="dataset")) == 2
    printed_by_publish("metric", "absa/metrics/evaluate_modules/sentihood", metric, "--private")
    assert connect().repo_info(metric, repo_type="space").private
    script = f"""
import json
import evaluate
from datasets import load_dataset
from datasets_scripts import load_absa_dataset
pinned = load_dataset({data!r}, revision={sha!r})
rows = load_absa_dataset({data!r})
gold = [
    {{"id": "a", "target": "LOCATION1", "aspect": aspect, "label": label}}
    for aspect, label in zip(["general", "price", "transit-location", "safety"], ["none", "none", "none", "positive"])
]
predictions = [{{**row, "probabilities": [0.8, 0.1, 0.1]}} for row in gold]
for row in predictions:
    del row["label"]
scores = evaluate.load({metric!r}).compute(predictions=predictions, references=gold)
print(json.dumps([{{name: len(split) for name, split in pinned.items()}}, rows["test"].features["label"].names,
    pinned["test"][0] == rows["test"][0], scores["strict_accuracy"]]))
"""
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=repo_root,
        env=hub_environment,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    sizes, labels, same, strict = json.loads(finished.stdout.splitlines()[-1])
    assert set(sizes) == {"train", "validation", "test"}
    assert labels == ["none", "positive", "negative"]
    assert same
    assert strict == 0.0


def test_a_branch_leaves_main_alone(publish_here, checkpoint, connect, repo_id):
    api, name = connect(), repo_id()
    assert publish_here("model", checkpoint, name) is None
    main = commits(api, name)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint)
    torch.nn.init.zeros_(model.classifier.weight)
    model.save_pretrained(checkpoint)
    assert publish_here("model", checkpoint, name, revision="trial") is None
    assert commits(api, name) == main
    assert commits(api, name, "trial")[1:] == main


def test_stale_files_go_and_those_of_others_stay(publish_here, checkpoint, connect, repo_id):
    api, name = connect(), repo_id()
    api.create_repo(name)
    for path in ("pytorch_model.bin", "old_qacg_bert.py", "notes.md"):
        api.upload_file(repo_id=name, path_in_repo=path, path_or_fileobj=b"old")
    assert publish_here("model", checkpoint, name) is None
    files = set(api.list_repo_files(name))
    assert "notes.md" in files
    assert not files & {"pytorch_model.bin", "old_qacg_bert.py"}


@pytest.mark.parametrize("fault", ["lfs_upload", "commit", "preupload"])
@pytest.mark.parametrize("exists", [False, True], ids=["new repo", "repo that exists"])
def test_a_failed_upload_leaves_the_repo_as_it_was(
    publish_here, checkpoint, connect, repo_id, hub_server, fault, exists
):
    api, name = connect(), repo_id()
    before = []
    if exists:
        api.create_repo(name)
        before = commits(api, name)
    hub_server.fail_next(fault, status=507, times=None)
    message = publish_here("model", checkpoint, name, revision="trial")
    hub_server.clear_faults()
    assert message.startswith(f"repo_id={name} was not published, it is as it was: the Hub answered 507")
    assert api.repo_exists(name) is exists
    if exists:
        assert commits(api, name) == before
        assert [branch.name for branch in api.list_repo_refs(name).branches] == ["main"]
    assert publish_here("model", checkpoint, name) is None
    assert len(commits(api, name)) == 2


def test_a_connection_that_is_cut_is_a_clear_error(publish_here, checkpoint, connect, repo_id, hub_server):
    name = repo_id()
    hub_server.fail_next("commit", status=None)
    assert "it is as it was: the connection failed" in publish_here("model", checkpoint, name)
    assert not connect().repo_exists(name)


def test_what_cannot_be_taken_back_is_told(publish_here, checkpoint, connect, repo_id, hub_server):
    name = repo_id()
    hub_server.fail_next("commit", status=507)
    hub_server.fail_next("delete_repo", status=507)
    message = publish_here("model", checkpoint, name)
    assert "and what was made for it could not be deleted again: the Hub answered 507" in message
    assert len(commits(connect(), name)) == 1


def test_what_the_hub_refuses(publish_here, checkpoint, connect, repo_id, hub_server, monkeypatch):
    name = repo_id()
    connect().create_repo(name)
    public = publish_here("model", checkpoint, name, private=True)
    assert public == f"repo_id={name} exists and is public: make it private in its settings"
    assert "the token may not write there" in publish_here("model", checkpoint, "bob/m")
    monkeypatch.setenv("HF_TOKEN", "hf_wrong_token")
    assert "the token was refused; run `hf auth login`" in publish_here("model", checkpoint, name)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "no/token")
    assert "there is no token; run `hf auth login`" in publish_here("model", checkpoint, name)
    assert len(commits(connect(), name)) == 1


def test_a_user_reads_one_line_of_a_failure_and_no_token(publish, checkpoint, hub, hub_server):
    finished = publish("model", checkpoint, "alice/m", check=False, HF_TOKEN="hf_wrong_token")
    printed = finished.stdout + finished.stderr
    assert "Traceback" not in printed
    assert "the token was refused" in finished.stderr.splitlines()[-1]
    assert "hf_wrong_token" not in printed


def test_no_network(publish_here, checkpoint, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "it is as it was: the connection failed" in publish_here("model", checkpoint, "alice/m")


@pytest.mark.slow
def test_the_commands_of_the_readme(printed_by_publish, finished_run, connect, repo_id, repo_root):
    names = {"USER/MODEL": repo_id(), "USER/DATASET": repo_id("dataset"), "USER/sentihood": repo_id("space")}
    readme = (repo_root / "README.md").read_text(encoding="utf-8")
    commands = [line for line in readme.splitlines() if line.startswith("python examples/publish.py ")]
    assert len(commands) == 4
    for command in commands:
        words = command.replace("outputs/quickstart/seed-42", str(finished_run[0] / "seed-1")).split()[2:]
        printed_by_publish(*(names.get(word, word) for word in words))
    api = connect()
    assert api.repo_info(names["USER/MODEL"]).private
    assert len(commits(api, names["USER/MODEL"])) == 2  # none of the dry run
    card = api.hf_hub_download(names["USER/MODEL"], "README.md")
    assert "strict_accuracy" in Path(card).read_text(encoding="utf-8")
    assert api.repo_exists(names["USER/DATASET"], repo_type="dataset")
    assert api.repo_exists(names["USER/sentihood"], repo_type="space")
