"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

REPO_ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repo_root() -> Path:
    return REPO_ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Folder of the public data sets and of numbers computed with others' code, which are not in this repo."""
    folder = Path(os.environ.get("ABSA_SHARED_DIR", REPO_ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: set ABSA_SHARED_DIR to the folder with data/, golden/, reference_outputs/")
    return folder
