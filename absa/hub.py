"""Publishes a trained model, a data set or a metric on the Hub, in one commit. See examples/publish.py."""

import fnmatch
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import validate_repo_id

from absa.outside_text import tokens, told
from absa.staging import STAGES, check_license

# What of an earlier publish may have become stale; other files of a repo are never touched.
REPLACED = {
    "model": ("*.safetensors", "*.safetensors.index.json", "*.bin", "*_qacg_bert.py", "tokenizer*", "vocab.txt"),
    "dataset": ("data/*.parquet",),
    "metric": ("*.py",),
}
REPO_TYPE = {"model": "model", "dataset": "dataset", "metric": "space"}
PART_OF_BRANCH = r"(?!\.)[^\s\x00-\x1f\x7f~^:?*\[\\/]+"
BRANCH = re.compile(rf"(?!refs/|-){PART_OF_BRANCH}(/{PART_OF_BRANCH})*")
LONGEST_BRANCH = 200  # characters
HOLDS_NO_TEXT = (".parquet", ".safetensors")
URL_PREFIX = {"model": "", "dataset": "datasets/", "metric": "spaces/"}


@dataclass
class PublishArguments:
    """What to publish, and where to."""

    kind: str = field(metadata={"choices": sorted(STAGES), "help": "What it is."})
    folder: str = field(
        metadata={
            "help": "model: a checkpoint, or a run with one seed. dataset: parquet files of export_parquet, "
            "train/validation/test .csv or .jsonl, or a data set's own files. metric: a folder of metrics/."
        }
    )
    repo_id: str = field(metadata={"help": "USER/NAME or ORGANISATION/NAME; it is made where it does not exist."})
    private: bool = field(default=False, metadata={"help": "Make a repo that only you can see."})
    revision: str = field(default="main", metadata={"help": "Branch to commit to; made where it does not exist."})
    dry_run: bool = field(default=False, metadata={"help": "Only show what would be uploaded."})
    license: str | None = field(
        default=None, metadata={"help": "Identifier of a licence (model: apache-2.0; dataset: its card's)."}
    )
    i_have_the_right: bool = field(
        default=False, metadata={"help": "Publish data that states no licence to, on your responsibility."}
    )


class PublishError(Exception):
    """What kept something from being published; the repo is as it was."""


def check(arguments: PublishArguments):
    """What can be known to be wrong before anything is made or asked.

    Raises:
        ValueError, FileNotFoundError: naming the argument.
    """
    repo_id, revision, folder = arguments.repo_id, arguments.revision, arguments.folder
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        fault = str(error).replace(f": '{repo_id}'", "")  # however long it is
        raise ValueError(f"repo_id={told(repo_id)}: {told(fault, 300)}") from None
    if repo_id.count("/") != 1:
        raise ValueError(f"repo_id={repo_id}: give the user or organisation too, USER/{repo_id}")
    is_branch = len(revision) <= LONGEST_BRANCH and BRANCH.fullmatch(revision)
    if not is_branch or ".." in revision or "@{" in revision or revision.endswith((".", ".lock")):
        raise ValueError(
            f"revision={told(revision)} is no name of a branch: give one that git takes, without blanks and "
            f"with at most {LONGEST_BRANCH} characters"
        )
    if arguments.license is not None:
        check_license("license", arguments.license)
    if not os.path.isdir(folder):  # Path.is_dir raises for a name that is too long
        is_file = os.path.exists(folder)
        raise FileNotFoundError(
            f"folder={told(folder, 200)} {'is a file' if is_file else 'does not exist'}: give the folder of the "
            f"{arguments.kind}"
        )


def files_in(staged: Path) -> dict[str, Path]:
    """Files by their path in the repo."""
    return {str(path.relative_to(staged)): path for path in sorted(staged.rglob("*")) if path.is_file()}


def check_no_token(files: dict[str, Path]):
    """None of the text that would be uploaded holds a token; of rows in parquet this is known already.

    Raises:
        ValueError: naming the file.
    """
    token = re.compile(tokens().pattern.encode())
    for name, path in files.items():
        if path.suffix not in HOLDS_NO_TEXT and token.search(path.read_bytes()):
            raise ValueError(
                f"{name} would be published with what looks like a token of the Hub: remove it from the folder's "
                "files, and revoke it"
            )


def upload(arguments: PublishArguments, files: dict[str, Path]) -> str:
    """Commits the files to the repo, which is made if need be, and deletes what they replace, all in one commit.

    Returns:
        The commit at the branch's head; it is the one before where nothing has changed.
    Raises:
        PublishError: nothing was committed, and a repo or branch that was made for it is deleted again.
    """
    api = HfApi()
    repo = {"repo_id": arguments.repo_id, "repo_type": REPO_TYPE[arguments.kind]}
    undo = []
    try:
        user = api.whoami()["name"]
        if not api.repo_exists(**repo):
            space_sdk = "static" if arguments.kind == "metric" else None
            api.create_repo(**repo, private=arguments.private, space_sdk=space_sdk)
            undo.append(partial(api.delete_repo, **repo, missing_ok=True))
        elif arguments.private and not api.repo_info(**repo).private:
            raise PublishError(f"repo_id={arguments.repo_id} exists and is public: make it private in its settings")
        if arguments.revision not in [branch.name for branch in api.list_repo_refs(**repo).branches]:
            api.create_branch(**repo, branch=arguments.revision)
            undo.append(partial(api.delete_branch, **repo, branch=arguments.revision))
        head = api.repo_info(**repo, revision=arguments.revision).sha
        present = api.list_repo_files(**repo, revision=arguments.revision)
        stale = [name for name in present if name not in files and is_replaced(name, arguments.kind)]
        commit = api.create_commit(
            **repo,
            operations=[
                *(CommitOperationAdd(name, path) for name, path in files.items()),
                *(CommitOperationDelete(name) for name in stale),
            ],
            commit_message=f"Publish {arguments.kind}",
            revision=arguments.revision,
            parent_commit=head,  # someone else's commit in between is not overwritten
        )
    except PublishError:
        raise
    except BaseException as error:
        left = undone(undo)
        if not isinstance(error, Exception):  # such as Ctrl-C
            raise
        raise PublishError(f"repo_id={arguments.repo_id} was not published, {left}: {reason(error)}") from error
    print(f"published as {user}" if commit.oid != head else "nothing has changed since the last time")
    return commit.oid


def is_replaced(name: str, kind: str) -> bool:
    """Whether a file of a repo would be of an earlier publish."""
    return any(fnmatch.fnmatch(name, pattern) for pattern in REPLACED[kind])


def undone(steps: list[Callable]) -> str:
    """Takes back what was made, the last first, and says what is left."""
    try:
        for step in reversed(steps):
            step()
    except Exception:  # the connection is gone, most likely, and the error that is told is the one before
        return "and what was made for it could not be deleted again"
    return "it is as it was"


def reason(error: BaseException) -> str:
    """What went wrong and what to do, from the errors that the client raises."""
    if get_token() is None:
        return "there is no token; run `hf auth login`, or set HF_TOKEN"
    status = None
    cause: BaseException | None = error
    while cause is not None and status is None:
        status = getattr(getattr(cause, "response", None), "status_code", None)
        cause = cause.__cause__ or cause.__context__
    if status == 401:
        return "the token was refused; run `hf auth login`, or set HF_TOKEN to one that is valid"
    if status == 403:
        return "the token may not write there; use one with the right to, or another user or organisation"
    if status == 409:
        return "there is a repo of this name that the token cannot see; choose another name"
    if status == 412:
        return "the branch was changed in the meantime; look at the change, and run the command again"
    text = told(error, 500) or type(error).__name__
    if status == 400:
        return f"the Hub refused it ({text}); correct that and run the command again"
    if status is not None:
        return f"the Hub answered {status} ({text}); run the command again"
    return f"the connection failed ({text}); check the network and run the command again"


def main(arguments: PublishArguments):
    check(arguments)
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        STAGES[arguments.kind](Path(arguments.folder), staged, arguments)
        files = files_in(staged)
        check_no_token(files)
        if arguments.dry_run:
            print(f"{REPO_TYPE[arguments.kind]} {arguments.repo_id}, branch {arguments.revision}; not uploaded:")
            for name, path in files.items():
                print(f"  {path.stat().st_size:>12,}  {name}")
            print(f"\n{(staged / 'README.md').read_text(encoding='utf-8')}")
            return
        commit = upload(arguments, files)
    url = f"{HfApi().endpoint}/{URL_PREFIX[arguments.kind]}{arguments.repo_id}"
    print(f"{url}/tree/{commit}")
    load = {
        "model": f'pipeline("aspect-sentiment", model="{arguments.repo_id}", revision="{commit}", '
        f'code_revision="{commit}", trust_remote_code=True)',
        "dataset": f'load_dataset("{arguments.repo_id}", revision="{commit}")',
        "metric": f'evaluate.load("{arguments.repo_id}", revision="{commit}")',
    }
    print(f"load it: {load[arguments.kind]}")
