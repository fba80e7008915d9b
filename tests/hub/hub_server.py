"""A Hugging Face Hub over HTTP, for tests: repos live in memory and the unmodified clients talk to them.

    with HubServer(tokens={"hf_alice_token": "alice"}) as hub:
        HfApi(endpoint=hub.endpoint, token="hf_alice_token").create_repo("alice/m")

Environment of a process whose libraries are to stay on this server (they read it when they are imported):

    HF_ENDPOINT=<hub.endpoint>    huggingface_hub, transformers, datasets and evaluate
    HF_HUB_OFFLINE=0              `make test` sets 1
    HF_HUB_DISABLE_XET=1          else binary files go through hf_xet, which asks for a token this server has not
    HF_UPDATE_DOWNLOAD_COUNTS=0   else datasets and evaluate count each load by a HEAD of a bucket at Amazon's
    HF_TOKEN                      one of `tokens`, to write and to read what is private
    HF_HOME, HF_MODULES_CACHE     folders of the test's own
    no_proxy=127.0.0.1            where a proxy is set

One request has no such variable: `datasets.load_dataset` of the default revision asks the dataset viewer, at the
endpoint's host with "datasets-server." before it, for the features. That host does not exist here, datasets goes on
without, and no other host is asked.

What differs from the Hub: no pull requests, no Xet, no paging, no `.gitignore` rules, repo ids always have a
namespace, files in LFS are served where they are asked for instead of by a redirect to a content network, and an
upload's address carries no signature.
"""

import base64
import codecs
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit

import yaml

LFS_SUFFIXES = (".arrow", ".bin", ".gz", ".npy", ".npz", ".onnx", ".parquet", ".pt", ".safetensors", ".zip")
LARGEST_REGULAR_FILE = 10 * 2**20
GIT_ATTRIBUTES = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LFS_SUFFIXES).encode()
FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n?---\s*(\n|\Z)", re.DOTALL)


@dataclass
class HubError(Exception):
    """An answer that is an error; `code` is the Hub's X-Error-Code, by which the client tells what is missing."""

    status: int
    message: str
    code: str = ""
    headers: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    headers: dict


@dataclass(frozen=True)
class Request:
    query: dict
    headers: dict
    body: bytes
    user: str | None

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass(frozen=True)
class File:
    content: bytes
    lfs: bool = False

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        """What git itself stores of a file in LFS."""
        version = "version https://git-lfs.github.com/spec/v1"
        return f"{version}\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()

    @property
    def lfs_sizes(self) -> dict[str, int]:
        return {"size": len(self.content), "pointerSize": len(self.pointer)}

    @cached_property
    def oid(self) -> str:
        return git_oid("blob", self.pointer if self.lfs else self.content)

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid


@dataclass(frozen=True)
class Commit:
    sha: str
    parent: "Commit | None"
    title: str
    message: str
    author: str
    date: str
    files: dict[str, File]


@dataclass
class Repo:
    kind: str
    id: str
    private: bool
    sdk: str | None = None
    refs: dict[str, Commit] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    lfs_objects: dict[str, bytes] = field(default_factory=dict)

    @property
    def url_path(self) -> str:
        return self.id if self.kind == "models" else f"{self.kind}/{self.id}"

    def at(self, revision: str) -> Commit:
        """The commit that a branch, a tag, a full ref or a commit's own id names."""
        named = self.commits | self.refs
        for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            if name in named:
                return named[name]
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def add_ref(self, ref: str, commit: Commit) -> None:
        if ref in self.refs:
            raise HubError(409, f"Reference already exists: {ref}")
        self.refs[ref] = commit

    def add_commit(self, branch: str, title: str, message: str, author: str, files: dict[str, File]) -> Commit:
        parent = self.refs.get(f"refs/heads/{branch}")
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        listing = [f"{path} {file.oid}" for path, file in sorted(files.items())]
        content = "\n".join([self.kind, self.id, parent.sha if parent else "", title, message, author, date, *listing])
        commit = Commit(git_oid("commit", content.encode()), parent, title, message, author, date, files)
        self.refs[f"refs/heads/{branch}"] = self.commits[commit.sha] = commit
        return commit


def git_oid(kind: str, content: bytes) -> str:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).hexdigest()


def history(commit: Commit | None) -> Iterator[Commit]:
    """A commit and those before it, newest first."""
    while commit is not None:
        yield commit
        commit = commit.parent


def contents(commit: Commit, path: str) -> dict[str, File]:
    """The file at a path, or all files under the folder there."""
    return {p: file for p, file in commit.files.items() if not path or p == path or p.startswith(path + "/")}


def folders(paths) -> set[str]:
    return {path[: match.start()] for path in paths for match in re.finditer("/", path)}


def card_metadata(text: str) -> dict:
    """A YAML mapping between two lines of dashes at the card's top, or nothing."""
    match = FRONT_MATTER.match(text)
    try:
        metadata = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError as error:
        raise HubError(400, f"Invalid YAML metadata in README.md: {error}") from error
    if not isinstance(metadata, dict | None):
        raise HubError(400, "The YAML metadata in README.md is not a mapping")
    return metadata or {}


def metadata_of(files: dict[str, File]) -> dict:
    return card_metadata(files["README.md"].content.decode()) if "README.md" in files else {}


def belongs_in_lfs(path: str, size: int, sample: bytes) -> bool:
    """Known binary formats, text too large for git, and whatever is no text; empty files never, as on the Hub."""
    if size == 0 or path.endswith(LFS_SUFFIXES) or size > LARGEST_REGULAR_FILE:
        return size > 0
    try:
        # An incremental decoder, since the sample may end within a character.
        return "\0" in codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return True


def readable(hub: "HubServer", request: Request, kind: str | None, repo: str) -> Repo:
    """A repo hidden from the asker is answered like one that does not exist."""
    found = hub.repos.get((kind or "models", repo))
    if found and (not found.private or hub.may_write(request.user, found.id)):
        return found
    if request.user is None:
        # The client takes any 401 of an https address for a hidden repo; of http it needs the code.
        raise HubError(401, "Invalid username or password.", "RepoNotFound")
    raise HubError(404, "Repository not found", "RepoNotFound")


def writable(hub: "HubServer", request: Request, kind: str | None, repo: str) -> Repo:
    found = readable(hub, request, kind, repo)
    hub.require_member(request.user, found.id)
    return found


def whoami(hub, request):
    if request.user is None:
        raise HubError(401, "Invalid username or password.")
    organisations = [{"type": "org", "name": name} for name in hub.organisations.get(request.user, [])]
    token = {"displayName": "test", "role": "write"}
    auth = {"type": "access_token", "accessToken": token}
    return {"type": "user", "name": request.user, "fullname": request.user, "orgs": organisations, "auth": auth}


def create_repo(hub, request):
    """Starts with a commit that has `.gitattributes`, and in a Space its card, as on the Hub."""
    wanted = request.json
    kind = wanted.get("type", "model") + "s"
    repo_id = f"{wanted.get('organization') or request.user}/{wanted['name']}"
    hub.require_member(request.user, repo_id)
    private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
    repo = Repo(kind, repo_id, private, wanted.get("sdk"))
    url = f"{hub.endpoint}/{repo.url_path}"
    if (kind, repo_id) in hub.repos:
        # The client reads the address from this answer where `exist_ok` is given.
        return json_reply({"error": f"You already created this {kind[:-1]} repo", "url": url}, 409)
    files = {".gitattributes": File(GIT_ATTRIBUTES)}
    if kind == "spaces":
        files["README.md"] = File(f"---\ntitle: {wanted['name']}\nsdk: {repo.sdk}\n---\n".encode())
    repo.add_commit("main", "initial commit", "", request.user, files)
    hub.repos[kind, repo_id] = repo
    return {"url": url, "name": repo_id, "id": repo_id}


def delete_repo(hub, request):
    wanted = request.json
    repo_id = f"{wanted.get('organization') or request.user}/{wanted['name']}"
    repo = writable(hub, request, wanted.get("type", "model") + "s", repo_id)
    del hub.repos[repo.kind, repo.id]
    return {}


def validate_yaml(hub, request):
    """Whether a card's metadata is a YAML mapping; the Hub also knows which fields and values it may have."""
    try:
        card_metadata(request.json["content"])
    except HubError as error:
        return json_reply({"errors": [{"message": error.message}], "warnings": []}, 400)
    return {"errors": [], "warnings": []}


def info(hub, request, kind, repo, revision="main"):
    repo = readable(hub, request, kind, repo)
    commit = repo.at(revision)
    metadata = metadata_of(commit.files)
    licence = [f"license:{metadata['license']}"] if "license" in metadata else []
    described = {
        "id": repo.id,
        "author": repo.id.split("/")[0],
        "sha": commit.sha,
        "private": repo.private,
        "gated": False,
        "disabled": False,
        "createdAt": [*history(commit)][-1].date,
        "lastModified": commit.date,
        "downloads": 0,
        "likes": 0,
        "tags": [*(metadata.get("tags") or []), *licence],
        "cardData": metadata or None,
        "siblings": [sibling(path, file, "blobs" in request.query) for path, file in sorted(commit.files.items())],
    }
    if repo.kind == "models":
        # `transformers.pipeline` without a task asks for these; the Hub guesses them where the card is silent.
        described["library_name"] = metadata.get("library_name") or (
            "transformers" if "config.json" in commit.files else None
        )
        described["pipeline_tag"] = metadata.get("pipeline_tag")
    if repo.kind == "spaces":
        described["sdk"] = repo.sdk
    return described


def sibling(path: str, file: File, with_blobs: bool) -> dict:
    described = {"rfilename": path}
    if with_blobs:
        described |= {"size": len(file.content), "blobId": file.oid}
        if file.lfs:
            described["lfs"] = {"sha256": file.sha256, **file.lfs_sizes}
    return described


def tree(hub, request, kind, repo, revision, path=""):
    commit = readable(hub, request, kind, repo).at(revision)
    paths = contents(commit, path)
    if path and (not paths or path in commit.files):
        raise HubError(404, f"{path} does not exist on {revision}", "EntryNotFound")
    below = {p for p in (*paths, *folders(paths)) if p.startswith(f"{path}/" if path else "")}
    if request.query.get("recursive", ["false"])[0].lower() != "true":
        depth = path.count("/") + 1 if path else 0
        below = {p for p in below if p.count("/") == depth}
    return [entry(commit, p, request.query.get("expand")) for p in sorted(below)]


def paths_info(hub, request, kind, repo, revision):
    """Sent as a form; paths that do not exist are left out of the answer."""
    commit = readable(hub, request, kind, repo).at(revision)
    form = parse_qs(request.body.decode())
    known = {*commit.files, *folders(commit.files)}
    return [entry(commit, path, form.get("expand")) for path in form.get("paths", []) if path in known]


def entry(commit: Commit, path: str, expand: list[str] | None) -> dict:
    """A file or folder of a listing; `expand` adds the commit that last changed it."""
    file = commit.files.get(path)
    if file is None:
        listing = "\n".join(f"{p} {inner.oid}" for p, inner in sorted(contents(commit, path).items()))
        described = {"type": "directory", "path": path, "oid": git_oid("tree", listing.encode()), "size": 0}
    else:
        described = {"type": "file", "path": path, "oid": file.oid, "size": len(file.content)}
        if file.lfs:
            described["lfs"] = {"oid": file.sha256, **file.lfs_sizes}
    if expand and expand[0].lower() == "true":
        last = next(c for c in history(commit) if not c.parent or contents(c, path) != contents(c.parent, path))
        described["lastCommit"] = {"id": last.sha, "title": last.title, "date": last.date}
    return described


def refs(hub, request, kind, repo):
    listed = {"branches": [], "tags": [], "converts": [], "pullRequests": []}
    for ref, commit in readable(hub, request, kind, repo).refs.items():
        _, folder, name = ref.split("/", 2)
        described = {"name": name, "ref": ref, "targetCommit": commit.sha}
        listed["branches" if folder == "heads" else "tags"].append(described)
    return listed


def commits(hub, request, kind, repo, revision):
    return [
        {"id": c.sha, "title": c.title, "message": c.message, "authors": [{"user": c.author}], "date": c.date}
        for c in history(readable(hub, request, kind, repo).at(revision))
    ]


def create_branch(hub, request, kind, repo, name):
    repo = writable(hub, request, kind, repo)
    repo.add_ref(f"refs/heads/{name}", repo.at(request.json.get("startingPoint", "main")))
    return {}


def delete_branch(hub, request, kind, repo, name):
    repo = writable(hub, request, kind, repo)
    repo.at(name)  # for its error
    del repo.refs[f"refs/heads/{name}"]
    return {}


def create_tag(hub, request, kind, repo, revision):
    repo = writable(hub, request, kind, repo)
    repo.add_ref(f"refs/tags/{request.json['tag']}", repo.at(revision))
    return {}


def preupload(hub, request, kind, repo, revision):
    """Which files go through LFS, and what the revision has in their place, so that unchanged ones are not sent."""
    present = writable(hub, request, kind, repo).at(revision).files

    def planned(file):
        in_lfs = belongs_in_lfs(file["path"], file["size"], base64.b64decode(file["sample"]))
        plan = {"path": file["path"], "uploadMode": "lfs" if in_lfs else "regular", "shouldIgnore": False}
        return plan | ({"oid": present[file["path"]].etag} if file["path"] in present else {})

    return {"files": [planned(file) for file in request.json["files"]]}


def lfs_batch(hub, request, kind, repo):
    """Where to put each object; those that the repo has already get no address."""
    repo = writable(hub, request, kind, repo)

    def instructed(oid, size):
        if oid in repo.lfs_objects:
            return {"oid": oid, "size": size}
        href = f"{hub.endpoint}/lfs/{repo.kind}/{quote(repo.id)}/{oid}"
        return {"oid": oid, "size": size, "actions": {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}}

    objects = [instructed(wanted["oid"], wanted["size"]) for wanted in request.json["objects"]]
    return {"transfer": "basic", "objects": objects}


def lfs_upload(hub, request, kind, repo, oid):
    """Stands for the storage behind the Hub, which knows no users: the client sends it no token."""
    found = hub.repos.get((kind, repo))
    if found is None or hashlib.sha256(request.body).hexdigest() != oid:
        raise HubError(400, "The content is not that of the object")
    found.lfs_objects[oid] = request.body
    return {}


def lfs_verify(hub, request, kind, repo, oid):
    if len(writable(hub, request, kind, repo).lfs_objects.get(oid, b"")) != request.json["size"]:
        raise HubError(404, "The object was not uploaded")
    return {}


def commit(hub, request, kind, repo, revision):
    """One commit of all that the lines of the body say, or none at all."""
    if "create_pr" in request.query:
        raise HubError(400, "The test server has no pull requests")
    repo = writable(hub, request, kind, repo)
    head = repo.at(f"refs/heads/{revision}")
    first, *changes = [json.loads(line) for line in request.body.splitlines()]
    header = first["value"]
    if header.get("parentCommit", head.sha) != head.sha:
        raise HubError(412, "A commit has happened since. Please refresh and try again.")
    files = dict(head.files)
    for change in changes:
        apply_change(repo, files, change["key"], change["value"])
    metadata_of(files)  # Raises where the card's is invalid.
    made = repo.add_commit(revision, header["summary"], header.get("description", ""), request.user, files)
    return {"success": True, "commitOid": made.sha, "commitUrl": f"{hub.endpoint}/{repo.url_path}/commit/{made.sha}"}


def apply_change(repo: Repo, files: dict[str, File], key: str, value: dict) -> None:
    path = value["path"].rstrip("/")
    if key == "file":
        files[path] = File(base64.b64decode(value["content"]))
    elif key == "lfsFile":
        if value["oid"] not in repo.lfs_objects:
            raise HubError(400, f"LFS pointer pointed to a file that does not exist: {path}")
        files[path] = File(repo.lfs_objects[value["oid"]], lfs=True)
    elif key in ("deletedFile", "deletedFolder"):
        gone = [p for p in files if (p == path if key == "deletedFile" else p.startswith(path + "/"))]
        if not gone:
            raise HubError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        for p in gone:
            del files[p]
    else:
        raise HubError(400, f"Unknown operation: {key}")


def resolve(hub, request, kind, repo, revision, path):
    """A file's bytes, or some of them."""
    commit = readable(hub, request, kind, repo).at(revision)
    headers = {"X-Repo-Commit": commit.sha, "Accept-Ranges": "bytes"}
    file = commit.files.get(path)
    if file is None:
        # The commit is named here too, since clients remember what a commit has not.
        raise HubError(404, "Entry not found", "EntryNotFound", headers)
    headers["ETag"] = f'"{file.etag}"'
    if file.lfs:
        headers |= {"X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(len(file.content))}
    return byte_range(file.content, request.headers.get("Range"), headers)


def byte_range(content: bytes, wanted: str | None, headers: dict) -> Reply:
    """`first-last`, `first-` or `-count`; more than one range is answered with the whole, as the standard allows."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted or "")
    if not match or not any(match.groups()):
        return Reply(200, content, headers)
    size = len(content)
    first = int(match[1]) if match[1] else max(size - int(match[2]), 0)
    last = min(int(match[2]), size - 1) if match[1] and match[2] else size - 1
    if first > last:
        raise HubError(416, "Range not satisfiable", headers={"Content-Range": f"bytes */{size}"})
    return Reply(206, content[first : last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{size}"})


def json_reply(value, status: int = 200, headers: dict | None = None) -> Reply:
    # Cards may have dates, which JSON has not.
    body = json.dumps(value, default=str).encode()
    return Reply(status, body, {"Content-Type": "application/json", **(headers or {})})


def error_reply(error: HubError) -> Reply:
    in_one_line = " ".join(error.message.split()).encode("ascii", "replace").decode()
    named = {"X-Error-Message": in_one_line} | ({"X-Error-Code": error.code} if error.code else {})
    return json_reply({"error": error.message}, error.status, error.headers | named)


def pattern(template: str) -> re.Pattern:
    """Repo ids have a slash of their own; revisions and names come quoted, so that theirs are none."""
    groups = {
        "{kind}": "(?P<kind>models|datasets|spaces)",
        "{kind/}": "(?:(?P<kind>datasets|spaces)/)?",
        "{repo}": "(?P<repo>[^/]+/[^/]+?)",
        "{path}": "(?P<path>.+)",
    }
    return re.compile(re.sub(r"\{[\w/]+\}", lambda m: groups.get(m[0], f"(?P<{m[0][1:-1]}>[^/]+)"), template))


# An operation's name, for `fail_next`, is its function's.
ROUTES = [
    (method, pattern(template), operation)
    for method, template, operation in (
        ("GET", "/api/whoami-v2", whoami),
        ("POST", "/api/repos/create", create_repo),
        ("DELETE", "/api/repos/delete", delete_repo),
        ("POST", "/api/validate-yaml", validate_yaml),
        ("GET", "/api/{kind}/{repo}", info),
        ("GET", "/api/{kind}/{repo}/revision/{revision}", info),
        ("GET", "/api/{kind}/{repo}/tree/{revision}", tree),
        ("GET", "/api/{kind}/{repo}/tree/{revision}/{path}", tree),
        ("POST", "/api/{kind}/{repo}/paths-info/{revision}", paths_info),
        ("GET", "/api/{kind}/{repo}/refs", refs),
        ("GET", "/api/{kind}/{repo}/commits/{revision}", commits),
        ("POST", "/api/{kind}/{repo}/branch/{name}", create_branch),
        ("DELETE", "/api/{kind}/{repo}/branch/{name}", delete_branch),
        ("POST", "/api/{kind}/{repo}/tag/{revision}", create_tag),
        ("POST", "/api/{kind}/{repo}/preupload/{revision}", preupload),
        ("POST", "/api/{kind}/{repo}/commit/{revision}", commit),
        ("POST", "/{kind/}{repo}[.]git/info/lfs/objects/batch", lfs_batch),
        ("PUT", "/lfs/{kind}/{repo}/{oid}", lfs_upload),
        ("POST", "/lfs/{kind}/{repo}/{oid}/verify", lfs_verify),
        ("GET", "/{kind/}{repo}/resolve/{revision}/{path}", resolve),
    )
]


def find_route(method: str, path: str):
    """The operation and what the address gives it; HEAD is GET without the body."""
    for known_method, known_path, operation in ROUTES:
        match = known_path.fullmatch(path)
        if match and known_method == {"HEAD": "GET"}.get(method, method):
            return operation, {name: value and unquote(value) for name, value in match.groupdict().items()}
    return None, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Headers and body are two packets; waiting in between costs 40 ms a request.

    def answer(self):
        hub, url = self.server.hub, urlsplit(self.path)
        hub.requests.append((self.command, unquote(url.path)))
        operation, names = find_route(self.command, url.path)
        length = int(self.headers.get("Content-Length", 0))
        fault = hub.take_fault(operation.__name__) if operation else None
        if fault == "cut":
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        try:
            if fault:
                raise HubError(fault, "The test wants this request to fail")
            if operation is None:
                raise HubError(404, f"The test server knows no {self.command} {url.path}")
            user = hub.user(self.headers.get("Authorization"))
            with hub.lock:
                reply = operation(hub, Request(parse_qs(url.query), self.headers, body, user), **names)
        except HubError as error:
            reply = error_reply(error)
        self.send(reply if isinstance(reply, Reply) else json_reply(reply))

    do_HEAD = do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815  http.server looks for these names.

    def send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, *_):
        """`HubServer.requests` is the log."""


class HubServer:
    """A Hub at `endpoint` for as long as the `with` block lasts; `requests` are the (method, path) it was asked."""

    def __init__(self, tokens: dict[str, str], organisations: dict[str, list[str]] | None = None):
        """`tokens` are the users' names by their token, `organisations` those that a user may write to, by name."""
        self.tokens = tokens
        self.organisations = organisations or {}
        self.repos: dict[tuple[str, str], Repo] = {}
        self.requests: list[tuple[str, str]] = []
        self.lock = threading.Lock()
        self._faults: dict[str, tuple[int | None, int | str]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.hub = self
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._http.shutdown()
        self._http.server_close()

    def commits(self, repo_type: str, repo_id: str, revision: str = "main") -> list[tuple[str, str]]:
        """(sha, title), newest first; the last is the "initial commit" that every new repo has."""
        return [(c.sha, c.title) for c in history(self.repos[f"{repo_type}s", repo_id].at(revision))]

    def files(self, repo_type: str, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        return {path: file.content for path, file in self.repos[f"{repo_type}s", repo_id].at(revision).files.items()}

    def fail_next(self, operation: str, times: int | None = 1, status: int | None = None) -> None:
        """Let the next requests for an operation fail: cut off half-way, or answered with a status.

        The operations are named after the functions of `ROUTES`; `times=None` is until `clear_faults`. The client
        tries `preupload`, `lfs_batch`, `lfs_upload` and `lfs_verify` five times more, in 23 seconds, after a cut,
        429, 500 and 502 to 504; a test in which it is to give up at once asks for another status. It tries `info`
        and `commit` once, and `resolve` again where the answer is such a status, but not after a cut.
        """
        if operation not in {known.__name__ for _, _, known in ROUTES}:
            raise ValueError(f"no operation is called {operation}")
        self._faults[operation] = (times, status or "cut")

    def clear_faults(self) -> None:
        self._faults.clear()

    def take_fault(self, operation: str) -> int | str | None:
        """The status that a request is to be answered with, "cut", or None."""
        with self.lock:
            left, fault = self._faults.get(operation, (0, None))
            if left is not None and left <= 1:
                self._faults.pop(operation, None)
            elif left is not None:
                self._faults[operation] = (left - 1, fault)
            return fault

    def user(self, authorization: str | None) -> str | None:
        """Whose token it is; None without one."""
        if authorization is None:
            return None
        try:
            return self.tokens[authorization.removeprefix("Bearer ")]
        except KeyError:
            raise HubError(401, "Invalid credentials in Authorization header") from None

    def may_write(self, user: str | None, repo_id: str) -> bool:
        namespace = repo_id.split("/")[0]
        return user is not None and (namespace == user or namespace in self.organisations.get(user, []))

    def require_member(self, user: str | None, repo_id: str) -> None:
        if user is None:
            raise HubError(401, "Invalid username or password.")
        if not self.may_write(user, repo_id):
            raise HubError(403, f"You have no write access to {repo_id}")
