"""The Hub of `hub_server.py` as the real clients see it; most of it should hold for the real Hub, too."""

import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import (
    BadRequestError,
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import build_hf_headers, get_session

from absa.metrics.flatten import flatten

WEIGHTS = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A text file and, in a folder, one that goes to LFS."""
    folder = tmp_path / "published"
    (folder / "weights").mkdir(parents=True)
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "weights" / "model.safetensors").write_bytes(WEIGHTS)
    return folder


WATCH_HOSTS = """
import socket
import sys

def watched(host, *rest, getaddrinfo=socket.getaddrinfo, **options):
    print("ASKED", host, file=sys.stderr)
    return getaddrinfo(host, *rest, **options)

socket.getaddrinfo = watched
"""


@pytest.fixture
def run_python(hub, hub_environment, tmp_path: Path):
    """Runs a program in a process of its own, where the libraries read `hub_environment` as they are imported.

    Where the Hub is the server, no other host may be asked, but for the dataset viewer that it does not have.
    """

    def run(program: str, *words: str) -> None:
        finished = subprocess.run(
            [sys.executable, "-c", WATCH_HOSTS + program, *words],
            cwd=tmp_path,
            env=hub_environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert finished.returncode == 0, finished.stderr[-4000:]
        asked = {line.split()[1] for line in finished.stderr.splitlines() if line.startswith("ASKED ")}
        assert hub.server is None or asked <= {"127.0.0.1", "datasets-server.127.0.0.1"}

    return run


@pytest.mark.parametrize(("kind", "options"), [("model", {}), ("dataset", {}), ("space", {"space_sdk": "static"})])
def test_a_repo_is_created_once_and_exists_until_it_is_deleted(connect, repo_id, kind, options):
    api, name = connect(), repo_id(kind)
    assert not api.repo_exists(name, repo_type=kind)
    url = api.create_repo(name, repo_type=kind, **options)
    assert (url.repo_id, url.repo_type) == (name, kind)
    assert api.repo_info(name, repo_type=kind).id == name
    assert [other for other in ("model", "dataset", "space") if api.repo_exists(name, repo_type=other)] == [kind]
    assert api.create_repo(name, repo_type=kind, exist_ok=True, **options) == url
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_repo(name, repo_type=kind, **options)
    api.delete_repo(name, repo_type=kind)
    assert not api.repo_exists(name, repo_type=kind)


def test_a_folder_is_one_commit_and_comes_back_byte_for_byte(connect, repo_id, folder, tmp_path):
    api, name = connect(), repo_id()
    api.create_repo(name)
    uploaded = api.upload_folder(repo_id=name, folder_path=folder, commit_message="Weights")
    assert [commit.title for commit in api.list_repo_commits(name)] == ["Weights", "initial commit"]
    assert api.model_info(name).sha == uploaded.oid
    for path in ("config.json", "weights/model.safetensors"):
        copy = api.hf_hub_download(name, path, cache_dir=tmp_path / "cache")
        assert Path(copy).read_bytes() == (folder / path).read_bytes()
    whole = Path(api.snapshot_download(name, local_dir=tmp_path / "whole"))
    assert (whole / "weights" / "model.safetensors").read_bytes() == WEIGHTS
    lfs = {file.rfilename: file.lfs for file in api.model_info(name, files_metadata=True).siblings}
    assert lfs["config.json"] is None
    assert lfs["weights/model.safetensors"].size == len(WEIGHTS)


def test_a_folder_that_has_not_changed_is_no_commit(connect, repo_id, folder):
    api, name = connect(), repo_id()
    api.create_repo(name)
    first = api.upload_folder(repo_id=name, folder_path=folder)
    assert api.upload_folder(repo_id=name, folder_path=folder).oid == first.oid
    assert len(api.list_repo_commits(name)) == 2


def test_a_revision_keeps_its_content(connect, repo_id, tmp_path):
    api, name = connect(), repo_id()
    api.create_repo(name)

    def publish(content: bytes, **options) -> str:
        return api.upload_file(repo_id=name, path_in_repo="a.txt", path_or_fileobj=content, **options).oid

    def read(revision: str) -> bytes:
        return Path(api.hf_hub_download(name, "a.txt", revision=revision, cache_dir=tmp_path)).read_bytes()

    first = publish(b"first")
    api.create_tag(name, tag="v1")
    api.create_branch(name, branch="trial/a")
    second = publish(b"second")
    publish(b"third", revision="trial/a")
    assert [read(r) for r in (first, "v1", second, "main", "trial/a")] == [
        b"first",
        b"first",
        b"second",
        b"second",
        b"third",
    ]
    refs = api.list_repo_refs(name)
    assert {branch.name for branch in refs.branches} == {"main", "trial/a"}
    assert [(tag.name, tag.target_commit) for tag in refs.tags] == [("v1", first)]
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_branch(name, branch="trial/a")


def test_files_and_folders_are_listed_and_deleted(connect, repo_id, folder):
    api, name = connect(), repo_id()
    api.create_repo(name)
    api.upload_folder(repo_id=name, folder_path=folder)
    assert {entry.path for entry in api.list_repo_tree(name)} == {".gitattributes", "config.json", "weights"}
    assert [entry.path for entry in api.list_repo_tree(name, "weights")] == ["weights/model.safetensors"]
    present = api.get_paths_info(name, ["config.json", "weights", "absent"], expand=True)
    assert [entry.path for entry in present] == ["config.json", "weights"]
    gone = [CommitOperationDelete("config.json"), CommitOperationDelete("weights/")]
    api.create_commit(name, gone, commit_message="Clear")
    assert api.list_repo_files(name) == [".gitattributes"]
    with pytest.raises(EntryNotFoundError):
        api.create_commit(name, [CommitOperationDelete("config.json")], commit_message="Again")


def test_what_is_missing_is_told_apart(connect, repo_id, tmp_path):
    api, name = connect(), repo_id()
    with pytest.raises(RepositoryNotFoundError):
        api.hf_hub_download(name, "a.txt", cache_dir=tmp_path)
    api.create_repo(name)
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(name, "a.txt", cache_dir=tmp_path)
    with pytest.raises(RevisionNotFoundError):
        api.hf_hub_download(name, "a.txt", revision="absent", cache_dir=tmp_path)
    with pytest.raises(RevisionNotFoundError):
        api.upload_file(repo_id=name, path_in_repo="a.txt", path_or_fileobj=b"a", revision="absent")


def test_a_private_repo_is_its_owners(connect, repo_id, tmp_path):
    api, anyone, name = connect(), connect(token=False), repo_id()
    api.create_repo(name, private=True)
    api.upload_file(repo_id=name, path_in_repo="a.txt", path_or_fileobj=b"a")
    assert api.model_info(name).private
    with pytest.raises(RepositoryNotFoundError):
        anyone.model_info(name)
    with pytest.raises(RepositoryNotFoundError):
        anyone.hf_hub_download(name, "a.txt", cache_dir=tmp_path)
    assert Path(api.hf_hub_download(name, "a.txt", cache_dir=tmp_path)).read_bytes() == b"a"


def test_another_user_may_read_what_is_public_and_write_nothing(connect, repo_id, hub_server):
    api, bob = connect(), connect(token="hf_bob_token")
    public, private = repo_id(), repo_id()
    api.create_repo(public)
    api.create_repo(private, private=True)
    assert bob.model_info(public).id == public
    with pytest.raises(RepositoryNotFoundError, match="404"):
        bob.model_info(private)
    with pytest.raises(HfHubHTTPError, match="403"):
        bob.upload_file(repo_id=public, path_in_repo="a.txt", path_or_fileobj=b"a")
    with pytest.raises(HfHubHTTPError, match="403"):
        bob.create_repo(repo_id())
    assert [title for _, title in hub_server.commits("model", public)] == ["initial commit"]


def test_a_wrong_or_missing_token_is_named(connect, repo_id):
    stranger, anyone = connect(token="hf_wrong"), connect(token=False)
    with pytest.raises(HfHubHTTPError, match="Invalid user token"):
        stranger.whoami()
    for api in (stranger, anyone):
        with pytest.raises(HfHubHTTPError, match="401"):
            api.create_repo(repo_id())


def test_a_commit_on_a_parent_that_is_no_longer_the_head_is_refused(connect, repo_id):
    api, name = connect(), repo_id()
    api.create_repo(name)
    old = api.model_info(name).sha

    def publish(content: bytes) -> str:
        added = [CommitOperationAdd("a.txt", content)]
        return api.create_commit(name, added, commit_message="Add", parent_commit=old).oid

    head = publish(b"a")
    with pytest.raises(HfHubHTTPError, match="412"):
        publish(b"b")
    assert api.model_info(name).sha == head


def test_a_card_with_invalid_yaml_is_refused(connect, repo_id):
    api, name = connect(), repo_id()
    api.create_repo(name)
    card = "---\n{}\n---\n# Model\n"
    with pytest.raises(ValueError, match="Invalid metadata"):
        api.upload_file(
            repo_id=name, path_in_repo="README.md", path_or_fileobj=card.format("tags: [unclosed").encode()
        )
    metadata = "license: apache-2.0\npipeline_tag: text-classification\ntags:\n- absa"
    api.upload_file(repo_id=name, path_in_repo="README.md", path_or_fileobj=card.format(metadata).encode())
    info = api.model_info(name)
    assert info.pipeline_tag == "text-classification"
    assert info.card_data.license == "apache-2.0"
    assert {"absa", "license:apache-2.0"} <= set(info.tags)


@pytest.mark.parametrize("status", [None, 500])
def test_the_client_tries_again_after_one_failed_upload(connect, repo_id, hub_server, folder, status):
    api, name = connect(), repo_id()
    api.create_repo(name)
    hub_server.fail_next("lfs_upload", status=status)
    api.upload_folder(repo_id=name, folder_path=folder)
    assert [method for method, _ in hub_server.requests].count("PUT") == 2
    assert hub_server.files("model", name)["weights/model.safetensors"] == WEIGHTS


@pytest.mark.parametrize(("operation", "status"), [("lfs_upload", 507), ("commit", None), ("commit", 500)])
def test_an_upload_that_fails_leaves_the_repo_as_it_was(connect, repo_id, hub_server, folder, operation, status):
    api, name = connect(), repo_id()
    api.create_repo(name)
    before = hub_server.commits("model", name)
    hub_server.fail_next(operation, times=None, status=status)
    with pytest.raises(Exception, match=r"Error while uploading|Server disconnected|500|reset"):
        api.upload_folder(repo_id=name, folder_path=folder)
    assert hub_server.commits("model", name) == before
    hub_server.clear_faults()
    api.upload_folder(repo_id=name, folder_path=folder)
    assert hub_server.files("model", name)["weights/model.safetensors"] == WEIGHTS


def test_a_commit_that_names_content_which_was_not_uploaded_is_refused(connect, repo_id, hub_server):
    api, name = connect(), repo_id()
    api.create_repo(name)
    before = hub_server.commits("model", name)
    text, weights = CommitOperationAdd("a.txt", b"a"), CommitOperationAdd("model.safetensors", WEIGHTS)
    weights._is_uploaded = True  # As a client would that lost count.
    weights._upload_mode, weights._should_ignore = "lfs", False
    with pytest.raises(BadRequestError, match="does not exist"):
        api.create_commit(name, [text, weights], commit_message="Half")
    assert hub_server.commits("model", name) == before


def test_part_of_a_file_can_be_asked_for(connect, repo_id, hub):
    api, name = connect(), repo_id()
    api.create_repo(name)
    api.upload_file(repo_id=name, path_in_repo="model.safetensors", path_or_fileobj=WEIGHTS)
    for wanted, part in (("bytes=5-9", WEIGHTS[5:10]), ("bytes=10000-", WEIGHTS[10000:]), ("bytes=-7", WEIGHTS[-7:])):
        headers = {**build_hf_headers(token=hub.token), "Range": wanted}
        address = f"{hub.endpoint}/{name}/resolve/main/model.safetensors"
        reply = get_session().get(address, headers=headers, follow_redirects=True)
        assert (reply.status_code, reply.content) == (206, part)


DATASETS_PROGRAM = """
import sys
import datasets
from huggingface_hub import HfApi

name = sys.argv[1]
rows = {"text": ["safe", "dear"], "label": [1, 0]}
datasets.Dataset.from_dict(rows).to_parquet("published/data/train-00000-of-00001.parquet")
datasets.Dataset.from_dict(rows).select([0]).to_parquet("published/data/test-00000-of-00001.parquet")
api = HfApi()
api.create_repo(name, repo_type="dataset", private=True)
api.upload_folder(repo_id=name, repo_type="dataset", folder_path="published")

loaded = datasets.load_dataset(name)
assert {split: len(loaded[split]) for split in loaded} == {"train": 2, "test": 1}, loaded
assert loaded["train"].to_dict() == rows
streamed = datasets.load_dataset(name, split="train", streaming=True, revision=api.dataset_info(name).sha)
assert [row["text"] for row in streamed] == rows["text"]

loaded.push_to_hub(name, commit_message="Again", revision="again")
assert datasets.load_dataset(name, revision="again", split="test")["text"][:] == ["safe"]
"""


@pytest.mark.slow
def test_datasets_loads_parquet_files_and_pushes_them(run_python, connect, repo_id, tmp_path):
    (tmp_path / "published" / "data").mkdir(parents=True)
    api, name = connect(), repo_id("dataset")
    run_python(DATASETS_PROGRAM, name)
    titles = {
        branch.name: [
            commit.title for commit in api.list_repo_commits(name, repo_type="dataset", revision=branch.name)
        ]
        for branch in api.list_repo_refs(name, repo_type="dataset").branches
    }
    assert set(titles) == {"main", "again"}
    assert "Again" in titles["again"]
    assert "Again" not in titles["main"]


EVALUATE_PROGRAM = """
import sys
from pathlib import Path
import evaluate
from huggingface_hub import CommitOperationAdd, HfApi

name, folder = sys.argv[1:]
api = HfApi()
api.create_repo(name, repo_type="space", space_sdk="static", private=True)
added = [CommitOperationAdd(path.name, path) for path in Path(folder).glob("*.py")]
api.create_commit(name, added, repo_type="space", commit_message="Metric")

metric = evaluate.load(name)
keys = [{"id": "1", "target": "LOCATION1", "aspect": a} for a in ("general", "price", "transit-location", "safety")]
labels = ["Positive", "None", "None", "None"]
probabilities = [[0.0, 1.0, 0.0], *[[1.0, 0.0, 0.0]] * 3]
scores = metric.compute(
    predictions=[{**key, "probabilities": p} for key, p in zip(keys, probabilities)],
    references=[{**key, "label": label.lower()} for key, label in zip(keys, labels)],
)
assert scores["strict_accuracy"] == 1.0, scores
"""


@pytest.mark.slow
def test_evaluate_loads_a_metric_of_a_space(run_python, connect, repo_id, tmp_path):
    api, name = connect(), repo_id("space", "metric")
    flatten("sentihood", tmp_path / "flat", name.split("/")[1])
    run_python(EVALUATE_PROGRAM, name, str(tmp_path / "flat"))
    assert api.repo_info(name, repo_type="space").private
    assert {name.split("/")[1] + ".py", "_sentihood.py"} <= set(api.list_repo_files(name, repo_type="space"))


TRANSFORMERS_PROGRAM = """
import sys
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, pipeline
from huggingface_hub import HfApi

name, folder = sys.argv[1:]
model = AutoModelForSequenceClassification.from_pretrained(folder)
model.push_to_hub(name, private=True)
AutoTokenizer.from_pretrained(folder).push_to_hub(name)
code = '''
from transformers import BertModel

class Renamed(BertModel):
    answer = 42
'''
api = HfApi()
revision = api.upload_file(repo_id=name, path_in_repo="renamed.py", path_or_fileobj=code.encode()).oid
config = model.config
config.auto_map = {"AutoModel": "renamed.Renamed"}
config.push_to_hub(name)

assert pipeline("text-classification", model=name, revision=revision)("price is dear")[0]["score"] > 0
head = api.model_info(name).sha
remote = AutoModel.from_pretrained(name, revision=head, trust_remote_code=True)
assert remote.answer == 42
"""


@pytest.mark.slow
def test_transformers_pushes_and_loads_models_with_their_code(run_python, connect, repo_id, tiny_bert):
    api, name = connect(), repo_id()
    run_python(TRANSFORMERS_PROGRAM, name, str(tiny_bert))
    assert api.repo_info(name).private
    assert {"config.json", "model.safetensors", "renamed.py", "tokenizer.json"} <= set(api.list_repo_files(name))
